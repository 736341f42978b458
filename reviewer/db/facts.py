"""Questions asked of the store. Every answer is read from roll-ups or by key, never by OFFSET,
and fetched whole: an open read transaction would hide what others write."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from reviewer.db.codec import DIAGNOSTICS, diagnostic_columns
from reviewer.suite.gates import GATES


class GateCounts(NamedTuple):
    """How many attempts fail each gate, and of how many it is not measured; aligned with GATES."""

    fail: tuple[int, ...]
    unknown: tuple[int, ...]


NO_GATES = GateCounts((0,) * len(GATES), (0,) * len(GATES))


class FirstSet(NamedTuple):
    """Counts of an episode's first complete set: its attempts numbered up to `last`."""

    last: int
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    in_plan: int
    cost_nano: int
    cost_unknown: int
    steps: int
    fail: tuple[int, ...]
    unknown: tuple[int, ...]


class RollRow(NamedTuple):
    """Counts of every attempt of one episode made by one candidate; zeros when there is none.
    `first` holds the first complete set apart, when attempts are numbered beyond the plan."""

    key: int
    episode_id: str
    title: str
    tags: tuple[str, ...]
    attempts: int
    measured: int
    passes: int
    critical: int
    infra: int
    in_plan: int
    cost_nano: int
    cost_unknown: int
    steps: int
    fail: tuple[int, ...]
    unknown: tuple[int, ...]
    first: FirstSet | None = None


class TraceRow(NamedTuple):
    """The narrow facts of one trace."""

    id: int
    candidate: int
    episode: int
    attempt: int
    gates: int
    passed: int | None
    critical: int
    infra: int
    cost_usd: float | None
    latency_ms: float | None
    steps: int
    timeouts: int
    events: int
    termination: str | None
    final_state: str | None
    sha256: bytes
    source: int
    record: int
    pack: int | None
    offset: int | None
    length: int | None


class FindingRow(NamedTuple):
    trace: int
    gate: str
    code: str
    severity: str
    seq: int | None
    detail: str


_COUNTS = ", ".join(
    f"coalesce(r.{name}, 0)"
    for name in (
        "attempts", "measured", "passes", "critical", "infra", "in_plan", "cost_nano",
        "cost_unknown", "steps",
    )
)  # fmt: skip
_ROLL = (
    f"SELECT e.id, e.episode_id, e.title, e.tags, {_COUNTS}"
    " FROM episode e LEFT JOIN roll r ON r.candidate=:candidate AND r.episode=e.id"
    " WHERE e.suite=:suite"
)
_FIRST = (
    "SELECT episode, last, attempts, measured, passes, critical, infra, in_plan, cost_nano,"
    " cost_unknown, steps FROM first_set WHERE candidate=:candidate"
)
_TRACE = (
    "SELECT id, candidate, episode, attempt, gates, passed, critical, infra, cost_usd, latency_ms,"
    " steps, timeouts, events, termination, final_state, sha256, source, record, pack, offset,"
    " length FROM trace"
)


def _roll(
    row: tuple[Any, ...],
) -> tuple[int, str, str, tuple[str, ...], int, int, int, int, int, int, int, int, int]:
    key, name, title, tags, *counts = row
    attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps = counts
    listed = tuple(msgspec.json.decode(tags, type=list[str]))
    made = attempts, measured, passes, critical, infra, in_plan
    return key, name, title, listed, *made, nano, unknown, steps


def _first(row: tuple[Any, ...]) -> tuple[int, int, int, int, int, int, int, int, int, int]:
    _, last, attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps = row
    return last, attempts, measured, passes, critical, infra, in_plan, nano, unknown, steps


def gate_counts(
    connection: sqlite3.Connection,
    candidate: int,
    first: bool = False,
    keys: Sequence[int] | None = None,
) -> dict[int, GateCounts]:
    """Counts per gate of a candidate's episodes by key, or only of the given ones; nothing of an
    episode whose attempts pass every gate. `first` counts the first complete sets alone."""
    among = "" if keys is None else f" AND episode IN ({','.join(str(int(k)) for k in keys)})"
    fail: dict[int, list[int]] = {}
    unknown: dict[int, list[int]] = {}
    for episode, gate, failed, lacking in connection.execute(
        "SELECT episode, gate, failed, unknown FROM gate_count"
        f" WHERE candidate=? AND first=?{among}",
        (candidate, first),
    ):
        if episode not in fail:
            fail[episode], unknown[episode] = list(NO_GATES.fail), list(NO_GATES.unknown)
        place = GATES.index(gate)
        fail[episode][place], unknown[episode][place] = failed, lacking
    return {key: GateCounts(tuple(fail[key]), tuple(unknown[key])) for key in fail}


