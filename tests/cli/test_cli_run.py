"""`reviewer run` and what it leaves, also when it is killed."""

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied
from played_runs import EPISODES, Held, asking, bytes_of, order, runs, slots, until

from reviewer.cli.run import Interrupts, follow, words
from reviewer.desk.runs.api import RunOrder, RunView


def test_a_run_in_words(door: Door) -> None:
    said = door.ok("run", SUITE, V7)
    assert said.out.splitlines() == [
        f"9 of 9 attempts made of {V7} on {SUITE}",
        "6 passed, 3 failed (1 critical), 0 not measured, 0 infra",
        "failing gates: state 2, authority 1, process 3, timeout 1",
        "recommendation block",
    ]
    assert said.err.splitlines()[-1].startswith(f"{V7}: 9/9 3 failing (state 2")
    again = door.ok("run", SUITE, V7, "--attempts", 1, "--quiet")
    assert again.err == ""
    assert "12 attempts made in all, 9 count: the first complete set" in again.out
    nothing = door.ok("run", SUITE, V7, "--resume")
    assert "every slot holds a trace" in nothing.out
    door.healthy()


def test_a_run_as_json(door: Door) -> None:
    said = door.ok("run", SUITE, V8, "--json", "--jobs", 2, "--seed", 3)
    found: dict[str, Any] = json.loads(said.out)
    assert (found["state"], found["planned"], found["made"], found["passed"]) == ("done", 9, 9, 9)
    assert (found["recommendation"], found["not_made"], found["problem"]) == ("promote", [], "")
    assert found["gates"]["state"] == 0


def test_the_records_can_be_imported_elsewhere(door: Door, tmp_path: Path) -> None:
    other = copied(door.root, tmp_path / "other")
    file = tmp_path / "made.jsonl"
    door.ok("run", SUITE, V7, "--traces", file)
    assert file.stat().st_mode & 0o777 == 0o600
    other.ok("import", file)
    assert bytes_of(other, V7) == bytes_of(door, V7)
    reports = []
    for one in (door, other):
        out = one.root / "out"
        one.run("--export-report", out, "--suite", SUITE, "--candidate", V7, "--format", "json")
        report = json.loads((out / "report.json").read_text())
        reports.append(
            {name: report[name] for name in report if name not in ("reproduce", "suite")}
        )
    differ = {name for name in reports[0] if reports[0][name] != reports[1][name]}
    # Only here is it known that every attempt would have been stopped at the budget, and what ran.
    known = {"cost", "decision_set", "what_this_does_not_show"}
    assert differ == {*known, "ran", "not_measured"}
    here, there = reports
    assert [(one["ran"]["bound"], one["ran"]["not_bound"]) for one in reports] == [(9, 0), (0, 9)]
    unbound = [line for line in there["not_measured"] if line.startswith("ran: code not bound")]
    assert len(unbound) == 1
    assert here["not_measured"] == [line for line in there["not_measured"] if line not in unbound]
    assert [report["cost"]["capped_usd"] for report in reports] == [0.24, None]
    assert reports[0]["cost"]["cpst_high"] < reports[1]["cost"]["cpst_high"]


def test_what_cannot_begin_leaves_nothing_behind(door: Door, tmp_path: Path) -> None:
    taken, new = door.file("taken.jsonl", "x"), tmp_path / "new.jsonl"
    for argv, code, word in (
        (["run", SUITE, V8, "--attempts", "0"], 2, "from 1"),
        (["run", SUITE, V8, "--workers", "-1"], 2, "-1"),
        (["run", SUITE, V8, "--approve", "ask"], 2, "terminal"),
        (["run", SUITE, V8, "--traces", taken], 2, "exists"),
        (["run", SUITE, "v9", "--traces", new], 20, f"there: {V7}, {V8}"),
        (["run", "s", V8], 20, "no suite s"),
        (["run", SUITE], 2, "candidate"),
    ):
        said = door.run(*argv)
        assert (said.code, word in said.err) == (code, True), (argv, said)
    assert taken.read_text() == "x"
    assert not new.exists()
    assert not door.store.exists()


def test_an_edited_suite_is_refused_with_the_way_out(door: Door) -> None:
    path = door.suite / "suite.json"
    path.write_text(path.read_text().replace("0.95", "0.05"))
    said = door.run("run", SUITE, V8)
    assert (said.code, "suite diff" in said.err) == (20, True)


# killed and interrupted -------------------------------------------------------------------------

COUNT = 200


