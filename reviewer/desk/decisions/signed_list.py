"""The list of signed decisions and statements; storing signed files from elsewhere, and
exporting."""

import json
from pathlib import Path
from typing import Any

from reviewer.db import decisions, registry
from reviewer.db.connection import Connection, close_writer, reader
from reviewer.db.queries.releases import release_of
from reviewer.db.schema import open_writer
from reviewer.db.tables import break_glass_rows, run_result_rows
from reviewer.desk.decisions import signing
from reviewer.desk.decisions.api import DecisionInfo
from reviewer.desk.decisions.statements import info_of, take_break_glass
from reviewer.desk.errors import DeskError, refusal_of, ways_out
from reviewer.desk.integrity import decision_files
from reviewer.desk.integrity.decision_files import DecisionFile
from reviewer.desk.integrity.signed_files import loss_shown_by
from reviewer.desk.integrity.store_checks import WAYS_OUT
from reviewer.desk.integrity.trust import signers_of, signing_key, trusted
from reviewer.desk.place import Workspace
from reviewer.desk.reports.renderings import write_files
from reviewer.exit_codes import ExitCode
from reviewer.signing.dsse import parse_envelope, sign_payload
from reviewer.signing.errors import AttestError
from reviewer.signing.exports import SUMMARY, export_files
from reviewer.signing.records import BREAK_GLASS_TYPE
from reviewer.signing.trusted import approved, vouched


def signed_decisions(workspace: Workspace, connection: Connection) -> list[DecisionInfo]:
    """Return the decisions by number, including those of other stores, then the break-glass
    records."""
    signers = signers_of(workspace)
    found = []
    for row in decisions.rows(connection):
        told = _told(row.envelope)
        about = release_of(connection, row.candidate)
        found.append(
            DecisionInfo(
                number=row.number,
                word=row.decision,
                suite_id=about.suite_id,
                candidate_id=about.candidate_id,
                environment=row.environment,
                standing=row.standing,
                signers=tuple(decisions.signers(connection, row.number)),
                created=row.at,
                expires=told["expires"],
                text=told.get("comment") or "",
                path=str(workspace.decisions / row.file),
            )
        )
    if signers is not None:
        found += [
            _info(one) for one in decision_files.foreign_decisions(workspace, connection, signers)
        ]
    found.sort(key=lambda one: one.number or 0)
    return found + [info_of(workspace, row) for row in break_glass_rows(connection)]


def take_signed(workspace: Workspace, path: Path) -> DecisionInfo:
    """Store a decision or a break-glass record that was signed in another workspace, or further
    signatures under a decision of this store.

    Nothing is derived again: the signed bytes are stored as they are. Raises DeskError for a file
    that no trusted key signed, or for a release that this store does not have.
    """
    signers = trusted(workspace)
    try:
        data = decision_files.read_envelope(path)
        found = vouched(data, signers)
        if found.body.get("predicateType") == BREAK_GLASS_TYPE:
            return take_break_glass(workspace, path, found, data)
        decision_files.parse_decision(path, data, signers)
    except OSError as error:
        raise DeskError(f"{path}: cannot be read ({error.strerror})", *ways_out(error)) from error
    except AttestError as error:
        raise DeskError(f"{path}: {error}", *ways_out(error)) from error
    connection = open_writer(workspace.store)
    try:
        if gone := loss_shown_by(connection, data):
            raise DeskError(f"{path.name} is not part of this store's history, {gone}", *WAYS_OUT)
        one = signing.find_decision(workspace, connection, str(path)).one
        who = approved(one.statement.predicate, one.found)
        if not who.approvers:
            raise DeskError(
                f"{path}: {'; '.join((*who.faults, *who.notes))}",
                "reviewer sign --add FILE --key KEY adds the signature that is missing",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
        row = decisions.by_payload(connection, one.digest)
        created = one.statement.predicate.time_created
        if row is not None:
            row = decision_files.keep_signatures(workspace, connection, row, one, created)
        else:
            about = signing.release_of(connection, one)
            place = about.suite, about.candidate
            row = decision_files.keep_decision(
                workspace, connection, one, place, created, decisions.TAKEN
            )
        info = next(x for x in signed_decisions(workspace, connection) if x.number == row.number)
    finally:
        close_writer(connection, workspace.store)
    return info


def _told(envelope: bytes) -> dict[str, Any]:
    predicate: dict[str, Any] = json.loads(parse_envelope(envelope).payload)["predicate"]
    return predicate


def _info(one: DecisionFile) -> DecisionInfo:
    predicate = one.statement.predicate
    return DecisionInfo(
        number=one.number,
        word=predicate.decision,
        suite_id=predicate.suite.name,
        candidate_id=one.statement.subject[0].name,
        environment=predicate.environment,
        standing="elsewhere",
        signers=approved(predicate, one.found).approvers,
        created=predicate.time_created,
        expires=predicate.expires,
        text=predicate.comment or "",
        path=str(one.path),
    )


def export_decision(
    workspace: Workspace,
    reference: str,
    out: Path,
    key: str | None = None,
    passphrase: str | None = None,
) -> list[tuple[str, str]]:
    """Write every form of a decision (by number, or a file) into a folder; return (path, sha256) of
    each.

    With `key`, the exporter signs the verification summary too. Raises DeskError.
    """
    signers = trusted(workspace)
    connection = reader(workspace.store)
    try:
        found = signing.find_decision(workspace, connection, reference)
        suite = registry.suite_row(connection, found.suite_id)
        stored = suite and registry.candidate_row(connection, suite.id, found.candidate_id)
        if not stored or stored.manifest is None:
            raise DeskError(
                f"{found.candidate_id}: its manifest is not in this store",
                "reviewer import FILE brings a candidate with its manifest beside it",
            )
        envelope = found.one.found.envelope
        files = {"decision.dsse.json": found.one.data}
        files |= export_files(envelope, found.one.statement, stored.manifest, signers)
        wanted = {one.digest.sha256 for one in found.one.statement.predicate.input_attestations}
        results = {
            one.file: one.envelope
            for one in run_result_rows(connection, found.suite_id, found.candidate_id)
            if one.uid in wanted
        }
    except AttestError as error:
        raise refusal_of(error) from error
    finally:
        connection.close()
    if key is not None:
        try:
            signed = sign_payload(files[SUMMARY], signing_key(workspace, key, passphrase))
        except AttestError as error:
            raise refusal_of(error) from error
        files[SUMMARY.replace(".json", ".dsse.json")] = signed
    try:
        (out / "attestations" if results else out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeskError(
            f"{out}: cannot be made a folder ({error.strerror})",
            *ways_out(error),
            exit_code=ExitCode.USAGE,
        ) from error
    written = write_files(out, files)
    return written + (write_files(out / "attestations", results) if results else [])
