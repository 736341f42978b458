"""Which attempts a run makes: the next ones of every episode, or those that are missing.

Attempts stand number by number, each for every episode in the suite's order, so that complete
sets come first.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Made = Mapping[str, Mapping[int, bool]]
"""Episode id → attempts that hold a trace, each with whether infrastructure took it."""


class Place(NamedTuple):
    """An episode and the number of an attempt on it, from 1."""

    episode_id: str
    attempt: int


def next_places(episodes: Sequence[str], made: Made, attempts: int) -> list[Place]:
    """`attempts` more of every episode, numbered on from the last one made."""
    places = [
        Place(episode, last + n)
        for episode in episodes
        for last in (max(made.get(episode, {}), default=0),)
        for n in range(1, attempts + 1)
    ]
    return _by_attempt(places, episodes)


def missing_places(
    episodes: Sequence[str], made: Made, planned: int, last: Mapping[str, int]
) -> list[Place]:
    """The attempts of every episode, 1 to its `last`, that hold no trace; and for each attempt
    within the plan that infrastructure took, one beyond, unless one beyond makes it good already.
    """
    places: list[Place] = []
    for episode in episodes:
        held = made.get(episode, {})
        absent = [n for n in range(1, last[episode] + 1) if n not in held]
        lost = sum(taken for n, taken in held.items() if n <= planned)
        beyond = sum(not taken for n, taken in held.items() if n > planned)
        beyond += sum(n > planned for n in absent)
        free = max([last[episode], *held]) + 1
        absent += range(free, free + max(0, lost - beyond))
        places += [Place(episode, n) for n in absent]
    return _by_attempt(places, episodes)


def _by_attempt(places: list[Place], episodes: Sequence[str]) -> list[Place]:
    order = {episode: position for position, episode in enumerate(episodes)}
    return sorted(places, key=lambda place: (place.attempt, order[place.episode_id]))


def span(places: Sequence[Place]) -> str:
    """The attempts in words: `attempt 4`, `attempts 1–3`."""
    numbers = [place.attempt for place in places]
    first, last = min(numbers), max(numbers)
    return f"attempt {first}" if first == last else f"attempts {first}–{last}"
