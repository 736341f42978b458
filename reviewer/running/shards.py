"""Shards of a run: which of n disjoint parts of the planned slots one job makes."""

from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple

MOST = 100_000
"""Most shards of one run."""


class Shard(NamedTuple):
    """Shard `number` of `of`, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Parse `i/n`. Raises ValueError, which says what is wrong and what a valid value is."""
    parts = text.split("/")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdigit() and len(part) < 16 for part in parts
    ):
        raise ValueError(f"{text[:40]!r}: not I/N")
    shard = Shard(*map(int, parts))
    if problem := shard_problem(shard):
        raise ValueError(f"{text[:40]!r}: {problem}")
    return shard


def shard_problem(shard: Shard) -> str:
    """Return why a shard is impossible; "" for a valid one."""
    if not 1 <= shard.of <= MOST:
        return f"a run has 1 to {MOST:,} shards"
    if not 1 <= shard.number <= shard.of:
        return f"the shards of {shard.of} are 1/{shard.of} to {shard.of}/{shard.of}"
    return ""


def owners(episodes: Sequence[str], of: int) -> Callable[[str, int], int]:
    """Return the function that gives the shard (from 1) of a slot, by episode id and attempt.

    It depends only on the suite's order of episodes and the number of shards. The attempts 1 to N
    of all episodes are divided evenly (no shard has two more than another), and so are those of
    each single episode, for every N.
    """
    place = {episode: position for position, episode in enumerate(episodes)}
    # Counting slots attempt by attempt divides them evenly. Where the numbers of episodes and of
    # shards have a common factor, an episode would meet the same shards again after `period`
    # attempts, so each period begins one shard further.
    period = of // gcd(len(episodes) or 1, of)

    def owner(episode_id: str, attempt: int) -> int:
        n = attempt - 1
        return (n * len(episodes) + place[episode_id] + n // period) % of + 1

    return owner
