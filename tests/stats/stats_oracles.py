"""Reading the oracle files, and comparing an answer with an expected value as they prescribe."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ORACLES = Path(__file__).parents[1] / "data" / "oracles"


def load(name: str) -> dict[str, Any]:
    return json.loads((ORACLES / name).read_text("utf-8"))


def same(got: Any, expected: Any, tol: float) -> bool:
    if expected is None or isinstance(expected, bool | str):
        return got == expected and type(got) is type(expected)
    if isinstance(expected, Mapping):
        named = {str(key): value for key, value in got.items()}
        return named.keys() == expected.keys() and all(
            same(named[key], value, tol) for key, value in expected.items()
        )
    if isinstance(expected, Sequence):
        return len(got) == len(expected) and all(
            same(a, b, tol) for a, b in zip(got, expected, strict=True)
        )
    return got is not None and not isinstance(got, bool) and abs(got - expected) <= tol
