"""Sessions followed while their tools write them: grown, in halves, truncated, replaced."""

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from doors import Door, copied

from reviewer.desk.imports import following as room
from reviewer.desk.imports.following import PATIENCE_S, REST_S, Following
from reviewer.desk.imports.importing import import_units
from reviewer.desk.place import at
from reviewer.importing.pipeline.outcome import FileResult
from reviewer.importing.pipeline.scoring import ImportOptions

CLAUDE = FILES / "claude-code"
SESSION = CLAUDE / "1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl"
PARENT = CLAUDE / "9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl"
ROLLOUT = next((FILES / "codex").glob("rollout-*.jsonl"))
GEMINI = next((FILES / "gemini-cli/chats").glob("session-*.jsonl"))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def quiet(path: Path, number: int, of: int) -> Callable[..., None]:
    return lambda done, size, tally: None


def line(number: int, kind: str, content: Any, stop: str | None = None, **more: Any) -> bytes:
    """A line of a session of Claude Code."""
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "model": "claude-opus-4-8", "stop_reason": stop}
    value = {
        "type": kind, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "S", "cwd": "/p", "version": "2.1.197",
        "timestamp": f"2026-11-22T10:00:{number:02}.000Z", "message": message, **more,
    }  # fmt: skip
    return json.dumps(value).encode() + b"\n"


def called(number: int, name: str = "Bash") -> bytes:
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {"command": "ls"}}
    return line(number, "assistant", [use], "tool_use")


def returned(number: int, call: int, content: str = "done") -> bytes:
    result = {"type": "tool_result", "tool_use_id": f"toolu_{call}", "content": content}
    return line(number, "user", [result])


def said(number: int, words: str = "It is done.", stop: str | None = "end_turn") -> bytes:
    return line(number, "assistant", [{"type": "text", "text": words}], stop)


STORY = [line(0, "user", "mend the lamp"), called(1), returned(2, 1), said(3)]


class Followed:
    """A session file, a store, and a clock that goes on by hand."""

    def __init__(
        self, door: Door, name: str = "S.jsonl", asked: ImportOptions | None = None
    ) -> None:
        self.door, self.now = door, 0.0
        self.path = door.root / "sessions" / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.asked = asked or ImportOptions()
        self.news: list[str] = []
        self.start()

    def start(self, more: Callable[[Collection[str]], list[Path]] = lambda known: []) -> None:
        """Begin to follow, as a program that was started again."""
        tell = self.news.append
        self.room = Following(
            [self.path], self.asked, lambda _, words: tell(words), more, lambda: self.now
        )

    def append(self, *raw: bytes) -> None:
        with self.path.open("ab") as out:
            out.write(b"".join(raw))

    def after(self, seconds: float = REST_S) -> list[FileResult]:
        """What came of the session after looking now, and then every second."""
        found: list[FileResult] = []
        for _ in range(round(seconds) + 1):
            self._take(self.room.ready(), self.asked._replace(live=True), found)
            self.now += 1
        return found

    def rest(self) -> list[FileResult]:
        """What came of the end of following."""
        found: list[FileResult] = []
        self._take(self.room.rest(), self.asked, found)
        return found

    def _take(self, units: list[Any], asked: ImportOptions, found: list[FileResult]) -> None:
        for unit in units:
            results = import_units(at(self.door.root), [unit], asked, quiet, lambda result: None)
            self.room.took(unit, results[-1], 0.0)
            found.append(results[-1])

    def attempts(self) -> list[tuple[Any, ...]]:
        return self.door.rows("SELECT candidate_id, attempt, events, passed FROM traces")

    def open_end(self) -> bool:
        """Whether the attempt is not measured for want of an end."""
        codes = self.door.rows("SELECT code FROM finding WHERE severity='not_measured'")
        return any("end of the session" in code for (code,) in codes)


@pytest.fixture
def followed(door: Door) -> Followed:
    return Followed(door)


