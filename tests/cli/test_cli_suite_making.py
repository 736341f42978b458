"""`reviewer suite from-tau2` and `from-golden`: a suite of what other tools expect of an agent."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, compact

from reviewer.trace.rules import DETECTORS

DATA = Path(__file__).resolve().parents[1] / "data"
AIRLINE, MOCK = DATA / "tau2/airline_5_tasks.json", DATA / "tau2/mock_tasks.json"
RESULTS = DATA / "tau2/airline_4_tasks.json"
AGENTEVALS = DATA / "langchain/agentevals_test_trajectories.json"


def held(door: Door, suite_id: str) -> dict[str, dict[str, Any]]:
    """Path → content of the JSON files of a suite."""
    folder = door.root / "suites" / suite_id
    return {
        str(path.relative_to(folder)): json.loads(path.read_bytes())
        for path in folder.rglob("*.json")
    }


def test_tasks_become_a_suite_that_can_be_frozen_and_fed(door: Door) -> None:
    said = door.ok("suite", "from-tau2", RESULTS)
    assert "tau2-airline-v1: 4 episodes" in said.out
    assert "not frozen" in said.err
    door.ok("suite", "check", "tau2-airline-v1")
    door.ok("suite", "freeze", "tau2-airline-v1")
    said = door.ok("import", RESULTS, "--suite", "tau2-airline-v1")
    assert "unredacted" not in said.both
    rows = "SELECT episode_id, passed, critical FROM traces ORDER BY 1"
    # Task 48 is one to refuse, and this agent cancelled; 13 wants a transfer that was not made.
    assert door.rows(rows) == [("13", 0, 0), ("26", 0, 1), ("30", 1, 0), ("48", 0, 1)]
    trace = "tau2-airline-v1/llm_agent gpt-4.1"
    assert door.codes(f"{trace}/26/1") == ["forbidden:cancel_reservation"]
    assert door.codes(f"{trace}/13/1") == ["missing:transfer_to_human_agents"]
    door.healthy()


def test_what_no_gate_holds_is_kept_for_people(door: Door) -> None:
    policy = door.file("airline.md", "# Airline policy\n")
    door.ok("suite", "from-tau2", AIRLINE, "--policy", policy, "--as", "mine-v1")
    files = held(door, "mine-v1")
    source = files["suite.json"]["source"]
    assert source["nl_assertions"]["0"] == ["Agent should refuse to proceed with the cancellation."]
    assert source["made_from"] == AIRLINE.name
    assert [one["criterion_id"] for one in files["rubric.json"]["criteria"]] == ["assertions"]
    assert files["suite.json"]["episodes"] == ["0", "1", "13", "18", "29"]
    assert (door.root / "suites/mine-v1/policy.md").read_text() == "# Airline policy\n"
    door.ok("suite", "freeze", "mine-v1")
    assert "policy.md" in (door.root / "suites/mine-v1/suite.sha256").read_text()


def test_what_cannot_be_turned_is_named_and_the_rest_is_written(door: Door) -> None:
    said = door.run("suite", "from-tau2", MOCK, "--domain", "mock")
    assert said.code == 20
    assert "tau2-mock-v1: 9 episodes" in said.out
    left = [line for line in said.out.splitlines() if line.startswith("left out: ")]
    assert len(left) == 1
    assert "update_task_with_history_and_env_assertions" in left[0]
    assert "tau2's environment alone" in left[0]
    assert len(held(door, "tau2-mock-v1")) == 9 + 2
    door.ok("suite", "freeze", "tau2-mock-v1")


def test_without_a_domain_tasks_that_expect_nothing_are_left_out(door: Door) -> None:
    said = door.run("suite", "from-tau2", MOCK)
    assert said.code == 20
    assert "name the domain with --domain" in said.out
    said = door.run("suite", "from-tau2", MOCK, "--require", "writes", "--as", "w-v1")
    assert said.code == 2
    assert "--domain names one of airline" in said.err


def of_user(door: Door, suite_id: str) -> set[str]:
    folder = door.root / "suites" / suite_id / "episodes"
    told = [json.loads(path.read_bytes())["tools"] for path in folder.iterdir()]
    return {tool for tools in told for tool in tools["of_user"]}


def test_a_results_file_cannot_hide_an_agents_call_behind_the_user(door: Door) -> None:
    """The user's own calls are nobody's budget or requirement; one of a tool of the agent's that
    the file ascribes to the user may be the agent's."""
    run = json.loads((DATA / "tau2/telecom_user_tools.json").read_bytes())
    path = door.file("run.json", json.dumps(run))
    door.run("suite", "from-tau2", path, "--as", "telecom-v1")
    door.ok("suite", "freeze", "telecom-v1")
    for one in run["simulations"]:
        for message in one["messages"]:
            if message["role"] == "user" and message.get("tool_calls"):
                message["tool_calls"][0]["name"] = "suspend_line"
    door.take("hidden.json", json.dumps(run), "--suite", "telecom-v1")
    passed = {passed for (passed,) in door.rows("SELECT passed FROM traces")}
    assert 1 not in passed
    codes = {code for (code,) in door.rows("SELECT code FROM findings")}
    assert "user_call:suspend_line" in codes


