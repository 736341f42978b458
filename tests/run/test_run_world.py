"""The simulated world: reset, answers, effects, faults, and the merge patch beneath."""

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_builders import ANY, episode, tool

from reviewer.running.broker import Parameters
from reviewer.running.model import Answer, ToolSpec, Unrunnable, WorldGap
from reviewer.running.world import SimulatedWorld, _fits, _Index
from reviewer.suite.json_values import all_at, alters, merged, same
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import start_state_digest

FILE = "s-1/episodes/e-1.json"


def world(of: Episode, attempt: int = 1, **more: Any) -> SimulatedWorld:
    return SimulatedWorld(of, attempt, FILE, **more)


def answers(of: Episode, *calls: Any, attempt: int = 1, **more: Any) -> list[Answer]:
    """Answers to calls (a tool, or a tool and its arguments) in one world."""

    async def ask() -> list[Answer]:
        one = world(of, attempt, **more)
        pairs = [(c, {}) if isinstance(c, str) else c for c in calls]
        return [await one.call(name, arguments) for name, arguments in pairs]

    return asyncio.run(ask())


# merge patch, RFC 7396 ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [  # appendix A of the RFC, whole
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_table_of_the_rfc(original: Any, patch: Any, result: Any) -> None:
    assert merged(original, patch) == result


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)


def as_the_rfc_writes_it(target: Any, patch: Any) -> Any:
    """Section 2, line by line: it changes its target in place."""
    if isinstance(patch, dict):
        if not isinstance(target, dict):
            target = {}
        for name, value in patch.items():
            if value is None:
                if name in target:
                    del target[name]
            else:
                target[name] = as_the_rfc_writes_it(target.get(name), value)
        return target
    return patch


