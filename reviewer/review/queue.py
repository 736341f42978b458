"""What to label next, and why: flagged items first, a random part among them all the time.

Targeted labels say nothing about all traces, so at least one label in five comes from a random
part, drawn by a hash that anyone can repeat, and each of its items keeps the chance it had.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from reviewer.review.model import Item, Reason, Stratum
from reviewer.review.signals import STRATA, STRATUM_OF, Signals, joined, reasons_of
from reviewer.stats.checks import proportion, whole
from reviewer.suite.canonical import sha256_hex
from reviewer.suite.model import Value

EVERY = 5
"""One label in so many is random, at least."""

_RANK = {stratum: rank for rank, stratum in enumerate(STRATA)}
_ALL = 2**256


class Entry(Value, frozen=True):
    """An item with why it is there. `reasons` begin with the most pressing, which gives `stratum`;
    `pi` is the chance of coming into the random part, None outside it. To be shown only when the
    item is saved."""

    item: Item
    stratum: Stratum
    reasons: tuple[Reason, ...]
    pi: float | None
    uncertainty: float

    @property
    def random(self) -> bool:
        return self.pi is not None

    @property
    def showings(self) -> int:
        return 2 if self.item.kind == "pair" else 1


class Queue(Value, frozen=True):
    """Entries by name of item; `order` says how they come up. `salt` seeds all chance."""

    entries: tuple[Entry, ...]
    salt: str


class ReasonCount(Value, frozen=True):
    """Showings under a reason, each item under its most pressing one."""

    reason: Reason
    stratum: Stratum
    left: int
    done: int


class OpenFlag(Value, frozen=True):
    """A trace that a person must look at before a promotion. `items` are the names of the items
    that show it; none when it has no message to be labeled (identical or not built)."""

    trace_id: str
    reasons: tuple[Reason, ...]
    items: tuple[str, ...]


def sampled(salt: str, trace_id: str, rate: float) -> bool:
    """Whether a trace is in the random sample: sha256(salt ‖ trace id) / 2^256 < rate."""
    share = proportion("rate", rate)
    return int(sha256_hex((salt + trace_id).encode()), 16) < share * _ALL


def inclusion_probability(rate: float, traces: int) -> float:
    """The chance that at least one of an item's traces is sampled."""
    return 1.0 - (1.0 - proportion("rate", rate)) ** whole("traces", traces, 1)


def build_queue(
    items: Sequence[Item],
    signals: Mapping[str, Signals],
    *,
    salt: str,
    rate: float,
    least: int = 0,
) -> Queue:
    """Every item that has a reason to be labeled.

    `signals` are by trace id (a trace without any may be absent), `rate` is the share of traces to
    sample. When fewer than `least` items have a reason, others fill up the number (`quota`), in an
    order drawn by hash; they are outside the random part. ValueError for an item twice.
    """
    if len({item.item for item in items}) != len(items):
        raise ValueError("an item stands twice in the queue")
    found, spare = [], []
    for item in items:
        known = joined(signals[trace] for trace in item.traces if trace in signals)
        drawn = any(sampled(salt, trace, rate) for trace in item.traces)
        reasons = (*reasons_of(known), *(("random",) if drawn else ()))
        unsure = known.uncertainty or 0.0
        if reasons:
            pi = inclusion_probability(rate, len(item.traces)) if drawn else None
            found.append(_entry(item, reasons, pi, unsure))
        else:
            spare.append(_entry(item, ("quota",), None, unsure))
    spare.sort(key=lambda entry: _lot(salt, entry))
    found += spare[: max(0, least - len(found))]
    return Queue(entries=tuple(sorted(found, key=lambda e: e.item.item)), salt=salt)


