"""The facts of a decision by suite: gates, labels, judge; and those of a release of several
suites."""

from collections.abc import Iterable
from typing import Any, cast

from reviewer.db.connection import Connection
from reviewer.desk.decisions.ran import ran_facts
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.reports.release import BuiltRelease, BuiltSuite
from reviewer.desk.suites import policy_digest
from reviewer.report.figures import GateFigures
from reviewer.report.formatting import exact
from reviewer.report.opinions import JudgeEvidence
from reviewer.report.release import SuiteResult
from reviewer.report.tolerated import allowed_at
from reviewer.review.labels import label_line
from reviewer.signing.facts import (
    GateFact,
    JudgeFact,
    LabelFacts,
    ReleaseFact,
    ReleaseSuiteFact,
    ToleranceFact,
    merkle_root,
)
from reviewer.signing.manifests import subject_name
from reviewer.suite.model import Policy


def judge_facts(judge: JudgeEvidence | None) -> tuple[JudgeFact, ...]:
    """Return the judge as a decision states it: its confusion with people in forward order, where
    the left message is the positive one and an unusable answer is wrong."""
    section = None if judge is None else judge.section
    if section is None or section.prompt_digest is None or section.label_set_sha256 is None:
        return ()
    cells = {"tp": 0, "fp": 0, "tn": 0, "fn": 0}
    for cell in section.confusion:
        right = cell.judge == ("tie" if cell.people == "both_bad" else cell.people)
        if cell.people == "left":
            cells["tp" if right else "fn"] += cell.pairs
        else:
            cells["tn" if right else "fp"] += cell.pairs
    return (
        JudgeFact(
            id=section.judge_id,
            version=f"{section.version} by {section.model}",
            prompt_sha256=section.prompt_digest,
            n=section.estimates.forward_accuracy.n,
            label_set_sha256=section.label_set_sha256,
            **cells,
        ),
    )


def gate_facts(gates: Iterable[GateFigures], policy: Policy, made: int) -> tuple[GateFact, ...]:
    """Return the gates of a report as a decision states them, over `made` attempts."""
    return tuple(_gate_fact(gate, policy, made) for gate in gates)


def _gate_fact(gate: GateFigures, policy: Policy, made: int) -> GateFact:
    allowed = allowed_at(policy, gate.gate, made)
    failed = gate.against > allowed
    result = "FAILED" if failed else "NOT_RUN" if gate.open or not gate.passed else "PASSED"
    return GateFact(gate.gate, cast(Any, result), True, allowed, gate.against)


def tolerance_fact(policy: Policy, made: int) -> ToleranceFact | None:
    """Return the policy's rates where they are below one; None where it requires that all pass."""
    if exact(policy.hard_pass_rate) == 1:
        return None
    least = policy.completion_min
    return ToleranceFact(str(policy.hard_pass_rate), None if least is None else str(least), made)


def policies_of(release: BuiltRelease) -> list[Policy]:
    """Return the policies of the gates of a release."""
    return [one.built.gathered.suite.policy for one in release.suites if one.suite.role == "gate"]


def release_fact(connection: Connection, release: BuiltRelease, book: Book) -> ReleaseFact:
    """Return a release of several suites as a decision states it."""
    report = release.report
    return ReleaseFact(
        release_id=report.release_id,
        candidate_id=report.candidate_id,
        sha256=report.release_digest,
        recommendation=report.recommendation,
        reasons=report.reasons,
        suites=tuple(
            _release_suite(connection, one, result, book)
            for one, result in zip(release.suites, report.suites, strict=True)
        ),
    )


def _release_suite(
    connection: Connection, one: BuiltSuite, result: SuiteResult, book: Book
) -> ReleaseSuiteFact:
    gathered, figures = one.built.gathered, one.built.assessment.figures
    policy, made = gathered.suite.policy, sum(each.attempts for each in figures.episodes)
    assert gathered.candidate is not None  # the caller refuses a candidate without a manifest
    return ReleaseSuiteFact(
        suite_id=result.suite_id,
        suite_sha256=result.suite_digest,
        role=result.role,
        candidate_id=result.candidate_id,
        subject=subject_name(gathered.manifest or {}),
        candidate_sha256=gathered.candidate.digest,
        baseline_id=one.suite.baseline_id,
        policy_sha256=policy_digest(policy),
        report_sha256=result.report_sha256,
        recommendation=result.recommendation,
        reasons=result.reasons,
        gates=gate_facts(figures.gates, policy, made),
        critical=result.critical,
        failing=result.failing,
        attempts=sum(each.attempts for each in figures.counted),
        passes=sum(each.passes for each in figures.counted),
        tolerance=tolerance_fact(policy, made),
        frozen_at_seq=gathered.frozen_seq,
        first_run_seq=gathered.first_run_seq,
        labelers=label_facts(connection, one.built, book).labelers,
        ran=ran_facts(gathered),
    )


def label_facts(connection: Connection, built: CandidateReport, book: Book) -> LabelFacts:
    """Return the facts about labels of this candidate. The tree covers every label ever made, in
    order of uid; a person who withdrew a label still counts as a labeler, one who labeled in
    another tool does not."""
    gathered, review = built.gathered, built.gathered.review
    about = sorted(
        (
            label
            for label in book.of(connection, gathered.suite.digest)
            if gathered.candidate_id in candidates_of(label)
        ),
        key=lambda label: label.uid,
    )
    seen = review.reviewers if review is not None else ()
    return LabelFacts(
        count=review.labels if review is not None else 0,
        labelers=tuple(
            sorted({*seen, *(label.reviewer for label in about if label.kind != "attempt")})
        ),
        merkle_root=merkle_root([label_line(label) for label in about]) if about else None,
        tree_size=len(about),
        disagreements=review.disagreements_open if review is not None else 0,
        files=gathered.label_files,
    )
