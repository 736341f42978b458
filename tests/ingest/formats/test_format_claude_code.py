"""Claude Code's sessions and its stream: pitfalls of the format, each by a session made for it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from doors import Door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer.importing.formats.sessions.claude_code import ClaudeCodeReader
from reviewer.importing.formats.sessions.claude_story import INTERRUPTED
from reviewer.importing.formats.sessions.claude_stream import ClaudeStreamReader
from reviewer.importing.head import head_of
from reviewer.importing.pipeline.compare import compare
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

SESSION = "9a7b165c-6146-4a06-b9c3-07c56c395f84"
PARENT = FILES / "claude-code" / f"{SESSION}.jsonl"
STREAM = FILES / "claude-code" / "stream-json.jsonl"


class Lines:
    """Lines of a session, each under the one before it."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, kind: str, content: Any, **more: Any) -> str:
        number = len(self.lines) + 1
        line = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "sessionId": "S",
            "isSidechain": False,
            "timestamp": f"2026-01-01T00:00:{number:02}Z",
        }
        named = ("id", "model", "usage", "stop_reason")
        message = {name: more.pop(name) for name in named if name in more}
        said = {"role": kind, "content": content, **message}
        self.lines.append({**line, **more, "message": said})
        return f"u{number}"

    def asks(self, text: str, **more: Any) -> str:
        return self.add("user", text, **more)

    def says(self, text: str, **more: Any) -> str:
        more = {"id": f"m{len(self.lines)}", "model": "m", "stop_reason": "end_turn", **more}
        return self.add("assistant", [{"type": "text", "text": text}], **more)

    def calls(self, tool: str, own: str, given: Any, **more: Any) -> str:
        block = {"type": "tool_use", "id": own, "name": tool, "input": given}
        more = {"id": f"m{len(self.lines)}", "model": "m", "stop_reason": "tool_use", **more}
        return self.add("assistant", [block], **more)

    def gets(self, own: str, seen: Any, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": own, "content": seen}
        if more.pop("failed", False):
            block["is_error"] = True
        return self.add("user", [block], **more)

    def file(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path

    def read(self, folder: Path) -> dict[str, Any]:
        (found,) = records(self.file(folder / "S.jsonl"))
        return found


def attempts(path: Path) -> list[Foreign | Broken]:
    reader = ClaudeCodeReader()
    return list(reader.traces(Source(path, "", reader.companions(path))))


def records(path: Path) -> list[dict[str, Any]]:
    found = attempts(path)
    assert all(isinstance(one, Foreign) for one in found), found
    return [json.loads(one.raw) for one in found if isinstance(one, Foreign)]


def of_kind(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


def simple() -> Lines:
    lines = Lines()
    lines.asks("Tidy the lamps")
    lines.calls("Bash", "t1", {"command": "ls"})
    lines.gets("t1", "lamps")
    lines.says("Done.")
    return lines


def test_what_a_sub_agent_did_is_evidence_of_the_session_that_started_it(tmp_path: Path) -> None:
    (record,) = records(PARENT)
    theirs = [event for event in record["events"] if event.get("actor") == "general-purpose"]
    assert [event["kind"] for event in theirs] == ["message", "tool_call", "tool_result", "message"]
    assert theirs[1]["arguments"]["command"].startswith("wc -l")
    assert "unread" not in record
    assert record["usage"]["input_tokens"] == 8500  # of the main agent alone
    place = record["events"].index(theirs[0])
    assert record["events"][place - 1]["tool"] == "Agent"


@pytest.mark.parametrize("name", ["acompact-0011", "aside_question-0011"])
def test_what_goes_on_from_the_session_is_not_told_nor_paid_twice(
    tmp_path: Path, name: str
) -> None:
    """What summarizes a session has all of its lines again, under ids of its own."""
    usage = {"input_tokens": 100, "output_tokens": 10}
    lines = Lines()
    lines.asks("Tidy the lamps")
    lines.calls("Bash", "t1", {"command": "ls"}, usage=usage)
    lines.gets("t1", "lamps")
    lines.says("Done.", usage=usage)
    lines.file(tmp_path / "S.jsonl")
    again = Lines()
    again.lines = [
        {**line, "uuid": f"again{number}", "isSidechain": True, "agentId": name}
        for number, line in enumerate(lines.lines)
    ]
    more = {"isSidechain": True, "agentId": name}
    again.asks("Sum it up", **more)
    again.says("In short: tidy.", usage={"input_tokens": 300, "output_tokens": 30}, **more)
    (tmp_path / "S" / "subagents").mkdir(parents=True)
    again.file(tmp_path / "S" / "subagents" / f"agent-{name}.jsonl")
    record = lines.read(tmp_path)
    assert [one["message"] for one in of_kind(record, "message")] == [
        *("Tidy the lamps", "Done.", "Sum it up", "In short: tidy."),
    ]
    assert len(of_kind(record, "tool_call")) == len(of_kind(record, "tool_result")) == 1
    assert record["usage"]["input_tokens"] == 200
    assert record["source"]["sub-agents"]["usage"]["input_tokens"] == 300
    assert passes(record)


def test_a_sub_agent_whose_file_is_missing_leaves_the_session_not_measured(
    door: Door, tmp_path: Path
) -> None:
    alone = Path(shutil.copy(PARENT, tmp_path / PARENT.name))
    (record,) = records(alone)
    assert [part["path"] for part in record["unread"]] == [
        "subagents/agent-a618c3c887c77c07c.jsonl (no such file)"
    ]
    called = record["events"][record["unread"][0]["seq"] - 1]
    assert called["tool"] == "Agent"
    (whole,) = records(PARENT)
    assert compare(json.dumps(record).encode(), json.dumps(whole).encode()).kind == "holds"


def test_a_folder_of_sessions_holds_one_attempt_for_each_session(door: Door) -> None:
    assert door.run("import", FILES / "claude-code").code == 0
    rows = door.rows("SELECT episode_id FROM traces ORDER BY 1")
    assert {name for (name,) in rows} == {SESSION, "1af7fc5e-8455-4414-9ccd-011d40f70b2a"}


def test_tokens_of_an_answer_count_once_by_its_last_line(tmp_path: Path) -> None:
    lines = Lines()
    lines.asks("Go")
    cached = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
    for output, text in ((1, "One"), (7, "Two"), (30, "Three")):
        lines.says(text, id="m", usage={"input_tokens": 3, "output_tokens": output, **cached})
    usage = lines.read(tmp_path)["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (10, 30, 5)


def test_a_cost_that_the_tool_states_is_kept_and_not_measured(tmp_path: Path) -> None:
    """It is a total of some moment: a session that goes on has none until the tool states it."""
    lines = simple()
    for own, stated in (("S", 0.1), ("S", 0.25), ("another", 9), ("S", -1), ("S", "7")):
        lines.lines.append({"type": "cost-state", "sessionId": own, "totalCostUSD": stated})
    record = lines.read(tmp_path)
    assert record["source"]["stated_cost_usd"] == 0.25
    assert record.get("cost_usd") is None
    assert passes(record)


def test_what_ran_on_a_branch_that_was_taken_back_is_kept(tmp_path: Path) -> None:
    lines = simple()
    lines.asks("Delete all", parentUuid="u4")
    lines.calls("Bash", "t2", {"command": "rm -rf /"})
    lines.gets("t2", "")
    lines.says("Deleted.")
    lines.asks("Count them", parentUuid="u4")
    lines.says("There are two.")
    lines.lines.append({"type": "last-prompt", "leafUuid": "u10", "sessionId": "S"})
    record = lines.read(tmp_path)
    ran = [event["arguments"]["command"] for event in of_kind(record, "tool_call")]
    assert ran == ["ls", "rm -rf /"]
    assert record["final_message"] == "There are two."
    assert any("taken back" in note for note in record["source"]["notes"])


def test_the_final_message_is_of_the_branch_that_was_kept(tmp_path: Path) -> None:
    lines = simple()
    lines.asks("Once more", parentUuid="u4")
    lines.says("Taken back.")
    lines.lines.append({"type": "last-prompt", "leafUuid": "u4", "sessionId": "S"})
    assert lines.read(tmp_path)["final_message"] == "Done."


def test_a_result_may_come_before_its_call_and_a_line_twice(tmp_path: Path) -> None:
    lines = simple()
    straight = lines.read(tmp_path)
    lines.lines[1], lines.lines[2] = lines.lines[2], lines.lines[1]
    lines.lines = [line for line in lines.lines for _ in range(2)]
    (swapped,) = records(lines.file(tmp_path / "swapped.jsonl"))
    kept = ("kind", "tool", "arguments", "call_id", "observation")
    assert [{name: event.get(name) for name in kept} for event in swapped["events"]] == [
        {name: event.get(name) for name in kept} for event in straight["events"]
    ]


def test_nobody_typed_what_the_tool_put_under_the_user(tmp_path: Path) -> None:
    lines = Lines()
    lines.asks("<command-name>/init</command-name>")
    lines.asks("Analyze this", isMeta=True)
    lines.asks("<local-command-stdout>ok</local-command-stdout>")
    lines.asks("This session is being continued", isCompactSummary=True)
    lines.says("Fine.")
    actors = [event["actor"] for event in lines.read(tmp_path)["events"]]
    assert actors == ["user", "system", "system", "system", "agent"]


def test_sub_agents_of_the_same_file_are_part_of_it(tmp_path: Path) -> None:
    lines = Lines()
    lines.asks("Go")
    lines.calls("Task", "t1", {"prompt": "Count", "subagent_type": "x"})
    lines.asks("Count", isSidechain=True, parentUuid=None)
    lines.calls("Bash", "t2", {"command": "wc"}, isSidechain=True)
    lines.gets("t2", "3", isSidechain=True)
    lines.says("Three.", isSidechain=True)
    lines.gets("t1", "Three.", parentUuid="u2")
    lines.says("There are three.")
    record = lines.read(tmp_path)
    assert [event["actor"] for event in of_kind(record, "tool_call")] == ["agent", "sub-agent"]
    assert record["final_message"] == "There are three."
    assert "unread" not in record


def test_a_failed_request_is_no_answer(tmp_path: Path) -> None:
    lines = Lines()
    lines.asks("Go")
    lines.says("API Error: 529 overloaded", isApiErrorMessage=True, model="<synthetic>")
    record = lines.read(tmp_path)
    assert not [event for event in of_kind(record, "message") if event["actor"] == "agent"]
    assert len(of_kind(record, "error")) == 1
    assert record["termination"] == "api_error"
    assert "usage" not in record


def test_a_session_that_just_stops_is_not_measured(tmp_path: Path) -> None:
    lines = simple()
    lines.calls("Bash", "t2", {"command": "make"})
    record = lines.read(tmp_path)
    assert record.get("termination") is None
    assert [part["path"] for part in record["unread"]] == ["end of the session (cut off)"]
    assert record["events"][-1]["status"] == "pending"


def test_a_person_who_interrupts_ends_it(tmp_path: Path) -> None:
    lines = simple()
    lines.asks(f"{INTERRUPTED}]")
    record = lines.read(tmp_path)
    assert record["termination"] == "interrupted by the user"
    assert "unread" not in record


def test_records_of_unknown_kinds_are_counted_and_looked_through(tmp_path: Path) -> None:
    lines = simple()
    lines.lines.append({"type": "moon-phase", "sessionId": "S", "phase": 3})
    record = lines.read(tmp_path)
    assert "1 records of 1 kinds" in record["source"]["notes"][0]
    assert "unread" not in record
    act = {"type": "tool_use", "id": "t9", "name": "Bash", "input": {"command": "rm"}}
    lines.lines.append({"type": "later", "sessionId": "S", "body": act})
    (unread,) = lines.read(tmp_path)["unread"]
    assert unread["path"] == "lines[6].body"


def test_two_sessions_in_one_file_are_two_attempts(tmp_path: Path) -> None:
    lines, other = simple(), simple()
    for line in other.lines:
        line.update(sessionId="R", uuid=f"r{line['uuid']}")
        line["parentUuid"] = line["parentUuid"] and f"r{line['parentUuid']}"
    mixed = [line for pair in zip(lines.lines, other.lines, strict=True) for line in pair]
    lines.lines = mixed
    found = records(lines.file(tmp_path / "two.jsonl"))
    assert {one["episode_id"] for one in found} == {"S", "R"}
    assert [len(of_kind(one, "tool_call")) for one in found] == [1, 1]


def test_lines_without_the_tree_are_read_in_their_order(tmp_path: Path) -> None:
    lines = simple()
    lines.lines.insert(0, {"type": "summary", "summary": "Lamps", "leafUuid": "u4"})
    for line in lines.lines:
        line.pop("parentUuid", None)
    record = lines.read(tmp_path)
    assert ClaudeCodeReader().sniff(head_of(tmp_path / "S.jsonl"))
    assert record["episode_id"] == "S"
    assert passes(record)
    assert [event["kind"] for event in record["events"]] == [
        *("message", "tool_call", "tool_result", "message"),
    ]


def test_a_session_of_the_web_is_one_value_with_all_its_lines(tmp_path: Path) -> None:
    lines = simple().lines
    for line in lines:
        for name in ("uuid", "parentUuid", "sessionId", "isSidechain"):
            line.pop(name, None)
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"loglines": lines, "more": {"type": "tool_use", "name": "Bash"}}))
    assert ClaudeCodeReader().sniff(head_of(path))
    (record,) = records(path)
    assert [event["kind"] for event in record["events"]] == [
        *("message", "tool_call", "tool_result", "message"),
    ]
    assert [one["path"] for one in record["unread"]] == ["lines[5].more"]


def test_a_session_that_goes_on_holds_what_it_was(tmp_path: Path) -> None:
    """At every line and in the middle of lines: a later record never contradicts an earlier one."""
    text = PARENT.read_bytes()
    ends = [place + 1 for place, byte in enumerate(text) if byte == 10]
    earlier: bytes | None = None
    for number, end in enumerate(ends[2:], 2):
        path = tmp_path / f"{SESSION}.jsonl"
        path.write_bytes(text[: end - 40 * (number % 2)])
        found = attempts(path)
        assert len(found) == 1
        (one,) = found
        assert isinstance(one, Foreign)
        if earlier is not None:
            assert compare(earlier, one.raw).kind in ("same", "holds")
        earlier = one.raw


def passes(record: dict[str, Any]) -> bool:
    """Return whether nothing hides what the agent did."""
    return "unread" not in record


FRESH = [HealthCheck.function_scoped_fixture]


@settings(max_examples=60, deadline=None, suppress_health_check=FRESH)
@given(cut=st.integers(1, PARENT.stat().st_size - 1))
def test_a_cut_never_makes_a_whole_session(cut: int, tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(PARENT.read_bytes()[:cut])
    if not path.read_bytes().strip():
        return
    calls = 5
    for one in attempts(path):
        if isinstance(one, Foreign):
            record = json.loads(one.raw)
            whole = len(of_kind(record, "tool_call")) >= calls
            assert whole or not passes(record)


@settings(max_examples=40, deadline=None, suppress_health_check=FRESH)
@given(data=st.data())
def test_odd_members_cost_no_more_than_their_file(tmp_path: Path, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in PARENT.read_text().splitlines()]
    line = data.draw(st.sampled_from(lines))
    holder = line.get("message", line) if data.draw(st.booleans()) else line
    odd: Any = st.sampled_from([None, 1, "\ud800", "\0", [], {}, [1], {"a": 1}, [[]], True])
    holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(odd)
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert all(isinstance(one, (Foreign, Broken)) for one in attempts(path))


def test_a_stream_states_cost_tokens_and_its_end(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in STREAM.read_text().splitlines()]

    def read(kept: list[dict[str, Any]]) -> dict[str, Any]:
        path = tmp_path / "out.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in kept))
        (one,) = ClaudeStreamReader().traces(Source(path))
        assert isinstance(one, Foreign)
        return dict(json.loads(one.raw))

    record = read(lines)
    assert (record["cost_usd"], record["latency_ms"]) == (0.045425, 839)
    assert "unread" not in record
    cut = read(lines[:-1])
    assert cut["cost_usd"] is None
    assert "usage" not in cut
    assert not passes(cut)
    without = read([line for line in lines if line.get("parent_tool_use_id") is None])
    assert [part["path"] for part in without["unread"]] == [
        "subagents/agent-a618c3c887c77c07c.jsonl (no such file)"
    ]
    lines[-1].update(subtype="error_max_turns", is_error=True)
    assert read(lines)["termination"] == "max_turns"


def test_a_result_alone_says_what_it_came_to_and_nothing_of_what_was_done(
    door: Door, tmp_path: Path
) -> None:
    result = json.loads(STREAM.read_text().splitlines()[-1])
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result))
    said = door.run("import", path)
    assert said.code == 0, said
    assert "what the agent did is not in it" in said.err
    assert door.one("SELECT count(*) FROM events WHERE kind='tool_call'") == 0