def order(queue: Queue, started: Sequence[str] = ()) -> tuple[Entry, ...]:
    """All entries: those whose items are `started`, in that order, then the rest as they come up.

    High before normal before low, the more uncertain first, else by lot; but of any number of
    entries from the start at least one in five is random as long as random ones are left. Names in
    `started` that the queue does not hold are passed over.
    """
    by_name = {entry.item.item: entry for entry in queue.entries}
    begun = [by_name.pop(name) for name in dict.fromkeys(started) if name in by_name]
    urgent = sorted(by_name.values(), key=lambda e: _urgency(queue.salt, e))
    random = sorted((e for e in urgent if e.random), key=lambda e: _lot(queue.salt, e))
    return (*begun, *_mixed(queue.salt, begun, urgent, random))


def reason_counts(queue: Queue, done: Collection[tuple[str, int]]) -> tuple[ReasonCount, ...]:
    """Showings left and done under every reason, in the order of the queue, zeros included.

    `done` holds (item, showing) of what is labeled or skipped.
    """
    left, made = dict.fromkeys(STRATUM_OF, 0), dict.fromkeys(STRATUM_OF, 0)
    for entry in queue.entries:
        ready = sum((entry.item.item, n) in done for n in range(1, entry.showings + 1))
        made[entry.reasons[0]] += ready
        left[entry.reasons[0]] += entry.showings - ready
    return tuple(
        ReasonCount(reason=reason, stratum=stratum, left=left[reason], done=made[reason])
        for reason, stratum in STRATUM_OF.items()
    )


def open_high(
    items: Sequence[Item], signals: Mapping[str, Signals], labeled: Collection[str]
) -> tuple[OpenFlag, ...]:
    """Traces with a high flag that no label has closed, by trace id.

    A flag is closed when a person has labeled (not skipped) an item that shows the trace; `labeled`
    holds the names of those items.
    """
    shows: dict[str, list[str]] = {}
    for item in items:
        for trace in item.traces:
            shows.setdefault(trace, []).append(item.item)
    flags = []
    for trace, known in sorted(signals.items()):
        high = tuple(r for r in reasons_of(known) if STRATUM_OF[r] == "high")
        names = shows.get(trace, [])
        if high and not any(name in labeled for name in names):
            flags.append(OpenFlag(trace_id=trace, reasons=high, items=tuple(sorted(names))))
    return tuple(flags)


def _entry(item: Item, reasons: tuple[Reason, ...], pi: float | None, unsure: float) -> Entry:
    stratum = STRATUM_OF[reasons[0]]
    return Entry(item=item, stratum=stratum, reasons=reasons, pi=pi, uncertainty=unsure)


def _mixed(
    salt: str, begun: Sequence[Entry], urgent: Sequence[Entry], random: Sequence[Entry]
) -> Iterator[Entry]:
    """`urgent` with `random` ones (all of them are in both) brought forward to keep the share."""
    taken: set[str] = set()
    count, drawn = len(begun), sum(entry.random for entry in begun)
    urgently, randomly = iter(urgent), iter(random)
    for _ in urgent:
        count += 1
        entry = None
        if count >= _due(salt, drawn):
            entry = _next(randomly, taken)
        entry = entry or _next(urgently, taken)
        assert entry is not None
        taken.add(entry.item.item)
        drawn += entry.random
        yield entry


def _due(salt: str, drawn: int) -> int:
    """The place (from 1) of the next random entry after `drawn`: by lot among the five that end
    where the share would fall below one in five."""
    if not drawn:
        return 1
    lot = int(sha256_hex(f"{salt}place {drawn}".encode()), 16) % EVERY
    return EVERY * drawn + 1 - lot


def _next(entries: Iterator[Entry], taken: set[str]) -> Entry | None:
    return next((entry for entry in entries if entry.item.item not in taken), None)


def _urgency(salt: str, entry: Entry) -> tuple[int, float, str]:
    return _RANK[entry.stratum], -entry.uncertainty, _lot(salt, entry)


def _lot(salt: str, entry: Entry) -> str:
    return sha256_hex(f"{salt}lot {entry.item.item}".encode())
