"""What a damaged or cut file shows to be missing is not measured: a call without its result's call,
arguments that are gone, a row that others name, the beginning of a session."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from span_files import DATA

from reviewer.importing.formats import named
from reviewer.importing.reader import Foreign
from reviewer.testing.reading import attempts


def records(reader: str, path: Path) -> list[dict[str, Any]]:
    found = attempts(named(reader), path)
    return [json.loads(one.raw) for one in found if isinstance(one, Foreign)]


def unread(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def chat(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "refund L-7"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": "refund", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]


def claude(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "refund L-7"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", **block}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ""}]},
    ]


def vercel(block: dict[str, Any]) -> list[dict[str, Any]]:
    value = json.loads((FILES / "vercel-ai/model_messages.json").read_bytes())
    call = next(
        part
        for message in value
        for part in message["content"]
        if isinstance(part, dict) and part.get("type") == "tool-call"
    )
    del call["input"]
    call.update(block)
    return list(value)


GIVEN: tuple[tuple[str, str, Callable[[dict[str, Any]], Any]], ...] = (
    ("openai-chat", "arguments", lambda one: chat(
        {"id": "c", "type": "function", "function": {"name": "refund", **one}}
    )),
    ("anthropic-messages", "input", lambda one: claude({"name": "refund", **one})),
    ("vercel-ai-model", "input", vercel),
)  # fmt: skip


@pytest.mark.parametrize(("reader", "member", "make"), GIVEN)
@pytest.mark.parametrize("value", [None, []])
def test_arguments_that_are_no_object_are_not_measured(
    reader: str, member: str, make: Callable[[dict[str, Any]], Any], value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(make({member: value})))
    (record,) = records(reader, path)
    assert any(one.startswith("calls[") for one in unread(record))


@pytest.mark.parametrize(("reader", "member", "make"), GIVEN)
def test_arguments_that_are_gone_are_not_measured(
    reader: str, member: str, make: Callable[[dict[str, Any]], Any], tmp_path: Path
) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(make({})))
    (record,) = records(reader, path)
    assert any(one.startswith("calls[") for one in unread(record))
    path.write_text(json.dumps(make({member: {}})))
    (record,) = records(reader, path)
    assert not unread(record)


def test_a_result_whose_call_is_gone_is_not_measured(tmp_path: Path) -> None:
    whole = chat({"id": "c", "type": "function", "function": {"name": "r", "arguments": "{}"}})
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([one for one in whole if "tool_calls" not in one]))
    (record,) = records("openai-chat", path)
    assert "results[1].call" in unread(record)


@pytest.mark.parametrize(
    ("reader", "name", "dropped"),
    [
        ("vercel-ai-model", "vercel-ai/model_messages.json", 1),
        ("google-adk-session", "google-adk/lamp-return-1.session.json", 3),
    ],
)
def test_a_message_that_is_gone_is_noticed(
    reader: str, name: str, dropped: int, tmp_path: Path
) -> None:
    value = json.loads((FILES / name).read_bytes())
    del (value["events"] if isinstance(value, dict) else value)[dropped]
    path = tmp_path / Path(name).name
    path.write_text(json.dumps(value))
    (record,) = records(reader, path)
    assert any(one.startswith("results[") for one in unread(record))


def test_the_calls_of_an_answer_that_is_gone_are_missed_in_gemini(tmp_path: Path) -> None:
    name = "gemini-cli/chats/session-2026-11-22T21-53-4790c8e0.jsonl"
    lines = (FILES / name).read_text().splitlines()
    del lines[16]  # the answer with its calls; what they returned is in the next line
    path = tmp_path / Path(name).name
    path.write_text("\n".join(lines))
    (record,) = records("gemini-cli", path)
    assert any(one.startswith("results[") for one in unread(record))


ROOTS = (
    ("langsmith-runs", "langsmith/tracer_runs.jsonl", lambda one: one["parent_run_id"] is None),
    ("weave-calls", "weave/calls.jsonl", lambda one: one["parent_id"] is None),
    ("braintrust-logs", "braintrust/logs.jsonl", lambda one: not one.get("span_parents")),
    (
        "openai-agents",
        "openai-agents/traces.jsonl",
        lambda one: one["object"] == "trace.span" and one["parent_id"] is None,
    ),
    ("openai-agents", "openai-agents/traces.jsonl", lambda one: one["object"] == "trace"),
)


@pytest.mark.parametrize(("reader", "name", "is_root"), ROOTS)
def test_a_trace_without_its_root_is_not_measured(
    reader: str, name: str, is_root: Callable[[dict[str, Any]], bool], tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in (FILES / name).read_text().splitlines()]
    kept = [json.dumps(one) for one in rows if not is_root(one)]
    assert len(kept) < len(rows)
    path = tmp_path / Path(name).name
    path.write_text("\n".join(kept))
    (record,) = records(reader, path)
    assert any(one.endswith("(cut off)") for one in unread(record))


@pytest.mark.parametrize(
    ("reader", "name", "other"),
    [
        (
            "codex-rollout",
            "formats_c/codex/rollout-2026-11-22T21-42-56-01a20536-54a0-71b0-b275-ee1543810b71.jsonl",
            24,
        ),
        (
            "gemini-cli",
            "formats_c/gemini-cli/chats/session-2026-11-22T21-53-4790c8e0.jsonl",
            17,
        ),
        ("claude-managed-agents", "managed_agents/anthropic_managed_mcp_tools.jsonl", 15),
    ],
)
def test_a_session_that_begins_amid_a_file_without_a_beginning_is_not_measured(
    reader: str, name: str, other: int, tmp_path: Path
) -> None:
    lines = (DATA / name).read_text().splitlines()
    lines[0], lines[other] = lines[other], lines[0]
    path = tmp_path / Path(name).name
    path.write_text("\n".join(lines))
    found = records(reader, path)
    assert found
    assert all(unread(one) for one in found)


@pytest.mark.parametrize("member", ["sessionId", "origin", "agent"])
def test_a_session_of_cline_without_a_member_is_still_one(member: str, tmp_path: Path) -> None:
    from reviewer.importing.head import Head

    folder = tmp_path / "1795384839649_u3as6"
    shutil.copytree(FILES / "cline" / folder.name, folder)
    path = folder / f"{folder.name}.messages.json"
    value = json.loads(path.read_bytes())
    del value[member]
    path.write_text(json.dumps(value))
    assert named("cline").sniff(Head(path))


def test_a_tool_whose_result_names_an_agent_started_one(tmp_path: Path) -> None:
    name = "9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl"
    text = (FILES / "claude-code" / name).read_text()
    path = tmp_path / name
    path.write_text(text.replace('"name":"Agent"', '"name":"Fork"'))
    (record,) = records("claude-code", path)
    assert unread(record) == ["subagents/agent-a618c3c887c77c07c.jsonl (no such file)"]


PART = {"sessionID": "ses_1", "messageID": "msg_2"}
CALL = {"status": "completed", "input": {"command": "ls"}, "output": "a"}


def opencode(folder: Path) -> Path:
    """A session as OpenCode 1.1 stores it: a question, and an answer of one step."""
    held: dict[str, dict[str, Any]] = {
        "session/global/ses_1": {"id": "ses_1", "version": "1", "projectID": "global", "time": {}},
        "message/ses_1/msg_1": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {}},
        "message/ses_1/msg_2": {
            "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {}, "finish": "stop",
        },
        "part/msg_1/prt_1": {
            "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "do",
        },
        "part/msg_2/prt_2": {"id": "prt_2", **PART, "type": "step-start"},
        "part/msg_2/prt_3": {
            "id": "prt_3", **PART, "type": "tool", "tool": "bash", "callID": "c", "state": CALL,
        },
        "part/msg_2/prt_4": {"id": "prt_4", **PART, "type": "step-finish", "reason": "stop"},
    }  # fmt: skip
    for place, value in held.items():
        path = folder / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder / "session/global/ses_1.json"


def test_a_stored_session_of_opencode_without_a_message_or_a_step_is_not_measured(
    tmp_path: Path,
) -> None:
    (record,) = records("opencode-export", opencode(tmp_path / "whole"))
    assert not unread(record)
    for number, name in enumerate(("message/ses_1/msg_2", "part/msg_2/prt_2", "part/msg_2/prt_4")):
        folder = tmp_path / str(number)
        session = opencode(folder)
        (folder / f"{name}.json").unlink()
        (record,) = records("opencode-export", session)
        assert unread(record), name


FORBIDDEN = {
    "id": "prt_9", **PART, "type": "tool", "tool": "forbidden", "callID": "f", "state": CALL,
}  # fmt: skip
LOST = {**FORBIDDEN, "messageID": "msg_7"}


@pytest.mark.parametrize(
    "files",
    [
        {"part/msg_7/prt_9.json": {**LOST, "sessionID": None}},
        {"part/msg_7/prt_1.json": "{", "part/msg_7/prt_9.json": LOST},
        {"part/msg_7/prt_1.json": {**LOST, "sessionID": "ses_2"}, "part/msg_7/prt_9.json": LOST},
        {"part/msg_2/deeper/prt_9.json": FORBIDDEN},
        {"part/msg_2/prt_9.json.tmp": FORBIDDEN},
        {"part/msg_2/prt_9.JSON": FORBIDDEN},
        *({"part/msg_2/prt_9.json": {**FORBIDDEN, "type": one}} for one in ("reasoning", "text")),
        {"part/msg_1/prt_9.json": {**FORBIDDEN, "messageID": "msg_1", "type": "text"}},
        {
            "session/global/ses_2.json": {
                "id": "ses_2", "parentID": "ses_1", "projectID": "global", "time": {},
            },
            "message/ses_2/msg_9.json": {
                "id": "msg_9", "sessionID": "ses_2", "role": "assistant", "time": {},
            },
            "part/msg_9/prt_9.json": {**FORBIDDEN, "messageID": "msg_9", "sessionID": "ses_2"},
        },
    ],
)  # fmt: skip
def test_a_call_anywhere_in_the_storage_of_opencode_is_told_or_leaves_the_session_not_measured(
    files: dict[str, Any], tmp_path: Path
) -> None:
    session = opencode(tmp_path)
    for place, value in files.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    (record,) = records("opencode-export", session)
    assert unread(record) or "forbidden" in json.dumps(record["events"])


@pytest.mark.parametrize("folder", ["session/global", "message/ses_1", "part/msg_2", "part/msg_9"])
def test_a_pipe_among_the_files_of_opencode_keeps_nobody_waiting(
    folder: str, tmp_path: Path
) -> None:
    session = opencode(tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    os.mkfifo(tmp_path / folder / "prt_x.json")
    (record,) = records("opencode-export", session)
    assert "bash" in json.dumps(record["events"])


def test_a_pipe_in_the_place_of_a_sub_agents_log_keeps_nobody_waiting(tmp_path: Path) -> None:
    session = FILES / "claude-code"
    shutil.copytree(session, tmp_path / "s")
    for log in sorted((tmp_path / "s").rglob("agent-*.jsonl")):
        log.unlink()
        os.mkfifo(log)
    (record,) = records("claude-code", tmp_path / "s/9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl")
    assert unread(record)


def test_a_linked_folder_of_parts_without_a_message_leaves_a_session_not_measured(
    tmp_path: Path,
) -> None:
    session = opencode(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/prt_9.json").write_text(json.dumps(LOST))
    (tmp_path / "part/msg_7").symlink_to(tmp_path / "elsewhere")
    (record,) = records("opencode-export", session)
    assert unread(record)


def test_a_trace_of_mlflow_without_its_root_is_not_measured(tmp_path: Path) -> None:
    value = json.loads((FILES / "mlflow/trace_0.json").read_bytes())
    value["data"]["spans"] = [one for one in value["data"]["spans"] if one.get("parent_span_id")]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(value))
    (record,) = records("mlflow-trace", path)
    assert unread(record) == ["spans named as parents (cut off)"]


@pytest.mark.parametrize("part", ["start", "end", "step"])
def test_a_stream_of_which_events_are_missing_is_not_measured(part: str, tmp_path: Path) -> None:
    whole = (DATA / "vercel_ai/stream.sse").read_text().split("\n\n")
    path = tmp_path / "stream.sse"
    path.write_text("\n\n".join(whole))
    (record,) = records("vercel-ai-stream", path)
    assert not unread(record)
    if part == "step":
        whole = [one for n, one in enumerate(whole) if n == 1 or "start-step" not in one]
    kept = {"start": whole[1:], "end": whole[:3], "step": whole}[part]
    path.write_text("\n\n".join(kept))
    (record,) = records("vercel-ai-stream", path)
    assert unread(record)


def test_a_session_of_adk_without_events_is_not_measured(tmp_path: Path) -> None:
    value = json.loads((FILES / "google-adk/lamp-return-1.session.json").read_bytes())
    value["events"] = []
    path = tmp_path / "s.session.json"
    path.write_text(json.dumps(value))
    (record,) = records("google-adk-session", path)
    assert unread(record) == ["events"]


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_a_session_of_strands_that_ends_unanswered_is_not_measured(
    kept: int, tmp_path: Path
) -> None:
    folder = tmp_path / "session_lamp-return-1"
    shutil.copytree(FILES / "strands/sessions" / folder.name, folder)
    (record,) = records("strands-session", folder / "session.json")
    assert not unread(record)
    for path in (folder / "agents/agent_default/messages").iterdir():
        if int(path.stem.rpartition("_")[2]) >= kept:
            path.unlink()
    (record,) = records("strands-session", folder / "session.json")
    assert unread(record) == ["end of the session (cut off)"]


@pytest.mark.parametrize(
    ("call", "member"),
    [
        ({"type": "function_call", "name": "refund", "arguments": "{}"}, "arguments"),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin"}, "input"),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, "action"),
    ],
)
def test_a_call_of_codex_without_what_it_was_given_is_not_measured(
    call: dict[str, Any], member: str, tmp_path: Path
) -> None:
    def line(kind: str, **payload: Any) -> str:
        at = "2026-11-22T10:00:00Z"
        return json.dumps({"timestamp": at, "type": kind, "payload": payload})

    def session(item: dict[str, Any]) -> list[str]:
        said = {"type": "message", "role": "assistant", "content": []}
        path = tmp_path / "rollout.jsonl"
        lines = [
            line("session_meta", id="t"),
            line("response_item", **item, call_id="c"),
            line("response_item", type="function_call_output", call_id="c", output="ok"),
            line("response_item", **said),
            line("event_msg", type="task_complete"),
        ]
        path.write_text("\n".join(lines))
        (record,) = records("codex-rollout", path)
        return unread(record)

    assert session(call) == []
    assert session({name: one for name, one in call.items() if name != member})
    assert session({**call, member: None})
