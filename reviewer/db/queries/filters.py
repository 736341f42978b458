"""The filter of the scorecard: parsing and completing what is typed, and the filter as SQL.

A filter is words and `field:value`, all of which must hold: `gate:authority tool:issue_refund
cost>0.05 tag:refund -tag:vip "two words"`. Parsing reads no store; every error names the place and
what is allowed there.

The SQL runs over episodes `e` joined with their roll-up `r`, their first complete set `s` where
attempts were made beyond the plan, and their medians `l` where latency is used. SQL's NULL gives
the right result for unknown figures: neither `cost>0.05` nor `-cost>0.05` finds an episode whose
cost is not known; `cost:n/m` does.
"""

import math
import sqlite3
import string
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import msgspec

from reviewer.db.event_lists import calls_tool, tools_of_newest
from reviewer.suite.gates import ALWAYS, GATES
from reviewer.suite.model import Category

Field = Literal[
    "gate", "tool", "code", "tag", "category", "episode", "cost", "latency", "steps", "pass", "word"
]
Op = Literal[":", ">", "<", ">=", "<=", "="]
TEXTS: tuple[Field, ...] = ("gate", "tool", "code", "tag", "category", "episode")
NUMBERS: tuple[Field, ...] = ("cost", "latency", "steps", "pass")
CATEGORIES: tuple[str, ...] = get_args(Category)
GATE_WORDS = ("fail", "critical", "n/m", "pass")
OPS: tuple[Op, ...] = (">=", "<=", ">", "<", "=")
_UNITS = {
    "cost": (("$", 1.0),),
    "latency": (("ms", 0.001), ("min", 60.0), ("s", 1.0)),
    "steps": (),
    "pass": (),
}
MOST_TERMS = 32


class Term(NamedTuple):
    """One condition. `value` is the text to find (for a gate: its name, with `result`). `number` is
    the figure to compare with: US dollars, seconds, steps, or pass^k from 0 to 1; None where the
    field has no figure, and for `n/m`, which finds unknown figures."""

    field: Field
    op: Op
    value: str
    number: float | None = None
    result: str = ""
    negated: bool = False


class FilterError(ValueError):
    """A filter that cannot be understood. `place` counts characters from 1."""

    def __init__(self, place: int, text: str) -> None:
        super().__init__(f"filter, character {place}: {text}")
        self.place = place


class Word(NamedTuple):
    """A word of the filter: its characters without quotes, which of them were quoted, and where it
    begins (from 0). `closed` is False when a quotation is still open."""

    text: str
    quoted: tuple[bool, ...]
    at: int
    closed: bool


def words_of_filter(text: str) -> list[Word]:
    """Cut at blanks outside quotes. Within quotes `\\"` and `\\\\` mean themselves."""
    found: list[Word] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        word, at = _piece(text, at)
        found.append(word)
    return found


def _piece(text: str, start: int) -> tuple[Word, int]:
    chars: list[str] = []
    quoted: list[bool] = []
    inside, at = False, start
    while at < len(text) and (inside or not text[at].isspace()):
        char = text[at]
        if char == '"':
            inside = not inside
            if inside and text[at + 1 : at + 2] == '"':  # an empty quotation is still a value
                at += 2
                inside = False
                continue
        elif inside and char == "\\" and text[at + 1 : at + 2] in ("\\", '"'):
            at += 1
            chars.append(text[at])
            quoted.append(True)
        else:
            chars.append(char)
            quoted.append(inside)
        at += 1
    return Word("".join(chars), tuple(quoted), start, not inside), at


def parse_filter(text: str) -> tuple[Term, ...]:
    """Return the conditions of a filter; none for a blank one. Raises FilterError."""
    found = []
    for word in words_of_filter(text):
        if not word.closed:
            raise FilterError(word.at + 1, 'a quotation is not closed: add "')
        found.append(_term(word))
    if len(found) > MOST_TERMS:
        raise FilterError(1, f"{len(found)} conditions: at most {MOST_TERMS} are allowed")
    return tuple(found)


def _term(word: Word) -> Term:
    text, at = word.text, word.at
    negated = text.startswith("-") and len(text) > 1 and not word.quoted[0]
    if negated:
        text, at = text[1:], at + 1
    field, op, value = _split(text, word.quoted[int(negated) :])
    if not op:
        if not text:
            raise FilterError(at + 1, "the quotes are empty: write a word")
        return Term("word", ":", text, negated=negated)
    return _of_field(field, op, value, at)._replace(negated=negated)


