"""Figures of a report that need every trace of a candidate: latencies, diagnostics, codes of what
is not measured, and the verdicts and costs that other harnesses stated."""

import sqlite3
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import msgspec

from reviewer.db.codec import DIAGNOSTICS, diagnostic_columns
from reviewer.db.figure_blocks import exact_sums, kept_latencies, loose
from reviewer.db.queries.traces import traces_clause
from reviewer.stats.cost_latency import Ordered
from reviewer.stats.figures import OtherSpent, UserTalks


def _counted(connection: sqlite3.Connection, candidate: int) -> str:
    """Return the clause that leaves out traces `t` beyond the first complete set; empty when there
    are none."""
    known = connection.execute("SELECT 1 FROM first_set WHERE candidate=? LIMIT 1", (candidate,))
    if known.fetchone() is None:
        return ""
    return (
        " AND NOT EXISTS (SELECT 1 FROM first_set s WHERE s.candidate = t.candidate"
        " AND s.episode = t.episode AND t.attempt > s.last)"
    )


_BLOCK = 4096


class Latencies(NamedTuple):
    """The latencies of the counted attempts that have one: `ordered`, and in parts up to each of
    `ends`, each by latency, next to the keys of their `episodes`. `unknown` counts attempts without
    a latency."""

    ordered: Ordered
    unknown: int
    episodes: "array[int]"
    values: "array[float]"
    ends: list[int]

    def within(
        self, bound_ms: float, known: Mapping[int, int] | None = None
    ) -> Counter[tuple[int, int]]:
        """Return how many episodes have each number of latencies, and of those at most the bound.
        `known` has the number of latencies of each episode, where that is known."""
        made = Counter[int](self.episodes if known is None else known)
        beyond = Counter[int]()
        for start, end in pairwise([0, *self.ends]):
            beyond.update(self.episodes[bisect_right(self.values, bound_ms, start, end) : end])
        found = Counter((many, many) for many in made.values() if many)
        for key, above in beyond.items():
            many = made[key]
            found[many, many] -= 1
            found[many, many - above] += 1
        return +found


def latencies(connection: sqlite3.Connection, candidate: int) -> Latencies:
    """Return the latencies of a candidate, reading rows in blocks: a million at once would take 100
    MB."""
    episodes, values, ends = array("q"), array("d"), list[int]()
    unknown = 0
    counted = _counted(connection, candidate)
    if not counted:
        for without, in_episodes, some in kept_latencies(connection, candidate):
            unknown += without
            episodes += in_episodes
            values += some
            ends.append(len(values))
    for clause in [traces_clause(connection, candidate)] if counted else loose(connection):
        rows = connection.execute(
            f"SELECT t.latency_ms, t.episode FROM trace t WHERE {clause}"
            f" AND NOT (t.infra = 1 AND t.passed IS NULL){counted}",
            (candidate,),
        )
        while block := rows.fetchmany(_BLOCK):
            known = sorted(row for row in block if row[0] is not None)
            unknown += len(block) - len(known)
            episodes.extend([key for _, key in known])
            values.extend([ms for ms, _ in known])
            ends.append(len(values))
    return Latencies(Ordered.merged(values, ends), unknown, episodes, values, ends)


class UnmeasuredCode(NamedTuple):
    """One code of what is not measured: how many counted traces have it, how many of these have no
    verdict because of it, and the first trace in suite order that has it."""

    code: str
    traces: int
    open: int
    first: int
    gate: str
    seq: int | None


def _unmeasured(connection: sqlite3.Connection, candidate: int) -> str:
    """Return SQL for the findings of what is not measured: by way of the candidate's traces, or
    scanning the findings where a large part of all traces is this candidate's, since most traces
    have none."""
    which = traces_clause(connection, candidate)
    joined = (
        "finding f CROSS JOIN trace t ON t.id = f.trace"
        if which.startswith("+")
        else "trace t JOIN finding f ON f.trace = t.id"
    )
    return (
        f"FROM {joined} WHERE {which} AND f.severity='not_measured'"
        f" AND NOT (t.infra = 1 AND t.passed IS NULL){_counted(connection, candidate)}"
    )


_TRACES = "count(DISTINCT f.trace), count(DISTINCT CASE WHEN t.passed IS NULL THEN f.trace END)"


