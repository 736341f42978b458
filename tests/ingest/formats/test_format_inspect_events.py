"""What happened in a sample of an Inspect log, event by event."""

from pathlib import Path
from typing import Any

import pytest
from inspect_logs import (
    LOGS,
    attempts,
    events_of,
    file,
    log,
    of_kind,
    only,
    ran,
    said,
    sample,
    samples,
    traces,
)

from reviewer.importing.formats.inspect_ai.trajectory import NoPatch, Stores


def short() -> dict[str, Any]:
    """The first sample of the log that the peer test's script wrote."""
    return next(one for one in traces(LOGS / "desk.eval") if one["episode_id"] == "short")


def told(tmp_path: Path, *events: dict[str, Any], **members: Any) -> dict[str, Any]:
    return only(file(tmp_path, log(sample(*events, **members))))


def lines(trace: dict[str, Any]) -> list[tuple[Any, ...]]:
    """(kind, who or which tool, what) of every event."""
    return [
        (event["kind"], event.get("tool") or event.get("actor"),
         event.get("message") or event.get("status") or event.get("observation"))
        for event in trace["events"]
    ]  # fmt: skip


def test_approvals_belong_to_their_calls() -> None:
    trace = short()
    refused, changed = (
        next(e for e in of_kind(trace, "tool_call") if e["arguments"] == wanted)
        for wanted in ({"x": 13, "y": 2}, {"x": 8, "y": 2})
    )
    words = {
        call["call_id"]: [
            event["approval"] for event in of_kind(trace, "approval")
            if event["call_id"] == call["call_id"]
        ]
        for call in (refused, changed)
    }  # fmt: skip
    assert words[refused["call_id"]] == [
        {"decision": "reject", "approver": "picky", "explanation": "unlucky"}
    ]
    [word] = words[changed["call_id"]]
    assert word["decision"] == "approve"
    assert word["in_source"] == "modify"
    assert word["modified"] == {"function": "add", "arguments": {"x": 8, "y": 2}}
    assert word["asked"] == {"x": 7, "y": 2}  # what the agent asked for, and did not run
    by_call = {event["call_id"]: event for event in of_kind(trace, "tool_result")}
    assert by_call[refused["call_id"]]["status"] == "denied"
    assert by_call[refused["call_id"]]["observation"] == {
        "error": {"type": "approval", "message": "unlucky"}
    }
    assert by_call[changed["call_id"]]["observation"] == "10"


def test_a_call_refused_for_good_is_denied_though_it_shows_no_error(tmp_path: Path) -> None:
    call = {"id": "c", "function": "pay", "arguments": {}}
    asked = {"event": "approval", "call": call, "approver": "boss", "decision": "terminate"}
    trace = told(tmp_path, said("", ("c", "pay", {})), asked, ran("c", "pay", failed=True))
    assert [event.get("status") for event in of_kind(trace, "tool_result")] == ["denied"]


def test_a_sub_agent_works_between_call_and_result_under_its_own_name() -> None:
    trace = short()
    place = [(event["kind"], event.get("tool")) for event in trace["events"]]
    call = place.index(("tool_call", "researcher"))
    result = place.index(("tool_result", "researcher"))
    inside = trace["events"][call + 1 : result]
    assert {"researcher", "system"} == {
        event["actor"] for event in inside if event["kind"] in ("message", "tool_call")
    }
    outside = trace["events"][:call] + trace["events"][result:]
    assert "researcher" not in {event.get("actor") for event in outside}


@pytest.mark.parametrize("name", ["user", "Agent", "simulated_user"])
def test_no_sub_agent_can_call_itself_the_user(tmp_path: Path, name: str) -> None:
    spans = [
        {"event": "span_begin", "id": "a", "type": "agent", "name": "main"},
        {"event": "span_begin", "id": "b", "parent_id": "a", "type": "agent", "name": name},
    ]
    trace = told(tmp_path, *spans, said("hi", ("c", "pay", {}), span_id="b"))
    assert {event["actor"] for event in trace["events"]} == {f"sub-agent {name}"}


