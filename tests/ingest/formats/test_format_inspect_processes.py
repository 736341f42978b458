"""The entries of a large `.eval` log are read in other processes: with the same outcome."""

import os
import signal
from pathlib import Path

import pytest
from inspect_logs import LOGS, READER

from reviewer.importing import processes
from reviewer.importing.formats.inspect_ai import reader
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

Told = tuple[list[Foreign | Broken], list[frozenset[str]], set[str], str]


def told(path: Path) -> Told:
    """Attempts, the notes on the file when each came, those at the end, and how it ended."""
    source, found, notes, ended = Source(path), [], [], ""
    try:
        for one in READER.traces(source):
            found.append(one)
            notes.append(frozenset(source.notes))
    except Unreadable as error:
        ended = str(error)
    return found, notes, source.notes, ended


def several(monkeypatch: pytest.MonkeyPatch, method: str = "") -> None:
    monkeypatch.setattr(processes, "WORTH", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    if method:
        monkeypatch.setattr(processes, "start_method", lambda: method)


@pytest.mark.parametrize("name", sorted(one.name for one in LOGS.glob("*.eval")))
def test_every_log_comes_to_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = told(LOGS / name)
    several(monkeypatch)
    assert told(LOGS / name) == here


def test_so_does_a_log_that_is_cut_off_or_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (LOGS / "desk.eval").read_bytes()
    kept = []
    for number, share in enumerate((0.4, 0.9)):
        path = tmp_path / f"{number}.eval"
        path.write_bytes(whole[: int(len(whole) * share)])
        kept.append((path, told(path)))
    path = tmp_path / "damaged.eval"
    half = len(whole) // 3
    path.write_bytes(whole[:half] + bytes(40) + whole[half + 40 :])
    kept.append((path, told(path)))
    assert any(isinstance(one, Broken) for one in kept[2][1][0])
    several(monkeypatch)
    for path, here in kept:
        assert told(path) == here


def test_processes_that_are_spawned_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    here = told(LOGS / "desk.eval")
    several(monkeypatch, "spawn")
    assert told(LOGS / "desk.eval") == here


def test_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    several(monkeypatch, "fork")
    monkeypatch.setattr(reader, "attempt", lambda *_: Foreign(str(os.getpid()).encode()))
    found, *_ = told(LOGS / "desk.eval")
    own = {one.raw for one in found if isinstance(one, Foreign)}
    assert len(found) == 4
    assert str(os.getpid()).encode() not in own


def test_one_that_is_ended_from_outside_costs_the_file_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dies(*_: object) -> Foreign:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    several(monkeypatch, "fork")
    monkeypatch.setattr(reader, "attempt", dies)
    with pytest.raises(OSError, match="import the file again"):
        told(LOGS / "desk.eval")
