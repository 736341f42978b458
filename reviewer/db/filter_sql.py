"""A filter of the scorecard as SQL, over episodes `e` beside their roll-up `r`, where attempts were
made beyond the plan their first complete set `s`, and where latency is asked for their medians `l`.

SQL's own third truth value does the right thing for what is unknown: neither `cost>0.05` nor
`-cost>0.05` finds an episode whose cost is not known; `cost:n/m` does.
"""

import sqlite3
import string
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reviewer.db.filter_text import Term
from reviewer.suite.gates import GATES

RARE = 50_000
"""Traces that may hold a tool, up to which each is looked at; beyond, episodes are."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_WORD_CHARS = frozenset(string.ascii_letters + string.digits)

FAILS = "(coalesce(r.measured, 0) - coalesce(r.passes, 0))"
_MADE = "(coalesce(r.attempts, 0) + coalesce(r.infra, 0))"
COST = f"CASE WHEN {_MADE} > 0 AND r.cost_unknown = 0 THEN r.cost_nano / 1e9 / {_MADE} END"
STEPS = f"CASE WHEN {_MADE} > 0 THEN 1.0 * r.steps / {_MADE} END"
LATENCY = "l.ms"
CATEGORY = "e.category"


class Where(NamedTuple):
    """A condition, and its parameters by name."""

    clause: str
    bound: dict[str, object]


def pass_hat(k: int, firsts: bool) -> str:
    """pass^k of an episode as the grid shows it: NULL with fewer than k measured attempts, or with
    one that is not measured."""
    made, passed, measured = (
        f"coalesce(s.{name}, r.{name})" if firsts else f"r.{name}"
        for name in ("attempts", "passes", "measured")
    )
    over = " * ".join(f"({passed} - {n})" for n in range(k))
    under = " * ".join(f"({measured} - {n})" for n in range(k))
    return (
        f"CASE WHEN {measured} >= {k} AND {measured} = {made} THEN"
        f" CASE WHEN {passed} < {k} THEN 0.0 ELSE 1.0 * ({over}) / ({under}) END END"
    )


def where(
    connection: sqlite3.Connection, terms: Iterable[Term], k: int, firsts: bool, key: str
) -> Where:
    """All terms at once. Binds `:candidate`, which the caller gives; `key` is the column with the
    episode's key."""
    clauses: list[str] = []
    bound: dict[str, object] = {}
    for n, term in enumerate(terms):
        clause, value = _clause(connection, term, f"w{n}", k, firsts, key)
        if value is not None:
            bound[f"w{n}"] = value
        clauses.append(f"NOT ({clause})" if term.negated else f"({clause})")
    return Where("".join(f" AND {clause}" for clause in clauses), bound)


def _clause(
    connection: sqlite3.Connection, term: Term, name: str, k: int, firsts: bool, key: str
) -> tuple[str, object]:
    """(condition, what `:name` in it stands for, None when it names nothing)."""
    if term.field == "gate":
        return _gate(term.value, term.result, key), None
    if term.field in _FIGURES or term.field == "pass":
        figure = pass_hat(k, firsts) if term.field == "pass" else _FIGURES[term.field]
        return _figure(figure, term, name)
    if term.field == "tag":
        needle = msgspec.json.encode(term.value).decode()
        exact = f"EXISTS (SELECT 1 FROM json_each(e.tags) j WHERE j.value = {_text(term.value)})"
        return f"instr(e.tags, :{name}) > 0 AND {exact}", needle
    if term.field == "category":
        return f"{CATEGORY} = :{name}", term.value
    if term.field == "tool":
        return _tool(connection, term.value, name, key), term.value
    if term.field == "code":
        return (
            f"{key} IN (SELECT t.episode FROM finding f CROSS JOIN trace t ON t.id = f.trace"
            f" WHERE instr(lower(f.code), :{name}) > 0 AND t.candidate = :candidate)",
            term.value.translate(_LOWER),
        )
    columns = ("e.episode_id",) if term.field == "episode" else _SEARCHED
    clause = " OR ".join(f"instr(lower({column}), :{name}) > 0" for column in columns)
    return clause, term.value.translate(_LOWER)


_FIGURES = {"cost": COST, "latency": f"{LATENCY} / 1000.0", "steps": STEPS}
_SEARCHED = ("e.episode_id", "e.title", "e.tags")


def gate_count(gate: str, column: str) -> str:
    """How many attempts of the episode of a roll-up `r` fail a gate (`failed`), or of how many it
    is not measured (`unknown`), as SQL."""
    return (
        f"coalesce((SELECT g.{column} FROM gate_count g WHERE g.candidate = r.candidate"
        f" AND g.first = 0 AND g.episode = r.episode AND g.gate = '{gate}'), 0)"
    )


def _gate(gate: str, result: str, key: str) -> str:
    """What `:n/m` finds, cells show: also an episode without any attempt."""
    fail, unknown = gate_count(gate, "failed"), gate_count(gate, "unknown")
    made = "coalesce(r.attempts, 0)"
    if result == "critical":
        return (
            f"{key} IN (SELECT t.episode FROM trace t WHERE t.candidate = :candidate"
            " AND (t.passed = 0 OR t.infra = 1)"
            f" AND ((t.gates >> {2 * GATES.index(gate)}) & 3) = 3)"
        )
    return {
        "fail": f"{fail} > 0",
        "n/m": f"{unknown} > 0 OR {made} = 0",
        "pass": f"{made} > 0 AND {fail} = 0 AND {unknown} = 0",
    }[result]


def _figure(figure: str, term: Term, name: str) -> tuple[str, object]:
    if term.number is None:
        return f"({figure}) IS NULL", None
    return f"({figure}) {term.op} :{name}", term.number


def _text(value: str) -> str:
    """A text as an SQL literal: the one place where a parameter would need a second name."""
    return "'" + value.replace("'", "''").replace("\0", "") + "'"


def _tool(connection: sqlite3.Connection, tool: str, name: str, key: str) -> str:
    """Episodes with an attempt that calls a tool.

    Full text says which traces may, quickly where they are few; the event rows say which do. Where
    they are many, an episode's first attempts soon show it.
    """
    calls = f"EXISTS (SELECT 1 FROM event v WHERE v.trace = t.id AND v.tool = :{name})"
    words = "".join(char if char in _WORD_CHARS else " " for char in tool).split()
    plain = all(char in _WORD_CHARS or char in "_-./: " for char in tool)
    if words and plain:
        match = " ".join(f'"{word}"' for word in words)
        few = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)",
            (match, RARE + 1),
        ).fetchone()[0]
        if few <= RARE:
            # A trace in chunks may be longer than what full text holds of it.
            return (
                f"{key} IN (SELECT t.episode FROM search f CROSS JOIN trace t ON t.id = f.rowid"
                f" WHERE f.search MATCH {_text(match)} AND t.candidate = :candidate AND {calls}"
                " UNION SELECT t.episode FROM chunk c CROSS JOIN trace t ON t.id = c.trace"
                f" WHERE c.n = 0 AND t.candidate = :candidate AND {calls})"
            )
    return (
        f"EXISTS (SELECT 1 FROM trace t WHERE t.candidate = :candidate AND t.episode = {key}"
        f" AND {calls})"
    )
