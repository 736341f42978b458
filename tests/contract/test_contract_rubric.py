"""What a rubric may say beyond its criteria: weights for display, and wording policy requires."""

import json
from typing import Any

import pytest
from contract_examples import files, packed

from reviewer.suite.border import json_schema
from reviewer.suite.check import check_suite
from reviewer.suite.rubric import Criterion, Level, Rubric, Wording, good_levels
from reviewer.suite.values import load_trusted_rubric

WORDING: dict[str, Any] = {
    "wording_id": "appeal",
    "says": ["two working days"],
    "never": ["guaranteed"],
    "episodes": ["e-1"],
}


def rubric(wording: Any = None, **criterion: Any) -> dict[str, Any]:
    asked = {
        "criterion_id": "accurate",
        "title": "accurate",
        "asks": "says only what was done",
        "scale": "binary",
        "levels": [{"value": 1, "label": "yes"}, {"value": 2, "label": "no"}],
        **criterion,
    }
    raw = {"schema": "reviewer/rubric@1", "rubric_id": "r", "version": "v1", "criteria": [asked]}
    return raw if wording is None else {**raw, "wording": wording}


def read(raw: dict[str, Any]) -> Rubric:
    content = {**files(), "rubric.json": packed(raw)}
    checked = check_suite(content)
    assert checked.problems == ()
    assert checked.rubric is not None
    assert load_trusted_rubric(content) == checked.rubric
    return checked.rubric


def problem(raw: dict[str, Any]) -> str:
    (found,) = check_suite({**files(), "rubric.json": packed(raw)}).problems
    return str(found)


def test_a_rubric_without_them_is_as_it_was() -> None:
    plain = read(rubric())
    assert plain.wording == ()
    assert plain.criteria[0].weight is None


def test_weights_and_wording_are_read() -> None:
    made = read(rubric([WORDING, {"wording_id": "all", "never": ["!a"]}], weight=2))
    assert made.criteria[0].weight == 2.0
    assert made.wording == (
        Wording(
            wording_id="appeal",
            says=("two working days",),
            never=("guaranteed",),
            episodes=("e-1",),
        ),
        Wording(wording_id="all", never=("!a",)),
    )


@pytest.mark.parametrize(
    ("weight", "word"),
    [(-0.5, "greater than or equal to 0"), ("2", "valid number"), (True, "valid number")],
)
def test_a_weight_is_a_number_that_is_not_negative(weight: object, word: str) -> None:
    found = problem(rubric(weight=weight))
    assert found.startswith("rubric.json: $.criteria[0].weight: ")
    assert word in found


@pytest.mark.parametrize("weight", [b"NaN", b"1e999"])
def test_a_weight_that_no_json_number_can_hold_is_refused(weight: bytes) -> None:
    data = packed(rubric(weight=7)).replace(b"7", weight)
    (found,) = check_suite({**files(), "rubric.json": data}).problems
    assert found.path == "$.criteria[0].weight"


@pytest.mark.parametrize(
    ("changes", "where", "word"),
    [
        ({"says": [], "never": []}, "$.wording[0]", "requires nothing"),
        ({"says": ["\u2014 !"]}, "$.wording[0]", "has no word to search for"),
        ({"never": ["Two  Working\nDays"]}, "$.wording[0]", "`two working days` is both wanted"),
        ({"says": [""]}, "$.wording[0].says[0]", "at least 1 character"),
        ({"says": ["a", "a"]}, "$.wording[0].says", "`a` twice"),
        ({"episodes": []}, "$.wording[0].episodes", "at least 1 item"),
        ({"episodes": ["e-1", "e-1"]}, "$.wording[0].episodes", "`e-1` twice"),
        ({"episodes": ["e-1", "e-9"]}, "$.wording[0].episodes[1]", "no episodes/e-9.json"),
        ({"wordingId": "x"}, "$.wording[0].wordingId", "did you mean `wording_id`?"),
        ({"say": ["x"]}, "$.wording[0].say", "did you mean `says`?"),
        ({"says": "x"}, "$.wording[0].says", "should be a list, in [ ]"),
    ],
)
def test_wording_that_cannot_be_checked_is_refused(
    changes: dict[str, Any], where: str, word: str
) -> None:
    found = problem(rubric([{**WORDING, **changes}]))
    assert found.startswith(f"rubric.json: {where}: ")
    assert word in found


def test_each_wording_has_a_name_of_its_own() -> None:
    assert "`appeal` twice" in problem(rubric([WORDING, WORDING]))


def test_both_stand_in_the_published_schema() -> None:
    schema = json_schema("rubric")
    assert {"wording_id", "says", "never", "episodes"} == set(
        schema["$defs"]["WordingShape"]["properties"]
    )
    assert "weight" in schema["$defs"]["CriterionShape"]["properties"]
    json.dumps(schema, allow_nan=False)


@pytest.mark.parametrize(
    ("labels", "good"),
    [(("yes", "no"), {1}), (("No", "Yes"), {2}), (("fails", "passes"), {2}),
     (("grounded", "not grounded"), {1})],
)  # fmt: skip
def test_the_good_level_of_a_binary_criterion(labels: tuple[str, str], good: set[int]) -> None:
    levels = tuple(Level(value=number, label=label) for number, label in enumerate(labels, 1))
    criterion = Criterion(criterion_id="c", title="c", asks="c", scale="binary", levels=levels)
    assert good_levels(criterion) == good
