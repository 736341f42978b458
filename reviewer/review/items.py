"""Items of questions for people, built from final messages, and the order in which pairs are shown.

An item is a pair of messages of one episode, or one message. Its name is a digest of its content:
the same texts from other attempts are the same item, even in unrelated stores, and its traces are
merged. Identical messages make no pair; they are counted. Digests are sha256 in lower-case hex.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Annotated, Literal, NamedTuple

from reviewer.suite.errors import shown
from reviewer.suite.fields import File, Id, Sha256
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.value import Value

Kind = Literal["pair", "message"]
LabelKind = Literal["pair", "message", "attempt"]
"""Kinds of items that labels are about. An `attempt` is never shown: its labels come from other
tools, where a person saw all of it."""

TIE = "tie"
BOTH_BAD = "both_bad"


class ItemRecord(Value, frozen=True, kw_only=True):
    """The first members of labels and judgments: the record's digest, and its item."""

    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all members but `uid` and `traces`, which are context. "
        "Null: it is computed.",
    ] = ""
    item: Annotated[Sha256, "The item's name: the digest of its kind, suite, episode and messages."]
    suite_id: Annotated[Id, "The suite's id."]
    suite_digest: Annotated[
        Sha256, "Digest of the suite's lock; of a label of a review set, that of the set."
    ]
    episode_id: Annotated[Id, "The episode's id."]


class TraceMessage(Value, frozen=True):
    """The final message of one trace, already masked. `text` is None when the trace has none."""

    trace_id: str
    episode_id: str
    attempt: int
    text: str | None


class Message(Value, frozen=True):
    """A text with which at least one trace ends, `missing` when it is absent or empty.

    `traces` are the ids of the traces that end with it, sorted; they are never shown before a label
    is committed.
    """

    digest: str
    text: str
    missing: bool
    traces: tuple[str, ...]


class Item(Value, frozen=True):
    """One question for people: a pair of messages of one episode, or one message.

    `item` is its name. A pair holds two different messages sorted by digest, which reveals nothing
    about their candidates.
    """

    item: str
    kind: Kind
    suite_digest: str
    episode_id: str
    messages: tuple[Message, ...]

    @property
    def traces(self) -> tuple[str, ...]:
        """Return every trace that ends with one of the messages, sorted, each once."""
        return tuple(sorted({trace for message in self.messages for trace in message.traces}))

    def message(self, digest: str) -> Message:
        """Return the message of that digest. KeyError when the item does not hold it."""
        for message in self.messages:
            if message.digest == digest:
                return message
        raise KeyError(digest)


class Showing(Value, frozen=True):
    """A pair in one order: `number` 1, or 2 with the sides exchanged. Sides are digests."""

    item: str
    number: int
    left: str
    right: str


class ItemSet(Value, frozen=True):
    """Items sorted by episode and name, and counts of the others. `identical` pairs of traces end
    with the same text, `merged` pairs give an item that exists already, and `unpaired` traces have
    no counterpart. Pairs considered = items + identical + merged."""

    items: tuple[Item, ...]
    identical: int = 0
    merged: int = 0
    unpaired: int = 0


def message_digest(text: str | None) -> str:
    """Return sha256 of the text's UTF-8 bytes; without a text, that of no bytes."""
    return sha256_hex((text or "").encode())


def item_name(kind: LabelKind, suite_digest: str, episode_id: str, messages: Sequence[str]) -> str:
    """Return the name of an item from the digests of its messages, in any order; for an attempt
    from the digest of its record."""
    content: dict[str, object] = {"kind": kind, "suite": suite_digest, "episode": episode_id}
    if kind == "pair":
        content["messages"] = sorted(messages)
    elif kind == "attempt":
        (content["record"],) = messages
    else:
        (content["message"],) = messages
    return sha256_hex(canonical_bytes(content))


def candidate_pairs(
    suite_digest: str, baseline: Iterable[TraceMessage], candidate: Iterable[TraceMessage]
) -> ItemSet:
    """Return each attempt of the baseline paired with the candidate's attempt of the same number.

    ValueError when one side fills a slot twice.
    """
    a, b = _by_slot(baseline), _by_slot(candidate)
    both = [(a[slot], b[slot]) for slot in sorted(a.keys() & b.keys())]
    return pair_items(suite_digest, both, unpaired=len(a.keys() ^ b.keys()))


