"""Files that other processes read, and attempts that another one judges: with the same outcome."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import Door
from span_files import agent, chat, request

from reviewer.importing import processes
from reviewer.importing.formats.otel.exports import LangfuseReader
from reviewer.importing.pipeline import ahead, claiming, pool
from reviewer.importing.pipeline.one_file import FileImport
from reviewer.importing.pipeline.units import Unit, find_units
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[1] / "data"
TABLES = ("source", "trace", "pack", "chunk", "finding", "quarantine", "source_verdict",
          "attempt_name", "revision", "candidate", "episode")  # fmt: skip
WHEN = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z?")
Kept = tuple[str, ...]


def kept(door: Door, files: Path) -> Kept:
    """What an import into a new store said, and all rows that it made, without the clock."""
    shutil.rmtree(door.store.parent)
    door.store.parent.mkdir()
    said = door.run("import", files)
    rows = [repr(row) for table in TABLES for row in door.rows(f"SELECT * FROM {table}")]
    return str(said.code), said.out, said.err, *(WHEN.sub("", row) for row in rows)


def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other processes read and judge whatever is imported."""
    monkeypatch.setattr(processes, "WORTH_ONE", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    monkeypatch.setattr(processes, "start_method", lambda: "fork")


def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "workers", lambda: 1)


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts files whose attempts another process read, and those it could not give."""
    found = {"taken": 0, "read here": 0}
    answers = FileImport._answers

    def noted(one: FileImport, read: ahead.ReadFile) -> bool:
        good = answers(one, read)
        found["taken" if good else "read here"] += 1
        return good

    monkeypatch.setattr(FileImport, "_answers", noted)
    return found


def conversation(name: str, asked: str) -> dict[str, object]:
    return {"id": name, "messages": [{"role": "user", "content": asked},
                                     {"role": "assistant", "content": "done"}]}  # fmt: skip


def chats(door: Door) -> Path:
    """Some have one name and ask another thing: each is an episode of its own."""
    for number in range(6):
        door.file(f"in/{number}.jsonl", [conversation(f"task-{number % 3}", f"do {number}")])
    door.file("in/broken.jsonl", '{"messages": [{"role": "user", "content": "x"}]}\n{"messages"')
    return door.root / "in"


def cut_traces(door: Door) -> Path:
    """Each trace is in two files."""
    for number in range(3):
        first = agent(1, trace=number + 1)
        second = chat(2, [("user", f"do {number}")], [("assistant", "done")], parent=1, at=1,
                      trace=number + 1)  # fmt: skip
        door.file(f"in/{number}-a.json", request(first))
        door.file(f"in/{number}-b.json", request(second))
    return door.root / "in"


def data(name: str) -> Callable[[Door], Path]:
    return lambda door: DATA / name


@pytest.mark.parametrize(
    ("files", "taken", "again"),
    [
        (chats, True, True),
        (cut_traces, False, True),
        (data("swe_agent"), True, True),
        (data("langfuse"), True, False),
        (data("openai_responses"), False, False),
    ],
    ids=["chats", "cut traces", "swe-agent", "langfuse", "responses"],
)
def test_what_is_kept_is_the_same(
    door: Door,
    monkeypatch: pytest.MonkeyPatch,
    files: Callable[[Door], Path],
    taken: bool,
    again: bool,
) -> None:
    place = files(door)
    with monkeypatch.context() as one:
        here(one)
        alone = kept(door, place)
    others(monkeypatch)
    found = counted(monkeypatch)
    assert kept(door, place) == alone
    assert len(alone) > 10
    assert (found["taken"] > 0, found["read here"] > 0) == (taken, again)


def test_so_is_what_another_process_judges(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large document, of which the last record breaks off."""
    records = [conversation(f"task-{n}", f"do {n} for ann{n % 7}@example.com") for n in range(700)]
    path = door.file("all.json", json.dumps(records)[:-40])
    with monkeypatch.context() as one:
        here(one)
        alone = kept(door, path)
    others(monkeypatch)
    judged = pool.FileScoring._answered
    seen: list[int] = []

    def noted(one: pool.FileScoring, asked: pool._Asked) -> object:
        seen.append(asked.last)
        return judged(one, asked)

    monkeypatch.setattr(pool.FileScoring, "_answered", noted)
    assert kept(door, path) == alone
    assert len(seen) == len({*seen}) > 5


def test_a_process_that_is_ended_from_outside_costs_nothing(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, parent = chats(door), os.getpid()
    with monkeypatch.context() as one:
        here(one)
        alone = kept(door, place)
    others(monkeypatch)
    pieces = Source.pieces

    def dies(source: Source, path: Path | None = None) -> object:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return pieces(source, path)

    monkeypatch.setattr(Source, "pieces", dies)
    found = counted(monkeypatch)
    assert kept(door, place) == alone
    assert found == {"taken": 0, "read here": 0}


def test_files_of_a_known_size_are_not_read_ahead(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = chats(door)
    kept(door, place)
    others(monkeypatch)
    started: list[int] = []
    monkeypatch.setattr(ahead.ReadAhead, "_start", lambda one: started.append(1))
    assert "imported before" in door.run("import", place).err
    assert started == []


# which reader takes a file ------------------------------------------------------------------------


def claimed(paths: list[Path]) -> tuple[list[Unit], int]:
    found = find_units(paths)
    return [unit._replace(near=None) for unit in found.units], found.passed


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other processes claim the files of small folders."""
    others(monkeypatch)
    for name, number in (("MANY", 4), ("FIRST", 2), ("TOGETHER", 3)):
        monkeypatch.setattr(claiming, name, number)


def test_files_claimed_in_processes_are_the_same_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: None
) -> None:
    for name in ("langfuse", "swe_agent", "messages", "stores", "harbor", "agentlab"):
        shutil.copytree(DATA / name, tmp_path / name)
    (tmp_path / "broken.json.gz").write_bytes(b"\x1f\x8bno")
    (tmp_path / "ours.jsonl").write_text('{"episode_id": "a", "events": []}\n')
    (tmp_path / "shot.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "link").symlink_to(DATA / "langfuse")
    paths = [tmp_path / "langfuse", tmp_path / "ours.jsonl", tmp_path]
    with monkeypatch.context() as one:
        here(one)
        alone = claimed(paths)
    assert claimed(paths) == alone
    assert len({unit.reader for unit in alone[0]}) > 5
    monkeypatch.setattr(claiming, "_claim_all", _fails)
    assert claimed(paths) == alone, "a process that is ended costs nothing"


def _fails(task: object) -> object:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_when_files_ran_is_as_their_readers_say(few: None) -> None:
    found = find_units([DATA / "langfuse"]).units
    assert any(unit.near for unit in found)
    for unit in found:
        assert isinstance(unit.reader, LangfuseReader)
        if unit.near:
            assert unit.near == (unit.reader.ran_at(unit.path), unit.reader.names_near(unit.path))
