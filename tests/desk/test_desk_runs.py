"""Runs through the desk: what is made, what is told, and what becomes of it in the store."""

import asyncio
import contextlib
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied, passing, shipped
from msgspec.structs import replace
from played_runs import (
    EPISODES,
    PLAN,
    Held,
    asking,
    bytes_of,
    ended,
    made,
    order,
    runs,
    slots,
    until,
)

from reviewer.db.connection import StoreError
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunView
from reviewer.desk.runs.start import RunWriter
from reviewer.running.attempt import run_attempt
from reviewer.running.cut_off import CutOff
from reviewer.running.model import Approver, FinishedAttempt, Task, Unrunnable
from reviewer.suite.gates import ALWAYS


@pytest.fixture
def desk(door: Door) -> Any:
    found = door.desk()
    yield found
    found.close()


def test_a_run_begins_beside_one_that_is_only_making_the_store(desk: Desk, door: Door) -> None:
    """Two begun at once: the file is there, and nothing in it yet."""
    door.store.parent.mkdir(exist_ok=True)
    door.store.touch(mode=0o600)
    assert [one.problem for one in desk.runs.runnable(SUITE)] == ["", ""]
    assert SUITE in [one.suite_id for one in desk.workspace.suites()]
    assert ended(desk.runs.start(order(V8))).state == "done"
    door.healthy()


def test_a_run_fills_the_plan_and_gives_the_figures_of_the_articles(desk: Desk, door: Door) -> None:
    assert [(r.candidate_id, r.kind, r.made, r.missing, r.problem)
            for r in desk.runs.runnable(SUITE)] == [
        (V7, "scripted", 0, 9, ""), (V8, "scripted", 0, 9, ""),
    ]  # fmt: skip
    views = [ended(desk.runs.start(order(name))) for name in (V7, V8)]
    assert [(v.state, v.planned, v.done, v.passed, v.failed, v.critical) for v in views] == [
        ("done", 9, 9, 6, 3, 1), ("done", 9, 9, 9, 0, 0),
    ]  # fmt: skip
    assert [v.number for v in desk.runs.views()] == [2, 1]
    v7, v8 = (json.loads(desk.reports.build(SUITE, name).raw) for name in (V7, V8))
    assert (v7["recommendation"], v8["recommendation"]) == ("block", "promote")
    assert v7["reasons"] == [
        "critical safety failure", "not every frozen episode passed",
        "repeatability below policy",
    ]  # fmt: skip
    assert (v7["cost"]["total_usd"], v7["cost"]["cpst_usd"]) == (0.333, 0.0555)
    assert (v8["cost"]["total_usd"], v8["cost"]["cpst_usd"]) == (0.549, 0.061)
    assert (v7["pass_hat"]["3"], v8["pass_hat"]["3"]) == (1 / 3, 1.0)
    totals = {gate.gate: gate.failed for gate in desk.scorecards.card(SUITE, V7).totals}
    assert dict(zip(ALWAYS, views[0].gates, strict=True)) == totals
    assert [(r.made, r.missing) for r in desk.runs.runnable(SUITE)] == [(9, 0), (9, 0)]
    assert [(s.path, s.reader, s.state, s.records, s.added) for s in desk.imports.sources()] == [
        (f"run of {V8}, attempts 1–3", "run/1", "done", 9, 9),
        (f"run of {V7}, attempts 1–3", "run/1", "done", 9, 9),
    ]
    door.healthy()


def test_running_again_numbers_on_and_pays_nothing(desk: Desk, door: Door) -> None:
    ended(desk.runs.start(order(V7)))
    before = json.loads(desk.reports.build(SUITE, V7).raw)
    view = ended(desk.runs.start(order(V7, attempts=2)))
    assert (view.state, view.planned) == ("done", 6)
    assert sorted(slots(door, V7)) == sorted((e, n) for e in EPISODES for n in range(1, 6))
    after = json.loads(desk.reports.build(SUITE, V7).raw)
    for name in ("hard_pass_rate", "pass_hat", "pass_hat_interval", "completion"):
        assert after[name] == before[name], name
    assert after["cost"]["cpst_usd"] == 0.0555
    assert after["repeatability"]["attempts_made"] == 15
    assert after["repeatability"]["attempts_counted"] == 9
    assert after["slots"]["extra"] == 6
    assert {f["attempt"]: f["extra"] for f in after["failures"]}[1] is False
    assert all(f["extra"] == (f["attempt"] > 3) for f in after["failures"])
    assert desk.scorecards.card(SUITE, V7).hard_pass.n == 9
    door.healthy()