def attempt_pairs(suite_digest: str, traces: Iterable[TraceMessage]) -> ItemSet:
    """Return every two attempts of one candidate on one episode. ValueError when a slot is filled
    twice.

    An episode with a single attempt is unpaired.
    """
    episodes: dict[str, list[TraceMessage]] = {}
    for slot, trace in sorted(_by_slot(traces).items()):
        episodes.setdefault(slot[0], []).append(trace)
    both = (pair for attempts in episodes.values() for pair in combinations(attempts, 2))
    return pair_items(suite_digest, both, unpaired=sum(len(a) == 1 for a in episodes.values()))


def message_items(suite_digest: str, traces: Iterable[TraceMessage]) -> ItemSet:
    """Return each different final message of each episode, including a missing one."""
    found: dict[tuple[str, str], list[TraceMessage]] = {}
    for trace in traces:
        found.setdefault((trace.episode_id, message_digest(trace.text)), []).append(trace)
    items = [
        _item("message", suite_digest, episode_id, _message(same))
        for (episode_id, _), same in found.items()
    ]
    merged = sum(len(same) - 1 for same in found.values())
    return ItemSet(items=_sorted(items), merged=merged)


def pair_items(
    suite_digest: str, pairs: Iterable[tuple[TraceMessage, TraceMessage]], unpaired: int = 0
) -> ItemSet:
    """Return these pairs as items; both traces of a pair are of one episode."""
    found: dict[tuple[str, str, str], tuple[list[TraceMessage], list[TraceMessage]]] = {}
    identical = considered = 0
    for both in pairs:
        considered += 1
        (a, one), (b, other) = sorted(
            ((message_digest(trace.text), trace) for trace in both), key=lambda side: side[0]
        )
        if a == b:
            identical += 1
            continue
        sides = found.setdefault((one.episode_id, a, b), ([], []))
        sides[0].append(one)
        sides[1].append(other)
    items = [
        _item("pair", suite_digest, episode_id, _message(first), _message(second))
        for (episode_id, _, _), (first, second) in found.items()
    ]
    merged = considered - identical - len(items)
    return ItemSet(items=_sorted(items), identical=identical, merged=merged, unpaired=unpaired)


def _item(kind: Kind, suite_digest: str, episode_id: str, *messages: Message) -> Item:
    return Item(
        item=item_name(kind, suite_digest, episode_id, [m.digest for m in messages]),
        kind=kind,
        suite_digest=suite_digest,
        episode_id=episode_id,
        messages=messages,
    )


def _message(same: Sequence[TraceMessage]) -> Message:
    text = same[0].text or ""
    traces = tuple(sorted({trace.trace_id for trace in same}))
    return Message(digest=message_digest(text), text=text, missing=not text, traces=traces)


def _by_slot(traces: Iterable[TraceMessage]) -> dict[tuple[str, int], TraceMessage]:
    slots: dict[tuple[str, int], TraceMessage] = {}
    for trace in traces:
        slot = trace.episode_id, trace.attempt
        if slot in slots:
            reason = f"attempt {trace.attempt} of {shown(trace.episode_id)} is there twice"
            raise ValueError(f"{reason}: give the traces of one candidate")
        slots[slot] = trace
    return slots


def _sorted(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (item.episode_id, item.item)))


# The order of pairs: each once with either message on the left, and far apart.
#
# The whole order follows from the items, in the order of the queue, and a seed: nothing needs to be
# stored to resume a session. Second showings are first in, first out, but mixed among first ones by
# a seeded coin, so that a reviewer cannot recognize a repeat by its place.


FAR = 20


class PastShowing(NamedTuple):
    """One showing that was on screen. It was `labeled` (or skipped with a reason), or handed back
    without an answer, and is then shown again."""

    item: str
    number: int
    labeled: bool = True


def distance(pairs: int) -> int:
    """Return the places between the two showings of a pair: 20, or half of a shorter queue."""
    return min(FAR, pairs)


