"""Tools as their owners describe them: what becomes a tool, and what is refused."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.json_values import MISSING
from reviewer.suite.scaffold import FoundTool, NoTools, calls, listings, openapi, pooled
from reviewer.suite.scaffold import python_source as python
from reviewer.suite.scaffold.contracts import proposal
from reviewer.suite.scaffold.words import reads, sentence
from reviewer.suite.simulator import no_object_schema

OBJECT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def listed(raw: Any) -> list[FoundTool]:
    found = listings.listed(raw)
    assert found is not None
    return list(listings.tools_of(found).tools)


@pytest.mark.parametrize(
    "raw",
    [
        [{"type": "function", "function": {"name": "get", "parameters": OBJECT}}],
        [{"type": "function", "name": "get", "parameters": OBJECT}],
        {"tools": [{"name": "get", "description": "x", "input_schema": OBJECT}]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "get", "inputSchema": OBJECT}]}},
    ],
    ids=["openai-chat", "openai-responses", "anthropic", "mcp"],
)
def test_every_dialect_of_a_listing_gives_the_same_tool(raw: Any) -> None:
    (tool,) = listed(raw)
    assert (tool.name, tool.parameters) == ("get", OBJECT)


def test_mcp_says_which_tool_only_reads() -> None:
    told = [
        {"name": name, "inputSchema": OBJECT, "annotations": {"readOnlyHint": hint}}
        for name, hint in (("send", True), ("get", False))
    ]
    found = proposal(listed({"tools": told}), {})
    assert (found.reads, found.writes) == (("send",), ("get",))
    assert proposal(listed({"tools": told}), {"get": False}).reads == ("send", "get")


@pytest.mark.parametrize(
    "raw",
    [
        {"messages": [], "tools": [{"name": "a", "description": "b"}]},
        {"episode_id": "e", "events": []},
        [{"role": "user", "content": "x"}],
        [],
        {"tools": "none"},
    ],
)
def test_a_trace_is_no_listing(raw: Any) -> None:
    assert listings.listed(raw) is None


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"name": "", "parameters": OBJECT}, "$[0]: has no name"),
        ({"name": "a", "parameters": {"type": "array"}}, "must be a JSON Schema of an object"),
        (
            {"name": "a", "parameters": {**OBJECT, "required": ["b"]}},
            "`b`, which is not a property",
        ),
        ({"name": "a", "parameters": []}, "no JSON Schema object"),
    ],
)
def test_a_tool_that_could_not_be_offered_is_refused_with_its_place(
    tool: dict[str, Any], said: str
) -> None:
    with pytest.raises(NoTools, match=r"^\$\[0\]") as error:
        listings.tools_of([tool])
    assert said in str(error.value)


def test_two_tools_of_one_name_are_one_where_they_take_the_same_and_refused_else() -> None:
    one = FoundTool("get", "", OBJECT, place="$[0]")
    answered = one._replace(answer={"id": "x"})
    assert pooled({"a.json": [one], "b.json": [answered]}) == [answered]
    other = one._replace(parameters={"type": "object"})
    with pytest.raises(NoTools) as error:
        pooled({"a.json": [one], "b.json": [other]})
    assert "b.json: $[0]" in str(error.value)
    assert "a.json: $[0]" in str(error.value)
    assert error.value.way_out


def document(**paths: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "paths": {f"/{name}/{{id}}": item for name, item in paths.items()},
        "components": {
            "parameters": {"Id": {"name": "id", "in": "path", "schema": {"type": "string"}}},
            "schemas": {
                "Refund": {
                    "type": "object",
                    "properties": {"amount": {"$ref": "#/components/schemas/Money"}},
                    "required": ["amount"],
                },
                "Money": {"type": "number", "minimum": 0, "nullable": True},
                "Tree": {
                    "type": "object",
                    "properties": {"child": {"$ref": "#/components/schemas/Tree"}},
                },
                "Both": {
                    "allOf": [
                        {"$ref": "#/components/schemas/Refund"},
                        {"properties": {"why": {"type": "string"}}, "required": ["why"]},
                    ]
                },
            },
        },
    }


ID = [{"$ref": "#/components/parameters/Id"}]


def body(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def test_members_of_path_query_and_body_are_one_object_of_arguments() -> None:
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    post = {"operationId": "createRefund", "parameters": [page], "requestBody": body("Refund")}
    (tool,) = openapi.tools_of(document(orders={"parameters": ID, "post": post})).tools
    assert (tool.name, tool.writes, tool.answer) == ("createRefund", True, MISSING)
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "page": {"type": "integer"},
            "amount": {"type": ["number", "null"], "minimum": 0},
        },
        "required": ["id", "amount"],
        "additionalProperties": False,
    }


def test_a_body_that_a_call_may_omit_is_named() -> None:
    """OpenAPI's default: then nothing of it is required."""
    told = {name: part for name, part in body("Refund").items() if name != "required"}
    raw = document(refunds={"post": {"operationId": "createRefund", "requestBody": told}})
    found = openapi.tools_of(raw)
    assert not found.tools[0].parameters.get("required")
    assert "requestBody: is not `required: true`" in found.notes[0]


