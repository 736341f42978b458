"""What attempts share: results found by the content of a value, and copies of values."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.running.memory import ByContent, copied

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)


def spoil(value: Any) -> None:
    """Change every list and object in a value."""
    if isinstance(value, dict):
        for part in value.values():
            spoil(part)
        value["spoiled"] = True
    elif isinstance(value, list):
        for part in value:
            spoil(part)
        value.append("spoiled")


@given(JSON)
def test_a_change_of_a_copy_does_not_reach_the_value(value: Any) -> None:
    before, made = copy.deepcopy(value), copied(value)
    assert repr(made) == repr(before)
    spoil(made)
    assert repr(value) == repr(before)


@given(JSON, JSON)
def test_a_result_is_that_of_the_value_itself(one: Any, other: Any) -> None:
    told = ByContent(repr)
    assert [told(one), told(other), told(one)] == [repr(one), repr(other), repr(one)]


def test_equal_values_are_worked_out_once_and_values_of_another_type_apart() -> None:
    asked: list[Any] = []
    told = ByContent(lambda value: asked.append(value) or repr(value))
    given_values = ({"a": 1}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": 1}, {1: "a"}, {"1": "a"})
    assert [told(value) for value in given_values] == [repr(value) for value in given_values]
    assert len(asked) == 5


def test_what_is_raised_is_raised_again() -> None:
    asked: list[Any] = []

    def refuse(value: Any) -> str:
        asked.append(value)
        raise ValueError(str(value))

    told = ByContent(refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="7"):
            told(7)
    assert asked == [7, 7]


def test_a_value_that_was_changed_is_another() -> None:
    told, value = ByContent(repr), {"a": [1]}
    assert told(value) == "{'a': [1]}"
    value["a"].append(2)
    assert told(value) == "{'a': [1, 2]}"
