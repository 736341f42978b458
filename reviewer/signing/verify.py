"""The strict, offline verifier of a release decision: bytes in, exit code and lines out.

Order: form of the envelope, signatures by trusted keys over exactly these bytes, then the payload's
form, then its subject, and only then the signature policy, a pipeline's pins, and the given report.
Never re-canonicalizes; needs no network and no store.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, structs

from reviewer.exit_codes import ExitCode
from reviewer.signing.errors import AttestError, StatementError, load_object
from reviewer.signing.gate_rules import gate_faults
from reviewer.signing.label_files import StoredFile, label_faults
from reviewer.signing.predicate import (
    PREDICATE_TYPE,
    Gate,
    Predicate,
    Statement,
    Tolerance,
    parse_time,
)
from reviewer.signing.ran import ran_faults, ran_remarks, said_of_code
from reviewer.signing.records import (
    BREAK_GLASS_TYPE,
    BREAK_GLASS_WORD,
    BreakGlassStatement,
    break_glass_faults,
    break_glass_of,
    break_glass_words,
    run_result_faults,
)
from reviewer.signing.release import (
    CandidateCode,
    PinnedSuite,
    release_code_faults,
    release_pin_faults,
    release_words,
)
from reviewer.signing.signers import Signers, is_one_of, parse_signers
from reviewer.signing.statement import decision_of, promotion_faults
from reviewer.signing.tolerance import decimal_of, rate_faults
from reviewer.signing.trusted import (
    Manifest,
    VerifiedPayload,
    approved,
    check_subject,
    read_manifest,
    vouched,
)

CLOCK_SKEW = timedelta(minutes=5)


class Pins(Struct, frozen=True, kw_only=True):
    """Digests are sha256 in hex, with or without `sha256:`; None pins nothing.

    `threshold` is the least number of approvers of a PROMOTE, `min_seq` the highest decisionSeq
    already seen for this agent and environment, `max_days` the longest validity of a decision,
    `rates` the suite's hard_pass_rate and completion_min: what it tolerates must follow from them.
    `report` is the report.json the decision must be about and agree with. `attestations` are signed
    test results by file name: each that the decision refers to must be among them, as must each
    file of `labels` (by name, with its signature) that it names. `release_digest` is that of a
    release.json: the decision must be over its suites. `release_suites` are the suites of that
    release, by id, each of which must be the one judged. `code` is the digest of the candidate's
    code as it is about to be released. `suite_codes` are those of the gates of a release, by suite;
    without them all of its gates must have run `code`. `witness` is a file of heads that the
    decision must be in, and must not contradict.
    """

    threshold: int | None = None
    environment: str | None = None
    suite_digest: str | None = None
    policy_digest: str | None = None
    report_digest: str | None = None
    signers_digest: str | None = None
    release_digest: str | None = None
    release_suites: Mapping[str, PinnedSuite] | None = None
    code: str | None = None
    suite_codes: Mapping[str, CandidateCode] | None = None
    min_seq: int | None = None
    max_days: int | None = None
    rates: tuple[str, str | None] | None = None
    report: bytes | None = None
    attestations: Mapping[str, bytes] | None = None
    labels: Mapping[str, StoredFile] | None = None
    witness: bytes | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and self.threshold < 1:
            raise ValueError("threshold must be at least 1")


def environment_faults(environment: str, pins: Pins) -> list[str]:
    if pins.environment is None or environment == pins.environment:
        return []
    return [f"it is for {environment}, not for the requested environment"]


def pin_faults(predicate: Predicate, trusted: Signers, pins: Pins) -> list[str]:
    """Return every pin that the decision does not meet."""
    faults = environment_faults(predicate.environment, pins)
    digests = (
        ("suite", predicate.suite.digest.sha256, pins.suite_digest),
        ("policy", predicate.policy.digest.sha256, pins.policy_digest),
        ("report", predicate.report.digest.sha256, pins.report_digest),
        ("trust file", trusted.sha256, pins.signers_digest),
    )
    faults += [
        f"the {what}'s digest is {found}, not the pinned one"
        for what, found, pinned in digests
        if pinned is not None and found != pinned.removeprefix("sha256:").lower()
    ]
    if pins.release_digest is not None:
        release = predicate.release
        if release is None:
            faults.append("it is about one suite, not about the requested release")
        elif release.digest.sha256 != pins.release_digest:
            faults.append(
                f"it is about release {release.name} (sha256 {release.digest.sha256}), not about "
                "the requested one"
            )
    faults += ran_faults(predicate, pins.code)
    if predicate.release is not None:
        if pins.release_suites is not None:
            faults += release_pin_faults(predicate.release, pins.release_suites)
        faults += release_code_faults(predicate.release, pins.code, pins.suite_codes)
    faults += rate_faults(predicate.tolerance, pins.rates)
    if pins.min_seq is not None and predicate.decision_seq < pins.min_seq:
        faults.append(f"decision {predicate.decision_seq} is older than {pins.min_seq}")
    return faults


def term_faults(predicate: Predicate, pins: Pins) -> list[str]:
    """Return a fault if a decision is valid for longer than its policy allows: as it states itself,
    and as the pipeline's policy says."""
    lasts = parse_time(predicate.expires) - parse_time(predicate.time_created)
    limits = [days for days in (predicate.approvals.max_days, pins.max_days) if days is not None]
    if not limits or lasts / timedelta(days=1) <= min(limits):
        return []
    return [
        f"it lasts until {predicate.expires}, longer than the {min(limits)} days after"
        f" {predicate.time_created} that its policy allows"
    ]


