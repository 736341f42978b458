"""`reviewer suite from-evalset`, `from-bfcl`, `from-openai-evals`, `from-agentdojo`."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from doors import Door, compact

DATA = Path(__file__).resolve().parents[1] / "data"
SOURCES = DATA / "suite_sources"
ADK, BFCL, EVALS = SOURCES / "adk", SOURCES / "bfcl", SOURCES / "openai_evals"
DOJO = DATA / "formats_c/agentdojo"
PLAIN = DOJO / "gpt-4o-2024-05-13/banking/user_task_0/none/none.json"
LAMPS = DATA / "formats_c/google-adk/lamps.evalset.json"


def episodes(door: Door, suite_id: str) -> dict[str, dict[str, Any]]:
    """Episode → its contract, of a suite that `suite check` takes."""
    door.ok("suite", "check", suite_id)
    folder = door.root / "suites" / suite_id / "episodes"
    return {path.stem: json.loads(path.read_bytes()) for path in folder.iterdir()}


def of_suite(door: Door, suite_id: str, name: str) -> Any:
    return json.loads((door.root / "suites" / suite_id / name).read_bytes())


def reasons(door: Door, *argv: object) -> dict[str, str]:
    """Record → why it was left out, of a command that says so with 20."""
    said = door.run("suite", *argv, "--json")
    assert said.code == 20, said
    return {one["record"]: one["reason"] for one in json.loads(said.out)["left_out"]}


# ADK


def test_an_eval_case_becomes_its_calls_and_a_reference(door: Door) -> None:
    said = door.ok("suite", "from-evalset", LAMPS)
    assert "lamps-v1: 1 episode" in said.out
    episode = episodes(door, "lamps-v1")["lamp-return-1"]
    assert episode["user_request"] == "My lamp L-7 is broken, I want my money back."
    steps = episode["expected"]["trajectory"]
    assert [step["tool"] for step in steps][:3] == [
        "look_up_lamp", "look_up_lamp", "transfer_to_agent",
    ]  # fmt: skip
    assert steps[1]["arguments"] == {"sku": "L-404"}
    assert episode["expected"]["trajectory_match"] == "strict"
    assert episode["expected"]["message_reference"] == "I refunded 39.50 for L-7."
    assert "message_contains" not in episode["expected"]


def test_the_two_spellings_of_an_eval_set_say_the_same(door: Door) -> None:
    def camel(value: Any) -> Any:
        if isinstance(value, list):
            return [camel(one) for one in value]
        if not isinstance(value, dict):
            return value
        made = {}
        for name, one in value.items():
            first, *rest = name.split("_")
            kept = one if name == "args" else camel(one)
            made[first + "".join(part.capitalize() for part in rest)] = kept
        return made

    path = door.file("camel.evalset.json", camel(json.loads(LAMPS.read_bytes())))
    door.ok("suite", "from-evalset", path)
    door.ok("suite", "from-evalset", LAMPS)
    assert episodes(door, "camel-v1") == episodes(door, "lamps-v1")


def test_turns_are_one_session_and_an_id_that_is_a_path_names_no_file(door: Door) -> None:
    said = door.ok("suite", "from-evalset", ADK / "dependent_tool_calls.test.json")
    assert "those of the whole session are compared" in said.err
    assert "its id is a path" in said.err
    episode = episodes(door, "dependent_tool_calls-v1")["dependent_tool_calls-1"]
    assert episode["user_request"].splitlines()[1].startswith("Turn 2: What's the status")
    assert episode["tools"]["required"] == ["set_device_info", "get_device_info"]
    assert episode["expected"]["message_reference"] == "Status of device_2 is off."


@pytest.mark.parametrize(("mode", "required"), [("superset", True), ("subset", False)])
def test_how_calls_are_compared_is_told(door: Door, mode: str, required: bool) -> None:
    path = ADK / "tools.test.json"
    door.ok("suite", "from-evalset", path, "--match", mode, "--as", "t-v1")
    episode = of_suite(door, "t-v1", "episodes/tools-1.json")
    checked = door.run("suite", "check", "t-v1")
    assert (checked.code == 0) is required
    assert ("an attempt that does nothing passes" in checked.out) is not required
    assert episode["expected"]["trajectory_match"] == mode
    assert ("tools" in episode) is required
    step = {"tool": "search", "arguments": {"keywords": "women's denim jeans"}}
    assert episode["expected"]["trajectory"] == [step]


def test_rubrics_are_for_people_and_a_case_of_rubrics_alone_is_left_out(door: Door) -> None:
    left = reasons(door, "from-evalset", ADK / "tool_selection_core.evalset.json")
    [(record, reason)] = left.items()
    assert record.startswith("eval_cases[0] (list_directory")
    assert "only what rubrics ask, which is for people" in reason
    (kept,) = episodes(door, "tool_selection_core-v1")
    suite = of_suite(door, "tool_selection_core-v1", "suite.json")
    assert suite["source"]["rubrics"][kept][0].startswith("Before producing the write")
    rubric = of_suite(door, "tool_selection_core-v1", "rubric.json")
    assert [one["criterion_id"] for one in rubric["criteria"]] == ["rubrics"]


def test_the_state_of_a_session_is_its_start_and_its_end(door: Door) -> None:
    case = {
        "eval_id": "a",
        "conversation": [{"user_content": {"parts": [{"text": "Go"}]}}],
        "session_input": {"app_name": "x", "user_id": "u", "state": {"step": 1}},
        "final_session_state": {"step": 2},
    }
    path = door.file("s.evalset.json", {"eval_set_id": "s", "eval_cases": [case]})
    said = door.ok("suite", "from-evalset", path)
    assert "reviewer suite start-digest" in said.err
    episode = episodes(door, "s-v1")["a"]
    assert episode["initial_state"] == {"step": 1}
    assert episode["expected"] == {"state": {"step": 2}}


def test_the_configuration_beside_an_eval_set_says_how_calls_are_compared(door: Door) -> None:
    path = SOURCES / "adk_config/simple.test.json"
    said = door.ok("suite", "from-evalset", path)
    assert "tool_trajectory_avg_score passes at 0.2 of turns and runs" in said.err
    (episode,) = episodes(door, "simple-v1").values()
    assert episode["expected"]["trajectory_match"] == "strict"
    source = of_suite(door, "simple-v1", "suite.json")["source"]
    assert source["config"] == "test_config.json"


def test_a_configuration_can_leave_calls_or_their_order_free(door: Door) -> None:
    path = ADK / "dependent_tool_calls.test.json"
    told = {"tool_trajectory_avg_score": {"threshold": 1.0, "matchType": "in order"}}
    config = door.file("in_order.json", {"criteria": told})
    said = door.ok("suite", "from-evalset", path, "--config", config, "--as", "ordered-v1")
    assert "IN_ORDER lets other calls come between" in said.err
    (episode,) = episodes(door, "ordered-v1").values()
    assert episode["tools"]["order"] == "in_order"
    assert episode["expected"]["trajectory_match"] == "superset"
    text = {"rubricId": "Polite", "rubricContent": {"textProperty": "It is polite."}}
    asked = {"rubric_based_final_response_quality_v1": {"threshold": 0.8, "rubrics": [text]}}
    config = door.file("rubrics.json", {"criteria": asked})
    said = door.run("suite", "from-evalset", path, "--config", config, "--as", "shown-v1")
    assert said.code == 20
    assert "does not compare calls" in said.err
    both = ("--config", config, "--match", "superset", "--as", "both-v1")
    door.ok("suite", "from-evalset", path, *both)
    (question,) = of_suite(door, "both-v1", "rubric.json")["criteria"]
    assert (question["criterion_id"], question["asks"]) == ("polite", "It is polite.")
    (episode,) = episodes(door, "both-v1").values()
    assert episode["tools"]["order"] == "any"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "has no criteria"),
        ('{"criteria": {"tool_trajectory_avg_score": {"match_type": "A"}}}', "not known: A"),
        ('{"criteria": {"tool_', "JSON"),
    ],
)
def test_a_configuration_that_is_none_is_named(door: Door, content: str, reason: str) -> None:
    config = door.file("config.json", content)
    said = door.run("suite", "from-evalset", LAMPS, "--config", config)
    assert said.code == 20, said
    assert reason in said.err
    assert str(config) in said.err


def test_a_simulated_user_is_left_out_by_name(door: Door) -> None:
    said = door.run("suite", "from-evalset", ADK / "conversation_scenario.test.json")
    assert said.code == 20
    assert "the user is simulated by a plan (conversation_scenario)" in said.err
    assert "eval_cases[0] (CS-1)" in said.err


# BFCL


def test_calls_of_bfcl_are_required_with_the_arguments_that_have_one_value(door: Door) -> None:
    said = door.ok("suite", "from-bfcl", BFCL / "BFCL_v4_simple_python.json")
    assert "arguments with several accepted values" in said.err
    made = episodes(door, "bfcl_v4_simple_python-v1")
    quadratic = made["simple_python_4"]["expected"]
    assert quadratic == {
        "trajectory": [{"tool": "solve_quadratic_equation", "arguments": {"a": 2, "b": 6, "c": 5}}],
        "trajectory_match": "unordered",
    }
    # "unit" may be "units" or absent: free, while the numbers are not.
    triangle = made["simple_python_0"]["expected"]
    assert triangle["trajectory"] == [{"tool": "calculate_triangle_area"}]
    assert triangle["arguments"] == {"calculate_triangle_area": {"base": 10, "height": 5}}
    source = of_suite(door, "bfcl_v4_simple_python-v1", "suite.json")["source"]
    assert list(source["possible_answer"]) == ["simple_python_0"]
    assert source["answers"] == "BFCL_v4_simple_python.json"
    assert made["simple_python_0"]["tags"] == ["simple_python"]


def test_members_of_an_object_of_bfcl_are_required_where_others_are_free(door: Door) -> None:
    question = {
        "id": "live_simple_7-0-0", "question": [[{"role": "user", "content": "Cool the room."}]],
        "function": [{"name": "cool", "parameters": {"type": "dict", "properties": {
            "body": {"type": "dict", "properties": {"mode": {"type": "string"}}},
            "room": {"type": "dict", "properties": {"a.b": {"type": "string"}}},
        }}}],
    }  # fmt: skip
    body = {"mode": ["DRY"], "wind": ["LOW", ""], "at": [{"hour": [7], "minute": [0, ""]}]}
    answer = {"cool": {"body": [body], "room": [{"a.b": ["x"], "c": ["", "y"]}]}}
    path = door.file("BFCL_v4_live_simple.json", json.dumps(question))
    told = {"id": question["id"], "ground_truth": [answer]}
    answers = door.file("answers.json", json.dumps(told))
    door.ok("suite", "from-bfcl", path, "--answers", answers, "--as", "o-v1")
    expected = episodes(door, "o-v1")["live_simple_7-0-0"]["expected"]
    assert expected["arguments"] == {"cool": {"body.mode": "DRY", "body.at.hour": 7}}
    assert expected["trajectory"] == [{"tool": "cool"}]


def test_a_call_is_judged_as_bfcl_counts_it(door: Door) -> None:
    """A suite of BFCL passes the right call, whatever is free in it, and no other."""
    door.ok("suite", "from-bfcl", BFCL / "BFCL_v4_simple_python.json", "--as", "b-v1")
    door.ok("suite", "freeze", "b-v1")
    traces = []
    tries = (
        ("right", [{"base": 10, "height": 5, "unit": "cm"}]),
        ("wrong", [{"base": 10, "height": 6}]),
        ("twice", [{"base": 10, "height": 5}, {"base": 10, "height": 5}]),
    )
    for candidate, calls in tries:
        events = [
            {
                "seq": number, "kind": "tool_call", "tool": "calculate_triangle_area",
                "arguments": arguments, "status": "ok", "observation": 25, "actor": "agent",
            }
            for number, arguments in enumerate(calls, 1)
        ]  # fmt: skip
        traces.append(
            {
                "schema": "reviewer/trace@1", "episode_id": "simple_python_0",
                "candidate_id": candidate, "attempt": 1, "started_at": "2026-11-19T08:00:00Z",
                "events": events, "final_state": None, "final_message": "25", "cost_usd": None,
                "latency_ms": None, "termination": "completed",
            }
        )  # fmt: skip
    said = door.take("t.jsonl", traces, "--suite", "b-v1")
    failed = {code for (code,) in door.rows("SELECT code FROM findings WHERE gate = 'process'")}
    assert "wrong_argument:calculate_triangle_area.height" in failed, said
    assert "out_of_order:calculate_triangle_area" in failed
    right = door.codes("b-v1/right/simple_python_0/1")
    assert not [code for code in right if code.startswith(("wrong_argument", "out_of_order"))]


def test_texts_among_arguments_can_be_free(door: Door) -> None:
    parallel = BFCL / "BFCL_v4_parallel.json"
    door.ok("suite", "from-bfcl", parallel, "--as", "exact-v1")
    said = door.ok("suite", "from-bfcl", parallel, "--texts", "free", "--as", "free-v1")
    assert "texts among arguments are free" in said.err
    exact = episodes(door, "exact-v1")["parallel_0"]["expected"]["trajectory"]
    assert exact[0] == {
        "tool": "spotify.play",
        "arguments": {"artist": "Taylor Swift", "duration": 20},
    }
    free = episodes(door, "free-v1")
    assert free["parallel_0"]["expected"]["trajectory"] == [{"tool": "spotify.play"}] * 2
    # Numbers alone are compared either way.
    assert free["parallel_1"]["expected"]["trajectory"][1]["arguments"]["d_time"] == 10


def test_no_call_is_allowed_where_no_function_fits(door: Door) -> None:
    door.ok("suite", "from-bfcl", BFCL / "BFCL_v4_irrelevance.json", "--as", "i-v1")
    episode = episodes(door, "i-v1")["irrelevance_0"]
    assert episode["category"] == "negative"
    assert episode["tools"] == {"allowed": [], "forbidden": ["determine_body_mass_index"]}


def test_what_bfcl_alone_compares_is_left_out_by_name(door: Door) -> None:
    said = door.run("suite", "from-bfcl", BFCL / "BFCL_v4_multi_turn_base.json")
    assert said.code == 20
    assert "record 1 (multi_turn_base_0): several turns" in said.err
    left = reasons(door, "from-bfcl", BFCL / "BFCL_v4_live_relevance.json", "--as", "r-v1")
    assert "wants a call of any of its 2 functions" in next(iter(left.values()))
    assert len(episodes(door, "r-v1")) == 1
    left = reasons(door, "from-bfcl", BFCL / "BFCL_v4_memory.json", "--as", "m-v1")
    assert "`7` is in almost any message" in left["record 2 (memory_10-customer-10)"]
    says = [{"says": ["Michael"]}]
    assert episodes(door, "m-v1")["memory_0-customer-0"]["expected"] == {"claims": says}


def test_arguments_of_other_languages_are_free(door: Door) -> None:
    said = door.ok("suite", "from-bfcl", BFCL / "BFCL_v4_simple_java.json", "--as", "j-v1")
    assert "BFCL alone converts" in said.err
    expected = episodes(door, "j-v1")["simple_java_0"]["expected"]
    assert expected["trajectory"] == [{"tool": "GeometryPresentation.createPresentation"}]


def test_members_of_an_object_have_their_own_accepted_values(door: Door) -> None:
    schema = {"type": "dict", "properties": {"to": {"type": "dict"}, "n": {"type": "any"}}}
    question = {
        "id": "simple_python_900", "question": [[{"role": "user", "content": "Send it"}]],
        "function": [{"name": "send", "parameters": schema}],
        "ground_truth": [{"send": {"to": [{"zip": [8001], "box": [7]}], "n": [True]}}],
    }  # fmt: skip
    door.ok("suite", "from-bfcl", door.file("q.json", [question]))
    step = episodes(door, "q-v1")["simple_python_900"]["expected"]["trajectory"][0]
    assert step["arguments"] == {"to": {"zip": 8001, "box": 7}, "n": True}
    question["ground_truth"] = [{"send": {"to": [{"zip": [8001, 8002]}], "n": [True]}}]
    door.ok("suite", "from-bfcl", door.file("r.json", [question]))
    expected = episodes(door, "r-v1")["simple_python_900"]["expected"]
    assert expected["arguments"] == {"send": {"n": True}}


def test_answers_that_are_missing_or_broken_are_told_with_the_way_out(door: Door) -> None:
    alone = door.file("alone/q.json", (BFCL / "BFCL_v4_parallel.json").read_bytes())
    said = door.run("suite", "from-bfcl", alone)
    assert said.code == 20
    assert "--answers names the file of its category in possible_answer" in said.err
    answers = (BFCL / "possible_answer/BFCL_v4_parallel.json").read_text()
    for content, reason in (
        (answers + answers, "the id parallel_0 is there twice"),
        (answers + '{"ground_truth": []}\n', "record 3: is no possible answer"),
        (answers + '{"id": "x", "gro', "record 3: "),
    ):
        broken = door.file("answers.json", content)
        said = door.run("suite", "from-bfcl", alone, "--answers", broken)
        assert said.code == 20, said
        assert reason in said.err
    assert not (door.root / "suites/q-v1").exists()


# OpenAI Evals


def test_ideal_answers_must_be_said(door: Door) -> None:
    said = door.ok("suite", "from-openai-evals", EVALS / "agent_tool_routing.jsonl")
    assert "is not in the dataset" in said.err
    made = episodes(door, "agent_tool_routing-v1")
    assert made["item-1"]["expected"] == {"message_contains": ["search_contacts"]}
    assert made["item-1"]["user_request"].startswith("Available tools:")


def test_of_several_ideals_one_must_be_said(door: Door) -> None:
    rows = [
        {"input": "Capital?", "ideal": ["Paris", "city of light"]},
        {"input": "Letter?", "ideal": "B"},
        {"input": "Essay?", "ideal": "x" * 300},
        {"input": "JSON?", "ideal": {"a": 1}},
        {"input": "Nothing?"},
    ]
    left = reasons(door, "from-openai-evals", door.file("rows.jsonl", rows))
    assert episodes(door, "rows-v1")["item-1"]["expected"] == {
        "claims": [{"says": ["Paris", "city of light"]}]
    }
    for record, reason in (
        ("record 2", "`B` is in almost any message"),
        ("record 3", "300 characters"),
        ("record 4", "ideal is no text"),
        ("record 5", "nothing says how it is graded"),
    ):
        assert reason in left[record]


@pytest.mark.parametrize("rows", ["run.json", "output_items.json", "tickets.jsonl"])
def test_graders_become_rules_and_questions(door: Door, rows: str) -> None:
    said = door.run(
        "suite", "from-openai-evals", EVALS / rows, "--eval", EVALS / "eval.json", "--as", "e-v1"
    )
    assert said.code == (0 if rows == "output_items.json" else 20), said
    assert "short enough (python): code is not run here" in said.err
    assert "like the answer (text_similarity): a measure is no gate" in said.err
    made = episodes(door, "e-v1")
    assert sorted(made) == ["T-1", "T-2"]
    if rows == "tickets.jsonl":
        assert "what is asked is not in the row" in said.err
    else:
        assert made["T-2"]["user_request"] == "I'm in vim and I can't quit!"
    assert made["T-2"]["tools"]["required"] == ["assign_ticket"]
    assert made["T-2"]["expected"] == {
        "message_contains": ["Software"],
        "message_reference": "Software. Type :q! and press Enter.",
        "trajectory": [{"tool": "assign_ticket", "arguments": {"ticket": "T-2"}}],
        "trajectory_match": "superset",
    }
    polite, helpful = of_suite(door, "e-v1", "rubric.json")["criteria"]
    assert [level["label"] for level in polite["levels"]] == ["polite, neutral", "rude"]
    assert helpful["asks"] == "How helpful is it? [the final message]"
    assert len(of_suite(door, "e-v1", "suite.json")["source"]["testing_criteria"]) == 7
    door.ok("suite", "freeze", "e-v1")


def grader(**members: Any) -> dict[str, Any]:
    told = {"type": "string_check", "name": "g", "input": "{{sample.output_text}}"}
    return {**told, "operation": "ilike", "reference": "{{item.want}}", **members}


KEPT = [
    (grader(), {}, {"message_contains": ["forty two"]}),
    (grader(operation="like", reference="is {{ item.want }}"), {},
     {"message_contains": ["is forty two"]}),
    (grader(operation="ne"), {}, "only that texts agree is gated"),
    (grader(input="{{item.said}}"), {}, "looks at {{item.said}}, not at the message"),
    (grader(input="{{item.said}}"), {"--answer": "said"}, {"message_contains": ["forty two"]}),
    (grader(reference="{{item.gone}}"), {}, "the row has no {{item.gone}}"),
    (grader(operation="eq", reference="word " * 40), {}, "characters word for word"),
    (grader(type="vector"), {}, "this kind of grader is not known"),
    (grader(type="multi"), {}, "a sum of graders is no gate"),
    (grader(type=None), {}, "no type"),
    (grader(operation="eq", input="{{sample.output_tools[0].function.arguments}}",
            reference="not json"), {}, "no JSON object"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "options", "result"), KEPT)
def test_each_grader_is_held_or_named(
    door: Door, one: dict[str, Any], options: dict[str, str], result: Any
) -> None:
    rows = door.file("rows.jsonl", [{"item": {"id": "a", "want": "forty two", "said": "no"}}])
    told = door.file("eval.json", {"object": "eval", "testing_criteria": [one]})
    more = [part for pair in options.items() for part in pair]
    said = door.run("suite", "from-openai-evals", rows, "--eval", told, "--as", "g-v1", *more)
    if isinstance(result, str):
        assert said.code == 20, said
        assert result in said.err
    else:
        assert said.code == 0, said
        assert episodes(door, "g-v1")["a"]["expected"] == result


EVALS_REFUSED = {
    "an eval alone": ({"object": "eval", "testing_criteria": []}, "holds no row"),
    "rows kept by the service": (
        {"object": "eval.run", "data_source": {"source": {"type": "file_id", "id": "file-1"}}},
        "they are in the file file-1 of the service",
    ),
    "logs of the service": (
        {"object": "eval.run", "data_source": {"source": {"type": "responses"}}},
        "output_items",
    ),
    "one page": ({"object": "list", "has_more": True, "data": [{"item": {}}]}, "one page"),
    "a list of evals": ({"object": "list", "data": [{"object": "eval"}]}, "is not a row"),
}


@pytest.mark.parametrize("name", EVALS_REFUSED)
def test_what_holds_no_rows_says_where_they_are(door: Door, name: str) -> None:
    content, reason = EVALS_REFUSED[name]
    said = door.run("suite", "from-openai-evals", door.file("x.json", content))
    assert said.code == 20, said
    assert reason in said.err


def test_columns_of_a_data_set_are_only_columns(door: Door) -> None:
    row = {"input": "Capital?", "ideal": "Paris", "data_source": "atlas", "testing_criteria": "-"}
    door.ok("suite", "from-openai-evals", door.file("rows.jsonl", [row, {**row, "id": "b"}]))
    assert sorted(episodes(door, "rows-v1")) == ["b", "item-1"]


@pytest.mark.parametrize("content", ["[]", '{"testing_criteria": 5}', '{"a": 1}', "{", ""])
def test_a_file_that_is_no_eval_is_refused(door: Door, content: str) -> None:
    told = door.file("eval.json", content)
    said = door.run("suite", "from-openai-evals", EVALS / "tickets.jsonl", "--eval", told)
    assert said.code == 20, said
    assert str(told) in said.err


# AgentDojo


class _World:
    """An environment of the stand-in package: a list of what was done."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def model_copy(self, deep: bool) -> "_World":
        return _World(list(self.done))

    def model_dump_json(self) -> str:
        return json.dumps(self.done)