def test_a_session_is_one_attempt_that_grows(followed: Followed) -> None:
    for number, raw in enumerate(STORY):
        followed.append(raw)
        results = followed.after()
        if not number:  # nobody has answered: it is not known whose attempt it is
            assert results == []
            continue
        assert [one.added for one in results] == [1]
        assert followed.attempts() == [("claude-opus-4-8", 1, number + 1, None)]
        assert followed.open_end() == (number < 3)
    assert followed.after() == []
    assert followed.news == []
    followed.door.healthy()


@pytest.mark.parametrize("source", [SESSION, PARENT, ROLLOUT, GEMINI])
def test_line_by_line_comes_to_what_the_whole_file_is(
    door: Door, tmp_path: Path, empty_template: Path, source: Path
) -> None:
    """However a session came in, it ends as one attempt with the findings of the whole file."""
    followed = Followed(door, source.name)
    beside = source.with_suffix("")
    if beside.is_dir():
        shutil.copytree(beside, followed.path.with_suffix(""))
    if source is GEMINI:
        shutil.copytree(next(one for one in source.parent.iterdir() if one.is_dir()),
                        followed.path.parent / "4790c8e0-1fe6-403d-acb2-269799a01cb2")  # fmt: skip
    for raw in lines_of(source):
        followed.append(raw)
        for result in followed.after():
            assert (result.refused, result.problem, result.beside) == (0, "", ())
    followed.rest()
    template_door = copied(empty_template, tmp_path / "whole")
    template_door.ok("import", followed.path)
    columns = "SELECT candidate_id, episode_id, attempt, events, passed, critical FROM traces"
    findings = "SELECT gate, code, severity, seq FROM finding ORDER BY 1, 2, 4"
    assert door.rows(columns) == template_door.rows(columns)
    assert door.rows(findings) == template_door.rows(findings)
    assert len(door.rows(columns)) == 1
    assert followed.news == []
    door.healthy()


def test_half_a_line_is_waited_for(followed: Followed) -> None:
    followed.append(*STORY[:2], STORY[2][:-30])
    assert followed.after(PATIENCE_S / 2) == []
    assert followed.news == [room.HALF]
    followed.append(STORY[2][-30:])
    assert [(one.added, one.refused) for one in followed.after()] == [(1, 0)]
    assert followed.attempts() == [("claude-opus-4-8", 1, 3, None)]
    assert followed.door.one("SELECT count(*) FROM quarantine") == 0


def test_half_a_line_that_stays_is_read_without_and_not_measured(followed: Followed) -> None:
    followed.append(*STORY, STORY[3][:40])
    results = followed.after(PATIENCE_S + 2)
    assert [(one.added, one.refused) for one in results] == [(1, 0)]
    assert followed.news == [room.HALF, room.HALF_READ]
    assert followed.door.rows("SELECT code FROM finding WHERE code LIKE 'unread:lines%'")
    whole = said(4, "Now it is.")
    followed.path.write_bytes(b"".join(STORY) + whole)
    followed.after()
    assert not followed.door.rows("SELECT code FROM finding WHERE code LIKE 'unread:%'")


def test_a_line_without_its_newline_is_whole(followed: Followed) -> None:
    followed.append(*STORY[:3], STORY[3][:-1])
    assert [one.added for one in followed.after()] == [1]
    assert not followed.open_end()


def test_a_whole_document_is_waited_for_as_long_as_it_takes(door: Door) -> None:
    source = FILES / "cline/1795384839649_u3as6"
    shutil.copytree(source, door.root / "sessions" / source.name)
    followed = Followed(door, f"{source.name}/{source.name}.messages.json")
    raw = followed.path.read_bytes()
    followed.path.write_bytes(raw[:-40])
    assert followed.after(3 * PATIENCE_S) == []
    followed.path.write_bytes(raw)
    assert [(one.added, one.refused) for one in followed.after()] == [(1, 0)]


