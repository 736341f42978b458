"""The counts of episodes. In a large suite most of them are equal: they are kept in columns, and
figures are computed from each kind once."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TypeVar, overload

from msgspec import Struct, structs

from reviewer.suite.gates import GATES

_NONE = (0,) * len(GATES)


class EpisodeCounts(Struct, frozen=True, kw_only=True, gc=False):
    """One episode's attempts. `measured` of `attempts` have a verdict; costs are in nano-USD.

    `attempts` leaves infrastructure failures out; `cost_unknown` counts attempts without a cost;
    `in_plan` of `attempts` are numbered within the plan. `first` has the counts of the first
    complete set alone, when attempts were made beyond it. `gate_pass`, `gate_fail`, `gate_unknown`
    are aligned with `reviewer.suite.gates.GATES`. `passed` and `unmeasured` number the attempts
    that passed and those without a verdict, when the store was asked for them (a rendering by
    attempt names them; no figure needs them).
    """

    episode_id: str
    attempts: int = 0
    measured: int = 0
    passes: int = 0
    critical: int = 0
    infrastructure: int = 0
    in_plan: int = 0
    quarantined: int = 0
    cost_nano: int = 0
    cost_unknown: int = 0
    steps: int = 0
    gate_pass: tuple[int, ...] = _NONE
    gate_fail: tuple[int, ...] = _NONE
    gate_unknown: tuple[int, ...] = _NONE
    passed: tuple[int, ...] = ()
    unmeasured: tuple[int, ...] = ()
    first: "EpisodeCounts | None" = None

    @property
    def counted(self) -> "EpisodeCounts":
        """Return the attempts from which rates are computed: rerunning until green must not pay."""
        return self if self.first is None else self.first


_OWN = {"episode_id", "cost_nano", "steps", "passed", "unmeasured", "first"}
"""Fields that differ from episode to episode, or that no figure needs."""
_SHARED = tuple(name for name in EpisodeCounts.__struct_fields__ if name not in _OWN)
_shared = attrgetter(*_SHARED)
_Kind = TypeVar("_Kind")


class Episodes(Sequence[EpisodeCounts]):
    """Counts of episodes, in order.

    `names`, `costs` (nano-USD) and `steps` are columns. `kinds` has the other counts, each
    combination once, under the name ""; `places` is the column of their places in `kinds`. A row is
    made when it is asked for: a hundred thousand at once take 20 MB.
    """

    def __init__(self, rows: Iterable[EpisodeCounts] = ()) -> None:
        self.names: list[str] = []
        self.kinds: list[EpisodeCounts] = []
        self.places, self.costs, self.steps = array("q"), array("q"), array("q")
        self._whole: dict[int, EpisodeCounts] = {}
        """Rows that columns do not hold, by place."""
        known: dict[object, int] = {}
        for place, row in enumerate(rows):
            self.names.append("")
            for column in (self.places, self.costs, self.steps):
                column.append(0)
            self._put(place, row, known)

    def _put(self, place: int, row: EpisodeCounts, known: dict[object, int]) -> None:
        kind = _shared(row)
        if kind not in known:
            known[kind] = len(self.kinds)
            shared = dict(zip(_SHARED, kind, strict=True))
            self.kinds.append(EpisodeCounts(episode_id="", **shared))
        self.names[place], self.places[place] = row.episode_id, known[kind]
        self.costs[place], self.steps[place] = row.cost_nano, row.steps
        if row.first is not None or row.passed or row.unmeasured:
            self._whole[place] = row
        else:
            self._whole.pop(place, None)

    @classmethod
    def of(cls, rows: Iterable[EpisodeCounts]) -> "Episodes":
        """Return these rows in columns."""
        return rows if isinstance(rows, Episodes) else cls(rows)

    @classmethod
    def in_columns(
        cls,
        names: list[str],
        kinds: list[EpisodeCounts],
        places: "array[int]",
        costs: "array[int]",
        steps: "array[int]",
    ) -> "Episodes":
        """Return rows that are in columns already."""
        if not len(names) == len(places) == len(costs) == len(steps):
            raise ValueError("columns of different lengths")
        found = cls()
        found.names, found.kinds = names, kinds
        found.places, found.costs, found.steps = places, costs, steps
        return found

    def with_rows(self, changed: Mapping[int, EpisodeCounts]) -> "Episodes":
        """Return these rows with those at some places replaced."""
        if not changed:
            return self
        columns = self.places[:], self.costs[:], self.steps[:]
        found = Episodes.in_columns(self.names[:], self.kinds[:], *columns)
        found._whole = dict(self._whole)
        known: dict[object, int] = {_shared(kind): n for n, kind in enumerate(self.kinds)}
        for place, row in changed.items():
            found._put(place, row, known)
        return found

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> EpisodeCounts: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[EpisodeCounts]: ...
    def __getitem__(self, place: int | slice) -> EpisodeCounts | Sequence[EpisodeCounts]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        if place in self._whole:
            return self._whole[place]
        return structs.replace(
            self.kinds[self.places[place]],
            episode_id=self.names[place],
            cost_nano=self.costs[place],
            steps=self.steps[place],
        )

    def __iter__(self) -> Iterator[EpisodeCounts]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def counted(self) -> "Episodes":
        """Return the counts from which rates are computed."""
        firsts = {place: row.first for place, row in self._whole.items() if row.first is not None}
        return self.with_rows(firsts)

    @cached_property
    def alike(self) -> list[tuple[EpisodeCounts, int]]:
        """Each kind of counts once, without the fields of a single episode, and how many episodes
        have it; by first occurrence."""
        return [(self.kinds[kind], times) for kind, times in Counter(self.places).items()]

    def total(self, of: Callable[[EpisodeCounts], int]) -> int:
        """Return the sum of a number that depends on the shared counts."""
        return sum(of(each) * times for each, times in self.alike)

    def tally(self, of: Callable[[EpisodeCounts], _Kind]) -> Counter[_Kind]:
        """Return how many episodes have each value that depends on the shared counts."""
        found: Counter[_Kind] = Counter()
        for each, times in self.alike:
            found[of(each)] += times
        return found

    def column(self, of: Callable[[EpisodeCounts], _Kind]) -> list[_Kind]:
        """Return a value that depends on the shared counts, for each episode."""
        values = [of(kind) for kind in self.kinds]
        return [values[kind] for kind in self.places]

    def where(self, holds: Callable[[EpisodeCounts], bool]) -> Iterator[tuple[str, EpisodeCounts]]:
        """Yield the names and the shared counts of the episodes that meet a condition on those, in
        order."""
        chosen = {place: kind for place, kind in enumerate(self.kinds) if holds(kind)}
        if chosen:
            for name, place in zip(self.names, self.places, strict=True):
                if place in chosen:
                    yield name, chosen[place]

    def chosen(self, wanted: Callable[[str], bool]) -> "Episodes":
        """Return the episodes whose names are wanted, in order."""
        return Episodes(self[place] for place, name in enumerate(self.names) if wanted(name))


class SideBySide:
    """The episodes of a candidate next to those of a baseline. `keys` are the kinds of each
    episode: all its attempts and those that count, then the same of the baseline, -1 where the
    baseline lacks the episode."""

    def __init__(self, rows: Episodes, base: Episodes) -> None:
        self._mine, self._theirs = (rows, rows.counted), (base, base.counted)
        theirs: list[Sequence[int]] = [side.places for side in self._theirs]
        if base.names != rows.names:
            held = {name: place for place, name in enumerate(base.names)}
            at = [held.get(name) for name in rows.names]
            theirs = [[-1 if n is None else places[n] for n in at] for places in theirs]
        mine = (side.places for side in self._mine)
        self.keys: list[tuple[int, ...]] = list(zip(*mine, *theirs, strict=True))

    def counts(
        self, key: tuple[int, ...]
    ) -> tuple[EpisodeCounts, EpisodeCounts, EpisodeCounts | None, EpisodeCounts | None]:
        """Return the shared counts behind a key."""
        made, now = (side.kinds[n] for side, n in zip(self._mine, key[:2], strict=True))
        base, then = (
            None if n < 0 else side.kinds[n] for side, n in zip(self._theirs, key[2:], strict=True)
        )
        return made, now, base, then
