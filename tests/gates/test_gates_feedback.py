"""A user's thumbs-down is noted: it never fails an attempt, and nothing else in `source` counts."""

from typing import Any

import msgspec
import pytest
from gate_builders import episode, judge, trace
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.gates import GATES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


def source(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def notes(value: Any) -> list[str]:
    verdict = judge(episode(tools={"required": ["a"]}), trace("a", source=source(value)))
    assert verdict.passed is True
    assert verdict.results == ("pass",) * len(GATES)
    assert verdict.codes() == []
    assert all(finding.severity == "note" for finding in verdict.findings)
    return [finding.code for finding in verdict.findings]


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ({"user_feedback": "thumbs_down"}, ["thumbs_down"]),
        ({"user_feedback": "thumbs_down", "session": {"user_feedback": "thumbs_up"}},
         ["thumbs_down"]),
        ({"user_feedback": "thumbs_up"}, []),
        ({"user_feedback": None}, []),
        ({"user_feedback": "THUMBS_DOWN"}, ["feedback_unknown"]),
        ({"user_feedback": ["thumbs_down"]}, ["feedback_unknown"]),
        ({"said": {"user_feedback": "thumbs_down"}}, []),
        ({}, []),
        (None, []),
        ("thumbs_down", []),
        (["thumbs_down"], []),
    ],
)  # fmt: skip
def test_what_the_user_said_is_a_note(value: Any, codes: list[str]) -> None:
    assert notes(value) == codes


@given(JSON)
def test_no_source_changes_a_verdict(value: Any) -> None:
    assert set(notes(value)) <= {"thumbs_down", "feedback_unknown"}


def test_a_failing_attempt_fails_as_it_would_without() -> None:
    contract = episode(tools={"required": ["a"]})
    plain = judge(contract, trace("b"))
    judged = judge(contract, trace("b", source=source({"user_feedback": "thumbs_down"})))
    assert (judged.codes(), judged.results) == (plain.codes(), plain.results)
    assert "thumbs_down" in [finding.code for finding in judged.findings]