def begun(door: Door, *options: object) -> Any:
    """A long run in a process of its own, some of its attempts made."""
    process = door.start("run", SUITE, V8, "--attempts", COUNT, "--jobs", 2, *options)
    until(lambda: written(door) >= 20 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def written(door: Door) -> int:
    if not door.store.exists():
        return 0
    try:
        return int(door.one("SELECT count(*) FROM trace"))
    except Exception:
        return 0  # the schema is being made


def complete(door: Door) -> None:
    assert sorted(slots(door)) == sorted((e, n) for e in EPISODES for n in range(1, COUNT + 1))
    assert door.rows("SELECT DISTINCT state FROM source") == [("done",)]
    assert door.wrong_rolls() == []
    door.healthy()


@pytest.mark.slow
def test_a_killed_run_is_resumed_with_exactly_what_is_missing(door: Door) -> None:
    process = begun(door)
    process.send_signal(signal.SIGKILL)
    process.wait()
    made = set(slots(door))
    assert 0 < len(made) < 3 * COUNT
    door.healthy()
    said = door.ok("run", SUITE, V8, "--resume", "--json", "--quiet")
    assert json.loads(said.out)["planned"] == 3 * COUNT - len(made)
    assert set(slots(door)[: len(made)]) == made
    complete(door)
    assert door.one("SELECT count(*) FROM source") == 1


@pytest.mark.nightly
@pytest.mark.slow
def test_a_killed_run_with_workers_leaves_none_behind(door: Door) -> None:
    process = begun(door, "--workers", 2, "--quiet")
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(workers) >= 2
    until(lambda: not any(alive(pid) for pid in workers), str(workers))
    door.ok("run", SUITE, V8, "--resume", "--quiet")
    complete(door)


@pytest.mark.slow
def test_ctrl_c_stops_and_says_how_to_go_on(door: Door) -> None:
    process = begun(door)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"stopping: what runs finishes" in err
    assert b"attempts were not made" in err
    assert b"--resume" in err
    assert f"of {3 * COUNT} attempts made".encode() in out
    door.ok("run", SUITE, V8, "--resume", "--quiet")
    complete(door)


def children(parent: int) -> list[int]:
    """Processes begun by one (Linux)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.parent.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_second_ctrl_c_abandons(door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    held = Held()
    with runs(door, held.attempt) as all_runs:
        handle = all_runs.start(order(jobs=2))
        until(lambda: len(held.running) == 2)

        def press() -> None:
            try:
                until(lambda: signal.getsignal(signal.SIGINT) is not signal.default_int_handler)
                for state in ("stopping", "stopped"):
                    os.kill(os.getpid(), signal.SIGINT)
                    until(lambda state=state: handle.view().state == state)  # type: ignore[misc]
            finally:
                held.let_all()  # when a press was lost, the run ends and the asserts fail

        pressing = threading.Thread(target=press)
        pressing.start()
        follow(handle, quiet=True)
        pressing.join()
    assert (handle.view().state, len(held.killed)) == ("stopped", 2)
    said = capsys.readouterr().err
    assert said.index("stopping") < said.index("abandoned")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_waits_for_the_handler_of_the_first() -> None:
    """It comes while the first holds a lock of the run, as a quick second press does."""
    lock, steps = threading.Lock(), []

    class Run:
        def stop(self) -> None:
            with lock:
                signal.raise_signal(signal.SIGINT)
                steps.append("stopped")

        def abandon(self) -> None:
            assert lock.acquire(timeout=60), "the first press still holds the lock"
            lock.release()
            steps.append("abandoned")

    with Interrupts(Run()).caught():
        signal.raise_signal(signal.SIGINT)
    assert steps == ["stopped", "abandoned"]


def test_a_person_is_asked_call_by_call(
    door: Door, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" + "\n" + "yes\n" + "no\n" * 6))
    with runs(door, asking) as all_runs:
        handle = all_runs.start(order(jobs=9, approvals="ask"))
        follow(handle, quiet=True)
    view = handle.view()
    assert (view.state, view.passed, view.infrastructure) == ("done", 2, 7)
    said = capsys.readouterr().err
    assert said.count("grant it? [y/N]") == 9
    assert "asks to call issue_refund" in said
    assert '"order_token": "ord_1"' in said


def test_progress_in_words() -> None:
    view = RunView(
        number=1, order=RunOrder(suite_id="s", candidate_id="c"), suite_id="s", candidate_id="c",
        state="running", planned=90, done=30, passed=26,
        failed=3, critical=1, infrastructure=1, not_measured=0, lost=2, running=(), pending=(),
        gates=(0, 2, 1, 0, 0, 0, 0), seconds=30.0, eta_seconds=61.4, approvals=(), problem="",
        began=0.0,
    )  # fmt: skip
    assert words(view) == "about 1 min 1 s left, 3 failing (state 2, authority 1), 1 infra"


def test_the_demo_runs_both_candidates(tmp_path: Path, door: Door) -> None:
    kept = tmp_path / "kept"
    said = door.ok("demo", "--headless", "--keep", kept)
    assert said.out.startswith(f"BLOCK  {V7} on {SUITE}\n")
    assert f"\nPROMOTE  {V8} on {SUITE}\n" in said.out
    assert "cost $0.3330, per success $0.0555" in said.out
    assert "cost $0.5490, per success $0.0610" in said.out
    sources = json.loads(Door(kept).ok("sources", "--json").out)
    assert [source["reader"] for source in sources] == ["run/1", "run/1"]
    assert f"  {V7} on {SUITE}: 9 attempts, report block, nothing signed\n" in said.err
    assert f"the workspace is kept: reviewer --workspace {kept} opens it\n" in said.err
    assert "next:\n  reviewer init " in said.err
    Door(kept).healthy()
