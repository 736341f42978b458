"""Two attempts of one episode: where they part, and which evidence that changed."""

import sqlite3
from typing import NamedTuple, cast

from reviewer.db import payload, registry
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_of
from reviewer.desk.compare.candidates import Sides
from reviewer.desk.compare.sentences import amount, evidence
from reviewer.desk.compare.steps import (
    MOST_EVENTS,
    MOST_WORDS,
    aligned,
    field_changes,
    first_divergence,
    read_steps,
    word_changes,
)
from reviewer.desk.compare.views import Amount, Attempt, AttemptComparison, GateChange
from reviewer.desk.errors import DeskError
from reviewer.desk.marks import attempt_marks, gate_marks, mark_of
from reviewer.desk.traces.records import Place, Records
from reviewer.desk.views import FindingView, Mark
from reviewer.exit_codes import ExitCode
from reviewer.suite.gates import in_force
from reviewer.suite.model import Suite
from reviewer.trace.record import ABSENT, TraceRecord


class Side(NamedTuple):
    """One attempt as it is read; `head` is None when its payload was refused."""

    place: Place
    view: Attempt
    head: TraceRecord | None
    found: list[FindingRow]


def compared_attempts(
    connection: sqlite3.Connection,
    records: Records,
    places: tuple[Place, Place],
    suite: Suite,
) -> AttemptComparison:
    """Two attempts side by side, the baseline first. Raises DeskError when they are not attempts
    of one episode of one suite."""
    a, b = places
    if (a.suite.id, a.episode) != (b.suite.id, b.episode):
        raise DeskError(
            f"{_id(a)} and {_id(b)} are not attempts of one episode",
            "name two traces that differ in candidate or attempt alone",
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
    found = _findings(old.found), _findings(new.found)
    told = evidence(sides, steps, gates, found, (old.view, new.view), message)
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
        cut=_cut((old.view, new.view), texts),
    )


def places_of(
    connection: sqlite3.Connection, suite: registry.SuiteRow, who: Sides, episode_id: str
) -> tuple[Place, Place]:
    """The attempts of an episode to look at first: the first number at which the verdicts differ,
    else the first that both made, else the first of each.

    Raises DeskError for an unknown episode and where one side made no attempt.
    """
    key = registry.episode_key(connection, suite.id, episode_id)
    if key is None:
        raise DeskError(f"no episode {episode_id} in {suite.suite_id}")
    made: list[tuple[registry.CandidateRow, dict[int, TraceRow]]] = []
    for name in (who.baseline_id, who.candidate_id):
        stored = registry.candidate_row(connection, suite.id, name)
        rows = traces_of(connection, stored.id, [key]) if stored else []
        if stored is None or not rows:
            raise DeskError(
                f"{name} made no attempt of {episode_id}: there is nothing to set beside the other",
                f"reviewer run {suite.suite_id} {name} --resume",
            )
        made.append((stored, {row.attempt: row for row in rows}))
    (first, mine), (second, theirs) = made
    both = sorted(mine.keys() & theirs.keys())
    apart = [n for n in both if mark_of(mine[n]) != mark_of(theirs[n])]
    at = next(iter((*apart, *both)), None)
    numbers = (at, at) if at is not None else (min(mine), min(theirs))
    return (
        Place(suite, first, key, episode_id, mine[numbers[0]]),
        Place(suite, second, key, episode_id, theirs[numbers[1]]),
    )


def _id(place: Place) -> str:
    names = place.suite.suite_id, place.candidate.candidate_id, place.episode_id
    return "/".join((*names, str(place.row.attempt)))


def _side(
    connection: sqlite3.Connection, records: Records, place: Place, force: tuple[str, ...]
) -> Side:
    row = place.row
    head = records.whole(connection, row) or payload.large_head(connection, row.id)
    siblings = traces_of(connection, place.candidate.id, [place.episode])
    view = Attempt(
        trace_id=_id(place),
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
    return Side(place, view, head, findings_of(connection, [row.id]))


def _findings(found: list[FindingRow]) -> tuple[FindingView, ...]:
    return tuple(
        FindingView(gate=f.gate, code=f.code, severity=f.severity, seq=f.seq, detail=f.detail)
        for f in found
    )


def _state(connection: sqlite3.Connection, records: Records, sides: tuple[Side, Side]) -> list[str]:
    """Changes of the final state, then of the state that was recorded last."""
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


def _cut(sides: tuple[Attempt, Attempt], texts: list[str]) -> str:
    told = []
    if any(side.events > MOST_EVENTS for side in sides):
        sizes = " and ".join(f"{side.events:,}" for side in sides)
        told.append(f"of {sizes} events the first {MOST_EVENTS:,} of each are compared")
    if any(len(text.split()) > MOST_WORDS for text in texts):
        told.append(f"of the final messages the first {MOST_WORDS:,} words are compared")
    return "; ".join(told)
