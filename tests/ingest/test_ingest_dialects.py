"""Every dialect of calls is read, and what was changed in a call leaves the trace not measured:
never fewer calls, and nothing said."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire_cases
from dialect_cases import CALL, HIDDEN, MORE, OTHERS, QUIET, RESPONSE, SAME, cline

from reviewer.importing.formats import foreign_readers, named
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, by_document
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLES = sorted(
    (
        *(DATA / "messages").glob("*.json"),
        *(DATA / "openai_chat").glob("*.json*"),
        *(DATA / "openai_responses").glob("*.json"),
        *(DATA / "langchain").glob("*.json"),
        DATA / "formats_c/openai-agents/traces.jsonl",
    )
)


class Read:
    """What the program makes of a file: its reader, calls, results, and whether any is unread."""

    def __init__(self, path: Path) -> None:
        head = Head(path)
        reader = next((one for one in foreign_readers() if one.sniff(head)), None)
        self.reader = reader.name if reader else ""
        self.calls: Counter[tuple[str, str]] = Counter()
        self.results = 0
        self.unread: list[str] = []
        self.refused = reader is None
        if reader is None or not by_document(reader):
            return
        for one in reader.traces(Source(path)):
            if isinstance(one, Broken):
                self.refused = True
                continue
            record = json.loads(one.raw)
            self.unread += [left["path"] for left in record.get("unread", ())]
            for event in record["events"]:
                self.results += event["kind"] == "tool_result"
                if event["kind"] == "tool_call":
                    self.calls[key(event["tool"], event["arguments"])] += 1


def key(tool: str, arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments, sort_keys=True)


def read(folder: Path, text: str) -> Read:
    path = folder / "one.json"
    path.write_text(text)
    return Read(path)


@pytest.mark.parametrize("name", SAME)
def test_the_same_call_is_read_from_every_dialect(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, json.dumps(SAME[name]))
    assert found.calls == {key(*CALL): 1}
    assert found.unread == []


@pytest.mark.parametrize("name", OTHERS)
def test_other_kinds_of_calls_are_read(tmp_path: Path, name: str) -> None:
    record, call = OTHERS[name]
    found = read(tmp_path, json.dumps(record))
    assert found.calls == {key(*call): 1}
    assert found.unread == []


@pytest.mark.parametrize("name", MORE)
def test_the_same_call_is_read_in_every_dress(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, json.dumps(MORE[name]))
    assert found.calls == {key(*CALL): 1}
    assert found.unread == []


@pytest.mark.parametrize("name", wire_cases.SAME)
def test_the_same_call_is_read_from_streams_bodies_and_markup(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, json.dumps(wire_cases.SAME[name]))
    assert found.calls == {key(*CALL): 1}
    assert found.unread == []


@pytest.mark.parametrize("name", wire_cases.HIDDEN)
def test_an_act_in_any_other_markup_is_unread(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, json.dumps(wire_cases.HIDDEN[name])).unread


@pytest.mark.parametrize("name", ["responses mcp approve", "vercel approved"])
def test_who_answers_for_a_provider_is_the_model_s_client(tmp_path: Path, name: str) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(MORE.get(name) or wire_cases.APPROVED))
    reader = next(one for one in foreign_readers() if one.sniff(Head(path)))
    assert by_document(reader)
    [one] = reader.traces(Source(path))
    assert not isinstance(one, Broken)
    said = [event["approval"] for event in json.loads(one.raw)["events"] if "approval" in event]
    assert said[-1] == {"decision": "approve", "approver": "client of the model"}


@pytest.mark.parametrize("name", wire_cases.QUIET)
def test_an_answer_of_words_is_no_call(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, json.dumps(wire_cases.QUIET[name]))
    assert (found.calls, found.unread, found.refused) == ({}, [], False)


@pytest.mark.parametrize("name", HIDDEN)
def test_an_act_that_no_reader_takes_is_unread(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, json.dumps(HIDDEN[name])).unread


@pytest.mark.parametrize("name", QUIET)
def test_words_are_no_calls(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, json.dumps(QUIET[name]))
    assert not found.calls
    assert found.unread == []


def test_a_session_of_cline_says_what_failed_and_what_its_sub_agents_hide(tmp_path: Path) -> None:
    [call] = RESPONSE["content"]
    found = read(tmp_path, json.dumps(cline(call)))
    assert (found.reader, found.calls, found.unread) == ("cline", {key(*CALL): 1}, [])
    [one] = named("cline").traces(Source(tmp_path / "one.json"))
    record = json.loads(one.raw)
    assert [event.get("status") for event in record["events"]] == [None, None, "error"]
    assert (record["episode_id"], record["candidate_id"]) == ("s-1", "m")
    assert record["usage"]["input_tokens"] == 1200
    spawned = {"type": "tool_use", "id": "c2", "name": "spawn_agent", "input": {"task": "look"}}
    missed = "messages of its sub-agent (no such file)"
    assert read(tmp_path, json.dumps(cline(call, spawned))).unread == [missed]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_real_samples_are_read_whole(path: Path) -> None:
    found = Read(path)
    assert found.unread == []
    assert not found.refused
    assert found.calls or "graph_trajectories" in path.name


DUPLICATE = "@twice@"
Change = tuple[str, Any]


def sites(value: Any, marks: frozenset[str], above: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Places (path, member) on the way from the record to a call: what is renamed, nested, retyped
    or repeated there may hide it."""
    if isinstance(value, list):
        for place, one in enumerate(value):
            if on_the_way(one, marks):
                yield from sites(one, marks, (*above, place))
    elif isinstance(value, dict):
        for name, one in value.items():
            if on_the_way(one, marks) or (name in ("type", "role", "from") and above):
                yield above, name
            if on_the_way(one, marks) and not is_given(one, marks):
                yield from sites(one, marks, (*above, name))