@pytest.mark.parametrize("wrapped", [".gz", ".txt"])
def test_the_name_of_the_file_and_compression_do_not_matter(
    door: Door, tmp_path: Path, wrapped: str
) -> None:
    import gzip

    raw = simple().file(tmp_path / "S.jsonl").read_bytes()
    path = tmp_path / f"other{wrapped}"
    path.write_bytes(gzip.compress(raw) if wrapped == ".gz" else raw)
    assert door.run("import", path).code == 0
    assert door.one("SELECT count(*) FROM events WHERE kind='tool_call'") == 1


@pytest.mark.parametrize(("used", "whole"), [(["Bash"], True), (["Bash", "Write"], False)])
def test_a_tool_that_was_used_and_has_no_call_is_missed(
    used: list[str], whole: bool, tmp_path: Path
) -> None:
    """As Claude Code 2.1.332 writes it; a session whose calls are all there is measured."""
    lines = Lines()
    lines.asks("Look")
    lines.calls("Bash", "t1", {"command": "ls"})
    lines.gets("t1", "a.txt")
    lines.lines.append({"type": "tools-used", "tools": used, "sessionId": "S"})
    lines.says("Done.")
    unread = [one["path"] for one in lines.read(tmp_path).get("unread", ())]
    assert unread == ([] if whole else ["tools-used"])


def test_an_error_in_the_result_of_a_stream_is_no_answer(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in STREAM.read_text().splitlines()]
    rows[-1] |= {"is_error": True, "result": "API Error: 400"}
    path = tmp_path / "stream.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (one,) = ClaudeStreamReader().traces(Source(path))
    assert isinstance(one, Foreign)
    record = json.loads(one.raw)
    assert record["termination"] == "error"
    assert record["final_message"] != "API Error: 400"


def test_an_answer_to_a_line_that_is_not_there_is_no_attempt_that_is_measured(
    tmp_path: Path,
) -> None:
    lines = Lines()
    lines.asks("Look")
    lines.says("Done.")
    lines.says("Mine.", sessionId="other", parentUuid="u99")
    found = {one["episode_id"]: one for one in records(lines.file(tmp_path / "S.jsonl"))}
    assert [one["path"] for one in found["other"]["unread"]] == ["beginning of the session"]
    assert not found["S"].get("unread")
