"""Contracts derived from tau2-bench tasks and golden records: what is gated, shown and left out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.check import check_suite
from reviewer.suite.derived import ContractDraft, NoContract, checked, files_of, golden, tau2
from reviewer.suite.derived.tau2_domains import WRITES, users_of, writes_of

DATA = Path(__file__).resolve().parents[1] / "data"
AIRLINE = writes_of("airline")


def task(task_id: str, name: str = "airline_5_tasks") -> dict[str, Any]:
    tasks: list[dict[str, Any]] = json.loads((DATA / f"tau2/{name}.json").read_bytes())
    return next(one for one in tasks if one["id"] == task_id)


def made(criteria: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A task with these criteria."""
    return {"id": "t", "evaluation_criteria": criteria, **changes}


def action(name: str, requestor: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"action_id": f"{name}_0", "name": name, "requestor": requestor,
            "arguments": {}, **more}  # fmt: skip


def whole(drafted: ContractDraft) -> dict[str, Any]:
    """The episode, once a suite of it alone has been checked."""
    return dict(json.loads(checked(drafted)))


def test_expected_calls_are_required_and_their_order_is_only_shown() -> None:
    episode = whole(tau2.contract_of(task("29"), AIRLINE))
    wanted = [one["name"] for one in task("29")["evaluation_criteria"]["actions"]]
    assert episode["tools"] == {"required": list(dict.fromkeys(wanted)), "order": "any"}
    assert [step["tool"] for step in episode["expected"]["trajectory"]] == wanted
    assert "trajectory_match" not in episode["expected"]


RUNNER = {"kind": "openai-chat", "base_url": "http://127.0.0.1:1/v1", "model": "user-model"}


@pytest.mark.parametrize("number", ["0", "1", "29"])
def test_an_agent_never_reads_the_orders_of_its_user(number: str) -> None:
    told = task(number)["user_scenario"]["instructions"]
    drafted = tau2.contract_of(task(number), AIRLINE)
    episode = whole(drafted)
    assert told["reason_for_call"].strip() in episode["user_request"]
    assert told["task_instructions"].strip() not in json.dumps(episode, ensure_ascii=False)
    assert tau2.NO_USER in drafted.notes


def test_a_model_plays_the_user_of_a_task() -> None:
    told = task("0")["user_scenario"]["instructions"]
    drafted = tau2.contract_of(task("0"), AIRLINE, user_runner=RUNNER)
    episode = whole(drafted)
    assert "user_request" not in episode
    user = episode["user"]
    assert user["goals"][0]["asks"] == told["reason_for_call"].strip()
    assert user["style"].endswith(told["task_instructions"].strip())
    assert user["facts"]["id_1"]["value"] == "emma_kim_9957"
    assert user["runner"] == RUNNER
    assert tau2.NO_USER not in drafted.notes


def test_a_task_whose_calls_write_nothing_forbids_every_write() -> None:
    """Its end state is the one it starts from: whoever writes fails it in tau2 too."""
    refuse = whole(tau2.contract_of(task("0"), AIRLINE))
    assert refuse["category"] == "negative"
    assert refuse["tools"] == {"forbidden": sorted(WRITES["airline"])}
    assert refuse["tags"] == ["no-write", "idle-passes"]
    assert tau2.IDLE in tau2.contract_of(task("0"), AIRLINE).notes
    reads = whole(tau2.contract_of(task("1"), AIRLINE))
    assert reads["tags"] == ["no-write"]
    assert reads["tools"]["required"] == ["get_user_details", "get_reservation_details"]
    assert reads["tools"]["forbidden"] == sorted(WRITES["airline"])


def test_without_the_domain_an_empty_task_is_left_out() -> None:
    with pytest.raises(NoContract, match="name the domain with --domain"):
        tau2.contract_of(task("0"), None)


