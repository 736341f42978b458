"""A decision written out for programs that know nothing of us."""

from pathlib import Path

from reviewer.db import beside, registry
from reviewer.db.connection import reader
from reviewer.desk.decisions import cosign
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.trust import signing_key, trusted
from reviewer.desk.place import Workspace
from reviewer.desk.reports.renderings import put
from reviewer.exit_codes import ExitCode
from reviewer.signing.errors import AttestError
from reviewer.signing.exports import SUMMARY, export_files
from reviewer.signing.sign import sign_payload


def export_decision(
    workspace: Workspace,
    reference: str,
    out: Path,
    key: str | None = None,
    passphrase: str | None = None,
) -> list[tuple[str, str]]:
    """Write every form of a decision (by number, or a file) into a folder; (path, sha256) of each.

    With `key`, whoever exports signs the verification summary too. Raises DeskError.
    """
    signers = trusted(workspace)
    connection = reader(workspace.store)
    try:
        found = cosign.find(workspace, connection, reference)
        suite = registry.suite_row(connection, found.suite_id)
        stored = suite and registry.candidate_row(connection, suite.id, found.candidate_id)
        if not stored or stored.manifest is None:
            raise DeskError(f"{found.candidate_id}: its manifest is not in this store")
        envelope = found.one.found.envelope
        files = {"decision.dsse.json": found.one.data}
        files |= export_files(envelope, found.one.statement, stored.manifest, signers)
        wanted = {one.digest.sha256 for one in found.one.statement.predicate.input_attestations}
        results = {
            one.file: one.envelope
            for one in beside.run_results(connection, found.suite_id, found.candidate_id)
            if one.uid in wanted
        }
    except AttestError as error:
        raise DeskError(str(error)) from error
    finally:
        connection.close()
    if key is not None:
        try:
            signed = sign_payload(files[SUMMARY], signing_key(key, passphrase))
        except AttestError as error:
            raise DeskError(str(error)) from error
        files[SUMMARY.replace(".json", ".dsse.json")] = signed
    try:
        (out / "attestations" if results else out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeskError(
            f"{out}: cannot be made a folder ({error.strerror})", exit_code=ExitCode.USAGE
        ) from error
    written = put(out, files)
    return written + (put(out / "attestations", results) if results else [])