def is_given(value: Any, marks: frozenset[str]) -> bool:
    return isinstance(value, dict) and text_of(value) in marks


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def on_the_way(value: Any, marks: frozenset[str]) -> bool:
    if isinstance(value, str):
        return value in marks or value.removeprefix("tool-") in marks or parsed(value) in marks
    if isinstance(value, dict):
        return text_of(value) in marks or any(on_the_way(one, marks) for one in value.values())
    return isinstance(value, list) and any(on_the_way(one, marks) for one in value)


def parsed_text(value: Any) -> str:
    return parsed(value) if isinstance(value, str) else ""


def parsed(text: str) -> str:
    try:
        return text_of(json.loads(text)) if text[:1] == "{" else ""
    except ValueError:
        return ""


def changes(value: Any, name: str, given: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """(how, members in place of the one) for each way to hide a member."""
    yield "renamed", {f"{name}x": value}
    yield "cased", {name.upper(): value}
    yield "in metadata", {"metadata": {name: value}}
    if not given:  # other arguments are another call, and as well read
        yield "in a list", {name: [value]}
        yield "nested", {name: {"inner": value}}
    yield "repeated before", {f"{DUPLICATE}{name}": None, name: value}
    yield "repeated after", {name: value, f"{DUPLICATE}{name}": None}
    if isinstance(value, (dict, list)):
        yield "as text", {name: json.dumps(value)}
    if isinstance(value, list):
        yield "as an object", {name: {str(place): one for place, one in enumerate(value)}}
    if isinstance(value, list) and len(value) == 1:
        yield "alone", {name: value[0]}
    if name in ("role", "from"):
        for other in ("user", "system", "tool", "reviewer", 7, None):
            yield f"as {other}", {name: other}
    if name == "type":
        for other in ("unheard_of", "text", 7, ["x"], None):
            yield f"as {other}", {name: other}


def changed(record: Any, place: tuple[Any, ...], name: str, members: dict[str, Any]) -> str:
    made = copy.deepcopy(record)
    owner = made
    for step in place:
        owner = owner[step]
    rest = list(owner.items())
    owner.clear()
    for member, one in rest:
        owner.update(members if member == name else {member: one})
    return json.dumps(made).replace(DUPLICATE, "")


def marks_of(found: Read) -> frozenset[str]:
    names = {tool for tool, _ in found.calls} | {"multi_tool_use.parallel"}
    return frozenset({*names, *(given for _, given in found.calls if given != "{}")})


def every_change(record: Any, found: Read) -> Iterator[tuple[str, str]]:
    marks = marks_of(found)
    for place, name in sites(record, marks):
        owner = record
        for step in place:
            owner = owner[step]
        given = is_given(owner[name], marks) or parsed_text(owner[name]) in marks
        for how, members in changes(owner[name], name, given):
            at = ".".join(map(str, (*place, name)))
            yield f"{at} {how}", changed(record, place, name, members)


def hidden(folder: Path, record: Any) -> list[str]:
    """The changes after which there are other calls than before, and nobody says so."""
    before = read(folder, json.dumps(record))
    bad: list[str] = []
    for what, text in every_change(record, before):
        after = read(folder, text)
        if not (after.unread or after.refused or after.calls == before.calls):
            bad.append(what)
    return bad


@pytest.mark.parametrize("name", [*SAME, *OTHERS])
def test_a_changed_call_is_the_same_call_or_not_measured(tmp_path: Path, name: str) -> None:
    record = SAME[name] if name in SAME else OTHERS[name][0]
    assert hidden(tmp_path, record) == []


@pytest.mark.parametrize("path", sorted((DATA / "messages").glob("*.json")), ids=lambda p: p.stem)
def test_a_changed_sample_shows_its_calls_or_is_not_measured(tmp_path: Path, path: Path) -> None:
    assert hidden(tmp_path, json.loads(path.read_text())) == []


def sent(member: str, to: str, said: str) -> dict[str, Any]:
    """A conversation of one read call, and of a message that names whom it is sent to."""
    function = {"name": "look", "arguments": "{}"}
    return {
        "messages": [
            {"role": "user", "content": "Where is my order?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sent"},
            {"role": "assistant", "content": said, member: to},
        ]
    }


@pytest.mark.parametrize(
    "member",
    ["recipient", "recipient_name", "to", "tool", "tool_name", "toolName", "function", "action"],
)
@pytest.mark.parametrize("said", ['{"amount": 5}', "go on", ""])
def test_a_message_that_is_sent_to_a_tool_is_no_mere_message(
    tmp_path: Path, member: str, said: str
) -> None:
    found = read(tmp_path, json.dumps(sent(member, "functions.refund", said)))
    assert found.unread == ["messages[3]"]
    assert found.calls == {("look", "{}"): 1}


@pytest.mark.parametrize("to", ["all", "user", "User ", ""])
def test_a_message_that_is_sent_to_people_is_read(tmp_path: Path, to: str) -> None:
    assert read(tmp_path, json.dumps(sent("recipient", to, "It is on its way."))).unread == []