def rolls(
    connection: sqlite3.Connection, suite: int, candidate: int, keys: Sequence[int] | None = None
) -> list[RollRow]:
    """Roll-ups of a candidate in suite order, or only those of the given episode keys."""
    among = "" if keys is None else f"IN ({','.join(str(int(k)) for k in keys)})"
    bound = {"suite": suite, "candidate": candidate}
    only = among and f" AND e.id {among}"
    # The plus keeps SQLite from walking a whole suite for the sake of a page.
    roll = _ROLL.replace("WHERE e.suite", "WHERE +e.suite") if among else _ROLL
    rows = connection.execute(f"{roll}{only} ORDER BY e.position", bound).fetchall()
    gates = gate_counts(connection, candidate, keys=keys)
    only = among and f" AND episode {among}"
    found = connection.execute(f"{_FIRST}{only}", bound).fetchall()
    firsts: dict[int, FirstSet] = {}
    if found:
        own = gate_counts(connection, candidate, True, keys)
        firsts = {row[0]: FirstSet(*_first(row), *own.get(row[0], NO_GATES)) for row in found}
    return [
        RollRow(
            *_roll(row),
            *gates.get(row[0], NO_GATES),
            firsts.get(row[0]),
        )
        for row in rows
    ]


def roll_sums(connection: sqlite3.Connection, candidate: int) -> tuple[int, int, int]:
    """(episodes with an attempt, attempts, passes) of a candidate."""
    row = connection.execute(
        "SELECT coalesce(sum(attempts > 0), 0), coalesce(sum(attempts), 0),"
        " coalesce(sum(passes), 0) FROM roll WHERE candidate=?",
        (candidate,),
    ).fetchone()
    return row[0], row[1], row[2]


def traces_of(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int]
) -> list[TraceRow]:
    """Every attempt of some episodes (a page of the grid), by episode and attempt."""
    keys = ",".join(str(int(key)) for key in episodes)
    rows = connection.execute(
        f"{_TRACE} WHERE candidate=? AND episode IN ({keys}) ORDER BY episode, attempt",
        (candidate,),
    )
    return [TraceRow(*row) for row in rows.fetchall()]


def traces_by_id(connection: sqlite3.Connection, traces: Sequence[int]) -> list[TraceRow]:
    """Some traces by their keys, in the order of these."""
    keys = ",".join(str(int(key)) for key in traces)
    rows = connection.execute(f"{_TRACE} WHERE id IN ({keys}) ORDER BY id")
    return [TraceRow(*row) for row in rows.fetchall()]


def trace_at(
    connection: sqlite3.Connection, candidate: int, episode: int, attempt: int
) -> TraceRow | None:
    row = connection.execute(
        f"{_TRACE} WHERE candidate=? AND episode=? AND attempt=?", (candidate, episode, attempt)
    ).fetchone()
    return TraceRow(*row) if row else None


def trace_of_id(connection: sqlite3.Connection, key: int) -> TraceRow | None:
    """The trace with this key of the store."""
    row = connection.execute(f"{_TRACE} WHERE id=?", (key,)).fetchone()
    return TraceRow(*row) if row else None


def count_rows(connection: sqlite3.Connection, suite: int, candidate: int) -> list[tuple[Any, ...]]:
    """(key, episode id, counts) of every episode in suite order, zeros where the candidate has no
    attempt. Keys rise with the place in the suite: episodes are only ever added behind."""
    return connection.execute(
        f"SELECT e.id, e.episode_id, {_COUNTS} FROM episode e"
        " LEFT JOIN roll r ON r.candidate=? AND r.episode=e.id WHERE +e.suite=? ORDER BY e.id",
        (candidate, suite),
    ).fetchall()


