"""Codex CLI's rollouts and its `exec --json`: pitfalls of the format, each by lines made for it."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from counted import FILES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer.importing.formats.sessions import FORKED
from reviewer.importing.formats.sessions.codex import CodexReader
from reviewer.importing.formats.sessions.codex_exec import CodexExecReader
from reviewer.importing.pipeline.compare import compare
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

PARENT = "01a20536-0000-71b0-b275-000000000001"
CHILD = "01a20536-0000-71b0-b275-000000000002"
ROLLOUT = next((FILES / "codex").glob("rollout-*.jsonl"))
EXEC = FILES / "codex" / "exec-json.jsonl"
Items = list[tuple[str, dict[str, Any]]]


def write(folder: Path, own: str, items: Items, source: Any = "exec") -> Path:
    path = folder / f"rollout-2026-01-01T00-00-00-{own}.jsonl"
    meta = ("session_meta", {"id": own, "source": source, "cli_version": "0.169.0"})
    lines = [
        {"timestamp": f"2026-01-01T00:00:{number:02}Z", "type": kind, "payload": payload}
        for number, (kind, payload) in enumerate([meta, *items])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def event(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": kind, **more}


def words(role: str, text: str) -> tuple[str, dict[str, Any]]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return "response_item", {"type": "message", "role": role, "content": content}


def call(own: str, name: str = "exec_command", **given: Any) -> tuple[str, dict[str, Any]]:
    return "response_item", {
        "type": "function_call", "name": name, "arguments": json.dumps(given), "call_id": own,
    }  # fmt: skip


def output(own: str, seen: str) -> tuple[str, dict[str, Any]]:
    return "response_item", {"type": "function_call_output", "call_id": own, "output": seen}


def turn(*items: tuple[str, dict[str, Any]]) -> Items:
    return [event("task_started"), *items, event("task_complete", last_agent_message="Done.")]


def read(path: Path) -> dict[str, Any]:
    reader = CodexReader()
    (one,) = reader.traces(Source(path, "", reader.companions(path)))
    assert isinstance(one, Foreign), one
    return dict(json.loads(one.raw))


def calls(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in record["events"] if one["kind"] == "tool_call"]


def results(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in record["events"] if one["kind"] == "tool_result"]


def test_what_was_injected_is_no_prompt(tmp_path: Path) -> None:
    said = [words("user", "<environment_context>x</environment_context>"),
            words("user", "# AGENTS.md instructions"), words("developer", "Be safe"),
            words("user", "Count"), words("assistant", "Three.")]  # fmt: skip
    record = read(write(tmp_path, PARENT, turn(*said)))
    actors = [one["actor"] for one in record["events"]]
    assert actors == ["system", "system", "system", "user", "agent"]
    assert record["final_message"] == "Done."


def test_an_exit_code_is_an_error_wherever_it_is_stated(tmp_path: Path) -> None:
    ended = {"type": "CommandExecution", "id": "c2", "status": "failed", "exit_code": 2}
    items = turn(
        call("c1"), output("c1", "Wall time: 1\nProcess exited with code 1\nOutput:\nx"),
        call("c2"), event("item_completed", item=ended), output("c2", "x"),
        call("c3", "shell"), output("c3", json.dumps({"output": "", "metadata": {"exit_code": 3}})),
        call("c4"), output("c4", "Process exited with code 0\nOutput:\n"),
        call("c5"), event("exec_command_end", call_id="c5", exit_code=-1), output("c5", "x"),
    )  # fmt: skip
    record = read(write(tmp_path, PARENT, items))
    assert [one.get("status") for one in results(record)] == ["error"] * 3 + [None, "error"]
    assert "unread" not in record


def test_a_command_that_only_an_event_tells_is_an_act(tmp_path: Path) -> None:
    ran = {"type": "CommandExecution", "id": "inner", "command": ["rm", "-rf", "/"],
           "status": "completed", "exit_code": 0, "aggregated_output": ""}  # fmt: skip
    theirs = {**ran, "id": "shell", "command": ["ls"], "source": "user_shell"}
    changed = {"type": "FileChange", "id": "patch", "changes": {"a": {}}}
    items = turn(event("item_completed", item=ran), event("item_completed", item=theirs))
    record = read(write(tmp_path, PARENT, items))
    assert [(one["arguments"]["command"][0], one["actor"]) for one in calls(record)] == [
        ("rm", "agent"), ("ls", "user"),
    ]  # fmt: skip
    assert "unread" not in record
    record = read(write(tmp_path, PARENT, turn(event("item_completed", item=changed))))
    assert [one["path"] for one in record["unread"]] == ["lines[3].payload"]


def test_tokens_are_the_last_total(tmp_path: Path) -> None:
    total = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}
    counted = event("token_count", info={"total_token_usage": total, "last_token_usage": total})
    record = read(write(tmp_path, PARENT, turn(counted, counted, event("token_count", info=None))))
    assert record["usage"] == {"input_tokens": 10, "cached_tokens": 4, "output_tokens": 3}


def test_a_thread_that_was_started_is_part_of_the_one_that_started_it(tmp_path: Path) -> None:
    day, later = tmp_path / "sessions/2026/01/01", tmp_path / "sessions/2026/01/02"
    day.mkdir(parents=True)
    later.mkdir()
    told = output("c1", json.dumps({"agent_id": CHILD}))
    started = turn(words("user", "Go"), call("c1", "spawn_agent", message="x"), told)
    parent = write(day, PARENT, started)
    lone = read(parent)
    assert [one["path"] for one in lone["unread"]] == [f"rollout-{CHILD}.jsonl (no such file)"]
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "worker"}}}
    child = write(later, CHILD, turn(words("user", "x"), call("k1", cmd="rm")), spawn)
    assert CodexReader().companions(parent) == (child,)
    whole = read(parent)
    assert [(one["actor"], one["tool"]) for one in calls(whole)] == [
        ("agent", "spawn_agent"), ("worker", "exec_command"),
    ]  # fmt: skip
    assert "unread" not in whole
    found = compare(json.dumps(lone).encode(), json.dumps(whole).encode())
    assert found.kind == "holds", found


def test_what_a_compaction_repeats_is_not_read_again(tmp_path: Path) -> None:
    again = [call("c1")[1], words("user", "Go")[1]]
    items = turn(words("user", "Go"), call("c1"), output("c1", "x"),
                 ("compacted", {"message": "", "replacement_history": again}))  # fmt: skip
    record = read(write(tmp_path, PARENT, items))
    assert (len(calls(record)), record["events"][0]["actor"]) == (1, "user")
    assert sum(one.get("actor") == "user" for one in record["events"]) == 1


def test_how_a_turn_ended(tmp_path: Path) -> None:
    begun = turn(call("c1"), output("c1", "x"))[:-1]
    assert [one["path"] for one in read(write(tmp_path, PARENT, begun))["unread"]] == [
        "end of the session (cut off)"
    ]
    stopped = [*begun, event("turn_aborted", reason="interrupted")]
    assert read(write(tmp_path, PARENT, stopped))["termination"] == "interrupted by the user"
    failed = [*begun, event("task_complete", error={"message": "x"})]
    assert read(write(tmp_path, PARENT, failed))["termination"] == "error"


def test_other_tools_and_unknown_items(tmp_path: Path) -> None:
    def item(**payload: Any) -> tuple[str, dict[str, Any]]:
        return "response_item", payload

    items = turn(
        item(type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c1"),
        item(type="local_shell_call", action={"command": ["ls"]}, call_id="c2"),
        item(type="web_search_call", id="w", action={"query": "q"}, status="completed"),
        item(type="moon_call", name="fly", arguments={"to": "moon"}),
    )
    record = read(write(tmp_path, PARENT, items))
    assert [(one["tool"], one["arguments"]) for one in calls(record)] == [
        ("apply_patch", {"input": "*** Begin"}), ("local_shell", {"command": ["ls"]}),
        ("web_search", {"query": "q"}),
    ]  # fmt: skip
    assert [one["path"] for one in record["unread"]] == ["lines[6].payload"]
    assert "1 records of 1 kinds" in record["source"]["notes"][0]


@settings(max_examples=50, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(cut=st.integers(1, ROLLOUT.stat().st_size - 1))
def test_a_cut_never_makes_a_whole_thread(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(ROLLOUT.read_bytes()[:cut])
    for one in CodexReader().traces(Source(path)):
        if isinstance(one, Foreign):
            assert "unread" in json.loads(one.raw) or cut >= ROLLOUT.stat().st_size - 2


def executed(path: Path) -> list[Foreign | Broken]:
    return list(CodexExecReader().traces(Source(path)))


def counted(total: int, last: int) -> tuple[str, dict[str, Any]]:
    usage = {"input_tokens": total, "output_tokens": total // 10}
    step = {"input_tokens": last, "output_tokens": last // 10}
    return event("token_count", info={"total_token_usage": usage, "last_token_usage": step})


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_what_a_sub_agent_copied_is_not_said_nor_paid_twice(
    tmp_path: Path, goes_on: bool, packed: bool
) -> None:
    """The thread of a sub-agent begins with its parent's lines, and states where its own begin."""
    copy = [words("user", "Count"), call("p1"), output("p1", "ok"), words("assistant", "A helper"),
            counted(1000, 1000)]  # fmt: skip
    start = [call("p2", "spawn_agent"), output("p2", json.dumps({"agent_id": CHILD}))]
    parent = write(tmp_path, PARENT, turn(*copy, *start))
    before = 1000 if goes_on else 0
    own = [words("user", "Look"), call("c1"), output("c1", "ok"), words("assistant", "Seen"),
           counted(before + 300, 300), counted(before + 700, 400)]  # fmt: skip
    child = write(tmp_path, CHILD, turn(*copy, *own))
    lines = [json.loads(line) for line in child.read_text().splitlines()]
    for number, line in enumerate(lines):
        line["ordinal"] = number
    spawn = {"thread_spawn": {"parent_thread_id": PARENT, "agent_nickname": "Nick"}}
    lines[0]["payload"] |= {
        "source": {"subagent": spawn},
        "subagent_history_start_ordinal": 2 + len(copy),
    }
    child.write_text("".join(json.dumps(line) + "\n" for line in lines))
    alone = read(child)
    assert alone["usage"]["input_tokens"] == 700
    assert alone["source"]["copied"]["session"] == PARENT
    assert len(calls(alone)) == 2, "what was done in the copy stays evidence"
    if packed:
        child.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(child.read_bytes()))
        child.unlink()
    whole = read(parent)
    assert len(calls(whole)) == 3
    said = [one["message"] for one in whole["events"] if one.get("actor") == "Nick"
            and one["kind"] == "message"]  # fmt: skip
    assert said == ["Look", "Seen"]


