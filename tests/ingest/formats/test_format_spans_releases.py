"""Traces of several releases under one name of an episode or of a conversation: the work of one is
never taken for that of another."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import agent, called, chat, events, read, request, tool

from reviewer import api
from reviewer.importing.formats.otel.otlp import OtlpReader

Attempt = tuple[str, str | None, list[str]]


def run(
    number: int, used: str, system: str = "Be kind", version: str = "", error: str = "", **more: Any
) -> dict[str, Any]:
    """One export request with a whole run that uses one tool."""
    at = number * 100
    spans = [
        agent(1, trace=number, at=at, error=error, **more),
        chat(
            2,
            [("system", system), ("user", "My lamp is broken")],
            [("assistant", called("c1", used))],
            parent=1,
            trace=number,
            at=at + 1,
        ),
        tool(3, used, "c1", "ok", parent=1, trace=number, at=at + 2),
    ]
    found = request(*spans)
    if version:
        found["resourceSpans"][0]["resource"]["attributes"].append(
            {"key": "service.version", "value": {"stringValue": version}}
        )
    return found


def written(path: Path, *requests: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in requests))
    return path


def attempts(path: Path) -> list[Attempt]:
    records = [json.loads(one.raw) for one in read(OtlpReader(), path)]
    return [
        (
            one["candidate_id"],
            one.get("termination"),
            [event["tool"] for event in events(one, "tool_call")],
        )
        for one in records
    ]


CASE = {"metadata__episode_id": "lamp-1"}
SESSION = {"session__id": "lamp-1"}


@pytest.mark.parametrize("name", [CASE, SESSION])
def test_releases_with_other_prompts_have_their_own_attempts(
    tmp_path: Path, name: dict[str, Any]
) -> None:
    path = written(
        tmp_path / "spans.jsonl",
        run(1, "look_up", version="v1", **name),
        run(2, "refund", "Be quick", version="v2", **name),
    )
    assert attempts(path) == [
        ("desk v1 m-1", "completed", ["look_up"]),
        ("desk v2 m-1", "completed", ["refund"]),
    ]


@pytest.mark.parametrize("name", [CASE, SESSION])
def test_a_release_in_a_file_of_its_own_is_not_put_into_the_earlier_ones_attempt(
    tmp_path: Path, name: dict[str, Any]
) -> None:
    first = written(tmp_path / "first.jsonl", run(1, "look_up", version="v1", **name))
    second = written(tmp_path / "second.jsonl", run(2, "refund", version="v2", **name))
    with api.make_workspace(tmp_path / "desk") as desk:
        for path in (first, second, tmp_path):
            desk.import_traces(path)
        found = {
            candidate.candidate_id: [
                [one.title for one in desk.events(trace) if one.kind == "tool_call"]
                for trace in desk.trace_ids(suite.suite_id, candidate.candidate_id)
            ]
            for suite in desk.suites()
            for candidate in desk.candidates(suite.suite_id)
        }
    assert found == {"desk v1 m-1": [["look_up"]], "desk v2 m-1": [["refund"]]}


def test_models_that_are_asked_the_same_have_their_own_attempts(tmp_path: Path) -> None:
    other = run(2, "refund", "Be quick", **CASE)
    text = json.dumps(other).replace('"m-1"', '"m-2"')
    path = written(tmp_path / "spans.jsonl", run(1, "look_up", **CASE), json.loads(text))
    assert attempts(path) == [
        ("desk m-1", "completed", ["look_up"]), ("desk m-2", "completed", ["refund"]),
    ]  # fmt: skip


def test_runs_that_begin_alike_but_for_the_time_are_attempts(tmp_path: Path) -> None:
    path = written(
        tmp_path / "spans.jsonl",
        run(1, "look_up", "It is 12:00", error="boom", **CASE),
        run(2, "refund", "It is 12:05", **CASE),
    )
    assert [one[1:] for one in attempts(path)] == [
        ("error", ["look_up"]), ("completed", ["refund"]),
    ]  # fmt: skip


def test_runs_without_model_calls_that_begin_alike_are_attempts(tmp_path: Path) -> None:
    asked = {"input__value": "My lamp is broken", **CASE}
    spans = [
        agent(1, error="boom", **asked), tool(2, "look_up", "c1", "ok", parent=1, at=1),
        agent(3, trace=2, at=50, **asked),
        tool(4, "refund", "c2", "ok", parent=3, trace=2, at=51),
    ]  # fmt: skip
    path = written(tmp_path / "spans.jsonl", request(*spans))
    assert [one[1:] for one in attempts(path)] == [
        ("error", ["look_up"]), ("completed", ["refund"]),
    ]  # fmt: skip


def test_a_failure_of_one_of_several_traces_is_not_made_up_for_by_a_later_one(
    tmp_path: Path,
) -> None:
    path = written(
        tmp_path / "spans.jsonl",
        run(1, "look_up", "You plan", error="boom", **CASE),
        run(2, "refund", "You act", **CASE),
    )
    assert [one[1:] for one in attempts(path)] == [("error", ["look_up", "refund"])]
