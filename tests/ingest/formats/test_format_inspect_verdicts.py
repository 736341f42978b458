"""What the scores, limits and errors of an Inspect log make of an attempt."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from inspect_logs import LOGS, attempts, file, log, only, ran, read, said, sample, samples

from reviewer.trace.record import SourceVerdict


def verdict(tmp_path: Path, members: dict[str, Any], **header: Any) -> SourceVerdict:
    [made] = attempts(file(tmp_path, log(sample(said("a"), **members), **header)))
    assert made.verdict is not None
    return made.verdict


def scored(*metrics: str, **more: Any) -> dict[str, Any]:
    """Results of a header with one scorer and its metrics."""
    held = {"name": "s", "scorer": "s", "metrics": {name: {"value": 0.5} for name in metrics}}
    return {"scores": [held], **more}


@pytest.mark.parametrize(
    ("value", "passed", "reward"),
    [
        *(("C", True, 1.0), ("I", False, 0.0), ("N", False, 0.0), ("P", False, 0.5)),
        *((1, True, 1.0), (0, False, 0.0), (1.0, True, 1.0), (True, True, 1.0), (False, False, 0)),
        *(("yes", True, 1.0), ("No", False, 0.0), ("TRUE", True, 1.0), ("1", True, 1.0)),
        *((0.7, None, 0.7), (7, None, 7.0), (-1, None, -1.0), ("0.25", None, 0.25)),
        *(("A", None, None), ("c", None, None), ("", None, None), ([1, 0], None, None)),
        *((None, None, None), ({"x": 1}, None, None), ("nan", None, None)),
    ],
)
def test_a_pass_is_full_credit(
    tmp_path: Path, value: Any, passed: bool | None, reward: float | None
) -> None:
    made = verdict(tmp_path, {"scores": {"s": {"value": value}}})
    assert (made.passed, made.reward) == (passed, reward)
    assert made.detail["scores"]["s"]["value"] == value


def test_partial_credit_of_an_accuracy_is_no_pass(tmp_path: Path) -> None:
    part = {"scores": {"s": {"value": 0.7}}}
    assert verdict(tmp_path, part, results=scored("accuracy")).passed is False
    assert verdict(tmp_path, part, results=scored("mean")).passed is None
    beyond = {"scores": {"s": {"value": 3}}}
    assert verdict(tmp_path, beyond, results=scored("accuracy")).passed is None


def test_not_a_number_is_no_score(tmp_path: Path) -> None:
    held = {"scores": {"s": {"value": float("nan"), "reason": "grader_failed"}}}
    made = verdict(tmp_path, held)
    assert made.passed is None
    assert made.detail["scores"]["s"]["reason"] == "grader_failed"


SEVERAL = {"scores": {"leak": {"value": 0}, "state": {"value": "C"}, "words": {"value": "I"}}}
STATE = {"name": "state", "scorer": "state", "metrics": {}}
WORDS = {"name": "words", "scorer": "words", "metrics": {}}


@pytest.mark.parametrize(
    ("header", "by", "why"),
    [
        ({}, "leak", "first of the sample's scores"),
        ({"results": {"scores": [WORDS, STATE]}}, "words", "first in the header's results"),
        (
            {"results": {"scores": [WORDS, STATE], "headline": {"scorer": "state"}}},
            "state",
            "the header's headline",
        ),
    ],
)
def test_of_several_scores_the_headers_decides(
    tmp_path: Path, header: dict[str, Any], by: str, why: str
) -> None:
    made = verdict(tmp_path, SEVERAL, **header)
    assert made.detail["decided_by"] == by
    assert set(made.detail["scores"]) == {"leak", "state", "words"}
    assert made.passed is (by == "state")
    _, notes = read(tmp_path / "run.json")
    assert f"3 scores a sample: `{by}` ({why}) decides pass or fail, all are kept" in notes


def test_the_order_of_scorers_decides_where_there_are_no_results_yet(tmp_path: Path) -> None:
    spec = {**log()["eval"], "scorers": [{"name": "state", "metrics": []}, {"name": "leak"}]}
    assert verdict(tmp_path, SEVERAL, eval=spec).detail["decided_by"] == "state"


def test_a_scorer_of_several_values_decides_by_the_headers_part(tmp_path: Path) -> None:
    held = {"scores": {"pair": {"value": {"safe": 0, "right": 1}}}}
    parts = [{"name": name, "scorer": "pair", "metrics": {}} for name in ("safe", "right")]
    made = verdict(tmp_path, held, results={"scores": parts})
    assert (made.passed, made.detail["decided_by"]) == (False, "pair/safe")
    head = {"scorer": "pair", "score": "right"}
    made = verdict(tmp_path, held, results={"scores": parts, "headline": head})
    assert (made.passed, made.detail["decided_by"]) == (True, "pair/right")


def test_the_oldest_logs_have_one_score(tmp_path: Path) -> None:
    assert verdict(tmp_path, {"score": {"value": "C"}}).passed is True


def test_edits_of_people_stand_and_are_kept() -> None:
    by_id = {one["id"]: one for one in samples(LOGS / "edited.eval")}
    made = dict(zip(by_id, attempts(LOGS / "edited.eval"), strict=True))
    changed = made["order-A0003"]
    assert changed.verdict is not None
    history = changed.verdict.detail["scores"]["final_state"]["history"]
    assert history[-1]["provenance"] == {
        "author": "reviewer@example.com", "timestamp": "2026-11-20T23:36:51.154766Z",
        "reason": "policy violation seen at step 5",
    }  # fmt: skip
    assert any("a person edited the scores" in note for note in changed.notes)
    invalid = made["order-A0002"]
    assert invalid.verdict is not None
    assert invalid.verdict.detail["invalidation"]["reason"] == "bad fixture"
    assert any("marked this attempt invalid" in note for note in invalid.notes)
    assert not any("person" in note for note in attempts(LOGS / "unedited.eval")[0].notes)


@pytest.mark.parametrize(("value", "passed"), [("C", None), ("I", False)])
def test_a_pass_that_a_person_marked_invalid_is_no_verdict(
    tmp_path: Path, value: str, passed: bool | None
) -> None:
    held = {"scores": {"match": {"value": value}}}
    doubt = {"invalidation": {"author": "kim", "reason": "the answer was in the prompt"}}
    assert verdict(tmp_path, {**held, **doubt}).passed is passed
    assert verdict(tmp_path, held).passed is (value == "C")


@pytest.mark.parametrize("order", [("unedited", "edited"), ("edited", "unedited")])
def test_the_mark_of_a_person_holds_in_whatever_order_files_come(
    door: Door, order: tuple[str, str]
) -> None:
    for name in order:
        door.ok("import", LOGS / f"{name}.eval")
    told = door.rows("SELECT episode_id, passed FROM traces ORDER BY episode_id")
    assert told == [("order-A0001", 1), ("order-A0002", None), ("order-A0003", 0)]


def test_answers_of_another_model_than_the_one_that_was_asked_are_noted(tmp_path: Path) -> None:
    served = [{"model": "m/one", "fallback_model": "m/two", "count": 1}]
    held = sample(said("a"), scores={"match": {"value": "C"}}, model_fallbacks=served)
    (made,) = attempts(file(tmp_path, log(held)))
    assert any("answered by another model" in note for note in made.notes)
    assert json.loads(made.raw)["source"]["model_fallbacks"] == served


LIMIT = {"event": "sample_limit", "type": "token", "message": "Exceeded token limit: 9"}


@pytest.mark.parametrize(
    ("members", "ended"),
    [
        ({}, "completed"),
        ({"limit": {"type": "message", "limit": 5}}, "message_limit"),
        ({"limit": {"type": "cost", "limit": 0.5}}, "cost_limit"),
        ({"limit": {"type": "time", "limit": 5}}, "timeout"),
        ({"limit": {"type": "working", "limit": 5}}, "timeout"),
        ({"limit": {"type": "context", "limit": 5}}, "context_window_exceeded"),
        ({"limit": {"type": "operator", "limit": 1}}, "stopped_by_operator"),
        ({"error": {"message": "RuntimeError('boom')"}}, "error"),
        ({"error": {"message": "CancelledError('by scope')"}}, "infrastructure_error"),
        ({"output": {"choices": [{"stop_reason": "model_length"}]}}, "context_window_exceeded"),
        ({"events": [said("a"), LIMIT]}, "token_limit"),
        ({"events": []}, None),
    ],
)
def test_how_an_attempt_ended(tmp_path: Path, members: dict[str, Any], ended: str | None) -> None:
    held = {**sample(said("a")), **members}
    assert only(file(tmp_path, log(held))).get("termination") == ended


def test_an_error_leaves_the_verdict_open_and_is_told_once(tmp_path: Path, door: Door) -> None:
    broken = {"error": {"message": "boom of jane.roe@corp-mail.org", "traceback": "..."}}
    [made] = attempts(file(tmp_path, log(sample(said("a"), scores={}, **broken))))
    assert made.verdict == SourceVerdict(passed=None, exception="boom of jane.roe@corp-mail.org")
    assert door.run("import", tmp_path / "run.json").code == 0
    assert door.rows("SELECT kind FROM events WHERE kind='error'") == [("error",)]
    assert door.rows("SELECT passed FROM traces") == [(None,)]
    wrong = {**broken, "scores": {"s": {"value": "C"}}}
    [scored] = attempts(file(tmp_path, log(sample(said("a"), **wrong))))
    assert scored.verdict is not None
    assert (scored.verdict.passed, scored.verdict.exception) == (True, made.verdict.exception)


def test_limits_fail_the_timeout_gate_whatever_the_score(door: Door) -> None:
    """Four of six samples that a limit stopped are scored C in the full log, two of three here."""
    assert door.run("import", LOGS / "unedited.eval").code == 0
    assert door.one("SELECT sum(passed) FROM traces") == 2
    found = door.rows("SELECT trace_id FROM traces")
    assert all(door.codes(trace) == ["terminated:message_limit"] for (trace,) in found)


def test_tries_that_were_run_again_are_noted(tmp_path: Path) -> None:
    again = [{"message": "ValueError('first time')", "traceback": ""}]
    [made] = attempts(file(tmp_path, log(sample(said("a"), error_retries=again))))
    assert any("run again" in note for note in made.notes)
    trace = only(tmp_path / "run.json")
    assert trace["source"]["error_retries"] == ["ValueError('first time')"]
    assert [one["path"] for one in trace["unread"]] == ["error_retries[0]"], (
        "what a try did before it broke is not in the log: it may have been forbidden"
    )


@pytest.mark.parametrize(
    ("members", "wanted"),
    [
        ({"total_time": 1.5, "working_time": 0.5}, 1500.0),
        ({"started_at": "2026-01-01T00:00:00+00:00", "completed_at": "2026-01-01T00:00:02Z"}, 2e3),
        ({"total_time": 0}, 3000.0),
    ],
)
def test_the_time_a_sample_took(tmp_path: Path, members: dict[str, Any], wanted: float) -> None:
    turns = [
        said("a", ("c", "t", {}), timestamp="2026-01-01T00:00:00+00:00"),
        ran("c", "t", timestamp="2026-01-01T00:00:01+00:00", completed="2026-01-01T00:00:03+00:00"),
        {"event": "score_edit", "timestamp": "2026-02-01T00:00:00+00:00"},
    ]
    trace = only(file(tmp_path, log(sample(*turns, **members))))
    assert trace["latency_ms"] == wanted
    assert trace["source"].get("working_time_s") == members.get("working_time")
