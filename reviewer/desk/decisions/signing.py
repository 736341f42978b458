"""Sign a decision: the checks before a signature is made, and before it is stored."""

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer import __version__
from reviewer.db import decisions, journal
from reviewer.db.connection import Connection, close_writer, integrity_faults, one_moment
from reviewer.db.integrity import whole_faults
from reviewer.db.payload import damaged_payloads
from reviewer.db.queries.releases import ReleaseRow, release_by_digests
from reviewer.db.schema import foreign_parts, open_writer
from reviewer.db.search import index_faults
from reviewer.desk.decisions.choices import ENVIRONMENT, require_choice
from reviewer.desk.decisions.payload import (
    BuildRelease,
    BuildReport,
    SignerStatement,
    decision_facts,
    derived_payload,
    derived_reports,
    older_formulas,
    refuse_duplicate,
    stamp,
    suites_of,
)
from reviewer.desk.errors import DeskError, refusal_of, ways_out
from reviewer.desk.integrity import decision_files, witness
from reviewer.desk.integrity.decision_files import DecisionFile
from reviewer.desk.integrity.signed_files import signed_checks
from reviewer.desk.integrity.store_checks import WAYS_OUT, require_payloads
from reviewer.desk.integrity.trust import approving, signing_key, trusted
from reviewer.desk.labels.book import Book
from reviewer.desk.place import Workspace
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.reports.release import BuiltRelease
from reviewer.desk.views import SignedDecision
from reviewer.exit_codes import ExitCode
from reviewer.signing.dsse import (
    Envelope,
    ExternalSignature,
    add_signature,
    parse_envelope,
    serialise_envelope,
    sign_statement,
)
from reviewer.signing.errors import AttestError, PayloadMismatch
from reviewer.signing.facts import DecisionFacts
from reviewer.signing.keys import Signer
from reviewer.signing.manifests import agent_of, subject_name
from reviewer.signing.predicate import parse_time
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.ssh import dearmored
from reviewer.signing.statement import build_statement
from reviewer.signing.trusted import approved
from reviewer.signing.verify import VerifyResult, verify
from reviewer.trace.safetext import visible_line

WAY_OUT = "restore a backup"


def require_intact(workspace: Workspace, connection: Connection) -> None:
    """Raise DeskError unless schema, chain, file and every signed file are intact: the checks of
    doctor, made before every signature."""
    with one_moment(connection):
        require_intact_content(connection)
        wrong = [one.text for one in signed_checks(workspace, connection) if one.ok is False]
    if wrong:
        raise DeskError("; ".join(wrong), *WAYS_OUT)


def require_intact_content(connection: Connection) -> None:
    """Raise DeskError unless the store is consistent in itself, whatever files lie beside it."""
    if strange := foreign_parts(connection):
        named = ", ".join(map(visible_line, strange[:5]))
        raise DeskError(f"the store's schema was changed by another program: {named}", WAY_OUT)
    if broken := integrity_faults(connection):
        raise DeskError(f"the store is damaged: {broken[0]}", WAY_OUT)
    if wrong := whole_faults(connection):
        raise DeskError(
            f"the store does not match its journal: {'; '.join(wrong[:5])}",
            "reviewer doctor lists everything that is wrong; restore a backup",
        )
    if wrong := index_faults(connection):
        raise DeskError(f"the index does not match the payloads: {'; '.join(wrong)}", WAY_OUT)
    if damaged := damaged_payloads(connection):
        raise DeskError(f"payloads are {damaged}", WAY_OUT)


def verified(
    workspace: Workspace, built: CandidateReport, envelope: bytes, now: datetime
) -> VerifyResult:
    """Return the result of `reviewer verify`. Raises DeskError when anything but approvals is
    missing."""
    checked = verify(
        envelope,
        msgspec.json.encode(built.gathered.manifest),
        workspace.signers.read_text(encoding="utf-8"),
        now=now,
        report=built.raw,
    )
    if checked.decision is None and not checked.pending:
        raise DeskError(
            "; ".join(checked.lines),
            "reviewer verify says which of these is not met; fix it, then sign again",
            exit_code=checked.exit_code,
        )
    return checked


def sign(
    workspace: Workspace,
    built: CandidateReport,
    book: Book,
    decision: str,
    key: str,
    comment: str = "",
    passphrase: str | None = None,
    environment: str = ENVIRONMENT,
    release: BuiltRelease | None = None,
    keep: Callable[[], bool] | None = None,
) -> SignedDecision:
    """Sign a decision on the report `built`, check the signature with the verifier, then store it.
    With a `release` of several suites, `built` is the report of its first gate.

    Where the policy requires more people, the decision waits for them. Nothing is written before
    the signed bytes have verified and `keep`, called once at that point, has not refused. Raises
    DeskError for an unknown key, an author of the candidate, a PROMOTE that the report does not
    recommend, the same decision already waiting, a store that changed, or a refused signature.
    """
    require_choice(built, decision, comment, release)
    signers = trusted(workspace)
    signer = signing_key(workspace, key, passphrase)
    who = approving(workspace, signers, signer, built.gathered)
    connection = open_writer(workspace.store)
    try:
        require_intact(workspace, connection)
        refuse_duplicate(
            workspace, connection, built, signers, book, decision, environment, release
        )
        told = new_statement(workspace, connection, built, signers, decision, comment, environment)
        require_payloads(connection, suites_of(built, release))
        facts = decision_facts(connection, built, told, signers, book, release)
        payload = statement_of(facts)
        return keep_signed(workspace, connection, built, signers, who, told, payload, signer, keep)
    finally:
        close_writer(connection, workspace.store)