def test_attempts_declared_before_the_first_are_the_plan(desk: Desk, door: Door) -> None:
    ended(desk.runs.start(order(V7, attempts=5)))
    report = json.loads(desk.reports.build(SUITE, V7).raw)
    assert (report["slots"]["planned"], report["hard_pass_rate"]["n"]) == (15, 15)
    assert report["slots"]["extra"] == 0
    ended(desk.runs.start(order(V7, attempts=9)))  # said after some were made: it moves nothing
    again = json.loads(desk.reports.build(SUITE, V7).raw)
    assert (again["slots"]["planned"], again["hard_pass_rate"]) == (15, report["hard_pass_rate"])
    assert again["slots"]["extra"] == 27
    (row,) = desk.scorecards.rows(SUITE, V7, desk.scorecards.order(SUITE, V7)[:1])
    assert len(row.attempts) == 14
    door.healthy()
    door.ok("score")
    door.healthy()


def test_single_episodes_can_be_run(desk: Desk, door: Door) -> None:
    """What is run of one episode declares nothing for the others, and a resumed run fills them."""
    for episode in EPISODES[:2]:
        view = ended(desk.runs.start(order(V8, attempts=1, episodes=(episode,))))
        assert (view.state, view.planned) == ("done", 1)
    assert slots(door, V8) == [(episode, 1) for episode in EPISODES[:2]]
    ended(desk.runs.start(order(V8, attempts=4, episodes=(EPISODES[0],))))
    assert json.loads(desk.reports.build(SUITE, V8).raw)["slots"]["planned"] == 9
    assert sum(made.state == "done" for made in desk.imports.sources()) == 3
    view = ended(desk.runs.start(order(V8, resume=True)))
    assert view.planned == 5
    assert desk.runs.runnable(SUITE)[1].missing == 0
    door.healthy()


def test_an_episode_that_the_suite_has_not_is_refused(desk: Desk) -> None:
    with pytest.raises(DeskError, match="no such episode"):
        desk.runs.start(order(V8, episodes=("nope",)))


def test_fewer_attempts_than_the_policy_plans_leave_slots_open(desk: Desk) -> None:
    ended(desk.runs.start(order(V8, attempts=1)))
    report = json.loads(desk.reports.build(SUITE, V8).raw)
    assert (report["recommendation"], report["slots"]["missing"]) == ("hold", 6)
    view = ended(desk.runs.start(order(V8, resume=True)))
    assert (view.planned, view.state) == (6, "done")
    assert json.loads(desk.reports.build(SUITE, V8).raw)["recommendation"] == "promote"


def test_a_stopped_run_is_resumed_where_it_stopped(door: Door, tmp_path: Path) -> None:
    whole = copied(door.root, tmp_path / "whole")
    made(whole, order(V7, seed=5))
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(V7, jobs=2, seed=5))
        held.let(4)
        until(lambda: handle.view().done == 4)
        until(lambda: len(held.running) == 2)
        handle.stop()
        until(lambda: handle.view().state == "stopping")
        held.let_all()
        view = ended(handle)
        assert (view.state, view.done, len(view.pending)) == ("stopped", 6, 3)
        assert sorted(slots(door, V7)) == sorted(set(PLAN) - set(view.pending))
        again = ended(all_runs.start(order(V7, resume=True)))
        assert (again.state, again.planned, again.done) == ("done", 3, 3)
        assert set(slots(door, V7)[6:]) == set(view.pending)
        nothing = ended(all_runs.start(order(V7, resume=True)))
        assert (nothing.state, nothing.planned) == ("done", 0)
    # The seed of the run that is resumed holds: the records are those of one that never stopped.
    assert bytes_of(door, V7) == bytes_of(whole, V7)
    assert door.rows("SELECT path, state, records, added FROM source") == [
        (f"run of {V7}, attempts 1–3", "done", 9, 9)
    ]
    door.healthy()


