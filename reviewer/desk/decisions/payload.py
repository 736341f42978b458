"""The payload of a decision, made from this store: for the first signer, and again for the next.

Every field is read from the report, the journal and the trust file. Only what the first signer
states (`SignerStatement`: the word, the time, the environment, the comment, the versions of the
tool) is taken from a decision by the next signer, who reads it before signing.
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
from reviewer.desk.decisions.run_results import current_results
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import decision_files
from reviewer.desk.integrity.decision_files import DecisionFile
from reviewer.desk.integrity.trust import approvers_for, signers_of
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.place import Workspace
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.suites import policy_digest
from reviewer.exit_codes import ExitCode
from reviewer.report.assess import against_promotion
from reviewer.report.figures import GateFigures
from reviewer.report.formatting import exact
from reviewer.report.opinions import JudgeEvidence
from reviewer.report.tolerated import allowed_at
from reviewer.review.labels import label_line
from reviewer.signing.dsse import mismatches
from reviewer.signing.errors import AttestError
from reviewer.signing.facts import (
    BreakGlassFact,
    DecisionFacts,
    FailureFact,
    GateFact,
    JudgeFact,
    LabelFacts,
    LineageFact,
    RepeatabilityFact,
    ReviewerFact,
    ToleranceFact,
    merkle_root,
)
from reviewer.signing.predicate import parse_time
from reviewer.signing.signers import Signers
from reviewer.signing.statement import build_statement
from reviewer.signing.tolerance import TOLERATED
from reviewer.signing.trusted import approved
from reviewer.stats.formulas import FORMULAS, UNNAMED
from reviewer.suite.model import Policy


def judge_facts(judge: JudgeEvidence | None) -> tuple[JudgeFact, ...]:
    """Return the judge as a decision carries it: its confusion with people in forward order, where
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


class SignerStatement(NamedTuple):
    """The fields that the first signer states. `journal_seq` is the last journal entry then;
    `previous` the payload of the decision before this one."""

    decision: str
    number: int
    previous: str | None
    created: datetime
    environment: str
    comment: str
    tool_version: str
    python_version: str
    journal_seq: int


def decision_facts(
    connection: Connection,
    built: CandidateReport,
    told: SignerStatement,
    signers: Signers,
    book: Book,
) -> DecisionFacts:
    """Return every field of a decision. Raises DeskError when the journal is shorter than stated,
    or when the trust file names too few approvers for the policy."""
    gathered, assessment = built.gathered, built.assessment
    suite, candidate = gathered.suite, gathered.candidate
    assert candidate is not None  # refused by the caller otherwise
    cost = assessment.figures.cost
    made = sum(e.attempts for e in assessment.figures.episodes)
    threshold = suite.policy.approvals.promote if told.decision == "PROMOTE" else 1
    return DecisionFacts(
        decision=cast(Any, told.decision),
        decision_seq=told.number,
        previous_payload_sha256=told.previous,
        created=stamp(told.created),
        expires=stamp(told.created + valid_for(suite.policy)),
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
        gates=tuple(_gate_fact(gate, suite.policy, made) for gate in assessment.figures.gates),
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
        tolerance=_tolerance(suite.policy, made),
        report_sha256=built.digest,
        recommendation=assessment.recommendation,
        reasons=tuple(reason.text for reason in assessment.reasons),
        baseline_id=gathered.baseline_id,
        formulas=FORMULAS,
        journal_seq=told.journal_seq,
        journal_head=head_at(connection, told.journal_seq),
        threshold=threshold,
        max_days=suite.policy.approvals.longest,
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
        judges=judge_facts(gathered.judge),
        labels=_label_facts(connection, built, book),
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
            f"predicate.audit.seq: the decision was made at journal entry {seq}, and this store's "
            "journal is shorter",
            "bring this store up to where the decision was made, or take a backup of that one",
        )
    return found


def stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _reviewers(
    signers: Signers, authors: tuple[str, ...], threshold: int
) -> tuple[ReviewerFact, ...]:
    """Return all who may approve: named before the first signature, so that everyone signs the same
    bytes."""
    keys = approvers_for(signers, authors)
    people = {one.principal for one in keys}
    if len(people) < threshold:
        named = f": {', '.join(sorted(people))}" if people else ""
        raise DeskError(
            f"the policy requires {threshold} approvers, and the trust file names {len(people)} "
            f"who {'is' if len(people) == 1 else 'are'} no author of the candidate{named}",
            "reviewer keys trust PRINCIPAL KEY.pub adds one",
            exit_code=ExitCode.POLICY_NOT_MET,
        )
    return tuple(ReviewerFact(one.principal, one.key.keyid) for one in keys)


def _gate_fact(gate: GateFigures, policy: Policy, made: int) -> GateFact:
    allowed = allowed_at(policy, gate.gate, made)
    failed = gate.against > allowed
    result = "FAILED" if failed else "NOT_RUN" if gate.open or not gate.passed else "PASSED"
    return GateFact(gate.gate, cast(Any, result), True, allowed, gate.against)


def _tolerance(policy: Policy, made: int) -> ToleranceFact | None:
    """Return the policy's rates where they are below one; None where it asks for all."""
    if exact(policy.hard_pass_rate) == 1:
        return None
    least = policy.completion_min
    return ToleranceFact(str(policy.hard_pass_rate), None if least is None else str(least), made)


def _evidence_digest(connection: Connection, built: CandidateReport) -> str:
    """Return one digest over the records judged: their sha256 in order of slot."""
    gathered = built.gathered
    digests = record_digests(connection, gathered.suite.suite_id, gathered.candidate_id)
    return hashlib.sha256("".join(one + "\n" for one in digests).encode()).hexdigest()


def _label_facts(connection: Connection, built: CandidateReport, book: Book) -> LabelFacts:
    """Return the facts about labels of this candidate. The tree covers every label ever made, in
    order of uid; a person who withdrew a label is still a labeler."""
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
        labelers=tuple(sorted({*seen, *(label.reviewer for label in about)})),
        merkle_root=merkle_root([label_line(label) for label in about]) if about else None,
        tree_size=len(about),
        disagreements=review.disagreements_open if review is not None else 0,
        files=gathered.label_files,
    )


BuildReport = Callable[[str | None], CandidateReport]
"""Builds the report of the candidate against a baseline."""


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
) -> bytes:
    """Return the payload that this store derives. Raises DeskError or AttestError where it derives
    none."""
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
    return build_statement(decision_facts(connection, built, told, signers, book))


def older_formulas(one: DecisionFile) -> str:
    """Return what to say of a decision made under other formulas than these, "" otherwise. Its
    signatures are valid; nobody can derive it again to add one."""
    made = one.statement.predicate.report.formulas or UNNAMED
    if made == FORMULAS:
        return ""
    kind = "older" if made < FORMULAS else "newer"
    return f"made under {kind} formulas (version {made}; here {FORMULAS}): sign it again"


def waiting_decisions(
    workspace: Workspace, connection: Connection, candidate: int, built: CandidateReport
) -> list[WaitingDecision]:
    """Return the decisions on this candidate that wait for another signature, newest first: those
    of this store, and files that came from others. An expired one waits no longer."""
    rows = decisions.pending(connection, candidate)
    if not rows and not decision_files.unlisted_files(workspace, connection):
        return []  # the usual case, without loading the signing modules
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
    book: Book,
    candidate: int,
    built: CandidateReport,
) -> Pending | None:
    """Return the newest decision that waits, with the fields in which it is not what this store
    gives."""
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
            against = build(predicate.report.baseline)
            ours = derived_payload(workspace, connection, against, signers, book, one)
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
) -> None:
    """Raise DeskError when the same decision waits for a signature already: two decisions with one
    signature each would never be complete."""
    candidate = decision_files.keys_of(connection, built.gathered)[1]
    for one, _ in waiting_decisions(workspace, connection, candidate, built):
        predicate = one.statement.predicate
        if (predicate.decision, predicate.environment) != (decision, environment):
            continue
        try:
            ours = derived_payload(workspace, connection, built, signers, book, one)
        except (AttestError, DeskError):
            continue
        if ours == one.found.envelope.payload:
            who = ", ".join(approved(predicate, one.found).approvers)
            raise DeskError(
                f"decision {one.number} already says so and waits for a signature (signed by "
                f"{who or 'nobody that counts'})",
                f"reviewer sign --add {one.number} --key KEY",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
