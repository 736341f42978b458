"""Which candidate stands behind which side of a judged pair, read from the store."""

import sqlite3
from collections.abc import Iterable

from reviewer.desk.judge.book import Judged
from reviewer.desk.labels.items import Side
from reviewer.desk.traces.finals import Finals, trace_in
from reviewer.review.calibration import Calibration
from reviewer.review.items import message_digest
from reviewer.review.judged import WinRate, win_rate
from reviewer.review.judging.judgments import Judgment, counting
from reviewer.review.labels import counting as counting_labels
from reviewer.review.model import TIE, Label


def messages_of(
    connection: sqlite3.Connection,
    finals: Finals,
    side: Side,
    said: Iterable[Label | Judgment],
) -> dict[str, dict[str, str]]:
    """item → digest → text, of those messages of each item that this candidate's traces end with.
    A trace that is not in the store, or whose payload is not, is passed over, and so is one that
    ends otherwise here than where the label or judgment was made."""
    keys = {name: key for key, name in side.names.items()}
    wanted: dict[str, set[tuple[int, int]]] = {}
    sides: dict[str, set[str | None]] = {}
    for one in said:
        episode = keys.get(one.episode_id)
        head = f"{side.prefix}/{one.episode_id}/"
        sides.setdefault(one.item, set()).update((one.left, one.right, one.message))
        for trace_id in one.traces:
            attempt = trace_id.removeprefix(head)
            known = trace_id.startswith(head) and attempt.isdecimal() and len(attempt) < 19
            if episode is not None and known:
                wanted.setdefault(one.item, set()).add((episode, int(attempt)))
    slots = {slot for slots in wanted.values() for slot in slots}
    held = {slot: trace_in(connection, side.key, *slot) for slot in sorted(slots)}
    texts = finals.of(connection, [one for one in held.values() if one is not None])
    found: dict[str, dict[str, str]] = {}
    for item, slots in wanted.items():
        for slot in slots:
            trace = held[slot]
            if trace is not None and trace.id in texts:
                digest = message_digest(texts[trace.id])
                if digest in sides[item]:
                    found.setdefault(item, {})[digest] = texts[trace.id] or ""
    return found


def win_rate_of(
    connection: sqlite3.Connection,
    finals: Finals,
    side: Side,
    judged: Judged,
    found: Calibration,
) -> WinRate:
    """How often the candidate's message is the better one, over the pairs that show it and one
    other."""
    mine = [one for one in judged.judgments if one.kind == "pair"]
    own = messages_of(connection, finals, side, mine)
    wins = {item: next(iter(texts)) for item, texts in own.items() if len(texts) == 1}
    rows = {row.item for row in found.rows}
    labeled = {label.item for label in judged.labels}
    return win_rate(
        found.rows,
        {
            item: winner
            for item, winner in _winners(mine, found).items()
            if item not in rows and item not in labeled
        },
        wins,
        _random(judged.labels),
        found.expired,
    )


def _winners(judgments: Iterable[Judgment], found: Calibration) -> dict[str, str]:
    """The judge's winner by both orders, of every pair it answered under the key in force."""
    key = found.key
    given: dict[str, dict[str, str]] = {}
    for one in counting(judgments):
        same = (one.model, one.prompt_digest) == (key.model, key.prompt_digest)
        if same and one.repeat == 1:
            given.setdefault(one.item, {})[one.order] = one.winner or TIE
    return {
        item: orders["forward"] if orders["forward"] == orders["swapped"] else TIE
        for item, orders in given.items()
        if len(orders) == 2
    }


def _random(labels: Iterable[Label]) -> frozenset[str]:
    """Items of the random part of the queue, as long as each had the same chance: only then are
    their labels a plain sample."""
    chances: dict[str, float] = {}
    for label in counting_labels(labels):
        if label.pi is not None:
            chances[label.item] = label.pi
    return frozenset(chances) if len(set(chances.values())) == 1 else frozenset()
