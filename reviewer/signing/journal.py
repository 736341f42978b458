"""The journal that decisions are bound to: whether those of a folder can be of one history, and the
witness of its heads.

History: each decision binds the position of its store's journal, and names that journal. Within one
journal numbers and positions rise together: signing adds an entry, so no later decision is at the
position of an earlier one, or below it. Where they do not, an older copy of the store was restored,
or copies of it were signed on side by side. A statement of loss explains what it names, and nothing
else.

The witness is a file that is kept apart from the store: one line, in RFC 8785 bytes, for each
decision, break-glass record and statement of loss: the journal, the entry that records it, that
entry's hash, and the payload that was signed. Each line names the one before it of the same journal
by its sha256, so that lines of several stores may be in one file in any order, and none can be
taken out of the middle. A file in version control on a protected branch then knows of entries that
a restored store no longer has, even where every signed file is gone with them.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol

from msgspec import field

from reviewer.signing.errors import AttestError, StatementError, canonical, load_object
from reviewer.signing.predicate import (
    Hex,
    Ordinal,
    Part,
    Statement,
    Text,
)
from reviewer.signing.records import JournalLoss
from reviewer.signing.shapes import shaped

_JOURNAL = re.compile(r"(store/review\.db\?journal=[0-9a-f]{32})(?:#.*)?", re.DOTALL)


class FiledDecision(Protocol):
    """A decision, the file it is in, and the sha256 of its payload."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def statement(self) -> Statement: ...
    @property
    def line(self) -> tuple[str, str]: ...


class _PlacedDecision(NamedTuple):
    """One decision with the position of its journal."""

    seq: int
    number: int
    head: str
    one: FiledDecision


def journal_of(statement: Statement) -> str | None:
    """Return the journal that a decision was made on, as it names it; None where it names none."""
    evidence = statement.predicate.evidence
    found = _JOURNAL.fullmatch(evidence.uri) if evidence is not None else None
    return found[1] if found else None


def history_faults(filed: Iterable[FiledDecision], losses: Sequence[JournalLoss]) -> list[str]:
    """Return faults for positions that fall and for forks, by journal."""
    journals: dict[str, list[_PlacedDecision]] = {}
    for one in filed:
        predicate, journal = one.statement.predicate, journal_of(one.statement)
        if journal is not None and predicate.audit.seq:
            placed = _PlacedDecision(
                predicate.audit.seq, predicate.decision_seq, predicate.audit.head, one
            )
            journals.setdefault(journal, []).append(placed)
    faults = []
    for journal, found in journals.items():
        stated = [loss for loss in losses if loss.journal == journal]
        found.sort(key=lambda each: (each.number, each.seq, each.one.digest))
        faults += _falls(found, stated)
        faults += _shared(found, stated)
    return faults


def _falls(placed: list[_PlacedDecision], losses: list[JournalLoss]) -> list[str]:
    """Compare each decision with the highest before it; with all of them where a part of the
    journal was lost."""
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
                f"{second} was signed at journal entry {after.seq}, and {first} before it at "
                f"{before.seq}: an older journal was restored in between, or a copy of the "
                "journal signed one"
            )
        else:
            heads = "" if after.head == before.head else " with different heads"
            faults.append(
                f"{first} and {second} were both signed at journal entry {after.seq}{heads}: one of"
                " them was signed on a copy of the journal"
            )
    return faults


def _explained(before: _PlacedDecision, after: _PlacedDecision, losses: list[JournalLoss]) -> bool:
    """Return whether a statement says that `before` was lost, and `after` was signed behind it."""
    for loss in losses:
        lost = {each.digest.sha256 for each in loss.decisions}
        behind = after.one.digest not in lost and after.seq > loss.kept.seq
        if before.one.digest in lost and behind:
            return True
    return False


def _shared(placed: list[_PlacedDecision], losses: list[JournalLoss]) -> list[str]:
    """Return faults for two decisions of one agent and environment that follow the same one."""
    followed: dict[tuple[tuple[str, str], str | None], _PlacedDecision] = {}
    faults = []
    for each in placed:
        before = each.one.statement.predicate.previous_decision
        key = each.one.line, before.digest.sha256 if before is not None else None
        first = followed.setdefault(key, each)
        if first is not each and not _explained(first, each, losses):
            what = "no decision" if key[1] is None else f"the decision (sha256 {key[1]})"
            faults.append(
                f"{first.one.name} and {each.one.name} both follow {what}: an older journal was "
                "restored in between, or a copy of the journal signed one"
            )
    return faults


SCHEMA = "reviewer/witness@1"
MAX_BYTES = 64 << 20
NOTHING = "0" * 64
"""The `prev` of a journal's first line."""

Kind = Literal["decision", "break-glass", "loss", "head"]


