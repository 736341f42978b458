"""The header, the verdict and the contract of one trace, as they are shown."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import UNSET

from reviewer.db import payload
from reviewer.db.connection import Connection, StoreError
from reviewer.db.event_lists import event_maxima
from reviewer.db.payload_archives import NotAvailable
from reviewer.db.queries.traces import (
    FindingRow,
    findings_of,
    rescored_rows,
    revision_rows,
    source_verdict,
    traces_of,
    verdict_of,
)
from reviewer.db.sources import source_by_id
from reviewer.desk.marks import attempt_marks, finding_views, gate_marks, mark_of
from reviewer.desk.traces.outcome import EXPECTED, outcome_in
from reviewer.desk.traces.records import Records, TracePlace
from reviewer.desk.views import Clause, Mark, TraceView
from reviewer.gates import clauses, compile_contract
from reviewer.report.formatting import counted
from reviewer.suite.gates import ALWAYS, in_force
from reviewer.suite.model import Suite
from reviewer.trace.record import ABSENT, TraceRecord

_STANDS = {
    "contained": "judged until a record came that contains it",
    "beside": "kept next to it, and counts",
}


def history(connection: Connection, trace: int) -> tuple[tuple[str, str], ...]:
    """Return the history of a trace as (name, text) pairs, in order."""
    return (*_revisions(connection, trace), *_rescored(connection, trace))


def _revisions(connection: Connection, trace: int) -> Iterator[tuple[str, str]]:
    for row in revision_rows(connection, trace):
        word = {1: "pass", 0: "fail", None: "not measured"}[row.passed]
        found = [one[1] for one in json.loads(row.findings) if one[2] != "note"]
        codes = " ".join(("infra" if row.infra else word, *dict.fromkeys(found)))
        stored = row.pack is not None or row.chunked
        size = counted(row.events, "event") if stored else "not stored: raw identifiers"
        yield (
            f"revision {row.n}",
            f"{_STANDS[row.stands]} ({row.why}); {codes}; {size};"
            f" {row.path} record {row.record} sha256 {row.sha256}; since {row.at}",
        )


def _rescored(connection: Connection, trace: int) -> Iterator[tuple[str, str]]:
    for row in rescored_rows(connection, trace):
        yield (
            f"judged again {row.at}",
            f"{_codes(row.before)} under reviewer {row.code_before or 'of before'};"
            f" {_codes(row.after)} under {row.code_after}",
        )


def _codes(text: str) -> str:
    codes: list[Any] = json.loads(text)
    return " ".join(map(str, codes)) or "nothing found"


MOST = 60
"""Most facts that are shown; the raw source may be any JSON."""
LONG = 500


def source_facts(
    connection: Connection, trace: int, head: TraceRecord | None
) -> tuple[tuple[str, str], ...]:
    """Return (name, text) pairs: the source's verdict first, then its record's facts about the
    source. The payload was masked when it was stored."""
    found = list(_verdict(connection, trace))
    if head is not None and head.usage != ABSENT:
        found += _usage(json.loads(bytes(head.usage)))
    if head is not None and head.source != ABSENT:
        found += _members(json.loads(bytes(head.source)), "")
    more = len(found) - MOST
    if more > 0:
        found = [*found[:MOST], ("", f"and {more} more, in the trace's `source`")]
    return tuple(found)


def _verdict(connection: Connection, trace: int) -> Iterator[tuple[str, str]]:
    found = source_verdict(connection, trace)
    if found is None:
        return
    passed, reward, detail = found
    word = (
        "states neither passed nor failed" if passed is None else "passed" if passed else "failed"
    )
    yield "verdict", word + ("" if reward is None else f", reward {reward:g}")
    told = {name: each for name, each in json.loads(detail).items() if name != EXPECTED}
    for name, text in _members(told, ""):
        yield f"verdict {name}".strip(), text


def _usage(usage: Any) -> Iterator[tuple[str, str]]:
    """Yield the agent's tokens, worded as `at least` where some replies have no counts."""
    if not isinstance(usage, dict):
        return
    least = usage.get("lower_bound") is True
    for name, text in _members({k: v for k, v in usage.items() if k not in _BOUND}, "usage"):
        yield name, f"at least {text}" if least else text
    if least:
        counted, replies = usage.get("replies_counted"), usage.get("replies")
        yield "usage replies", f"{counted} of {replies} have token counts"


