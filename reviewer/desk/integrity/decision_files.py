"""The decisions of the store: its rows, the files in `store/decisions/`, and those of the files
that were signed in another store."""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from reviewer.db import decisions, registry
from reviewer.db.connection import Connection, transaction
from reviewer.db.decisions import DecisionRow, Standing
from reviewer.desk.errors import DeskError, NoTrace
from reviewer.desk.integrity.store_checks import signed_file_names
from reviewer.desk.place import Workspace, write_private
from reviewer.desk.views import SignedDecision
from reviewer.report.evidence import Evidence
from reviewer.signing.dsse import MAX_ENVELOPE_BYTES, parse_envelope
from reviewer.signing.errors import AttestError
from reviewer.signing.manifests import agent_of
from reviewer.signing.predicate import Statement
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.trusted import VerifiedPayload, approved, vouched
from reviewer.signing.verify import VerifyResult, decision_in


class DecisionFile(NamedTuple):
    """A decision in a file that a key of the trust file signed."""

    path: Path
    data: bytes
    found: VerifiedPayload
    statement: Statement

    @property
    def digest(self) -> str:
        """Return the sha256 of the payload."""
        return hashlib.sha256(self.found.envelope.payload).hexdigest()

    @property
    def number(self) -> int:
        return self.statement.predicate.decision_seq

    @property
    def agent(self) -> str:
        return agent_of(self.statement.subject[0].name)

    @property
    def environment(self) -> str:
        return self.statement.predicate.environment


def read_envelope(path: Path) -> bytes:
    """Return a file's bytes, at most one more than an envelope may have, so that a larger file is
    noticed. Raises OSError."""
    with path.open("rb") as handle:
        return handle.read(MAX_ENVELOPE_BYTES + 1)


def envelope_files(folder: Path) -> list[Path]:
    """Return the envelopes in a folder, by name; none where there is no folder."""
    return sorted(path for path in folder.glob("*.dsse.json") if path.is_file())


def parse_decision(path: Path, data: bytes, signers: Signers) -> DecisionFile:
    """Parse an envelope as a decision. Raises AttestError unless it is a decision that a trusted
    key signed."""
    found = vouched(data, signers)
    return DecisionFile(path, data, found, decision_in(found))


def unlisted_files(workspace: Workspace, connection: Connection) -> list[Path]:
    """Return the envelopes in the folder of decisions that no row of this store names."""
    names = signed_file_names(connection)
    return [path for path in envelope_files(workspace.decisions) if path.name not in names]


def foreign_decisions(
    workspace: Workspace, connection: Connection, signers: Signers
) -> list[DecisionFile]:
    """Return the decisions in files for which this store has no row, except those that no trusted
    key signed: doctor reports these."""
    payloads = {one.payload_sha256 for one in decisions.rows(connection)}
    found = []
    for path in unlisted_files(workspace, connection):
        try:
            one = parse_decision(path, read_envelope(path), signers)
        except (AttestError, OSError):
            continue
        if one.digest not in payloads:
            found.append(one)
    return found


def next_number(connection: Connection, others: list[DecisionFile]) -> int:
    """Return the next number: greater than all in rows and in files."""
    rows = [one.number for one in decisions.rows(connection)]
    return max([0, *rows, *(one.number for one in others)]) + 1


def previous_payload(
    connection: Connection,
    others: list[DecisionFile],
    agent: str,
    environment: str,
    number: int | None = None,
) -> str | None:
    """Return the payload (sha256) of the decision that number `number` (None: the next) follows."""
    known = [
        (one.number, one.digest)
        for one in others
        if (one.agent, one.environment) == (agent, environment)
        and (number is None or one.number < number)
    ]
    if (row := decisions.newest_before(connection, agent, environment, number)) is not None:
        known.append(row)
    return max(known)[1] if known else None


def approval_state(one: DecisionFile) -> Standing:
    """Return whether the trusted signatures of a decision meet its own policy."""
    return "pending" if approved(one.statement.predicate, one.found).faults else "signed"