def time_faults(created: str, expires: str, now: datetime) -> list[str]:
    if parse_time(expires) <= now:
        return [f"expired at {expires}"]
    if parse_time(created) > now + CLOCK_SKEW:
        return [f"made in the future, at {created}"]
    return []


def report_faults(statement: Statement, report: bytes | None) -> list[str]:
    """Return every field in which the decision and report.json differ; JsonError when the report is
    not JSON."""
    if report is None:
        return []
    predicate = statement.predicate
    digest = hashlib.sha256(report).hexdigest()
    if digest != predicate.report.digest.sha256:
        return [f"the report's digest is {digest}, not the one decided on"]
    body = load_object(report, "report")
    stated = _stated(predicate.tolerance)
    said = (
        ("recommendation", predicate.report.recommendation, body.get("recommendation")),
        ("reasons", predicate.report.reasons, body.get("reasons")),
        ("suite digest", predicate.suite.digest.sha256, _of(body, "suite", "digest")),
        ("candidate digest", statement.subject[0].digest.sha256, _of(body, "candidate", "digest")),
        ("baseline", predicate.report.baseline, _of(body, "regression", "baseline")),
        ("tolerance", stated, None if stated is None else _asked(body)),
        ("version of the formulas", predicate.report.formulas, body.get("formulas")),
        *said_of_code(predicate, body),
        ("lineage", _lineage(predicate), _digests(_of(body, "suite", "lineage"), "digest")),
        ("break-glass", _broken(predicate), _digests(body.get("break_glass"), "payload_sha256")),
    )
    faults = [f"the report has another {what}" for what, ours, theirs in said if ours != theirs]
    listed = {gate.id for gate in predicate.gates}
    reported = body.get("gates")
    left_out = [name for name in reported if name not in listed] if reported else []
    return [
        *faults,
        *(f"the report has a gate {name}, which the decision leaves out" for name in left_out),
        *(
            f"the report has another result for gate {gate.id}"
            for gate in predicate.gates
            if not _agrees(gate, _of(body, "gates", gate.id))
        ),
    ]


def _stated(tolerance: Tolerance | None) -> tuple[object, ...] | None:
    if tolerance is None:
        return None
    return tolerance.hard_pass_rate, tolerance.completion_min, tolerance.attempts


