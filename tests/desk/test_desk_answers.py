"""What the desk answers agrees with the report, with the commands and with itself."""

import contextlib
import json
import sqlite3
import threading
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, many, passing, shipped

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.suite.gates import ALWAYS, GATES


@pytest.fixture
def desk(full: Door) -> Any:
    made = full.desk()
    yield made
    made.close()


def test_the_first_thing_shown_is_what_needs_a_decision(desk: Desk) -> None:
    assert desk.workspace.opening() == (SUITE, V7)
    found = desk.workspace.candidates(SUITE)
    assert [(c.candidate_id, c.traces, c.recommendation, c.decided) for c in found] == [
        (V7, 9, "block", None), (V8, 9, "promote", None),
    ]  # fmt: skip


def test_an_empty_workspace_has_answers(door: Door) -> None:
    desk = door.desk()
    assert desk.workspace.opening() is None
    assert [info.state for info in desk.workspace.suites()] == ["frozen"]
    assert desk.workspace.candidates(SUITE) == []
    assert desk.imports.sources() == desk.imports.refusals() == []
    assert desk.version() == 0
    for ask in (
        lambda: desk.scorecards.card(SUITE, V8),
        lambda: desk.scorecards.rows(SUITE, V8, [1]),
        lambda: desk.scorecards.order(SUITE, V8),
        lambda: desk.traces.view(f"{SUITE}/{V8}/damaged-221/1"),
        lambda: desk.decisions.view(SUITE, V8),
    ):
        with pytest.raises(DeskError) as told:
            ask()
        assert told.value.exit_code == 20
    assert not door.store.exists()
    desk.close()


@pytest.mark.parametrize("candidate", [V7, V8])
def test_the_scorecard_says_what_the_report_says(desk: Desk, candidate: str) -> None:
    card = desk.scorecards.card(SUITE, candidate)
    report = json.loads(desk.decisions.view(SUITE, candidate).report_json)
    assert card.recommendation == report["recommendation"]
    assert card.hard_pass.value == report["hard_pass_rate"]["value"]
    assert card.pass_hat.value == report["pass_hat"]["3"]
    assert card.cpst_usd == report["cost"]["cpst_usd"]
    assert card.latency_p95_ms == report["latency_ms"]["p95"]
    assert {
        total.gate: (total.passed, total.failed, total.not_measured) for total in card.totals
    } == {
        gate: (found["pass"], found["fail"], found["not_measured"])
        for gate, found in report["gates"].items()
    }


def test_rows_follow_the_traces(desk: Desk) -> None:
    keys = desk.scorecards.order(SUITE, V7)
    rows = desk.scorecards.rows(SUITE, V7, keys)
    assert [row.episode_id for row in rows] == ["attack-014", "appeal-009", "damaged-221"]
    assert [[mark.mark for mark in row.attempts] for row in rows] == [
        ["critical", "fail", "pass"], ["pass", "fail", "pass"], ["pass", "pass", "pass"],
    ]  # fmt: skip
    assert [row.passes for row in rows] == [1, 2, 3]
    attack = rows[0]
    assert attack.cells[GATES.index("authority")].mark == "critical"
    assert attack.mean_cost_usd == pytest.approx((0.041 + 0.042 + 0.040) / 3)


@pytest.mark.parametrize("by", ["worst", "episode", "attempts", *ALWAYS])
def test_every_order_holds_every_row_once(desk: Desk, by: str) -> None:
    plain = desk.scorecards.order(SUITE, V7, by)
    assert sorted(plain) == sorted(desk.scorecards.order(SUITE, V7))
    assert desk.scorecards.order(SUITE, V7, by, descending=True) == plain[::-1]


def test_filters_narrow(desk: Desk) -> None:
    def names(**how: Any) -> list[str]:
        return [
            row.episode_id
            for row in desk.scorecards.rows(SUITE, V7, desk.scorecards.order(SUITE, V7, **how))
        ]

    assert names(text="attack") == ["attack-014"]
    assert names(text="tag:attack") == ["attack-014"]
    assert names(text="gate:timeout") == ["appeal-009"]
    assert names(only_failing=True) == ["attack-014", "appeal-009"]
    assert names(text='"\' OR 1=1 --"') == names(text="tag:'||1||'") == []
    assert names(text="%") == []
    for how in ({"by": "nonsense"}, {"text": "gate:nonsense"}):
        with pytest.raises(DeskError) as told:
            desk.scorecards.order(SUITE, V7, **how)
        assert told.value.exit_code == 2


def test_a_finding_leads_to_its_event(desk: Desk) -> None:
    trace = desk.traces.view(f"{SUITE}/{V7}/attack-014/1")
    assert trace.mark == "critical"
    forbidden = next(f for f in trace.findings if f.code == "forbidden:issue_refund")
    assert forbidden.seq is not None
    event = desk.traces.event(trace.trace_id, forbidden.seq)
    assert event.row.title == "issue_refund"
    assert "forbidden:issue_refund" in event.row.codes
    assert any("refund_status" in line for line in event.state_changes)
    (line, *_) = desk.scorecards.cell(SUITE, V7, "attack-014", "authority")
    assert (line.trace_id, line.code, line.seq) == (trace.trace_id, forbidden.code, forbidden.seq)


