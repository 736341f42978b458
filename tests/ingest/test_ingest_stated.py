"""What a record of messages says of itself: its task, its score, what it took and cost."""

import json
from typing import Any

import pytest
from doors import Door
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.draft import Draft
from reviewer.importing.formats.chat import MEMBERS, stated


def record(request: str = "refund", **members: Any) -> dict[str, Any]:
    return {"model": "m", **members, "messages": [
        {"role": "user", "content": request}, {"role": "assistant", "content": "done"},
    ]}  # fmt: skip


def test_score_cost_and_time_beside_the_messages_are_read(door: Door) -> None:
    rows = [
        record(task_id="t1", reward=0.5, success=False, cost_usd=0.25, latency_ms=1500, attempt=1),
        record(task_id="t1", score=1, passed=True, total_cost_usd=0.5, duration_s=2, attempt=2),
        record(task_id="t2", reward=0.25, cost=0.125, duration=3),
    ]
    said = door.take("runs.jsonl", rows)
    assert said.code == 0, said
    assert door.rows(
        "SELECT t.episode_id, t.attempt, t.passed, v.reward, t.cost_usd, t.latency_ms"
        " FROM traces t JOIN trace r ON r.attempt = t.attempt JOIN source_verdict v"
        " ON v.trace = r.id JOIN episode e ON e.id = r.episode AND e.episode_id = t.episode_id"
        " ORDER BY 1, 2"
    ) == [("t1", 1, 0, 0.5, 0.25, 1500), ("t1", 2, 1, 1.0, 0.5, 2000),
          ("t2", 1, None, 0.25, 0.125, 3000)]  # fmt: skip
    assert "it was read as US dollars" in said.err
    assert "it was read as seconds" in said.err


@pytest.mark.parametrize("members", [
    {"passed": "yes"}, {"reward": None}, {"reward": "1"}, {"success": 1}, {"score": [1]},
    {"passed": True, "success": False},
])  # fmt: skip
def test_what_is_no_verdict_is_none(members: dict[str, Any]) -> None:
    verdict = stated(members, Draft("x")).verdict
    assert verdict is None or verdict.passed is None


@given(st.dictionaries(
    st.sampled_from(sorted(MEMBERS)),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none()),
))  # fmt: skip
def test_any_member_of_any_type_is_a_number_or_not_measured(value: dict[str, Any]) -> None:
    said = stated(value, Draft("x"))
    for number in (said.cost_usd, said.latency_ms):
        assert number is None or number >= 0
    assert said.attempt is None or said.attempt > 0
    if said.verdict is not None and said.verdict.passed is not None:
        names = ("passed", "success", "resolved", "is_correct", "correct", "is_resolved")
        assert said.verdict.passed in [value.get(name) for name in names]


def test_other_first_requests_of_a_session_are_other_episodes(door: Door) -> None:
    rows = [record("refund", session_id="s"), record("weather", session_id="s"),
            record("refund", session_id="s")]  # fmt: skip
    rows[2]["messages"].append({"role": "user", "content": "thanks"})
    said = door.take("runs.jsonl", rows)
    assert said.code == 0, said
    assert door.rows("SELECT episode_id, attempt FROM traces ORDER BY 1, 2") == [
        ("s", 1), ("s#2", 1),
    ]  # fmt: skip
    assert door.one("SELECT max(events) FROM traces WHERE episode_id='s'") == 3
    assert "each is an episode of its own" in said.err


def test_a_task_that_the_record_names_is_one_episode_whatever_was_asked(door: Door) -> None:
    rows = [record(f"ask {n}", task_id=7, session_id=f"s{n}") for n in range(3)]
    assert door.take("runs.jsonl", rows).code == 0
    assert door.rows("SELECT episode_id, attempt FROM traces ORDER BY 2") == [
        ("7", 1), ("7", 2), ("7", 3),
    ]  # fmt: skip


def test_a_bare_list_is_called_after_its_file(door: Door) -> None:
    assert door.take("run.json", json.dumps(record()["messages"])).code == 0
    assert door.rows("SELECT episode_id FROM traces") == [("run-1",)]
