"""Signed statements other than decisions: break-glass records and losses of journal. Each is stored
and shown in every later report."""

import hashlib
import json
import platform
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer import __version__
from reviewer.db import journal
from reviewer.db.connection import Connection, close_writer
from reviewer.db.queries.releases import candidate_by_digest
from reviewer.db.schema import open_writer
from reviewer.db.tables import BREAK_GLASS, LOSSES, BreakGlassRow, LossRow
from reviewer.desk.decisions.api import DecisionInfo
from reviewer.desk.decisions.choices import require_manifest
from reviewer.desk.decisions.payload import stamp
from reviewer.desk.decisions.signing import require_intact, require_intact_content
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.integrity import decision_files, witness
from reviewer.desk.integrity.signed_files import lost_files
from reviewer.desk.integrity.trust import in_role, signing_key, trusted
from reviewer.desk.place import Workspace, write_private
from reviewer.desk.reports.api import CandidateReport
from reviewer.exit_codes import ExitCode
from reviewer.signing.dsse import Envelope, parse_envelope, sign_payload
from reviewer.signing.errors import AttestError
from reviewer.signing.keys import Signer
from reviewer.signing.manifests import agent_of, subject_name
from reviewer.signing.records import (
    BREAK_GLASS_ROLE,
    BREAK_GLASS_WORD,
    LONGEST,
    LOSS_ROLE,
    BreakGlassFacts,
    BreakGlassStatement,
    JournalLossFacts,
    break_glass_faults,
    break_glass_of,
    build_break_glass,
    build_journal_loss,
)
from reviewer.signing.trusted import VerifiedPayload
from reviewer.signing.verify import verify


def break_glass(
    workspace: Workspace,
    built: CandidateReport,
    key: str,
    reason: str,
    hours: float,
    environment: str,
    passphrase: str | None = None,
) -> DecisionInfo:
    """Sign that this candidate is released without its decision, check the signature with the
    verifier, and store it.

    Raises DeskError without a reason, for more than a day, or for a key without the role
    `breakglass`.
    """
    longest = LONGEST.total_seconds() / 3600
    if not reason.strip():
        raise DeskError("break-glass needs a reason", "--reason says why", exit_code=ExitCode.USAGE)
    if not 0 < hours <= longest:
        raise DeskError(
            f"break-glass lasts more than 0 hours and at most {longest:g}",
            f"name a number of hours up to {longest:g}",
            exit_code=ExitCode.USAGE,
        )
    require_manifest(built)
    signers = trusted(workspace)
    signer = signing_key(workspace, key, passphrase)
    who = in_role(workspace, signers, signer, BREAK_GLASS_ROLE)
    gathered, manifest = built.gathered, built.gathered.manifest or {}
    agent = agent_of(subject_name(manifest))
    connection = open_writer(workspace.store)
    try:
        require_intact(workspace, connection)
        head = journal.head(connection)
        others = decision_files.foreign_decisions(workspace, connection, signers)
        now = datetime.now(UTC).replace(microsecond=0)
        payload = build_break_glass(
            BreakGlassFacts(
                created=stamp(now),
                expires=stamp(now + timedelta(hours=hours)),
                environment=environment,
                reason=reason.strip(),
                principal=who.principal,
                keyid=who.key.keyid,
                tool_version=__version__,
                python_version=platform.python_version(),
                candidate_manifest=manifest,
                suite_id=gathered.suite.suite_id,
                suite_sha256=gathered.suite.digest,
                report_sha256=built.digest,
                recommendation=built.assessment.recommendation,
                reasons=tuple(one.text for one in built.assessment.reasons),
                decision_payload_sha256=decision_files.previous_payload(
                    connection, others, agent, environment
                ),
                journal_seq=head.seq,
                journal_head=head.hash.hex(),
            )
        )
        data = sign_payload(payload, signer)
        text = workspace.signers.read_text(encoding="utf-8")
        checked = verify(data, msgspec.json.encode(manifest), text, now=now)
        if checked.decision != BREAK_GLASS_WORD:
            raise DeskError(
                "; ".join(checked.lines),
                "fix what is named here, then sign again",
                exit_code=checked.exit_code,
            )
        envelope = parse_envelope(data)
        statement = break_glass_of(msgspec.json.decode(envelope.payload))
        row = row_of(statement, envelope, data, gathered.candidate_id)
        write_private(workspace.decisions / row.file, data)
        BREAK_GLASS.record(connection, workspace.store, [row], row.at)
        witness.add_line(workspace, connection, "break-glass", row.uid)
        return info_of(workspace, row)
    except AttestError as error:
        raise refusal_of(error) from error
    finally:
        close_writer(connection, workspace.store)


