"""The encoding of values in columns: gate results as a bit mask, diagnostics as six float32, costs
as integer nano-USD so that sums are exact in any order."""

import math
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from reviewer.gates.model import Finding, Result, Verdict
from reviewer.suite.gates import GATES


def json_ints(numbers: Iterable[int]) -> str:
    """Return whole numbers as a JSON array, to be bound for `json_each`."""
    return f"[{','.join(map(str, numbers))}]"


def native(values: "array[Any]") -> "array[Any]":
    """Convert little-endian numbers to this machine's byte order, or back."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


PASS, FAIL, UNKNOWN, CRITICAL = range(4)
_CODE = {"pass": PASS, "fail": FAIL, "not_measured": UNKNOWN}
_WORD: tuple[Result, ...] = ("pass", "fail", "not_measured", "fail")
DIAGNOSTICS = (
    "tool_precision",
    "tool_recall",
    "tool_f1",
    "order",
    "efficiency",
    "argument_accuracy",
)
_SIX = struct.Struct("<6f")


def pack_gates(results: Sequence[Result], findings: Iterable[Finding]) -> int:
    """Return two bits per gate, lowest first, in the order of GATES."""
    mask = 0
    for position, result in enumerate(results):
        if result != "pass":
            mask |= _CODE[result] << (2 * position)
    if mask:
        for finding in findings:
            if finding.severity == "critical":
                mask |= CRITICAL << (2 * GATES.index(finding.gate))
    return mask


def gate_codes(mask: int) -> tuple[int, ...]:
    """Return PASS, FAIL, UNKNOWN or CRITICAL for each gate."""
    return tuple((mask >> (2 * position)) & 3 for position in range(len(GATES)))


def gate_results(mask: int) -> tuple[Result, ...]:
    return tuple(_WORD[code] for code in gate_codes(mask))


def mask_of(verdict: Verdict) -> int:
    return pack_gates(verdict.results, verdict.findings)


def pack_diagnostics(values: Sequence[float | None]) -> bytes | None:
    """Pack six floats in the order of DIAGNOSTICS, None as NaN; return None when all are
    undefined."""
    if values.count(None) == len(values):
        return None
    return _SIX.pack(*[math.nan if value is None else value for value in values])


def unpack_diagnostics(blob: bytes | None) -> tuple[float | None, ...]:
    if blob is None:
        return (None,) * len(DIAGNOSTICS)
    return tuple(None if math.isnan(value) else value for value in _SIX.unpack(blob))


def diagnostic_columns(blobs: Sequence[bytes]) -> "list[array[float]]":
    """Return a column for each of DIAGNOSTICS, NaN where it is undefined: `unpack_diagnostics` for
    many blobs at once. Raises ValueError for a blob of another size."""
    values = array("f", b"".join(blobs))
    if len(values) != len(DIAGNOSTICS) * len(blobs):
        raise ValueError("diagnostics of another size")
    if sys.byteorder == "big":
        values.byteswap()
    return [values[n :: len(DIAGNOSTICS)] for n in range(len(DIAGNOSTICS))]


def nano(cost_usd: float) -> int:
    return round(cost_usd * 1e9)