class Line(Part, frozen=True):
    """One head. `signed` is the payload (sha256) of what was signed, null for a head that was only
    written down; `seq` and `head` are of the journal entry that tells of it."""

    schema_: Literal["reviewer/witness@1"] = field(name="schema")
    journal: Text
    seq: Ordinal
    head: Hex
    kind: Kind
    signed: Hex | None
    prev: Hex


class WitnessLine(NamedTuple):
    """A line with its own digest, which the next one of its journal names."""

    line: Line
    digest: str


def line_bytes(
    journal: str, seq: int, head: str, kind: Kind, signed: str | None, prev: str
) -> bytes:
    """Return one line, with its end."""
    body = {
        "schema": SCHEMA,
        "journal": journal,
        "seq": seq,
        "head": head,
        "kind": kind,
        "signed": signed,
        "prev": prev,
    }
    return canonical(body, "witness") + b"\n"


def read_witness(data: bytes) -> list[WitnessLine]:
    """Read every line, once: a merge of two branches may leave one twice. AttestError names the
    first line that is invalid, or that does not follow the one before it of its journal."""
    if len(data) > MAX_BYTES:
        raise StatementError(f"witness: {len(data)} bytes is too large")
    found: dict[str, WitnessLine] = {}
    last: dict[str, WitnessLine] = {}
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip() or raw.startswith(b"#"):
            continue
        digest = hashlib.sha256(raw.rstrip(b"\r")).hexdigest()
        if digest in found:
            continue
        try:
            line = shaped(Line, load_object(raw, "witness"))
        except AttestError as error:
            raise StatementError(f"witness: line {number}: {error}") from None
        before = last.get(line.journal)
        if line.prev != (before.digest if before else NOTHING):
            raise StatementError(
                f"witness: line {number} does not follow the line before it of its journal: a "
                "line was changed or removed, or two copies of the journal were signed in "
                "parallel"
            )
        if before and line.seq <= before.line.seq and line.kind != "loss":
            raise StatementError(
                f"witness: line {number} is of journal entry {line.seq}, and the one before it of "
                f"{before.line.seq}: an older journal was restored in between"
            )
        found[digest] = last[line.journal] = WitnessLine(line, digest)
    return list(found.values())


def of_journal(lines: Iterable[WitnessLine], journal: str) -> list[WitnessLine]:
    return [one for one in lines if one.line.journal == journal]


def excused(lines: Sequence[WitnessLine], losses: dict[str, int]) -> set[str]:
    """Return the digests of lines of one journal that a statement of loss speaks of: those before
    its own line, of entries beyond the one that was kept. `losses` are the statements that can be
    believed: payload (sha256) → the entry from which the journal goes on."""
    gone: set[str] = set()
    for at, one in enumerate(lines):
        kept = losses.get(one.line.signed or "") if one.line.kind == "loss" else None
        if kept is not None:
            gone.update(each.digest for each in lines[:at] if each.line.seq > kept)
    return gone


def witness_faults(
    lines: Sequence[WitnessLine],
    filed: Sequence[FiledDecision],
    chosen: FiledDecision,
    signed: set[str],
    losses: dict[str, JournalLoss],
) -> list[str]:
    """Return where a folder contradicts a witness: the decision in force was never seen, something
    that was seen is missing, or a decision was signed on a journal that had been further. `signed`
    are the payloads of everything in the folder, `losses` its statements of loss by payload."""
    journal = journal_of(chosen.statement)
    if journal is None:
        return [f"{chosen.name} names no journal, so no witness can confirm it"]
    known = of_journal(lines, journal)
    places = {one.line.signed: at for at, one in enumerate(known) if one.line.signed}
    if chosen.digest not in places:
        return [f"{chosen.name} is not in the witness"]
    kept = {payload: loss.kept.seq for payload, loss in losses.items()}
    stated = excused(known, kept)
    faults = [
        f"the witness has seen a {one.line.kind} (sha256 {one.line.signed}) at journal entry"
        f" {one.line.seq} that is not in this folder"
        for one in known
        if one.line.signed not in (None, *signed) and one.digest not in stated
    ]
    for one in filed:
        at, audit = places.get(one.digest), one.statement.predicate.audit
        if at is None or journal_of(one.statement) != journal:
            continue
        gone = excused(known[: at + 1], kept)
        before = [each for each in known[:at] if each.digest not in gone]
        if known[at].line.seq <= audit.seq:
            faults.append(f"{one.name} was signed at entry {audit.seq}, after the witness saw it")
        if before and before[-1].line.seq > audit.seq:
            faults.append(
                f"{one.name} was signed at journal entry {audit.seq}, after the witness had seen "
                f"entry {before[-1].line.seq}: an older journal was restored in between"
            )
    return faults