def test_an_answer_without_a_reason_to_stop_is_no_end_before_it_rests(followed: Followed) -> None:
    followed.append(*STORY[:3], said(3, stop=None))
    followed.after()
    assert followed.open_end()
    assert [one.added for one in followed.rest()] == [1]
    assert not followed.open_end()
    assert len(followed.attempts()) == 1
    followed.door.healthy()


def test_what_is_asked_after_an_end_goes_on(followed: Followed) -> None:
    followed.append(*STORY)
    followed.after()
    assert not followed.open_end()
    followed.append(line(4, "user", "and the other one"))
    (result,) = followed.after()
    assert (result.added, result.beside) == (1, ())
    assert followed.open_end()
    followed.append(called(5), returned(6, 5), said(7))
    followed.after()
    assert followed.attempts() == [("claude-opus-4-8", 1, 8, None)]
    assert not followed.open_end()


def test_a_rest_lies_between_two_readings(followed: Followed) -> None:
    followed.append(*STORY[:2])
    assert len(followed.after(0)) == 1
    followed.append(STORY[2])
    assert followed.after(0) == []  # a second later
    followed.append(STORY[3])
    assert len(followed.after()) == 1  # both lines at once


def test_a_truncated_file_takes_nothing_away(followed: Followed) -> None:
    followed.append(*STORY)
    followed.after()
    followed.path.write_bytes(STORY[0] + called(1, "Other"))
    (result,) = followed.after()
    assert [words.partition(":")[0] for words in followed.news] == ["truncated"]
    assert result.beside
    assert followed.attempts()[0][2] == 4
    assert followed.door.rows("SELECT code FROM finding WHERE code LIKE 'contradiction%'")
    followed.door.healthy()


def test_a_file_that_is_emptied_is_named_once(followed: Followed) -> None:
    followed.append(*STORY)
    followed.after()
    followed.path.write_bytes(b"")
    assert followed.after(5) == []
    assert [words.partition(":")[0] for words in followed.news] == ["truncated"]
    assert len(followed.attempts()) == 1


def test_a_file_that_is_replaced_is_named(followed: Followed) -> None:
    followed.append(*STORY)
    followed.after()
    other = followed.path.with_name("other")
    other.write_bytes(STORY[0] + called(1, "Other") + returned(2, 1) * 20 + said(3))
    other.replace(followed.path)
    followed.after()
    assert followed.news == [room.REPLACED]
    assert followed.attempts()[0][2] == 4
    followed.door.healthy()


def test_a_file_that_is_written_over_is_named(followed: Followed) -> None:
    followed.append(*STORY)
    followed.after()
    followed.path.write_bytes(STORY[0] + called(1, "Other") + returned(2, 1) + said(3, "More." * 9))
    followed.after()
    assert followed.news == [room.CHANGED]


def test_a_file_that_is_deleted_is_named_and_may_come_back(followed: Followed) -> None:
    followed.append(*STORY[:3])
    followed.after()
    followed.path.unlink()
    assert followed.after(5) == []
    assert followed.rest() == []
    followed.append(*STORY)
    assert [one.added for one in followed.after()] == [1]
    assert followed.news == [room.GONE, room.BACK]
    assert followed.attempts() == [("claude-opus-4-8", 1, 4, None)]


def test_started_again_nothing_is_doubled(followed: Followed) -> None:
    followed.append(*STORY[:3])
    followed.after()
    followed.start()
    assert [one.added for one in followed.after()] == [0]
    followed.append(STORY[3])
    followed.start()
    assert [one.added for one in followed.after()] == [1]
    followed.rest()
    followed.start()
    assert [one.added for one in followed.after()] == [0]
    assert followed.attempts() == [("claude-opus-4-8", 1, 4, None)]
    followed.door.healthy()


def test_what_was_measured_at_rest_stays_measured(followed: Followed) -> None:
    """Following a session that ended long ago, and was imported, opens nothing again."""
    followed.append(*STORY[:3], said(3, stop=None))
    followed.door.ok("import", followed.path)
    assert not followed.open_end()
    assert [one.state for one in followed.after()] == ["known"]
    assert not followed.open_end()