def unmeasured(connection: sqlite3.Connection, candidate: int) -> list[UnmeasuredCode]:
    """Return the codes of what is not measured. Attempts that infrastructure ended are left out:
    another attempt replaces them, or is still needed."""
    rows = connection.execute(
        # Bare columns come from the row with the smallest place: SQLite guarantees this for a
        # single `min`.
        f"SELECT f.code, {_TRACES}, t.id, f.gate, f.seq,"
        " min((t.episode << 20) | min(t.attempt, 1048575))"
        f" {_unmeasured(connection, candidate)} GROUP BY f.code ORDER BY f.code",
        (candidate,),
    )
    return [UnmeasuredCode(*row[:6]) for row in rows.fetchall()]


def unmeasured_traces(connection: sqlite3.Connection, candidate: int, kind: str) -> tuple[int, int]:
    """Return the number of traces with at least one code of a kind (a code up to its colon), and
    how many of them have no verdict."""
    count: tuple[int, int] = connection.execute(
        f"SELECT {_TRACES} {_unmeasured(connection, candidate)}"
        " AND (f.code = ? OR substr(f.code, 1, ?) = ?)",
        (candidate, kind, len(kind) + 1, f"{kind}:"),
    ).fetchone()
    return count


def diagnostic_means(
    connection: sqlite3.Connection, candidate: int
) -> dict[str, tuple[float | None, int]]:
    """Return the mean of each diagnostic over the counted traces where it is defined, with the
    number of those traces."""
    counted = _counted(connection, candidate)
    known = None if counted else exact_sums(connection, candidate)
    if known is not None:
        return {
            name: (one.total / one.known if one.known else None, one.known)
            for name, one in zip(DIAGNOSTICS, known, strict=True)
        }
    sums, counts = [0.0] * len(DIAGNOSTICS), [0] * len(DIAGNOSTICS)
    rows = connection.execute(
        f"SELECT t.diagnostics FROM trace t WHERE {traces_clause(connection, candidate)}"
        f" AND t.diagnostics IS NOT NULL{counted} ORDER BY t.id",
        (candidate,),
    )
    while block := rows.fetchmany(_BLOCK):
        columns = diagnostic_columns([blob for (blob,) in block])
        for n, column in enumerate(columns):
            # Added one by one in the order of ids, so that the sum is always the same.
            values: Sequence[float] = column
            total = reduce(add, values, sums[n])
            if total != total:  # NaN means undefined
                values = [value for value in column if value == value]
                total = reduce(add, values, sums[n])
            sums[n], counts[n] = total, counts[n] + len(values)
    return {
        name: (sums[n] / counts[n] if counts[n] else None, counts[n])
        for n, name in enumerate(DIAGNOSTICS)
    }


_LOST = "t.infra = 1 AND t.passed IS NULL"


class SourceVerdictCount(NamedTuple):
    """Number of attempts with the same verdict of the source: passed or not, and which reward.
    `lost`: infrastructure ended them, by the gates of reviewer. `epochs` is the number of scored
    attempts of the same episode where `by_episode` names the reader; else it is 1."""

    reader: str
    passed: int | None
    reward: float | None
    lost: int
    attempts: int
    epochs: int = 1


def source_verdict_counts(
    connection: sqlite3.Connection, candidate: int, by_episode: Container[str] = ()
) -> list[SourceVerdictCount]:
    """Count the verdicts of other harnesses on every attempt of a candidate, including attempts
    without a verdict; empty where no attempt has one. `by_episode` names the readers whose rows are
    divided by the number of scored attempts of an episode."""
    some = connection.execute(
        "SELECT 1 FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace WHERE t.candidate=?"
        " AND (v.passed IS NOT NULL OR v.reward IS NOT NULL) LIMIT 1",
        (candidate,),
    ).fetchone()
    if some is None:
        return []
    sources = dict(connection.execute("SELECT id, reader FROM source").fetchall())
    # In a reader's name, a slash precedes its version.
    apart = {id for id, reader in sources.items() if reader.partition("/")[0] in by_episode}
    episode = f"iif(t.source IN ({','.join(map(str, apart))}), t.episode, 0)" if apart else "0"
    # Counted in Python: SQLite would sort every row of a large probe to group them.
    alike = Counter(
        connection.execute(
            f"SELECT t.source, v.passed, v.reward, {_LOST}, {episode} FROM trace t"
            " LEFT JOIN source_verdict v ON v.trace = t.id"
            f" WHERE {traces_clause(connection, candidate)}",
            (candidate,),
        )
    )
    epochs: Counter[tuple[str, int]] = Counter()
    for (source, passed, reward, lost, key), count in alike.items():
        if not lost and (passed, reward) != (None, None):
            epochs[sources[source], key] += count
    found: Counter[tuple[str, int | None, float | None, int, int]] = Counter()
    for (source, passed, reward, lost, key), count in alike.items():
        reader = sources[source]
        found[reader, passed, reward, lost, max(epochs[reader, key], 1) if key else 1] += count
    rows = [SourceVerdictCount(*alike[:4], count, alike[4]) for alike, count in found.items()]
    return sorted(rows, key=_in_order)


