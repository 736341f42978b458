"""Runs on an engine, from the order to the report. The engine is that of another package."""

import importlib.metadata
import sys
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, copied
from played_runs import made, order, slots
from test_desk_shards import began, reports, still_clock  # noqa: F401
from thread_engine import ThreadEngine

from reviewer.running.engines import crew, fleet


class Entry:
    """An entry point of the group `reviewer.executors`."""

    name = "threads"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.engines: list[ThreadEngine] = []

    def load(self) -> object:
        return self._connect

    def _connect(self, address: str, workers: int) -> ThreadEngine:
        self.asked.append((address, workers))
        self.engines.append(ThreadEngine("one", "two"))
        return self.engines[-1]


@pytest.fixture(autouse=True)
def entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    found = Entry()
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [found])
    monkeypatch.setattr(fleet, "LOOK_S", 0.01)
    monkeypatch.setattr(crew, "HEAR_S", 0.05)
    return found


def test_a_run_on_the_engine_of_a_package_reports_what_one_here_reports(
    door: Door, empty_template: Path, tmp_path: Path, entry: Entry
) -> None:
    shipped = copied(empty_template, tmp_path / "here")
    made(shipped, order(seed=7))
    said = door.ok("run", SUITE, V8, "--seed", 7, "--executor", "threads:some:where")
    assert "9 of 9 attempts made" in said.out
    assert entry.asked == [("some:where", 0)]
    assert reports(door) == reports(shipped)
    assert sorted(slots(door)) == sorted(slots(shipped))
    assert [run["executor"] for run in began(door)] == ["threads"]
    assert entry.engines[0].ended
    assert "nothing to make" in door.ok("run", SUITE, V8, "--resume", "--executor", "threads").out
    assert entry.engines[1].ended, "an engine that was not needed is left too"


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (("--executor", "dusk"), 2, "no such executor (there: dask, ray, threads)"),
        (("--executor", "dask"), 2, "dask is not installed"),
        (("--executor", "ray"), 2, "pip install 'release-reviewer[ray]'"),
        (("--executor", "threads:x", "--workers", 2), 2, "threads:x already has its own workers"),
        (("--executor", "threads", "--jobs", 2000), 2, "--jobs 2000: from 0 to 1,000"),
    ],
)
def test_an_order_that_no_engine_takes_is_refused(
    door: Door, monkeypatch: pytest.MonkeyPatch, argv: tuple[object, ...], code: int, told: str
) -> None:
    for package in ("distributed", "ray"):
        monkeypatch.setitem(sys.modules, package, None)
    said = door.run("run", SUITE, V8, *argv)
    assert (said.code, told in said.err) == (code, True), said
    assert "way out: " in said.err or "--jobs" in told
    assert not door.store.exists()


def test_a_draft_is_run_on_this_machine(door: Door, entry: Entry) -> None:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    said = door.run("run", SUITE, V8, "--executor", "threads")
    assert (said.code, "leave --executor out" in said.err) == (2, True), said
    assert entry.asked == []


def test_a_package_that_does_not_load_is_said(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Entry, "load", lambda self: 1 / 0)
    said = door.run("run", SUITE, V8, "--executor", "threads")
    assert (said.code, said.err.count("cannot be loaded (ZeroDivisionError)")) == (20, 1)
