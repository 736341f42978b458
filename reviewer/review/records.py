"""Records that people add besides labels: notes on events, costs, and searches for leaked episodes.

Each is a line of JSON, and lines are only ever added. A change is a new line: of notes on one
event, of one kind and person, the latest counts; of several corrections of one cost the latest
counts, and a corrected cost does not; a search for leaks holds a release until a line withdraws it,
with a reason.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from reviewer.review.lines import Lines, age, is_instant
from reviewer.suite.fields import Amount, File, Id, Limits, Name, Positive, Rate, Sha256, StoredName
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.value import Value

MOST_TEXT = 4000
"""Characters of a note."""

# With a fixed number of decimals the text of a time sorts as the time does.
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Note(Value, frozen=True, kw_only=True):
    """One note or bookmark of a person on an event, or its withdrawal. `at` is RFC 3339 in UTC with
    six decimals; names are those of the store in which it was made."""

    SCHEMA: ClassVar[str] = "reviewer/note@1"

    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""
    suite_id: Annotated[StoredName, "The suite's id."]
    candidate_id: Annotated[StoredName, "The candidate's id."]
    trace_id: Annotated[StoredName, "The trace's id: suite, candidate, episode and attempt."]
    trace_sha256: Annotated[Sha256, "Digest of the trace's record."]
    seq: Annotated[Positive, "The event's number."]
    kind: Annotated[Literal["bookmark", "note"], "A mark, or a text."]
    text: Annotated[
        str, Limits(max_length=MOST_TEXT), "Of a note: its text, masked. Empty: taken back."
    ] = ""
    removed: Annotated[bool, "Whether it takes back the one before it."] = False
    reviewer: Annotated[Name, "Who made it."]
    at: Annotated[str, "When, in UTC, with six decimals."]


def note_problems(note: Note) -> Iterator[tuple[str, str]]:
    """Yield the reasons to refuse this note in any store, as (JSON path, reason)."""
    if is_instant(note.at) and not _AT.fullmatch(note.at):
        yield "$.at", "must have six decimals, such as 2026-01-31T09:02:31.000000Z"
    if not note.trace_id.startswith(f"{note.suite_id}/{note.candidate_id}/"):
        yield "$.trace_id", "is no trace of this suite_id and candidate_id"
    silent = note.kind == "bookmark" or note.removed
    if silent and note.text:
        yield "$.text", "belongs to a note in force, not to a bookmark or to one taken back"
    if not silent and not note.text:
        yield "$.text", "is missing: a note without words is one taken back, with removed"


NOTES = Lines("note", Note, note_problems)


CostKind = Literal["human", "incident"]
KINDS: tuple[CostKind, ...] = ("human", "incident")
MOST_NOTE = 1000
"""Characters of a note."""
MOST_USD = 1_000_000_000
"""Limit of an amount: with six decimals fifteen digits, which a JSON number holds exactly."""

_AMOUNT = re.compile(r"(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?", re.ASCII)


class Cost(Value, frozen=True, kw_only=True):
    """One amount that a person entered in addition to the attempts' cost, or the correction of one.
    `at` is RFC 3339 in UTC; `entry_id` is the entry's own, unique per candidate and suite."""

    SCHEMA: ClassVar[str] = "reviewer/cost@1"
    ORDER: ClassVar[str] = "schema uid suite_id candidate_id entry_id kind amount_usd currency note"

    suite_id: Annotated[StoredName, "The suite's id."]
    candidate_id: Annotated[StoredName, "The candidate's id."]
    entry_id: Annotated[Id, "The entry's id, once per candidate and suite."]
    kind: Annotated[CostKind, "Handling by people, or an incident."]
    amount_usd: Annotated[Amount, Limits(lt=MOST_USD), "USD, with at most six decimals."]
    reviewer: Annotated[Name, "Who entered it."]
    at: Annotated[str, "When, in UTC."]
    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""
    currency: Annotated[str, File(Literal["USD"]), "Always USD."] = "USD"
    note: Annotated[str, Limits(max_length=MOST_NOTE), "What it was spent on."] = ""
    corrects: Annotated[Id | None, "The entry that this one replaces."] = None


