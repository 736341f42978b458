"""Results that stand in other files than the trajectories they are about, and in other imports."""

from collections.abc import Collection, Iterable, Iterator
from math import inf
from typing import NamedTuple

from reviewer.importing.faults import asked, foreseen
from reviewer.importing.joined import Joined, Result, named_by
from reviewer.importing.joins import Joins
from reviewer.importing.reader import gives_results, knows_times
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.importing.stored import Attempt, Stored
from reviewer.importing.units import Unit

SEVERAL = "results that may be meant for several attempts that are there: given to none of them"


def gather(units: Iterable[Unit], stored: Stored | None = None) -> Joins:
    """What every result file among `units` says, by instance id, and what the store holds of it. A
    file that cannot be read says so when it is imported itself."""
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
    """Trajectories before results, so that results know which found their trajectory; those whose
    reader knows when they ran, among themselves, in that order."""
    ordered = sorted(units, key=lambda unit: gives_results(unit.reader))
    timed = {n: unit for n, unit in enumerate(ordered) if knows_times(unit.reader)}
    if len(timed) < 2:  # asking when is reading
        return ordered
    for place, unit in zip(timed, sorted(timed.values(), key=_ran_at), strict=True):
        ordered[place] = unit
    return ordered


def _ran_at(unit: Unit) -> float:
    reader = unit.reader
    if not knows_times(reader):
        return 0.0
    return asked(lambda: reader.ran_at(unit.path), inf, reader.name)


class Claim(NamedTuple):
    """A stored trajectory and the results that are meant for it."""

    attempt: Attempt
    fits: list[Result]

    @property
    def sure(self) -> bool:
        """Whether they hold its very patch."""
        return self.attempt.patch is not None and self.fits[0].patch == self.attempt.patch

    @property
    def holds(self) -> bool:
        """Whether they may be its: others' are not, and what names another model is only as long
        as nothing better is known."""
        if self.sure:
            return True
        named = any(named_by(fit, self.attempt.names) for fit in self.fits)
        return not all(fit.taken for fit in self.fits) and (named or not self.attempt.judged)


def later(
    joins: Joins, stored: Stored, path: str, read: Collection[int], notes: set[str]
) -> Iterator[tuple[Attempt, Joined]]:
    """(a trajectory that was imported before, what the results of this import say of it), for the
    instances that `path` speaks of, once each. `read` are sources of this import: their
    trajectories took what is theirs when they were read."""
    for instance_id in joins.once(path):
        found = [one for one in stored.trajectories(instance_id) if one.source not in read]
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
            attempt = claim.attempt
            if not _alone(claim, claims):
                joins.hold(claim.fits)
                notes.add(SEVERAL)
                continue
            told, note = joins.carry(claim.fits, attempt.names, attempt.patch, attempt.candidate_id)
            if note:
                notes.add(note)
            yield attempt, told


def _alone(claim: Claim, claims: list[Claim]) -> bool:
    """Whether it is clear that the results are this trajectory's: by their patch, or because no
    other has the same claim; one of their own folder comes first, then one without a verdict."""
    if claim.sure:
        return True
    rivals = [one for one in claims if not one.sure and any(fit in claim.fits for fit in one.fits)]
    near = [one for one in rivals if _near(one)]
    rivals = near or rivals
    open_ones = [one for one in rivals if not one.attempt.judged]
    return (open_ones or rivals) == [claim]


def _near(claim: Claim) -> bool:
    path = claim.attempt.path
    if path is None:
        return False
    above = {str(folder) for folder in path.absolute().parents}
    return any(fit.said.place in above for fit in claim.fits)