_BOUND = ("lower_bound", "replies", "replies_counted")


def _members(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield scalars by their path; a list of texts as one line each."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _members(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for member in value:
            yield from _members(member, path)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield path, text if len(text) <= LONG else text[: LONG - 1] + "…"


def trace_view(
    connection: Connection, records: Records, place: TracePlace, suite: Suite
) -> TraceView:
    """Return the header, verdict and contract of one trace."""
    row = place.row
    found = findings_of(connection, [row.id])
    record = head = missing = None
    try:
        record = records.whole(connection, row)
        head = record or payload.large_head(connection, row.id)
    except NotAvailable as error:
        missing = str(error)
    episodes = {episode.episode_id: episode for episode in suite.episodes}
    episode = episodes.get(place.episode_id)
    told: list[Clause] = []
    limits = suite.policy.limits
    force = in_force(limits)
    marks = gate_marks(row.gates, force)
    if record is not None and episode is not None and not place.suite.probe:
        contract = compile_contract(episode, limits=limits, checks=suite.check_names)
        told = [
            Clause(gate=c.gate, mark=cast(Mark, c.result), text=c.text, seq=c.seq)
            for c in clauses(contract, record, verdict_of(row, found))
        ]
    else:
        told = _plain_clauses(marks, found, force)
    source = source_by_id(connection, row.source)
    if source is None:  # the foreign key was whole when it was written
        raise StoreError(f"the source of {place.trace_id} is not in the store: the file is damaged")
    siblings = traces_of(connection, place.candidate.id, [place.episode])
    slowest, dearest = _most(connection, row.id, record)
    first = next((f.seq for f in found if f.severity != "note" and f.seq is not None), None)
    return TraceView(
        trace_id=place.trace_id,
        suite_id=place.suite.suite_id,
        candidate_id=place.candidate.candidate_id,
        episode_id=place.episode_id,
        attempt=row.attempt,
        attempts=attempt_marks(siblings, 0, 0),
        title=episode.title if episode else "",
        user_request=episode.user_request if episode else "",
        mark=cast(Mark, mark_of(row)),
        results=marks,
        findings=finding_views(found),
        clauses=tuple(told),
        events=row.events,
        steps=row.steps,
        cost_usd=row.cost_usd,
        latency_ms=row.latency_ms,
        termination=row.termination,
        final_state=row.final_state or "not measured",
        final_message=head.final_message if head else None,
        source_path=source.path,
        source_record=row.record,
        source_sha256=source.sha256,
        notes=tuple(json.loads(source.notes)),
        payload=head is not None,
        missing=missing or UNSET,
        first_finding_seq=first,
        said=source_facts(connection, row.id, head),
        slowest_ms=slowest,
        dearest_usd=dearest,
        history=history(connection, row.id),
        in_force=UNSET if force == ALWAYS else force,
        outcome=outcome_in(connection, records, row, head) or UNSET,
    )


def _most(
    connection: Connection, trace: int, record: TraceRecord | None
) -> tuple[float | None, float | None]:
    """Return the greatest latency (ms) and cost (USD) of one event; for a large trace they are
    known once its events have rows."""
    if record is not None:
        times = [e.latency_ms for e in record.events if e.latency_ms is not None]
        costs = [e.cost_usd for e in record.events if e.cost_usd is not None]
        return max(times, default=None), max(costs, default=None)
    return event_maxima(connection, trace)


def _plain_clauses(
    marks: Sequence[str], found: Sequence[FindingRow], force: tuple[str, ...]
) -> list[Clause]:
    """Return clauses where no contract can be applied to the events: findings, then every other
    gate in force."""
    by_gate = dict(zip(force, marks, strict=True))
    told = [
        Clause(
            gate=f.gate,
            mark=cast(Mark, by_gate[f.gate]),
            text=f"{f.code}  {f.detail}".strip(),
            seq=f.seq,
        )
        for f in found
    ]
    spoken = {clause.gate for clause in told}
    words = {"pass": "nothing against it", "not_measured": "not measured"}
    told += [
        Clause(gate=gate, mark=cast(Mark, mark), text=words.get(mark, mark), seq=None)
        for gate, mark in by_gate.items()
        if gate not in spoken
    ]
    return told
