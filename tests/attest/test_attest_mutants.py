"""Mutants of a signed decision: refused, or the very same decision. None crashes the verifier."""

from collections import Counter

import pytest
from mutants import Mutants

from reviewer.signing.dsse import parse_envelope

HARMLESS = {"same_meaning", "signatures_mixed", "ssh_signature"}
"""Operators that sometimes leave the decision what it was."""
NEVER = {
    "member_written_twice", "type_of_the_payload", "member_of_the_payload", "payload_spelt_anew",
    "payload_of_another_decision", "signature_bent", "signed_by_others", "signed_alone",
}  # fmt: skip


def judged(seed: int, count: int) -> tuple[Counter[str], Counter[str]]:
    """(made, accepted) by operator; every accepted one has been found to be the same payload."""
    mutants, made, accepted = Mutants(seed), Counter[str](), Counter[str]()
    assert mutants.desk.verify(mutants.good).exit_code == 0
    for name, mutant in mutants.make(count):
        made[name] += 1
        result = mutants.desk.verify(mutant)
        if result.decision is None:
            assert result.exit_code in (20, 30)
            continue
        assert result.exit_code == 0
        assert parse_envelope(mutant).payload == mutants.payload, (name, mutant)
        accepted[name] += 1
    return made, accepted


def check(made: Counter[str], accepted: Counter[str]) -> None:
    assert len(made) == 15
    assert accepted["same_meaning"] == made["same_meaning"]
    assert {name for name in HARMLESS if not accepted[name]} == set(), "the harness sleeps"
    assert {name: accepted[name] for name in NEVER if accepted[name]} == {}
    assert accepted.total() < made.total() / 4


def test_thousands_of_mutants_are_refused_or_the_same_decision() -> None:
    check(*judged(seed=11, count=600))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_tens_of_thousands_of_mutants(seed: int) -> None:
    made, accepted = judged(seed=1000 + seed, count=15_000)
    check(made, accepted)
