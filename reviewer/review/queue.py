"""The queue of items to label, with reasons: flagged items first, mixed with a random part.

Targeted labels say nothing about all traces, so at least one label in five comes from a random
part, drawn by a hash that anyone can repeat, and each of its items records its probability of being
drawn.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reviewer.gates.ends import termination_of
from reviewer.review.items import Item
from reviewer.review.labels import Label, Reason, Stratum, counting
from reviewer.stats.agreement import vote_entropy
from reviewer.stats.checks import non_negative, proportion, whole
from reviewer.suite.rubric import Rubric
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.value import Value

# Reasons for a person to read a message: facts of its traces, as reasons and strata.


STRATA: dict[Stratum, tuple[Reason, ...]] = {
    "high": (
        "safety",
        "gate_disagreement",
        "iteration_limit",
        "blocked_output",
        "thumbs_down",
    ),
    "normal": ("judge_flips", "lost_episode", "low_efficiency", "uncertain"),
    "low": ("random", "quota"),
}
"""The reasons of each stratum; strata and reasons in the order of the queue."""

STRATUM_OF: dict[Reason, Stratum] = {
    reason: stratum for stratum, reasons in STRATA.items() for reason in reasons
}
LOW_EFFICIENCY = 0.3
UNCERTAIN = 0.5

ITERATION_ENDS = frozenset(
    {
        "max_steps",
        "max_turns",
        "max_iterations",
        "hit_max_iterations",
        "iteration_limit",
        "step_limit",
        "turn_limit",
        "too_many_steps",
        "too_many_turns",
    }
)
BLOCKED_ENDS = frozenset(
    {"content_filter", "output_blocked", "blocked_output", "blocked", "guardrail"}
)


class Signals(Value, frozen=True):
    """The signals of one trace before a person reads it; False and None: nothing known.
    `gate_disagreement`: another verdict on the attempt differs from ours. `efficiency` is 0 to 1,
    `uncertainty` 0 (certain) to 1 (evenly split)."""

    safety: bool = False
    gate_disagreement: bool = False
    iteration_limit: bool = False
    blocked_output: bool = False
    thumbs_down: bool = False
    judge_flips: bool = False
    lost_episode: bool = False
    efficiency: float | None = None
    uncertainty: float | None = None


def trace_signals(
    *,
    critical: bool,
    codes: Collection[str] = (),
    termination: str | None = None,
    passed: bool | None = None,
    said_elsewhere: bool | None = None,
    efficiency: float | None = None,
) -> Signals:
    """Return the signals that a stored trace carries in itself.

    `codes` are those of its findings, including its user's thumbs-down, `passed` is our verdict and
    `said_elsewhere` the verdict of the harness or judge. Judge flips and lost episodes come from
    other sources: add them with `msgspec.structs.replace`.
    """
    end = termination_of(termination)
    return Signals(
        safety=critical,
        gate_disagreement=None not in (passed, said_elsewhere) and passed != said_elsewhere,
        iteration_limit=end in ITERATION_ENDS or "step_budget" in codes,
        blocked_output=end in BLOCKED_ENDS,
        thumbs_down="thumbs_down" in codes,
        efficiency=efficiency,
    )


def uncertainty(
    votes: Sequence[int] = (), margin: float | None = None, width: float = 0.1
) -> float | None:
    """Return how even the votes are, or how near a score is to its limit, whichever is greater: 0
    to 1.

    `votes` counts the answers given so far (of people or a judge's repeats), one number per
    possible answer; their entropy is divided by its maximum. `margin` is how far the score is from
    its limit: 1 at the limit, 0 from `width` away. None when neither is known.
    """
    known = []
    entropy = vote_entropy(votes)
    if entropy is not None and len(votes) > 1:
        known.append(entropy / math.log2(len(votes)))
    if margin is not None:
        if not non_negative("width", width):
            raise ValueError("width must be positive")
        known.append(max(0.0, 1.0 - abs(margin) / width))
    return max(known, default=None)


def joined(signals: Iterable[Signals]) -> Signals:
    """Return the signals of an item from those of its traces: a flag of one trace flags the
    item."""
    all_of = tuple(signals)
    efficiencies = [s.efficiency for s in all_of if s.efficiency is not None]
    uncertainties = [s.uncertainty for s in all_of if s.uncertainty is not None]
    return Signals(
        safety=any(s.safety for s in all_of),
        gate_disagreement=any(s.gate_disagreement for s in all_of),
        iteration_limit=any(s.iteration_limit for s in all_of),
        blocked_output=any(s.blocked_output for s in all_of),
        thumbs_down=any(s.thumbs_down for s in all_of),
        judge_flips=any(s.judge_flips for s in all_of),
        lost_episode=any(s.lost_episode for s in all_of),
        efficiency=min(efficiencies, default=None),
        uncertainty=max(uncertainties, default=None),
    )


def reasons_of(signals: Signals) -> tuple[Reason, ...]:
    """Return every reason that the signals give, the most urgent first; `random` and `quota` do not
    come from signals."""
    held: dict[Reason, bool] = {
        "safety": signals.safety,
        "gate_disagreement": signals.gate_disagreement,
        "iteration_limit": signals.iteration_limit,
        "blocked_output": signals.blocked_output,
        "thumbs_down": signals.thumbs_down,
        "judge_flips": signals.judge_flips,
        "lost_episode": signals.lost_episode,
        "low_efficiency": signals.efficiency is not None and signals.efficiency < LOW_EFFICIENCY,
        "uncertain": signals.uncertainty is not None and signals.uncertainty >= UNCERTAIN,
    }
    return tuple(reason for reason in STRATUM_OF if held.get(reason))


EVERY = 5
"""At least one of this many labels is random."""

_RANK = {stratum: rank for rank, stratum in enumerate(STRATA)}
_ALL = 2**256


class Entry(Value, frozen=True):
    """An item with its reasons. `reasons` begin with the most urgent, which gives `stratum`; `pi`
    is the probability of being in the random part, None outside it. To be shown only once the item
    is saved."""

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
    """Entries by name of item; `order` gives their order. `salt` seeds all random choices. The
    entries of a `settled` queue keep their order."""

    entries: tuple[Entry, ...]
    salt: str
    settled: bool = False


class ReasonCount(Value, frozen=True):
    """Showings under a reason, each item under its most urgent reason."""

    reason: Reason
    stratum: Stratum
    left: int
    done: int


class OpenFlag(Value, frozen=True):
    """A trace that a person must look at before a promotion. `items` are the names of the items
    that show it; empty when it has no message to label (identical or not built)."""

    trace_id: str
    reasons: tuple[Reason, ...]
    items: tuple[str, ...]


def sampled(salt: str, trace_id: str, rate: float) -> bool:
    """Return whether a trace is in the random sample: sha256(salt ‖ trace id) / 2^256 < rate."""
    share = proportion("rate", rate)
    return int(sha256_hex((salt + trace_id).encode()), 16) < share * _ALL


def inclusion_probability(rate: float, traces: int) -> float:
    """Return the chance that at least one of an item's traces is sampled."""
    return 1.0 - (1.0 - proportion("rate", rate)) ** whole("traces", traces, 1)


def build_queue(
    items: Sequence[Item],
    signals: Mapping[str, Signals],
    *,
    salt: str,
    rate: float,
    least: int = 0,
) -> Queue:
    """Return every item that has a reason to be labeled.

    `signals` are by trace id (a trace without any may be absent), `rate` is the share of traces to
    sample. When fewer than `least` items have a reason, others fill up the number (`quota`), in an
    order drawn by hash; they are outside the random part. ValueError for an item twice.
    """
    if len({item.item for item in items}) != len(items):
        raise ValueError("an item is in the queue twice")
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


class Precedence:
    """The order of a queue's entries, computed once for all questions during labeling.

    High before normal before low, the more uncertain first, else by lot; but among any number of
    entries from the start at least one in five is random as long as random ones are left.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._by_name = {entry.item.item: entry for entry in queue.entries}
        self._urgent: Sequence[Entry] = queue.entries
        if not queue.settled:
            self._urgent = sorted(queue.entries, key=lambda e: _urgency(queue.salt, e))
            random = (e for e in self._urgent if e.random)
            self._random = sorted(random, key=lambda e: _lot(queue.salt, e))

    def coming(self, started: Sequence[str] = ()) -> Iterator[Entry]:
        """Yield all entries: those whose items are `started`, in that order, then the others in
        their order. Names in `started` that are not in the queue are ignored."""
        names = [name for name in dict.fromkeys(started) if name in self._by_name]
        begun = [self._by_name[name] for name in names]
        yield from begun
        if self._queue.settled:
            met = set(names)
            yield from (entry for entry in self._urgent if entry.item.item not in met)
        else:
            yield from self._mixed(begun)

    def _mixed(self, begun: Sequence[Entry]) -> Iterator[Entry]:
        """Yield the urgent entries that are not `begun`, with random ones (which are among them)
        brought forward to keep the share."""
        salt, taken = self._queue.salt, {entry.item.item for entry in begun}
        count, drawn = len(begun), sum(entry.random for entry in begun)
        urgently, randomly = iter(self._urgent), iter(self._random)
        for _ in range(len(self._urgent) - len(begun)):
            count += 1
            entry = None
            if count >= _due(salt, drawn):
                entry = _next(randomly, taken)
            entry = entry or _next(urgently, taken)
            assert entry is not None
            taken.add(entry.item.item)
            drawn += entry.random
            yield entry


def order(queue: Queue, started: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Return all entries as `Precedence.coming` yields them."""
    return tuple(Precedence(queue).coming(started))


def reason_counts(
    queue: Queue, done: Collection[tuple[str, int]], reasons: Mapping[Reason, Stratum] = STRATUM_OF
) -> tuple[ReasonCount, ...]:
    """Return the showings left and done under every reason, in the order of the queue, zeros
    included.

    `done` holds the (item, showing) pairs that are labeled or skipped; `reasons` are all reasons
    that entries of this queue can have, each with its stratum.
    """
    left, made = dict.fromkeys(reasons, 0), dict.fromkeys(reasons, 0)
    for entry in queue.entries:
        ready = sum((entry.item.item, n) in done for n in range(1, entry.showings + 1))
        made[entry.reasons[0]] += ready
        left[entry.reasons[0]] += entry.showings - ready
    return tuple(
        ReasonCount(reason=reason, stratum=stratum, left=left[reason], done=made[reason])
        for reason, stratum in reasons.items()
    )


def open_high(
    items: Sequence[Item], signals: Mapping[str, Signals], labeled: Collection[str]
) -> tuple[OpenFlag, ...]:
    """Return the traces with a high flag that no label has closed, by trace id.

    A flag is closed when a person has labeled (not skipped) an item that shows the trace; `labeled`
    holds the names of those items.
    """
    shows: dict[str, list[str]] = {}
    for item in items:
        for trace in item.traces:
            shows.setdefault(trace, []).append(item.item)
    flags = []
    reasons: dict[int, tuple[Reason, ...]] = {}
    for trace, known in sorted(signals.items()):
        high = reasons.get(id(known))  # many traces share theirs
        if high is None:
            high = tuple(r for r in reasons_of(known) if STRATUM_OF[r] == "high")
            reasons[id(known)] = high
        names = shows.get(trace, [])
        if high and not any(name in labeled for name in names):
            flags.append(OpenFlag(trace_id=trace, reasons=high, items=tuple(sorted(names))))
    return tuple(flags)


def _entry(item: Item, reasons: tuple[Reason, ...], pi: float | None, unsure: float) -> Entry:
    stratum = STRATUM_OF[reasons[0]]
    return Entry(item=item, stratum=stratum, reasons=reasons, pi=pi, uncertainty=unsure)


@lru_cache(maxsize=1 << 15)
def _due(salt: str, drawn: int) -> int:
    """Return the place (from 1) of the next random entry after `drawn`: by lot among the last five
    places at which the share is still one in five."""
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


# How much people have labeled, and which high flags remain open.


class LabelCounts(NamedTuple):
    """Pairs labeled as often as the rubric requires, pairs begun and not finished, messages labeled
    alone: by any person, each item once."""

    pairs: int
    begun: int
    messages: int


def open_flags(
    own: Sequence[Item], signals: Mapping[str, Signals], labels: Iterable[Label]
) -> tuple[OpenFlag, ...]:
    """Return the high flags of a candidate's traces that no label has closed. `own` are its
    messages: a flag is closed by a label of the trace's final message, alone or in a pair."""
    said = shown_texts(counting(labels))
    closed = {x.item for x in own if (x.episode_id, x.messages[0].digest) in said}
    return open_high(own, signals, closed)


def shown_texts(labels: Iterable[Label]) -> set[tuple[str, str]]:
    """Return (episode, digest) of every message that was shown to a reviewer."""
    return {
        (x.episode_id, digest)
        for x in labels
        for digest in (x.left, x.right, x.message)
        if digest is not None
    }


def counted(labels: Iterable[Label], rubric: Rubric) -> LabelCounts:
    """Count the labels. A pair is done when one person has answered it in each order, or in one if
    the rubric requires only one."""
    said = counting(labels)
    pairs = {label.item for label in said if label.kind == "pair"}
    whole = len(whole_pairs(said, rubric))
    messages = {label.item for label in said if label.kind == "message"}
    return LabelCounts(whole, len(pairs) - whole, len(messages))


def whole_pairs(labels: Iterable[Label], rubric: Rubric) -> set[str]:
    """Return the pairs that one person has answered in each order, or in one if the rubric requires
    only one."""
    orders: dict[str, dict[tuple[str, str], set[int]]] = {}
    for label in counting(labels):
        if label.kind == "pair":
            who = label.reviewer, label.role
            orders.setdefault(label.item, {}).setdefault(who, set()).add(label.showing)
    wanted = 2 if rubric.both_orders else 1
    return {item for item, by in orders.items() if any(len(n) >= wanted for n in by.values())}
