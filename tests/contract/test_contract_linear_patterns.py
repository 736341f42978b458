"""Patterns are searched for in bounded steps, and find what `re` finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.linear_patterns import OutOfSteps, Pattern, Steps, Unbounded

_ATOMS = st.sampled_from(
    [
        *("a", "b", "A", "é", ".", r"\d", r"\w", r"\S", "[ab]", "[^a]", "[a-c1]"),
        *("^", "$", r"\b", r"\B", r"\A", r"\Z", "(?=a)", "(?!b)", "(?!)", "(?<=a)", "(?<!ab)"),
        *("(?i:a)", "(?s:.)", "(?m:^a$)"),
    ]
)
_MORE = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0}"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda part: (
        st.tuples(part, part).map("".join)
        | st.tuples(part, part).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(part, _MORE).map(lambda one: f"({one[0]}){one[1]}")
    ),
    max_leaves=8,
)


@given(_PATTERNS, st.text(alphabet="aabbcA1 \né_", max_size=8))
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    assert Pattern(pattern).search(text, Steps(10**6)) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "^(?=(a+)+$).*!$", "(x+x+)+y"]
)
def test_no_pattern_takes_steps_that_double(pattern: str) -> None:
    text = "a" * 2_000 + "x" * 2_000 + "!"
    assert not Pattern(pattern).search(text, Steps(2_000 * len(text)))


def test_a_text_that_takes_more_steps_than_it_may_is_left() -> None:
    with pytest.raises(OutOfSteps):
        Pattern(r"\s+$").search(" " * 10_000, Steps(10_000))


@pytest.mark.parametrize("pattern", [r"^(a*)\1$", "(?>a+)b", "a++b", "((a{100}){100}){100}"])
def test_what_has_no_bound_is_named(pattern: str) -> None:
    with pytest.raises(Unbounded):
        Pattern(pattern)
