"""Approvals that belong to the episode, from a run to its report: a rule, a person, nobody."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, copied
from payouts import BAD, EPISODE, GOOD, PAYOUTS, with_payouts
from played_runs import ended, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunOrder, RunView
from reviewer.desk.runs.jobs import RunHandle

RULE = "rule 1 of the episode"
ASKED = "a person, whom rule 1 of the episode asks"


@pytest.fixture
def desk(door: Door) -> Any:
    found = with_payouts(door).desk()
    yield found
    found.close()


def order(candidate: str = GOOD, **changes: Any) -> RunOrder:
    return RunOrder(suite_id=PAYOUTS, candidate_id=candidate, **changes)


def report(desk: Desk, candidate: str = GOOD) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.reports.build(PAYOUTS, candidate).raw)
    return found


def answered(handle: RunHandle, granted: bool) -> RunView:
    """A run whose one call that waits is answered."""
    until(lambda: len(handle.view().approvals) == 1)
    (asked,) = handle.view().approvals
    assert asked.tool == "pay_out"
    assert asked.trace_id.startswith(EPISODE)
    handle.answer(asked.number, granted)
    return ended(handle)


def rows(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (one["episode_id"], one["answer"], one["by"], one["attempts"]) for one in found["approvals"]
    ]


RULED = [
    ("small-payout", "granted", RULE, 1),
    ("large-payout", "refused", RULE, 1),
]


@pytest.mark.parametrize("flag", ["deny", "allow"])
@pytest.mark.parametrize("workers", [0, 1])
def test_without_a_person_the_flag_changes_nothing_and_the_report_holds(
    desk: Desk, door: Door, flag: Any, workers: int
) -> None:
    view = ended(desk.runs.start(order(approvals=flag, workers=workers)))
    assert (view.state, view.passed, view.failed) == ("done", 2, 0)
    assert (view.infrastructure, view.unanswered) == (1, 1)
    found = report(desk)
    assert found["recommendation"] == "hold"
    (reason,) = found["reasons"]
    assert "1 for want of a person to answer" in reason
    assert f"reviewer run {PAYOUTS} {GOOD} --resume --approve ask" in found["needs"][0]
    assert rows(found) == [*RULED, ("goodwill-payout", "unanswered", ASKED, 1)]
    door.healthy()


@pytest.mark.parametrize(("granted", "recommendation"), [(True, "promote"), (False, "block")])
def test_what_a_person_left_open_is_made_again_with_a_person(
    desk: Desk, door: Door, granted: bool, recommendation: str
) -> None:
    ended(desk.runs.start(order()))
    with pytest.raises(DeskError, match="--seed"):
        desk.runs.start(order(resume=True, approvals="ask", seed=4))
    view = answered(desk.runs.start(order(resume=True, approvals="ask")), granted)
    assert (view.planned, view.unanswered) == (1, 0)
    found = report(desk)
    assert found["recommendation"] == recommendation
    word = "granted" if granted else "refused"
    assert sorted(rows(found)[2:]) == [
        ("goodwill-payout", word, ASKED, 1),
        ("goodwill-payout", "unanswered", ASKED, 1),
    ]
    assert not any("want of a person" in need for need in found["needs"])
    assert (found["lost"]["attempts"], found["lost"]["unattended"]) == (1, 1)
    assert found["lost"]["held"] is False
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", PAYOUTS, "--candidate", GOOD)
    assert said.code == (0 if granted else 10)
    page = (out / "report.md").read_text(encoding="utf-8")
    assert f"| {word} | `{ASKED}` | 1 | 1 |" in page
    door.healthy()


def test_whoever_orders_a_run_in_the_workstation_is_the_person(desk: Desk) -> None:
    view = answered(desk.runs.start(order(person=True)), True)
    assert (view.passed, view.infrastructure) == (3, 0)
    found = report(desk)
    assert found["recommendation"] == "promote"
    assert rows(found) == [*RULED, ("goodwill-payout", "granted", ASKED, 1)]


def test_a_bad_agent_is_stopped_and_what_it_was_refused_is_no_critical_failure(desk: Desk) -> None:
    view = ended(desk.runs.start(order(BAD)))
    assert (view.passed, view.failed, view.critical) == (1, 2, 0)
    found = report(desk, BAD)
    assert found["recommendation"] == "block"
    assert found["gates"]["authority"]["fail"] == 0
    large = next(one for one in found["approvals"] if one["episode_id"] == "large-payout")
    assert (large["calls"], large["attempts"], large["answer"]) == (2, 1, "refused")


def test_records_taken_to_another_store_have_the_same_verdicts(
    door: Door, empty_template: Path, tmp_path: Path
) -> None:
    """What a pipeline kept is imported elsewhere: a rule's answer is still the contract's."""
    with_payouts(door)
    records = door.root / "kept.jsonl"
    said = door.ok("run", PAYOUTS, GOOD, "--traces", records)
    assert "nobody was there: not measured" in said.err
    other = with_payouts(copied(empty_template, tmp_path / "other"))
    other.ok("import", records)
    verdicts = "SELECT episode_id, passed, critical, infrastructure FROM traces ORDER BY 1"
    assert other.rows(verdicts) == door.rows(verdicts)
    assert [row[1] for row in door.rows(verdicts)] == [None, 1, 1]
    # There it is a claim of a file that nobody was asked.
    elsewhere = other.desk()
    found = report(elsewhere)
    elsewhere.close()
    assert (found["lost"]["attempts"], found["lost"]["unattended"]) == (1, 0)
    assert found["lost"]["held"] is True