def test_a_resumed_run_takes_no_other_seed(door: Door) -> None:
    made(door, order(V8, attempts=1, seed=5))
    for changes in ({"seed": 6}, {"approvals": "allow"}):
        with runs(door) as all_runs, pytest.raises(DeskError) as caught:
            all_runs.start(order(V8, resume=True, **changes))
        assert (caught.value.exit_code, "was started with" in caught.value.text) == (2, True)
    assert len(slots(door)) == 3
    assert made(door, order(V8, resume=True, seed=5)).state == "done"


def test_a_paused_run_begins_nothing(door: Door) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(jobs=3))
        until(lambda: len(held.running) == 3)
        handle.pause()
        assert handle.view().state == "paused"
        held.let_all()
        until(lambda: handle.view().done == 3)
        view = handle.view()
        assert (view.state, view.running, len(view.pending)) == ("paused", (), 6)
        assert view.eta_seconds is None
        handle.go_on()
        assert ended(handle).state == "done"


def test_an_abandoned_run_keeps_what_was_finished(door: Door) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(jobs=3))
        until(lambda: len(held.running) == 3)
        held.let(2)
        until(lambda: handle.view().done == 2)
        handle.abandon()
        view = ended(handle)
        assert (view.state, view.done, view.problem) == ("stopped", 2, "")
        assert held.running == set()
        assert len(held.killed) >= 1
        assert len(view.pending) == 7
    assert len(slots(door)) == 2
    door.healthy()


def test_an_abandoned_run_keeps_what_is_critical(door: Door) -> None:
    """Else whoever sees a forbidden call in time is rid of it with Ctrl-C and --resume."""
    begun = []

    async def attempt(task: Task, approver: Approver | None) -> FinishedAttempt:
        done = await run_attempt(task, approver)
        begun.append(task.slot)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise CutOff(done) from None
        return done

    with runs(door, attempt) as all_runs:
        handle = all_runs.start(order(V7, jobs=9))
        until(lambda: len(begun) == 9)
        handle.abandon()
        assert ended(handle).state == "stopped"
    assert slots(door, V7) == [("attack-014", 1)]
    assert made(door, order(V7, resume=True)).done == 8
    door.healthy()


def test_a_report_says_which_runs_ended_early(door: Door) -> None:
    """An attempt that somebody killed, and made again, would else leave no trace."""

    def cut() -> Any:
        desk = door.desk()
        try:
            found = json.loads(desk.reports.build(SUITE, V8).raw)
        finally:
            desk.close()
        return found["peeking"].get("cut")

    for number, done in enumerate((2, 3), 1):
        held = Held()
        with runs(door, held.attempt) as all_runs:
            handle = all_runs.start(order(resume=number > 1, jobs=3))
            held.let(done)
            until(lambda handle=handle, done=done: handle.view().done == done)
            handle.abandon()
            ended(handle)
        assert cut() == ({"runs": 1, "attempts": 7} if number > 1 else None)  # it may still go on
    assert made(door, order(resume=True)).state == "done"
    assert cut() == {"runs": 2, "attempts": 7 + 4}
    said = door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8)
    assert said.code == 0
    assert "2 runs ended early" in (door.root / "out" / "report.md").read_text()


def test_closing_the_desk_abandons_what_runs(door: Door) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order())
        until(lambda: bool(held.running))
    assert handle.ended
    assert held.running == set()


def test_a_view_says_what_runs_and_what_is_to_come(door: Door) -> None:
    held = Held()
    seen: list[RunView] = []
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(jobs=2), lambda run: seen.append(run.view()))
        until(lambda: len(held.running) == 2)
        until(lambda: len(handle.view().running) == 2)
        view = handle.view()
        assert view.running == tuple(PLAN[:2])
        assert view.pending == tuple(PLAN[2:])
        assert (view.state, view.planned, view.done, view.eta_seconds) == ("running", 9, 0, None)
        held.let(3)
        until(lambda: handle.view().done == 3)
        assert handle.view().eta_seconds is not None
        held.let_all()
        ended(handle)
    until(lambda: bool(seen) and seen[-1].state == "done")
    done = [view.done for view in seen]
    assert done == sorted(done)
    assert done[-1] == 9


def test_many_attempts_share_their_commits(door: Door) -> None:
    view = made(door, order(attempts=60, jobs=8))
    assert (view.state, view.done) == ("done", 180)
    batches = door.one("SELECT count(*) FROM journal WHERE instr(body, '\"traces.added\"')")
    assert batches <= 60
    assert door.wrong_rolls() == []
    door.healthy()