def take_break_glass(
    workspace: Workspace, path: Path, found: VerifiedPayload, data: bytes
) -> DecisionInfo:
    """Store a break-glass record that was signed elsewhere. Raises AttestError, and DeskError for
    an invalid one."""
    statement = break_glass_of(found.body)
    if faults := break_glass_faults(statement.predicate, found.by):
        raise DeskError(
            f"{path}: {faults[0]}",
            "sign with a key that has the role breakglass: reviewer keys trust --roles breakglass",
            exit_code=ExitCode.POLICY_NOT_MET,
        )
    subject = statement.subject[0]
    connection = open_writer(workspace.store)
    try:
        known = candidate_by_digest(connection, subject.digest.sha256)
        row = row_of(statement, found.envelope, data, known or subject.name)
        write_private(workspace.decisions / row.file, data)
        BREAK_GLASS.record(connection, workspace.store, [row], row.at)
        return info_of(workspace, row)
    finally:
        close_writer(connection, workspace.store)


def row_of(
    statement: BreakGlassStatement, envelope: Envelope, data: bytes, candidate_id: str
) -> BreakGlassRow:
    predicate = statement.predicate
    uid = hashlib.sha256(envelope.payload).hexdigest()
    name = decision_files.file_part(candidate_id)
    return BreakGlassRow(
        uid=uid,
        suite=predicate.suite.name,
        candidate=candidate_id,
        agent=agent_of(statement.subject[0].name),
        environment=predicate.environment,
        principal=predicate.by.principal,
        reason=predicate.reason,
        at=predicate.time_created,
        expires=predicate.expires,
        file=f"break-glass-{uid[:12]}-{name}.dsse.json",
        envelope=data,
    )


def info_of(workspace: Workspace, row: BreakGlassRow) -> DecisionInfo:
    return DecisionInfo(
        number=None,
        word=BREAK_GLASS_WORD,
        suite_id=row.suite,
        candidate_id=row.candidate,
        environment=row.environment,
        standing="break-glass",
        signers=(row.principal,),
        created=row.at,
        expires=row.expires,
        text=row.reason,
        path=str(workspace.decisions / row.file),
    )


class LossStatement(NamedTuple):
    """A stored statement of loss: its file, its signer, the entries it names, and the signed files
    that it is about."""

    path: str
    principal: str
    lost_seq: int
    kept_seq: int
    files: tuple[str, ...]


def state_loss(
    workspace: Workspace, key: str, reason: str, passphrase: str | None = None
) -> LossStatement:
    """Sign that this store continues from its present state, and store the statement. Signed
    decisions that it names are added to the store where it has their release.

    Raises DeskError without a reason, where nothing shows a loss, for a key without the role
    `approver`, or for a store that contradicts itself.
    """
    if not reason.strip():
        raise DeskError("a loss needs a reason", "--reason says why", exit_code=ExitCode.USAGE)
    signers = trusted(workspace)
    signer = signing_key(workspace, key, passphrase)
    who = in_role(workspace, signers, signer, LOSS_ROLE)
    connection = open_writer(workspace.store)
    try:
        require_intact_content(connection)
        gone = lost_files(workspace, connection, signers)
        unseen = witness.contradicted_lines(workspace, connection)
        if not gone and not unseen:
            raise DeskError(
                "this store's journal is complete as far as can be seen, so there is no loss to "
                "sign",
                "reviewer doctor checks it",
                exit_code=ExitCode.USAGE,
            )
        lost = max([one.seq for one in gone] + [one.seq for one in unseen])
        digests = {one.digest for one in gone} | {one.signed for one in unseen if one.signed}
        row = _signed(connection, lost, digests, reason, signer, who.principal, who.key.keyid)
        write_private(workspace.decisions / row.file, row.envelope)
        LOSSES.record(connection, workspace.store, [row], row.at)
        witness.add_line(workspace, connection, "loss", row.uid)
    except AttestError as error:
        raise refusal_of(error) from error
    finally:
        close_writer(connection, workspace.store)
    from reviewer.desk.decisions.signed_list import take_signed

    for one in gone:
        with suppress(DeskError):  # a decision whose release the store lacks stays a file
            take_signed(workspace, one.path)
    path = str(workspace.decisions / row.file)
    files = tuple(one.path.name for one in gone)
    return LossStatement(path, row.principal, row.lost_seq, row.kept_seq, files)


def _signed(
    connection: Connection,
    lost_seq: int,
    digests: set[str],
    reason: str,
    signer: Signer,
    principal: str,
    keyid: str,
) -> LossRow:
    head, created = journal.head(connection), stamp(datetime.now(UTC))
    lost = tuple(sorted(digests))
    facts = JournalLossFacts(
        created=created,
        reason=reason.strip(),
        principal=principal,
        keyid=keyid,
        tool_version=__version__,
        python_version=platform.python_version(),
        journal=journal.uri(connection),
        lost_seq=lost_seq,
        kept_seq=head.seq,
        kept_head=head.hash.hex(),
        decisions=lost,
    )
    envelope = sign_payload(build_journal_loss(facts), signer)
    uid = hashlib.sha256(parse_envelope(envelope).payload).hexdigest()
    return LossRow(
        uid=uid,
        journal=facts.journal,
        lost_seq=facts.lost_seq,
        kept_seq=facts.kept_seq,
        decisions=json.dumps(lost),
        principal=principal,
        reason=facts.reason,
        at=created,
        file=f"loss-{uid[:12]}.dsse.json",
        envelope=envelope,
    )