def test_a_sub_agent_without_numbers_begins_where_it_was_given_its_task(tmp_path: Path) -> None:
    copy = [words("user", "Count"), counted(1000, 1000)]
    own = [("inter_agent_communication_metadata", {"trigger_turn": True}), words("user", "Look"),
           counted(1300, 300), words("assistant", "Seen")]  # fmt: skip
    child = write(tmp_path, CHILD, turn(*copy, *own), {"subagent": {"thread_spawn": {}}})
    lines = [json.loads(line) for line in child.read_text().splitlines()]
    lines[0]["payload"]["forked_from_id"] = PARENT
    child.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = read(child)
    assert record["usage"]["input_tokens"] == 300
    assert record["source"]["copied"]["usage"]["input_tokens"] == 1000


def test_a_sub_agent_that_calls_all_of_its_lines_copied_hides_no_act(tmp_path: Path) -> None:
    start = [call("p2", "spawn_agent"), output("p2", json.dumps({"agent_id": CHILD}))]
    parent = write(tmp_path, PARENT, turn(*start))
    child = write(tmp_path, CHILD, turn(call("c1", "refund"), output("c1", "ok")))
    lines = [json.loads(line) for line in child.read_text().splitlines()]
    for number, line in enumerate(lines):
        line["ordinal"] = number
    spawn = {"thread_spawn": {"parent_thread_id": PARENT}}
    lines[0]["payload"] |= {
        "source": {"subagent": spawn}, "subagent_history_start_ordinal": 10**6,
    }  # fmt: skip
    child.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one["tool"] for one in calls(read(parent))] == ["spawn_agent", "refund"]


