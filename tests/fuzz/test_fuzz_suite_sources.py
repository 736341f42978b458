"""What other tools expect, with any part replaced: a contract or a reason, never a crash."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewer.suite.check import check_suite
from reviewer.suite.derived import NoContract, adk, agentdojo, bfcl, checked, encoded, openai_evals
from reviewer.suite.values import RUBRIC_FILE, SUITE_FILE

DATA = Path(__file__).resolve().parents[1] / "data"
SOURCES = DATA / "suite_sources"
SUITE = encoded({"schema": "reviewer/suite@1", "suite_id": "one"})
OTHERS: tuple[Any, ...] = (
    None, True, 0, -1.5, 10**30, "", "x", "a/b", "\x00", "\ud800", "{{item.id}}", "x" * 5000,
    [], {}, [None], [[]], [{}], ["x"], {"": None}, {"x": []}, {"name": 1}, {"parts": [1]},
)  # fmt: skip


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def adk_cases() -> list[Any]:
    files = [
        *sorted((SOURCES / "adk").glob("*.json")),
        *DATA.glob("formats_c/google-adk/*set.json"),
    ]
    read = [json.loads(path.read_bytes()) for path in files]
    return [
        case
        for value in read
        for case in (value["eval_cases"] if isinstance(value, dict) else [adk.turns_of(value)])
    ]


def adk_configs() -> list[Any]:
    rubric = {"rubricId": "Polite", "rubricContent": {"textProperty": "It is polite."}}
    asked = {"threshold": 0.8, "rubrics": [rubric]}
    order = {"threshold": 1.0, "match_type": "IN_ORDER"}
    told = {"criteria": {"tool_trajectory_avg_score": order, "rubric_based_v1": asked}}
    return [[case, told] for case in adk_cases()]


def of_config(value: Any) -> Any:
    case, told = value if isinstance(value, list) and len(value) == 2 else (value, None)
    try:
        criteria = adk.criteria_of(told)
    except ValueError as error:
        raise NoContract(str(error)) from None
    _asked(adk.questions_of(criteria))
    return adk.contract_of(case, "case-1", criteria)


def _asked(criteria: list[dict[str, Any]]) -> None:
    """Check that criteria make a rubric that a suite may have."""
    if not criteria:
        return
    rubric = {"schema": "reviewer/rubric@1", "rubric_id": "r", "version": "v1"}
    files = {SUITE_FILE: SUITE, RUBRIC_FILE: encoded({**rubric, "criteria": criteria})}
    assert not [one for one in check_suite(files).problems if one.file == RUBRIC_FILE]


def bfcl_pairs() -> list[Any]:
    found = []
    for path in sorted((SOURCES / "bfcl").glob("*.json")):
        told = path.parent / "possible_answer" / path.name
        answers = {one["id"]: one for one in lines(told)} if told.exists() else {}
        found += [[one, answers.get(one["id"])] for one in lines(path)]
    return found


def eval_rows() -> list[Any]:
    told = json.loads((SOURCES / "openai_evals/eval.json").read_bytes())
    run = json.loads((SOURCES / "openai_evals/run.json").read_bytes())
    items = json.loads((SOURCES / "openai_evals/output_items.json").read_bytes())["data"]
    rows = [*items, *lines(SOURCES / "openai_evals/tickets.jsonl")]
    return [[row, told, run["data_source"]["input_messages"]] for row in rows]


def of_eval(value: Any) -> Any:
    row, told, messages = value if isinstance(value, list) and len(value) == 3 else (value, {}, {})
    try:
        graders = openai_evals.graders_of(told)
    except ValueError as error:
        raise NoContract(str(error)) from None
    _asked(openai_evals.criteria_of(graders))
    shown = messages if isinstance(messages, dict) else None
    return openai_evals.contract_of(row, 1, openai_evals.Eval(graders, shown, "answer"))


def of_bfcl(value: Any) -> Any:
    question, answer = value if isinstance(value, list) and len(value) == 2 else (value, None)
    return bfcl.contract_of(question, answer)


def of_run(value: Any) -> Any:
    call = agentdojo.Call("send_money", {"n": 1}, True)
    task = agentdojo.Task("Pay", (call,), "Paid", "Send", (call._replace(tool="send_email"),))
    if not agentdojo.id_of(value):
        raise NoContract("is no run")
    return agentdojo.contract_of(value, task)


def dojo_runs() -> list[Any]:
    return [
        json.loads(path.read_bytes()) for path in (DATA / "formats_c/agentdojo").rglob("*.json")
    ]


KINDS: dict[str, tuple[Callable[[], list[Any]], Callable[[Any], Any]]] = {
    "adk": (adk_cases, lambda case: adk.contract_of(case, "case-1")),
    "adk-config": (adk_configs, of_config),
    "bfcl": (bfcl_pairs, of_bfcl),
    "openai-evals": (eval_rows, of_eval),
    "agentdojo": (dojo_runs, of_run),
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of every part."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def mutants(whole: Any, dice: random.Random, times: int) -> Iterator[Any]:
    count = sum(1 for _ in places(whole))
    for _ in range(times):
        mutant = copy.deepcopy(whole)
        chosen = dice.sample(range(count), k=min(count, dice.choice((1, 1, 2, 5))))
        spots = [spot for number, spot in enumerate(places(mutant)) if number in chosen]
        for container, key in spots:
            if isinstance(container, dict) and dice.random() < 0.3:
                container.pop(key, None)
            else:
                container[key] = dice.choice(OTHERS)
        yield mutant


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_with_any_part_replaced_gives_a_contract_or_a_reason(kind: str) -> None:
    read, make = KINDS[kind]
    dice, made, refused = random.Random(f"suite sources {kind}"), 0, 0
    wholes = read()
    for whole in wholes:
        for mutant in mutants(whole, dice, 400 // len(wholes)):
            try:
                checked(make(mutant))
                made += 1
            except NoContract:
                refused += 1
    assert made
    assert refused
