"""Two attempts of one episode: their events aligned on tool calls, where they diverge, and which
evidence that changed."""

from hashlib import blake2b
from typing import Any, NamedTuple, cast

import msgspec

from reviewer.db import payload, registry
from reviewer.db.connection import Connection
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_of
from reviewer.desk.compare.candidates import CandidatePair
from reviewer.desk.compare.sentences import amount, evidence
from reviewer.desk.compare.views import (
    AlignedStep,
    Amount,
    Attempt,
    AttemptComparison,
    GateChange,
    StepWord,
)
from reviewer.desk.errors import DeskError
from reviewer.desk.marks import attempt_marks, finding_views, gate_marks, mark_of
from reviewer.desk.traces.events import event_window
from reviewer.desk.traces.outcome import outcome_in
from reviewer.desk.traces.records import Records, TracePlace
from reviewer.desk.traces.states import changes
from reviewer.desk.views import EventRow, Mark
from reviewer.exit_codes import ExitCode
from reviewer.stats.trajectory import Keys, align, beside, canonical, common_subsequence
from reviewer.suite.gates import in_force
from reviewer.suite.model import Suite
from reviewer.trace.record import ABSENT, Event, TraceRecord, by_agent, kind_of

MOST_WORDS = 3_000
"""Words of a text that are compared, from its start."""
SHORT = 120
"""Most characters of a value that is shown on one line."""


def value_of(raw: msgspec.Raw) -> Any:
    """Return the value of a raw field that is present; text when it is not JSON."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def key_of(raw: msgspec.Raw) -> str:
    """Return one text per JSON value: texts are equal exactly when the values are; "" for none."""
    if raw == ABSENT:
        return ""
    try:
        return canonical(value_of(raw))
    except ValueError:  # nested too deep to walk: compare its bytes
        return bytes(raw).hex()


def field_changes(before: dict[str, msgspec.Raw], after: dict[str, msgspec.Raw]) -> list[str]:
    """Return the changes between fields of the same names, one line per path, worded as by
    `state_changes`; a field that is absent on one side is added or removed."""
    sides = [
        {name: value_of(raw) for name, raw in side.items() if raw != ABSENT}
        for side in (before, after)
    ]
    return changes(*sides)


def short(raw: msgspec.Raw) -> str:
    """Return a raw field on one line of at most 120 characters; "" for none."""
    text = key_of(raw)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def word_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return runs of words in order: `=` in both, `-` before only, `+` after only. Of long texts
    the first 3,000 words are compared; the rest is left out."""
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
"""The answer to a call, and the content of an event that is no call."""


class StepEvent(NamedTuple):
    """One event with the keys by which it is compared. `answer` leaves out latency and ids."""

    row: EventRow
    event: Event
    call: bool
    arguments: str
    answer: str
    keys: Keys


def read_steps(connection: Connection, records: Records, row: TraceRow) -> list[StepEvent]:
    """Return the first 5,000 events of an attempt; none when its payload was refused."""
    events = records.events(connection, row, 0, MOST_EVENTS)
    rows = event_window(connection, records, row, 0, len(events))
    return [_step_event(one, event) for one, event in zip(rows, events, strict=True)]


def _step_event(row: EventRow, event: Event) -> StepEvent:
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
    return StepEvent(row, event, kind == "tool_call", arguments, answer, keys)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def aligned(a: list[StepEvent], b: list[StepEvent]) -> list[AlignedStep]:
    """Align both lists; every event occurs once. Calls are paired by the longest common subsequence
    of tool and arguments, then of the tool alone, then other events by content, then by kind."""
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


def _word(old: StepEvent | None, new: StepEvent | None, paired: bool) -> StepWord:
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


def _lines(word: StepWord, old: StepEvent | None, new: StepEvent | None) -> list[str]:
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


def _told(step: StepEvent) -> str:
    """Return an event on one line: its title, and the arguments of a call."""
    return f"{step.row.title}  {short(step.event.arguments)}".rstrip()


def first_divergence(steps: list[AlignedStep]) -> int | None:
    """Return the first step at which the agents diverge; else the first with another result; else
    None."""
    acts = next((n for n, s in enumerate(steps) if s.change not in ("same", "result")), None)
    return acts if acts is not None else next(
        (n for n, s in enumerate(steps) if s.change != "same"), None
    )  # fmt: skip


class AttemptSide(NamedTuple):
    """One attempt with its record; `head` is None when its payload was refused."""

    place: TracePlace
    view: Attempt
    head: TraceRecord | None
    found: list[FindingRow]