def new_statement(
    workspace: Workspace,
    connection: Connection,
    built: CandidateReport,
    signers: Signers,
    decision: str,
    comment: str,
    environment: str,
    created: datetime | None = None,
    journal_seq: int | None = None,
) -> SignerStatement:
    """Return the fields that a decision's first signer states, with the next number. `created` and
    `journal_seq` default to the present."""
    agent = agent_of(subject_name(built.gathered.manifest or {}))
    others = decision_files.foreign_decisions(workspace, connection, signers)
    return SignerStatement(
        decision=decision,
        number=decision_files.next_number(connection, others),
        previous=decision_files.previous_payload(connection, others, agent, environment),
        created=created or datetime.now(UTC).replace(microsecond=0),
        environment=environment,
        comment=comment,
        tool_version=__version__,
        python_version=platform.python_version(),
        journal_seq=journal.head(connection).seq if journal_seq is None else journal_seq,
    )


def statement_of(facts: DecisionFacts) -> bytes:
    """Return the payload of a decision. Raises DeskError when these facts do not form a valid
    one."""
    try:
        return build_statement(facts)
    except AttestError as error:
        raise refusal_of(error) from error


def keep_signed(
    workspace: Workspace,
    connection: Connection,
    built: CandidateReport,
    signers: Signers,
    who: TrustedKey,
    told: SignerStatement,
    payload: bytes,
    signer: Signer,
    keep: Callable[[], bool] | None,
) -> SignedDecision:
    """Sign a payload, check the signature with the verifier, and store it as a new decision unless
    `keep` (called once, after the check) refuses. Raises DeskError for a refused signature."""
    path = decision_files.file_of(
        workspace, told.number, told.decision, built.gathered.candidate_id
    )
    try:
        envelope = sign_statement(payload, signer)
        one = decision_files.parse_decision(path, envelope, signers)
    except AttestError as error:
        raise refusal_of(error) from error
    checked = verified(workspace, built, envelope, datetime.now(UTC).replace(microsecond=0))
    _ask_whether_to(keep)
    keys = decision_files.keys_of(connection, built.gathered)
    row = decision_files.keep_decision(workspace, connection, one, keys, stamp(told.created))
    witness.add_line(workspace, connection, "decision", row.payload_sha256)
    return decision_files.signed_answer(workspace, connection, row, who, checked)


BuildOf = Callable[[str, str], BuildReport]
"""Builds reports of a candidate on a suite, by baseline."""


class DecisionToSign(NamedTuple):
    """A decision for one more person to sign, and the release it is about."""

    one: DecisionFile
    suite_id: str
    candidate_id: str


def find_decision(workspace: Workspace, connection: Connection, reference: str) -> DecisionToSign:
    """Return the decision of this number, or in this file, with every signature known here.

    Raises DeskError when there is none, when no trusted key signed it, or when this store does not
    have its release.
    """
    signers = trusted(workspace)
    path = _path(workspace, connection, signers, reference)
    try:
        one = decision_files.parse_decision(path, decision_files.read_envelope(path), signers)
        row = decisions.by_payload(connection, one.digest)
        if row is not None:
            one = _joined(one, row.envelope, signers)
    except OSError as error:
        raise DeskError(f"{path}: cannot be read ({error.strerror})", *ways_out(error)) from error
    except AttestError as error:
        raise DeskError(f"{path}: {error}", *ways_out(error)) from error
    about = release_of(connection, one)
    if row is not None:
        home = workspace.decisions / row.file
    else:
        decision = one.statement.predicate.decision
        home = decision_files.file_of(workspace, one.number, decision, about.candidate_id)
    return DecisionToSign(one._replace(path=home), about.suite_id, about.candidate_id)


def release_of(connection: Connection, one: DecisionFile) -> ReleaseRow:
    """Return the release that a decision is about, as this store has it. Raises DeskError when the
    store has no trace of it."""
    subject, suite = one.statement.subject[0], one.statement.predicate.suite
    found = release_by_digests(connection, subject.digest.sha256, suite.digest.sha256)
    if found is None:
        raise DeskError(
            f"decision {one.number}: this store has no trace of {subject.name} (sha256 "
            f"{subject.digest.sha256}) on {suite.name} (sha256 {suite.digest.sha256})",
            "import or merge the traces that it was made of, then sign",
        )
    return found


