"""An argument that a contract or a simulated tool names and that the tool does not have is refused,
in each kind of place where arguments are named; a tool with open parameters may have any."""

import json
from typing import Any

import pytest

from reviewer.suite.check import check_suite

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "parcel_id": {"type": "string"},
        "to": {
            "type": "object",
            "properties": {"street": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
FIXED = {"responses": {"fixed": "ok"}}


def tool(name: str, schema: Any, behavior: Any = FIXED) -> dict[str, Any]:
    return {"name": name, "description": name, "parameters": schema, "simulator": behavior}


def found(
    schema: Any = CLOSED, behavior: Any = FIXED, own: bool = False, **members: Any
) -> list[tuple[str, str, str]]:
    """Return what `suite check` says of a draft whose tools have these parameters."""
    tools = [tool("reroute", schema, behavior), tool("track", schema)]
    episode: dict[str, Any] = {"episode_id": "e", "tools": {"required": ["reroute"]}, **members}
    files: dict[str, Any] = {"suite.json": {"suite_id": "s", "episodes": ["e"]}}
    if own:
        simulated = {
            one["name"]: {"description": "", "parameters": schema, **one["simulator"]}
            for one in tools
        }
        episode["simulator"] = {"tools": simulated}
    else:
        files["toolset.json"] = {"schema": "reviewer/toolset@1", "tools": tools}
    files["episodes/e.json"] = episode
    read = {path: json.dumps(value).encode() for path, value in files.items()}
    problems = check_suite(read, to_freeze=True).problems
    names = "no argument", " takes a"
    return [tuple(one) for one in problems if any(name in one.reason for name in names)]  # type: ignore[misc]


def match(name: str) -> dict[str, Any]:
    case = {"arguments": {name: "x"}, "value": "y"}
    return {"responses": {"match": [case], "otherwise": "z"}}


def effect(name: str) -> dict[str, Any]:
    return {**FIXED, "effects": [{"arguments": {name: "x"}, "merge": {"a": 1}}]}


def writes(write: str, proof: str) -> dict[str, Any]:
    return {"writes": [{"tool": "reroute", "verified_by": ["track"], "on": {write: proof}}]}


def trajectory(name: str) -> dict[str, Any]:
    step = {"tool": "reroute", "arguments": {name: "x"}}
    return {"expected": {"trajectory": [step], "trajectory_match": "strict"}}


def approval(name: str) -> dict[str, Any]:
    rule = {"tool": "reroute", "arguments": {name: "x"}, "answer": "allow"}
    return {"tools": {"required": ["reroute"], "approvals": ["reroute"]}, "approvals": [rule]}


PLACES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "expected arguments": (
        {"expected": {"arguments": {"reroute": {"NAME": "x"}}}}, FIXED,
        "$.expected.arguments.reroute.NAME",
    ),
    "trajectory": (trajectory("NAME"), FIXED, "$.expected.trajectory[0].arguments.NAME"),
    "the write": (writes("NAME", "parcel_id"), FIXED, "$.writes[0].on.NAME"),
    "the proof": (writes("parcel_id", "NAME"), FIXED, "$.writes[0].on.parcel_id"),
    "match": ({}, match("NAME"), "$.tools[0].simulator.responses.match[0].arguments.NAME"),
    "effects": ({}, effect("NAME"), "$.tools[0].simulator.effects[0].arguments.NAME"),
    "approvals": (approval("NAME"), FIXED, "$.approvals[0]"),
}  # fmt: skip


def named(value: Any, name: str) -> Any:
    return json.loads(json.dumps(value).replace("NAME", name))


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("own", [False, True])
def test_a_misspelled_argument_is_refused_at_its_place(kind: str, own: bool) -> None:
    members, behavior, place = PLACES[kind]
    said = found(behavior=named(behavior, "parcelid"), own=own, **named(members, "parcelid"))
    ((file, where, reason),) = said
    assert "has no argument `parcelid` (did you mean `parcel_id`?)" in reason
    where_own = place.replace("$.tools[0].simulator", "$.simulator.tools.reroute")
    assert where == (where_own if own else place).replace("NAME", "parcelid")
    in_toolset = not own and place.startswith("$.tools")
    assert file == ("toolset.json" if in_toolset else "episodes/e.json")


@pytest.mark.parametrize("kind", ["expected arguments", "trajectory", "match", "effects"])
@pytest.mark.parametrize(
    ("kind_of", "value", "reason"),
    [
        ("integer", "12", "`reroute` takes an integer as `n`, not a string"),
        ("string", 12, "`reroute` takes a string as `n`, not a number"),
        ("boolean", None, "`reroute` takes a boolean as `n`, not null"),
        ("integer", 1.5, "`reroute` takes an integer as `n`, not a number"),
        ("integer", 12, None),
        ("number", 12, None),
        ("integer", "[REDACTED:card]", None),
        (["integer", "string"], "12", None),
    ],
)
def test_a_value_that_no_call_has_is_refused_at_its_place(
    kind: str, kind_of: Any, value: Any, reason: str | None
) -> None:
    members, behavior, place = PLACES[kind]
    members, behavior = (
        json.loads(json.dumps(one).replace('"x"', json.dumps(value)).replace("NAME", "n"))
        for one in (members, behavior)
    )
    schema = {"type": "object", "properties": {"n": {"type": kind_of}}}
    said = found(schema, behavior, **members)
    assert [(where, why.partition(":")[0]) for _, where, why in said] == (
        [(place.replace("NAME", "n"), reason)] if reason else []
    )


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "additionalProperties": {"type": "string"}},
        {name: value for name, value in CLOSED.items() if name != "additionalProperties"},
        {**CLOSED, "patternProperties": {"^parcel": {}}},
    ],
)
def test_a_tool_with_open_parameters_may_have_any_argument(kind: str, schema: Any) -> None:
    members, behavior, _ = PLACES[kind]
    behavior, members = named(behavior, "parcelid"), named(members, "parcelid")
    assert found(schema=schema, behavior=behavior, **members) == []


@pytest.mark.parametrize("kind", PLACES)
def test_an_argument_that_the_tool_has_is_taken(kind: str) -> None:
    members, behavior, _ = PLACES[kind]
    assert found(behavior=named(behavior, "parcel_id"), **named(members, "parcel_id")) == []


def test_a_path_into_an_argument_is_followed_as_far_as_its_schema_is_closed() -> None:
    def asked(path: str) -> list[tuple[str, str, str]]:
        return found(expected={"arguments": {"reroute": {path: "x"}}})

    assert asked("to.street") == []
    ((_, _, reason),) = asked("to.streets")
    assert "has no argument `streets` in `to` (did you mean `street`?)" in reason
    assert asked("parcel_id.anything") == []


def test_a_trajectory_that_is_only_shown_fails_nobody_and_is_not_asked() -> None:
    step = {"tool": "reroute", "arguments": {"nothing": "x"}}
    assert found(expected={"trajectory": [step]}) == []


def test_a_blank_names_no_argument() -> None:
    assert found(behavior=match("x") | {"effects": []}, own=False) != []
    case = {"arguments": {"$blank": "which"}, "value": "y"}
    assert found(behavior={"responses": {"match": [case], "otherwise": "z"}}) == []