def test_a_run_that_was_stopped_or_started_sub_agents_is_not_measured(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in EXEC.read_text().splitlines()]
    path = tmp_path / "run.jsonl"

    def record(kept: list[dict[str, Any]]) -> dict[str, Any]:
        path.write_text("".join(json.dumps(line) + "\n" for line in kept))
        (one,) = executed(path)
        assert isinstance(one, Foreign)
        return dict(json.loads(one.raw))

    assert "unread" not in record(lines)
    cut = record(lines[:9])
    assert [one["path"] for one in cut["unread"]] == ["end of the session (cut off)"]
    pending = record([*lines[:-1], {"type": "item.started", "item": {
        "id": "item_9", "type": "command_execution", "command": "rm", "status": "in_progress"}},
        lines[-1]])  # fmt: skip
    assert (len(calls(pending)), pending["events"][-1]["status"]) == (5, "pending")
    spawn = {"type": "collab_tool_call", "id": "item_9", "tool": "spawn_agent",
             "receiver_thread_ids": [CHILD], "status": "completed"}  # fmt: skip
    started = record([*lines[:-1], {"type": "item.completed", "item": spawn}, lines[-1]])
    assert [one["path"] for one in started["unread"]] == [f"rollout-{CHILD}.jsonl (no such file)"]
    odd = {"type": "item.completed", "item": {"id": "i", "type": "teleport", "to": "moon"}}
    assert record([*lines[:-1], odd, lines[-1]])["unread"][0]["path"] == "lines[15].item"
    resumed = record([*lines, *lines])  # each run numbers its items from 0
    assert (len(calls(resumed)), len(results(resumed))) == (8, 8)