def _in_order(row: SourceVerdictCount) -> tuple[object, ...]:
    unsaid = row.passed is None, row.reward is None
    return row.reader, *unsaid, row.passed or 0, row.reward or 0.0, row.lost, row.epochs


SPENDERS = ("grader", "simulated_user")


class _Line(msgspec.Struct):
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    model_calls: int = 0


class _Detail(msgspec.Struct):
    grader: _Line | None = None
    simulated_user: _Line | None = None


_read = msgspec.json.Decoder(_Detail).decode


def others_spent(connection: sqlite3.Connection, candidate: int) -> list[OtherSpent]:
    """Return one line for each kind of spending that occurs, over every attempt made."""
    rows = connection.execute(
        "SELECT v.detail FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace"
        " WHERE t.candidate=?"
        " AND (instr(v.detail, '\"grader\":') OR instr(v.detail, '\"simulated_user\":'))",
        (candidate,),
    )
    found: dict[str, list[_Line]] = {who: [] for who in SPENDERS}
    for (detail,) in rows:
        try:
            told = _read(detail)
        except msgspec.ValidationError:
            continue
        for who in SPENDERS:
            line = getattr(told, who)
            if line is not None:
                found[who].append(line)
    return [_spent_by(who, lines) for who, lines in found.items() if lines]


def _spent_by(who: str, lines: list[_Line]) -> OtherSpent:
    counts = [count for one in lines if (count := _tokens(one.usage or {})) is not None]
    costs = [one.cost_usd for one in lines if one.cost_usd is not None]
    return OtherSpent(
        who=who,
        attempts=len(lines),
        model_calls=sum(one.model_calls for one in lines),
        tokens=sum(counts),
        counted=len(counts),
        partial=any((one.usage or {}).get("lower_bound") is True for one in lines),
        known_usd=sum(costs),
        priced=len(costs),
    )


def _tokens(usage: dict[str, Any]) -> int | None:
    """Return all tokens: the stated total, else input plus output."""
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get("input_tokens"), usage.get("output_tokens")]
    known = [one for one in parts if isinstance(one, int)]
    return sum(known) if known else None


class _UserFault(msgspec.Struct):
    code: str
    severity: str = ""


class _UserTold(msgspec.Struct):
    faults: list[_UserFault] = []


class _TalkDetail(msgspec.Struct):
    user: _UserTold | None = None


_read_talk = msgspec.json.Decoder(_TalkDetail).decode


class TalkFaults(NamedTuple):
    """One conversation: its slot, how it ended, and the codes of its user's errors that spoil the
    attempt."""

    episode_id: str
    attempt: int
    termination: str | None
    codes: frozenset[str]


def talk_faults(connection: sqlite3.Connection, candidate: int) -> Iterator[TalkFaults]:
    """Yield the conversations with simulated users among every attempt made, with the user errors
    found by rule."""
    rows = connection.execute(
        "SELECT e.episode_id, t.attempt, t.termination, v.detail FROM source_verdict v"
        " CROSS JOIN trace t ON t.id = v.trace JOIN episode e ON e.id = t.episode"
        " WHERE t.candidate=? AND instr(v.detail, '\"user\":')",
        (candidate,),
    )
    for episode_id, attempt, termination, detail in rows:
        try:
            user = _read_talk(detail).user
        except msgspec.ValidationError:
            continue
        if user is not None:
            found = frozenset(fault.code for fault in user.faults if fault.severity != "minor")
            yield TalkFaults(episode_id, attempt, termination, found)


def user_talks(connection: sqlite3.Connection, candidate: int) -> UserTalks | None:
    """Count the conversations with simulated users among every attempt made, and their user errors;
    None where there is no conversation."""
    attempts = spoiled = faulty = 0
    codes: Counter[str] = Counter()
    for one in talk_faults(connection, candidate):
        attempts += 1
        spoiled += one.termination == "user_error"
        faulty += bool(one.codes)
        codes.update(one.codes)
    if not attempts:
        return None
    return UserTalks(attempts, spoiled, faulty, tuple(sorted(codes.items())))
