"""Results in other files than the trajectories they are about: in this import, and in the store."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.db import payload
from reviewer.db.connection import Connection, StoreError
from reviewer.db.queries import imports
from reviewer.db.queries.imports import ResultRow
from reviewer.importing.formats import foreign_readers
from reviewer.importing.pipeline.claiming import ran_at
from reviewer.importing.pipeline.results import (
    OF_ATTEMPT,
    RUNS_OWN,
    Joins,
    Result,
    ResultEntry,
    named_by,
    plain_name,
)
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import Unit
from reviewer.importing.reader import foreseen, gives_results, knows_times
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

MOST_PACKS = 8


class StoredTrajectory(NamedTuple):
    """A stored trajectory with the facts by which results are joined to it."""

    row: ResultRow
    path: Path | None
    names: tuple[str, ...]
    patch: str | None

    @property
    def judged(self) -> bool:
        return self.row.passed is not None


class StoredResult(NamedTuple):
    """A stored attempt that is known only by its result."""

    row: ResultRow
    entry: ResultEntry
    format: str
    instance_id: str


class _Record(NamedTuple):
    """The members of a stored record that are needed here."""

    source: dict[str, Any]
    final_state: Any
    termination: str | None


class _Wire(msgspec.Struct):
    """The record as it is stored. One from a harness may have anything as its source."""

    source: Any = None
    final_state: Any = None
    termination: str | None = None


_wire = msgspec.json.Decoder(_Wire)


def _decoded(raw: bytes, trace: int) -> _Record:
    """Decode a stored record. Raises StoreError: the record was valid when it was written."""
    try:
        held = _wire.decode(raw)
    except msgspec.DecodeError as error:
        raise StoreError(f"trace {trace} is not a stored trace: the file is damaged") from error
    source = held.source if isinstance(held.source, dict) else {}
    return _Record(source, held.final_state, held.termination)


class StoredResults:
    """Reads the results and trajectories of a store. `suite` is the requested one (empty: all
    probes), `names` the source's names of its episodes there."""

    def __init__(self, connection: Connection, suite: str, names: Mapping[str, str]) -> None:
        self._connection = connection
        self._suite, self._names = suite, names
        self._homes: dict[tuple[str, str], frozenset[str]] = {}
        self._bound: frozenset[int] | None = None
        self._frame = lru_cache(maxsize=MOST_PACKS)(self._frame_of)

    def results(self, instance_id: str) -> list[ResultEntry]:
        """Return the entries of attempts that are known only by their results."""
        return [entry for row, record in self._of(instance_id) if (entry := _entry(row, record))]

    def trajectories(self, instance_id: str) -> list[StoredTrajectory]:
        """Return attempts to which results may be joined; those without a verdict first."""
        found = [a for row, record in self._of(instance_id) if (a := _trajectory(row, record))]
        return sorted(found, key=lambda one: one.judged)

    def models(self) -> Iterator[ResultEntry]:
        """Yield one result of each candidate that has any: names of models, and the places of their
        runs."""
        for row, record in self._read(imports.first_results(self._connection, self._suite)):
            if (entry := _entry(row, record)) is not None:
                yield entry

    def left(self, models: Iterable[str]) -> Iterator[StoredResult]:
        """Yield attempts known only by their results, of candidates named after these models, by
        their plain names."""
        theirs = {ours: theirs for theirs, ours in self._names.items()}
        rows = imports.results_of_models(self._connection, self._suite, models)
        for row, record in self._read(rows):
            if (entry := _entry(row, record)) is not None:
                instance_id = theirs.get(row.episode_id, row.episode_id)
                yield StoredResult(row, entry, str(record.source["format"]), instance_id)

    def homes(self, model: str, place: str) -> frozenset[str]:
        """Return the candidates of this model, by its plain name, whose trajectories are below a
        place."""
        found = self._homes.get((model, place))
        if found is None:
            found = self._homes[model, place] = frozenset(self._candidates_below(model, place))
        return found

    def _candidates_below(self, model: str, place: str) -> Iterator[str]:
        folders = {place, os.path.relpath(place)}
        rows = imports.first_below(self._connection, self._suite, folders)
        for row, record in self._read(rows):
            if plain_name(str(_joined_by(record).get("model") or "")) == model:
                yield row.candidate_id

    def _of(self, instance_id: str) -> Iterator[tuple[ResultRow, _Record]]:
        episode = self._names.get(instance_id, instance_id)
        return self._read(imports.results_of_episode(self._connection, self._suite, episode))

    def _read(self, rows: Iterable[ResultRow]) -> Iterator[tuple[ResultRow, _Record]]:
        """Yield rows with their records, without results that were found to belong to another
        attempt (`homes`)."""
        for row in rows:
            if self._bound is None:
                self._bound = imports.bound_results(self._connection)
            if row.id in self._bound:
                continue
            try:
                record = self._record(row)
            except StoreError as error:  # the file at hand is sound: it can be imported later
                raise Unreadable(f"what it may be joined to cannot be read: {error}") from error
            if record is not None:
                yield row, record

    def _record(self, row: ResultRow) -> _Record | None:
        if row.pack is None or row.offset is None or row.length is None:
            head = payload.large_head_bytes(self._connection, row.id)
            return None if head is None else _decoded(head, row.id)
        raw = self._frame(row.pack)[row.offset : row.offset + row.length]
        return _decoded(raw, row.id)

    def _frame_of(self, pack: int) -> bytes:
        return payload.frame_bytes(self._connection, pack)


