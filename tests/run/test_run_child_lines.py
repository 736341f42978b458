"""What a child may write: every line is a turn, or is refused with its number and member."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.running.broker import MOST_CALLS
from reviewer.running.candidates.program import Lines
from reviewer.running.model import Call, CandidateFault, Turn


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"hello", "$: not JSON"),
        (b"", "$: not JSON"),
        (b"[]", "$: must be an object, not a list"),
        (b'{"type":"tool"}', "$.type: must be `call`, `calls`, `say` or `final`, not `tool`"),
        (b"{}", "$.type: must be `call`, `calls`, `say` or `final`, not nothing"),
        (b'{"type":"final"}', "$.message: is missing"),
        (b'{"type":"final","message":1}', "$.message: must be a text"),
        (b'{"type":"final","message":"x","mesage":"y"}', "$.mesage: is not known here"),
        (b'{"type":"final","type":"call","message":"x"}', "member `type` twice"),
        (b'{"type":"final","message":"\xff"}', "not UTF-8"),
        (b'{"type":"final","message":"\\ud800"}', "half of a surrogate pair"),
        (b'{"type":"call","call_id":"a","tool":"look","arguments":{"a":NaN}}', "NaN"),
        (b'{"type":"call","call_id":"a","tool":"look","arguments":{"a":1e999}}', "infinity"),
        (b'{"type":"final","message":' + b"[" * 100_000, "nested deeper than"),
        (b'{"type":"call","tool":"look"}', "$.call_id: must be a text"),
        (b'{"type":"call","call_id":"","tool":"look"}', "$.call_id: must be a text"),
        (b'{"type":"call","call_id":"a","tool":7}', "$.tool: must be the name"),
        (b'{"type":"call","call_id":"a","tool":"lo\\u001bok"}', "$.tool: a name may not"),
        (b'{"type":"calls","calls":[]}', "$.calls: must be a list of at least one"),
        (b'{"type":"calls","calls":[{"call_id":"a","name":"look"}]}', "$.calls[0].name: is not"),
        (
            b'{"type":"calls","calls":[{"call_id":"a","tool":"x"},{"call_id":"a","tool":"x"}]}',
            "$.calls[1].call_id: was used before",
        ),
        (b'{"type":"final","message":"x","usage":{"input_tokens":-1}}', "$.usage.input_tokens"),
        (b'{"type":"final","message":"x","usage":{"tokens":1}}', "$.usage.tokens: is not known"),
        (b'{"type":"final","message":"x","usage":{"output_tokens":true}}', "a number of tokens"),
        (
            b'{"type":"final","message":"x","usage":{"input_tokens":1,"cached_input_tokens":2}}',
            "cannot be more",
        ),
    ],
)
def test_a_line_that_breaks_the_protocol_is_refused_by_name(line: bytes, told: str) -> None:
    with pytest.raises(CandidateFault) as caught:
        Lines().read(line)
    assert caught.value.text.startswith("line 1 of its output: $")
    assert told in caught.value.text
    assert caught.value.reason == "candidate_error"


@pytest.mark.parametrize("arguments", ["text", ["a"], 7, None, True])
def test_arguments_that_are_no_object_are_the_tools_to_refuse(arguments: Any) -> None:
    line = {"type": "call", "call_id": "a", "tool": "look", "arguments": arguments}
    (call,) = Lines().read(json.dumps(line).encode()).calls
    assert call.arguments == {}
    assert call.problem


def test_a_call_id_is_used_once_in_an_attempt() -> None:
    lines, line = Lines(), b'{"type":"call","call_id":"a","tool":"look"}'
    lines.read(line)
    with pytest.raises(CandidateFault, match="line 2 of its output"):
        lines.read(line)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
members = st.sampled_from(["type", "call_id", "tool", "arguments", "calls", "message", "usage"])


@given(
    st.binary(max_size=100)
    | st.dictionaries(
        members, json_values | st.sampled_from(["call", "calls", "final"]), max_size=7
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_it_writes_is_a_turn_or_a_fault(line: bytes) -> None:
    try:
        turn, refused = Lines().read(line), ""
    except CandidateFault as fault:
        turn, refused = Turn(), fault.text
    assert refused.isprintable()
    assert refused or turn.calls or isinstance(turn.message, str)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = st.text("abcdef0123", min_size=1, max_size=6)


@given(calls=st.lists(ids, min_size=1, max_size=5, unique=True), message=texts, at=texts)
def test_what_keeps_to_the_protocol_is_read_as_it_was_meant(
    calls: list[str], message: str, at: str
) -> None:
    made = [{"call_id": call, "tool": "look", "arguments": {"at": at}} for call in calls]
    line = json.dumps({"type": "calls", "calls": made, "message": message}).encode()
    read = tuple(Call(call, "look", {"at": at}) for call in calls)
    assert Lines().read(line) == Turn(read, message)


def test_the_lines_on_the_page_are_lines(repository: Path) -> None:
    page = (repository / "docs" / "candidates-command.md").read_text(encoding="utf-8")
    lines = re.findall(r'^\{"type": "(?:call|calls|final)".*$', page, re.MULTILINE)
    reader = Lines()
    read = [reader.read(line.encode()) for line in lines]
    assert [len(turn.calls) for turn in read] == [1, 2, 0]
    assert f"more than {MOST_CALLS} calls in one turn" in page