def test_only_writes_can_be_required() -> None:
    one = made({"actions": [action("get_user_details"), action("cancel_reservation")]})
    episode = whole(tau2.contract_of(one, AIRLINE, "writes"))
    assert episode["tools"] == {"required": ["cancel_reservation"], "order": "any"}
    strict = made({**one["evaluation_criteria"], "reward_basis": ["ACTION"]})
    assert len(whole(tau2.contract_of(strict, AIRLINE, "writes"))["tools"]["required"]) == 2


def test_calls_of_the_user_are_none_of_the_agents() -> None:
    one = made({"actions": [action("toggle", "user"), action("refuel_data")],
                "reward_basis": ["ENV_ASSERTION"], "env_assertions": [{"func_name": "x"}],
                })  # fmt: skip
    drafted = tau2.contract_of(one, writes_of("telecom"))
    assert whole(drafted)["tools"] == {
        "required": ["refuel_data"],
        "order": "any",
        "of_user": ["toggle"],
    }
    known = tau2.contract_of(one, writes_of("telecom"), users=users_of("telecom"))
    assert len(whole(known)["tools"]["of_user"]) == 31
    alone = tau2.contract_of(one, writes_of("telecom"), users=None)
    assert "of_user" not in whole(alone)["tools"], "the agent has the user's tools too"
    assert drafted.shown == {"env_assertions": [{"func_name": "x"}]}
    assert tau2.BY_USER in drafted.notes
    alone = made({**one["evaluation_criteria"], "actions": [action("toggle", "user")]})
    with pytest.raises(NoContract, match="only env_assertions"):
        tau2.contract_of(alone, writes_of("telecom"))


COMPARED: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "all of them": (
        [action("a", arguments={"x": 1, "y": 2}, compare_args=None)],
        {"trajectory": [{"tool": "a", "arguments": {"x": 1, "y": 2}}]},
    ),
    "none of them": (
        [action("a", arguments={"x": 1}, compare_args=[])],
        {"trajectory": [{"tool": "a"}]},
    ),
    "some of them": (
        [action("a", arguments={"x": 1, "y": 2}, compare_args=["y"])],
        {"trajectory": [{"tool": "a"}], "arguments": {"a": {"y": 2}}},
    ),
    "some of them, of a tool called twice": (
        [action("a", arguments={"x": 1, "y": 2}, compare_args=["y"])] * 2,
        {"trajectory": [{"tool": "a"}, {"tool": "a"}]},
    ),
}


@pytest.mark.parametrize("name", COMPARED)
def test_compare_args_say_which_arguments_count(name: str) -> None:
    actions, wanted = COMPARED[name]
    drafted = tau2.contract_of(made({"actions": actions, "reward_basis": ["ACTION"]}), None)
    assert whole(drafted)["expected"] == {**wanted, "trajectory_match": "superset"}
    assert (tau2.SOME_ARGUMENTS in drafted.notes) is name.endswith("twice")


def test_what_must_be_said_is_gated_where_the_reward_asks_for_it() -> None:
    criteria = {"actions": [action("a")], "communicate_info": ["42", "42", "Monday"],
                "nl_assertions": ["Agent is kind."]}  # fmt: skip
    drafted = tau2.contract_of(made({**criteria, "reward_basis": ["COMMUNICATE"]}), None)
    assert whole(drafted)["expected"]["message_contains"] == ["42", "Monday"]
    assert drafted.shown == {"nl_assertions": ["Agent is kind."]}
    drafted = tau2.contract_of(made({**criteria, "reward_basis": ["DB"]}), None)
    assert "message_contains" not in whole(drafted)["expected"]
    assert drafted.shown["communicate_info"] == ["42", "42", "Monday"]


def test_the_initial_state_is_the_tasks() -> None:
    one = task("update_task_with_initialization_actions", "mock_tasks")
    episode = whole(tau2.contract_of(one, writes_of("mock")))
    assert episode["initial_state"] == {
        name: value for name, value in one["initial_state"].items() if value
    }


