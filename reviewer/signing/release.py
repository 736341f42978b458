"""The part of a decision about a release of several suites: its form, and its rules.

The decision is about the manifest of the first gate suite. Each other suite is identified by its
digest and the digests of its candidate's manifest, policy and report; whether all of them may be
promoted is checked from the facts that the part states about each.
"""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.signing.errors import StatementError, plain
from reviewer.signing.gate_rules import gate_body, gate_faults, order_fault, unpassed
from reviewer.signing.predicate import Predicate, Recommendation, Release, ReleaseSuite
from reviewer.signing.ran import code_faults, codes_of, ran_faults, ran_members
from reviewer.signing.tolerance import (
    StatedResult,
    failing_faults,
    rate_faults,
    tolerance_body,
)
from reviewer.suite.code import RanCode, codes_differ

if TYPE_CHECKING:
    from reviewer.signing.facts import ReleaseFact, ReleaseSuiteFact

if TYPE_CHECKING:
    from reviewer.suite.release import Release as Plan


class CandidateCode(NamedTuple):
    """The code of a candidate in a folder: the digest of its manifest there, and its own."""

    manifest_sha256: str
    sha256: str


class PinnedSuite(NamedTuple):
    """A suite as the pipeline pins it: its digest and that of its policy, and its hard_pass_rate
    and completion_min."""

    suite_sha256: str
    policy_sha256: str
    rates: tuple[str, str | None]


STRICTNESS: tuple[Recommendation, ...] = ("promote", "hold", "repair", "block")


def release_body(fact: ReleaseFact) -> dict[str, Any]:
    """Return the `release` member of a decision."""
    return {
        "name": fact.release_id,
        "candidateId": fact.candidate_id,
        "digest": {"sha256": fact.sha256},
        "recommendation": fact.recommendation,
        "reasons": list(fact.reasons),
        "suites": [_suite_body(one) for one in fact.suites],
    }


def _suite_body(one: ReleaseSuiteFact) -> dict[str, Any]:
    return {
        "name": one.suite_id,
        "digest": {"sha256": one.suite_sha256},
        "role": one.role,
        "candidateId": one.candidate_id,
        "candidate": {"name": one.subject, "digest": {"sha256": one.candidate_sha256}},
        "baseline": one.baseline_id,
        "policy": {"digest": {"sha256": one.policy_sha256}},
        "report": {
            "digest": {"sha256": one.report_sha256},
            "recommendation": one.recommendation,
            "reasons": list(one.reasons),
        },
        "gates": [gate_body(gate) for gate in one.gates],
        "criticalCount": one.critical,
        "failureCount": one.failing,
        "attempts": one.attempts,
        "passes": one.passes,
        **tolerance_body(one.tolerance),
        "frozenAtSeq": one.frozen_at_seq,
        "firstRunSeq": one.first_run_seq,
        "labelers": list(one.labelers),
        **({} if one.ran is None else ran_members(one.ran)),
    }


def plan_of(release: Release) -> Plan:
    """Return the release.json that a decision states it is about."""
    # Imported here, so that the verifier of a decision on one suite does not load the shapes of
    # files.
    from reviewer.suite.release import Release as Plan
    from reviewer.suite.release import ReleasedSuite

    return Plan(
        release_id=release.name,
        candidate_id=release.candidate_id,
        suites=tuple(
            ReleasedSuite(
                suite_id=one.name,
                role=one.role,
                candidate_id=one.candidate_id,
                baseline_id=one.baseline,
            )
            for one in release.suites
        ),
    )


def strictest(release: Release) -> Recommendation:
    """Return the strictest recommendation of the suites: for gate suites their own, for probes a
    block for a critical failure; and a hold where gate suites ran different codes of the same
    candidate."""
    parts: list[Recommendation] = ["promote"]
    for one in release.suites:
        if one.role == "gate":
            parts.append(one.report.recommendation)
        elif one.critical_count:
            parts.append("block")
    if codes_differ(_gate_codes(release)):
        parts.append("hold")
    return max(parts, key=STRICTNESS.index)


