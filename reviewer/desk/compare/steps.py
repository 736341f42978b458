"""The events of two attempts side by side, aligned on their tool calls."""

import sqlite3
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from reviewer.db.queries.traces import TraceRow
from reviewer.desk.compare.views import AlignedStep, StepWord
from reviewer.desk.traces.events import event_window
from reviewer.desk.traces.records import Records
from reviewer.desk.traces.states import changes
from reviewer.desk.views import EventRow
from reviewer.stats.trajectory import Keys, align, beside, canonical, common_subsequence
from reviewer.trace.record import ABSENT, Event, by_agent, kind_of

MOST_WORDS = 3_000
"""Words of a text that are compared, from its start."""
SHORT = 120
"""Characters of a value in a line."""


def value_of(raw: msgspec.Raw) -> Any:
    """The value of a raw field that is there; text when it is no JSON."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def key_of(raw: msgspec.Raw) -> str:
    """One text per JSON value: equal values, and only they, have equal texts; "" for none."""
    if raw == ABSENT:
        return ""
    try:
        return canonical(value_of(raw))
    except ValueError:  # nested past what can be walked: its bytes stand for it
        return bytes(raw).hex()


def field_changes(before: dict[str, msgspec.Raw], after: dict[str, msgspec.Raw]) -> list[str]:
    """Worded changes between fields of the same names, a line a path, as `state_changes` words
    them; a field that is absent on one side is added or removed."""
    sides = [
        {name: value_of(raw) for name, raw in side.items() if raw != ABSENT}
        for side in (before, after)
    ]
    return changes(*sides)


def short(raw: msgspec.Raw) -> str:
    """A raw field on one line of at most 120 characters; "" for none."""
    text = key_of(raw)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def word_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Runs of words in order: `=` in both, `-` before only, `+` after only. Of long texts the
    first 3,000 words are compared; the rest is left out."""
    old, new = before.split()[:MOST_WORDS], after.split()[:MOST_WORDS]
    runs: list[tuple[str, list[str]]] = []

    def say(sign: str, words: list[str]) -> None:
        if words and runs and runs[-1][0] == sign:
            runs[-1][1].extend(words)
        elif words:
            runs.append((sign, list(words)))

    i = j = 0
    for a, b in (*common_subsequence(old, new), (len(old), len(new))):
        say("-", old[i:a])
        say("+", new[j:b])
        say("=", old[a : a + 1])
        i, j = a + 1, b + 1
    return [(sign, " ".join(words)) for sign, words in runs]


MOST_EVENTS = 5_000
"""Events of an attempt that are aligned, from its first."""
STEP_LINES = 20
ANSWER = ("observation", "approval", "state", "message")
"""What a call got back, and what an event that is no call says."""


class Read(NamedTuple):
    """One event with what it is compared by. `answer` leaves out how long it took and its ids."""

    row: EventRow
    event: Event
    call: bool
    arguments: str
    answer: str
    keys: Keys


def read_steps(connection: sqlite3.Connection, records: Records, row: TraceRow) -> list[Read]:
    """The first 5,000 events of an attempt; none when its payload was refused."""
    events = records.events(connection, row, 0, MOST_EVENTS)
    rows = event_window(connection, records, row, 0, len(events))
    return [_read(one, event) for one, event in zip(rows, events, strict=True)]


def _read(row: EventRow, event: Event) -> Read:
    who = "agent" if by_agent(event) else "user"
    kind = kind_of(event)
    arguments = _digest(key_of(event.arguments))
    said = [key_of(getattr(event, name)) for name in ANSWER]
    answer = _digest("\0".join((row.status or "", *said)))
    if kind == "tool_call":
        name = f"{who}\0{event.tool or ''}"
        keys: Keys = (f"{name}\0{arguments}", name, None, None)
    else:
        name = f"{kind}\0{who}\0{event.tool or ''}"
        keys = (None, None, f"{name}\0{answer}", name)
    return Read(row, event, kind == "tool_call", arguments, answer, keys)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def aligned(a: list[Read], b: list[Read]) -> list[AlignedStep]:
    """Every event of both once. Calls are paired by the longest common subsequence of tool and
    arguments, then of the tool alone, then other events by what they say, then by their kind."""
    pairs = align([step.keys for step in a], [step.keys for step in b])
    together = {(pair.a, pair.b) for pair in pairs}
    steps = []
    for i, j in beside(pairs, len(a), len(b)):
        old, new = None if i is None else a[i], None if j is None else b[j]
        word = _word(old, new, (i, j) in together)
        steps.append(
            AlignedStep(
                change=word,
                baseline=old.row if old else None,
                candidate=new.row if new else None,
                lines=tuple(_lines(word, old, new)),
            )
        )
    return steps


def _word(old: Read | None, new: Read | None, paired: bool) -> StepWord:
    if new is None:
        return "baseline"
    if old is None:
        return "candidate"
    if not paired:
        return "instead"
    if old.arguments != new.arguments:
        return "arguments"
    if old.answer != new.answer:
        return "result" if old.call else "content"
    return "same"


def _lines(word: StepWord, old: Read | None, new: Read | None) -> list[str]:
    if word == "same":
        return []
    if old is None or new is None or word == "instead":
        return [f"{sign} {_told(step)}" for sign, step in (("-", old), ("+", new)) if step]
    lines: list[str] = []
    if old.row.status != new.row.status:
        lines.append(f"~ changed status  {old.row.status or 'none'} → {new.row.status or 'none'}")
    before, after = (
        {name: getattr(step.event, name) for name in ("arguments", *ANSWER)} for step in (old, new)
    )
    found = field_changes(before, after)
    more = len(found) - STEP_LINES
    return [*lines, *found[:STEP_LINES], *([f"and {more:,} more changes"] if more > 0 else [])]


def _told(step: Read) -> str:
    """An event in a line: its title, and the arguments of a call."""
    return f"{step.row.title}  {short(step.event.arguments)}".rstrip()


def first_divergence(steps: list[AlignedStep]) -> int | None:
    """Where the agents part; else where the world answered otherwise; else None."""
    acts = next((n for n, s in enumerate(steps) if s.change not in ("same", "result")), None)
    return acts if acts is not None else next(
        (n for n, s in enumerate(steps) if s.change != "same"), None
    )  # fmt: skip
