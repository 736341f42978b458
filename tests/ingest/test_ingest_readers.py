"""Readers that other packages ship: found by entry point, asked after ours, never trusted more."""

import subprocess
from pathlib import Path

import pytest
from doors import PROGRAM, Door, environment

READER = '''
import json
from reviewer.importing.draft import Draft
from reviewer.importing.reader import Broken

class DiaryReader:
    """Lines `who: words`, the first line naming the episode."""
    name, version, probe = "diary", "7", True

    def sniff(self, head):
        return head.text.startswith(b"{\\"diary\\"")

    def suite_id(self, path): return "diary"
    def candidate_id(self, path): return path.stem
    def companions(self, path): return ()

    def traces(self, source):
        for name, value in source.records():
            if isinstance(value, Broken):
                yield value
                continue
            yield source.attempt(lambda: self.one(source, value), name)

    def one(self, source, value):
        draft = Draft("diary")
        for who, words in value["diary"]:
            draft.message(who, words)
        draft.note("diaries have no cost")
        return draft.foreign(episode_id=value["day"], candidate_id=source.path.stem,
                             final_message=draft.last_words())

class Greedy(DiaryReader):
    """Claims everything."""
    name = "greedy"
    def sniff(self, head): return True

def broken():
    raise RuntimeError("no")
'''


def installed(folder: Path, entries: str) -> dict[str, str]:
    """A package on the path, as pip would have put it there."""
    (folder / "diaries.py").write_text(READER)
    about = folder / "diaries-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: diaries\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[reviewer.readers]\n{entries}\n")
    return environment(PYTHONPATH=str(folder))


def imported(door: Door, environ: dict[str, str], path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PROGRAM, "--workspace", str(door.root), "import", str(path)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_reader_of_another_package_is_used(door: Door, tmp_path: Path) -> None:
    environ = installed(tmp_path, "diary = diaries:DiaryReader\nbad = diaries:broken")
    path = door.file(
        "days.json", '{"diary": [["user", "hi"], ["agent", "hello"]], "day": "monday"}\n'
    )
    done = imported(door, environ, path)
    assert done.returncode == 0, done
    assert door.rows("SELECT trace_id FROM traces") == [("diary/days/monday/1",)]
    assert door.one("SELECT reader FROM source") == "diary/7"
    assert "diaries have no cost" in done.stderr
    assert "reader bad: RuntimeError" in done.stderr


def test_it_cannot_take_over_a_format_we_know(door: Door, tmp_path: Path) -> None:
    environ = installed(tmp_path, "greedy = diaries:Greedy")
    data = Path(__file__).resolve().parents[1] / "data"
    for path in (data / "tau_bench/gpt-4o-airline-excerpt.json", data / "langchain/lc_dumps.json"):
        assert imported(door, environ, path).returncode == 0
    readers = {row for (row,) in door.rows("SELECT reader FROM source")}
    assert {reader.partition("/")[0] for reader in readers} == {"tau-bench", "langchain"}


def test_an_odd_record_costs_that_record(door: Door, tmp_path: Path) -> None:
    environ = installed(tmp_path, "diary = diaries:DiaryReader")
    lines = '{"diary": [], "day": "a"}\n{"diary": 3}\n{"diary": [["user", "x"]], "day": "b"}\n'
    done = imported(door, environ, door.file("days.jsonl", lines))
    assert done.returncode == 20
    assert "shape:TypeError in record 2" in done.stderr
    assert door.one("SELECT count(*) FROM traces") == 2


FAULTY = """
import json
from reviewer.importing.reader import Foreign

class Base:
    version, probe = "1", True
    def sniff(self, head): return head.text.startswith(b"{\\"faulty\\"")
    def suite_id(self, path): return "faulty"
    def candidate_id(self, path): return path.stem

class ByRecord(Base):
    name = "faulty-records"
    def read(self, raw, candidate_id): return json.loads(raw)["not there"]

class ByDocument(Base):
    name = "faulty-document"
    def companions(self, path): return ()
    def traces(self, source):
        yield from [][3]

class Companions(ByDocument):
    name = "faulty-companions"
    def companions(self, path): raise ZeroDivisionError("secret\\x1b[31m")

class InAttempt(ByDocument):
    name = "faulty-attempt"
    def traces(self, source):
        yield source.attempt(lambda: {}["x"], "record 1")

class Results(ByDocument):
    name = "faulty-results"
    def traces(self, source): yield from self.results(source)
    def results(self, source): raise AssertionError
    def attempt(self, source, instance_id, joined): raise AssertionError
"""


@pytest.mark.parametrize(("name", "kind", "error"), [
    ("faulty-records", "ByRecord", "KeyError"),
    ("faulty-document", "ByDocument", "IndexError"),
    ("faulty-companions", "Companions", "ZeroDivisionError"),
    ("faulty-attempt", "InAttempt", "KeyError"),
    ("faulty-results", "Results", "AssertionError"),
])  # fmt: skip
def test_a_fault_names_its_reader_and_shows_where_when_asked(
    door: Door, tmp_path: Path, name: str, kind: str, error: str
) -> None:
    environ = installed(tmp_path, f"one = faulty:{kind}")
    (tmp_path / "faulty.py").write_text(FAULTY)
    path = door.file("x.jsonl", '{"faulty": 1}\n')
    good = door.file("y.json", '[{"role": "user", "content": "hi"}]')
    quiet = subprocess.run([*PROGRAM, "--workspace", str(door.root), "import", str(path)],
                           env=environ, capture_output=True, text=True, check=False)  # fmt: skip
    assert quiet.returncode == 20
    assert "Traceback" not in quiet.stderr
    if kind != "InAttempt":
        assert f"a fault of the reader {name}: {error}; REVIEWER_DEBUG=1" in quiet.stderr
    loud = subprocess.run([*PROGRAM, "--workspace", str(door.root), "import", str(path), str(good)],
                          env={**environ, "REVIEWER_DEBUG": "1"},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert loud.returncode == 20
    assert f"a fault of the reader {name}: {error}" in loud.stderr
    assert "Traceback (most recent call last)" in loud.stderr
    assert "faulty.py" in loud.stderr
    assert "\x1b" not in loud.stderr
    assert door.one("SELECT count(*) FROM trace") == 1  # the other file is not held up
