"""Sessions of Gemini CLI and OpenCode, and traffic of ACP and MCP: pitfalls of each format."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from doors import REPOSITORY
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reviewer.importing.formats import named
from reviewer.importing.pipeline.compare import compare
from reviewer.importing.reader import Broken, Foreign, by_document
from reviewer.importing.source import Source
from reviewer.testing import check_reader

GEMINI = FILES / "gemini-cli/chats/session-2026-11-22T21-53-4790c8e0.jsonl"
OPENCODE = FILES / "opencode/export-ses_dfac8bad5ffeyfA0i4QgVXnDrE.json"
RUN = REPOSITORY / "tests/data/sessions/opencode-run.jsonl"
ACP = FILES / "acp/opencode.jsonl"
MCP = FILES / "mcp/traffic.jsonl"
END = "end of the session (cut off)"


def attempts(path: Path, name: str) -> list[Foreign | Broken]:
    reader = named(name)
    assert by_document(reader)
    return list(reader.traces(Source(path, "", reader.companions(path))))


def read(path: Path, name: str) -> dict[str, Any]:
    (one,) = attempts(path, name)
    assert isinstance(one, Foreign), one
    return dict(json.loads(one.raw))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def file(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def tools(record: dict[str, Any]) -> list[str]:
    return [one["tool"] for one in record["events"] if one["kind"] == "tool_call"]


def said(record: dict[str, Any], actor: str) -> list[str]:
    events = record["events"]
    return [one["message"] for one in events if one["kind"] == "message" and one["actor"] == actor]


def unread(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


@pytest.mark.parametrize(
    ("path", "name", "missing"),
    [(GEMINI, "gemini-cli", "a4dd4ab3-f4fa-4bd3-9782-8efc7186e1cc.jsonl (no such file)"),
     (OPENCODE, "opencode-export", "session of its sub-agent (no such file)")],
)  # fmt: skip
def test_a_sub_agent_is_read_with_its_session_or_missed(
    tmp_path: Path, path: Path, name: str, missing: str
) -> None:
    whole = read(path, name)
    assert "unread" not in whole
    lone = read(Path(shutil.copy(path, tmp_path)), name)
    assert unread(lone) == [missing]
    found = compare(json.dumps(lone).encode(), json.dumps(whole).encode())
    assert found.kind == "holds", found


def test_a_session_of_cline_is_read_with_its_sub_agents_and_its_facts(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FILES / "cline/1795384839649_u3as6", tmp_path / "s"))
    main, facts = folder / "1795384839649_u3as6.messages.json", folder / "1795384839649_u3as6.json"
    whole = read(main, "cline")
    assert tools(whole).count("run_commands") == 3
    assert "unread" not in whole
    for status, wanted in (("failed", "error"), ("aborted", "interrupted by the user")):
        facts.write_text(json.dumps({"session_id": "s", "status": status}))
        assert read(main, "cline")["termination"] == wanted
    facts.write_text(json.dumps({"status": "running"}))
    assert unread(read(main, "cline")) == [END]
    facts.unlink()
    child = folder / "agent_1795384840379_3azl2l.messages.json"
    held = json.loads(child.read_text())
    held["messages"][1]["content"][0]["type"] = "teleport"
    child.write_text(json.dumps(held))
    assert unread(read(main, "cline"))
    child.unlink()
    assert unread(read(main, "cline")) == ["messages of its sub-agent (no such file)"]


def gemini(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"sessionId": "S", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}, *lines]


def answer(own: str, words: str, *calls: str, **more: Any) -> dict[str, Any]:
    back = [{"functionResponse": {"response": {"output": "x"}}}]
    made = [
        {"id": f"{name}-{own}", "name": name, "args": {}, "status": "success", "result": back}
        for name in calls
    ]
    held = {"toolCalls": made} if made else {}
    return {"id": own, "type": "gemini", "content": words, "model": "g", **held, **more}


def asked(own: str, words: str) -> dict[str, Any]:
    return {"id": own, "type": "user", "content": [{"text": words}]}


def test_later_records_of_an_id_replace_the_earlier(tmp_path: Path) -> None:
    spent = {"tokens": {"input": 5, "output": 2, "cached": 1, "total": 7}}
    first, called = answer("2", "I look.", **spent), answer("2", "I look.", "ls", **spent)
    lines = gemini(asked("1", "Go"), first, called, answer("3", "Done.", **spent))
    record = read(file(tmp_path / "s.jsonl", lines), "gemini-cli")
    assert (tools(record), said(record, "agent")) == (["ls"], ["I look.", "Done."])
    assert record["usage"]["input_tokens"] == 10
    assert "unread" not in record


def test_what_was_taken_back_did_run(tmp_path: Path) -> None:
    lines = gemini(asked("1", "Go"), answer("2", "Deleted.", "rm"), {"$rewindTo": "1"},
                   asked("4", "Count"), answer("5", "Three."))  # fmt: skip
    record = read(file(tmp_path / "s.jsonl", lines), "gemini-cli")
    assert tools(record) == ["rm"]
    assert (said(record, "user"), said(record, "agent")) == (["Count"], ["Three."])
    assert record["final_message"] == "Three."
    replaced = gemini(answer("1", "", "rm"), {"$set": {"messages": [asked("2", "Summary")]}},
                      answer("3", "Ok."))  # fmt: skip
    assert tools(read(file(tmp_path / "t.jsonl", replaced), "gemini-cli")) == ["rm"]


def test_what_replaced_answers_used_is_a_lower_bound(tmp_path: Path) -> None:
    """A summary takes the place of answers that were paid for: their figures are gone."""
    spent = {"tokens": {"input": 5, "output": 2, "cached": 1, "total": 7}}
    kept = [asked("1", "Go"), answer("2", "I look.", "ls", **spent)]
    shorter = {"$set": {"messages": [asked("1", "Go"), answer("4", "In short.")]}}
    lines = gemini(*kept, answer("3", "Done.", **spent), shorter, answer("5", "Ok.", **spent))
    usage = read(file(tmp_path / "s.jsonl", lines), "gemini-cli")["usage"]
    assert usage["lower_bound"] is True
    assert (usage["input_tokens"], usage["replies"], usage["replies_counted"]) == (5, 4, 1)
    same = gemini(*kept, {"$set": {"messages": kept}})
    usage = read(file(tmp_path / "t.jsonl", same), "gemini-cli")["usage"]
    assert "lower_bound" not in usage


def test_an_older_session_is_one_object(tmp_path: Path) -> None:
    messages = [asked("1", "Go"), answer("2", "Done.", "ls"), answer("3", "x")]
    whole = {**gemini()[0], "messages": messages}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(whole, indent=2))
    assert tools(read(path, "gemini-cli")) == ["ls"]


def test_a_session_without_an_answer_and_an_odd_change(tmp_path: Path) -> None:
    lines = gemini(asked("1", "Go"), answer("2", "", "ls"))
    record = read(file(tmp_path / "s.jsonl", lines), "gemini-cli")
    assert unread(record) == [END]
    odd = gemini(asked("1", "Go"), answer("2", "Done."), {"$splice": {"toolCalls": [1]}})
    assert unread(read(file(tmp_path / "t.jsonl", odd), "gemini-cli")) == ["lines[4]"]


def test_an_exit_code_is_kept_beside_the_output() -> None:
    record = read(OPENCODE, "opencode-export")
    seen = [one["observation"] for one in record["events"] if one["kind"] == "tool_result"]
    assert {"output": "cat: missing.txt: No such file or directory\n", "exit": 1} in seen
    assert record["cost_usd"] == 0.00498


def test_a_session_of_opencode_that_failed_or_stopped(tmp_path: Path) -> None:
    child = json.loads((FILES / "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json").read_text())
    path = tmp_path / "export.json"

    def record() -> dict[str, Any]:
        path.write_text(json.dumps(child, indent=2))
        return read(path, "opencode-export")

    last = child["messages"][-1]
    assert "unread" not in record()
    last["parts"].append({"type": "teleport", "tool": "rm", "input": {}})
    assert unread(record()) == ["messages[2].parts[3]"]
    last["parts"].pop()
    last["info"]["error"] = {"name": "MessageAbortedError", "data": {"message": "stop"}}
    assert record()["termination"] == "interrupted by the user"
    del last["info"]["error"], last["info"]["finish"]
    last["parts"] = [one for one in last["parts"] if one["type"] != "step-finish"]
    assert unread(record()) == [END]


def test_what_teammates_in_cline_did_and_those_they_set_to_work_is_read(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FILES / "cline/1795384839649_u3as6", tmp_path / "s"))
    path = folder / "1795384839649_u3as6.messages.json"
    main = json.loads(path.read_text())

    def asks(tool: str, task: str) -> dict[str, Any]:
        call = {"type": "tool_use", "id": task, "name": tool, "input": {"task": task}}
        return {"role": "assistant", "content": [call]}

    main["messages"] += [
        asks("team_run_task", "mate's work"),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "mate's work",
                                      "name": "team_run_task", "content": "done"}]},
    ]  # fmt: skip
    path.write_text(json.dumps(main))
    missing = "messages of its sub-agent (no such file)"
    assert unread(read(path, "cline")) == [missing]
    own = main["sessionId"]
    for above, name, task, *then in (
        (own, "m1", "mate's work", asks("spawn_agent", "deeper")),
        ("m1", "m0", "deeper", asks("pay", "now")),
    ):
        assert unread(read(path, "cline")) == [missing]
        talk = [{"role": "user", "content": [{"type": "text", "text": task}]}, *then]
        origin = {"parentThreadId": above, "subagent": name}
        mate = {**main, "sessionId": name, "origin": origin, "messages": talk}
        (folder / f"{name}__x.messages.json").write_text(json.dumps(mate))
    record = read(path, "cline")
    assert "unread" not in record
    assert tools(record)[-2:] == ["spawn_agent", "pay"]


def test_what_cline_itself_says_in_a_session_is_no_answer_and_no_prompt(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FILES / "cline/1795384839649_u3as6", tmp_path / "s"))
    path = folder / "1795384839649_u3as6.messages.json"
    before, held = read(path, "cline"), json.loads(path.read_text())
    shown = {"displayOnly": True, "displayRole": "error"}
    for role, words, about in (
        ("user", "Your previous response was cut off", {"userRunSpan": 0}),
        ("assistant", "the endpoint is overloaded", shown),
    ):
        blocks = [{"type": "text", "text": words}]
        held["messages"].append({"role": role, "content": blocks, "metadata": about})
    path.write_text(json.dumps(held))
    after = read(path, "cline")
    for actor in ("user", "agent"):
        assert said(after, actor) == said(before, actor)
    assert after["final_message"] == before["final_message"]
    assert [one["message"] for one in after["events"] if one["kind"] == "error"] == [
        "the endpoint is overloaded"
    ]
    assert "unread" not in after
    held["messages"][-1]["tool_calls"] = [{"name": "rm", "arguments": {}}]
    path.write_text(json.dumps(held))
    assert unread(read(path, "cline"))
    held["messages"][-1]["content"].append({"type": "tool_use", "name": "rm", "input": {}})
    path.write_text(json.dumps(held))
    assert tools(read(path, "cline")) == [*tools(before)[:5], "rm", *tools(before)[5:]]


def stored(home: Path, parts: Path, messages: Path) -> Path:
    """Write a session as OpenCode's storage keeps it, an object a file; return the session's."""
    held = json.loads((FILES / "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json").read_text())
    own = held["info"]["id"]
    placed = [(home / f"{own}.json", {**held["info"], "cost": None, "tokens": None})]
    for message in held["messages"]:
        name = message["info"]["id"]
        placed.append((messages / own / f"{name}.json", message["info"]))
        placed += [(parts / name / f"{part['id']}.json", part) for part in message["parts"]]
    for path, value in placed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return placed[0][0]


def in_storage(root: Path) -> Path:
    return stored(root / "session/global", root / "part", root / "message")


def test_a_session_in_storage_is_read_with_its_messages_and_parts(tmp_path: Path) -> None:
    earlier = tmp_path / "project/x/storage/session"
    own = "ses_dfac883bcffegWOsLdEX1ix2TF"
    for home in (
        in_storage(tmp_path / "storage"),
        stored(earlier / "info", earlier / "part" / own, earlier / "message"),
    ):
        record = read(home, "opencode-export")
        assert (tools(record), record["final_message"]) == (["bash"], "notes.txt has 3 lines.")
        assert "unread" not in record


@pytest.mark.parametrize(
    ("kind", "place", "missing"),
    [
        ("message", 1, ["message (unreadable)", "part.messageID (unreadable)"]),
        ("part", 3, ["part (unreadable)"]),
    ],
)
def test_what_cannot_be_read_of_a_stored_session_leaves_it_not_measured(
    tmp_path: Path, kind: str, place: int, missing: list[str]
) -> None:
    home = in_storage(tmp_path)
    file = sorted((tmp_path / kind).glob("*/*.json"))[place]
    file.write_text(file.read_text()[:40])
    assert set(missing) <= set(unread(read(home, "opencode-export")))


def test_an_answer_whose_parts_are_missing_leaves_a_stored_session_not_measured(
    tmp_path: Path,
) -> None:
    home = in_storage(tmp_path)
    called = next(
        path for path in (tmp_path / "part").glob("*/*.json") if '"bash"' in path.read_text()
    )
    called.unlink()
    record = read(home, "opencode-export")
    assert (tools(record), unread(record)) == ([], ["messages.parts"])
    shutil.rmtree(called.parent)
    assert unread(read(home, "opencode-export")) == ["messages.parts"]


@pytest.mark.parametrize("state", ["completed", None, {"status": "completed", "output": "x"}])
def test_a_call_of_which_nothing_says_what_it_was_given_is_not_measured(
    tmp_path: Path, state: Any
) -> None:
    home = in_storage(tmp_path)
    for path in (tmp_path / "part").glob("*/*.json"):
        if '"bash"' in (raw := path.read_text()):
            path.write_text(json.dumps(json.loads(raw) | {"state": state}))
    assert "messages.parts.state.input" in unread(read(home, "opencode-export"))


@pytest.mark.parametrize("stated", [{"cost": 0.002}, {"tokens": {"output": 78}}])
def test_a_session_that_used_more_than_its_answers_is_not_measured(
    tmp_path: Path, stated: dict[str, Any]
) -> None:
    held = json.loads((FILES / "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json").read_text())
    held["info"] |= stated
    path = tmp_path / "export.json"
    path.write_text(json.dumps(held))
    assert unread(read(path, "opencode-export")) == ["messages (no such file)"]


def test_a_sub_agent_of_which_nothing_was_kept_is_missed(tmp_path: Path) -> None:
    shutil.copy(OPENCODE, tmp_path)
    child = Path(
        shutil.copy(FILES / "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json", tmp_path)
    )
    held = json.loads(child.read_text())
    child.write_text(json.dumps({**held, "messages": []}))
    record = read(tmp_path / OPENCODE.name, "opencode-export")
    assert unread(record) == ["session of its sub-agent (no such file)"]


def test_the_output_of_a_run(tmp_path: Path) -> None:
    record = read(RUN, "opencode-run")
    assert (tools(record), record["cost_usd"]) == (["bash"], 0.001998)
    assert record["usage"]["input_tokens"] == 2550
    assert "unread" not in record
    cut = read(file(tmp_path / "run.jsonl", lines_of(RUN)[:3]), "opencode-run")
    assert unread(cut) == [END]


def test_kinds_of_tools_are_no_names() -> None:
    record = read(ACP, "acp")
    assert unread(record) == [
        "update.kind (no tool is named)", "session of its sub-agent (no such file)",
    ]  # fmt: skip
    assert record["cost_usd"] is None
    assert "usage" not in record


def rpc(own: Any, method: str = "", params: Any = None, result: Any = None) -> dict[str, Any]:
    asked = {"method": method, "params": params} if method else {"result": result}
    return {"jsonrpc": "2.0", **({} if own is None else {"id": own}), **asked}


def update(**more: Any) -> dict[str, Any]:
    return rpc(None, "session/update", {"sessionId": "S", "update": more})


def chunk(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return update(sessionUpdate=kind, content={"type": "text", "text": words})


def prompt(own: int = 2) -> dict[str, Any]:
    words = [{"type": "text", "text": "Go"}]
    return rpc(own, "session/prompt", {"sessionId": "S", "prompt": words})


def test_chunks_are_joined_updates_merged_and_permissions_told(tmp_path: Path) -> None:
    options = [{"optionId": "a", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}]
    call = {"toolCallId": "t", "title": "rm", "kind": "execute", "rawInput": {"command": "rm"},
            "_meta": {"claudeCode": {"toolName": "Bash"}}}  # fmt: skip
    wanted = {"sessionId": "S", "toolCall": call, "options": options}
    lines = [
        prompt(), chunk("I "), chunk("look."),
        update(sessionUpdate="tool_call_update", toolCallId="t", status="pending"),
        rpc(0, "session/request_permission", wanted),
        rpc(0, result={"outcome": {"outcome": "selected", "optionId": "r"}}),
        update(sessionUpdate="tool_call_update", toolCallId="t", status="failed", rawOutput="no"),
        chunk("Sorry."), rpc(2, result={"stopReason": "max_tokens"}),
    ]  # fmt: skip
    record = read(file(tmp_path / "acp.jsonl", lines), "acp")
    assert [one["kind"] for one in record["events"]] == [
        "message", "message", "tool_call", "approval", "tool_result", "message",
    ]  # fmt: skip
    assert said(record, "agent") == ["I look.", "Sorry."]
    assert record["events"][2]["arguments"] == {"command": "rm"}
    assert record["events"][2]["tool"] == "Bash"
    assert record["events"][3]["approval"]["decision"] == "reject"
    assert record["events"][4]["status"] == "error"
    assert record["termination"] == "max_output_tokens"
    assert "unread" not in record


def test_a_history_that_is_replayed_counts_once(tmp_path: Path) -> None:
    turn = [prompt(), chunk("Hi."), rpc(2, result={"stopReason": "end_turn"})]
    replay = [rpc(3, "session/load", {"sessionId": "S"}), chunk("Go", "user_message_chunk"),
              chunk("Hi."), rpc(3, result={})]  # fmt: skip
    record = read(file(tmp_path / "a.jsonl", [*turn, *replay]), "acp")
    assert (said(record, "user"), said(record, "agent")) == (["Go"], ["Hi."])
    again = [*replay, prompt(4), chunk("Yes."), rpc(4, result={"stopReason": "end_turn"})]
    record = read(file(tmp_path / "b.jsonl", again), "acp")
    assert (said(record, "user"), said(record, "agent")) == (["Go", "Go"], ["Hi.", "Yes."])


def test_a_prompt_without_an_answer_is_not_measured(tmp_path: Path) -> None:
    record = read(file(tmp_path / "acp.jsonl", [prompt(), chunk("Hi.")]), "acp")
    assert unread(record) == [END]


def test_both_sides_of_mcp_number_their_own_requests(tmp_path: Path) -> None:
    given = {"name": "refund", "arguments": {"n": 1}}
    lines = [
        {"direction": "out", "message": rpc(1, "tools/call", given)},
        {"direction": "in", "message": rpc(1, "sampling/createMessage", {"messages": []})},
        {"direction": "out", "message": rpc(1, result={"role": "assistant"})},
        {"direction": "in", "message": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}},
        {"direction": "out", "message": rpc(2, "tools/call", {"name": "refund", "arguments": {}})},
    ]  # fmt: skip
    record = read(file(tmp_path / "mcp.jsonl", lines), "mcp-traffic")
    assert tools(record) == ["refund", "refund"]
    results = [one for one in record["events"] if one["kind"] == "tool_result"]
    assert [(one["status"], one["observation"]) for one in results] == [("error", {"code": -32602})]
    assert record["events"][-1]["status"] == "pending"
    assert "unread" not in record


def test_an_answer_to_nothing_is_not_measured(tmp_path: Path) -> None:
    lines = lines_of(MCP)
    twice = [line for line in lines for _ in range(2)]
    assert tools(read(file(tmp_path / "twice.jsonl", twice), "mcp-traffic")) == tools(
        read(MCP, "mcp-traffic")
    )
    record = read(file(tmp_path / "cut.jsonl", lines[6:]), "mcp-traffic")
    assert unread(record) == ["lines[1]"]


CONFORMING = (
    ("claude-code", "claude-code/1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl"),
    ("claude-code-stream-json", "claude-code/stream-json.jsonl"),
    (
        "codex-rollout",
        "codex/rollout-2026-11-22T21-42-56-01a20536-54a0-71b0-b275-ee1543810b71.jsonl",
    ),
    ("codex-exec-json", "codex/exec-json.jsonl"),
    (
        "gemini-cli",
        "gemini-cli/chats/4790c8e0-1fe6-403d-acb2-269799a01cb2/"
        "a4dd4ab3-f4fa-4bd3-9782-8efc7186e1cc.jsonl",
    ),
    ("opencode-export", "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json"),
    ("mcp-traffic", "mcp/traffic.jsonl"),
)


@pytest.mark.parametrize(("name", "path"), CONFORMING)
def test_the_reader_keeps_the_rules_of_readers(name: str, path: str) -> None:
    check_reader(named(name), FILES / path, mutants=40)


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(data=st.data())
def test_a_cut_never_makes_a_whole_session(tmp_path: Path, data: st.DataObject) -> None:
    path, name = data.draw(st.sampled_from(
        [(GEMINI, "gemini-cli"), (RUN, "opencode-run"), (ACP, "acp")]
    ))  # fmt: skip
    raw = path.read_bytes()
    made = tmp_path / path.name
    cut = raw[: data.draw(st.integers(1, raw.rstrip().rfind(b"\n")))]
    # An answer of Gemini CLI, with its time, is written before its calls are: that is a whole log.
    assume(cut.rstrip(b"\n").count(b"\n") != 5 or not cut.rstrip().endswith(b'.254Z"}}'))
    made.write_bytes(cut)
    for one in attempts(made, name):
        assert isinstance(one, Broken) or unread(json.loads(one.raw))


def test_a_log_of_gemini_cli_that_lacks_the_time_of_its_last_answer_is_cut_off(
    tmp_path: Path,
) -> None:
    answered = lines_of(GEMINI)[:5]
    assert answered[-1]["content"] == "I will read the notes and list the folder."
    assert unread(read(file(tmp_path / "log.jsonl", answered), "gemini-cli")) == [END]


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(data=st.data())
def test_odd_members_cost_no_more_than_their_file(tmp_path: Path, data: st.DataObject) -> None:
    path, name = data.draw(st.sampled_from(
        [(GEMINI, "gemini-cli"), (RUN, "opencode-run"), (ACP, "acp"), (MCP, "mcp-traffic")]
    ))  # fmt: skip
    lines = lines_of(path)
    holder = data.draw(st.sampled_from(lines))
    odd: Any = st.sampled_from([None, 1, "\ud800", "\0", [], {}, [1], {"a": 1}, [[]], True])
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [one for one in holder.values() if isinstance(one, dict) and one]
        holder = data.draw(st.sampled_from(inner)) if inner else holder
    holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(odd)
    made = file(tmp_path / path.name, lines)
    assert all(isinstance(one, (Foreign, Broken)) for one in attempts(made, name))


# Roo Code and older Cline -------------------------------------------------------------------------


def spoken(role: str, *parts: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts]
    return {"role": role, "content": blocks}


ENDS = {"type": "tool_use", "id": "t1", "name": "attempt_completion", "input": {"result": "Done."}}
IN_TEXT = "<attempt_completion>\n<result>\nDone.\n</result>\n</attempt_completion>"


@pytest.mark.parametrize(("last", "name"), [(ENDS, "anthropic-messages"), (IN_TEXT, "openai-chat")])
def test_the_result_that_ends_a_task_is_its_final_message(
    tmp_path: Path, last: Any, name: str
) -> None:
    path = tmp_path / "api_conversation_history.json"
    path.write_text(json.dumps([spoken("user", "Fix it."), spoken("assistant", "I try.", last)]))
    record = read(path, name)
    assert record["final_message"] == "Done."
    assert [one["tool"] for one in record["events"] if one["kind"] == "tool_call"] == [
        "attempt_completion"
    ]
