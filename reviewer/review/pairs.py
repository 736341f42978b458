"""In which order pairs come up: each once with either message on the left, and far apart.

The whole order follows from the items, in the order of the queue, and a seed: nothing needs to be
stored for a session to go on where it was left. Second showings come first in, first out, but mixed
among first ones by a seeded coin, so that a reviewer cannot tell a repeat by its place.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reviewer.review.model import Item, Showing
from reviewer.suite.canonical import sha256_hex

FAR = 20


class Seen(NamedTuple):
    """One showing that was on screen. It was `labeled` (or skipped with a reason), or handed back
    without a word, and then it comes again."""

    item: str
    number: int
    labeled: bool = True


def distance(pairs: int) -> int:
    """How many places lie between the two showings of a pair: 20, or half of a shorter queue."""
    return min(FAR, pairs)


def showing(item: Item, number: int, seed: str) -> Showing:
    """A pair in the order of showing `number` (1 or 2); who is left first, a seeded hash decides.

    ValueError for an item that is no pair, or another number.
    """
    if item.kind != "pair" or number not in (1, 2):
        raise ValueError(f"showing {number} of a {item.kind}: pairs are shown as 1 and as 2")
    swapped = _coin(seed, item.item) ^ (number == 2)
    first, second = (message.digest for message in item.messages)
    left, right = (second, first) if swapped else (first, second)
    return Showing(item=item.item, number=number, left=left, right=right)


def schedule(items: Sequence[Item], seed: str) -> tuple[Showing, ...]:
    """Both showings of every pair. First showings come in the order of `items`; each second one
    comes at least `distance(len(items))` places after its first. ValueError for an item twice."""
    if len({item.item for item in items}) != len(items):
        raise ValueError("an item stands twice in the queue")
    apart = distance(len(items))
    order: list[Showing] = []
    waiting: deque[Item] = deque()
    for item in items:
        # With `apart` or more waiting, the one in front was shown at least that long ago, and
        # whoever enters behind them will wait at least that long.
        while len(waiting) >= apart and _coin(seed, f"place {len(order)}"):
            order.append(showing(waiting.popleft(), 2, seed))
        order.append(showing(item, 1, seed))
        waiting.append(item)
    return (*order, *(showing(item, 2, seed) for item in waiting))


def remaining(items: Sequence[Item], seed: str, seen: Sequence[Seen] = ()) -> tuple[Showing, ...]:
    """What is still to be shown after `seen`, everything that was on screen, oldest first.

    The order is that of the schedule without what is labeled. It is left only where a pair would
    come too near to its other showing (because items were labeled out of order, or the queue has
    changed since), and for a showing handed back: that one waits `distance` places, or as many as
    leave room for its other order. Items in `seen` that are no longer in the queue only count as
    places.
    """
    labeled = {(one.item, one.number) for one in seen if one.labeled}
    rest = [s for s in schedule(items, seed) if (s.item, s.number) not in labeled]
    left = {(s.item, s.number) for s in rest}
    apart = distance(len(items))
    ready: dict[tuple[str, int], int] = {}
    for place, one in enumerate(seen):
        own, other = (one.item, one.number), (one.item, 3 - one.number)
        if one.labeled:
            ready[other] = max(ready.get(other, 0), place + apart)
        else:
            room = len(rest) - 1 - (apart if other in left else 0)
            ready[own] = max(ready.get(own, 0), place + 1 + max(0, min(apart, room)))
    return tuple(_spaced(rest, ready, len(seen), apart))


def _spaced(
    rest: Sequence[Showing], ready: dict[tuple[str, int], int], start: int, apart: int
) -> Iterable[Showing]:
    """`rest` with each showing no earlier than `ready` (a place) says, as far as that can be."""
    waiting: list[tuple[int, Showing]] = []
    coming = iter(enumerate(rest))
    for place in range(start, start + len(rest)):
        found = _first_ready(waiting, ready, place)
        while found is None and (following := next(coming, None)) is not None:
            if ready.get((following[1].item, following[1].number), 0) <= place:
                found = following
            else:
                waiting.append(following)
        if found is None:
            found = min(waiting, key=lambda w: (ready[w[1].item, w[1].number], w[0]))
            waiting.remove(found)
        shown = found[1]
        partner = shown.item, 3 - shown.number
        ready[partner] = max(ready.get(partner, 0), place + apart)
        yield shown


def _first_ready(
    waiting: list[tuple[int, Showing]], ready: dict[tuple[str, int], int], place: int
) -> tuple[int, Showing] | None:
    for i, (_, shown) in enumerate(waiting):
        if ready[shown.item, shown.number] <= place:
            return waiting.pop(i)
    return None


def _coin(seed: str, what: str) -> bool:
    return int(sha256_hex((seed + what).encode()), 16) % 2 == 1