def test_the_records_are_given_to_who_keeps_them(door: Door, tmp_path: Path) -> None:
    kept: list[bytes] = []
    with runs(door) as all_runs:
        ended(all_runs.start(order(V7), keep=kept.extend))
    found = {json.loads(raw)["attempt"] for raw in kept}
    assert (len(kept), found) == (9, {1, 2, 3})
    other = copied(door.root, tmp_path / "other")
    said = other.take("again.jsonl", b"\n".join(kept))
    assert (said.code, "9 already there" in said.err) == (0, True)


# what cannot begin ----------------------------------------------------------------------------


def test_an_edited_suite_is_refused(desk: Desk, door: Door) -> None:
    episode = door.suite / "episodes" / "damaged-221.json"
    episode.write_text(episode.read_text().replace("damaged", "dented"))
    with pytest.raises(DeskError) as caught:
        desk.runs.start(order())
    assert (caught.value.exit_code, "damaged-221.json" in caught.value.text) == (20, True)
    assert not door.store.exists()
    assert desk.runs.views() == []


def test_an_edited_script_is_another_candidate(desk: Desk, door: Door) -> None:
    script = door.suite / "candidates" / "scripts" / f"{V8}.json"
    script.write_text(script.read_text().replace("0.0", "0.1"))
    assert "sha256" in {r.candidate_id: r for r in desk.runs.runnable(SUITE)}[V8].problem
    with pytest.raises(DeskError, match="sha256"):
        desk.runs.start(order())


def test_a_changed_manifest_needs_a_new_name(desk: Desk, door: Door) -> None:
    ended(desk.runs.start(order()))
    manifest = door.suite / "candidates" / f"{V8}.json"
    manifest.write_text(manifest.read_text().replace('"8.0.0"', '"8.0.1"'))
    with pytest.raises(DeskError, match="earlier traces are of") as refused:
        desk.runs.start(order())
    assert refused.value.ways_out == ("give the changed candidate a new candidate_id",)
    assert len(slots(door)) == 9


@pytest.mark.parametrize(
    ("changes", "exit_code", "word"),
    [
        ({"candidate_id": "refund-agent-v9"}, 20, f"there: {V7}, {V8}"),
        ({"suite_id": "nowhere"}, 20, "no suite nowhere"),
        ({"suite_id": "../refund-eval-v5"}, 2, "not a suite id"),
        ({"attempts": 0}, 2, "--attempts 0"),
        ({"jobs": 0}, 2, "--jobs 0"),
        ({"workers": -1}, 2, "--workers -1"),
    ],
)
def test_what_cannot_begin_is_said(
    desk: Desk, changes: dict[str, Any], exit_code: int, word: str
) -> None:
    with pytest.raises(DeskError) as caught:
        desk.runs.start(replace(order(), **changes))
    assert (caught.value.exit_code, word in caught.value.text) == (exit_code, True), caught.value


def test_one_run_of_a_candidate_at_a_time(door: Door) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        first = all_runs.start(order())
        with pytest.raises(DeskError, match="already running"):
            all_runs.start(order(resume=True))
        other = all_runs.start(order(V7))
        held.let_all()
        assert (ended(first).state, ended(other).state) == ("done", "done")
        assert ended(all_runs.start(order())).state == "done"
    assert len(slots(door)) == 18


# what goes wrong on the way -------------------------------------------------------------------


async def no_key(task: Task, approver: Approver | None) -> FinishedAttempt:
    if task.slot.attempt == 2:
        raise Unrunnable("OPENAI_API_KEY is not set: set it")
    return await run_attempt(task, approver)


def test_a_candidate_that_cannot_go_on_fails_the_run_and_keeps_what_was_made(door: Door) -> None:
    view = made(door, order(jobs=1), no_key)
    assert (view.state, view.problem) == ("failed", "OPENAI_API_KEY is not set: set it")
    assert slots(door) == PLAN[:3]
    assert made(door, order(resume=True)).state == "done"
    assert len(slots(door)) == 9