def compare_attempts(
    connection: Connection,
    records: Records,
    places: tuple[TracePlace, TracePlace],
    suite: Suite,
) -> AttemptComparison:
    """Compare two attempts, the baseline first. Raises DeskError when they are not attempts of one
    episode of one suite."""
    a, b = places
    if (a.suite.id, a.episode) != (b.suite.id, b.episode):
        raise DeskError(
            f"{a.trace_id} and {b.trace_id} are attempts of different episodes",
            "name two traces that differ only in candidate or attempt",
            exit_code=ExitCode.USAGE,
        )
    force = in_force(suite.policy.limits)
    old, new = (_side(connection, records, place, force) for place in (a, b))
    before = read_steps(connection, records, a.row)
    after = read_steps(connection, records, b.row)
    steps = aligned(before, after)
    gates = tuple(
        GateChange(gate=gate, baseline=cast(Mark, x), candidate=cast(Mark, y))
        for gate, x, y in zip(force, old.view.results, new.view.results, strict=True)
    )
    texts = [side.head.final_message or "" if side.head else "" for side in (old, new)]
    message = tuple(word_changes(*texts)) if old.head and new.head else ()
    sides = ("baseline", "candidate")
    if a.candidate.id == b.candidate.id:
        sides = (f"attempt {a.row.attempt}", f"attempt {b.row.attempt}")
    found = finding_views(old.found), finding_views(new.found)
    outcomes = tuple(
        outcome_in(connection, records, side.place.row, side.head) if suite.probe else None
        for side in (old, new)
    )
    told = evidence(
        sides, steps, gates, found, (old.view, new.view), message, (outcomes[0], outcomes[1])
    )
    return AttemptComparison(
        suite_id=a.suite.suite_id,
        episode_id=a.episode_id,
        title=next((e.title for e in suite.episodes if e.episode_id == a.episode_id), ""),
        baseline=old.view,
        candidate=new.view,
        sides=sides,
        steps=tuple(steps),
        first_divergence=first_divergence(steps),
        evidence=tuple(one.text for one in told),
        evidence_steps=tuple(one.step for one in told),
        gates=gates,
        state=tuple(_state(connection, records, (old, new))),
        message=message,
        amounts=_amounts(old.view, new.view),
        cut=_cut_note((old.view, new.view), texts),
    )


def attempts_to_show(
    connection: Connection, suite: registry.SuiteRow, who: CandidatePair, episode_id: str
) -> tuple[TracePlace, TracePlace]:
    """Return the attempts of an episode to look at first: the first number at which the verdicts
    differ, else the first that both made, else the first of each.

    Raises DeskError for an unknown episode and where one side made no attempt.
    """
    key = registry.episode_key(connection, suite.id, episode_id)
    if key is None:
        raise DeskError(
            f"no episode {episode_id} in {suite.suite_id}",
            f"reviewer suite show {suite.suite_id} lists its episodes",
        )
    made: list[tuple[registry.CandidateRow, dict[int, TraceRow]]] = []
    for name in (who.baseline_id, who.candidate_id):
        stored = registry.candidate_row(connection, suite.id, name)
        rows = traces_of(connection, stored.id, [key]) if stored else []
        if stored is None or not rows:
            raise DeskError(
                f"{name} made no attempt of {episode_id}: there is nothing to compare",
                f"reviewer run {suite.suite_id} {name} --resume",
            )
        made.append((stored, {row.attempt: row for row in rows}))
    (first, mine), (second, theirs) = made
    both = sorted(mine.keys() & theirs.keys())
    apart = [n for n in both if mark_of(mine[n]) != mark_of(theirs[n])]
    at = next(iter((*apart, *both)), None)
    numbers = (at, at) if at is not None else (min(mine), min(theirs))
    return (
        TracePlace(suite, first, key, episode_id, mine[numbers[0]]),
        TracePlace(suite, second, key, episode_id, theirs[numbers[1]]),
    )


def _side(
    connection: Connection, records: Records, place: TracePlace, force: tuple[str, ...]
) -> AttemptSide:
    row = place.row
    head = records.whole(connection, row) or payload.large_head(connection, row.id)
    siblings = traces_of(connection, place.candidate.id, [place.episode])
    view = Attempt(
        trace_id=place.trace_id,
        candidate_id=place.candidate.candidate_id,
        attempt=row.attempt,
        siblings=attempt_marks(siblings, 0, 0),
        mark=cast(Mark, mark_of(row)),
        results=gate_marks(row.gates, force),
        events=row.events,
        steps=row.steps,
        cost_usd=row.cost_usd,
        latency_ms=row.latency_ms,
        termination=row.termination,
        final_state=row.final_state or "not measured",
        payload=head is not None,
    )
    return AttemptSide(place, view, head, findings_of(connection, [row.id]))


def _state(
    connection: Connection, records: Records, sides: tuple[AttemptSide, AttemptSide]
) -> list[str]:
    """Return the changes of the final state, then of the last recorded state."""
    ends = []
    for side in sides:
        if side.head is None:
            return []
        row = side.place.row
        recorded = ABSENT
        if snapshots := records.snapshots(connection, row):
            recorded = records.events(connection, row, snapshots[-1].position, 1)[0].state
        ends.append({"final_state": side.head.final_state, "recorded": recorded})
    return field_changes(*ends)


def _amounts(old: Attempt, new: Attempt) -> tuple[Amount, ...]:
    return (
        amount("cost", "usd", old.cost_usd, new.cost_usd),
        amount("latency", "ms", old.latency_ms, new.latency_ms),
        amount("steps", "steps", old.steps, new.steps),
    )


def _cut_note(sides: tuple[Attempt, Attempt], texts: list[str]) -> str:
    told = []
    if any(side.events > MOST_EVENTS for side in sides):
        sizes = " and ".join(f"{side.events:,}" for side in sides)
        told.append(f"only the first {MOST_EVENTS:,} of {sizes} events are compared")
    if any(len(text.split()) > MOST_WORDS for text in texts):
        told.append(f"only the first {MOST_WORDS:,} words of the final messages are compared")
    return "; ".join(told)
