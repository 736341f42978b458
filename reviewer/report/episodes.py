"""The counts of several episodes. In a large suite most of them are equal: figures are computed
from each kind once."""

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from reviewer.report.evidence import EpisodeCounts

_OWN = {"episode_id", "cost_nano", "steps", "passed", "unmeasured", "first"}
"""Fields that differ from episode to episode, or that no figure needs."""
_SHARED = tuple(name for name in EpisodeCounts.__struct_fields__ if name not in _OWN)
_shared = attrgetter(*_SHARED)
_Kind = TypeVar("_Kind")


class Episodes(tuple[EpisodeCounts, ...]):
    """Counts of episodes, in order."""

    @property
    def counted(self) -> "Episodes":
        """Return the counts from which rates are computed."""
        if all(each.first is None for each in self):
            return self
        return Episodes(each.counted for each in self)

    @cached_property
    def alike(self) -> list[tuple[EpisodeCounts, int]]:
        """Each kind of counts once, without the fields of a single episode, and how many episodes
        have it; by first occurrence."""
        return [
            (EpisodeCounts(episode_id="", **dict(zip(_SHARED, kind, strict=True))), times)
            for kind, times in Counter(map(_shared, self)).items()
        ]

    def total(self, of: Callable[[EpisodeCounts], int]) -> int:
        """Return the sum of a number that depends on the shared counts."""
        return sum(of(each) * times for each, times in self.alike)

    def tally(self, of: Callable[[EpisodeCounts], _Kind]) -> Counter[_Kind]:
        """Return how many episodes have each value that depends on the shared counts."""
        found: Counter[_Kind] = Counter()
        for each, times in self.alike:
            found[of(each)] += times
        return found
