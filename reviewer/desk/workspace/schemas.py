"""JSON Schema of every kind of file that people write, or that travels between stores."""

from typing import Any

from reviewer.desk.errors import DeskError


def kinds() -> list[str]:
    """Every kind that `schema` knows, sorted."""
    from reviewer.suite.publish import schema_kinds

    return sorted({*schema_kinds(), "trace", "label", "judgment", "leak-check", "note", "cost"})


def schema(kind: str) -> dict[str, Any]:
    """The schema of one kind. Raises DeskError for an unknown one."""
    from reviewer.review.cost_shape import cost_json_schema
    from reviewer.review.judging.judgment_shape import judgment_json_schema
    from reviewer.review.label_shape import label_json_schema
    from reviewer.review.leak_shape import leak_json_schema
    from reviewer.review.note_shape import note_json_schema
    from reviewer.suite.publish import json_schema, register_schema, schema_kinds
    from reviewer.trace.fields import trace_json_schema

    if kind == "trace":
        return trace_json_schema()
    if kind not in kinds():
        raise DeskError(f"no kind {kind!r}; kinds are {', '.join(kinds())}", exit_code=2)
    later = {
        "label": label_json_schema,
        "judgment": judgment_json_schema,
        "leak-check": leak_json_schema,
        "note": note_json_schema,
        "cost": cost_json_schema,
    }
    if kind in later and kind not in schema_kinds():
        register_schema(kind, later[kind])
    return json_schema(kind)