def test_a_new_sub_agent_is_read_with_its_session(door: Door) -> None:
    followed = Followed(door, PARENT.name)
    followed.append(*lines_of(PARENT)[:9])
    followed.after()
    (before,) = door.rows("SELECT events FROM traces")[0]
    shutil.copytree(PARENT.with_suffix(""), followed.path.with_suffix(""))
    assert [one.added for one in followed.after(10)] == [1]
    assert door.one("SELECT events FROM traces") > before


def test_a_desk_that_is_open_reads_what_has_grown(followed: Followed) -> None:
    followed.append(*STORY[:2])
    followed.after()
    (trace_id,) = followed.door.rows("SELECT trace_id FROM traces")[0]
    desk = followed.door.desk()
    assert [one.seq for one in desk.traces.events(trace_id, 0, 10)] == [1, 2]
    followed.append(*STORY[2:])
    followed.after()
    assert [one.seq for one in desk.traces.events(trace_id, 0, 10)] == [1, 2, 3, 4]
    desk.close()


def test_sessions_that_begin_meanwhile_are_followed(followed: Followed) -> None:
    other = followed.path.with_name("T.jsonl")
    known: list[Collection[str]] = []

    def more(paths: Collection[str]) -> list[Path]:
        known.append(paths)
        return [other] if other.exists() and str(other) not in paths else []

    followed.start(more)
    followed.append(*STORY)
    followed.after()
    other.write_bytes(b"".join(STORY).replace(b'"S"', b'"T"').replace(b"toolu_", b"toolu_t"))
    assert [Path(one.path).name for one in followed.after(10)] == ["T.jsonl"]
    assert len(followed.attempts()) == 2
    assert any(str(other) in paths for paths in known)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00" * 4096 + b"\n",
        b'{"type": "user", "message": {"content": "\\ud800"}}\n',
        b"\xff\xfe{\n",
        b"[" * 100_000 + b"\n",
        b'{"type": "assistant", "parentUuid": "u2", "sessionId": "S", "message": 7}\n',
    ],
    ids=["nul", "surrogate", "no-utf8", "deep", "no-message"],
)
def test_a_hostile_line_costs_no_more_than_a_measurement(followed: Followed, raw: bytes) -> None:
    followed.append(*STORY[:3])
    followed.after()
    followed.append(raw)
    followed.after()
    followed.append(STORY[3])
    followed.after(PATIENCE_S + 5)
    followed.rest()
    [(candidate, attempt, events, _)] = followed.attempts()
    assert (candidate, attempt) == ("claude-opus-4-8", 1)
    assert events >= len(STORY)
    followed.door.healthy()


@pytest.mark.nightly
def test_a_line_of_50_megabytes(followed: Followed) -> None:
    followed.append(*STORY[:2])
    followed.after()
    huge = returned(2, 1, "x" * 50_000_000)
    followed.append(huge[:40_000_000])
    assert followed.after(5) == []
    assert followed.news == [room.HALF]
    followed.append(huge[40_000_000:])
    results = followed.after()
    assert [one.problem for one in results] == [""]
    followed.append(STORY[3])
    followed.after(3 * 50 * REST_S)
    assert len(followed.attempts()) == 1
    followed.door.healthy()


def test_a_session_in_which_nobody_answered_waits(followed: Followed) -> None:
    followed.append(STORY[0])
    assert followed.after(5) == []
    assert followed.rest() == []
    assert [one.waits for one in followed.room.sessions()] == [room.NOBODY]


def test_a_candidate_that_is_given_needs_no_answer(door: Door) -> None:
    followed = Followed(door, asked=ImportOptions(candidate="mine"))
    followed.append(STORY[0])
    assert [one.added for one in followed.after()] == [1]
    assert followed.attempts()[0][0] == "mine"