def test_the_parts_of_an_all_of_are_one_body() -> None:
    post = {"operationId": "a", "requestBody": body("Both")}
    (tool,) = openapi.tools_of(document(o={"post": post})).tools
    assert tool.parameters["required"] == ["amount", "why"]


def test_a_get_reads_and_its_example_is_its_answer() -> None:
    content = {"application/json": {"example": {"status": "sent"}}}
    get = {"operationId": "getOrder", "parameters": ID, "responses": {"200": {"content": content}}}
    delete = {"parameters": ID, "responses": {"204": {"description": "gone"}}}
    found = openapi.tools_of(document(orders={"get": get, "delete": delete}))
    first, second = found.tools
    assert (first.writes, first.answer) == (False, {"status": "sent"})
    assert (second.name, second.writes, second.answer) == ("delete_orders_id", True, "")
    assert any("no operationId" in note for note in found.notes)


def test_a_schema_that_holds_itself_ends() -> None:
    post = {"operationId": "grow", "requestBody": body("Tree")}
    found = openapi.tools_of(document(trees={"post": post}))
    assert found.tools[0].parameters["properties"] == {"child": {}}
    assert any("holds itself" in note for note in found.notes)


def test_references_that_double_with_each_level_are_refused() -> None:
    raw = document(doubled={"post": {"operationId": "grow", "requestBody": body("L0")}})
    for depth in range(30):
        both = {"$ref": f"#/components/schemas/L{depth + 1}"}
        raw["components"]["schemas"][f"L{depth}"] = {
            "type": "object", "properties": {"a": both, "b": both},
        }  # fmt: skip
    raw["components"]["schemas"]["L30"] = {"type": "string"}
    with pytest.raises(NoTools, match="in place of its target") as error:
        openapi.tools_of(raw)
    assert "operations" in error.value.way_out


def test_an_argument_that_is_there_twice_is_refused_with_both_places() -> None:
    amount = {"name": "amount", "in": "query", "schema": {"type": "number"}}
    post = {"operationId": "a", "parameters": [amount], "requestBody": body("Refund")}
    with pytest.raises(NoTools) as error:
        openapi.tools_of(document(orders={"post": post}))
    assert "requestBody.amount" in str(error.value)
    assert "post.parameters[0]" in str(error.value)
    assert "rename" in error.value.way_out


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"swagger": "2.0", "paths": {}}, "OpenAPI 2.0 is not read"),
        ({"openapi": "4.0.0"}, "OpenAPI 4.0.0 is not read"),
        ({"openapi": 3}, "is not read"),
        ({"openapi": "3.1.0", "paths": {}}, "has no operation"),
        (document(a={"post": {"requestBody": {"$ref": "other.json#/a"}}}), "is in another file"),
        (document(a={"post": {"requestBody": body("Gone")}}), "is not in the document"),
    ],
)
def test_a_document_that_cannot_be_read_says_why_and_where(raw: Any, said: str) -> None:
    with pytest.raises(NoTools, match=r"^\$") as error:
        openapi.tools_of(raw)
    assert said in str(error.value)


SOURCE = '''
from typing import Literal, Optional
import does_not_exist

raise SystemExit("a module that is imported ends the program")

def lookup_order(ctx, order_id: str, *, fields: list[str] = [], limit: int = 5) -> dict:
    """Read an order.

    Args:
        order_id: the order's number
        limit (int): how many lines
    """

async def refund(order_id: "str", amount: float | None, kind: Literal["full", "part"]) -> None:
    """Pay an order back."""

def untyped(order): ...
def many(*orders: str): ...
def _private(order: str): ...
'''


def test_typed_functions_are_tools_and_the_module_is_never_run() -> None:
    found = python.tools_of(SOURCE, "shop.py")
    first, second = found.tools
    assert (first.name, first.description) == ("lookup_order", "Read an order.")
    assert first.parameters == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "the order's number"},
            "fields": {"type": "array", "items": {"type": "string"}, "default": []},
            "limit": {"type": "integer", "default": 5, "description": "how many lines"},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }
    assert second.parameters["properties"] == {
        "order_id": {"type": "string"},
        "amount": {"type": ["number", "null"]},
        "kind": {"enum": ["full", "part"]},
    }
    assert [note.split(": ", 2)[1] for note in found.notes] == [
        "untyped is left out",
        "many is left out",
    ]


