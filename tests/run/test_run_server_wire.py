"""What a server sends is read, whatever it is: as a message, an answer, a state or a list of tools,
or refused with its place."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from reviewer.running.server.listing import Listed, first_difference, listed
from reviewer.running.server.results import (
    answer_of,
    misfit,
    state_in_answer,
    state_in_resource,
)
from reviewer.running.server.rpc import Broken, Client, Failed, read
from reviewer.suite.json_values import same

leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
names = st.sampled_from(
    [
        *("jsonrpc", "id", "method", "result", "error", "code", "message", "tools", "name", "uri"),
        *("inputSchema", "type", "content", "text", "isError", "structuredContent", "contents"),
        "nextCursor",
    ]
)
words = leaves | st.sampled_from(["2.0", "text", "object", "resource", "ping"])
anything = st.recursive(
    words,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=5),
    max_leaves=12,
)
objects = st.dictionaries(names, anything, max_size=5)

TOOL = Listed("label", {"type": "object"}, None, "")


PLACES = ("here: ", "tools/list: ", "tools/call of label: ", "resources/read of label: ")


def tried(act: Callable[..., Any], *given: Any) -> Any:
    """What a reader returns; None where it refuses, which it does with the place."""
    try:
        return act(*given)
    except Broken as error:
        if not str(error).startswith(PLACES):
            raise
        return None


@given(st.binary(max_size=60) | anything.map(lambda value: json.dumps(value).encode()))
def test_a_line_is_a_message_or_is_refused_with_its_place(line: bytes) -> None:
    message = tried(read, line, "here")
    if message is not None:
        value = json.loads(line)
        assert value["jsonrpc"] == "2.0"
        assert (message.method is None) == ("method" not in value)
        assert ("result" in value) + ("error" in value) + ("method" in value) == 1


@given(objects)
def test_an_answer_is_one_of_the_protocol_or_is_refused_with_its_place(result: Any) -> None:
    answer = tried(answer_of, result, TOOL)
    if answer is not None:
        assert isinstance(result["content"], list)
        assert (answer.status == "error") == (result.get("isError") is True)


@given(objects)
def test_a_state_is_an_object_or_is_refused_with_its_place(result: Any) -> None:
    for reading in (state_in_answer, state_in_resource):
        assert isinstance(tried(reading, result, "label"), dict | None)


@given(st.lists(objects, min_size=1, max_size=3))
def test_a_list_of_tools_is_one_or_is_refused_with_its_place(pages: list[Any]) -> None:
    waiting = iter(pages)

    async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return dict(next(waiting, {"tools": []}))

    found = tried(lambda: asyncio.run(listed(ask, 60)))
    if found is not None:
        assert all(tool.parameters["type"] == "object" for tool in found.values())


def test_pages_without_end_take_no_longer_than_the_limit() -> None:
    pages = iter(range(100))

    async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"tools": [], "nextCursor": str(next(pages))}

    with pytest.raises(Broken, match=r"tools/list: its pages take more than 0 s; raise the limit"):
        asyncio.run(listed(ask, 0))
    assert next(pages) == 1


kinds = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
schemas = st.recursive(
    st.fixed_dictionaries({"type": kinds}) | st.booleans(),
    lambda below: st.fixed_dictionaries(
        {},
        optional={
            "type": kinds,
            "properties": st.dictionaries(st.sampled_from("ab"), below, max_size=2),
            "required": st.lists(st.sampled_from("ab"), unique=True),
            "additionalProperties": below,
            "items": below,
            "enum": st.lists(leaves, min_size=1, max_size=3),
            "const": leaves,
            "$ref": st.just("#/$defs/a"),
        },
    ),
    max_leaves=6,
)
values = st.recursive(
    leaves,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
    ),
    max_leaves=6,
)


@given(schemas, values)
def test_a_value_that_fits_its_schema_is_never_refused(schema: Any, value: Any) -> None:
    """And without references, which stand alone here, one that does not fit always is."""
    root = schema if isinstance(schema, dict) else {}
    root = {**root, "$defs": {"a": {"type": "string"}}}
    whole = root if isinstance(schema, dict) else schema
    fits = Draft202012Validator(whole).is_valid(value)
    place = misfit(value, whole, root, ())
    if fits:
        assert place is None
    elif "$ref" not in json.dumps(schema):
        assert place is not None


@given(anything, anything)
def test_the_first_difference_is_there_exactly_where_values_differ(one: Any, other: Any) -> None:
    assert (first_difference(one, other) is None) == same(one, other)


class Lines:
    """A server that sends these lines, and keeps what it is sent."""

    def __init__(self, *lines: Any) -> None:
        self.lines, self.sent = list(lines), list[Any]()

    def tell(self, message: object, asks: bool = False) -> None:
        self.sent.append(message)

    async def line(self) -> bytes:
        if not self.lines:
            await asyncio.sleep(3600)
        return json.dumps({"jsonrpc": "2.0", **self.lines.pop(0)}).encode()


async def test_only_the_answer_to_our_request_is_taken() -> None:
    wire = Lines({"method": "a"}, {"id": 4, "method": "ping"}, {"id": 1, "result": {"a": 1}})
    assert await Client(wire).ask("tools/list", {}, 5) == {"a": 1}
    assert wire.sent[1] == {"jsonrpc": "2.0", "id": 4, "result": {}}
    for number in (2, "1", "x"):
        with pytest.raises(Broken, match="answers request"):
            await Client(Lines({"id": number, "result": {}})).ask("m", {}, 5)
    with pytest.raises(Broken, match="no answer within"):
        await Client(Lines()).ask("m", {}, 0.01)
    with pytest.raises(Failed) as failed:
        await Client(Lines({"id": 1, "error": {"code": -1, "message": "no"}})).ask("m", {}, 5)
    assert (failed.value.code, failed.value.message) == (-1, "no")


def test_references_that_lead_round_end() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert misfit({"a": 1}, loop, loop, ()) is None
