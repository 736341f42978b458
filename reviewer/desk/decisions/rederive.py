"""A decision that somebody signed, derived anew from this store: the same bytes, or not.

Taken from the decision, to be read by whoever signs, are only its word, when it was made, for which
environment, its comment, and the versions of the tool that made it.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from reviewer.db import decisions
from reviewer.db.connection import Connection
from reviewer.db.decisions import DecisionRow
from reviewer.desk.decisions.facts import Told, decision_facts
from reviewer.desk.decisions.views import Pending
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import decision_files
from reviewer.desk.integrity.decision_files import Filed
from reviewer.desk.integrity.trust import signers_of
from reviewer.desk.labels.book import Book
from reviewer.desk.place import Workspace
from reviewer.desk.reports.reports import Built
from reviewer.exit_codes import ExitCode
from reviewer.signing.errors import AttestError
from reviewer.signing.predicate import parse_time
from reviewer.signing.sign import mismatches
from reviewer.signing.signers import Signers
from reviewer.signing.statement import build_statement
from reviewer.signing.trusted import approved

Build = Callable[[str | None], Built]
"""The report of the candidate against a baseline."""


class Waiting(NamedTuple):
    """A decision that waits for another signature; `row` is None when it was made elsewhere."""

    one: Filed
    row: DecisionRow | None


def rederived(
    workspace: Workspace,
    connection: Connection,
    built: Built,
    signers: Signers,
    book: Book,
    one: Filed,
) -> bytes:
    """The payload as this store gives it. Raises DeskError or AttestError where it gives none."""
    predicate = one.statement.predicate
    others = [
        other
        for other in decision_files.elsewhere(workspace, connection, signers)
        if other.digest != one.digest
    ]
    row = decisions.by_payload(connection, one.digest)
    number = row.number if row is not None else decision_files.next_number(connection, others)
    told = Told(
        decision=predicate.decision,
        number=number,
        previous=decision_files.before(connection, others, one.agent, one.environment, number),
        created=parse_time(predicate.time_created),
        environment=predicate.environment,
        comment=predicate.comment or "",
        tool_version=predicate.verifier.version.reviewer,
        python_version=predicate.verifier.version.python,
        journal_seq=predicate.audit.seq,
    )
    return build_statement(decision_facts(connection, built, told, signers, book))


def waiting(
    workspace: Workspace, connection: Connection, candidate: int, built: Built
) -> list[Waiting]:
    """Decisions on this candidate that wait for another signature, the newest first: those of this
    store, and files that came from others. One that has expired waits for nothing."""
    rows = decisions.pending(connection, candidate)
    if not rows and not decision_files.strays(workspace, connection):
        return []  # as nearly always: nothing heavy is loaded for it
    signers = signers_of(workspace)
    if signers is None:
        return []
    found = []
    for row in rows:
        try:
            filed = decision_files.filed(workspace.decisions / row.file, row.envelope, signers)
        except AttestError:
            continue  # by keys that were taken out of the trust file
        found.append(Waiting(filed, row))
    digest = built.gathered.candidate.digest if built.gathered.candidate else None
    found += [
        Waiting(one, None)
        for one in decision_files.elsewhere(workspace, connection, signers)
        if one.statement.subject[0].digest.sha256 == digest
        and one.statement.predicate.suite.digest.sha256 == built.gathered.suite.digest
        and decision_files.standing_of(one) == "pending"
    ]
    now = datetime.now(UTC)
    alive = [each for each in found if parse_time(each.one.statement.predicate.expires) > now]
    return sorted(alive, key=lambda each: each.one.number, reverse=True)


def pending_view(
    workspace: Workspace,
    connection: Connection,
    build: Build,
    book: Book,
    candidate: int,
    built: Built,
) -> Pending | None:
    """The newest decision that waits, with the fields in which it is not what this store gives."""
    found = waiting(workspace, connection, candidate, built)
    signers = signers_of(workspace)
    if not found or signers is None:
        return None
    one = found[0].one
    predicate = one.statement.predicate
    who = approved(predicate, one.found)
    try:
        against = build(predicate.report.baseline)
        ours = rederived(workspace, connection, against, signers, book, one)
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


def refuse_twin(
    workspace: Workspace,
    connection: Connection,
    built: Built,
    signers: Signers,
    book: Book,
    decision: str,
    environment: str,
) -> None:
    """Raises DeskError when the very decision somebody is about to sign waits for a signature: two
    halves would never make a whole."""
    candidate = decision_files.keys_of(connection, built.gathered)[1]
    for one, _ in waiting(workspace, connection, candidate, built):
        predicate = one.statement.predicate
        if (predicate.decision, predicate.environment) != (decision, environment):
            continue
        try:
            ours = rederived(workspace, connection, built, signers, book, one)
        except (AttestError, DeskError):
            continue
        if ours == one.found.envelope.payload:
            who = ", ".join(approved(predicate, one.found).approvers)
            raise DeskError(
                f"decision {one.number} says so already and waits for a signature (signed by "
                f"{who or 'nobody that counts'})",
                f"reviewer sign --add {one.number} --key KEY",
                exit_code=ExitCode.POLICY_NOT_MET,
            )