def _asked(body: dict[str, Any]) -> tuple[object, ...]:
    """Return the rates of the report's policy, with the attempts made."""
    rate, least = _of(body, "policy", "hard_pass_rate"), _of(body, "policy", "completion_min")
    made = _of(body, "repeatability", "attempts_made")
    return str(rate), None if least is None else str(least), made


def _of(body: dict[str, Any], section: str, key: str) -> Any:
    found = body.get(section)
    return found.get(key) if isinstance(found, dict) else None


def _digests(rows: Any, key: str) -> set[Any]:
    return {row.get(key) for row in rows or () if isinstance(row, dict)}


def _lineage(predicate: Predicate) -> set[str]:
    return set(predicate.suite.lineage) - {predicate.suite.digest.sha256}


def _broken(predicate: Predicate) -> set[str]:
    return {one.digest.sha256 for one in predicate.break_glass or []}


def _agrees(gate: Gate, counts: Any) -> bool:
    if not isinstance(counts, dict):
        return False
    failed, unknown = counts.get("fail_counted"), counts.get("not_measured_counted")
    room = decimal_of(gate.threshold) or 0
    if failed and (not isinstance(failed, int) or failed > room):
        return gate.result == "FAILED"
    if failed and decimal_of(gate.observed) != failed:
        return False
    if unknown or not counts.get("pass"):
        return gate.result == "NOT_RUN"
    return gate.result == "PASSED"


class VerifyResult(Struct, frozen=True):
    """`exit_code` 0 PROMOTE, 10 BLOCK, REPAIR or a break-glass record, 20 invalid, 30 policy of
    signatures not met.

    `decision` is the word, set for 0 and 10 only; `statement` is set as soon as a trusted signature
    covers a decision. `approvers` are the distinct principals that counted. `pending` means that
    only approvals are missing. `lines` are safe to draw.
    """

    exit_code: int
    decision: str | None
    lines: tuple[str, ...]
    approvers: tuple[str, ...] = ()
    statement: Statement | None = None
    pending: bool = False


PRODUCTION = "production"
"""The environment of a decision whose signer names none."""


def within_environment(result: VerifyResult, named: str | None) -> VerifyResult:
    """Return the result for a deployment to the `named` environment, production if it names none: a
    promotion for another one is not a promotion there."""
    if named is not None or result.exit_code != ExitCode.DONE or result.statement is None:
        return result
    environment = result.statement.predicate.environment
    if environment == PRODUCTION:
        return result
    told = f"policy not met: it is for {environment}, and no environment was named"
    return structs.replace(
        result, exit_code=ExitCode.POLICY_NOT_MET, decision=None, lines=(told, *result.lines)
    )


def verify(
    envelope: bytes, candidate_manifest: bytes, signers_text: str, *, now: datetime, **pins: Any
) -> VerifyResult:
    """Verify one decision about one candidate manifest (its JSON file) against a trust file.

    `pins` are those of `Pins`. `now` must be aware. Never raises for any bytes or text; ValueError
    and TypeError only for a misuse of the arguments.
    """
    wanted = Pins(**pins)
    if now.tzinfo is None:
        raise ValueError("now must be an aware datetime")
    statement = None
    try:
        trusted = parse_signers(signers_text)
        found = vouched(envelope, trusted)
        if found.body.get("predicateType") == BREAK_GLASS_TYPE:
            record = break_glass_of(found.body)
            about = read_manifest(candidate_manifest)
            check_subject(record.subject[0], record.predicate.candidate, about)
            return _judged_break_glass(record, found, wanted, now)
        statement = decision_in(found)
        about = read_manifest(candidate_manifest)
        check_subject(statement.subject[0], statement.predicate.candidate, about)
        return judged(statement, found, trusted, about, wanted, now)
    except AttestError as error:
        return VerifyResult(
            ExitCode.INVALID, None, tuple(str(error).split("\n")), statement=statement
        )


