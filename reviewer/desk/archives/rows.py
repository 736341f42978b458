"""The rows of an archive, made from a stored trace and its record: an unknown value has no
member."""

from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any, NamedTuple

import msgspec

from reviewer.db.archive.tables import GATE_PREFIX
from reviewer.db.codec import CRITICAL, DIAGNOSTICS, gate_codes, nano, unpack_diagnostics
from reviewer.db.connection import StoreError
from reviewer.db.queries.archiving import ArchivedCandidate, SideFacts
from reviewer.db.queries.traces import FindingRow, TraceRow
from reviewer.review.items import message_digest
from reviewer.review.set_rules import instant_of
from reviewer.suite.gates import GATES
from reviewer.trace.record import ABSENT, Event, counts_nothing, kind_of

Row = dict[str, Any]
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The name that Hive readers use for an unknown value."""
_WORDS = ("pass", "fail", "not_measured", "critical")
assert _WORDS[CRITICAL] == "critical"


class _Head(msgspec.Struct):
    """The members of a record that its facts need."""

    usage: msgspec.Raw = ABSENT
    started_at: str | None = None
    final_message: str | None = None
    start_state_digest: str | None = None
    unread: list[msgspec.Raw] | None = None


class _Whole(_Head):
    events: list[Event] = []


class Told(NamedTuple):
    """The facts of a trace from which its rows are made. `record` is None where it was refused."""

    row: TraceRow
    of: ArchivedCandidate
    episode_id: str
    counted: bool
    beside: SideFacts
    kept: int
    source: tuple[str, str, str]
    record: _Head | None

    @property
    def whose(self) -> Row:
        name = f"{self.of.suite.suite_id}/{self.of.candidate_id}"
        return {
            "suite_id": self.of.suite.suite_id,
            "candidate_id": self.of.candidate_id,
            "trace_id": f"{name}/{self.episode_id}/{self.row.attempt}",
        }


_head = msgspec.json.Decoder(_Head)
_whole = msgspec.json.Decoder(_Whole)


def record_of(raw: bytes, trace: int, events: bool) -> _Head:
    """Return the parts of a record that the rows need. Raises StoreError for a damaged one."""
    try:
        return (_whole if events else _head).decode(raw)
    except msgspec.DecodeError as error:
        raise StoreError(f"trace {trace} is not a stored trace: the file is damaged") from error


def fact_row(told: Told) -> Row:
    """Return the row of an attempt."""
    row, of, record = told.row, told.of, told.record
    path, sha256, reader = told.source
    lost = bool(row.infra) and row.passed is None
    found = {
        **told.whose,
        "key": row.id,
        "suite_digest": of.suite.digest,
        "candidate_digest": of.digest,
        "episode_id": told.episode_id,
        "attempt": row.attempt,
        "counted": told.counted,
        "in_plan": of.planned is None or row.attempt <= of.planned,
        "passed": None if row.passed is None else bool(row.passed),
        "critical": bool(row.critical),
        "infrastructure": bool(row.infra),
        "lost": lost,
        "final_state": row.final_state,
        "termination": row.termination,
        "cost_usd": row.cost_usd,
        "cost_nano": None if row.cost_usd is None else nano(row.cost_usd),
        "latency_ms": row.latency_ms,
        "steps": row.steps,
        "timeouts": row.timeouts,
        "events": row.events,
        "sha256": row.sha256.hex(),
        "payload": "refused" if record is None else "kept",
        "revisions": told.kept,
        "source_path": path,
        "source_sha256": sha256,
        "source_record": row.record,
        "source_reader": reader,
        "source_passed": None if told.beside.said is None else bool(told.beside.said),
        "source_reward": told.beside.reward,
    }
    for gate, code in zip(GATES, gate_codes(row.gates), strict=True):
        if gate in of.gates:
            found[GATE_PREFIX + gate] = _WORDS[code]
    found.update(zip(DIAGNOSTICS, unpack_diagnostics(told.beside.diagnostics), strict=True))
    if record is not None:
        found |= _of_record(record)
    return known(found)


def _of_record(record: _Head) -> Row:
    given, made = tokens_of(record.usage)
    message = record.final_message
    return {
        "input_tokens": given,
        "output_tokens": made,
        "started_at": moment(record.started_at),
        "message_sha256": None if message is None else message_digest(message),
        "start_state_digest": record.start_state_digest,
        "unread": len(record.unread or ()),
    }


def finding_rows(told: Told, found: Iterable[FindingRow]) -> Iterator[Row]:
    """Yield a row for each finding, in printed order."""
    for n, one in enumerate(found):
        yield known(
            {
                **told.whose,
                "n": n,
                "gate": one.gate,
                "code": one.code,
                "severity": one.severity,
                "seq": one.seq,
                "detail": one.detail or None,
            }
        )


def event_lists(told: Told) -> Row | None:
    """Return the events of an attempt as one row, with a list for each column; None when there are
    none. Where the short form omits the status, it is ok."""
    events = told.record.events if isinstance(told.record, _Whole) else ()
    if not events:
        return None
    counts = [tokens_of(event.tokens) for event in events]
    return told.whose | {  # one pass per column: each is a tight loop
        "place": list(range(1, len(events) + 1)),
        "seq": [event.seq or place for place, event in enumerate(events, 1)],
        "kind": [kind_of(event) for event in events],
        "tool": [event.tool for event in events],
        "status": [
            event.status or (None if event.kind or event.tool is None else "ok") for event in events
        ],
        "actor": [event.actor for event in events],
        "latency_ms": [event.latency_ms for event in events],
        "cost_usd": [event.cost_usd for event in events],
        "input_tokens": [given for given, _ in counts],
        "output_tokens": [made for _, made in counts],
        "started_at": [moment(event.started_at) for event in events],
    }


def known(row: Row) -> Row:
    """Return a row without its unknown members."""
    return {name: value for name, value in row.items() if value is not None}


_NAMES = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
_MOST = 1 << 62


def tokens_of(usage: msgspec.Raw) -> tuple[int | None, int | None]:
    """Return the tokens sent and received, None where not counted: a usage of nothing but zeros
    counted nothing, and a usage that is a lower bound did not count all."""
    if usage == ABSENT or counts_nothing(usage):
        return None, None
    try:
        value = msgspec.json.decode(usage)
    except (msgspec.DecodeError, RecursionError):
        return None, None
    if not isinstance(value, dict) or value.get("lower_bound"):
        return None, None
    given, made = (next((value[n] for n in names if n in value), None) for names in _NAMES)
    return _count(given), _count(made)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None


def moment(text: str | None) -> str | None:
    """Return a time in UTC as DuckDB reads it; None for a text that is no time. A time without a
    zone is taken as UTC."""
    found = instant_of(text)
    try:
        return None if found is None else found.astimezone(UTC).replace(tzinfo=None).isoformat()
    except OverflowError:
        return None


def day_of(row: Row) -> str:
    """Return the UTC day on which an attempt began, as the name of a folder."""
    return str(row["started_at"])[:10] if "started_at" in row else NO_DAY
