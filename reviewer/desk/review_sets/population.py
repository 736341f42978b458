"""The attempts that a review set is drawn from, and the facts of each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.queries.review_sets import Recorded
from reviewer.desk.labels.items import MOST_ATTEMPTS
from reviewer.desk.traces.record_stream import each_record
from reviewer.desk.traces.records import FinalMessages
from reviewer.gates.acts import acts_of
from reviewer.gates.values import canonical, parse
from reviewer.review.items import message_digest
from reviewer.review.set_rules import (
    REPEATED,
    Facts,
    bands_of,
    cell_rule,
    flag_rule,
    instant_of,
    told,
)
from reviewer.review.sets import Dimension, Drawn, Flag, FlagRule, Unit
from reviewer.review.talks import transcript
from reviewer.suite.json_values import UNREADABLE
from reviewer.trace.record import TraceRecord

LOST = "lost to infrastructure"
NOT_KEPT = "payload not stored"
IDENTICAL = "pairs with the same message"
ALONE = "without a partner"
NO_TALK = "in which no user answers the agent"


class Population(NamedTuple):
    """All attempts with their facts, by trace id; `left_out` counts the others, by reason."""

    suite_id: str
    attempts: dict[str, Recorded]
    facts: dict[str, Facts]
    left_out: dict[str, int]
    talks: dict[str, str] = {}  # noqa: RUF012 (nothing is ever put into it)
    """For conversations: trace → the digest of what was said."""


def population_of(
    connection: Connection, suite_id: str, rows: Sequence[Recorded], *, records: bool
) -> Population:
    """Return the readable attempts with their facts; facts that need the records only on
    request."""
    held = [row for row in rows if row.kept and not row.lost]
    lost = sum(bool(row.lost) for row in rows)
    left = {LOST: lost, NOT_KEPT: len(rows) - lost - len(held)}
    attempts = {
        f"{suite_id}/{row.candidate_id}/{row.episode_id}/{row.attempt}": row for row in held
    }
    names = {row.id: name for name, row in attempts.items()}
    facts = {
        name: Facts(
            None if row.passed is None else bool(row.passed),
            row.cost_usd,
            bool(row.thumbs_down),
            None,
        )
        for name, row in attempts.items()
    }
    for key, record in each_record(connection, held) if records else ():
        facts[names[key]] = _read(facts[names[key]], record)
    return Population(suite_id, attempts, facts, {why: n for why, n in left.items() if n})


def _read(known: Facts, record: TraceRecord) -> Facts:
    """Return the facts with those of the record added. Where a record has unread parts that may be
    calls, only facts that are certain are known."""
    calls = acts_of(record).calls
    made = Counter(
        (
            call.tool,
            bytes(call.arguments)
            if parse(call.arguments) is UNREADABLE
            else canonical(call.arguments),
        )
        for call in calls
    )
    most = max(made.values(), default=0)
    whole = not record.unread
    return known._replace(
        message=record.final_message,
        tools=tuple(call.tool for call in calls) if whole else None,
        most=most if whole or most >= REPEATED else None,
        started=instant_of(record.started_at),
    )


def talks_of(
    connection: Connection, suite_id: str, rows: Sequence[Recorded], *, records: bool
) -> Population:
    """Return the attempts in which a user answers the agent, including spoiled ones without a
    verdict, each with the digest of what was said."""
    told = population_of(
        connection, suite_id, [row._replace(lost=0) for row in rows], records=records
    )
    names = {row.id: name for name, row in told.attempts.items()}
    said = {}
    for key, record in each_record(connection, told.attempts.values()):
        text = transcript(record.events)
        if text is not None:
            said[names[key]] = message_digest(text)
    left = {**told.left_out, NO_TALK: len(told.attempts) - len(said)}
    return Population(
        suite_id,
        {name: row for name, row in told.attempts.items() if name in said},
        {name: facts for name, facts in told.facts.items() if name in said},
        {why: n for why, n in left.items() if n},
        said,
    )


class Ruled(NamedTuple):
    """The units with their strata and flags, the bands of cost, and the counts of the flags."""

    units: list[Unit]
    bands: tuple[float, ...]
    flags: tuple[FlagRule, ...]


def ruled(
    known: Population,
    groups: Sequence[tuple[str, ...]],
    strata: Sequence[Dimension],
    flags: Sequence[Flag],
    high_cost: float | None,
) -> Ruled:
    """Return these groups of attempts (single ones, or pairs) as units. In each dimension a pair
    has the values of both attempts, and it has the flags of either."""
    everybody = list(known.facts.values())
    bands = bands_of(one.cost for one in everybody) if "cost" in strata else ()
    cells = [cell_rule(dimension, everybody, bands) for dimension in strata]
    rules = {flag: flag_rule(flag, everybody, high_cost) for flag in flags}
    answers: dict[Flag, list[bool | None]] = {flag: [] for flag in flags}
    units = []
    for group in groups:
        facts = [known.facts[trace] for trace in group]
        picked: list[Flag] = []
        for flag, rule in rules.items():
            said = [rule.says(one) for one in facts]
            answer = True if True in said else None if None in said else False
            answers[flag].append(answer)
            if answer:
                picked.append(flag)
        units.append(
            Unit(
                traces=group,
                episode_id=known.attempts[group[0]].episode_id,
                cell=tuple(" + ".join(sorted({cell(one) for one in facts})) for cell in cells),
                flags=tuple(picked),
            )
        )
    counted = tuple(told(flag, rules[flag].rule, answers[flag]) for flag in flags)
    return Ruled(units, bands, counted)


class Grouped(NamedTuple):
    """Pairs of attempts, and the number of attempts without a pair, by reason."""

    groups: list[tuple[str, ...]]
    left_out: dict[str, int]


def pairs_of(
    connection: Connection, finals: FinalMessages, known: Population, baseline: str
) -> Grouped:
    """Return each attempt of the baseline paired with the other candidate's attempt of that number;
    without a baseline, every two attempts at an episode. Attempts with the same final message make
    no pair."""
    said = messages_of(connection, finals, known, known.attempts)
    both = list(_beside(known, baseline) if baseline else _among(known))
    paired = [group for group in both if said[group[0]] != said[group[1]]]
    alone = len(known.attempts) - len({trace for group in both for trace in group})
    left = {IDENTICAL: len(both) - len(paired), ALONE: alone}
    return Grouped(paired, {why: n for why, n in left.items() if n})


def _beside(known: Population, baseline: str) -> Iterable[tuple[str, ...]]:
    slots: dict[tuple[str, int], str] = {}
    for trace, row in known.attempts.items():
        if row.candidate_id == baseline:
            slots[row.episode_id, row.attempt] = trace
    for trace, row in known.attempts.items():
        other = slots.get((row.episode_id, row.attempt))
        if row.candidate_id != baseline and other is not None:
            yield other, trace


def _among(known: Population) -> Iterable[tuple[str, ...]]:
    episodes: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for trace, row in known.attempts.items():
        slot = row.candidate_id, row.episode_id
        episodes.setdefault(slot, []).append((row.attempt, trace))
    for made in episodes.values():
        first = [trace for _, trace in sorted(made)[:MOST_ATTEMPTS]]
        yield from combinations(first, 2)


def messages_of(
    connection: Connection, finals: FinalMessages, known: Population, traces: Iterable[str]
) -> dict[str, str]:
    """Return the digest of the final message of each of these attempts."""
    names = {known.attempts[trace].id: trace for trace in traces}
    texts = finals.of(connection, [known.attempts[trace] for trace in names.values()])
    return {names[key]: message_digest(text) for key, text in texts.items()}


def worded(one: Drawn, said: dict[str, str]) -> Drawn:
    """Return a drawn unit with the digests of its messages."""
    unit = one.unit
    return Drawn(
        unit=Unit(
            traces=unit.traces,
            episode_id=unit.episode_id,
            messages=tuple(said[trace] for trace in unit.traces),
            cell=unit.cell,
            flags=unit.flags,
        ),
        place=one.place,
    )
