"""The script of a scripted candidate: its shape, and the example in the documents."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reviewer.suite.border import json_schema
from reviewer.suite.errors import ContractError
from reviewer.suite.script import Plan, ScriptedAttempt, ScriptedTurn, read_script

LAST = {"messages": ["Done."]}
LOOK = {"calls": [{"tool": "look"}]}


@pytest.mark.parametrize(
    ("said", "plan", "more"),
    [
        ("the last turn must not make a call", {"turns": [LOOK]}, {}),
        ("make a call or say something to the user", {"turns": [{}, LAST]}, {}),
        ("at least 1 item", {"turns": []}, {}),
        ("no plan has a weight", {"turns": [LAST], "weight": 0}, {}),
        ("unknown key `wieght` (did you mean `", {"turns": [LAST], "wieght": 1}, {}),
        (
            "leave `attempts` out",
            {
                "turns": [LAST],
                "faults": {"look": [{"kind": "error", "calls": [1], "attempts": [1]}]},
            },
            {},
        ),
        (
            "names `other`, which is not a plan",
            {"turns": [LAST]},
            {"attempts": [{"plan": "other"}]},
        ),
        (
            "one figure per turn (2)",
            {"turns": [LOOK, LAST]},
            {"attempts": [{"plan": "only", "costs_usd": [0.1]}]},
        ),
        (
            "a message that its plan does not have",
            {"turns": [LAST]},
            {"attempts": [{"plan": "only", "message": 2}]},
        ),
        (
            "greater than or equal to 0",
            {"turns": [LAST]},
            {"attempts": [{"plan": "only", "costs_usd": [-0.1]}]},
        ),
    ],
)
def test_a_script_that_means_nothing_is_refused(
    said: str, plan: dict[str, Any], more: dict[str, Any]
) -> None:
    whole = {
        "schema": "reviewer/script@1",
        "episodes": {"e-1": {"plans": {"only": plan}, **more}},
    }
    with pytest.raises(ContractError) as told:
        read_script(json.dumps(whole).encode(), "s.json")
    assert str(told.value).startswith("s.json: $.episodes")
    assert said in str(told.value)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"schema": "reviewer/script@2"}', b"\xff"])
def test_what_is_no_script_names_its_file(data: bytes) -> None:
    with pytest.raises(ContractError, match=r"^s\.json: \$"):
        read_script(data, "s.json")


def test_the_example_in_the_documents_is_a_script(repository: Path) -> None:
    text = (repository / "docs" / "formats.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^<!-- example: script -->\n```json\n(.*?)^```$", text, re.M | re.S)
    script = read_script(example.encode())
    one = script.episodes["damaged-1"]
    assert one.attempts == (ScriptedAttempt(plan="makes a label", costs_usd=(0.02, 0.011, 0.01)),)
    assert one.plans["makes a label"].weight == 3
    slow = one.plans["meets a slow shop"]
    assert slow == Plan(turns=slow.turns, faults=slow.faults)
    assert slow.turns[-1] == ScriptedTurn(messages=("Please try again later.",))
    assert slow.faults["verify_state"][0]["delay_ms"] == 400


def test_the_schema_of_scripts_is_published() -> None:
    schema = json_schema("script")
    assert schema["$id"] == "reviewer/script@1"
    assert schema["properties"]["schema"]["const"] == "reviewer/script@1"