def _text(record: _Record, name: str) -> str:
    value = record.source.get(name)
    return value if isinstance(value, str) else ""


def _joined_by(record: _Record) -> Mapping[str, Any]:
    value = record.source.get("joined_by")
    return value if isinstance(value, dict) else {}


@cache
def _formats() -> frozenset[str]:
    """Return the formats whose attempts are known only by their results."""
    return frozenset(reader.name for reader in foreign_readers() if gives_results(reader))


def _entry(row: ResultRow, record: _Record) -> ResultEntry | None:
    """Return the entry of a result that was imported before, as its files had it at that time; None
    for any other attempt."""
    if record.source.get("format") not in _formats():
        return None
    detail = json.loads(row.detail or "{}")
    exception = detail.pop("exception", None)
    model = _text(record, "model")
    notes = record.source.get("notes")
    notes = [one for one in notes if isinstance(one, str)] if isinstance(notes, list) else []
    return ResultEntry(
        SourceVerdict(
            passed=None if row.passed is None else bool(row.passed),
            reward=row.reward,
            exception=exception if isinstance(exception, str) else None,
            detail=detail,
        ),
        record.final_state,
        row.path,
        model,
        _text(record, "run"),
        _text(record, "label"),
        _text(record, "place"),
        record.termination,
        tuple(note for note in notes if note not in OF_ATTEMPT),
        stored=(row.id, row.evidence),
        digest=str(_joined_by(record).get("patch") or ""),
        candidate=row.candidate_id if RUNS_OWN in notes else "",
    )


def _trajectory(row: ResultRow, record: _Record) -> StoredTrajectory | None:
    by = _joined_by(record)
    if "joined_by" not in record.source or record.source.get("format") in _formats():
        return None
    path = Path(row.path)
    there = path if path.is_absolute() or path.is_file() else None
    model, patch = by.get("model"), by.get("patch")
    names = [model] if isinstance(model, str) and model else []
    if there is not None:
        names += [folder.name for folder in list(there.absolute().parents)[:2] if folder.name]
    patch = patch if isinstance(patch, str) and patch else None
    return StoredTrajectory(row, there, tuple(names), patch)


SEVERAL = "results that may be meant for several attempts that are there: given to none of them"


