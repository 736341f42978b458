"""Judging again in pages: cut off at any moment, beside other writers, in several processes."""

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from doors import V8, Door, copied, passing, shipped

from reviewer.db.connection import write_lock
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.workspace import judging_again, rescore
from reviewer.gates import score
from reviewer.gates.model import Finding, combined
from reviewer.importing import processes

_CODES = "SELECT f.code FROM findings f WHERE f.trace_id IN (SELECT trace_id FROM revisions)"
FACTS = (
    "SELECT * FROM trace", "SELECT * FROM finding", "SELECT * FROM roll", "SELECT * FROM first_set",
    "SELECT * FROM gate_count", "SELECT trace, before, after, code_before, code_after FROM rescored"
    " ORDER BY trace",
)  # fmt: skip


def newer(contract: Any, record: Any, **more: Any) -> Any:
    """The gates of a newer version, which finds something in every record."""
    found = score(contract, record, **more)
    return combined(found, beside=[Finding("state", "wrong_final_state", "fail", None, "newer")])


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer code, and pages of three traces."""
    monkeypatch.setattr(judging_again, "PAGE", 3)
    monkeypatch.setattr(rescore, "WRITE", 2)
    monkeypatch.setattr(judging_again, "score", newer)
    for module in ("reviewer.db.rescoring", "reviewer.desk.workspace.rescore"):
        monkeypatch.setattr(f"{module}.judging_version", lambda: "9.9.9")


def one_more_record(door: Door) -> Path:
    """Return a file in which a stored attempt goes on, to a call that its contract forbids."""
    record = next(one for one in shipped(V8) if one["episode_id"] == "damaged-221")
    bad = {"tool": "issue_refund", "arguments": {}, "status": "ok"}
    return door.file("more.json", {**record, "events": [*record["events"], bad]})


def facts(door: Door) -> list[Any]:
    return [door.rows(query) for query in FACTS]


def scored(door: Door) -> tuple[list[rescore.Change], int]:
    return rescore.rescore(Workspace(door.root), "")


def killed(door: Door, at: Callable[[], object]) -> None:
    """Score in a process of its own, which ends itself as if by kill -9."""

    def work() -> None:
        at()
        scored(door)
        os._exit(0)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL


def at_call(module: Any, name: str, number: int) -> Callable[[], None]:
    """Return what makes the process end itself at so many calls of a function."""

    def arm() -> None:
        left, real = [number], getattr(module, name)

        def other(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        setattr(module, name, other)

    return arm


@pytest.mark.usefixtures("pages")
def test_a_walk_cut_off_goes_on_and_loses_and_doubles_nothing(full: Door, tmp_path: Path) -> None:
    doors = [copied(full.root, tmp_path / name) for name in "abc"]
    wanted = scored(full)
    changed = len(full.rows("SELECT 1 FROM rescored"))
    assert len(wanted[0]) == changed > 6
    places = [("put_reached", 2), ("write_verdicts", 3)]
    for door, some in zip(doors, [places[:1], places[1:], places], strict=True):
        for name, number in some:
            killed(door, at_call(rescore, name, number))
            assert 0 < len(door.rows("SELECT 1 FROM rescored")) < changed
            door.healthy()
        assert scored(door) == wanted
        assert facts(door) == facts(full)
        assert door.rows("SELECT key FROM meta WHERE key='scoring'") == []
        door.healthy()
        assert scored(door) == ([], wanted[1])


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("seed", range(3))
def test_counts_follow_what_changed(full: Door, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Those of first sets too, whose end moves when an attempt is lost no more."""
    monkeypatch.setattr(rescore, "rebuild_rolls", lambda *_: pytest.fail("counts were wrong"))
    chance = Random(seed)
    records = [passing(attempt=number, nonce=number) for number in range(1, 9)]
    for one in chance.sample(records, 3):
        one["termination"] = "infrastructure_error"
    full.take("more.jsonl", records)
    assert full.rows("SELECT count(*) FROM first_set") == [(1,)]
    some = set(chance.sample(range(len(records)), 5))
    monkeypatch.setattr(
        judging_again, "score",
        lambda contract, record, **more: (
            newer if len(record.events) % 2 or int(record.latency_ms or 0) % 8 in some else score
        )(contract, record, **more),
    )  # fmt: skip
    assert len(scored(full)[0]) > 3
    assert full.wrong_rolls() == []
    full.healthy()


@pytest.mark.usefixtures("pages")
def test_a_walk_that_others_wrote_behind_begins_anew(full: Door) -> None:
    """It still tells what it changed before."""
    killed(full, at_call(rescore, "put_reached", 3))
    before = len(full.rows("SELECT 1 FROM rescored"))
    full.run("import", one_more_record(full))
    seen: list[int] = []
    changes, count = rescore.rescore(Workspace(full.root), "", lambda done, of: seen.append(done))
    assert (count, seen[0]) == (len(full.rows("SELECT 1 FROM trace")), 3)
    assert len(changes) == len(full.rows("SELECT 1 FROM rescored")) > before
    full.healthy()


@pytest.mark.usefixtures("pages")
def test_processes_judge_as_one_does(
    full: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = copied(full.root, tmp_path / "other")
    wanted = scored(full)
    monkeypatch.setattr(judging_again, "WORTH", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    monkeypatch.setattr(processes, "start_method", lambda: "fork")
    assert scored(other) == wanted
    assert facts(other) == facts(full)


@pytest.mark.usefixtures("pages")
def test_others_may_write_between_two_pages(full: Door) -> None:
    asked: list[tuple[int, int]] = []

    def between(done: int, of: int) -> None:
        with write_lock(full.store, 0):
            asked.append((done, of))

    _, count = rescore.rescore(Workspace(full.root), "", between)
    assert asked[-1] == (count, count)
    assert len(asked) >= count // 3


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once when the first page is judged and not yet written."""
    real, left = rescore.judged_pages, [act]

    def other(*given: Any) -> Iterator[Any]:
        for page in real(*given):
            if left:
                left.pop()()
            yield page

    monkeypatch.setattr(rescore, "judged_pages", other)


@pytest.mark.usefixtures("pages")
def test_what_came_meanwhile_is_judged_with_it(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that was imported while its attempt was judged is kept."""
    more = one_more_record(full)
    meanwhile(monkeypatch, lambda: full.run("import", more))
    scored(full)
    assert full.rows("SELECT count(*) FROM revision") == [(1,)]
    codes = {code for (code,) in full.rows(_CODES)}
    assert "wrong_final_state" in codes
    assert any("issue_refund" in code for code in codes)
    full.healthy()


@pytest.mark.usefixtures("pages")
def test_an_edit_in_between_gets_no_new_digest(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit() -> None:
        with sqlite3.connect(full.store) as base:
            base.execute("UPDATE trace SET cost_usd = 0.25 WHERE id = 2")

    meanwhile(monkeypatch, edit)
    with pytest.raises(DeskError, match="does not match its journal: traces 1 to"):
        scored(full)
    assert full.rows("SELECT 1 FROM rescored") == []
    assert full.run("doctor").code != 0
