"""Entered costs: written durably, listed, shown in the report, and taken in from another store."""

from datetime import UTC, datetime

import msgspec

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.tables import COSTS as TABLE
from reviewer.db.tables import CostRow, cost_places
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.imports import record_files
from reviewer.desk.imports.record_files import OtherStore, RecordKind, TakeResult, keep_lines
from reviewer.desk.place import Workspace
from reviewer.desk.reports.evidence import cost_entries_shown, entries_of, ledger
from reviewer.exit_codes import ExitCode
from reviewer.report.evidence import CostEntry
from reviewer.review.records import (
    COSTS,
    Cost,
    CostKind,
    amount_of,
    counting_costs,
    entry_id_of,
    same_cost,
)
from reviewer.suite.errors import ContractError, Problem
from reviewer.trace.redaction import redactor_of


class NewCost(msgspec.Struct, frozen=True, kw_only=True):
    """A cost to enter: `amount` as it was typed, `entry_id` and `corrects` empty for none, `kind`
    None for the kind of the corrected entry."""

    suite_id: str
    candidate_id: str
    kind: CostKind | None
    amount: str
    note: str = ""
    entry_id: str = ""
    corrects: str = ""


class EnteredCost(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as the store has it; `added` is false for one that the store already had."""

    suite_id: str
    candidate_id: str
    entry: CostEntry
    added: bool


def enter_cost(workspace: Workspace, new: NewCost, reviewer: str) -> EnteredCost:
    """Store one entry: durable when this returns; the same entry again adds nothing.

    Raises DeskError for a text that is no amount, an unknown candidate, an id that belongs to
    another amount, a correction of an entry that does not exist or no longer counts; StoreError
    when nothing could be written.
    """
    connection = open_writer(workspace.store)
    try:
        cost = _drafted(connection, new, reviewer)
        known = entries_of(connection, new.suite_id, new.candidate_id)
        before = next((one for one in known if one.entry_id == cost.entry_id), None)
        if before is None:
            cost = _sealed(_corrected(cost, known))
            TABLE.record(connection, workspace.store, [_row_of(cost)], cost.at)
            known.append(cost)
        elif not same_cost(before, cost):
            raise DeskError(
                f"entry {cost.entry_id} exists already: {before.kind} ${before.amount_usd:.2f}",
                f"use --corrects {cost.entry_id} to correct it, or another --id for another entry",
                exit_code=ExitCode.USAGE,
            )
        found = cost_entries_shown(known)
        (entry,) = (one for one in found if one.entry_id == cost.entry_id)
        return EnteredCost(
            suite_id=new.suite_id,
            candidate_id=new.candidate_id,
            entry=entry,
            added=before is None,
        )
    finally:
        close_writer(connection, workspace.store)


def _drafted(connection: Connection, new: NewCost, reviewer: str) -> Cost:
    try:
        amount = amount_of(new.amount.strip())
    except ValueError as error:
        raise DeskError(
            f"--amount {error}", "name US dollars, such as --amount 12.50", exit_code=ExitCode.USAGE
        ) from None
    row = registry.suite_row(connection, new.suite_id)
    if row is None or registry.candidate_row(connection, row.id, new.candidate_id) is None:
        raise DeskError(
            f"no trace of {new.candidate_id} on {new.suite_id} is in this store: a cost needs a "
            "candidate with traces",
            "reviewer scorecard lists suites and candidates",
        )
    kind = new.kind
    if kind is None:
        known = entries_of(connection, new.suite_id, new.candidate_id)
        kind = next((one.kind for one in known if one.entry_id == new.corrects), None)
    if kind is None:
        raise DeskError(
            "--kind is missing", "add --kind human, or --kind incident", exit_code=ExitCode.USAGE
        )
    masked = redactor_of(registry.suite_body(connection, new.suite_id).redaction).masked
    if masked(new.entry_id) != new.entry_id:
        raise DeskError(
            "--id holds an identifier, and entries are exported",
            "use another id, or leave out --id: one is made from the content",
            exit_code=ExitCode.USAGE,
        )
    cost = Cost(
        suite_id=new.suite_id,
        candidate_id=new.candidate_id,
        entry_id=new.entry_id,
        kind=kind,
        amount_usd=amount,
        reviewer=reviewer,
        at=datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        note=masked(new.note.strip()),
        corrects=new.corrects or None,
    )
    if new.entry_id:
        return cost
    return msgspec.structs.replace(cost, entry_id=entry_id_of(cost))


def _sealed(cost: Cost) -> Cost:
    try:
        return COSTS.seal(cost)
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.USAGE) from None


def _corrected(cost: Cost, known: list[Cost]) -> Cost:
    """Return the entry, provided that it may correct the entry it names. Raises DeskError."""
    if cost.corrects is None:
        return cost
    before = next((one for one in known if one.entry_id == cost.corrects), None)
    if before is None:
        raise DeskError(
            f"there is no entry {cost.corrects} of {cost.candidate_id} on {cost.suite_id}",
            "reviewer costs list names them",
            exit_code=ExitCode.USAGE,
        )
    if before.kind != cost.kind:
        raise DeskError(
            f"entry {cost.corrects} has the kind {before.kind}, and a correction cannot change "
            "the kind",
            "correct it to 0, then enter a new one",
            exit_code=ExitCode.USAGE,
        )
    standing = counting_costs(known)
    if cost.corrects not in standing:
        after = next(one for one in known if one.corrects == cost.corrects)
        raise DeskError(
            f"entry {cost.corrects} was already corrected by {after.entry_id}: correct that one",
            "reviewer costs list shows which entries count",
            exit_code=ExitCode.USAGE,
        )
    return cost


def listed_costs(
    connection: Connection, suite_id: str, candidate_id: str
) -> list[tuple[str, str, CostEntry]]:
    """Return (suite, candidate, entry) of the entries of a suite and candidate ("": all), oldest
    first."""
    return [
        (suite, candidate, entry)
        for suite, candidate in cost_places(connection)
        if suite_id in ("", suite) and candidate_id in ("", candidate)
        for entry in ledger(connection, suite, candidate)
    ]


def _row_of(cost: Cost) -> CostRow:
    return CostRow(
        cost.uid, cost.suite_id, cost.candidate_id, cost.entry_id, cost.at, COSTS.content(cost)
    )


class _Border:
    """The rules for an entry from elsewhere: its candidate is judged here, it contains no
    identifiers, and no other entry has its id."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        self._connection = connection
        self._seen: dict[tuple[str, str, str], Cost] = {}

    def admitted(self, cost: Cost, place: str) -> Cost:
        """Return the entry. Raises ContractError with every reason to refuse it."""
        place_here = cost.suite_id, cost.candidate_id
        row = registry.suite_row(self._connection, cost.suite_id)
        known = row and registry.candidate_row(self._connection, row.id, cost.candidate_id)
        if known is None:
            raise ContractError(place, "$.candidate_id", "is not a candidate with traces here")
        texts = [("note", cost.note), ("reviewer", cost.reviewer), ("entry_id", cost.entry_id)]
        rules = registry.suite_body(self._connection, cost.suite_id).redaction
        found = list(record_files.identifier_problems(redactor_of(rules).masked, texts))
        stand = entries_of(self._connection, *place_here)
        before = next((one for one in stand if one.entry_id == cost.entry_id), None)
        before = before or self._seen.get((*place_here, cost.entry_id))
        if before is not None and not same_cost(before, cost):
            found.append(("$.entry_id", "exists here with another amount"))
        if found:
            raise ContractError.of([Problem(place, where, why) for where, why in found])
        self._seen[(*place_here, cost.entry_id)] = cost
        return cost


KIND: RecordKind[Cost, CostRow] = RecordKind(
    "cost", COSTS, TABLE, _row_of, _Border, lambda row: row.suite_id
)


def take_costs(there: OtherStore) -> TakeResult:
    """Take in the entries of another store. An entry that this store already has counts once,
    whichever person entered it; one whose id belongs to another amount is refused."""
    lines = [
        (f"{there.name}: cost {row.id}", row.body)
        for suite in TABLE.suites(there.other)
        for row in TABLE.of_suite(there.other, suite)
    ]

    def here(cost: Cost) -> Cost:
        for one in entries_of(there.ours, cost.suite_id, cost.candidate_id):
            if one.entry_id == cost.entry_id and same_cost(one, cost):
                return msgspec.structs.replace(one, uid=COSTS.uid_of(one))
        return cost

    return keep_lines(KIND, there.workspace, there.ours, lines, here)