def test_the_start_of_a_task_is_measured(door: Door) -> None:
    """A results file tells which state its tasks start from: the traces carry its digest."""
    run = json.loads((DATA / "tau2/telecom_user_tools.json").read_bytes())
    path = door.file("run.json", json.dumps(run))
    assert door.run("suite", "from-tau2", path, "--as", "telecom-v1").code == 20
    door.ok("suite", "freeze", "telecom-v1")
    door.run("import", path, "--suite", "telecom-v1")
    passed = dict(door.rows("SELECT episode_id, passed FROM traces"))
    assert passed["[service_issue]contract_end_suspension[PERSONA:Hard]"] == 1
    assert {"toggle_data", "make_payment"} <= of_user(door, "telecom-v1")
    run["tasks"][1]["initial_state"]["initialization_actions"].pop()
    run["simulations"] = [{**sim, "trial": 1} for sim in run["simulations"]]
    door.take("other.json", json.dumps(run), "--suite", "telecom-v1")
    codes = {code for (code,) in door.rows("SELECT code FROM findings")}
    assert "start_state_mismatch" in codes


def test_trajectories_become_contracts_of_their_calls(door: Door) -> None:
    door.ok("suite", "from-golden", AGENTEVALS, "--as", "weather-v1", "--match", "unordered")
    door.ok("suite", "freeze", "weather-v1")
    files = held(door, "weather-v1")
    records = json.loads(AGENTEVALS.read_bytes())
    assert len(files) == len(records) + 2  # suite.json and power.json
    episode = files["episodes/test_trajectory_match.json"]
    assert episode["user_request"] == "What is the weather in SF?"
    call = {"tool": "get_weather", "arguments": {"city": "San Francisco"}}
    assert episode["expected"] == {
        "trajectory": [call],
        "trajectory_match": "unordered",
        "message_reference": "The weather in SF is 80˚ and sunny.",
    }
    assert files["suite.json"]["redaction"]["detectors"] == list(DETECTORS)


GOLDENS = [
    {"input": "Refund me", "expected_tools": [{"name": "refund"}], "name": "refund"},
    {"input": "Hi", "expected_output": "x" * 300, "name": "prose"},
    {"input": "Again", "expected_tools": ["refund"], "name": "refund"},
    "nothing",
    {"input": "Where?", "expected_output": "42", "name": None},
]