def file_part(candidate_id: str) -> str:
    """Return a candidate's id as a part of the name of a signed file."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", candidate_id)[:80]


def file_of(workspace: Workspace, number: int, decision: str, candidate_id: str) -> Path:
    name = file_part(candidate_id)
    return workspace.decisions / f"{number}-{decision.lower()}-{name}.dsse.json"


def keep_decision(
    workspace: Workspace,
    connection: Connection,
    one: DecisionFile,
    keys: tuple[int, int],
    at: str,
    kind: str = decisions.SIGNED,
) -> DecisionRow:
    """Store a decision with all its signatures. `keys` are suite and candidate, `kind` says whether
    it was signed here or elsewhere.

    The file is written first, then the row: doctor detects a file without a row, whereas a row
    without a file could not be checked. Both happen under the lock, so that no number is given
    twice.
    """
    predicate = one.statement.predicate
    first, *others = one.found.by
    row = DecisionRow(
        number=one.number,
        suite=keys[0],
        candidate=keys[1],
        decision=predicate.decision,
        principal=first.principal,
        payload_sha256=one.digest,
        report_sha256=predicate.report.digest.sha256,
        file=one.path.name,
        envelope=one.data,
        at=at,
        seq=0,
        standing=approval_state(one),
        agent=one.agent,
        environment=one.environment,
    )
    with transaction(connection, workspace.store):
        if decisions.row(connection, one.number) is not None:
            raise DeskError(
                f"this store already has a different decision {one.number}",
                "read it again, then sign",
            )
        _refuse_other_file(one)
        write_private(one.path, one.data)
        decisions.add(connection, row, first.key.keyid, kind)
        for other in others:
            decisions.cosign(connection, row, other.key.keyid, other.principal, at)
    return row


def _refuse_other_file(one: DecisionFile) -> None:
    """Raise DeskError when the file of a decision exists and contains anything but the same
    decision."""
    try:
        there = parse_envelope(read_envelope(one.path)).payload
    except FileNotFoundError:
        return
    except (AttestError, OSError):
        there = b""
    if there != one.found.envelope.payload:
        raise DeskError(f"{one.path} already exists with different content", "move it away")


def keep_signatures(
    workspace: Workspace, connection: Connection, row: DecisionRow, one: DecisionFile, at: str
) -> DecisionRow:
    """Store further signatures under a decision that has a row."""
    changed = row._replace(envelope=one.data, standing=approval_state(one))
    with transaction(connection, workspace.store):
        now = decisions.row(connection, row.number)
        if now is None or now.envelope != row.envelope:
            raise DeskError(
                f"decision {row.number} was signed in the meantime", "read it again, then sign"
            )
        held = decisions.keyids(connection, row.number)
        write_private(one.path, one.data)
        for signer in one.found.by:
            if signer.key.keyid not in held:
                decisions.cosign(connection, changed, signer.key.keyid, signer.principal, at)
    return changed


def keys_of(connection: Connection, gathered: Evidence) -> tuple[int, int]:
    """Return the keys of a report's suite and candidate in this store."""
    suite = registry.suite_row(connection, gathered.suite.suite_id)
    stored = registry.candidate_row(connection, suite.id, gathered.candidate_id) if suite else None
    if suite is None or stored is None:
        raise NoTrace(gathered.suite.suite_id, gathered.candidate_id)
    return suite.id, stored.id


def signed_answer(
    workspace: Workspace,
    connection: Connection,
    row: DecisionRow,
    who: TrustedKey,
    checked: VerifyResult,
) -> SignedDecision:
    """Return a stored signature with the verifier's result."""
    told = checked.statement.predicate if checked.statement is not None else None
    return SignedDecision(
        decision=row.decision,
        path=str(workspace.decisions / row.file),
        number=row.number,
        principal=who.principal,
        keyid=who.key.keyid,
        verified=checked.decision is not None,
        lines=checked.lines,
        pending=checked.pending,
        signers=tuple(decisions.signers(connection, row.number)),
        created=told.time_created if told is not None else "",
        expires=told.expires if told is not None else "",
    )
