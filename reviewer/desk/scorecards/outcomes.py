"""The sources' statements on the attempts of one episode, for the drawer of the scorecard."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from reviewer.db import payload
from reviewer.db.connection import Connection
from reviewer.db.payload_archives import NotAvailable
from reviewer.db.queries.traces import TraceRow
from reviewer.desk.outcome_views import OutcomeView
from reviewer.desk.traces.outcome import against, outcome_in
from reviewer.desk.traces.records import Records
from reviewer.desk.views import CellLine, Mark

LOOKED_INTO = 20
"""Number of attempts whose checks are listed; for the others only the verdict is."""


def outcome_lines(
    connection: Connection, records: Records, prefix: str, traces: Sequence[TraceRow]
) -> list[CellLine]:
    """Return each attempt with its source's verdict and the checks that failed, failed attempts
    first. `prefix` is the trace id up to its attempt."""
    lines: list[tuple[int, int, list[CellLine]]] = []
    for trace in traces:
        head = None
        if len(lines) < LOOKED_INTO:
            with suppress(NotAvailable):  # the source's verdict itself is in the store
                head = records.whole(connection, trace) or payload.large_head(connection, trace.id)
        found = outcome_in(connection, records, trace, head)
        order = 2 if found is None or found.passed is None else int(found.passed) * 3
        of = f"{prefix}/{trace.attempt}"
        lines.append((order, trace.attempt, list(_lines(of, trace, found, told=head is not None))))
    return [line for _, _, told in sorted(lines, key=lambda one: one[:2]) for line in told]


def _lines(
    trace_id: str, trace: TraceRow, found: OutcomeView | None, *, told: bool
) -> Iterator[CellLine]:
    passed = None if found is None else found.passed
    mark: Mark = "not_measured" if passed is None else "pass" if passed else "fail"
    reward = "" if found is None or found.reward is None else f"reward {found.reward:g}"
    said = "gives no verdict" if passed is None else f"says {'passed' if passed else 'failed'}"
    words = f"the source {said}"
    speaks = list(against(found)) if found is not None and told else []
    expected = found.expected if found is not None and told else ()
    if expected:
        made = sum(call.made == "same" for call in expected)
        words += f"; {made} of {len(expected)} expected calls made with the same arguments"
    first = next((one.seq for one in speaks if one.red and one.seq is not None), None)
    yield _line(trace_id, trace, mark, first, reward, words)
    for one in speaks:
        red: Mark = "fail" if one.red else "not_measured"
        yield _line(trace_id, trace, red, one.seq, one.name, one.words)


def _line(
    trace_id: str, trace: TraceRow, mark: Mark, seq: int | None, code: str, detail: str
) -> CellLine:
    return CellLine(
        trace_id=trace_id, attempt=trace.attempt, mark=mark, seq=seq, code=code, detail=detail
    )
