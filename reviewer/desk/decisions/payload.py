"""The payload of a decision, derived from this store: for the first signer, and again for each
later one.

Every field is read from the report, the journal and the trust file. Only what the first signer
states (`SignerStatement`: the word, the time, the environment, the comment, the versions of the
tool) is taken from a decision by a later signer, who reads it before signing.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from reviewer.db import decisions, journal
from reviewer.db.connection import Connection
from reviewer.db.decisions import DecisionRow
from reviewer.db.queries.attempts import record_digests
from reviewer.desk.decisions.api import Pending
from reviewer.desk.decisions.choices import valid_for
from reviewer.desk.decisions.ran import ran_facts
from reviewer.desk.decisions.run_results import current_results
from reviewer.desk.decisions.suite_facts import (
    gate_facts,
    judge_facts,
    label_facts,
    policies_of,
    release_fact,
    tolerance_fact,
)
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import decision_files
from reviewer.desk.integrity.decision_files import DecisionFile
from reviewer.desk.integrity.trust import approvers_for, signers_of
from reviewer.desk.labels.book import Book
from reviewer.desk.place import Workspace
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.reports.release import BuiltRelease
from reviewer.desk.suites import policy_digest
from reviewer.exit_codes import ExitCode
from reviewer.report.assess import against_promotion
from reviewer.signing.dsse import mismatches
from reviewer.signing.errors import AttestError
from reviewer.signing.facts import (
    BreakGlassFact,
    DecisionFacts,
    FailureFact,
    LineageFact,
    RepeatabilityFact,
    ReviewerFact,
)
from reviewer.signing.predicate import Predicate, parse_time
from reviewer.signing.release import plan_of
from reviewer.signing.signers import Signers
from reviewer.signing.statement import build_statement
from reviewer.signing.tolerance import TOLERATED
from reviewer.signing.trusted import approved
from reviewer.stats.formulas import FORMULAS, UNNAMED
from reviewer.suite.release import Release


class SignerStatement(NamedTuple):
    """The fields that the first signer states. `journal_seq` is the last journal entry at that
    time; `previous` the payload of the decision before this one."""

    decision: str
    number: int
    previous: str | None
    created: datetime
    environment: str
    comment: str
    tool_version: str
    python_version: str
    journal_seq: int


def suites_of(built: CandidateReport, release: BuiltRelease | None = None) -> list[str]:
    """Return the ids of the suites that a decision is about."""
    reports = [built] if release is None else [one.built for one in release.suites]
    return [one.gathered.suite.suite_id for one in reports]


def decision_facts(
    connection: Connection,
    built: CandidateReport,
    told: SignerStatement,
    signers: Signers,
    book: Book,
    release: BuiltRelease | None = None,
) -> DecisionFacts:
    """Return every field of a decision, based on the first gate of `release` if there is one.
    Raises DeskError when the journal is shorter than stated, or when the trust file names too few
    approvers for the policies."""
    gathered, assessment = built.gathered, built.assessment
    policies = [gathered.suite.policy] if release is None else policies_of(release)
    suite, candidate = gathered.suite, gathered.candidate
    assert candidate is not None  # the caller refuses a candidate without a manifest
    cost = assessment.figures.cost
    made = sum(e.attempts for e in assessment.figures.episodes)
    threshold = 1
    if told.decision == "PROMOTE":
        threshold = max(policy.approvals.promote for policy in policies)
    limits = [policy.approvals.longest for policy in policies]
    longest = min((days for days in limits if days is not None), default=None)
    return DecisionFacts(
        decision=cast(Any, told.decision),
        decision_seq=told.number,
        previous_payload_sha256=told.previous,
        created=stamp(told.created),
        expires=stamp(told.created + min(valid_for(policy) for policy in policies)),
        environment=told.environment,
        tool_version=told.tool_version,
        python_version=told.python_version,
        candidate_manifest=gathered.manifest or {},
        candidate_sha256=candidate.digest,
        suite_id=suite.suite_id,
        suite_sha256=suite.digest,
        suite_episodes=len(suite.episodes),
        policy_uri=f"suites/{suite.suite_id}/suite.json#policy",
        policy_sha256=policy_digest(suite.policy),
        gates=gate_facts(assessment.figures.gates, suite.policy, made),
        repeatability=tuple(
            RepeatabilityFact(e.episode_id, suite.policy.pass_hat.k, e.attempts, e.passes)
            for e in assessment.figures.counted
        ),
        failures=tuple(
            FailureFact(
                trace.trace_id,
                trace.episode_id,
                trace.sha256,
                trace.codes,
                TOLERATED if told.decision == "PROMOTE" and not trace.critical else "open",
            )
            for trace in against_promotion(gathered.failures)
        ),
        tolerance=tolerance_fact(suite.policy, made),
        report_sha256=built.digest,
        recommendation=assessment.recommendation,
        reasons=tuple(reason.text for reason in assessment.reasons),
        baseline_id=gathered.baseline_id,
        formulas=FORMULAS,
        journal_seq=told.journal_seq,
        journal_head=head_at(connection, told.journal_seq),
        threshold=threshold,
        max_days=longest,
        reviewers=_reviewers(signers, candidate.authors, threshold),
        total_micros=None if cost.total_usd is None else round(cost.known_nano / 1000),
        frozen_at_seq=gathered.frozen_seq,
        first_run_seq=gathered.first_run_seq,
        lineage=tuple(
            LineageFact(one.suite_id, one.digest, one.reason or "", one.reviewer or "")
            for one in gathered.lineage
        ),
        break_glass=tuple(
            BreakGlassFact(
                payload_sha256=one.payload_sha256,
                principal=one.principal,
                candidate=one.candidate_id,
                environment=one.environment,
                created=one.at,
                expires=one.expires,
                reason=one.reason,
            )
            for one in gathered.break_glass
        ),
        input_attestations=tuple(one.uid for one in current_results(connection, built)),
        evidence_uri=f"{journal.uri(connection)}#{suite.suite_id}/{gathered.candidate_id}",
        evidence_sha256=_evidence_digest(connection, built),
        ran=ran_facts(gathered),
        judges=judge_facts(gathered.judge),
        labels=label_facts(connection, built, book),
        release=None if release is None else release_fact(connection, release, book),
        comment=told.comment.strip(),
    )


def head_at(connection: Connection, seq: int) -> str:
    """Return the hash of a journal entry, hex. Raises DeskError when this journal has no entry of
    that number."""
    if seq == 0:
        return journal.GENESIS.hex()
    found = journal.hash_at(connection, seq)
    if found is None:
        raise DeskError(
            f"predicate.audit.seq: the decision was made at journal entry {seq}, which this "
            "store's journal does not have yet",
            "merge or restore the store where the decision was made, then sign",
        )
    return found


def stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _reviewers(
    signers: Signers, authors: tuple[str, ...], threshold: int
) -> tuple[ReviewerFact, ...]:
    """Return everyone who may approve: named before the first signature, so that all sign the same
    bytes."""
    keys = approvers_for(signers, authors)
    people = {one.principal for one in keys}
    if len(people) < threshold:
        named = f": {', '.join(sorted(people))}" if people else ""
        raise DeskError(
            f"the policy requires {threshold} approvers, and the trust file names {len(people)} "
            f"who {'is' if len(people) == 1 else 'are'} not an author of the candidate{named}",
            "reviewer keys trust PRINCIPAL KEY.pub adds one",
            exit_code=ExitCode.POLICY_NOT_MET,
        )
    return tuple(ReviewerFact(one.principal, one.key.keyid) for one in keys)


def _evidence_digest(connection: Connection, built: CandidateReport) -> str:
    """Return one digest over the judged records: their sha256 in order of slot."""
    gathered = built.gathered
    digests = record_digests(connection, gathered.suite.suite_id, gathered.candidate_id)
    return hashlib.sha256("".join(one + "\n" for one in digests).encode()).hexdigest()


BuildReport = Callable[[str | None], CandidateReport]
"""Builds the report of the candidate against a baseline."""

BuildRelease = Callable[[Release], BuiltRelease]
"""Builds the reports of a release of several suites."""


class DerivedReports(NamedTuple):
    """The report that a decision is about, and the release around it, where there is one."""

    built: CandidateReport
    release: BuiltRelease | None


def derived_reports(
    predicate: Predicate, build: BuildReport, build_release: BuildRelease
) -> DerivedReports:
    """Build the reports that a decision is about again."""
    if predicate.release is None:
        return DerivedReports(build(predicate.report.baseline), None)
    release = build_release(plan_of(predicate.release))
    return DerivedReports(release.first, release)


class WaitingDecision(NamedTuple):
    """A decision that waits for another signature; `row` is None when it was made elsewhere."""

    one: DecisionFile
    row: DecisionRow | None


def derived_payload(
    workspace: Workspace,
    connection: Connection,
    built: CandidateReport,
    signers: Signers,
    book: Book,
    one: DecisionFile,
    release: BuiltRelease | None = None,
) -> bytes:
    """Return the payload that this store derives. Raises DeskError or AttestError where it cannot
    derive one."""
    predicate = one.statement.predicate
    others = [
        other
        for other in decision_files.foreign_decisions(workspace, connection, signers)
        if other.digest != one.digest
    ]
    row = decisions.by_payload(connection, one.digest)
    number = row.number if row is not None else decision_files.next_number(connection, others)
    told = SignerStatement(
        decision=predicate.decision,
        number=number,
        previous=decision_files.previous_payload(
            connection, others, one.agent, one.environment, number
        ),
        created=parse_time(predicate.time_created),
        environment=predicate.environment,
        comment=predicate.comment or "",
        tool_version=predicate.verifier.version.reviewer,
        python_version=predicate.verifier.version.python,
        journal_seq=predicate.audit.seq,
    )
    return build_statement(decision_facts(connection, built, told, signers, book, release))


def older_formulas(one: DecisionFile) -> str:
    """Return what to say of a decision made under another version of the formulas, "" otherwise.
    Its signatures are valid, but this version cannot derive it again to add one."""
    made = one.statement.predicate.report.formulas or UNNAMED
    if made == FORMULAS:
        return ""
    kind = "older" if made < FORMULAS else "newer"
    return f"made under {kind} formulas (version {made}; here {FORMULAS}): sign it again"


def waiting_decisions(
    workspace: Workspace, connection: Connection, candidate: int, built: CandidateReport
) -> list[WaitingDecision]:
    """Return the decisions on this candidate that wait for another signature, newest first: those
    of this store, and files that came from others. An expired decision no longer waits."""
    rows = decisions.pending(connection, candidate)
    if not rows and not decision_files.unlisted_files(workspace, connection):
        return []  # the usual case: signing modules are not loaded
    signers = signers_of(workspace)
    if signers is None:
        return []
    found = []
    for row in rows:
        try:
            filed = decision_files.parse_decision(
                workspace.decisions / row.file, row.envelope, signers
            )
        except AttestError:
            continue  # its keys were removed from the trust file
        found.append(WaitingDecision(filed, row))
    digest = built.gathered.candidate.digest if built.gathered.candidate else None
    found += [
        WaitingDecision(one, None)
        for one in decision_files.foreign_decisions(workspace, connection, signers)
        if one.statement.subject[0].digest.sha256 == digest
        and one.statement.predicate.suite.digest.sha256 == built.gathered.suite.digest
        and decision_files.approval_state(one) == "pending"
    ]
    now = datetime.now(UTC)
    alive = [each for each in found if parse_time(each.one.statement.predicate.expires) > now]
    return sorted(alive, key=lambda each: each.one.number, reverse=True)


def pending_view(
    workspace: Workspace,
    connection: Connection,
    build: BuildReport,
    build_release: BuildRelease,
    book: Book,
    candidate: int,
    built: CandidateReport,
) -> Pending | None:
    """Return the newest waiting decision, with the fields in which it differs from what this store
    derives."""
    found = waiting_decisions(workspace, connection, candidate, built)
    signers = signers_of(workspace)
    if not found or signers is None:
        return None
    one = found[0].one
    predicate = one.statement.predicate
    who = approved(predicate, one.found)
    differs = [older] if (older := older_formulas(one)) else []
    try:
        if not differs:
            against = derived_reports(predicate, build, build_release)
            ours = derived_payload(
                workspace, connection, against.built, signers, book, one, against.release
            )
            differs = mismatches(one.found.envelope.payload, ours)
    except (AttestError, DeskError) as error:
        differs = [str(error)]
    return Pending(
        number=one.number,
        decision=predicate.decision,
        signers=who.approvers,
        needed=who.needed,
        environment=predicate.environment,
        created=predicate.time_created,
        expires=predicate.expires,
        comment=predicate.comment or "",
        path=str(one.path),
        differs=tuple(differs),
    )


def refuse_duplicate(
    workspace: Workspace,
    connection: Connection,
    built: CandidateReport,
    signers: Signers,
    book: Book,
    decision: str,
    environment: str,
    release: BuiltRelease | None = None,
) -> None:
    """Raise DeskError when the same decision already waits for a signature: two decisions with one
    signature each would never be complete."""
    candidate = decision_files.keys_of(connection, built.gathered)[1]
    for one, _ in waiting_decisions(workspace, connection, candidate, built):
        predicate = one.statement.predicate
        if (predicate.decision, predicate.environment) != (decision, environment):
            continue
        try:
            ours = derived_payload(workspace, connection, built, signers, book, one, release)
        except (AttestError, DeskError):
            continue
        if ours == one.found.envelope.payload:
            who = ", ".join(approved(predicate, one.found).approvers)
            raise DeskError(
                f"the same decision exists as decision {one.number} and waits for a signature "
                f"(signed by {who or 'nobody who counts'})",
                f"reviewer sign --add {one.number} --key KEY",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