def first_rows(connection: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    """(key, last attempt, then as `count_rows`) of each first complete set."""
    return connection.execute(_FIRST, {"candidate": candidate}).fetchall()


_FAILED = "t.candidate=? AND (t.passed = 0 OR t.infra = 1)"


def failed_rows(connection: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    """(key, episode, attempt, gates, critical, infra, sha256) of every trace that failed or was
    lost to infrastructure, in suite order, then by attempt."""
    return connection.execute(
        "SELECT t.id, t.episode, t.attempt, t.gates, t.critical, t.infra, t.sha256 FROM trace t"
        f" WHERE {_FAILED} ORDER BY t.episode, t.attempt",
        (candidate,),
    ).fetchall()


def failed_findings(connection: sqlite3.Connection, candidate: int) -> list[tuple[Any, ...]]:
    """(trace, gate, code, seq) of what speaks against those traces, in printed order within each.
    The join is read from left to right: both sides stand in this order already."""
    return connection.execute(
        "SELECT f.trace, f.gate, f.code, f.seq FROM trace t CROSS JOIN finding f ON f.trace = t.id"
        f" WHERE {_FAILED} AND f.severity <> 'note' ORDER BY t.id, f.n",
        (candidate,),
    ).fetchall()


def findings(connection: sqlite3.Connection, traces: Sequence[int]) -> list[FindingRow]:
    """Findings of some traces, in printed order within each."""
    found: list[FindingRow] = []
    for start in range(0, len(traces), 500):
        keys = ",".join(str(int(key)) for key in traces[start : start + 500])
        rows = connection.execute(
            "SELECT trace, gate, code, severity, seq, detail FROM finding"
            f" WHERE trace IN ({keys}) ORDER BY trace, n"
        )
        found.extend(FindingRow(*row) for row in rows.fetchall())
    return found


_FLAG_CODES = ("step_budget", "thumbs_down")


def flagging(
    connection: sqlite3.Connection, traces: Sequence[int]
) -> tuple[dict[int, int], dict[int, frozenset[str]]]:
    """Of some traces: what another harness said of each, and the codes that flag it for review."""
    keys = json.dumps(list(traces))
    among = "trace IN (SELECT value FROM json_each(?))"
    said = connection.execute(
        f"SELECT trace, passed FROM source_verdict WHERE {among} AND passed IS NOT NULL", (keys,)
    ).fetchall()
    codes: dict[int, frozenset[str]] = {}
    for trace, code in connection.execute(
        f"SELECT trace, code FROM finding WHERE {among} AND code IN (?, ?)",
        (keys, *_FLAG_CODES),
    ).fetchall():
        codes[trace] = codes.get(trace, frozenset()) | {code}
    return dict(said), codes


def _counted(connection: sqlite3.Connection, candidate: int) -> str:
    """The clause that leaves out traces `t` beyond the first complete set; empty when none is."""
    known = connection.execute("SELECT 1 FROM first_set WHERE candidate=? LIMIT 1", (candidate,))
    if known.fetchone() is None:
        return ""
    return (
        " AND NOT EXISTS (SELECT 1 FROM first_set s WHERE s.candidate = t.candidate"
        " AND s.episode = t.episode AND t.attempt > s.last)"
    )


_BLOCK = 4096


def scanned(connection: sqlite3.Connection, candidate: int) -> str:
    """The clause that picks a candidate's traces `t`, read as is quicker: all traces as they lie
    where a large part is this candidate's, else by its index."""
    made = connection.execute(
        "SELECT coalesce(sum(attempts + infra), 0) FROM roll WHERE candidate=?", (candidate,)
    ).fetchone()[0]
    held = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
    return "+t.candidate=?" if 4 * made > held else "t.candidate=?"


def latencies(connection: sqlite3.Connection, candidate: int) -> tuple[list[float], int]:
    """Latencies of every attempt that counts and has one, sorted, and how many have none."""
    rows = connection.execute(
        f"SELECT t.latency_ms FROM trace t WHERE {scanned(connection, candidate)}"
        f" AND NOT (t.infra = 1 AND t.passed IS NULL){_counted(connection, candidate)}",
        (candidate,),
    ).fetchall()
    known = sorted(row[0] for row in rows if row[0] is not None)
    return known, len(rows) - len(known)


def latencies_within(
    connection: sqlite3.Connection, candidate: int, bound_ms: float
) -> list[tuple[int, int]]:
    """Per episode, by key: how many of the latencies that `latencies` gives there are, and how many
    of them are at most the bound."""
    return connection.execute(
        "SELECT count(*), sum(t.latency_ms <= ?) FROM trace t"
        f" WHERE {scanned(connection, candidate)} AND t.latency_ms IS NOT NULL"
        " AND NOT (t.infra = 1 AND t.passed IS NULL)"
        f"{_counted(connection, candidate)} GROUP BY t.episode ORDER BY t.episode",
        (bound_ms, candidate),
    ).fetchall()


class Unmeasured(NamedTuple):
    """One code of what is not measured: how many traces that count have it, how many of these
    are without a verdict for it, and where the first of them in suite order says so."""

    code: str
    traces: int
    open: int
    first: int
    gate: str
    seq: int | None


_UNMEASURED = (
    "FROM trace t JOIN finding f ON f.trace = t.id"
    " WHERE t.candidate=? AND f.severity='not_measured'"
    " AND NOT (t.infra = 1 AND t.passed IS NULL)"
)


_TRACES = "count(DISTINCT f.trace), count(DISTINCT CASE WHEN t.passed IS NULL THEN f.trace END)"


def unmeasured(connection: sqlite3.Connection, candidate: int) -> list[Unmeasured]:
    """Codes of what is not measured. What infrastructure ended is none of them: another attempt
    stands in its place, or is asked for."""
    rows = connection.execute(
        # What stands bare is of the row with the least place: SQLite does so for one `min`.
        f"SELECT f.code, {_TRACES}, t.id, f.gate, f.seq,"
        " min((t.episode << 20) | min(t.attempt, 1048575))"
        f" {_UNMEASURED}{_counted(connection, candidate)} GROUP BY f.code ORDER BY f.code",
        (candidate,),
    )
    return [Unmeasured(*row[:6]) for row in rows.fetchall()]


def slot_of(connection: sqlite3.Connection, trace: int) -> tuple[str, int]:
    """(episode id, attempt) of a trace."""
    row: tuple[str, int] = connection.execute(
        "SELECT e.episode_id, t.attempt FROM trace t JOIN episode e ON e.id = t.episode"
        " WHERE t.id=?",
        (trace,),
    ).fetchone()
    return row


def unmeasured_traces(connection: sqlite3.Connection, candidate: int, kind: str) -> tuple[int, int]:
    """Traces with one code or more of a kind, which is a code up to its colon, and how many of them
    are without a verdict."""
    count: tuple[int, int] = connection.execute(
        f"SELECT {_TRACES} {_UNMEASURED}{_counted(connection, candidate)}"
        " AND (f.code = ? OR substr(f.code, 1, ?) = ?)",
        (candidate, kind, len(kind) + 1, f"{kind}:"),
    ).fetchone()
    return count


def diagnostic_means(
    connection: sqlite3.Connection, candidate: int
) -> dict[str, tuple[float | None, int]]:
    """Mean of each diagnostic over the traces that count and where it is defined, with how many
    those are."""
    sums, counts = [0.0] * len(DIAGNOSTICS), [0] * len(DIAGNOSTICS)
    rows = connection.execute(
        f"SELECT t.diagnostics FROM trace t WHERE {scanned(connection, candidate)}"
        f" AND t.diagnostics IS NOT NULL{_counted(connection, candidate)} ORDER BY t.id",
        (candidate,),
    )
    while block := rows.fetchmany(_BLOCK):
        columns = diagnostic_columns([blob for (blob,) in block])
        for n, column in enumerate(columns):
            total, count = sums[n], counts[n]
            for value in column:
                if value == value:  # NaN is not defined
                    total += value  # one after another, in the order of ids: always the same sum
                    count += 1
            sums[n], counts[n] = total, count
    return {
        name: (sums[n] / counts[n] if counts[n] else None, counts[n])
        for n, name in enumerate(DIAGNOSTICS)
    }


def quarantined(
    connection: sqlite3.Connection, suite_id: str, candidate_id: str
) -> tuple[dict[str, int], int]:
    """Refused records of this candidate on this suite per episode id, and those without a place."""
    placed: dict[str, int] = {}
    unplaced = 0
    for episode_id, count in connection.execute(
        "SELECT episode_id, count(*) FROM quarantine WHERE suite_id=? AND candidate_id=?"
        " GROUP BY episode_id",
        (suite_id, candidate_id),
    ):
        if episode_id is None:
            unplaced += count
        else:
            placed[episode_id] = count
    return placed, unplaced


def nameless(connection: sqlite3.Connection, sources: Collection[tuple[str, str]]) -> int:
    """Return how many refused records of these files, as `sources_of` gives them, name no
    candidate: each may be any one's whose attempts stand in its file."""
    return sum(
        count
        for path, sha256, count in connection.execute(
            "SELECT o.path, o.sha256, count(*) FROM quarantine q"
            " JOIN source o ON o.id = q.source WHERE q.candidate_id IS NULL GROUP BY o.id"
        )
        if (path, sha256) in sources
    )


def sources_of(connection: sqlite3.Connection, candidate: int) -> list[tuple[str, str]]:
    """(path, sha256) of every file that gave this candidate a trace, in import order."""
    return connection.execute(
        "SELECT path, sha256 FROM source WHERE id IN"
        f" (SELECT DISTINCT t.source FROM trace t WHERE {scanned(connection, candidate)})"
        " ORDER BY id",
        (candidate,),
    ).fetchall()
