"""A draft whose contracts are written in YAML, until it is frozen."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied

from reviewer.suite.strict_json import canonical_bytes

yaml = pytest.importorskip("yaml")


def in_yaml(path: Path) -> Any:
    """Write a JSON file of a draft in YAML, in its place; returns its value."""
    value = json.loads(path.read_bytes())
    path.with_suffix(".yaml").write_text(yaml.safe_dump(value, sort_keys=False, width=10**6))
    path.unlink()
    return value


@pytest.fixture
def draft(door: Door) -> Path:
    door.ok("suite", "draft", SUITE, "--as", "mine")
    return door.root / "suites" / "mine"


def test_a_draft_in_yaml_is_checked_run_and_frozen_as_json(door: Door, draft: Path) -> None:
    written = [path.name for path in sorted((draft / "episodes").iterdir())]
    values = {name: in_yaml(draft / "episodes" / name) for name in written}
    assert "a valid draft" in door.ok("suite", "check", "mine").err
    ran = door.ok("run", "mine", V8, "--attempts", 1)
    assert "3 passed, 0 failed" in ran.both
    said = door.ok("suite", "freeze", "mine")
    for name, value in values.items():
        assert (draft / "episodes" / name).read_bytes() == canonical_bytes(value)
        stem = name.removesuffix(".json")
        assert f"mine: episodes/{stem}.yaml is episodes/{name} now" in said.err
    assert sorted(path.name for path in (draft / "episodes").iterdir()) == written
    assert door.ok("suite", "check", "mine").code == 0
    stray = draft / "episodes" / "more.yaml"
    stray.write_text("a: b")
    assert "episodes/more.yaml" in door.run("suite", "check", "mine").both
    assert stray.exists()


def test_what_is_wrong_in_yaml_is_named_by_the_file_that_is_there(door: Door, draft: Path) -> None:
    path = draft / "episodes" / "damaged-221.json"
    kept = path.read_bytes()
    value = in_yaml(path)
    written = path.with_suffix(".yaml")
    written.write_text(written.read_text() + "tags_: no\n")
    said = door.run("suite", "check", "mine")
    lines = len(written.read_text().splitlines())
    assert f"mine/episodes/damaged-221.yaml: $: line {lines} column 8" in said.both
    written.write_text(yaml.safe_dump({**value, "unknown": 1}, width=10**6))
    assert "mine/episodes/damaged-221.yaml: $.unknown" in door.run("suite", "check", "mine").both
    path.write_bytes(kept)
    said = door.run("suite", "freeze", "mine")
    assert said.code != 0
    assert "damaged-221.yaml: $: also exists as episodes/damaged-221.json" in said.both
    assert path.read_bytes() == kept
    assert written.exists()


# OpenAPI documents --------------------------------------------------------------------------------

OPENAPI = """
openapi: 3.0.3
info:
  title: Shop
  version: 1.0.0
  description: Orders, and what is
    done with them,
    and nothing else.
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      description: >-
        Reads an order.
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, enum: [yes, no, 2026-01-01]}}
      responses:
        200:
          description: ok
          content:
            application/json:
              example: {status: sent, at: 2026-01-01, on: ~}
"""
NAMED = {"name": "id", "in": "path", "required": True}


@pytest.fixture
def empty(tmp_path: Path, empty_template: Path) -> Door:
    return copied(empty_template, tmp_path / "empty")


def test_an_openapi_document_in_yaml_is_the_same_in_json(empty: Door) -> None:
    responses = {"200": {"description": "ok", "content": {"application/json": {
        "example": {"status": "sent", "at": "2026-01-01", "on": None}}}}}  # fmt: skip
    schema = {"type": "string", "enum": ["yes", "no", "2026-01-01"]}
    get = {"operationId": "getOrder", "description": "Reads an order.", "responses": responses,
           "parameters": [{**NAMED, "schema": schema}]}  # fmt: skip
    as_json = {"openapi": "3.0.3", "info": {}, "paths": {"/orders/{id}": {"get": get}}}
    toolsets = []
    for name, text in (("one.yaml", OPENAPI), ("two.json", json.dumps(as_json))):
        path = empty.file(f"../{name}", text)
        empty.ok("suite", "new", path.stem, "--tools", path)
        toolsets.append((empty.root / "suites" / path.stem / "toolset.json").read_bytes())
    assert toolsets[0] == toolsets[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openapi: 3.0.0", "has no operation"),
        ("openapi: 3.0.0\npaths: &a {}\nx: *a", "line 2 column 8: an anchor"),
        ("openapi: 3.0.0\npaths: !!map {}", "a tag"),
        ("openapi: 3.0.0\n200: a\n'200': b", "member `200` twice"),
        ("- name: look", "of YAML, only OpenAPI documents are read"),
        ("a: [", "not YAML"),
    ],
)
def test_other_yaml_describes_no_tools(empty: Door, text: str, said: str) -> None:
    refused = empty.run("suite", "new", "mine", "--tools", empty.file("../spec.yml", text))
    assert refused.code == 20
    assert said in refused.err
    assert not (empty.root / "suites" / "mine").exists()
