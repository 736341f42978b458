"""A user's thumbs-down in a trace is a high flag, open until a person has labeled the message."""

import json
from typing import Any

import pytest
from doors import SUITE, Door, passing
from labelers import drafted, labeler

from reviewer.desk.desk import Desk

TRACE = f"{SUITE}/cand-a/damaged-221/1"


def given(feedback: str) -> list[dict[str, Any]]:
    """Three attempts that pass; the user of the first said something."""
    source = {"user_feedback": feedback, "channel": "chat"}
    return [passing(attempt=1, source=source), *(passing(attempt=n, nonce=n) for n in (2, 3))]


def taken(door: Door, feedback: str) -> Desk:
    said = door.take("fed-back.jsonl", given(feedback))
    assert said.code == 0, said
    return door.desk()


def flags(desk: Desk) -> Any:
    return json.loads(desk.reports.build(SUITE, "cand-a").raw)["review"]["high_flags"]


def test_a_thumbs_down_is_a_high_flag_and_fails_nothing(door: Door) -> None:
    desk = taken(door, "thumbs_down")
    report = json.loads(desk.reports.build(SUITE, "cand-a").raw)
    assert flags(desk) == {
        "traces": 1,
        "open": 1,
        "first_open": [{"trace_id": TRACE, "reasons": ["thumbs_down"]}],
    }
    assert (report["hard_pass_rate"]["value"], report["failures"]) == (1.0, [])
    assert report["recommendation"] == "hold"
    assert "labels that close 1 high flag" in report["needs"]
    assert door.codes(TRACE) == []
    door.healthy()


@pytest.mark.parametrize("feedback", ["thumbs_up", "unsure"])
def test_nothing_else_that_a_user_says_is_one(door: Door, feedback: str) -> None:
    assert flags(taken(door, feedback))["traces"] == 0


def test_it_comes_first_in_the_queue_and_a_label_closes_it(door: Door) -> None:
    taken(door, "thumbs_down")
    with labeler(door) as desk:
        session = desk.labels.session(SUITE, "cand-a", kind="message")
        item = desk.labels.next_item(session)
        assert item is not None
        saved = desk.labels.record(session, drafted(item))
        assert saved.reasons[0] == "thumbs_down"
        assert flags(desk)["open"] == 0


def test_one_that_an_older_reviewer_took_in_is_noted_by_score(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("reviewer.gates.completeness.check_feedback", lambda record, found: None)
        assert flags(taken(door, "thumbs_down"))["traces"] == 0
    door.ok("score")
    assert flags(door.desk())["open"] == 1
    door.healthy()
    before = door.one("SELECT count(*) FROM journal")
    door.ok("score")
    assert door.one("SELECT count(*) FROM journal") == before


def test_it_stays_when_stores_are_merged(door: Door, full: Door) -> None:
    taken(door, "thumbs_down")
    full.ok("merge", door.store)
    assert flags(full.desk())["first_open"] == [{"trace_id": TRACE, "reasons": ["thumbs_down"]}]
