"""Test results of a candidate's runs and imports, signed by a runner's key and stored."""

import hashlib
from datetime import UTC, datetime
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.sources import SourceResult, source_results
from reviewer.db.tables import RUN_RESULTS, RunResultRow, run_result_rows
from reviewer.desk.decisions.choices import require_manifest
from reviewer.desk.errors import refusal_of
from reviewer.desk.integrity.decision_files import file_part
from reviewer.desk.integrity.trust import in_role, signing_key, trusted
from reviewer.desk.place import Workspace, write_private
from reviewer.desk.reports.api import CandidateReport
from reviewer.signing.dsse import parse_envelope, sign_payload
from reviewer.signing.errors import AttestError
from reviewer.signing.records import RUNNER_ROLE, RunResultFacts, build_run_result


class SignedRunResult(NamedTuple):
    """One signed test result: its file, its result, and the number of attempts."""

    path: str
    result: str
    attempts: int
    principal: str


def current_results(connection: Connection, built: CandidateReport) -> list[RunResultRow]:
    """Return the newest signed result of each run whose verdicts have not changed since the
    signature."""
    gathered = built.gathered
    kept = run_result_rows(connection, gathered.suite.suite_id, gathered.candidate_id)
    if not kept:
        return []
    now = {one.source: evidence_digest(one) for one in _sources(connection, built)}
    newest = {one.source: one for one in kept if now.get(one.source) == one.evidence}
    return list(newest.values())


def attest(
    workspace: Workspace, built: CandidateReport, key: str, passphrase: str | None
) -> list[SignedRunResult]:
    """Sign the result of each run and import of this candidate that has no signed result yet.

    Raises DeskError: no manifest, a key without the role `runner`, a refused signature.
    """
    require_manifest(built)
    signers = trusted(workspace)
    signer = signing_key(workspace, key, passphrase)
    who = in_role(workspace, signers, signer, RUNNER_ROLE)
    gathered, made = built.gathered, []
    connection = open_writer(workspace.store)
    try:
        known = {(one.source, one.evidence) for one in current_results(connection, built)}
        for source in _sources(connection, built):
            evidence = evidence_digest(source)
            if (source.source, evidence) in known:
                continue
            by = _by_verdict(source)
            payload = build_run_result(
                RunResultFacts(
                    candidate_manifest=gathered.manifest or {},
                    suite_id=gathered.suite.suite_id,
                    suite_sha256=gathered.suite.digest,
                    source_sha256=source.sha256,
                    evidence_sha256=evidence,
                    passed=by[1],
                    failed=by[0],
                    open=by[None],
                )
            )
            envelope = sign_payload(payload, signer)
            uid = hashlib.sha256(parse_envelope(envelope).payload).hexdigest()
            name = file_part(gathered.candidate_id)
            path = workspace.attestations / f"{name}-{source.source}-{uid[:12]}.dsse.json"
            write_private(path, envelope)
            result = "FAILED" if by[0] else "WARNED" if by[None] else "PASSED"
            at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            row = RunResultRow(
                uid, gathered.suite.suite_id, gathered.candidate_id, source.source, result,
                evidence, who.principal, at, path.name, envelope,
            )  # fmt: skip
            RUN_RESULTS.record(connection, workspace.store, [row], at)
            made.append(SignedRunResult(str(path), result, len(source.attempts), who.principal))
    except AttestError as error:
        raise refusal_of(error) from error
    finally:
        close_writer(connection, workspace.store)
    return made


def evidence_digest(source: SourceResult) -> str:
    """Return the sha256 over a line per attempt: its slot, its record's digest, its verdict."""
    words = {1: "passed", 0: "failed", None: "open"}
    lines = "".join(
        f"{episode}/{attempt} {sha256} {words[passed]}\n"
        for episode, attempt, passed, sha256 in source.attempts
    )
    return hashlib.sha256(lines.encode()).hexdigest()


def _by_verdict(source: SourceResult) -> dict[int | None, tuple[str, ...]]:
    return {
        verdict: tuple(
            f"{episode}/{attempt}"
            for episode, attempt, passed, _ in source.attempts
            if passed == verdict
        )
        for verdict in (1, 0, None)
    }


def _sources(connection: Connection, built: CandidateReport) -> list[SourceResult]:
    row = registry.suite_row(connection, built.gathered.suite.suite_id)
    stored = (
        registry.candidate_row(connection, row.id, built.gathered.candidate_id) if row else None
    )
    return source_results(connection, stored.id) if stored else []
