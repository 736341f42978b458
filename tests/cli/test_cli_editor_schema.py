"""`$schema`, by which editors find the schema of a file: allowed, judged by nobody, and part of the
digest."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door

from reviewer.desk.workspace.api import schema

KINDS = {
    "suite.json": "suite",
    "toolset.json": "toolset",
    "rubric.json": "rubric",
    "judge.json": "judge",
    "episodes/attack-014.json": "episode",
    f"candidates/{V8}.json": "candidate",
    f"candidates/scripts/{V8}.json": "script",
}


def put(path: Path, value: Any) -> None:
    raw = json.loads(path.read_text())
    path.write_text(json.dumps({"$schema": value, **raw}, indent=2))


@pytest.fixture
def draft(door: Door) -> Door:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    return door


def test_every_file_of_a_suite_may_name_its_schema(draft: Door) -> None:
    before = json.loads(draft.ok("suite", "show", SUITE, "--json").out)
    for name, kind in KINDS.items():
        put(draft.suite / name, f"../../schemas/{kind}.json")
    draft.ok("candidate", "pin", SUITE, V8)  # its script is another file now
    draft.ok("suite", "check", SUITE)
    after = json.loads(draft.ok("suite", "show", SUITE, "--json").out)
    assert after.pop("digest") != before.pop("digest")
    assert after == before
    assert "9 passed" in draft.ok("run", SUITE, V8).out
    draft.ok("suite", "freeze", SUITE)
    assert "9 passed" in draft.ok("run", SUITE, V8).out
    draft.ok("scorecard", "--suite", SUITE, "--candidate", V8)


def test_it_is_part_of_what_was_frozen(door: Door) -> None:
    put(door.suite / "rubric.json", "rubric.json")
    said = door.run("suite", "check", SUITE)
    assert said.code == 20
    assert "rubric.json" in said.out


def test_it_is_a_text(draft: Door) -> None:
    put(draft.suite / "rubric.json", 7)
    said = draft.run("suite", "check", SUITE)
    assert said.code == 20
    assert '$["$schema"]: should be a valid string' in said.out


@pytest.mark.parametrize("kind", sorted({*KINDS.values(), "release"}))
def test_a_schema_knows_it_and_says_what_every_member_is(kind: str) -> None:
    found = schema(kind)
    assert found["properties"]["$schema"]["description"]
    shapes = [found, *found.get("$defs", {}).values()]
    silent = [
        f"{shape.get('title')}.{name}"
        for shape in shapes
        for name, part in shape.get("properties", {}).items()
        if "description" not in part
    ]
    assert silent == []


def test_records_that_travel_by_the_line_have_none() -> None:
    for kind in ("label", "judgment", "note", "cost", "leak-check"):
        assert "$schema" not in schema(kind)["properties"]
