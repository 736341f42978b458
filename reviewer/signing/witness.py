"""A witness: the heads under which was signed, in a file that is kept where the store is not.

One line, in RFC 8785 bytes, for each decision, break-glass record and statement of loss: which
journal, which entry tells of it, that entry's hash, and what was signed. Each line names the one
before it of the same journal by its sha256, so that lines of several stores may stand in one file
in any order, and none can be taken out of the middle. A file in version control on a protected
branch then knows of entries that a store put back as it was no longer has, also where every signed
file went with them.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from reviewer.signing.canonical import canonical, load_object
from reviewer.signing.errors import AttestError, StatementError
from reviewer.signing.history import Filed, journal_of
from reviewer.signing.journal_loss import JournalLoss
from reviewer.signing.parts import Hex, Ordinal, Part, Text
from reviewer.signing.statement import shaped

SCHEMA = "reviewer/witness@1"
MAX_BYTES = 64 << 20
NOTHING = "0" * 64
"""What the first line of a journal follows."""

Kind = Literal["decision", "break-glass", "loss", "head"]


class Line(Part):
    """One head. `signed` is the payload (sha256) of what was signed, null for a head that was only
    written down; `seq` and `head` are of the journal entry that tells of it."""

    schema_: Literal["reviewer/witness@1"] = Field(alias="schema")
    journal: Text
    seq: Ordinal
    head: Hex
    kind: Kind
    signed: Hex | None
    prev: Hex


class Witnessed(NamedTuple):
    """A line with its own digest, which the next one of its journal names."""

    line: Line
    digest: str


def line_bytes(
    journal: str, seq: int, head: str, kind: Kind, signed: str | None, prev: str
) -> bytes:
    """One line, with its end."""
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


def read_witness(data: bytes) -> list[Witnessed]:
    """Every line, once: a merge of two branches may leave one twice. AttestError names the first
    line that is none, or that does not follow the one before it of its journal."""
    if len(data) > MAX_BYTES:
        raise StatementError(f"witness: {len(data)} bytes is too large")
    found: dict[str, Witnessed] = {}
    last: dict[str, Witnessed] = {}
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
                f"witness: line {number} does not follow the line before it of its journal: a line"
                " was changed or taken out, or copies of the journal were signed side by side"
            )
        if before and line.seq <= before.line.seq and line.kind != "loss":
            raise StatementError(
                f"witness: line {number} is of journal entry {line.seq}, and the one before it of"
                f" {before.line.seq}: the journal was put back in between"
            )
        found[digest] = last[line.journal] = Witnessed(line, digest)
    return list(found.values())


def of_journal(lines: Iterable[Witnessed], journal: str) -> list[Witnessed]:
    return [one for one in lines if one.line.journal == journal]


def excused(lines: Sequence[Witnessed], losses: dict[str, int]) -> set[str]:
    """The digests of lines of one journal that a statement of loss speaks of: those before its own
    line, of entries beyond the one that was kept. `losses` are the statements that can be believed:
    payload (sha256) → the entry from which the journal goes on."""
    gone: set[str] = set()
    for at, one in enumerate(lines):
        kept = losses.get(one.line.signed or "") if one.line.kind == "loss" else None
        if kept is not None:
            gone.update(each.digest for each in lines[:at] if each.line.seq > kept)
    return gone


def witness_faults(
    lines: Sequence[Witnessed],
    filed: Sequence[Filed],
    chosen: Filed,
    signed: set[str],
    losses: dict[str, JournalLoss],
) -> list[str]:
    """What a witness knows that a folder contradicts: the decision that would hold was never seen,
    something that was seen is not there, or what is there was signed on a journal that had been
    further. `signed` are the payloads of everything in the folder, `losses` its statements of loss
    by payload."""
    journal = journal_of(chosen.statement)
    if journal is None:
        return [f"{chosen.name} names no journal, so no witness can know of it"]
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
                f"{one.name} was signed at journal entry {audit.seq}, after the witness had seen"
                f" entry {before[-1].line.seq}: the journal was put back in between"
            )
    return faults
