"""The world that recorded simulations of tau2-bench show: states, answers, and what is a gap."""

from typing import Any

import pytest

from reviewer.suite.derived import NoContract
from reviewer.suite.derived.tau2 import Action
from reviewer.suite.derived.tau2_recorded import START, Act, Recorded, Simulation

WRITES = frozenset({"cancel", "book"})


def act(
    tool: str, answer: Any = "ok", failed: bool = False, known: bool = True, **given: Any
) -> Act:
    return Act(tool, given, answer, failed, known)


def action(tool: str, **given: Any) -> Action:
    return Action("a", tool, given, False, None)


def world(*simulations: Simulation, **references: list[Action]) -> Recorded:
    return Recorded(simulations, WRITES, {}, references)


def one(*acts: Act, task: str = "t", matched: bool | None = None) -> Simulation:
    return Simulation(task, acts, matched)


def cases(made: Recorded, tool: str) -> list[dict[str, Any]]:
    (found,) = [each for each in made.toolset()["tools"] if each["name"] == tool]
    match: list[dict[str, Any]] = found["simulator"]["responses"].get("match", [])
    return match


def test_reads_of_all_simulations_are_pooled_until_the_first_write() -> None:
    made = world(
        one(act("get", "new", id=1), act("cancel", id=1), act("get", "gone", id=1)),
        one(act("get", "two", id=2)),
    )
    after = made.end_of([action("cancel", id=1)], "t")
    assert after != START
    assert cases(made, "get") == [
        {"arguments": {"id": 1}, "when": {"database": after}, "value": "gone"},
        {"arguments": {"id": 1}, "when": {"database": START}, "value": "new"},
        {"arguments": {"id": 2}, "when": {"database": START}, "value": "two"},
    ]
    assert made.end_of([action("get", id=2)], "t") == START
    with pytest.raises(NoContract, match=r"calls get with .*, after its writes: no sim"):
        made.end_of([action("cancel", id=1), action("get", id=2)], "t")


def test_a_write_that_failed_changes_nothing() -> None:
    made = world(one(act("book", "Error: full", failed=True, id=1), act("get", "new", id=1)))
    assert made.end_of([action("book", id=1), action("get", id=1)], "t") == START
    assert cases(made, "book") == [
        {"arguments": {"id": 1}, "when": {"database": START}, "error": "full"}
    ]


def test_calls_that_were_answered_in_two_ways_are_gaps() -> None:
    made = world(one(act("get", {"n": 1}, id=1)), one(act("get", {"n": 2}, id=1)))
    assert (made.answers, made.contradictory) == (0, 1)
    with pytest.raises(NoContract):
        made.end_of([action("get", id=1)], "t")
    same = world(one(act("get", {"n": 1}, id=1)), one(act("get", {"n": 1.0}, id=1.0)))
    assert (same.answers, same.contradictory) == (1, 0)


def test_after_a_write_without_a_whole_answer_nothing_is_used() -> None:
    made = world(one(act("get", id=1), act("cancel", known=False, id=1), act("get", "x", id=1)))
    assert made.unread == 1
    assert [case["value"] for case in cases(made, "get")] == ["ok"]


def test_states_that_the_benchmark_found_equal_are_one() -> None:
    """Two orders of the same writes: what was read after one holds after the other."""
    made = world(
        one(act("cancel", id=1), act("cancel", id=2), matched=True),
        one(act("cancel", id=2), act("cancel", id=1), act("get", "gone", id=1), matched=True),
        t=[action("cancel", id=1), action("cancel", id=2)],
    )
    wanted = made.end_of([action("cancel", id=1), action("cancel", id=2)], "t")
    assert made.end_of([action("cancel", id=2), action("cancel", id=1)], "t") == wanted
    assert cases(made, "get")[0]["when"] == {"database": wanted}


def test_the_same_write_leads_from_equal_states_to_equal_ones() -> None:
    made = world(
        one(act("cancel", id=1), matched=True),
        one(act("book", id=1), matched=True),
        one(act("cancel", id=1), act("cancel", id=3), act("get", "three", id=3), task="u"),
        one(act("book", id=1), act("cancel", id=3), task="u"),
        t=[action("cancel", id=1)],
    )
    first = made.end_of([action("cancel", id=1), action("cancel", id=3)], "u")
    assert made.end_of([action("book", id=1), action("cancel", id=3)], "u") == first
    assert made.end_of([action("book", id=1), action("cancel", id=3), action("get", id=3)], "u")


def test_a_verdict_that_contradicts_the_writes_leaves_the_task_out() -> None:
    made = world(one(act("cancel", id=1), matched=False), t=[action("cancel", id=1)])
    with pytest.raises(NoContract, match="not as wanted"):
        made.end_of([action("cancel", id=1)], "t")


def test_tools_that_look_at_no_database_answer_in_every_state() -> None:
    made = world(one(act("calculate", "2", expression="1+1"), act("cancel", id=1)))
    calls = [action("cancel", id=1), action("calculate", expression="1+1")]
    assert made.end_of([*calls, action("transfer_to_human_agents", summary="any")], "t") != START
    assert cases(made, "calculate") == [{"arguments": {"expression": "1+1"}, "value": "2"}]