def _split(text: str, quoted: tuple[bool, ...]) -> tuple[str, Op | Literal[""], str]:
    """Return (field, operator, value) at the first operator outside quotes; without an operator: a
    plain word."""
    for at, char in enumerate(text):
        if quoted[at]:
            continue
        if char == ":":
            return text[:at], ":", text[at + 1 :]
        for op in OPS:
            if text.startswith(op, at) and not any(quoted[at : at + len(op)]):
                return text[:at], op, text[at + len(op) :]
    return "", "", text


def _of_field(name: str, op: Op, value: str, at: int) -> Term:
    field = name.lower()
    place = at + len(name) + len(op) + 1
    if field in TEXTS:
        known = next(each for each in TEXTS if each == field)
        if op not in (":", "="):
            raise FilterError(place - len(op), f"{field} is not a number: write {field}:{value}")
        if not value:
            raise FilterError(place, f"{field}: needs a value{_allowed(known)}")
        return _text_term(known, value, place)
    if field in NUMBERS:
        figure = next(each for each in NUMBERS if each == field)
        return _number_term(figure, op, value, place)
    fields = ", ".join((*(f"{each}:" for each in TEXTS), *(f"{each}>" for each in NUMBERS)))
    raise FilterError(at + 1, f"no field {name!r}: fields are {fields}; quote a word to search it")


def _allowed(field: Field) -> str:
    if field == "gate":
        return f": {', '.join(ALWAYS)}"
    return f": {', '.join(CATEGORIES)}" if field == "category" else ""


def _text_term(field: Field, value: str, place: int) -> Term:
    if field == "gate":
        gate, colon, result = value.partition(":")
        if gate not in GATES:
            raise FilterError(place, f"no gate {gate!r}: gates are {', '.join(ALWAYS)}")
        result = result if colon else "fail"
        if result not in GATE_WORDS:
            raise FilterError(
                place + len(gate) + 1, f"no result {result!r}: results are {', '.join(GATE_WORDS)}"
            )
        return Term(field, ":", gate, result=result)
    if field == "category" and value not in CATEGORIES:
        raise FilterError(place, f"no category {value!r}: categories are {', '.join(CATEGORIES)}")
    return Term(field, ":", value)


def _number_term(field: Field, op: Op, value: str, place: int) -> Term:
    if op in (":", "="):
        if value.lower() == "n/m":
            return Term(field, "=", "n/m")
        if op == ":":
            raise FilterError(
                place - 1, f"{field} is a number: write {field}>{value or 1}, or {field}:n/m"
            )
    number = _number(field, value)
    if number is None:
        units = " or ".join(unit for unit, _ in _UNITS[field])
        says = f", which may carry {units}" if units else ""
        raise FilterError(place, f"{value!r} is not a number: {field}{op} needs one{says}")
    return Term(field, op, value, number)


def _number(field: Field, value: str) -> float | None:
    """Parse a plain decimal that is not negative, in the field's unit; return None for anything
    else."""
    text, factor = value, 1.0
    for unit, worth in _UNITS[field]:
        if unit == "$" and text.startswith(unit):
            text = text[1:]
            break
        if text.endswith(unit):
            text, factor = text[: -len(unit)], worth
            break
    if not text.isascii() or "_" in text or not (text[:1].isdigit() or text[:1] == "."):
        return None
    try:
        number = float(text) * factor
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# completion ------------------------------------------------------------------------------------


