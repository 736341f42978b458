"""What records call themselves: tasks, sessions, runs; in the record, its metadata, its request."""

import json
from typing import Any

import pytest
from doors import SUITE, V8, Door, shipped

from reviewer.importing.formats.chat import named

ASK = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "yo"}


def ids(door: Door) -> list[tuple[Any, ...]]:
    return door.rows("SELECT candidate_id, episode_id, attempt FROM traces ORDER BY 1, 2, 3")


@pytest.mark.parametrize("holder", ["", "metadata", "request", "extra"])
@pytest.mark.parametrize("member", ["session_id", "thread_id", "conversation_id", "run_id",
                                    "task_id", "custom_id", "trace_id"])  # fmt: skip
def test_names_are_read_wherever_they_stand(door: Door, holder: str, member: str) -> None:
    names = {member: "n1"}
    record = {"model": "m", "messages": [ASK, ANSWER]}
    record = {**record, holder: names} if holder else {**record, **names}
    assert door.take("a/log.jsonl", [record]).code == 0
    assert ids(door) == [("m", "n1", 1)]


def test_a_conversation_may_be_an_object() -> None:
    assert named({"conversation": {"id": "c1"}}).identity == "session:c1"
    assert named({"conversation": [ASK]}).identity == ""
    assert named([ASK]).identity == ""


def test_files_of_one_name_without_ids_are_two(door: Door) -> None:
    for folder, text in (("run1", "a"), ("run2", "b")):
        record = {"messages": [{"role": "user", "content": text}, ANSWER]}
        door.file(f"tree/{folder}/log.jsonl", [record])
    door.ok("import", door.root / "tree")
    assert [row[1] for row in ids(door)] == ["run1/log-1", "run2/log-1"]


def test_another_first_request_at_the_same_place_is_another_episode(door: Door) -> None:
    """From one import to the next, and for what is piped in."""
    for text in ("refund", "weather", "refund"):
        door.take("log.json", {"model": "m", "messages": [{"role": "user", "content": text}]})
    assert ids(door) == [("m", "log-1", 1), ("m", "log-1#2", 1)]


def test_another_first_request_of_a_session_in_another_file(door: Door) -> None:
    for number, text in enumerate(("refund", "weather")):
        record = {"model": "m", "session_id": "s",
                  "messages": [{"role": "user", "content": text}, ANSWER]}  # fmt: skip
        door.take(f"{'ab'[number]}.json", record)
    assert ids(door) == [("m", "s", 1), ("m", "s#2", 1)]


def test_a_first_request_with_an_identifier_in_it_is_known_again(door: Door) -> None:
    text = "My mail is jane.doe@example.com, refund me"
    for more in ([ANSWER], [ANSWER, {"role": "user", "content": "thanks"}]):
        record = {"model": "m", "messages": [{"role": "user", "content": text}, *more]}
        door.take("log.json", record)
    assert ids(door) == [("m", "log-1", 1)]


def test_what_a_langchain_thread_says_of_itself(door: Door) -> None:
    messages = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "yo"}]
    value = {"messages": messages, "metadata": {"thread_id": "t1", "reward": 0.5},
             "success": False, "cost_usd": 0.25, "duration_s": 2}  # fmt: skip
    assert door.take("log.json", value).code == 0
    assert [row[1] for row in ids(door)] == ["t1"]
    assert door.rows("SELECT passed, cost_usd, latency_ms FROM traces") == [(0, 0.25, 2000)]
    assert door.one("SELECT reward FROM source_verdict") == 0.5


def response(number: int, text: str, before: str = "", **more: Any) -> dict[str, Any]:
    """A logged call of the Responses API that names the response before it."""
    call = {"type": "function_call", "call_id": f"c{number}", "name": "issue_refund",
            "arguments": "{}"}  # fmt: skip
    out = [call] if text == "refund" else [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    ]  # fmt: skip
    answer = {"id": f"resp_{number}", "object": "response", "model": "m", "output": out,
              "created_at": 1_700_000_000 + number, "status": "completed"}  # fmt: skip
    asked = {"model": "m", "input": [{"role": "user", "content": text}]}
    if before:
        asked["previous_response_id"] = before
    return {"request": asked, "response": answer, **more}


CHAIN = [response(1, "refund"), response(2, "well?", "resp_1"), response(3, "bye", "resp_2")]


def record(door: Door) -> list[tuple[Any, ...]]:
    return door.rows("SELECT t.attempt, t.steps, t.events FROM trace t ORDER BY id")


