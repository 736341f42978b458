"""Each file shape is defined once, and each member of it is described."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import reviewer
from reviewer.desk.workspace.api import kinds, schema
from reviewer.suite.border import FILES, Shape, shape_of
from reviewer.suite.model import Policy, Suite
from reviewer.suite.simulator import Simulator

ROOMS = ("suite", "trace", "review")
HANDWRITTEN = {"suite/border.py", "suite/border_words.py", "review/judge_calls.py"}
"""The derived models' base, what is said of their errors, and what a model judge may reply,
which is no file."""


def properties(part: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    if isinstance(part, dict):
        declared = part.get("properties")
        # An `if` or a `then` narrows properties that are declared and described elsewhere.
        if part.get("additionalProperties") is False and isinstance(declared, dict):
            yield from ((f"{path}.{name}", each) for name, each in declared.items())
        for name, each in part.items():
            yield from properties(each, f"{path}.{name}")


@pytest.mark.parametrize("kind", kinds())
def test_every_property_is_described(kind: str) -> None:
    found = list(properties(schema(kind)))
    assert found
    assert [path for path, each in found if len(each.get("description", "")) < 5] == []


def test_no_file_shape_is_written_as_a_pydantic_model() -> None:
    root = Path(inspect.getfile(reviewer)).parent
    written = set()
    for room in ROOMS:
        for path in (root / room).rglob("*.py"):
            modules = {
                node.module
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom)
            }
            if "pydantic" in modules:
                written.add(path.relative_to(root).as_posix())
    assert written == HANDWRITTEN


def test_a_derived_model_has_the_members_and_defaults_of_its_struct() -> None:
    for struct in (*FILES.values(), Simulator):
        model = shape_of(struct)
        assert issubclass(model, Shape)
        members = {field.name for field in msgspec.structs.fields(struct)}
        computed = {"digest", "checks"}
        assert set(model.model_fields) - {"schema_", "editor_schema"} == members - computed
    plain = shape_of(Policy)().model_dump()
    known = msgspec.to_builtins(Policy())
    assert plain.pop("gates") == {}
    assert plain.pop("code_bound") is None
    assert plain["approvals"].pop("max_days") is None
    later = {name: plain["labels"].pop(name) for name in {*plain["labels"]} - {*known["labels"]}}
    assert later  # unset in suites frozen before there were limits
    assert not any(later.values())
    assert plain == known


def test_defaults_of_a_suite_are_not_kept_in_its_value() -> None:
    assert "defaults" not in msgspec.to_builtins(Suite(suite_id="s"))