def test_changes_of_the_store_are_told_once() -> None:
    for held, trace in zip(samples(LOGS / "desk.eval"), traces(LOGS / "desk.eval"), strict=True):
        sums = [event["state"]["sums"] for event in of_kind(trace, "state_snapshot")]
        final = held["store"]["sums"]
        assert sums == [final[:n] for n in range(1, len(final) + 1)]
        assert trace["final_state"] == held["store"]
        told = [event for event in held["events"] if event["event"] == "store"]
        assert len(told) > len(sums)


def test_spans_that_overlap_keep_each_others_changes() -> None:
    stores = Stores({"n": 0})
    for span in ("outer", "one", "two"):
        stores.begin(span)
    assert stores.change("one", [{"op": "add", "path": "/a", "value": [1]}])
    assert stores.change("two", [{"op": "replace", "path": "/n", "value": 5}])
    both = [{"op": "add", "path": "/a", "value": [1]}, {"op": "replace", "path": "/n", "value": 5}]
    assert not stores.change("outer", both)
    assert stores.state == {"n": 5, "a": [1]}
    assert stores.change(None, [{"op": "add", "path": "/a/0", "value": 0},
                                {"op": "remove", "path": "/n"},
                                {"op": "move", "from": "/a/1", "path": "/b"}])  # fmt: skip
    assert stores.state == {"a": [0], "b": 1}
    for odd in ({"op": "add", "path": "/a/9", "value": 0}, {"op": "remove", "path": "/zz"}, 7):
        with pytest.raises(NoPatch):
            stores.change(None, [odd])


def test_who_plays_the_user_is_not_the_agent() -> None:
    trace = only(LOGS / "user_and_critic.eval")
    said = [(event["actor"], event["message"]) for event in of_kind(trace, "message")]
    assert said == [
        ("simulated_user", "I am the user"), ("user", "in 1"), ("agent", "hello"),
        ("critic", "bad"), ("user", "Critic says: bad"), ("agent", "hello"),
    ]  # fmt: skip
    # The same model played them all: 30 of its 37 input tokens were the agent's and its critic's.
    assert trace["usage"]["input_tokens"] == 30
    assert samples(LOGS / "user_and_critic.eval")[0]["model_usage"]["mockllm/model"] == {
        "input_tokens": 37, "output_tokens": 22, "total_tokens": 59,
    }  # fmt: skip


def test_a_person_at_the_terminal_is_heard() -> None:
    trace = only(LOGS / "v0.3.43_input.eval")
    [typed] = events_of(LOGS / "v0.3.43_input.eval", "input")
    first = trace["events"][0]
    assert (first["actor"], first["message"]) == ("user", typed["input"].strip())


def test_a_graders_words_and_tokens_are_not_the_candidates(tmp_path: Path) -> None:
    scorers = {"event": "span_begin", "id": "s", "type": "scorers", "name": "scorers"}
    mine = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6, "total_cost": 0.5}
    theirs = {"input_tokens": 50, "output_tokens": 10, "total_tokens": 60, "total_cost": 0.25}
    both = {name: mine[name] + theirs[name] for name in mine}
    events = [said("a", usage=mine), scorers, said("GRADE: C", usage=theirs, span_id="s")]
    trace = told(tmp_path, *events, model_usage={"m/one": both})
    assert [event["message"] for event in of_kind(trace, "message")] == ["a"]
    assert trace["usage"]["total_tokens"] == 6
    assert trace["cost_usd"] == 0.5
    other = said("GRADE: C", usage=theirs, span_id="s", role="grader", model="m/two")
    usage = {"m/one": mine, "m/two": theirs}
    [made] = attempts(file(tmp_path, log(sample(events[0], scorers, other, model_usage=usage))))
    assert made.verdict is not None
    assert made.verdict.detail["other_models"] == {"m/two": theirs}
    assert any("kept apart" in note for note in made.notes)


def test_a_cost_is_known_when_every_call_has_a_price(tmp_path: Path) -> None:
    priced = {"input_tokens": 1, "total_tokens": 2, "total_cost": 0.5}
    bare = {"input_tokens": 1, "total_tokens": 2}
    usage = {"m/one": {"input_tokens": 2, "total_tokens": 4, "total_cost": 0.5}}
    turns = [said("a", usage=priced), said("b", usage=bare)]
    assert told(tmp_path, *turns, model_usage=usage)["cost_usd"] is None
    assert told(tmp_path, turns[0], turns[0], model_usage=usage)["cost_usd"] == 0.5