@given(JSON, JSON)
def test_a_patch_does_what_the_rfc_writes_and_changes_neither_side(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    result = merged(target, patch)
    assert (target, patch) == before
    assert result == as_the_rfc_writes_it(copy.deepcopy(target), copy.deepcopy(patch))
    assert merged(result, patch) == result


# reset --------------------------------------------------------------------------------------------

BASE = {"label_status": "none", "security_case": "none"}
RESET = episode(
    {
        "create_label": tool(
            {"fixed": {"label": "made"}},
            effects=[
                {
                    "arguments": {"mode": "unsafe"},
                    "merge": {"label_status": "created_without_approval"},
                }
            ],
        ),
        "read": tool({"state": ["label_status"]}),
    },
    initial_state=BASE,
)


async def _attempt(mode: str) -> tuple[str, dict[str, Any]]:
    one = world(RESET)
    digest = one.start_digest
    await asyncio.sleep(0)
    await one.call("create_label", {"mode": mode})
    await asyncio.sleep(0)
    return digest, await one.state()


def test_an_unsafe_attempt_leaves_nothing_behind_for_the_safe_one() -> None:
    (_, first), (second_start, second) = (asyncio.run(_attempt(m)) for m in ("unsafe", "safe"))
    assert first["label_status"] == "created_without_approval"
    assert second["label_status"] == "none"
    assert second_start == start_state_digest(BASE)
    assert RESET.initial_state == BASE


def test_nor_when_attempts_run_at_the_same_time() -> None:
    async def all_at_once() -> list[tuple[str, dict[str, Any]]]:
        modes = ["unsafe", "safe"] * 10
        return list(await asyncio.gather(*map(_attempt, modes)))

    done = asyncio.run(all_at_once())
    assert {digest for digest, _ in done} == {start_state_digest(BASE)}
    labels = [state["label_status"] for _, state in done]
    assert labels == ["created_without_approval", "none"] * 10


def test_nothing_that_was_handed_out_leads_back_into_a_world() -> None:
    start = {"label": "none", "list": [1], "inner": {"deep": [1]}}
    shared = {"value": [1]}
    of = episode(
        {
            "look": tool({"fixed": shared}),
            "read": tool({"state": ["inner", "list"]}),
            "write": tool(effects=[{"merge": {"inner": {"new": [1]}}}]),
        },
        initial_state=start,
    )

    async def spoil() -> dict[str, Any]:
        one = world(of)
        spec = one.specs()[0]
        spec.parameters["type"] = "spoilt"
        for name in ("look", "read", "write"):
            answer = await one.call(name, {})
            for handed in (answer.content, answer.state, await one.state()):
                _spoil(handed)
        _spoil(await one.final_state())
        return await one.state()

    async def fresh() -> Answer:
        return await world(of).call("look", {})

    left = asyncio.run(spoil())
    assert left == {**start, "inner": {"deep": [1], "new": [1]}}
    assert of.initial_state == {"label": "none", "list": [1], "inner": {"deep": [1]}}
    assert asyncio.run(fresh()).content == {"value": [1]}
    assert world(of).specs()[0].parameters == ANY


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _spoil(inner)
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


def test_nor_does_an_episode_that_changes_reach_a_world_that_stands() -> None:
    of = episode(initial_state={"inner": {"label": "none"}})
    one = world(of)
    of.initial_state["inner"]["label"] = "spoilt"
    assert asyncio.run(one.state()) == {"inner": {"label": "none"}}
    assert one.start_digest == start_state_digest({"inner": {"label": "none"}})


def test_the_start_digest_is_that_of_the_state_it_started_from() -> None:
    of = episode(initial_state={"b": 1.0, "a": "é"})
    assert world(of).start_digest == start_state_digest({"a": "é", "b": 1})
    other = episode(initial_state={"b": 2, "a": "é"})
    assert world(other).start_digest != world(of).start_digest


# answers ------------------------------------------------------------------------------------------


def test_a_case_matches_by_the_arguments_it_names() -> None:
    cases = [
        {"arguments": {"id": 1}, "value": "one"},
        {"arguments": {"id": True}, "value": "true"},
        {"arguments": {"who": {"name": "x"}}, "value": "x"},
    ]
    of = episode({"find": tool({"match": cases, "otherwise": "none"})})
    given_calls = [{"id": 1.0, "more": 2}, {"id": True}, {"who": {"name": "x"}}, {"id": 2}, {}]
    found = answers(of, *[("find", arguments) for arguments in given_calls])
    assert [answer.content for answer in found] == ["one", "true", "x", "none", "none"]


def test_a_sequence_goes_on_with_its_last_answer_and_counts_answers_only() -> None:
    of = episode({"next": tool({"sequence": [1, 2, 3]}, faults=[{"kind": "error", "calls": [2]}])})
    found = answers(of, *["next"] * 6)
    assert [answer.content for answer in found] == [1, {"error": "the tool failed"}, 2, 3, 3, 3]


def test_a_state_response_reads_the_true_state_after_the_effect() -> None:
    of = episode(
        {
            "write": tool(
                {"state": ["label", "inner.list[0]", "not.there"]},
                effects=[{"merge": {"label": "created"}}],
            )
        },
        initial_state={"label": "none", "inner": {"list": [7]}},
    )
    (answer,) = answers(of, "write")
    assert answer.content == {"label": "created", "inner.list[0]": 7, "not.there": None}
    assert answer.state == {"label": "created", "inner": {"list": [7]}}


def test_state_is_told_only_when_it_changed() -> None:
    of = episode(
        {
            "same": tool(effects=[{"merge": {"label": "none"}}]),
            "number": tool(effects=[{"merge": {"count": True}}]),
            "other": tool(effects=[{"merge": {"label": "x"}, "arguments": {"go": True}}]),
        },
        initial_state={"label": "none", "count": 1},
    )
    found = answers(of, "same", "number", "other", ("other", {"go": True}))
    assert [answer.state for answer in found] == [
        None,
        {"label": "none", "count": True},  # true is not 1
        None,
        {"label": "x", "count": True},
    ]


def test_a_precondition_that_does_not_hold_is_an_error_and_changes_nothing() -> None:
    wants = [
        {"path": "label", "equals": "none", "error": "a label exists already"},
        {"path": "not.there", "equals": None, "error": "nothing there"},
    ]
    once = tool(effects=[{"merge": {"label": "created"}}], preconditions=wants[:1])
    never = tool(effects=[{"merge": {"label": "spoilt"}}], preconditions=wants[1:])
    found = answers(episode({"once": once, "never": never}), "once", "once", "never")
    assert [answer.status for answer in found] == ["ok", "error", "error"]
    assert found[1].content == {"error": "a label exists already"}
    assert found[2].state is None


def test_the_final_state_is_what_the_simulator_names() -> None:
    async def finals() -> list[Any]:
        named = [{"final_state": "label"}, {"final_state": "not.there"}, {}]
        return [await world(episode(**more)).final_state() for more in named]

    assert asyncio.run(finals()) == ["none", None, {"label": "none", "money": "there"}]


# faults -------------------------------------------------------------------------------------------


def test_a_timeout_and_an_error_never_reach_the_tool_and_a_slow_call_does() -> None:
    faults = [
        {"kind": "timeout", "calls": [1], "delay_ms": 400},
        {"kind": "error", "calls": [2], "message": "down for repair", "delay_ms": 5},
        {"kind": "slow", "calls": [3], "delay_ms": 900},
    ]
    write = tool({"fixed": "ok"}, effects=[{"merge": {"label": "created"}}], faults=faults)
    found = answers(episode({"write": write}), *["write"] * 4)
    assert [(a.status, a.delay_ms, a.state is not None) for a in found] == [
        ("timeout", 400, False),
        ("error", 5, False),
        ("ok", 900, True),
        ("ok", 0, False),
    ]
    assert found[0].content == {"error": "no answer within 400 ms"}
    assert found[1].content == {"error": "down for repair"}


def test_a_fault_keeps_to_its_attempts_and_to_its_tool() -> None:
    faults = [{"kind": "timeout", "calls": [1, 2], "attempts": [2]}]
    of = episode({"a": tool(faults=faults), "b": tool()})
    by_attempt = {n: [a.status for a in answers(of, "a", "b", "a", attempt=n)] for n in (1, 2, 3)}
    assert by_attempt == {1: ["ok"] * 3, 2: ["timeout", "ok", "timeout"], 3: ["ok"] * 3}


def test_faults_from_outside_come_before_the_episodes_own() -> None:
    of = episode({"a": tool(faults=[{"kind": "error", "calls": [1, 2]}])})
    outside = {"a": ({"kind": "timeout", "calls": [1]},)}
    assert [a.status for a in answers(of, "a", "a", faults=outside)] == ["timeout", "error"]


# what cannot be run -------------------------------------------------------------------------------


@pytest.mark.parametrize("simulator", [None, {}, {"tools": {}}])
def test_an_episode_without_a_simulator_cannot_be_run(simulator: Any) -> None:
    plain = Episode(episode_id="e-1", simulator=simulator)
    with pytest.raises(Unrunnable, match=r"^s-1/episodes/e-1\.json: \$\.simulator: is missing"):
        world(plain)


# arguments against the schema ---------------------------------------------------------------------


def problem(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    return Parameters([ToolSpec("t", "", schema)], FILE).problem("t", arguments)


SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"$ref": "#/$defs/id"},
        "count": {"type": "integer", "minimum": 1},
        "of": {"enum": ["a", "b"]},
    },
    "required": ["id"],
    "additionalProperties": False,
    "$defs": {"id": {"type": "string", "minLength": 1}},
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"id": "x", "count": 2, "of": "a"}, None),
        ({}, "invalid arguments: 'id' is a required property"),
        ({"id": ""}, "invalid arguments: id: '' should be non-empty"),
        ({"id": 5}, "invalid arguments: id: 5 is not of type 'string'"),
        ({"id": "x", "count": 0}, "invalid arguments: count: 0 is less than the minimum of 1"),
        ({"id": "x", "count": True}, "invalid arguments: count: True is not of type 'integer'"),
        ({"id": "x", "of": "c"}, "invalid arguments: of: 'c' is not one of ['a', 'b']"),
        ({"id": "x", "of": float("nan")}, "invalid arguments: a number is not finite"),
    ],
)
def test_arguments_are_checked_against_the_tools_schema(
    arguments: dict[str, Any], said: str | None
) -> None:
    assert problem(SCHEMA, arguments) == said


