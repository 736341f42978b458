"""Review sets: a selection of recorded attempts for people to read, whose rate estimates that of
all.

The sample is drawn by lot within each stratum, from a seed that anyone can repeat. Attempts that a
flag selects are read in addition: they show what goes wrong, and no rate is computed from them. A
set is identified by the digest of everything it was made of, including its rubric, so its labels
belong to this draw.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, UnsetType

from reviewer.review.items import Kind, item_name
from reviewer.review.labels import Reason, Stratum
from reviewer.review.queue import Entry
from reviewer.suite.rubric import Rubric
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.value import Value, learned

Dimension = Literal["tool", "outcome", "cost"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
Flag = Literal["thumbs-down", "high-cost", "new-tools", "refusals", "repeated-calls"]
FLAGS: tuple[Flag, ...] = get_args(Flag)
REASON_OF: dict[Flag, Reason] = {
    "thumbs-down": "thumbs_down",
    "high-cost": "high_cost",
    "new-tools": "new_tools",
    "refusals": "refusal",
    "repeated-calls": "repeated_calls",
}
SET_REASONS: dict[Reason, Stratum] = {
    **dict.fromkeys(REASON_OF.values(), "high"),
    "random": "low",
}
"""The reasons of a set's items, flags before the lot, each with its priority."""


class Unit(Value, frozen=True):
    """One attempt, or one pair of attempts, of the population; in a pair of baseline and candidate,
    the baseline's first. `messages` are the digests of their final messages, known once the unit is
    drawn; `cell` has the value of each dimension."""

    traces: tuple[str, ...]
    episode_id: str
    messages: tuple[str, ...] = ()
    cell: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def name(self) -> str:
        return "\n".join(self.traces)


class Drawn(Value, frozen=True):
    """A unit that is read. `place` counts the units drawn by lot in its cell from 1; 0: only a flag
    selected it."""

    unit: Unit
    place: int


class Cell(Value, frozen=True):
    """A stratum: the number of its units in the population, and the number drawn by lot."""

    values: tuple[str, ...]
    size: int
    drawn: int


class FlagRule(Value, frozen=True):
    """A rule that selects units, in words; the units `picked`, and those for which it lacked the
    facts to decide (`unknown`)."""

    flag: Flag
    rule: str
    picked: int
    unknown: int


class Source(Value, frozen=True):
    """The source of the population: attempts of one suite, of these candidates, or the attempts in
    these files (by digest). `baseline_id` is the other side of the pairs; "" where they are of one
    candidate."""

    suite_id: str
    suite_digest: str
    candidates: tuple[str, ...]
    files: tuple[str, ...] = ()
    baseline_id: str = ""


class ReviewSet(Value, frozen=True):
    """A frozen set. `population` is the digest of all its attempts and their records, `size` the
    number of its units; `left_out` counts attempts that could not be read, by reason."""

    SCHEMA: ClassVar[str] = "reviewer/review-set@1"

    kind: Kind
    source: Source
    sample: str
    seed: int
    strata: tuple[Dimension, ...]
    cost_bands: tuple[float, ...]
    population: str
    size: int
    left_out: dict[str, int]
    cells: tuple[Cell, ...]
    flags: tuple[FlagRule, ...]
    rubric: Rubric
    rubric_digest: str
    units: tuple[Drawn, ...]
    # Unset for final messages, so that earlier sets keep their digests.
    about: Literal["user"] | UnsetType = UNSET
    """Whose words are read: the user's, in whole conversations. Unset: the final messages."""


class SealedSet(NamedTuple):
    """A set under its name, with its digest and the bytes that were digested."""

    name: str
    uid: str
    body: bytes
    held: ReviewSet


learned(ReviewSet)
_stored = msgspec.json.Decoder(ReviewSet)


def seal(name: str, made: ReviewSet) -> SealedSet:
    """Return the set with its digest: that of the RFC 8785 bytes of its content."""
    plain = {"schema": ReviewSet.SCHEMA, **msgspec.to_builtins(made)}
    body = canonical_bytes(plain, "review set")
    return SealedSet(name, sha256_hex(body), body, made)


def stored_set(name: str, uid: str, body: bytes) -> SealedSet:
    """Return a set from stored bytes. Raises msgspec.DecodeError."""
    return SealedSet(name, uid, body, _stored.decode(body))


def share_of(sample: str) -> Fraction:
    """Return the share that a sample such as `5%` names. Raises ValueError with the reason."""
    text = sample.strip()
    number = text.removesuffix("%").strip()
    digits = number.replace(".", "", 1)
    if not text.endswith("%") or not (digits.isascii() and digits.isdigit()) or len(number) > 12:
        raise ValueError("is no share in percent, such as 5% or 0.5%")
    share = Fraction(number) / 100
    if not 0 < share <= 1:
        raise ValueError("must be more than 0% and at most 100%")
    return share


def draw(units: Sequence[Unit], share: Fraction, seed: int) -> tuple[Drawn, ...]:
    """Return the units to read, by name: of each cell the share drawn by lot, rounded up, and all
    units with a flag. A larger share draws the same units and more."""
    cells: dict[tuple[str, ...], list[Unit]] = {}
    for unit in units:
        cells.setdefault(unit.cell, []).append(unit)
    places: dict[str, int] = {}
    for held in cells.values():
        held.sort(key=lambda unit: _lot(seed, unit))
        chosen = held[: math.ceil(len(held) * share)]
        places.update({unit.name: place for place, unit in enumerate(chosen, 1)})
    return tuple(
        Drawn(unit=unit, place=places.get(unit.name, 0))
        for unit in sorted(units, key=lambda unit: unit.name)
        if unit.name in places or unit.flags
    )


def cells_of(units: Iterable[Unit], drawn: Iterable[Drawn]) -> tuple[Cell, ...]:
    """Return every cell of the population, by its values."""
    made = Counter(one.unit.cell for one in drawn if one.place)
    sizes = Counter(unit.cell for unit in units)
    return tuple(
        Cell(values=values, size=size, drawn=made[values]) for values, size in sorted(sizes.items())
    )


def population_digest(units: Iterable[Unit], records: Mapping[str, str]) -> str:
    """Return the digest of all units: the attempts, and the record of each."""
    rows = sorted([trace, records[trace]] for unit in units for trace in unit.traces)
    return sha256_hex(canonical_bytes(rows, "population"))


def item_of(sealed: SealedSet, unit: Unit) -> str:
    """Return the name of the item that shows a unit."""
    return item_name(sealed.held.kind, sealed.uid, unit.episode_id, unit.messages)


def in_order(sealed: SealedSet, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries in their order: the first of every cell, then the second ones, so that
    soon every cell has an answer; entries of flags alone in between, evenly and by lot. The place
    of an item does not reveal why it is there."""
    first: dict[str, int] = {}
    for one in sealed.held.units:
        if one.place:
            name = item_of(sealed, one.unit)
            first[name] = min(first.get(name, one.place), one.place)
    by_lot = sorted(entries, key=lambda e: sha256_hex(f"{sealed.uid}{e.item.item}".encode()))
    drawn = sorted((e for e in by_lot if e.item.item in first), key=lambda e: first[e.item.item])
    picked = [e for e in by_lot if e.item.item not in first]
    spread = [((n + 0.5) / len(some), e) for some in (drawn, picked) for n, e in enumerate(some)]
    return tuple(e for _, e in sorted(spread, key=lambda one: one[0]))


def _lot(seed: int, unit: Unit) -> str:
    return sha256_hex(f"{seed}\n{unit.name}".encode())