def test_a_failed_turn(tmp_path: Path) -> None:
    lines = EXEC.read_text().splitlines()[:-1]
    failed = json.dumps({"type": "turn.failed", "error": {"message": "overloaded"}})
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join([*lines, failed]) + "\n")
    (one,) = executed(path)
    assert isinstance(one, Foreign)
    assert json.loads(one.raw)["termination"] == "error"


def test_a_thread_that_was_forked_says_so_and_keeps_what_it_copied(tmp_path: Path) -> None:
    copied = turn(words("user", "Go"), call("c1"), output("c1", "x"))
    plain = read(write(tmp_path, PARENT, copied))
    assert FORKED not in plain["source"].get("notes", [])
    begun = ("session_meta", {"id": PARENT, "source": "exec", "cli_version": "0.169.0"})
    forked = read(write(tmp_path, CHILD, [begun, *copied, *turn(call("c2"), output("c2", "y"))]))
    assert FORKED in forked["source"]["notes"]
    assert [one["call_id"] for one in calls(forked)] == ["c1", "c2"]
    path = write(tmp_path, CHILD, copied)
    first, rest = path.read_text().split("\n", 1)
    meta = json.loads(first)
    meta["payload"]["forked_from_id"] = PARENT
    path.write_text(json.dumps(meta) + "\n" + rest)
    assert FORKED in read(path)["source"]["notes"]


def resumed(total: int, last: int) -> tuple[str, dict[str, Any]]:
    def of(count: int) -> dict[str, int]:
        return {"input_tokens": count, "output_tokens": 1, "total_tokens": count + 1}

    return event("token_count", info={"total_token_usage": of(total), "last_token_usage": of(last)})


@pytest.mark.parametrize(("ends", "open_"), [
    ([], True),
    ([words("assistant", "Done.")], False),
    ([event("task_complete", last_agent_message=None)], True),
    ([event("task_complete", last_agent_message=None, error={"message": "down"})], False),
    ([words("assistant", "Done."), event("task_complete", last_agent_message="Done.")], False),
])  # fmt: skip
def test_a_session_whose_last_call_nothing_answers_is_not_measured(
    ends: Items, open_: bool, tmp_path: Path
) -> None:
    """As Codex 0.42 to 0.104 leave a session whose model failed: they state no error."""
    begin = [words("user", "Look"), words("assistant", "Looking."), call("c1"), output("c1", "x")]
    if any(payload.get("type") == "task_complete" for _, payload in ends):
        begin = [event("task_started"), *begin]
    record = read(write(tmp_path, PARENT, [*begin, *ends]))
    unread = [one["path"] for one in record.get("unread", ())]
    assert unread == (["end of the session (cut off)"] if open_ else [])


@pytest.mark.parametrize("again", [50, 130])
def test_a_resumed_session_that_counts_from_zero_again_is_counted_whole(
    again: int, tmp_path: Path
) -> None:
    """As Codex 0.63 does; the same total again is no other count."""
    first = [resumed(60, 60), resumed(120, 60), resumed(120, 60)]
    items = [words("user", "a"), words("assistant", "b"), *first, words("assistant", "c"),
             resumed(again, again)]  # fmt: skip
    assert read(write(tmp_path, PARENT, items))["usage"]["input_tokens"] == 120 + again


def test_a_tool_that_codex_does_not_have_failed(tmp_path: Path) -> None:
    items = turn(
        words("user", "a"), call("c1", "no_such"), output("c1", "unsupported call: no_such")
    )
    record = read(write(tmp_path, PARENT, items))
    assert [one["status"] for one in record["events"] if one["kind"] == "tool_result"] == ["error"]
