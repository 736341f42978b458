"""The shapes as JSON Schema, for other programs and for `reviewer schema <kind>`."""

from collections.abc import Callable
from typing import Any

from reviewer.suite import judge_shape, manifest, rubric_shape, schema, script_shape

Builder = Callable[[], dict[str, Any]]

_BUILDERS: dict[str, Builder] = {
    "suite": schema.SuiteShape.model_json_schema,
    "episode": schema.EpisodeShape.model_json_schema,
    "rubric": rubric_shape.RubricShape.model_json_schema,
    "judge": judge_shape.JudgeShape.model_json_schema,
    "candidate": manifest.CandidateShape.model_json_schema,
    "policy": schema.PolicyShape.model_json_schema,
    "script": script_shape.ScriptShape.model_json_schema,
}


def register_schema(kind: str, build: Builder) -> None:
    """Let `json_schema(kind)` answer with what `build` returns. A kind is registered once."""
    if kind in _BUILDERS:
        raise ValueError(f"the schema of {kind} is already registered")
    _BUILDERS[kind] = build


def schema_kinds() -> list[str]:
    """Every kind that `json_schema` knows, sorted."""
    return sorted(_BUILDERS)


def json_schema(kind: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of one kind of file. KeyError naming the known kinds for another."""
    build = _BUILDERS.get(kind)
    if build is None:
        raise KeyError(f"no schema of `{kind}`; known: {', '.join(schema_kinds())}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"reviewer/{kind}@1",
        **build(),
    }