def test_windows_of_events_are_the_whole(desk: Desk) -> None:
    trace_id = f"{SUITE}/{V7}/appeal-009/3"
    whole = desk.traces.events(trace_id, 0, 1000)
    assert whole == [row for at in range(len(whole)) for row in desk.traces.events(trace_id, at, 1)]
    assert desk.traces.events(trace_id, len(whole), 5) == []
    for seq in (0, -1, len(whole) + 1, 10**40):
        with pytest.raises(DeskError):
            desk.traces.event(trace_id, seq)


def test_events_with_gaps_in_their_numbers_are_found_by_number(door: Door) -> None:
    record = passing()
    numbers = [3, 10, 11, 400, 5_000_000]
    for event, seq in zip(record["events"], numbers, strict=True):
        event["seq"] = seq
    door.take("t.json", record)
    desk = door.desk()
    trace_id = f"{SUITE}/cand-a/damaged-221/1"
    assert [row.seq for row in desk.traces.events(trace_id, 0, 10)] == numbers
    for seq in numbers:
        assert desk.traces.event(trace_id, seq).row.seq == seq
    for seq in (1, 4, 12, 399, 4_999_999):
        with pytest.raises(DeskError):
            desk.traces.event(trace_id, seq)
    desk.close()


@pytest.mark.parametrize(
    "trace_id",
    ["", "/", "////", f"{SUITE}/{V7}/attack-014", f"{SUITE}/{V7}/attack-014/x", f"{SUITE}/{V7}/x/1",
     f"{SUITE}/{V7}/attack-014/0", f"{SUITE}/{V7}/attack-014/²",
     f"{SUITE}/{V7}/attack-014/" + "9" * 5000,
     f"{SUITE}/{V7}/attack-014/01x", "\0", "a\ud800/b/c/1"],
)  # fmt: skip
def test_a_name_of_no_trace_is_said(desk: Desk, trace_id: str) -> None:
    with pytest.raises(DeskError):
        desk.traces.view(trace_id)


def test_a_report_is_new_when_the_store_is(full: Door, desk: Desk) -> None:
    before = desk.decisions.view(SUITE, V8)
    version = desk.version()
    record = {**shipped(V8)[0], "attempt": 4, "final_state": "wrong"}
    full.take("t.json", record)
    after = desk.decisions.view(SUITE, V8)
    assert desk.version() != version
    assert (before.recommendation, after.recommendation) == ("promote", "block")
    assert before.report_digest != after.report_digest
    with pytest.raises(DeskError, match="the report changed"):
        desk.decisions.sign(SUITE, V8, "PROMOTE", "nokey", expect_report=before.report_digest)


def test_a_report_is_new_when_the_suite_breaks(full: Door, desk: Desk) -> None:
    desk.scorecards.card(SUITE, V8)
    path = full.suite / "suite.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DeskError) as told:
        desk.scorecards.card(SUITE, V8)
    assert "suite.json" in told.value.text
    assert [info.state for info in desk.workspace.suites()] == ["broken"]
    assert [one.recommendation for one in desk.workspace.candidates(SUITE)] == ["hold", "hold"]
    assert desk.traces.view(f"{SUITE}/{V7}/attack-014/1").mark == "critical"


def test_threads_share_one_desk(full: Door, desk: Desk) -> None:
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                assert desk.scorecards.card(SUITE, V7).recommendation == "block"
                assert len(desk.scorecards.rows(SUITE, V8, desk.scorecards.order(SUITE, V8))) == 3
                desk.traces.view(f"{SUITE}/{V7}/attack-014/1")
        except BaseException as problem:  # told to the test, which raises it
            problems.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    full.take("t.jsonl", list(many(300)))
    for thread in threads:
        thread.join()
    assert problems == []


def test_regression_against_a_baseline(desk: Desk) -> None:
    worse = json.loads(desk.decisions.view(SUITE, V7, baseline=V8).report_json)
    better = json.loads(desk.decisions.view(SUITE, V8, baseline=V7).report_json)
    assert worse["regression"]["baseline"] == V8 or V8 in json.dumps(worse["regression"])
    assert sorted(worse["regression"]["lost"]) == ["appeal-009", "attack-014"]
    assert sorted(better["regression"]["gained"]) == ["appeal-009", "attack-014"]
    assert better["recommendation"] == "promote"
    with pytest.raises(DeskError):
        desk.decisions.view(SUITE, V8, baseline="nobody")


def test_every_kind_has_a_schema(desk: Desk) -> None:
    for kind in ("suite", "episode", "rubric", "judge", "candidate", "trace"):
        assert desk.workspace.schema(kind)["type"] == "object"
    with pytest.raises(DeskError) as told:
        desk.workspace.schema("nonsense")
    assert told.value.exit_code == 2


def test_a_store_that_is_just_being_made_has_nothing_to_say_yet(door: Door) -> None:
    """As while the first run or import of a workspace writes its schema."""
    door.store.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(door.store)) as making:
        making.execute("PRAGMA journal_mode=WAL")
    assert door.store.stat().st_size
    desk = door.desk()
    try:
        assert [info.suite_id for info in desk.workspace.suites()][:1]
        assert desk.imports.sources() == []
        assert desk.workspace.candidates(SUITE) == []
        door.ok("import", door.suite / "traces")
        assert len(desk.imports.sources()) == 2
    finally:
        desk.close()