def check_release(predicate: Predicate, release: Release) -> None:
    """Check that the part is consistent with itself and with the decision around it.
    StatementError."""
    where = "statement: predicate.release"
    names = [one.name for one in release.suites]
    if len(set(names)) != len(names):
        raise StatementError(f"{where}.suites: a suite is named twice")
    gates = [one for one in release.suites if one.role == "gate"]
    if not gates:
        raise StatementError(f"{where}.suites: no suite has the role gate")
    own = gates[0]
    for what, stated, here in (
        ("suite", own.digest.sha256, predicate.suite.digest.sha256),
        ("policy", own.policy.digest.sha256, predicate.policy.digest.sha256),
        ("report", own.report.digest.sha256, predicate.report.digest.sha256),
        ("recommendation", own.report.recommendation, predicate.report.recommendation),
        ("reasons", own.report.reasons, predicate.report.reasons),
        ("account of what ran", own.resolved_dependencies, predicate.resolved_dependencies),
        ("account of how it ran", own.internal_parameters, predicate.internal_parameters),
    ):
        if stated != here:
            raise StatementError(f"{where}.suites: the first gate has another {what}")
    if release.recommendation != strictest(release):
        raise StatementError(f"{where}.recommendation: must be {strictest(release)}")
    if (digest := plan_of(release).digest) != release.digest.sha256:
        raise StatementError(f"{where}.digest: the suites it names have the digest {digest}")


def release_faults(release: Release) -> list[str]:
    """Return why a release may not be promoted."""
    faults = []
    if release.recommendation != "promote":
        faults.append(f"the release is {release.recommendation}, not promote")
    for one in release.suites:
        faults += [f"suite {plain(one.name)}: {fault}" for fault in _suite_faults(one)]
    if codes_differ(_gate_codes(release)):
        faults.append("its gates ran different codes of the candidate")
    return faults


def release_code_faults(
    release: Release, code: str | None, given: Mapping[str, CandidateCode] | None
) -> list[str]:
    """Return the gate suites that did not run the given code, or whose code is not known: `given`
    by suite, and where that is None the one `code` for all; nothing without either."""
    faults = []
    for one in release.suites if code is not None else ():
        if one.role != "gate":
            continue
        here = (given or {}).get(one.name)
        if given is None:
            told = ran_faults(one, code)
        elif here is None:
            told = ["no code of its candidate is given"]
        elif here.manifest_sha256 != one.candidate.digest.sha256:
            told = [
                f"the candidate's manifest in the folder given has the digest "
                f"{here.manifest_sha256}, and the one judged {one.candidate.digest.sha256}"
            ]
        else:
            told = ran_faults(one, here.sha256)
        faults += [f"suite {plain(one.name)}: {fault}" for fault in told]
    return faults


def release_pin_faults(release: Release, pinned: Mapping[str, PinnedSuite]) -> list[str]:
    """Return the suites that differ from the pinned ones, by name: each suite of a release is named
    by its id, which says nothing about its content."""
    faults = []
    for one in release.suites:
        pin = pinned.get(one.name)
        if pin is None:
            told = ["it is not among the suites given"]
        else:
            told = [
                f"the {what}'s digest is {found}, not the pinned one"
                for what, found, wanted in (
                    ("suite", one.digest.sha256, pin.suite_sha256),
                    ("policy", one.policy.digest.sha256, pin.policy_sha256),
                )
                if found != wanted
            ]
            told += rate_faults(one.tolerance, pin.rates)
        faults += [f"suite {plain(one.name)}: {fault}" for fault in told]
    return faults


def _gate_codes(release: Release) -> list[RanCode]:
    return [
        RanCode(tuple(codes_of(one)), tuple(ran.kinds if (ran := one.internal_parameters) else ()))
        for one in release.suites
        if one.role == "gate"
    ]


def _suite_faults(one: ReleaseSuite) -> list[str]:
    if one.role == "probe":
        return [f"{one.critical_count} critical failures"] if one.critical_count else []
    faults = [
        f"the report gives a reason against promotion: {reason}" for reason in one.report.reasons
    ]
    faults += gate_faults(one.gates) + unpassed(one.gates)
    if one.critical_count:
        faults.append(f"{one.critical_count} critical failures")
    faults += failing_faults(
        StatedResult(one.attempts, one.passes, one.failure_count, (), one.gates, one.tolerance)
    )
    faults += code_faults(one)
    if (fault := order_fault(one.frozen_at_seq, one.first_run_seq)) is not None:
        faults.append(fault)
    return faults


def release_words(release: Release) -> list[str]:
    """Return the lines that verification prints about a release of several suites."""
    head = f"release {release.name} of {len(release.suites)} suites: {release.recommendation}"
    return [
        head,
        *(
            f"  {one.role} {one.name}: {one.report.recommendation} {one.candidate.name}"
            f" (suite {one.digest.sha256[:12]}, report {one.report.digest.sha256[:12]})"
            for one in release.suites
        ),
    ]
