"""JSON Schema of every kind of file that people write, or that travels between stores."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode


def kinds() -> list[str]:
    """Every kind that `schema` knows, sorted."""
    return sorted({*_files(), "trace"})


def schema(kind: str) -> dict[str, Any]:
    """The schema of one kind. Raises DeskError for an unknown one."""
    from reviewer.suite.border import json_schema
    from reviewer.trace.fields import trace_json_schema

    if kind == "trace":
        return trace_json_schema()
    files = _files()
    if kind not in files:
        raise DeskError(
            f"no kind {kind!r}; kinds are {', '.join(kinds())}", exit_code=ExitCode.USAGE
        )
    return json_schema(kind, files)


def _files() -> Mapping[str, type[Struct]]:
    from reviewer.review.costs import Cost
    from reviewer.review.judging.judgments import Judgment
    from reviewer.review.leaks import LeakCheck
    from reviewer.review.model import Label
    from reviewer.review.notes import Note
    from reviewer.suite.border import FILES

    return {
        **FILES,
        "label": Label,
        "judgment": Judgment,
        "leak-check": LeakCheck,
        "note": Note,
        "cost": Cost,
    }
