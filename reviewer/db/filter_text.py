"""The filter of the scorecard as people type it: words and `field:value`, all of which must hold.

`gate:authority tool:issue_refund cost>0.05 tag:refund -tag:vip "two words"`. Parsing knows no
store; every error names the place and what may stand there.
"""

import math
from typing import Literal, NamedTuple, get_args

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
    """One condition. `value` is the text asked for (of a gate: its name, with `result` beside it),
    `number` what a figure is compared with: US dollars, seconds, steps, or pass^k from 0 to 1;
    None where the field has no figure, and for `n/m`, which asks for the unknown."""

    field: Field
    op: Op
    value: str
    number: float | None = None
    result: str = ""
    negated: bool = False


class FilterError(ValueError):
    """What cannot be understood. `place` counts characters from 1."""

    def __init__(self, place: int, text: str) -> None:
        super().__init__(f"filter, character {place}: {text}")
        self.place = place


class Word(NamedTuple):
    """A piece between blanks: its characters without quotes, which of them were quoted, and where
    it begins (from 0). `closed` is False when a quotation is still open."""

    text: str
    quoted: tuple[bool, ...]
    at: int
    closed: bool


def pieces(text: str) -> list[Word]:
    """Cut at blanks outside quotes. Within quotes `\\"` and `\\\\` stand for themselves."""
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
            if inside and text[at + 1 : at + 2] == '"':  # nothing in quotes is still a value
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


def parse(text: str) -> tuple[Term, ...]:
    """The conditions of a filter; none for a blank one. Raises FilterError."""
    found = []
    for word in pieces(text):
        if not word.closed:
            raise FilterError(word.at + 1, 'a quotation is not closed: add "')
        found.append(_term(word))
    if len(found) > MOST_TERMS:
        raise FilterError(1, f"{len(found)} conditions: at most {MOST_TERMS} are taken")
    return tuple(found)


def _term(word: Word) -> Term:
    text, at = word.text, word.at
    negated = text.startswith("-") and len(text) > 1 and not word.quoted[0]
    if negated:
        text, at = text[1:], at + 1
    field, op, value = _split(text, word.quoted[int(negated) :])
    if not op:
        if not text:
            raise FilterError(at + 1, "nothing stands in the quotes: write a word")
        return Term("word", ":", text, negated=negated)
    return _of_field(field, op, value, at)._replace(negated=negated)


def _split(text: str, quoted: tuple[bool, ...]) -> tuple[str, Op | Literal[""], str]:
    """(field, operator, value) at the first operator outside quotes; no operator: a plain word."""
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
            raise FilterError(place - len(op), f"{field} is no figure: write {field}:{value}")
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
                place - 1, f"{field} is a figure: write {field}>{value or 1}, or {field}:n/m"
            )
    number = _number(field, value)
    if number is None:
        units = " or ".join(unit for unit, _ in _UNITS[field])
        says = f", which may carry {units}" if units else ""
        raise FilterError(place, f"{value!r} is no number: {field}{op} needs one{says}")
    return Term(field, op, value, number)


def _number(field: Field, value: str) -> float | None:
    """A plain decimal that is not negative, in the field's unit; None for anything else."""
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
    """What the last word of a filter may become, each as the whole word. `values` are those known
    of `tag`, `tool`, `code` and `episode`."""
    words = pieces(text)
    if not text or text[-1].isspace() or not words:
        return (*(f"{each}:" for each in TEXTS), *(f"{each}>" for each in NUMBERS))
    word = words[-1]
    raw = text[word.at :]
    sign = "-" if raw.startswith("-") else ""
    begun = word.text[len(sign) :]
    field, colon, value = begun.partition(":")
    if not colon:
        names = (*(f"{each}:" for each in TEXTS), *(f"{each}>" for each in NUMBERS))
        return tuple(sign + each for each in names if each.startswith(begun.lower()))
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
    """A value as it must be written: in quotes when it holds blanks, quotes or nothing."""
    if value and not any(char.isspace() or char == '"' for char in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