def showing(item: Item, number: int, seed: str) -> Showing:
    """Return a pair in the order of showing `number` (1 or 2); a seeded hash decides which message
    is on the left first.

    ValueError for an item that is not a pair, or another number.
    """
    if item.kind != "pair" or number not in (1, 2):
        raise ValueError(f"showing {number} of a {item.kind}: pairs are shown as 1 and as 2")
    swapped = _coin(seed, item.item) ^ (number == 2)
    first, second = (message.digest for message in item.messages)
    left, right = (second, first) if swapped else (first, second)
    return Showing(item=item.item, number=number, left=left, right=right)


def schedule(items: Sequence[Item], seed: str) -> tuple[Showing, ...]:
    """Return both showings of every pair. First showings come in the order of `items`; each second
    showing comes at least `distance(len(items))` places after the first. ValueError for a repeated
    item."""
    if len({item.item for item in items}) != len(items):
        raise ValueError("an item is in the queue twice")
    return tuple(_scheduled(items, len(items), seed))


def _scheduled(items: Iterable[Item], count: int, seed: str) -> Iterator[Showing]:
    """Yield `schedule` of `count` items."""
    apart, place = distance(count), 0
    waiting: deque[Item] = deque()
    for item in items:
        # With `apart` or more waiting, the first of them was shown at least that long ago, and each
        # one added at the end will wait at least that long.
        while len(waiting) >= apart and _coin(seed, f"place {place}"):
            yield showing(waiting.popleft(), 2, seed)
            place += 1
        yield showing(item, 1, seed)
        place += 1
        waiting.append(item)
    for item in waiting:
        yield showing(item, 2, seed)


def remaining(
    items: Sequence[Item], seed: str, seen: Sequence[PastShowing] = ()
) -> tuple[Showing, ...]:
    """Return the showings left after `seen`, as `coming_pairs` yields them. ValueError for a
    repeated item."""
    names = {item.item for item in items}
    if len(names) != len(items):
        raise ValueError("an item is in the queue twice")
    return tuple(coming_pairs(items, names, seed, seen))


def coming_pairs(
    items: Iterable[Item], names: Collection[str], seed: str, seen: Sequence[PastShowing] = ()
) -> Iterator[Showing]:
    """Yield the showings left after `seen`, the showings that were on screen, oldest first. `names`
    are the names of `items`, which are read only as far as needed.

    The order is that of the schedule without labeled showings. It differs only where a pair would
    come too near to its other showing (because items were labeled out of order, or the queue has
    changed since), and for a showing that was handed back, which waits `distance` places, or as
    many as leave room for its other order. Items in `seen` that are no longer in the queue only
    count as places.
    """
    labeled = {(one.item, one.number) for one in seen if one.labeled}
    made = sum(name in names for name, _ in labeled)
    count, apart = 2 * len(names) - made, distance(len(names))
    ready: dict[tuple[str, int], int] = {}
    for place, one in enumerate(seen):
        own, other = (one.item, one.number), (one.item, 3 - one.number)
        if one.labeled:
            ready[other] = max(ready.get(other, 0), place + apart)
        else:
            left = other[0] in names and other not in labeled
            room = count - 1 - (apart if left else 0)
            ready[own] = max(ready.get(own, 0), place + 1 + max(0, min(apart, room)))
    schedule = _scheduled(items, len(names), seed)
    rest = (s for s in schedule if (s.item, s.number) not in labeled)
    return _spaced(rest, count, ready, len(seen), apart)


def _spaced(
    rest: Iterable[Showing], count: int, ready: dict[tuple[str, int], int], start: int, apart: int
) -> Iterator[Showing]:
    """Yield `rest`, `count` of them, with each showing no earlier than its place in `ready`, as far
    as possible."""
    waiting: list[tuple[int, Showing]] = []
    coming = iter(enumerate(rest))
    for place in range(start, start + count):
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
    for i, (_, showing) in enumerate(waiting):
        if ready[showing.item, showing.number] <= place:
            return waiting.pop(i)
    return None


@lru_cache(maxsize=1 << 15)
def _coin(seed: str, what: str) -> bool:
    return int(sha256_hex((seed + what).encode()), 16) % 2 == 1
