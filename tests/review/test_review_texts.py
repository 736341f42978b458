"""Text checks: against outside oracles, with care for negation, and safe on hostile text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.review.wording import compare_texts
from reviewer.suite.wording import LONGEST, phrase_use

CASES = json.loads(
    (Path(__file__).parents[1] / "data" / "oracles" / "statistics.json").read_text("utf-8")
)["cases"]
RISK = "bleeding risk"


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["function"] == "indel_ratio"], ids=lambda c: c["id"]
)
def test_the_indel_ratio_is_the_oracles(case: dict[str, dict[str, str]]) -> None:
    found = compare_texts(case["inputs"]["a"], case["inputs"]["b"])
    assert found.indel == pytest.approx(case["expected"], abs=1e-12)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["function"] == "squad_f1"], ids=lambda c: c["id"]
)
def test_token_f1_is_that_of_squad(case: dict[str, dict[str, str]]) -> None:
    found = compare_texts(case["inputs"]["prediction"], case["inputs"]["reference"])
    assert found.token_f1 == pytest.approx(case["expected"], abs=1e-12)


def test_exact_is_the_same_words_in_the_same_order() -> None:
    assert compare_texts("  Take two.\n", "take two.").exact
    assert not compare_texts("two take.", "take two.").exact


@given(st.text(max_size=30), st.text(max_size=30))
def test_comparing_is_symmetric_and_between_nothing_and_all(a: str, b: str) -> None:
    one, other = compare_texts(a, b), compare_texts(b, a)
    assert one == other
    assert one.indel is not None
    assert 0 <= one.indel <= 1
    assert 0 <= one.token_f1 <= 1
    assert compare_texts(a, a).indel == compare_texts(a, a).token_f1 == 1


def test_texts_too_long_for_edits_are_not_measured() -> None:
    assert compare_texts("x" * (LONGEST + 1), "x").indel is None
    assert compare_texts("x" * (LONGEST + 1), "x").token_f1 == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "There is a bleeding risk.",
        "BLEEDING\n  Risk!",
        "bleeding\u200b risk",
        "No, there is a bleeding risk.",
        "Not only a bleeding risk, but also nausea.",
        "Without doubt a bleeding risk.",
        "We cannot rule out a bleeding risk.",
        "A bleeding risk cannot be excluded.",
        "This is not without bleeding risk.",
        "No pain. Bleeding risk.",
        "There is no cure\n\nbleeding risk: high",
        "It is not a cure, bleeding risk remains.",
        "It doesn't help, but bleeding risk rises.",
        "No bleeding risk with A; with B there is a bleeding risk.",
        "bleeding risk is not only high",
        "bleeding risk has been reported",
        "bleeding risk: no question about it",
    ],
)
def test_what_is_said_is_found(text: str) -> None:
    assert phrase_use(text, RISK) == "found"


@pytest.mark.parametrize(
    "text",
    [
        "There is no bleeding risk.",
        "no\nbleeding risk",
        "I don’t see any bleeding risk",
        "It does not increase the bleeding risk.",
        "Without any bleeding risk.",
        "free of bleeding risk",
        "No pain, nausea, vomiting, dizziness, fever or bleeding risk.",
        "There is no stroke risk and no bleeding risk.",
        "The bleeding risk isn't there.",
        "Bleeding risk was ruled out.",
        "Bleeding risk has not been found.",
        "bleeding risk: none",
        "Bleeding risk - no. Nausea - yes.",
        "No bleeding risk, never a bleeding risk.",
    ],
)
def test_what_is_denied_is_not_found(text: str) -> None:
    assert phrase_use(text, RISK) == "negated"


@pytest.mark.parametrize("text", ["", "bleeding risks", "risk of bleeding", "unbleeding risk"])
def test_other_words_are_absent(text: str) -> None:
    assert phrase_use(text, RISK) == "absent"


def test_a_phrase_that_denies_something_itself_is_found_as_it_stands() -> None:
    assert phrase_use("We cannot issue a refund today.", "cannot issue a refund") == "found"
    assert phrase_use("It costs $5.", "$5") == "found"


def test_a_phrase_needs_a_word() -> None:
    for phrase in ("", "  ", "—", "\u200b"):
        with pytest.raises(ValueError, match="needs a letter or a digit"):
            phrase_use("text", phrase)


@given(st.text(max_size=60), st.text("ab .(\\+[", min_size=1).filter(lambda t: "a" in t))
def test_any_phrase_in_any_text_has_an_answer(text: str, phrase: str) -> None:
    use = phrase_use(text, phrase)
    assert use in ("found", "negated", "absent")
    assert phrase_use(f"{text} . {phrase} . {text}", phrase) == "found"


def test_hostile_text_takes_no_time_and_longer_text_is_not_looked_into() -> None:
    for text in ("no x " * 20_000, "\n" * 100_000, "x'" * 50_000, "no " * 33_000):
        assert phrase_use(text, "x") in ("found", "negated", "absent")
    assert phrase_use("x" * (LONGEST + 1), "x") is None
    assert phrase_use("no x", "x") == "negated"