@pytest.mark.parametrize(
    "value",
    [3, {}, {"id": ""}, {"id": "a"}, {"id": "a", "evaluation_criteria": 3},
     made({"actions": 5}), made({"actions": [{"name": 3}]}), made({"actions": ["x"]}),
     made({"actions": [{"name": "a", "arguments": []}]}), made({}), made({"reward_basis": "DB"})],
    ids=str,
)  # fmt: skip
def test_tasks_of_other_shapes_are_left_out_in_words(value: Any) -> None:
    with pytest.raises(NoContract) as why:
        tau2.contract_of(value, None)
    assert str(why.value)


def record(**members: Any) -> dict[str, Any]:
    return {"id": "g", "input": "Where is my order?", **members}


STEPS = [{"tool": "find", "arguments": {"id": 1}}, {"tool": "tell"}]
SHAPES: dict[str, dict[str, Any]] = {
    "DeepEval": {
        "actual_output": None, "context": None,
        "expected_tools": [{"name": "find", "type": "FUNCTION", "inputParameters": {"id": 1}},
                           {"name": "tell", "type": "FUNCTION"}],
    },
    "DeepEval, a cell of a table": {
        "expected_tools": '[{"name": "find", "input_parameters": {"id": 1}}, {"name": "tell"}]',
    },
    "LangSmith": {
        "inputs": {"question": "Where is my order?"}, "input": None,
        "outputs": {"expected_trajectory": [{"name": "find", "args": {"id": 1}}, "tell"]},
    },
    "agentevals, OpenAI messages": {
        "reference_outputs": [
            {"role": "user", "content": "Where is my order?"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"function": {"name": "find", "arguments": '{"id": 1}'}}]},
            {"role": "tool", "content": "here"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "tell",
                                                               "arguments": "{}"}}]},
        ], "outputs": [], "input": None,
    },
    "LangChain messages": {
        "reference_outputs": {"messages": [
            {"type": "human", "data": {"content": "Where is my order?"}},
            {"type": "ai", "data": {"content": "", "tool_calls": [
                {"name": "find", "args": {"id": 1}}, {"name": "tell", "args": {}}]}},
        ]},
    },
    "Google": {"reference_trajectory": [{"tool_name": "find", "tool_input": {"id": 1}},
                                        {"tool_name": "tell", "tool_input": {}}]},
    "steps": {"expected_trajectory": [{"step": 1, "action": "find", "params": {"id": 1}},
                                      {"step": 2, "action": "tell"}]},
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_expected_calls_are_read_in_every_shape(name: str) -> None:
    episode = whole(golden.contract_of(record(**SHAPES[name]), 1))
    assert episode["expected"]["trajectory"] == STEPS
    assert episode["expected"]["trajectory_match"] == "superset"
    assert episode["tools"] == {"required": ["find", "tell"], "order": "any"}
    assert episode["user_request"] == "Where is my order?"
    assert episode["episode_id"] == "g"


def test_a_record_says_how_it_is_matched() -> None:
    one = record(expected_tools=["find"], trajectory_match_mode="strict")
    assert whole(golden.contract_of(one, 1))["expected"]["trajectory_match"] == "strict"
    subset = whole(golden.contract_of(record(expected_tools=["find"]), 1, "subset"))
    assert "tools" not in subset
    with pytest.raises(NoContract, match="way of matching"):
        golden.contract_of(record(expected_tools=["a"], trajectory_match_mode="fuzzy"), 1)


def test_short_answers_are_gated_and_long_ones_are_compared_with() -> None:
    short = golden.contract_of(record(expected_output="It ships Monday."), 1)
    assert whole(short)["expected"] == {"message_contains": ["It ships Monday."]}
    text = "It ships on Monday, and you get a mail as soon as the parcel has left our house."
    drafted = golden.contract_of(record(expected_output=text, expected_tools=["find"]), 1)
    expected = whole(drafted)["expected"]
    assert "message_contains" not in expected
    assert expected["message_reference"] == text
    with pytest.raises(NoContract, match=f"an answer of {len(text)} characters"):
        golden.contract_of(record(answer=text), 1)


