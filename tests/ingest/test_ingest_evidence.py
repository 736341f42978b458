"""The identity of evidence: what a record shows, less which slot it claims."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.scored import _slotless, digests

NAMES = ("schema", "episode_id", "candidate_id", "attempt", "started_at", "events", "final_state")


def evidence(raw: bytes) -> int:
    return digests(raw)[1]


@given(
    st.permutations(NAMES),
    st.integers(1, 99),
    st.text(max_size=6),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : ")]),
    st.sampled_from([None, 2, 14]),
)
def test_however_a_record_begins_its_evidence_is_what_is_left_without_its_slot(
    names: list[str], attempt: int, text: str, separators: tuple[str, str], indent: int | None
) -> None:
    nested = [{"tool": "t", "arguments": {"attempt": 7, "candidate_id": "x"}}]
    values = {"attempt": attempt, "events": nested}
    record = {name: values.get(name, text) for name in names}
    raw = json.dumps(record, separators=separators, indent=indent).encode()
    left = _slotless(raw)
    assert "attempt" not in json.loads(left)
    assert "candidate_id" not in json.loads(left)
    assert json.loads(left)["events"] == nested
    assert evidence(raw) == evidence(left)


def test_the_same_run_as_another_attempt_or_candidate_is_the_same_evidence() -> None:
    text = '{"episode_id": "e", "candidate_id": "%s", "attempt": %d, "events": [], "cost_usd": 0.1}'
    assert evidence((text % ("a", 1)).encode()) == evidence((text % ("b", 22)).encode())
    assert evidence((text % ("a", 1)).encode()) != evidence((text % ("a", 1)).encode() + b" ")


@pytest.mark.parametrize("member", ["episode_id", "cost_usd"])
def test_everything_else_is_evidence(member: str) -> None:
    record = {"episode_id": "e", "candidate_id": "a", "attempt": 1, "events": [], "cost_usd": 0.1}
    other = {**record, member: "other"}
    assert evidence(json.dumps(record).encode()) != evidence(json.dumps(other).encode())