def amount_of(text: str) -> float:
    """Parse an amount in USD: digits, and at most six after a decimal point. ValueError for
    anything else: a sign, an exponent, NaN, a billion or more."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError(
            f"{text[:40]!r} is not an amount in USD: digits from 0 to 999999999, and at most six "
            "behind a point, such as 12.50"
        )
    return float(text)


def entry_id_of(cost: Cost) -> str:
    """Return the id of an entry without one: a digest of all but the time, so that entering the
    same amount again gives the same entry."""
    content = [
        cost.suite_id, cost.candidate_id, cost.kind, cost.amount_usd, cost.note, cost.reviewer,
        cost.corrects,
    ]  # fmt: skip
    return sha256_hex(canonical_bytes(content, "cost"))[:16]


def same_cost(one: Cost, other: Cost) -> bool:
    """Return whether two entries with one id agree in kind, amount and correction, whatever the
    person and the time."""
    both = ((x.kind, x.amount_usd, x.corrects) for x in (one, other))
    return len(set(both)) == 1


def counting_costs(entries: Iterable[Cost]) -> frozenset[str]:
    """Return the ids of the entries that count, from those of one candidate on one suite."""
    known = {one.entry_id: one for one in entries}
    latest: dict[str, Cost] = {}
    for one in sorted(known.values(), key=age):
        if one.corrects in known:
            latest[str(one.corrects)] = one
    roots = [one for one in known.values() if one.corrects not in known]
    found = set()
    for root in roots:
        seen = {root.entry_id}
        while (after := latest.get(root.entry_id)) is not None and after.entry_id not in seen:
            root = after
            seen.add(root.entry_id)
        found.add(root.entry_id)
    return frozenset(found)


def cost_problems(cost: Cost) -> Iterator[tuple[str, str]]:
    """Yield the reasons to refuse this entry in any store, as (JSON path, reason)."""
    if cost.corrects == cost.entry_id:
        yield "$.corrects", "is the entry itself"
    if not _AMOUNT.fullmatch(f"{cost.amount_usd:.6f}") or cost.amount_usd != float(
        f"{cost.amount_usd:.6f}"
    ):
        yield "$.amount_usd", "has more than six decimals"


COSTS = Lines("cost", Cost, cost_problems)


_Count = Annotated[int, Limits(ge=0, lt=2**53)]


class Leak(Value, frozen=True):
    """One episode whose request was found in the file."""

    episode_id: Annotated[StoredName, "The episode's id."]
    kind: Annotated[
        Literal["exact", "inside", "near"], "The whole text, a part of it, or one like it."
    ]
    jaccard: Annotated[Rate, "The highest Jaccard index of the request's shingles and a text's."]
    record: Annotated[Positive, "The record in which it was found first, from 1."]
    pointer: Annotated[str, Limits(max_length=4096), "Where in that record."]
    times: Annotated[Positive, "In how many texts it was found."]


class LeakCheck(Value, frozen=True, kw_only=True):
    """One search for frozen episodes in one file, or (`withdraws`) the withdrawal of one."""

    SCHEMA: ClassVar[str] = "reviewer/leak-check@1"
    ORDER: ClassVar[str] = (
        "schema uid suite_id suite_digest candidate_id file sha256 records unread texts "
        "threshold missed compared short silent leaks withdraws reason"
    )

    suite_id: Annotated[StoredName, "The suite's id."]
    suite_digest: Annotated[Sha256, "Digest of the suite's lock."]
    reviewer: Annotated[Name, "Who looked, or took it back."]
    at: Annotated[str, "When, in UTC."]
    candidate_id: Annotated[
        str, Limits(max_length=4096), "The candidate it concerns. Empty: every candidate."
    ] = ""
    file: Annotated[str, Limits(max_length=4096), "The file's name."] = ""
    sha256: Annotated[str, File(Sha256 | Literal[""]), "Digest of the file."] = ""
    records: Annotated[_Count, "Records of the file."] = 0
    unread: Annotated[_Count, "Records that could not be read."] = 0
    texts: Annotated[_Count, "Texts that were compared."] = 0
    threshold: Annotated[Rate, "From this Jaccard index a text is near."] = 0.0
    missed: Annotated[Rate, "The chance that a text at the threshold is missed."] = 0.0
    compared: Annotated[_Count, "Episodes that were looked for."] = 0
    short: Annotated[_Count, "Episodes whose requests can only be found exact."] = 0
    silent: Annotated[_Count, "Episodes without a request."] = 0
    leaks: Annotated[
        tuple[Leak, ...], Limits(max_length=1_000_000), "The episodes that were found."
    ] = ()
    withdraws: Annotated[
        str, File(Sha256 | Literal[""]), "The uid of the look that this line takes back."
    ] = ""
    reason: Annotated[str, Limits(max_length=4000), "Why it is taken back."] = ""
    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""


def leak_problems(check: LeakCheck) -> Iterator[tuple[str, str]]:
    """Yield the reasons to refuse this line in any store, as (JSON path, reason)."""
    if check.withdraws:
        if not check.reason.strip():
            yield "$.reason", "is missing: a finding is withdrawn for a reason"
        if check.leaks or check.sha256:
            yield "$.withdraws", "is in a line that is a look at a file"
        return
    if check.reason:
        yield "$.reason", "belongs to a line that withdraws a look"
    if not check.sha256:
        yield "$.sha256", "is missing: which file was looked at"
    if not 0 < check.threshold <= 1:
        yield "$.threshold", "is above 0 and at most 1"
    for at, leak in enumerate(check.leaks):
        if not 0 <= leak.jaccard <= 1:
            yield f"$.leaks[{at}].jaccard", "is from 0 to 1"


class Look(Value, frozen=True):
    """A search with its withdrawal: `withdrawn` is the reason, or empty."""

    check: LeakCheck
    withdrawn: str = ""
    withdrawn_by: str = ""


def with_withdrawals(
    checks: Iterable[LeakCheck], counts: Callable[[str], bool] = lambda _who: True
) -> tuple[Look, ...]:
    """Return the searches by time, each with its withdrawal: the first one by a person whose
    withdrawals count."""
    withdrawals: dict[str, LeakCheck] = {}
    looks = []
    for check in sorted(checks, key=age):
        if check.withdraws:
            if counts(check.reviewer):
                withdrawals.setdefault(check.withdraws, check)
        else:
            looks.append(check)
    return tuple(
        Look(check=look, withdrawn=back.reason, withdrawn_by=back.reviewer)
        if (back := withdrawals.get(look.uid))
        else Look(check=look)
        for look in looks
    )


LEAKS = Lines("leak-check", LeakCheck, leak_problems)