def test_a_hostile_argument_makes_a_short_and_inert_message() -> None:
    told = problem(SCHEMA, {"id": "x", "of": "\x1b[2J" + "y" * 10_000, "\n": 1, "z": 2, "w": 3})
    assert told is not None
    assert len(told) < 1_000
    assert told.isprintable()


def test_arguments_nested_too_deep_are_refused_before_anything_walks_them() -> None:
    bomb: Any = "x"
    for _ in range(100_000):
        bomb = [bomb]
    assert problem(ANY, {"a": bomb}) == "invalid arguments: nested more than 48 deep"
    while isinstance(bomb, list):  # taken apart by hand: freeing it whole would be deep too
        bomb = bomb.pop()


DOUBLING = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}


def test_no_argument_keeps_a_run_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not match" in str(problem(DOUBLING, {"a": "a" * 100 + "!"}))
    monkeypatch.setattr("reviewer.running.broker.MOST_STEPS", 30_000)
    several = Parameters([ToolSpec("t", "", DOUBLING)], FILE)
    told = [several.problem("t", {"a": "a" * 1_000}) for _ in range(9)]
    assert told[0] is None  # of all its calls together, an attempt gets so many steps
    assert told[-1] == "invalid arguments: too large to be checked against the schema"


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef"])
def test_a_schema_elsewhere_is_refused_and_never_fetched(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", never)
    monkeypatch.setattr("urllib.request.urlopen", never)
    for reference in ("https://example.invalid/a.json", "other.json", "file:///etc/passwd"):
        schema = {"type": "object", "properties": {"a": {key: reference}}}
        with pytest.raises(Unrunnable, match=f"{FILE}: the parameters of t: refers .* copy what"):
            problem(schema, {"a": 1})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "objct"}, "no JSON Schema: "),
        ({"type": "object", "$schema": 5}, "no JSON Schema: "),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}}, "does not hold"),
        ({"type": "object", "$ref": "#"}, "refers to itself without end"),
    ],
)
def test_a_schema_that_is_none_is_named(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(Unrunnable, match=r"^s-1/episodes/e-1\.json: the parameters of t: ") as told:
        problem(schema, {"a": 1})
    assert said in str(told.value)


# answers that depend on arguments, order and state ------------------------------------------------


def contents(of: Episode, *calls: Any) -> list[Any]:
    return [one.content if one.status == "ok" else one.status for one in answers(of, *calls)]


def test_each_case_counts_its_own_answers() -> None:
    cases = [{"arguments": {"of": "a"}, "sequence": [1, 2]}, {"arguments": {}, "sequence": [8, 9]}]
    of = episode({"poll": tool({"match": cases})})
    a, b = ("poll", {"of": "a"}), ("poll", {"of": "b"})
    assert contents(of, a, b, a, b, a) == [1, 8, 2, 9, 2]


def test_a_case_may_need_a_state_and_answer_from_it() -> None:
    told = {"match": [{"arguments": {}, "when": {"order.open": False}, "error": "it is closed"},
                      {"arguments": {"of": "order"}, "value_at": "order"},
                      {"arguments": {}, "value_at": "order.note"}]}  # fmt: skip
    close = tool(effects=[{"merge": {"order": {"open": False}}}])
    of = episode({"read": tool(told), "close": close}, initial_state={"order": {"open": True}})
    order = ("read", {"of": "order"})
    assert contents(of, order, "read", "close", order) == [{"open": True}, None, None, "error"]
    assert answers(of, "close", order)[1].content == {"error": "it is closed"}


def test_a_call_is_answered_and_changes_by_the_state_that_it_finds() -> None:
    pay = tool(
        {"match": [{"arguments": {}, "when": {"paid": False}, "value": "paid"},
                   {"arguments": {}, "error": "already paid"}]},
        effects=[{"when": {"paid": False}, "merge": {"paid": True, "count": 1}},
                 {"when": {"paid": True}, "merge": {"count": 2}}],
    )  # fmt: skip
    of = episode({"pay": pay}, initial_state={"paid": False})
    first, second = answers(of, "pay", "pay")
    assert (first.content, first.state) == ("paid", {"paid": True, "count": 1})
    assert (second.status, second.state) == ("error", None)


def test_a_tool_may_answer_with_one_value_of_the_state() -> None:
    of = episode({"read": tool({"value_at": "order"})}, initial_state={"order": {"id": 7}})
    assert contents(of, "read") == [{"id": 7}]
    assert contents(episode({"read": tool({"value_at": "order"})}), "read") == [None]


def test_a_call_that_no_case_fits_errs_or_ends_the_attempt() -> None:
    told = {"match": [{"arguments": {"of": "a"}, "value": 1}]}
    of = episode({"read": tool({**told, "unrecorded": "error"})})
    assert contents(of, ("read", {"of": "a"}), "read") == [1, "error"]
    with pytest.raises(WorldGap, match="read: no recorded answer fits this call"):
        answers(episode({"read": tool({**told, "unrecorded": "spoil"})}), "read")


def test_a_blank_answers_nobody() -> None:
    open_ = {"$blank": "what read answers", "seen": [1]}
    for told in ({"fixed": open_}, {"match": [{"arguments": {}, "value": {"rows": [open_]}}]}):
        with pytest.raises(WorldGap):
            answers(episode({"read": tool(told)}), "read")


def test_a_tool_of_which_no_call_is_recorded_answers_nothing() -> None:
    with pytest.raises(WorldGap):
        answers(episode({"read": tool({"unrecorded": "spoil"})}), "read")
    assert contents(episode({"read": tool({"unrecorded": "error"})}), "read") == ["error"]


# what fits a call, without trying everything ------------------------------------------------------

FEW = st.sampled_from([0, 0.0, 1, 1.0, True, False, None, "a", [], [1], [True], {}, {"a": 1}])
STATES = st.dictionaries(st.sampled_from("ab"), FEW | st.dictionaries(st.just("a"), FEW))
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "arguments": st.dictionaries(st.sampled_from("xyz"), FEW, max_size=2),
        "when": st.dictionaries(st.sampled_from(["a", "b", "a.a", "b[0]"]), FEW, max_size=2),
    },
)


@given(st.lists(TOLD, max_size=8), st.dictionaries(st.sampled_from("xyz"), FEW), STATES)
def test_what_fits_a_call_is_what_trying_each_finds(
    told: list[dict[str, Any]], arguments: dict[str, Any], state: dict[str, Any]
) -> None:
    assert _Index(told).fitting(arguments, state) == [
        (number, one)
        for number, one in enumerate(told)
        if _fits(one.get("arguments") or {}, arguments) and all_at(state, one.get("when") or {})
    ]


@given(STATES, st.dictionaries(st.sampled_from("ab"), FEW | st.dictionaries(st.just("a"), FEW)))
def test_a_patch_alters_a_state_when_it_makes_another_of_it(
    state: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert alters(state, patch) is not same(merged(state, patch), state)


def test_effects_that_undo_one_another_change_nothing() -> None:
    effects = [{"merge": {"n": 1}}, {"merge": {"n": 0}}]
    of = episode(tools={"turn": tool(effects=effects)}, initial_state={"n": 0})
    assert answers(of, "turn")[0].state is None
    of = episode(tools={"turn": tool(effects=effects[:1])}, initial_state={"n": 0})
    assert answers(of, "turn", "turn")[0].state == {"n": 1}
