"""The filter language: what is written can be read back, and every error names its place."""

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.db.queries.filters import (
    CATEGORIES,
    GATE_WORDS,
    NUMBERS,
    OPS,
    TEXTS,
    FilterError,
    Term,
    completions,
    parse_filter,
    quoted,
    words_of_filter,
)
from reviewer.suite.gates import GATES

values = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
numbers = st.floats(0, 1e6, allow_nan=False).map(lambda number: round(number, 4))


@st.composite
def terms(draw: st.DrawFn) -> Term:
    negated = draw(st.booleans())
    field = draw(st.sampled_from((*TEXTS, *NUMBERS, "word")))
    if field == "gate":
        gate, result = draw(st.sampled_from(GATES)), draw(st.sampled_from(GATE_WORDS))
        return Term(field, ":", gate, result=result, negated=negated)
    if field == "category":
        return Term(field, ":", draw(st.sampled_from(CATEGORIES)), negated=negated)
    if field in NUMBERS:
        number = draw(numbers)
        op = draw(st.sampled_from(OPS))
        return Term(field, op, f"{number:.4f}", float(f"{number:.4f}"), negated=negated)
    return Term(field, ":", draw(values), negated=negated)


def written(term: Term) -> str:
    """A term as somebody would type it, everything in quotes that may be."""
    sign = "-" if term.negated else ""
    if term.field == "word":
        inner = term.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{sign}"{inner}"'
    value = f"{term.value}:{term.result}" if term.result else quoted(term.value)
    return f"{sign}{term.field}{term.op}{value}"


@given(st.lists(terms(), max_size=8), st.sampled_from((" ", "  ", "\t")))
def test_what_is_written_is_read_back(wanted: list[Term], gap: str) -> None:
    assert parse_filter(gap.join(map(written, wanted))) == tuple(wanted)


ALPHABET = string.ascii_lowercase[:6] + ':<>=-"\\ $.0179' + "gatecost"


def read(text: str) -> tuple[tuple[Term, ...], FilterError | None]:
    try:
        return parse_filter(text), None
    except FilterError as error:
        return (), error


@given(st.one_of(st.text(ALPHABET, max_size=30), st.text(max_size=30)))
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    found, refused = read(text)
    if refused is not None:
        assert 1 <= refused.place <= len(text) + 1
        assert f"character {refused.place}:" in str(refused)
        return
    assert len(found) == len(words_of_filter(text))
    for term in found:
        assert term.number is None or (math.isfinite(term.number) and term.number >= 0)


@given(st.text(ALPHABET, max_size=20))
def test_what_is_offered_goes_on_from_what_was_typed(text: str) -> None:
    known = {"tag": ("refund", "two words"), "tool": ("issue_refund",)}
    for offer in completions(text, known):
        if offer[-1] not in ":>":  # a whole condition
            parse_filter(offer)


def test_each_field_takes_its_values() -> None:
    text = (
        'gate:authority:n/m tool:x code:a:b -tag:"two words" cost>=$0.05 latency<1.5min pass:n/m w'
    )
    assert parse_filter(text) == (
        Term("gate", ":", "authority", result="n/m"),
        Term("tool", ":", "x"),
        Term("code", ":", "a:b"),
        Term("tag", ":", "two words", negated=True),
        Term("cost", ">=", "$0.05", 0.05),
        Term("latency", "<", "1.5min", 90.0),
        Term("pass", "=", "n/m"),
        Term("word", ":", "w"),
    )
    assert parse_filter('"-w" "tag:x"') == (Term("word", ":", "-w"), Term("word", ":", "tag:x"))


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("gate:auth", 6, "authority"),
        ("tag:a gate:authority:bad", 22, "n/m"),
        ("mood:good", 1, "fields are"),
        ("-mood:good", 2, "fields are"),
        ("tag:", 5, "needs a value"),
        ("cost:5", 5, "cost>5"),
        ("cost>", 6, "not a number"),
        ("cost>nan", 6, "not a number"),
        ("cost>-1", 6, "not a number"),
        ("cost>1_0", 6, "not a number"),
        ("steps>1s", 7, "not a number"),
        ("gate>1", 5, "gate:1"),
        ("category:odd", 10, "negative"),
        ('a tag:"b c', 3, "not closed"),
        ('""', 1, "the quotes are empty"),
        (" ".join("a" * 33), 1, "at most 32"),
    ],
)
def test_an_error_names_the_place_and_what_may_stand_there(
    text: str, place: int, says: str
) -> None:
    with pytest.raises(FilterError) as told:
        parse_filter(text)
    assert told.value.place == place
    assert says in str(told.value)


def test_completion_knows_gates_results_and_what_the_store_holds() -> None:
    known = {"tag": ("refund", "re open")}
    assert completions("gate:au", {}) == ("gate:authority",)
    assert completions("x -gate:authority:", {})[0] == "-gate:authority:fail"
    assert completions("tag:re", known) == ("tag:refund", 'tag:"re open"')
    assert completions("co", {}) == ("code:", "cost>")
    assert completions("tag:a ", {}) == completions("", {})
