"""The items to label, made from stored final messages, and the signals that flag their traces."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from reviewer.db import registry
from reviewer.db.codec import DIAGNOSTICS, unpack_diagnostics
from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import ReviewableTrace, reviewable_traces, signal_codes
from reviewer.db.queries.episodes import rolls
from reviewer.db.tables import judgments_about
from reviewer.desk.errors import NoTrace
from reviewer.desk.suites import near_ids
from reviewer.desk.traces.records import FinalMessages
from reviewer.review.items import (
    Item,
    ItemSet,
    Kind,
    TraceMessage,
    attempt_pairs,
    candidate_pairs,
    message_items,
)
from reviewer.review.queue import Signals, trace_signals, uncertainty
from reviewer.suite.candidate import trusted_candidate

if TYPE_CHECKING:
    from reviewer.review.judgments import Judgment

MOST_ATTEMPTS = 20
"""The most attempts of an episode that are paired with each other when there is no other
candidate."""
_EFFICIENCY = DIAGNOSTICS.index("efficiency")


class Side(NamedTuple):
    """One candidate on a suite, for labeling. `prefix`, an episode's name and the attempt make a
    trace id; `authors` are those that its manifest names."""

    key: int
    prefix: str
    names: dict[int, str]
    authors: tuple[str, ...] = ()

    def trace_id(self, trace: ReviewableTrace) -> str:
        return f"{self.prefix}/{self.names[trace.episode]}/{trace.attempt}"


class SideMessages(NamedTuple):
    """One side's messages and signals, by trace."""

    messages: tuple[TraceMessage, ...]
    signals: dict[str, Signals]


def side_of(
    connection: Connection,
    suite_id: str,
    candidate_id: str,
    names_of: Callable[[Connection, int], dict[int, str]] = registry.episode_names,
) -> Side:
    """Return one candidate's side. Raises DeskError when the candidate has no trace on the
    suite."""
    suite = registry.suite_row(connection, suite_id)
    row = registry.candidate_row(connection, suite.id, candidate_id) if suite else None
    if suite is None or row is None:
        raise NoTrace(suite_id, candidate_id, near_ids(connection, suite_id, candidate_id))
    names = names_of(connection, suite.id)
    authors = () if row.manifest is None else trusted_candidate(row.manifest).authors
    return Side(row.id, f"{suite_id}/{candidate_id}", names, authors)


def messages_and_signals(connection: Connection, finals: FinalMessages, side: Side) -> SideMessages:
    """Return the messages and signals of every attempt of a candidate, except those lost to
    infrastructure. A trace without a stored payload has signals and no message."""
    traces = reviewable_traces(connection, side.key)
    texts = finals.of(connection, traces)
    return SideMessages(
        tuple(message_of(side, t, texts[t.id]) for t in traces if t.id in texts),
        signals_of(connection, side, traces),
    )


def message_of(side: Side, trace: ReviewableTrace, text: str | None) -> TraceMessage:
    return TraceMessage(
        trace_id=side.trace_id(trace),
        episode_id=side.names[trace.episode],
        attempt=trace.attempt,
        text=text,
    )


def signals_of(
    connection: Connection, side: Side, traces: Iterable[ReviewableTrace]
) -> dict[str, Signals]:
    """Return the signals of each trace, by trace id."""
    codes = signal_codes(connection, side.key)
    known: dict[tuple[object, ...], Signals] = {}
    found: dict[str, Signals] = {}
    for trace in traces:
        own = codes.get(trace.id, ())
        # The signals depend only on these fields; most failures have the same ones.
        key = own, *trace[6:11]
        if key not in known:
            known[key] = trace_signals(
                critical=trace.critical,
                codes=own,
                termination=trace.termination,
                passed=trace.passed,
                said_elsewhere=trace.said_elsewhere,
                efficiency=unpack_diagnostics(trace.diagnostics)[_EFFICIENCY],
            )
        found[side.trace_id(trace)] = known[key]
    return found


def build_items(
    kind: Kind, suite_digest: str, candidate: SideMessages, baseline: SideMessages | None
) -> ItemSet:
    """Build the items: messages of the candidate alone; or pairs with the baseline's messages, else
    of the candidate's own attempts."""
    if kind == "message":
        return message_items(suite_digest, candidate.messages)
    if baseline is None:
        return attempt_pairs(suite_digest, _first_attempts(candidate.messages))
    return candidate_pairs(suite_digest, baseline.messages, candidate.messages)


def _first_attempts(messages: Iterable[TraceMessage]) -> list[TraceMessage]:
    """Return the first attempts of each episode, up to a limit: a thousand attempts make half a
    million pairs."""
    made: Counter[str] = Counter()
    kept = []
    for message in sorted(messages, key=lambda m: (m.episode_id, m.attempt)):
        made[message.episode_id] += 1
        if made[message.episode_id] <= MOST_ATTEMPTS:
            kept.append(message)
    return kept


def with_lost(
    connection: Connection,
    signals: dict[str, Signals],
    candidate: Side,
    baseline: Side,
    suite: int,
) -> dict[str, Signals]:
    """Return the candidate's signals, marking the episodes that the baseline always passed and the
    candidate does not."""
    before = {roll.key: roll for roll in rolls(connection, suite, baseline.key)}
    lost = set()
    for roll in rolls(connection, suite, candidate.key):
        now, then = roll.first or roll, before[roll.key].first or before[roll.key]
        if 0 < then.attempts == then.passes and now.measured > now.passes:
            lost.add(f"{candidate.prefix}/{roll.episode_id}/")
    return {
        trace: msgspec.structs.replace(known, lost_episode=trace.rpartition("/")[0] + "/" in lost)
        for trace, known in signals.items()
    }


def with_judgments(
    connection: Connection, signals: dict[str, Signals], items: Iterable[Item]
) -> dict[str, Signals]:
    """Return the signals, adding those of a judge's answers to these items: that the answer flips
    when the sides are exchanged, and how evenly its votes are split."""
    found = dict(signals)
    by_name = {item.item: item for item in items}
    for name, said in _judgments(connection, list(by_name)).items():
        flips, unsure = _flips(said), uncertainty(_votes(said))
        for trace in by_name[name].traces:
            known = found.get(trace, Signals())
            even = max((known.uncertainty or 0.0, unsure or 0.0))
            found[trace] = msgspec.structs.replace(
                known,
                judge_flips=known.judge_flips or flips,
                uncertainty=even if unsure is not None else known.uncertainty,
            )
    return found


def _judgments(connection: Connection, items: Sequence[str]) -> "dict[str, list[Judgment]]":
    from reviewer.review.judgments import counting, stored_judgment

    found: dict[str, list[Judgment]] = {}
    for judgment in counting(map(stored_judgment, judgments_about(connection, items))):
        if judgment.winner is not None:
            found.setdefault(judgment.item, []).append(judgment)
    return found


def _flips(said: "Sequence[Judgment]") -> bool:
    """Return whether a judge names another winner when the sides are exchanged."""
    winners: dict[tuple[str, str, str, int], set[str | None]] = {}
    for one in said:
        key = one.judge_id, one.model, one.prompt_digest, one.repeat
        winners.setdefault(key, set()).add(one.winner)
    return any(len(given) > 1 for given in winners.values())


def _votes(said: "Sequence[Judgment]") -> list[int]:
    """Return the votes for one message, the other and a tie."""
    counts = Counter(one.winner for one in said)
    sides = sorted({side for one in said for side in (one.left, one.right) if side is not None})
    return [counts[answer] for answer in (*sides, "tie")]
