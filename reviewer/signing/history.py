"""Whether the decisions of a folder can be of one history, as far as they name one journal.

Each decision binds where its store's journal stood, and says which journal that was. Within one
journal numbers and positions rise together: signing adds an entry, so no later decision stands at
the position of an earlier one, or below it. Where they do not, an older copy of the store was put
back, or copies of it were signed on side by side. An approver's statement that journal was lost
explains what it names, and nothing else.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from reviewer.signing.journal_loss import JournalLoss
from reviewer.signing.predicate import Statement

_JOURNAL = re.compile(r"(store/review\.db\?journal=[0-9a-f]{32})(?:#.*)?", re.DOTALL)


class Filed(Protocol):
    """A decision, the file it is in, and the sha256 of its payload."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def statement(self) -> Statement: ...
    @property
    def line(self) -> tuple[str, str]: ...


class _Placed(NamedTuple):
    """One decision where its journal stood."""

    seq: int
    number: int
    head: str
    one: Filed


def journal_of(statement: Statement) -> str | None:
    """The journal that a decision was made on, as it names it; None where it names none."""
    evidence = statement.predicate.evidence
    found = _JOURNAL.fullmatch(evidence.uri) if evidence is not None else None
    return found[1] if found else None


def history_faults(filed: Iterable[Filed], losses: Sequence[JournalLoss]) -> list[str]:
    """Positions that fall and forks, by journal."""
    journals: dict[str, list[_Placed]] = {}
    for one in filed:
        predicate, journal = one.statement.predicate, journal_of(one.statement)
        if journal is not None and predicate.audit.seq:
            placed = _Placed(predicate.audit.seq, predicate.decision_seq, predicate.audit.head, one)
            journals.setdefault(journal, []).append(placed)
    faults = []
    for journal, found in journals.items():
        stated = [loss for loss in losses if loss.journal == journal]
        found.sort(key=lambda each: (each.number, each.seq, each.one.digest))
        faults += _falls(found, stated)
        faults += _shared(found, stated)
    return faults


def _falls(placed: list[_Placed], losses: list[JournalLoss]) -> list[str]:
    """Each decision against the highest before it; against all of them where journal was lost."""
    faults = []
    if not losses:
        pairs = list(pairwise(placed))
    else:
        pairs = [
            (before, after)
            for at, after in enumerate(placed)
            for before in placed[:at]
            if not _explained(before, after, losses)
        ]
    for before, after in pairs:
        first, second = before.one.name, after.one.name
        if after.seq > before.seq:
            if after.number == before.number and after.one.line != before.one.line:
                faults.append(f"{first} and {second} are both decision {after.number}")
        elif after.seq < before.seq:
            faults.append(
                f"{second} was signed at journal entry {after.seq}, and {first} before it at"
                f" {before.seq}: the journal was put back in between, or a copy of it signed one"
            )
        else:
            heads = "" if after.head == before.head else " with different heads"
            faults.append(
                f"{first} and {second} were both signed at journal entry {after.seq}{heads}: one of"
                " them stands on a copy of the journal"
            )
    return faults


def _explained(before: _Placed, after: _Placed, losses: list[JournalLoss]) -> bool:
    """Return whether a statement says that `before` was lost, and `after` was signed behind it."""
    for loss in losses:
        lost = {each.digest.sha256 for each in loss.decisions}
        behind = after.one.digest not in lost and after.seq > loss.kept.seq
        if before.one.digest in lost and behind:
            return True
    return False


def _shared(placed: list[_Placed], losses: list[JournalLoss]) -> list[str]:
    """Two decisions of one agent and environment that follow the same one."""
    followed: dict[tuple[tuple[str, str], str | None], _Placed] = {}
    faults = []
    for each in placed:
        before = each.one.statement.predicate.previous_decision
        key = each.one.line, before.digest.sha256 if before is not None else None
        first = followed.setdefault(key, each)
        if first is not each and not _explained(first, each, losses):
            what = "no decision" if key[1] is None else f"the decision (sha256 {key[1]})"
            faults.append(
                f"{first.one.name} and {each.one.name} both follow {what}: the journal was put"
                " back in between, or a copy of it signed one"
            )
    return faults