def completions(text: str, values: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the possible completions of the last word of a filter, each as the whole word.
    `values` are the known values of `tag`, `tool`, `code` and `episode`."""
    words = words_of_filter(text)
    if not text or text[-1].isspace() or not words:
        return (*(f"{each}:" for each in TEXTS), *(f"{each}>" for each in NUMBERS))
    word = words[-1]
    raw = text[word.at :]
    sign = "-" if raw.startswith("-") else ""
    typed = word.text[len(sign) :]
    field, colon, value = typed.partition(":")
    if not colon:
        names = (*(f"{each}:" for each in TEXTS), *(f"{each}>" for each in NUMBERS))
        return tuple(sign + each for each in names if each.startswith(typed.lower()))
    return tuple(
        f"{sign}{field}:{quoted(each)}"
        for each in _values(field.lower(), value, values)
        if each.startswith(value)
    )


def _values(field: str, value: str, values: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if field == "gate":
        gate, colon, _ = value.partition(":")
        return tuple(f"{gate}:{word}" for word in GATE_WORDS) if colon else ALWAYS
    if field == "category":
        return CATEGORIES
    return ("n/m",) if field in NUMBERS else values.get(field, ())


def quoted(value: str) -> str:
    """Return a value as it must be written: in quotes when it contains white space or quotes, or is
    empty."""
    if value and not any(char.isspace() or char == '"' for char in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


RARE = 50_000
"""With at most this many traces that may hold a tool, each is looked at; with more, episodes
are."""
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


def pass_hat(k: int, firsts: bool, apart: str) -> str:
    """Return SQL for pass^k of an episode as the grid shows it: NULL with fewer than k measured
    attempts, with an attempt that is not measured, and for the episodes that `apart` selects, whose
    attempts are no repetitions."""
    made, passed, measured = (
        f"coalesce(s.{name}, r.{name})" if firsts else f"r.{name}"
        for name in ("attempts", "passes", "measured")
    )
    over = " * ".join(f"({passed} - {n})" for n in range(k))
    under = " * ".join(f"({measured} - {n})" for n in range(k))
    return (
        f"CASE WHEN {measured} >= {k} AND {measured} = {made} AND NOT ({apart}) THEN"
        f" CASE WHEN {passed} < {k} THEN 0.0 ELSE 1.0 * ({over}) / ({under}) END END"
    )


def where(connection: sqlite3.Connection, terms: Iterable[Term], hat: str, key: str) -> Where:
    """Return all terms as one condition. It uses the parameter `:candidate`, which the caller
    binds; `hat` is the expression of pass^k, `key` the column with the episode's key."""
    clauses: list[str] = []
    bound: dict[str, object] = {}
    for n, term in enumerate(terms):
        clause, value = _clause(connection, term, f"w{n}", hat, key)
        if value is not None:
            bound[f"w{n}"] = value
        clauses.append(f"NOT ({clause})" if term.negated else f"({clause})")
    return Where("".join(f" AND {clause}" for clause in clauses), bound)


def _clause(
    connection: sqlite3.Connection, term: Term, name: str, hat: str, key: str
) -> tuple[str, object]:
    """Return (condition, the value of `:name` in it, None when it has no name)."""
    if term.field == "gate":
        return _gate(term.value, term.result, key), None
    if term.field in _FIGURES or term.field == "pass":
        figure = hat if term.field == "pass" else _FIGURES[term.field]
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
    """Return SQL that counts the attempts of the episode of a roll-up `r` that fail a gate
    (`failed`), or for which it is not measured (`unknown`)."""
    return (
        f"coalesce((SELECT g.{column} FROM gate_count g WHERE g.candidate = r.candidate"
        f" AND g.first = 0 AND g.episode = r.episode AND g.gate = '{gate}'), 0)"
    )


def _gate(gate: str, result: str, key: str) -> str:
    """Return the condition on a gate. `:n/m` matches what cells show: also an episode without any
    attempt."""
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
    """Return a text as an SQL literal, used only where a parameter would need a second name."""
    return "'" + value.replace("'", "''").replace("\0", "") + "'"


def _tool(connection: sqlite3.Connection, tool: str, name: str, key: str) -> str:
    """Return the condition that an attempt of the episode calls a tool.

    The full-text index finds candidate traces, which is quick where they are few; the event lists
    confirm them. Where they are many, the first attempts of an episode usually decide.
    """
    calls = calls_tool(connection, tool, f":{name}", "t.id")
    words = "".join(char if char in _WORD_CHARS else " " for char in tool).split()
    plain = all(char in _WORD_CHARS or char in "_-./: " for char in tool)
    if words and plain:
        match = " ".join(f'"{word}"' for word in words)
        few = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)",
            (match, RARE + 1),
        ).fetchone()[0]
        if few <= RARE:
            # The full-text index may hold only the beginning of a trace in chunks.
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


# values ------------------------------------------------------------------------------------------

_LOOKED_AT = 20_000
"""Rows that tools and codes are read from: completion helps typing, and need not know every
name."""


def tags_of_suite(connection: sqlite3.Connection, suite: int) -> set[str]:
    """Return the tags of the episodes of a suite."""
    tags: set[str] = set()
    for (raw,) in connection.execute("SELECT DISTINCT tags FROM episode WHERE suite=?", (suite,)):
        tags.update(msgspec.json.decode(raw, type=list[str]))
    return tags


def newest_tools(connection: sqlite3.Connection) -> list[str]:
    """Return the tools of the newest events."""
    return tools_of_newest(connection, _LOOKED_AT)


def newest_codes(connection: sqlite3.Connection) -> list[str]:
    """Return the codes of the newest findings."""
    rows = connection.execute(
        "SELECT DISTINCT code FROM (SELECT code FROM finding ORDER BY trace DESC LIMIT ?)",
        (_LOOKED_AT,),
    )
    return [row[0] for row in rows.fetchall()]