def test_what_must_not_be_done_or_said() -> None:
    one = record(forbidden_tools=["pay"], must_not_contain=["guaranteed"], tags=["money"])
    episode = whole(golden.contract_of(one, 1))
    assert episode["tools"] == {"forbidden": ["pay"]}
    assert episode["expected"] == {"message_excludes": ["guaranteed"]}
    assert episode["tags"] == ["money"]
    alone = whole(golden.contract_of(record(forbidden_tools=["pay"]), 1))
    assert alone["category"] == "negative"


def test_members_that_are_not_read_are_named() -> None:
    notes = golden.contract_of(record(answer="42", difficulty="hard", rubric=None), 1).notes
    assert "members not used: difficulty" in notes


LEFT: dict[str, tuple[Any, str]] = {
    "no object": (["a"], "is no object"),
    "nothing expected": (record(), "expects nothing"),
    "an empty list": (record(expected_tools=[]), "expected_tools is empty"),
    "a call without a name": (record(expected_tools=[{"arguments": {}}]), "names no tool"),
    "a call that is a number": (record(expected_tools=["a", 5]), r"expected_tools\[1\]"),
    "arguments that are a list": (record(expected_tools=[{"name": "a", "args": [1]}]), "object"),
}


@pytest.mark.parametrize("name", LEFT)
def test_records_that_expect_nothing_are_left_out_in_words(name: str) -> None:
    value, reason = LEFT[name]
    with pytest.raises(NoContract, match=reason):
        golden.contract_of(value, 1)


UNFIT = {
    "an id that is a path": (record(id="a/b", answer="42"), "path separator"),
    "an id that is too long for a file": (record(id="ü" * 150, answer="42"), "too long"),
    "wanted and forbidden": (record(expected_tools=["a"], forbidden_tools=["a"]), "forbidden"),
    "said and not said": (record(must_contain=["a"], must_not_contain=["a"]), "must not be in"),
    "a number no reader agrees on": (
        record(expected_tools=[{"name": "a", "args": {"n": 2**60}}]), "integer"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_a_contract_that_no_suite_may_hold_is_left_out_in_words(name: str) -> None:
    value, reason = UNFIT[name]
    drafted = golden.contract_of(value, 1)
    with pytest.raises(NoContract, match=reason):
        checked(drafted)


def test_what_is_kept_for_people_must_be_fit_for_a_suite_too() -> None:
    one = made({"actions": [action("a")], "env_assertions": [{"n": 2**60}]})
    with pytest.raises(NoContract, match="integer"):
        checked(tau2.contract_of(one, None))


MEMBERS = (
    *golden.IDS, *golden.REQUESTS, *golden.CALLS, *golden.ANSWERS, *golden.NESTED, *golden.SAYS,
    *golden.FORBIDDEN, *golden.ALLOWED, *golden.MODES, *golden.ENDS, *golden.STARTS, *golden.MARKS,
    "actions", "reward_basis", "communicate_info", "evaluation_criteria", "name", "arguments",
    "role", "content", "tool_calls", "function", "messages",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(("user", "assistant", "a", "strict", "DB", "ACTION")),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=15,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=8))
def test_whatever_a_record_holds_it_is_a_valid_contract_or_left_out(value: dict[str, Any]) -> None:
    for contract in (
        lambda: golden.contract_of(value, 7),
        lambda: tau2.contract_of({"id": "t", "evaluation_criteria": value}, AIRLINE),
    ):
        try:
            drafted = contract()
            data = checked(drafted)
        except NoContract:
            continue
        path = f"episodes/{drafted.episode['episode_id']}.json"
        files = files_of("made-v1", "made", [(drafted, data)], {"made_from": "x"})
        assert files[path] == data
        found = check_suite(files)
        assert not found.problems