def add_signature_to(
    workspace: Workspace,
    reference: str,
    build_of: BuildOf,
    build_release: BuildRelease,
    book: Book,
    key: str,
    passphrase: str | None = None,
    signature: bytes | None = None,
    look: Callable[[str], None] | None = None,
    keep: Callable[[], bool] | None = None,
    name: str = "",
) -> SignedDecision:
    """Add one more signature to a decision, by a key, or one that `ssh-keygen -Y sign` made
    (`signature`, a .sig file). `look` receives, line by line and before anything is signed, the
    fields that are taken from the decision and not derived. With a `name`, another person's key is
    refused.

    Raises DeskError for an unknown or expired decision, a field that this store derives differently
    (each is named), a person who may not approve or already has, or a refused signature.
    """
    signers = trusted(workspace)
    signer = _signer(workspace, key, passphrase, signature)
    connection = open_writer(workspace.store)
    try:
        require_intact(workspace, connection)
        found = find_decision(workspace, connection, reference)
        one, predicate = found.one, found.one.statement.predicate
        if look is not None:
            for line in _said_by_the_first(one):
                look(line)
        now = datetime.now(UTC)
        if parse_time(predicate.expires) <= now:
            raise DeskError(
                f"decision {one.number} expired at {predicate.expires}",
                "sign again",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
        if older := older_formulas(one):
            raise DeskError(
                f"decision {one.number} was {older}",
                f"reviewer sign --decision {predicate.decision} makes a new one",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
        build = build_of(found.suite_id, found.candidate_id)
        built, release = derived_reports(predicate, build, build_release)
        who = approving(workspace, signers, signer, built.gathered)
        require_own(who, name)
        try:
            require_payloads(connection, suites_of(built, release))
            ours = derived_payload(workspace, connection, built, signers, book, one, release)
            envelope = add_signature(
                serialise_envelope(one.found.envelope), signer, expected_payload=ours
            )
            signed = decision_files.parse_decision(one.path, envelope, signers)
        except PayloadMismatch as error:
            raise DeskError(
                f"decision {one.number}: {error}",
                "see what changed since it was made, then sign a new decision",
            ) from error
        except AttestError as error:
            raise DeskError(f"decision {one.number}: {error}", *ways_out(error)) from error
        checked = verified(workspace, built, envelope, now)
        _ask_whether_to(keep)
        row = decisions.by_payload(connection, one.digest)
        if row is None:
            keys = decision_files.keys_of(connection, built.gathered)
            row = decision_files.keep_decision(
                workspace, connection, signed, keys, predicate.time_created
            )
        else:
            row = decision_files.keep_signatures(workspace, connection, row, signed, stamp(now))
        return decision_files.signed_answer(workspace, connection, row, who, checked)
    finally:
        close_writer(connection, workspace.store)


def require_own(who: TrustedKey, name: str) -> None:
    """Raise DeskError when a key does not belong to the person of this `name`; "" accepts
    anyone."""
    if name and who.principal != name:
        raise DeskError(
            f"the signature is by a key of {who.principal}, but this session belongs to {name}",
            f"sign with a key of {name}",
            exit_code=ExitCode.POLICY_NOT_MET,
        )


def _ask_whether_to(keep: Callable[[], bool] | None) -> None:
    """Raise DeskError when the user gave up while the key was signing."""
    if keep is not None and not keep():
        raise DeskError("canceled: nothing was written", "run the same command to be asked again")


def _said_by_the_first(one: DecisionFile) -> list[str]:
    predicate = one.statement.predicate
    who = ", ".join(approved(predicate, one.found).approvers) or "nobody that counts"
    return [
        f"decision {one.number}: {predicate.decision} {one.statement.subject[0].name} for "
        f"{predicate.environment}",
        f"  made {predicate.time_created}, until {predicate.expires}, signed by {who}",
        *(f"  comment: {line}" for line in (predicate.comment or "").split("\n") if line),
    ]


def _signer(
    workspace: Workspace, key: str, passphrase: str | None, signature: bytes | None
) -> Signer:
    if signature is None:
        return signing_key(workspace, key, passphrase)
    try:
        made = ExternalSignature(dearmored(signature))
        _ = made.public  # a signature that names no trusted key is refused here
    except AttestError as error:
        raise refusal_of(error) from error
    return made


def _path(workspace: Workspace, connection: Connection, signers: Signers, reference: str) -> Path:
    """Return the file that a number or a path names."""
    if not (reference.isascii() and reference.isdigit() and len(reference) < 16):
        return Path(reference)
    row = decisions.row(connection, int(reference))
    if row is not None:
        return workspace.decisions / row.file
    named = [
        one.path
        for one in decision_files.foreign_decisions(workspace, connection, signers)
        if one.number == int(reference)
    ]
    if len(named) != 1:
        raise DeskError(
            f"no decision {reference} in this workspace", "name its file", exit_code=ExitCode.USAGE
        )
    return named[0]


def _joined(one: DecisionFile, known: bytes, signers: Signers) -> DecisionFile:
    """Return a decision with the signatures of its file and those that this store has."""
    both = (*one.found.envelope.signatures, *parse_envelope(known).signatures)
    data = serialise_envelope(Envelope(one.found.envelope.payload, tuple(dict.fromkeys(both))))
    return decision_files.parse_decision(one.path, data, signers)