def test_a_store_that_cannot_be_written_ends_the_run(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RunWriter, finished: list[FinishedAttempt]) -> None:
        raise StoreError("review.db: nothing was written (disk full)")

    monkeypatch.setattr(RunWriter, "write", full)
    view = made(door, order())
    assert (view.state, view.done) == ("failed", 0)
    assert "disk full" in view.problem
    monkeypatch.undo()
    assert made(door, order(resume=True)).state == "done"


def test_a_fault_of_ours_shows_no_value(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(self: RunWriter, finished: list[FinishedAttempt]) -> None:
        raise KeyError("jane@example.org")

    monkeypatch.setattr(RunWriter, "write", faulty)
    view = made(door, order())
    assert view.problem.startswith("internal error: KeyError")
    assert "jane" not in view.problem


def test_a_slot_that_was_filled_meanwhile_is_said(door: Door) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(jobs=1))
        until(lambda: bool(held.running))
        other = passing("attack-014", V8, 3, nonce=7)
        assert door.take("t.json", other).code == 0
        held.let_all()
        view = ended(handle)
    assert (view.state, view.done) == ("failed", 8)
    assert "slot_filled" in view.problem
    assert "slot_filled" in door.ok("quarantine").out
    door.healthy()


async def always_alike(task: Task, approver: Approver | None) -> FinishedAttempt:
    first = replace(task, slot=task.slot._replace(attempt=1))
    raw = (await run_attempt(first)).raw
    number = b'"attempt":%d,' % task.slot.attempt
    return FinishedAttempt(task.slot, raw.replace(b'"attempt":1,', number))


def test_alike_attempts_all_count(door: Door) -> None:
    """The same evidence for two slots is counted once, unless our own runner made it."""
    view = made(door, order(), always_alike)
    assert (view.state, view.done) == ("done", 9)
    assert door.one("SELECT count(DISTINCT evidence) FROM trace") == 3
    assert door.one("SELECT count(*) FROM quarantine") == 0
    door.healthy()


def test_calls_that_wait_are_shown_and_answered(door: Door) -> None:
    with runs(door, asking) as all_runs:
        handle = all_runs.start(order(jobs=9, approvals="ask"))
        until(lambda: len(handle.view().approvals) == 9)
        for approval in handle.view().approvals:
            assert (approval.tool, approval.seq) == ("issue_refund", 2)
            assert json.loads(approval.arguments)["order_token"].startswith("ord_")
            handle.answer(approval.number, approval.trace_id.endswith("/1"))
            handle.answer(approval.number, True)  # said once
        handle.answer(99, True)
        view = ended(handle)
    assert (view.state, view.passed, view.infrastructure, view.approvals) == ("done", 3, 6, ())


def test_an_abandoned_call_waits_no_more(door: Door) -> None:
    with runs(door, asking) as all_runs:
        handle = all_runs.start(order(jobs=2, approvals="ask"))
        until(lambda: len(handle.view().approvals) == 2)
        handle.abandon()
        view = ended(handle)
    assert (view.state, view.done, view.approvals) == ("stopped", 0, ())


@pytest.mark.slow
def test_readers_and_an_import_stand_beside_a_run(door: Door) -> None:
    held = Held()
    desk = door.desk()
    problems: list[BaseException] = []

    def look() -> None:
        try:
            while not handle.ended:
                card = desk.scorecards.card(SUITE, V8)
                assert card.hard_pass.n <= 9
                desk.scorecards.rows(SUITE, V8, desk.scorecards.order(SUITE, V8))
                desk.version()
        except BaseException as error:
            problems.append(error)

    try:
        with runs(door, held.attempt) as all_runs:
            handle = all_runs.start(order(jobs=2))
            watching = threading.Thread(target=look)
            watching.start()
            for name in ("a", "b", "c"):
                records = [{**r, "candidate_id": name} for r in shipped(V7)]
                held.let(2)
                said = door.outside("import", door.file(f"{name}.jsonl", records))
                assert said.code in (0, 20), said
            held.let_all()
            assert ended(handle).state == "done"
            watching.join()
        assert problems == []
        assert desk.scorecards.card(SUITE, V8).recommendation == "promote"
    finally:
        desk.close()
    door.healthy()


def test_a_plan_changed_by_hand_is_found(desk: Desk, door: Door) -> None:
    ended(desk.runs.start(order(V7, attempts=5)))
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        base.execute("UPDATE candidate SET planned=NULL")
    said = door.run("doctor")
    assert (said.code, "planned" in said.out) == (20, True)
