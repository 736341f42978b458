"""The turns of one trace, and what a folded line says of the events below it."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from reviewer.desk.traces.events import together
from reviewer.desk.traces.steps import MAIN, Thread, Turns, is_private, slim, turns_of
from reviewer.desk.traces.timeline import Moments, moments_of
from reviewer.desk.views import Mark
from reviewer.trace.record import Event, is_user, kind_of

_ORDER: Mapping[Mark | None, int] = {"critical": 3, "fail": 2, "not_measured": 1}


class Totals(Struct, gc=False):
    """Counts of some events. `wrong` did not work; `took_ms` is the time of the calls, with
    simultaneous calls counted once, and None where the time of a call is not recorded."""

    events: int = 0
    calls: int = 0
    wrong: int = 0
    took_ms: float | None = None
    mark: Mark | None = None

    def add(self, other: "Totals") -> None:
        """Add the counts of a part below."""
        if other.calls and self.calls:
            known = self.took_ms is not None and other.took_ms is not None
            self.took_ms = (self.took_ms or 0) + (other.took_ms or 0) if known else None
        elif other.calls:
            self.took_ms = other.took_ms
        self.events += other.events
        self.calls += other.calls
        self.wrong += other.wrong
        if _ORDER.get(other.mark, 0) > _ORDER.get(self.mark, 0):
            self.mark = other.mark


class Outline(NamedTuple):
    """A trace in turns. `seqs` are the numbers of its events, `turn_at` the turn of each; for each
    turn, `totals` and the position of the event that summarizes it."""

    seqs: Sequence[int]
    turns: Turns
    threads: Sequence[Thread]
    turn_at: Sequence[int]
    totals: Sequence[Totals]
    says: Sequence[int]
    names: Sequence[str]
    """By thread: its agent, numbered where several have the same name."""
    moments: Moments

    def place(self, seq: int) -> int:
        """Return the position of the event with this number, or of the next one."""
        return min(bisect_left(self.seqs, seq), max(0, len(self.seqs) - 1))


def outline_of(events: Iterable[Event], marks: Mapping[int, Mark]) -> Outline:
    """Return the outline of a trace; `marks` are the worst findings by number of the event."""
    slims = [slim(event) for event in events]
    seqs = array("q", (event.seq or at for at, event in enumerate(slims, 1)))
    turns, threads = turns_of(slims)
    turn_at, groups = array("q", bytes(8 * len(slims))), together(slims)
    totals, says = [], array("q")
    for number, (_, places) in enumerate(turns):
        for place in places:
            turn_at[place] = number
        totals.append(_totals(places, slims, groups, seqs, marks))
        says.append(_says(places, slims))
    moments = moments_of(slims, [marks.get(seq) for seq in seqs])
    return Outline(seqs, turns, threads, turn_at, totals, says, _names(threads), moments)


def _totals(
    places: Sequence[int],
    events: Sequence[Event],
    groups: Sequence[tuple[int, int]],
    seqs: Sequence[int],
    marks: Mapping[int, Mark],
) -> Totals:
    found = Totals(events=len(places))
    took, longest, known = 0.0, 0.0, True
    for place in places:
        event = events[place]
        kind = kind_of(event)
        found.wrong += kind == "error" or event.status not in (None, "ok")
        mark = marks.get(seqs[place])
        if _ORDER.get(mark, 0) > _ORDER.get(found.mark, 0):
            found.mark = mark
        if kind == "tool_call":
            found.calls += 1
            known = known and event.latency_ms is not None
            longest = longest if groups[place][0] > 1 else 0.0
            more = max(longest, event.latency_ms or 0.0)
            took, longest = took + more - longest, more
    found.took_ms = took if known and found.calls else None
    return found


def _says(places: Sequence[int], events: Sequence[Event]) -> int:
    """Return the position of what a user said in a turn, else of what an agent did, else of its
    first call."""
    said = [at for at in places if kind_of(events[at]) == "message" and not is_private(events[at])]
    spoken = [at for at in said if events[at].actor not in ("system", "environment")]
    asked = [at for at in spoken if is_user(events[at].actor)]
    calls = [at for at in places if kind_of(events[at]) == "tool_call"]
    return (asked or spoken or calls or said or list(places))[0]


def _names(threads: Sequence[Thread]) -> list[str]:
    counts: dict[str, int] = {}
    names = []
    for thread in threads:
        count = counts[thread.name] = counts.get(thread.name, 0) + 1
        name = "main" if thread.name == MAIN else thread.name
        names.append(name if count == 1 else f"{name} {count}")
    return names