@pytest.mark.parametrize("shape", ["lines", "an array", "an object", "gzip"])
def test_records_of_a_dataset_that_give_none_are_named(door: Door, shape: str) -> None:
    if shape == "lines":
        path = door.file("Gold set.jsonl", GOLDENS)
    elif shape == "an array":
        path = door.file("Gold set.json", json.dumps(GOLDENS, indent=1))
    elif shape == "an object":
        path = door.file("Gold set.json", {"goldens": GOLDENS})
    else:
        import gzip

        path = door.file("Gold set.json.gz", gzip.compress(compact(GOLDENS)))
    said = door.run("suite", "from-golden", path, "--as", "gold-v1", "--json")
    assert said.code == 20, said
    told = json.loads(said.out)
    assert (told["suite_id"], told["episodes"]) == ("gold-v1", 2)
    reasons = [one["reason"] for one in told["left_out"]]
    assert "answer of 300 characters" in reasons[0]
    assert "its id is also that of" in reasons[1]
    assert "is no object" in reasons[2]
    assert "(prose)" in told["left_out"][0]["record"]
    assert set(held(door, "gold-v1")) == {
        "suite.json", "episodes/refund.json", "episodes/golden-5.json",
    }  # fmt: skip
    door.ok("suite", "freeze", "gold-v1")


def test_an_answer_that_any_message_holds_is_not_required(door: Door) -> None:
    """ "B" is in almost any message: a contract that required it could not fail."""
    records = [
        {"input": "Which?", "answer": "B", "expected_tools": ["choose"], "name": "with a tool"},
        {"input": "Which?", "answer": "No", "name": "alone"},
        {"input": "How many?", "answer": "3.5", "name": "a number"},
    ]
    said = door.run("suite", "from-golden", door.file("g.jsonl", records), "--as", "g-v1")
    assert said.code == 20
    assert "record 2 (alone): expects only an answer of 2 characters, `No` is in almost" in said.out
    assert "never required" in said.err
    files = held(door, "g-v1")
    expected = files["episodes/with a tool.json"]["expected"]
    assert expected["message_reference"] == "B"
    assert "message_contains" not in expected
    assert files["episodes/a number.json"]["expected"] == {"message_contains": ["3.5"]}


def test_a_suite_is_never_written_over(door: Door) -> None:
    door.ok("suite", "from-tau2", AIRLINE)
    before = held(door, "tau2-airline-v1")
    said = door.run("suite", "from-tau2", AIRLINE)
    assert said.code == 20
    assert "exists already" in said.err
    assert held(door, "tau2-airline-v1") == before


REFUSED = {
    "no file": (None, "No such file"),
    "empty": ("", "empty"),
    "not JSON": ("hello", "not JSON"),
    "a pickle": (b"\x80\x04abc", "pickle"),
    "nothing in it": ("[]", "no contract"),
    "records of another kind": ('[{"a": 1}]', "no contract"),
}


@pytest.mark.parametrize("act", ["from-tau2", "from-golden"])
@pytest.mark.parametrize("name", REFUSED)
def test_files_that_give_nothing_leave_nothing(door: Door, act: str, name: str) -> None:
    content, reason = REFUSED[name]
    path = door.root / "x.json" if content is None else door.file("x.json", content)
    before = sorted(path.name for path in (door.root / "suites").iterdir())
    said = door.run("suite", act, path, "--as", "made-v1")
    assert said.code == 20, said
    assert reason in said.err
    assert sorted(path.name for path in (door.root / "suites").iterdir()) == before


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", ""])
def test_the_name_of_a_suite_is_a_name(door: Door, name: str) -> None:
    said = door.run("suite", "from-tau2", AIRLINE, "--as", name)
    assert said.code == (0 if not name else 2), said


def test_text_of_a_record_cannot_speak_to_the_terminal(door: Door) -> None:
    path = door.file("a.jsonl", [{"id": "a\x1b[31m\nb", "answer": "42"}, {"answer": "11"}])
    said = door.run("suite", "from-golden", path, "--as", "g-v1")
    assert said.code == 20
    assert "\x1b" not in said.both
    assert [line[:10] for line in said.out.splitlines()] == ["g-v1: 1 ep", "left out: "]
