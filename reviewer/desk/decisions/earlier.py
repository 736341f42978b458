"""The earlier decisions on a candidate: their state, and the verifier's results."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from reviewer.db import decisions, registry
from reviewer.db.connection import Connection
from reviewer.db.decisions import DecisionRow
from reviewer.db.queries.releases import release_of
from reviewer.db.tables import break_glass_rows
from reviewer.desk.decisions.api import CheckedDecision, EarlierDecision
from reviewer.desk.decisions.statements import info_of
from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.integrity.decision_files import parse_decision, read_envelope
from reviewer.desk.integrity.trust import signers_of
from reviewer.desk.place import Workspace
from reviewer.signing.dsse import parse_envelope
from reviewer.signing.errors import AttestError
from reviewer.signing.predicate import parse_time
from reviewer.signing.signers import Signers
from reviewer.signing.trusted import approved
from reviewer.signing.verify import verify

UNSOUND = "does not verify"
WAITS = "waits for a signature"


def earlier_decisions(
    workspace: Workspace, connection: Connection, suite_id: str, candidate_id: str
) -> list[EarlierDecision]:
    """Return the decisions on a candidate of a suite, oldest first, then break-glass records."""
    signers = signers_of(workspace) or Signers((), "")
    now = datetime.now(UTC)
    found = [_earlier(workspace, row, signers) for row in _rows(connection, suite_id, candidate_id)]
    followed: dict[str, int | None] = {}
    for index in reversed(range(len(found))):
        one = found[index]
        if one.state:
            continue
        later = followed.get(one.environment)
        followed[one.environment] = one.number
        state = f"superseded by {later}" if later is not None else "stands"
        if later is None and parse_time(one.expires) <= now:
            state = "expired"
        found[index] = replace(one, state=state)
    for row in break_glass_rows(connection):
        info = info_of(workspace, row)
        if (info.suite_id, info.candidate_id) == (suite_id, candidate_id):
            found.append(
                EarlierDecision(
                    number=None, word=info.word, signers=info.signers,
                    environment=info.environment, created=info.created, expires=info.expires,
                    state="break-glass", comment=info.text, path=info.path,
                )
            )  # fmt: skip
    return found


def checked_decisions(
    workspace: Workspace, connection: Connection, suite_id: str, candidate_id: str
) -> list[CheckedDecision]:
    """Verify the file of every decision on a candidate, by its number."""
    suite = registry.suite_row(connection, suite_id)
    stored = suite and registry.candidate_row(connection, suite.id, candidate_id)
    manifest = (stored.manifest if stored else None) or b""
    now = datetime.now(UTC)
    trust = workspace.signers.read_text(encoding="utf-8") if workspace.signers.exists() else ""
    found = []
    for row in _rows(connection, suite_id, candidate_id):
        try:
            envelope = read_envelope(workspace.decisions / row.file)
            says, lines = _verdict(envelope, manifest, trust, now)
        except OSError as error:
            says, lines = "refused", (f"{row.file}: cannot be read ({error.strerror})",)
        found.append(
            CheckedDecision(
                number=row.number, word=row.decision, says=says, lines=lines,
                report_digest=row.report_sha256,
            )
        )  # fmt: skip
    return found


def _verdict(
    envelope: bytes, manifest: bytes, trust: str, now: datetime
) -> tuple[Literal["verified", "waits", "expired", "refused"], tuple[str, ...]]:
    """Return the verifier's result. An expired decision is verified again as of the time at which
    it was made."""
    told = verify(envelope, manifest, trust, now=now)
    if told.decision is not None:
        return "verified", told.lines
    if told.pending:
        return "waits", told.lines
    if told.statement is not None and parse_time(told.statement.predicate.expires) <= now:
        made = parse_time(told.statement.predicate.time_created)
        if verify(envelope, manifest, trust, now=made).decision is not None:
            return "expired", told.lines
    return "refused", told.lines


def statement_text(path: Path) -> str:
    """Return the payload of a signed file, indented. Raises DeskError."""
    try:
        payload = json.loads(parse_envelope(read_envelope(path)).payload)
    except OSError as error:
        raise DeskError(f"{path}: cannot be read ({error.strerror})", *ways_out(error)) from error
    except (AttestError, ValueError) as error:
        raise DeskError(f"{path}: {error}", *ways_out(error)) from error
    return json.dumps(payload, indent=2, ensure_ascii=False)


def _rows(connection: Connection, suite_id: str, candidate_id: str) -> list[DecisionRow]:
    def of_this(row: DecisionRow) -> bool:
        about = release_of(connection, row.candidate)
        return (about.suite_id, about.candidate_id) == (suite_id, candidate_id)

    return [row for row in decisions.rows(connection) if of_this(row)]


def _earlier(workspace: Workspace, row: DecisionRow, signers: Signers) -> EarlierDecision:
    """Return a decision, with state "" where the state depends on the others."""
    path = workspace.decisions / row.file
    state, expires, comment = UNSOUND, "", ""
    who: tuple[str, ...] = (row.principal,)
    try:
        one = parse_decision(path, row.envelope, signers)
    except AttestError:
        pass
    else:
        predicate = one.statement.predicate
        told = approved(predicate, one.found)
        state = WAITS if told.faults else ""
        who = told.approvers or tuple(signer.principal for signer in one.found.by)
        expires, comment = predicate.expires, predicate.comment or ""
    return EarlierDecision(
        number=row.number, word=row.decision, signers=who, environment=row.environment,
        created=row.at, expires=expires, state=state, comment=comment, path=str(path),
        report_digest=row.report_sha256, sound=state != UNSOUND,
    )  # fmt: skip
