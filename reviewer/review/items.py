"""Items out of final messages: pairs of one episode, and single messages.

The same texts from other attempts are the same item: its name is made of content, and its traces
are joined. Identical messages make no pair; they are counted.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from reviewer.review.model import Item, Kind, Message, TraceMessage
from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.errors import shown
from reviewer.suite.model import Value


class Built(Value, frozen=True):
    """Items sorted by episode and name, and what became of the rest.

    `identical` pairs of traces end with the same text, `merged` ones made an item that already
    stood, and `unpaired` traces found no counterpart. Pairs considered = items + identical +
    merged.
    """

    items: tuple[Item, ...]
    identical: int = 0
    merged: int = 0
    unpaired: int = 0


def message_digest(text: str | None) -> str:
    """sha256 of the text's UTF-8 bytes; that of no bytes when there is no text."""
    return sha256_hex((text or "").encode())


def item_name(kind: Kind, suite_digest: str, episode_id: str, messages: Sequence[str]) -> str:
    """The name of an item from the digests of its messages, in whatever order they come."""
    content: dict[str, object] = {"kind": kind, "suite": suite_digest, "episode": episode_id}
    if kind == "pair":
        content["messages"] = sorted(messages)
    else:
        (content["message"],) = messages
    return sha256_hex(canonical_bytes(content))


def candidate_pairs(
    suite_digest: str, baseline: Iterable[TraceMessage], candidate: Iterable[TraceMessage]
) -> Built:
    """Each attempt of the baseline beside the candidate's attempt of that number.

    ValueError when one side fills a slot twice.
    """
    a, b = _by_slot(baseline), _by_slot(candidate)
    both = [(a[slot], b[slot]) for slot in sorted(a.keys() & b.keys())]
    return _built(suite_digest, both, unpaired=len(a.keys() ^ b.keys()))


def attempt_pairs(suite_digest: str, traces: Iterable[TraceMessage]) -> Built:
    """Every two attempts of one candidate on one episode. ValueError when a slot is filled twice.

    An episode with a single attempt is unpaired.
    """
    episodes: dict[str, list[TraceMessage]] = {}
    for slot, trace in sorted(_by_slot(traces).items()):
        episodes.setdefault(slot[0], []).append(trace)
    both = (pair for attempts in episodes.values() for pair in combinations(attempts, 2))
    return _built(suite_digest, both, unpaired=sum(len(a) == 1 for a in episodes.values()))


def message_items(suite_digest: str, traces: Iterable[TraceMessage]) -> Built:
    """Each different final message of each episode, a missing one too."""
    found: dict[tuple[str, str], list[TraceMessage]] = {}
    for trace in traces:
        found.setdefault((trace.episode_id, message_digest(trace.text)), []).append(trace)
    items = [
        _item("message", suite_digest, episode_id, _message(same))
        for (episode_id, _), same in found.items()
    ]
    merged = sum(len(same) - 1 for same in found.values())
    return Built(items=_sorted(items), merged=merged)


def _built(
    suite_digest: str, pairs: Iterable[tuple[TraceMessage, TraceMessage]], unpaired: int
) -> Built:
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
    return Built(items=_sorted(items), identical=identical, merged=merged, unpaired=unpaired)


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
            reason = f"attempt {trace.attempt} of {shown(trace.episode_id)} stands twice"
            raise ValueError(f"{reason}: give the traces of one candidate")
        slots[slot] = trace
    return slots


def _sorted(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: (item.episode_id, item.item)))