OWN_TYPES = """
class Branch(str, Enum):
    NORTH = "north"
    SOUTH = "south"

@dataclass
class Title:
    title_id: str
    volume: int | None = None
    sequel: "Title | None" = None

class Note(TypedDict, total=False):
    text: str

def place_hold(title: Title, branch: Branch = Branch.SOUTH, note: Note | None = None) -> None:
    "Place a hold."

def renew(loan: elsewhere.Loan, anything: Any = None) -> None:
    "Renew."
"""


def test_the_modules_own_types_are_taken_over_and_others_are_named() -> None:
    found = python.tools_of(OWN_TYPES, "desk.py")
    hold, renew = found.tools
    properties = hold.parameters["properties"]
    assert properties["title"]["required"] == ["title_id"]
    assert properties["title"]["properties"]["volume"] == {"type": ["integer", "null"]}
    assert properties["branch"] == {"enum": ["north", "south"], "default": "south"}
    assert {"type": "object", "properties": {"text": {"type": "string"}}} in properties["note"][
        "anyOf"
    ]
    assert renew.parameters["properties"] == {"loan": {}, "anything": {}}
    first, second = found.notes
    assert first.startswith("line 15: place_hold: ")
    assert first.endswith(": `Title`")  # in itself
    assert second.startswith("line 18: renew: ")
    assert second.endswith(": `elsewhere.Loan`")


def test_only_marked_functions_are_tools_where_some_are_marked() -> None:
    source = "@mcp.tool()\ndef a(x: int): ...\ndef b(x: int): ...\n"
    assert [tool.name for tool in python.tools_of(source, "a.py").tools] == ["a"]


@pytest.mark.parametrize(
    ("source", "said"),
    [("def f(:", "shop.py:1"), ("x = 1", "no function"), ("def f(x): ...", "`x` has no type")],
)
def test_python_that_gives_no_tool_says_why(source: str, said: str) -> None:
    with pytest.raises(NoTools) as error:
        python.tools_of(source, "shop.py")
    assert said in str(error.value)


def test_calls_give_types_and_no_value() -> None:
    made = [
        ("pay", {"id": "customer-7", "amount": 1}),
        ("pay", {"id": "customer-8", "amount": 1.5, "note": None}),
        ("get", {}),
    ]
    first, second = calls.tools_of(made).tools
    assert first.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "amount": {"type": "number"},
            "note": {"type": "null"},
        },
        "required": ["id", "amount"],
    }
    assert second.parameters == {"type": "object", "properties": {}}
    assert "customer" not in repr(first)
    with pytest.raises(NoTools, match="no call"):
        calls.tools_of([])


@pytest.mark.parametrize(
    ("name", "wanted", "words"),
    [
        ("get_order", True, "get order"),
        ("listOrders", True, "list orders"),
        ("mcp__shop__find-item", True, "find item"),
        ("create_refund", False, "create refund"),
        ("APIReset", False, "api reset"),
        ("x", False, "x"),
    ],
)
def test_a_name_says_whether_a_tool_is_likely_to_read(name: str, wanted: bool, words: str) -> None:
    assert reads(name) is wanted
    assert sentence(name) == words


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "type", "function", "parameters", "properties", "required", "$ref",
                 "paths", "get", "post", "requestBody", "content", "application/json", "schema",
                 "allOf", "responses", "200", "example", "in", "annotations", "readOnlyHint",
                 "tools"]
            ),
            inner, max_size=4,
        )
    ),
    max_leaves=25,
)  # fmt: skip


@given(_json)
def test_any_json_is_tools_or_a_refusal(raw: Any) -> None:
    try:
        found = listings.listed(raw)
        if found is not None:
            tools = listings.tools_of(found).tools
            assert all(no_object_schema(tool.parameters) is None for tool in tools)
    except NoTools:
        pass
    try:
        document = {"openapi": "3.0.0", "paths": {"/a": raw}, "components": raw}
        tools = openapi.tools_of(document).tools
        assert all(no_object_schema(tool.parameters) is None for tool in tools)
        json.dumps([tool.parameters for tool in tools])
    except NoTools:
        pass


@given(st.text(max_size=200))
def test_any_text_is_tools_or_a_refusal(source: str) -> None:
    with contextlib.suppress(NoTools):
        assert python.tools_of(source, "a.py").tools
