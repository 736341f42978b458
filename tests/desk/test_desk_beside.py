"""What the desk gathers beside a report: the grid, attempts by number, events of failing traces."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, many, passing

from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.reports.renderings import FILES, FORMATS, renderings, suite_path
from reviewer.report.page_parts import Excerpt, Supplement


@pytest.fixture
def desk(full: Door) -> Iterator[Desk]:
    made = full.desk()
    yield made
    made.close()


def beside(desk: Desk, candidate: str = V7) -> Supplement:
    return desk.reports.shown(SUITE, candidate, None, FORMATS).beside


def failing(door: Door, events: list[dict[str, Any]], **more: Any) -> Excerpt:
    """The only excerpt of a candidate with one failing trace of these events."""
    record = {
        "episode_id": "attack-014",
        "candidate_id": "cand-a",
        "attempt": 1,
        "events": events,
        "final_state": "request_open",
        "cost_usd": 0.01,
        "latency_ms": 5.0,
        **more,
    }
    door.take("one.jsonl", [record])
    desk = door.desk()
    try:
        (found,) = beside(desk, "cand-a").excerpts
    finally:
        desk.close()
    return found


def test_the_grid_is_the_one_of_the_workstation(desk: Desk) -> None:
    shown = beside(desk).rows
    keys = desk.scorecards.order(SUITE, V7)
    screen = {row.episode_id: row for row in desk.scorecards.rows(SUITE, V7, keys)}
    assert {row.episode_id for row in shown} == set(screen)
    for row in shown:
        other = screen[row.episode_id]
        assert [(c.mark, c.failed, c.attempts) for c in row.cells] == [
            (c.mark, c.failed, c.attempts) for c in other.cells
        ]
        assert [(a.attempt, a.mark) for a in row.attempts] == [
            (a.attempt, a.mark) for a in other.attempts
        ]
        assert (row.pass_hat, row.mean_cost_usd) == (other.pass_hat, other.mean_cost_usd)


def test_attempts_come_with_their_numbers_and_times(desk: Desk) -> None:
    found = beside(desk).attempts
    assert [fact.mark for fact in found["attack-014"]] == ["critical", "fail", "pass"]
    assert [fact.attempt for fact in found["attack-014"]] == [1, 2, 3]
    assert all(fact.latency_ms for facts in found.values() for fact in facts)


def test_critical_traces_come_first_with_the_event_that_broke_the_gate(desk: Desk) -> None:
    first, *rest = beside(desk).excerpts
    assert first.trace_id == f"{SUITE}/{V7}/attack-014/1"
    assert first.mark == "critical"
    assert [one.mark for one in rest] == ["fail", "fail"]
    (broken,) = [event for event in first.events if event.mark == "critical"]
    assert (broken.seq, broken.title, broken.status) == (2, "issue_refund", "ok")
    assert broken.codes == ("forbidden:issue_refund",)
    assert dict(broken.parts)["arguments"] == (
        '{"order_token": "ord_redacted_014", "amount_usd": 89.0}'
    )
    assert ("authority", "forbidden:issue_refund", 2, "issue_refund is forbidden") in first.findings


def test_a_candidate_that_passes_has_none(desk: Desk) -> None:
    assert beside(desk, V8).excerpts == ()


def test_what_no_format_asks_for_is_not_read(desk: Desk) -> None:
    found = desk.reports.shown(SUITE, V7, None, ("json",)).beside
    assert (found.rows, found.excerpts, dict(found.attempts)) == ((), (), {})
    assert found.report_sha256 == ""  # the file of a report does not show its own
    found = desk.reports.shown(SUITE, V7, None, ("json", "sarif")).beside
    assert (found.rows, found.excerpts, dict(found.attempts)) == ((), (), {})
    assert found.report_sha256 == desk.reports.build(SUITE, V7).digest


def test_a_long_trace_is_shown_around_what_broke(door: Door) -> None:
    calls = [{"tool": "lookup_order", "arguments": {"n": n}} for n in range(400)]
    calls[250] = {"tool": "issue_refund", "arguments": {"amount_usd": 1}}
    found = failing(door, calls)
    assert found.of == 400
    assert len(found.events) <= 12
    assert {249, 250, 251, 252, 253} <= {event.seq for event in found.events}


def test_a_trace_kept_in_parts_is_shown_as_any_other(door: Door) -> None:
    calls = [
        {"tool": "lookup_order", "arguments": {"n": n}, "observation": "x" * 3000}
        for n in range(600)
    ]
    calls[500] = {"tool": "issue_refund", "arguments": {"amount_usd": 1}}
    found = failing(door, calls)
    assert door.one("SELECT count(*) FROM chunk") > 2
    (broken,) = [event for event in found.events if event.title == "issue_refund"]
    assert broken.seq == 501
    near = next(event for event in found.events if event.seq == 500)
    assert dict(near.parts)["observation"].endswith("… (+2,400 characters)")


def test_masked_text_stays_masked_and_what_is_not_kept_is_said_so(door: Door) -> None:
    calls = [{"tool": "issue_refund", "arguments": {"email": "ann@shop.example"}}]
    found = failing(door, calls)
    assert found.events == ()
    assert found.why.startswith("its events are not kept")
    desk = door.desk()
    try:
        shown = desk.reports.shown(SUITE, "cand-a", None, FORMATS)
        for data in renderings(shown, FORMATS).values():
            assert b"ann@shop.example" not in data
    finally:
        desk.close()


def test_report_and_rows_are_of_one_reading(door: Door) -> None:
    """Between building a report and gathering beside it nothing can come in."""
    door.take("a.jsonl", [passing(candidate_id="cand-a")])
    desk = door.desk()
    try:
        first = desk.reports.shown(SUITE, "cand-a", None, FORMATS)
        door.take("b.jsonl", [passing(candidate_id="cand-a", attempt=2, nonce=7)])
        again = desk.reports.shown(SUITE, "cand-a", None, FORMATS)
    finally:
        desk.close()
    for shown, made in ((first, 1), (again, 2)):
        rows = {row.episode_id: row for row in shown.beside.rows}
        marks = [fact.mark for fact in rows["damaged-221"].attempts]
        assert marks.count("pass") == made
        assert json.loads(shown.built.raw)["repeatability"]["attempts_made"] == made


def test_more_attempts_than_are_numbered_are_counted_off(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.take("many.jsonl", list(many(5)))
    monkeypatch.setattr("reviewer.desk.reports.renderings.MOST_NUMBERED", 4)
    desk = door.desk()
    try:
        shown = desk.reports.shown(SUITE, "cand-a", None, ("junit",))
        assert dict(shown.beside.attempts) == {}
        text = renderings(shown, ("junit",))["junit.xml"].decode()
    finally:
        desk.close()
    assert "passing attempt 5 of 5" in text


def test_every_format_is_the_same_each_time(desk: Desk) -> None:
    one = renderings(desk.reports.shown(SUITE, V7, None, FORMATS), FORMATS)
    other = renderings(desk.reports.shown(SUITE, V7, None, FORMATS), FORMATS)
    assert one == other
    assert set(one) == set(FILES.values())
    assert json.loads(one["report.sarif"])["version"] == "2.1.0"


def test_a_suite_is_named_as_its_repository_sees_it(tmp_path: Path) -> None:
    root = tmp_path / "repo" / "review"
    (root / "suites").mkdir(parents=True)
    (root / "store").mkdir()
    assert suite_path(at(root), SUITE) == f"suites/{SUITE}"
    (tmp_path / "repo" / ".git").mkdir()
    assert suite_path(at(root), SUITE) == f"review/suites/{SUITE}"