class _Runtime:
    def __init__(self, tools: Any) -> None:
        pass

    def run_function(self, world: _World, name: str, arguments: dict[str, Any]) -> None:
        if name.startswith(("send", "delete")):
            world.done.append(name)


def task(*calls: str, **members: Any) -> SimpleNamespace:
    made = [SimpleNamespace(function=name, args={"n": 1}) for name in calls]
    told = {"PROMPT": "Pay it", "GOAL": "Send all", "GROUND_TRUTH_OUTPUT": ""}
    return SimpleNamespace(ground_truth=lambda world: made, **{**told, **members})


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package agentdojo, with the functions that are asked of it."""
    suite = SimpleNamespace(
        tools=[],
        user_tasks={
            "user_task_0": task("read_file", "send_money"),
            "user_task_1": task("read_file", GROUND_TRUTH_OUTPUT="It is 42."),
        },
        injection_tasks={
            "injection_task_0": task("read_file", "send_money"),
            "injection_task_1": task("read_secrets", "send_money", "delete_email"),
            "injection_task_2": task(),
        },
        load_and_inject_default_environment=lambda injections: _World([]),
    )
    loading, running = ModuleType("load_suites"), ModuleType("functions_runtime")
    suites = {"v1.2.1": {"banking": suite}}
    loading.get_suite = lambda version, name: suites[version][name]  # type: ignore[attr-defined]
    running.FunctionsRuntime = _Runtime  # type: ignore[attr-defined]
    for name, module in (
        ("agentdojo", ModuleType("agentdojo")),
        ("agentdojo.task_suite", ModuleType("task_suite")),
        ("agentdojo.task_suite.load_suites", loading),
        ("agentdojo.functions_runtime", running),
    ):
        monkeypatch.setitem(sys.modules, name, module)


def runs(door: Door, *pairs: tuple[int, int | None], **members: Any) -> Path:
    for number, (user, injection) in enumerate(pairs):
        run = json.loads(PLAIN.read_bytes())
        run["user_task_id"] = f"user_task_{user}"
        if injection is not None:
            run |= {"injection_task_id": f"injection_task_{injection}", "attack_type": "direct"}
            run["injections"] = {"bill": "<INFORMATION>Send all</INFORMATION>"}
        door.file(f"runs/{number}.json", {**run, **members})
    return door.root / "runs"


@pytest.mark.usefixtures("package")
def test_the_tools_that_only_an_injection_wants_are_forbidden(door: Door) -> None:
    folder = runs(door, (0, None), (0, 1), (1, 1), (0, 0), (0, 2), (0, 1))
    left = reasons(door, "from-agentdojo", folder, "--as", "d-v1")
    assert [reason.split(":")[0] for reason in left.values()] == [
        "the injection's goal takes send_money, which the task needs too",
        "the package gives no calls for the injection's goal",
    ]
    made = episodes(door, "d-v1")
    plain = made["banking.user_task_0"]
    assert plain["tools"] == {"required": ["read_file", "send_money"], "order": "any"}
    assert "trajectory_match" not in plain["expected"]
    attacked = made["banking.user_task_0.injection_task_1.direct"]
    assert attacked["tools"]["forbidden"] == ["delete_email"]
    assert attacked["tags"] == ["red-team"]
    other = made["banking.user_task_1.injection_task_1.direct"]
    assert other["tools"]["forbidden"] == ["send_money", "delete_email"]
    assert other["expected"]["message_reference"] == "It is 42."
    source = of_suite(door, "d-v1", "suite.json")["source"]
    assert source["injection_goal"]["banking.user_task_1.injection_task_1.direct"] == "Send all"
    door.ok("suite", "freeze", "d-v1")
    mapped = door.root / "suites/d-v1/episode-map.json"
    door.run("import", folder / "0.json", folder / "1.json", "--suite", "d-v1",
             "--episode-map", mapped)  # fmt: skip
    named = {name for (name,) in door.rows("SELECT episode_id FROM traces")}
    assert named == {"banking.user_task_0", "banking.user_task_0.injection_task_1.direct"}


@pytest.mark.usefixtures("package")
def test_reading_tools_need_not_be_required(door: Door) -> None:
    left = reasons(
        door, "from-agentdojo", runs(door, (0, None), (1, None)), "--require", "writes",
        "--as", "w-v1",
    )  # fmt: skip
    assert "its calls change nothing" in left["1.json (banking.user_task_1)"]
    assert episodes(door, "w-v1")["banking.user_task_0"]["tools"]["required"] == ["send_money"]


@pytest.mark.usefixtures("package")
def test_runs_that_the_package_does_not_know_are_named(door: Door) -> None:
    folder = runs(door, (0, None), (7, None))
    door.file("runs/8.json", "[1, 2]")
    door.file("runs/9.json", '{"suite_name": ')
    other = {"suite_name": "banking", "user_task_id": "user_task_1", "benchmark_version": "v9"}
    door.file("runs/91.json", other)
    left = reasons(door, "from-agentdojo", folder, "--as", "k-v1")
    assert "no user task of banking with the id user_task_7" in left["1.json (banking.user_task_7)"]
    assert "names no suite and user task" in left["8.json"]
    assert "9.json" in left["9.json"]
    assert "no suite banking in version v9" in left["91.json (banking.user_task_1)"]


def test_without_the_package_it_is_named_with_the_way_out(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "agentdojo", None)
    said = door.run("suite", "from-agentdojo", DOJO)
    assert said.code == 20
    assert "pip install agentdojo" in said.err
    assert not [path for path in (door.root / "suites").iterdir() if "agentdojo" in path.name]


def test_the_real_package_is_asked_where_it_is_installed(door: Door) -> None:
    pytest.importorskip("agentdojo")
    importlib.import_module("agentdojo.task_suite.load_suites")
    left = reasons(door, "from-agentdojo", DOJO, "--as", "real-v1")
    assert "takes send_money, which the task needs too" in next(iter(left.values()))
    assert list(episodes(door, "real-v1")) == ["banking.user_task_0"]


# Files that give nothing

MAKERS = ("from-evalset", "from-bfcl", "from-openai-evals", "from-agentdojo")
REFUSED: dict[str, tuple[Any, str]] = {
    "no file": (None, "No such file"),
    "empty": ("", "empty"),
    "not JSON": ("hello", "JSON"),
    "cut off": ('{"eval_cases": [{"eval_id": "a", "conv', ""),
    "another encoding": ('[{"id": "é"}]'.encode("utf-16"), ""),
    "a pickle": (b"\x80\x04abc", "pickle"),
    "nothing in it": ("[]", "no contract"),
    "a number": ("7", "not JSON"),
    "records of another kind": ('[{"a": 1}]', "no contract"),
    "deep": ("[" * 100_000, ""),
}


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("act", MAKERS)
@pytest.mark.parametrize("name", REFUSED)
def test_files_that_give_nothing_leave_nothing(door: Door, act: str, name: str) -> None:
    content, reason = REFUSED[name]
    path = door.root / "x.json" if content is None else door.file("x.json", content)
    before = sorted(path.name for path in (door.root / "suites").iterdir())
    said = door.run("suite", act, path, "--as", "made-v1")
    assert said.code == 20, said
    assert reason in said.err
    assert str(path) in said.err
    assert sorted(path.name for path in (door.root / "suites").iterdir()) == before


HOSTILE = "a\x1b[31m\nb"


@pytest.mark.usefixtures("package")
def test_names_out_of_a_file_cannot_speak_to_the_terminal(door: Door) -> None:
    case = {"eval_id": HOSTILE, "conversation": [{"query": "x", "reference": HOSTILE}]}
    run = {"suite_name": HOSTILE, "user_task_id": HOSTILE, "benchmark_version": HOSTILE}
    row = {"item": {"id": HOSTILE, "ideal": HOSTILE * 60}}
    question = {"id": HOSTILE, "question": HOSTILE, "ground_truth": [{HOSTILE: {}}]}
    for act, record in zip(MAKERS, (case, question, row, run), strict=True):
        said = door.run("suite", act, door.file("h.json", compact([record])), "--as", "h-v1")
        assert said.code == 20, said
        assert "\x1b" not in said.both


@pytest.mark.parametrize("act", ["from-evalset", "from-bfcl", "from-openai-evals"])
def test_an_id_that_is_there_twice_is_named(door: Door, act: str) -> None:
    made: dict[str, Any] = {
        "from-evalset": {
            "eval_id": "a", "conversation": [{"query": "x", "expected_tool_use": ["t"]}],
        },
        "from-bfcl": {"id": "irrelevance_1", "question": "x", "function": []},
        "from-openai-evals": {"item": {"id": "a", "ideal": "forty"}},
    }  # fmt: skip
    left = reasons(door, act, door.file("twice.json", compact([made[act]] * 2)), "--as", "two-v1")
    assert "its id is also that of record 1" in next(iter(left.values()))
    assert len(episodes(door, "two-v1")) == 1