def gather(units: Iterable[Unit], stored: StoredResults | None = None) -> Joins:
    """Collect the entries of every result file among `units`, by instance id, and of the store. A
    file that cannot be read is reported when it is imported itself."""
    joins = Joins(stored)
    spoken = False
    for unit in units:
        if not gives_results(unit.reader):
            if unit.reader is not None:
                joins.run_at(unit.path)
            continue
        try:
            with foreseen(unit.reader.name):
                source = Source(unit.path, "", unit.companions)
                source.reader = unit.reader.name
                for instance_id, joined in unit.reader.results(source):
                    joins.add(instance_id, joined)
                    spoken = True
        except (Unreadable, OSError):
            continue
    for one in stored.models() if stored and spoken else ():
        joins.model(one)
    return joins


def in_order(units: Iterable[Unit]) -> list[Unit]:
    """Sort trajectories before results, so that results know which found their trajectory; those
    whose reader knows when they ran, in that order."""
    ordered = sorted(units, key=lambda unit: gives_results(unit.reader))
    timed = {n: unit for n, unit in enumerate(ordered) if knows_times(unit.reader)}
    if len(timed) < 2:  # asking for the time reads the file
        return ordered
    for place, unit in zip(timed, sorted(timed.values(), key=_ran_at), strict=True):
        ordered[place] = unit
    return ordered


def _ran_at(unit: Unit) -> float:
    if unit.near is not None:
        return unit.near[0]
    return ran_at(unit.reader, unit.path) if unit.reader else 0.0


class Claim(NamedTuple):
    """A stored trajectory and the results that may belong to it."""

    trajectory: StoredTrajectory
    fits: list[Result]

    @property
    def sure(self) -> bool:
        """Return whether the results contain exactly the patch of the trajectory."""
        return self.trajectory.patch is not None and self.fits[0].patch == self.trajectory.patch

    @property
    def holds(self) -> bool:
        """Return whether the results may be of the trajectory: those of others are not, and one
        that names another model is only used as long as nothing better is known."""
        if self.sure:
            return True
        named = any(named_by(fit, self.trajectory.names) for fit in self.fits)
        return not all(fit.taken for fit in self.fits) and (named or not self.trajectory.judged)


def later(
    joins: Joins, stored: StoredResults, path: str, read: Collection[int], notes: set[str]
) -> Iterator[tuple[StoredTrajectory, ResultEntry]]:
    """Yield (a trajectory that was imported before, the entry of this import about it), for the
    instances that `path` is about, once each. `read` are sources of this import, whose trajectories
    took their results when they were read."""
    for instance_id in joins.once(path):
        found = [one for one in stored.trajectories(instance_id) if one.row.source not in read]
        for one in found:
            if one.path is not None:
                joins.run_at(one.path)
        claims = [
            Claim(one, fits)
            for one in found
            if (fits := joins.meant(instance_id, one.names, one.patch, one.path, fresh=True))
        ]
        claims = [one for one in claims if one.holds]
        for claim in claims:
            trajectory = claim.trajectory
            if not _alone(claim, claims):
                joins.hold(claim.fits)
                notes.add(SEVERAL)
                continue
            entry, note = joins.carry(
                claim.fits, trajectory.names, trajectory.patch, trajectory.row.candidate_id
            )
            if note:
                notes.add(note)
            yield trajectory, entry


def _alone(claim: Claim, claims: list[Claim]) -> bool:
    """Return whether the results clearly belong to this trajectory: by their patch, or because no
    other has the same claim; one of their own folder comes first, then one without a verdict."""
    if claim.sure:
        return True
    rivals = [one for one in claims if not one.sure and any(fit in claim.fits for fit in one.fits)]
    near = [one for one in rivals if _near(one)]
    rivals = near or rivals
    open_ones = [one for one in rivals if not one.trajectory.judged]
    return (open_ones or rivals) == [claim]


def _near(claim: Claim) -> bool:
    path = claim.trajectory.path
    if path is None:
        return False
    above = {str(folder) for folder in path.absolute().parents}
    return any(fit.entry.place in above for fit in claim.fits)
