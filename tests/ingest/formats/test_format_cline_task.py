"""Tasks of Cline in VS Code and of Roo Code: what is in the texts of their messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewer.importing.formats import foreign_readers, named
from reviewer.importing.head import Head
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source
from reviewer.testing import check_reader

TASK = "1777073160794"
FOLDER = "# Current Working Directory (c:/lamps) Files\na.py\n\n"
DETAILS = f"<environment_details>\n{FOLDER}# Current Mode\nACT MODE\n</environment_details>"
END = "end of the session (cut off)"
Messages = list[dict[str, Any]]


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": one} for one in texts]}


def agent(*blocks: dict[str, Any], **tokens: int) -> dict[str, Any]:
    facts = {"modelInfo": {"modelId": "m-1"}, "metrics": {"tokens": tokens}} if tokens else {}
    return {"role": "assistant", "content": list(blocks), **facts}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "call_id": ""}


def call(own: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": own, "name": name, "input": given, "call_id": own}


WORK: Messages = [
    user("<task>\nPut it right.\n</task>", "\n# task_progress List (Optional)", DETAILS),
    agent(
        words("I look."),
        call("t1", "read_file", path="a.py"),
        call("t2", "execute_command", command="make\ntest"),
        call("t3", "execute_command", command="sleep 99"),
        call("t4", "execute_command", command="rm -r /"),
        prompt=900, completion=40, cached=0,
    ),
    user(
        "[read_file for 'a.py'] Result:\n1 | x = 1",
        "[execute_command for 'make\ntest'] Result:\nCommand failed with exit code 2.\nOutput:\nno",
        "[execute_command for 'sleep 99'] Result:\nCommand timed out after 30 seconds.",
        "[execute_command for 'rm -r /'] Result:\nThe user denied this operation.",
        "The user provided the following feedback:\n<feedback>\nnever\n</feedback>",
        DETAILS,
    ),
    agent(call("t5", "attempt_completion", result="Done."), prompt=950, completion=9, cached=0),
]  # fmt: skip
DONE = user(
    "[attempt_completion] Result: Done",
    "The user has provided feedback on the results. Go on.",
    "<feedback>\nMore.\n</feedback>",
    DETAILS,
)


def written(folder: Path, messages: Messages) -> Path:
    timed = [{**one, "ts": 1777073160794 + 1000 * n} for n, one in enumerate(messages)]
    path = folder / TASK / "api_conversation_history.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(timed))
    return path


def read(folder: Path, messages: Messages) -> dict[str, Any]:
    path = written(folder, messages)
    claimed = next(one for one in foreign_readers() if one.sniff(Head(path)))
    assert claimed.name == "cline-task"
    (one,) = claimed.traces(Source(path))
    assert isinstance(one, Foreign), one
    return dict(json.loads(one.raw))


def of_kind(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


def unread(record: dict[str, Any]) -> list[str]:
    return [one["path"] for one in record.get("unread", ())]


def said(record: dict[str, Any], actor: str) -> list[str]:
    return [one["message"] for one in of_kind(record, "message") if one["actor"] == actor]


def test_results_under_headings_belong_to_the_calls_in_their_order(tmp_path: Path) -> None:
    record = read(tmp_path, WORK)
    calls, results = of_kind(record, "tool_call"), of_kind(record, "tool_result")
    assert [one["tool"] for one in calls] == [
        "read_file", *["execute_command"] * 3, "attempt_completion"
    ]  # fmt: skip
    assert [(one["call_id"], one.get("status")) for one in results] == [
        ("t1", None), ("t2", "error"), ("t3", "timeout"), ("t4", "error")
    ]  # fmt: skip
    assert results[0]["observation"] == "1 | x = 1"
    assert said(record, "user") == ["Put it right.", "never"]
    assert said(record, "agent") == ["I look."]
    assert record["final_message"] == "Done."
    assert unread(record) == []
    assert (record["episode_id"], record["candidate_id"]) == (TASK, "m-1")
    assert record["usage"] == {"input_tokens": 1850, "output_tokens": 49, "cached_tokens": 0}


def test_a_result_may_be_a_block_of_its_own_below_its_heading(tmp_path: Path) -> None:
    """So do Roo Code and older versions of Cline, with calls as markup."""
    asked = "I look.\n\n<read_file>\n<path>a.py</path>\n</read_file>"
    ends = "<attempt_completion>\n<result>\nDone.\n</result>\n</attempt_completion>"
    record = read(
        tmp_path,
        [
            user("<task>Look.</task>", DETAILS),
            agent({"type": "text", "text": asked}),
            user("[read_file for 'a.py'] Result:", "<files>x = 1</files>", DETAILS),
            agent({"type": "text", "text": ends}),
        ],
    )
    (result,) = of_kind(record, "tool_result")
    assert (result["tool"], result["observation"]) == ("read_file", "<files>x = 1</files>")
    assert said(record, "user") == ["Look."]
    assert record["final_message"] == "Done."
    assert unread(record) == []


@pytest.mark.parametrize("tool", ["use_subagents", "new_task"])
def test_what_sub_agents_did_is_not_in_the_file(tmp_path: Path, tool: str) -> None:
    heading = "subagents" if tool == "use_subagents" else tool
    more = [
        agent(call("s1", tool, prompt_1="Look.")),
        user(f"[{heading}] Result:\nTool calls: 99", DETAILS),
    ]
    record = read(tmp_path, [*WORK[:1], *more, *WORK[3:]])
    assert unread(record) == ["messages of its sub-agents (no such file)"]
    assert [one["tool"] for one in of_kind(record, "tool_result")] == [tool]


@pytest.mark.parametrize("messages", [WORK[:2], WORK[:3], [*WORK, DONE]])
def test_a_task_in_which_the_agent_has_not_ended_its_turn_is_not_measured(
    tmp_path: Path, messages: Messages
) -> None:
    assert unread(read(tmp_path, messages)) == [END]


def test_cached_tokens_leave_the_input_unknown(tmp_path: Path) -> None:
    answer = agent(
        call("t5", "attempt_completion", result="Done."), prompt=9, completion=3, cached=5
    )
    record = read(tmp_path, [WORK[0], answer])
    assert record["usage"] == {"output_tokens": 3, "cached_tokens": 5}


def test_an_act_in_a_member_that_is_not_known_is_missed(tmp_path: Path) -> None:
    hidden = {**WORK[1], "later": [{"type": "tool_use", "id": "x", "name": "rm", "input": {}}]}
    assert unread(read(tmp_path, [WORK[0], hidden, *WORK[2:]]))
    other = {**call("t5", "attempt_completion", result="Done."), "call_id": "t9"}
    assert unread(read(tmp_path, [*WORK[:3], agent(other)]))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": DETAILS, "tool_calls": [{"name": "rm", "arguments": {"a": 1}}]},
        {"type": "image", "source": {"type": "tool_use", "name": "rm", "input": {"a": 1}}},
    ],
)
def test_an_act_beside_a_text_or_in_a_picture_of_the_user_is_missed(
    tmp_path: Path, block: dict[str, Any]
) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}
    plain, hidden = (
        {"role": "user", "content": [{"type": "text", "text": DETAILS}, one]}
        for one in (picture, block)
    )
    assert unread(read(tmp_path, [WORK[0], plain, WORK[3]])) == []
    assert unread(read(tmp_path, [WORK[0], hidden, WORK[3]]))


def test_it_keeps_to_what_every_reader_must(tmp_path: Path) -> None:
    again = agent(call("t6", "attempt_completion", result="Done, too."))
    check_reader(named("cline-task"), written(tmp_path, [*WORK, DONE, again]), mutants=40)