def test_answers_out_of_a_cache_cost_nothing(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "total_tokens": 9, "total_cost": 1.0}
    trace = told(tmp_path, said("a", usage=usage, cache="read"))
    assert "usage" not in trace
    assert trace["cost_usd"] is None
    assert "tokens" not in trace["events"][0]


def test_private_reasoning_is_left_out_and_provider_tools_are_calls(tmp_path: Path) -> None:
    content = [
        {"type": "reasoning", "reasoning": "secret thought"},
        {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search",
         "arguments": '{"q": 1}', "result": "found", "error": None},
        {"type": "text", "text": "Here."},
        {"type": "image", "image": "data:image/png;base64,AAAA"},
    ]  # fmt: skip
    trace = told(tmp_path, said(content), output={})
    assert lines(trace) == [
        ("tool_call", "web_search", None), ("tool_result", "web_search", "ok"),
        ("message", "agent", "Here.\n[image]"),
    ]  # fmt: skip
    assert "secret thought" not in str(trace)


def test_tools_that_ran_elsewhere_answer_in_the_next_input(tmp_path: Path) -> None:
    """An agent bridge logs only model calls: results stand in the conversation."""
    answer = {"role": "tool", "tool_call_id": "c", "function": "bash", "content": "",
              "error": {"type": "timeout", "message": "slow"}}  # fmt: skip
    asked = {"role": "user", "content": "Do it."}
    first = said("", ("c", "bash", {"cmd": "ls"}), input=[asked])
    second = said("done", input=[asked, first["output"]["choices"][0]["message"], answer])
    trace = told(tmp_path, first, second, messages=[asked, answer])
    assert lines(trace) == [
        ("message", "user", "Do it."), ("tool_call", "bash", None),
        ("tool_result", "bash", "timeout"), ("message", "agent", "done"),
    ]  # fmt: skip


def test_the_same_words_twice_are_two_messages(tmp_path: Path) -> None:
    again = {"role": "user", "content": "Continue."}
    turns = [said(f"{n}", input=[again] * n) for n in (1, 2, 3)]
    trace = told(tmp_path, *turns)
    assert [event["message"] for event in of_kind(trace, "message")] == [
        "Continue.", "1", "Continue.", "2", "Continue.", "3",
    ]  # fmt: skip


def test_a_call_in_flight_is_pending(tmp_path: Path) -> None:
    trace = told(tmp_path, said("", ("c", "bash", {})), ran("c", "bash", pending=True))
    assert [event["status"] for event in of_kind(trace, "tool_call")] == ["pending"]
    assert not of_kind(trace, "tool_result")


def test_old_logs_keep_events_inside_events_and_steps(tmp_path: Path) -> None:
    inner = [said("I look.", ("i", "search", {})), ran("i", "search", "found")]
    step = {"event": "step", "action": "begin", "type": "scorer", "name": "s"}
    trace = told(tmp_path, said("", ("c", "ask", {})), ran("c", "ask", "ok", events=inner),
                 step, said("GRADE"))  # fmt: skip
    assert lines(trace) == [
        ("tool_call", "ask", None), ("message", "ask", "I look."), ("tool_call", "search", None),
        ("tool_result", "search", "ok"), ("tool_result", "ask", "ok"),
    ]  # fmt: skip


def test_a_sample_without_events_is_its_conversation(tmp_path: Path) -> None:
    [made] = attempts(LOGS / "tool_errors.json")
    kinds = {"parsing", "timeout", "unicode_decode", "permission", "file_not_found", "approval",
             "is_a_directory", "limit", "unknown", "output_limit"}  # fmt: skip
    trace = only(LOGS / "tool_errors.json")
    types = [event["observation"]["error"]["type"] for event in of_kind(trace, "tool_result")]
    assert set(types) == kinds
    assert "termination" not in trace
    assert any("conversation is all there is" in note for note in made.notes)
