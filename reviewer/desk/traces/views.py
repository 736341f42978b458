"""Views of one trace besides its list of events: search hits, states, notes, one complete event."""

from typing import Literal

from reviewer.desk.traces.text import text_of
from reviewer.desk.views import EventRow, Mark, View

NoteKind = Literal["bookmark", "note"]


class Field(View, frozen=True):
    """One field of an event: the JSON in the record, byte for byte."""

    name: str
    raw: bytes

    @property
    def text(self) -> str:
        """The field as a person reads it: a text as it is, other JSON indented."""
        return text_of(self.raw)


class EventDetail(View, frozen=True):
    """One complete event. `fields` are those it has, in the order of reading; `raw` is all of it,
    as JSON on one line. `position` counts events from 0, as JSON pointers do.

    `granted` says whether its approval grants, as the gates read it; None without an approval.
    `state_changes` are worded lines such as `~ changed refund_status "none" → "issued"`; `related`
    are the other events of the same call: its call, its approval, its results.
    """

    row: EventRow
    position: int
    fields: tuple[Field, ...]
    granted: bool | None
    state_changes: tuple[str, ...]
    started_at: str | None
    tokens: str
    raw: bytes
    related: tuple[EventRow, ...] = ()

    def text(self, name: str) -> str:
        """Return a field as a person reads it; empty when the event has none of that name."""
        return next((field.text for field in self.fields if field.name == name), "")


class GroupRow(View, frozen=True):
    """One line that folds: a turn, a run of turns without a finding, or an agent. `seq` is its
    first event, `quoted` the event that summarizes it, `numbers` those of its first and last turn,
    `name` the agent. `events`, `calls`, `wrong` and `mark` cover everything below it; `took_ms` is
    the time of the calls, None where a call has none."""

    kind: Literal["turn", "run", "agent"]
    node: int
    depth: int
    seq: int
    numbers: tuple[int, int]
    name: str
    quoted: EventRow
    events: int
    calls: int
    wrong: int
    took_ms: float | None
    mark: Mark | None


class SearchHit(View, frozen=True):
    """One event with the words of a search. `text` is one line around them, as in the trace; `more`
    counts further matching events of this trace that have no hit of their own."""

    trace_id: str
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int
    seq: int
    kind: str
    title: str
    text: str
    more: int = 0


class SearchView(View, frozen=True):
    """The result of a search across traces.

    `traces` counts traces with all words (up to 10,000, then 10,001), `shown` those that have hits.
    `waiting` counts events that are not in the index yet; `partial` counts large traces in scope,
    of which the index has the first megabyte. `words` are the words searched.
    """

    words: tuple[str, ...]
    hits: tuple[SearchHit, ...]
    traces: int
    shown: int
    waiting: int
    partial: int


class StateView(View, frozen=True):
    """The state after one event.

    `seq` is the event of this snapshot, 0 for the initial state of the episode, None when the state
    is unknown; `raw` is the state as JSON, empty when unknown, and `pointer` its place in the
    record, empty for the episode's initial state. `changes` are worded lines against the previous
    snapshot, `touched` the JSON pointers that are `+` new in it or `~` changed; `before` and
    `after` are the nearest other events with a state. `at` of `of` is the number of this snapshot.
    """

    seq: int | None
    raw: bytes
    pointer: str
    changes: tuple[str, ...]
    touched: tuple[tuple[str, str], ...]
    changed: bool
    before: int | None
    after: int | None
    at: int
    of: int

    @property
    def text(self) -> str:
        """The state as a person reads it."""
        return text_of(self.raw)


class NoteView(View, frozen=True):
    """A current bookmark or note on an event. `at` is UTC, RFC 3339."""

    trace_id: str
    seq: int
    kind: NoteKind
    text: str
    reviewer: str
    at: str