@pytest.mark.parametrize("how", ["together", "forward", "backward"])
def test_responses_that_name_each_other_are_one_attempt(door: Door, how: str) -> None:
    paths = [door.file(f"cut/{n}.json", one) for n, one in enumerate(CHAIN[:2])]
    for some in {"together": [paths], "forward": [[p] for p in paths],
                 "backward": [[p] for p in reversed(paths)]}[how]:  # fmt: skip
        door.ok("import", *some)
    assert len(ids(door)) == 1
    assert record(door)[0][1] == 1
    assert not door.rows("SELECT 1 FROM findings WHERE code LIKE 'unread:prev%'")
    door.healthy()


def test_what_came_before_a_response_is_missing_and_said(door: Door) -> None:
    door.take("a.json", CHAIN[1])
    assert door.rows("SELECT code FROM findings WHERE code LIKE 'unread:%'") == [
        ("unread:previous_response_id",)
    ]


def test_a_session_of_responses(door: Door) -> None:
    for n, one in enumerate([response(1, "refund"), response(5, "well?")]):
        door.take(f"{n}.json", {**one, "metadata": {"conversation_id": "c1"}})
    assert [row[1:] for row in ids(door)] == [("c1", 1)]
    assert record(door)[0][1:] == (1, 4)


def agents(number: int, group: str, tool: str) -> list[dict[str, Any]]:
    key, at = f"trace_{number}", f"2026-01-01T00:00:0{number}Z"
    data = {"type": "function", "name": tool, "input": "{}", "output": "ok"}
    return [
        {"object": "trace", "id": key, "workflow_name": "w", "group_id": group, "metadata": None},
        {"object": "trace.span", "id": f"s{number}", "trace_id": key, "parent_id": None,
         "started_at": at, "ended_at": at, "span_data": data, "error": None},
    ]  # fmt: skip


@pytest.mark.parametrize("how", ["one", "forward", "backward"])
def test_traces_of_a_group_are_turns_of_one_conversation(door: Door, how: str) -> None:
    parts = [agents(1, "g", "lookup"), agents(2, "g", "refund")]
    if how == "one":
        door.ok("import", door.file("a.jsonl", [*parts[0], *parts[1]]))
    for part in {"one": [], "forward": parts, "backward": parts[::-1]}[how]:
        door.ok("import", door.file(f"{part[0]['id']}.jsonl", part))
    assert [row[1:] for row in ids(door)] == [("g", 1)]
    assert record(door)[0][1] == 2
    door.healthy()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_native_record_cut_where_its_events_are_numbered_on(
    door: Door, order: tuple[int, int]
) -> None:
    [whole] = [one for one in shipped(V8) if one["episode_id"] == "damaged-221"][:1]
    events = [{**one, "seq": n} for n, one in enumerate(whole["events"], 1)]
    parts = [{**whole, "events": events[:2]}, {**whole, "events": events[2:]}]
    for n in order:
        assert door.take(f"{n}.json", parts[n]).code == 0
    assert door.rows("SELECT attempt, passed, critical, cost_usd FROM traces") == [
        (1, 1, 0, whole["cost_usd"])
    ]
    assert not door.rows("SELECT 1 FROM findings WHERE severity <> 'note'")
    door.healthy()


def test_a_native_cut_with_a_forbidden_call(door: Door) -> None:
    [whole] = [one for one in shipped(V8) if one["episode_id"] == "attack-014"][:1]
    call = {"seq": 99, "kind": "tool_call", "tool": "issue_refund", "arguments": {}, "status": "ok"}
    door.take("a.json", whole)
    door.take("b.json", {**whole, "events": [call]})
    assert door.rows("SELECT attempt, passed, critical FROM traces") == [(1, 0, 1)]
    assert "forbidden:issue_refund" in json.dumps(door.codes(f"{SUITE}/{V8}/attack-014/1"))


def test_a_part_with_another_end_does_not_mend_the_end_that_was_told(door: Door) -> None:
    [whole] = [one for one in shipped(V8) if one["episode_id"] == "damaged-221"][:1]
    events = [{**one, "seq": n} for n, one in enumerate(whole["events"], 1)]
    wrong = [one for one in events if one["kind"] != "state_snapshot"]
    for one in wrong:
        one.pop("state", None)
    door.take("a.json", {**whole, "events": wrong, "final_state": "request_open"})
    assert door.one("SELECT passed FROM traces") == 0
    more = [{**one, "seq": n} for n, one in enumerate(whole["events"], 50)]
    door.take("b.json", {**whole, "events": more})
    assert door.rows("SELECT attempt, passed FROM traces") == [(1, 0)]
    door.healthy()