def decision_in(found: VerifiedPayload) -> Statement:
    """Return the decision in a verified payload. StatementError for any other statement."""
    if found.body.get("predicateType") != PREDICATE_TYPE:
        raise StatementError(f"statement: predicateType is {found.kind}, which is not a decision")
    return decision_of(found.body)


def judged(
    statement: Statement,
    found: VerifiedPayload,
    trusted: Signers,
    about: Manifest,
    pins: Pins,
    now: datetime,
) -> VerifyResult:
    """Apply the signature policy to a decision whose form and subject are valid. AttestError
    for an invalid report or test result."""
    predicate = statement.predicate
    who = approved(predicate, found, pins.threshold or 1)
    others = [
        *gate_faults(predicate.gates),
        *promotion_faults(predicate),
        *pin_faults(predicate, trusted, pins),
        *term_faults(predicate, pins),
        *time_faults(predicate.time_created, predicate.expires, now),
        *report_faults(statement, pins.report),
        *run_result_faults(predicate, trusted, about, pins.attestations),
        *label_faults(predicate.labels.files or (), pins.labels, trusted),
    ]
    head = (
        f"decision: {predicate.decision} {statement.subject[0].name} for {predicate.environment}",
        f"report recommends {predicate.report.recommendation}"
        + "".join(f"; {reason}" for reason in predicate.report.reasons),
        f"signed by {len(who.approvers)} of {who.needed} approvers"
        + (f": {', '.join(who.approvers)}" if who.approvers else ""),
        *who.notes,
        *(() if predicate.release is None else release_words(predicate.release)),
        *_remarks(predicate, trusted, who.needed),
        *(f"comment: {line}" for line in (predicate.comment or "").split("\n") if line),
        f"decision number {predicate.decision_seq}, expires {predicate.expires}",
    )
    if faults := (*others, *who.faults):
        lines = (*(f"policy not met: {fault}" for fault in faults), *head)
        return VerifyResult(
            ExitCode.POLICY_NOT_MET, None, lines, who.approvers, statement, not others
        )
    code = ExitCode.DONE if predicate.decision == "PROMOTE" else ExitCode.NOT_PROMOTED
    return VerifyResult(code, predicate.decision, head, who.approvers, statement)


def _remarks(predicate: Predicate, trusted: Signers, needed: int) -> list[str]:
    """Return remarks that a reader must not miss, though they decide nothing."""
    remarks = [
        f"note: break-glass by {one.principal} for {one.candidate} in {one.environment},"
        f" {one.time_created} to {one.expires}: {' '.join(one.reason.split())}"
        for one in predicate.break_glass or []
    ]
    remarks += ran_remarks(predicate)
    remarks += [
        f"note: also run on the suite {one.name} ({one.digest.sha256[:12]}): {one.reason}"
        f" ({one.reviewer})"
        for one in predicate.suite.lineage_reasons or []
    ]
    principals = [one.principal for one in trusted.keys]
    unknown = [
        name
        for name in predicate.labels.labelers
        if not any(is_one_of(who, [name]) for who in principals)
    ]
    if unknown and needed > 1:
        remarks.append(f"note: labels by {', '.join(unknown)}, who are not in the trust file")
    return remarks


def _judged_break_glass(
    record: BreakGlassStatement, found: VerifiedPayload, pins: Pins, now: datetime
) -> VerifyResult:
    """Judge a break-glass record. A valid one is printed, with exit code 10: it is not a promotion,
    whatever is pinned."""
    predicate, name = record.predicate, record.subject[0].name
    faults = [
        *break_glass_faults(predicate, found.by),
        *environment_faults(predicate.environment, pins),
        *time_faults(predicate.time_created, predicate.expires, now),
    ]
    words = break_glass_words(predicate, name, now)
    if faults:
        lines = (*(f"policy not met: {fault}" for fault in faults), *words)
        return VerifyResult(ExitCode.POLICY_NOT_MET, None, lines)
    return VerifyResult(ExitCode.NOT_PROMOTED, BREAK_GLASS_WORD, words)
