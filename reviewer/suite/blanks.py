"""Blanks: values of a suite's file that are not known yet. Pure.

A blank is an object in place of the value: `$blank` says what is missing, `seen` lists recorded
values, one of which may be right, `meanwhile` is what a simulated tool answers until then. A suite
with a blank can be read and tried, and not be frozen.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reviewer.suite.errors import Problem, json_path, shown

BLANK = "$blank"
CONFIRM = "confirm "
"""A blank that begins so asks for no value: a person has to confirm something written elsewhere."""
MEANWHILE = "meanwhile"
_MEMBERS = frozenset({BLANK, "seen", MEANWHILE})
_DEEPEST = 200
_SHOWN = 100

Place = tuple[str | int, ...]


def blank(what: str, *seen: Any) -> dict[str, Any]:
    """Return a blank for `what`; `seen` are recorded values."""
    return {BLANK: what, **({"seen": list(seen)} if seen else {})}


def is_blank(value: Any) -> bool:
    """Return whether a value is a blank."""
    if not isinstance(value, dict) or not isinstance(value.get(BLANK), str):
        return False
    return value.keys() <= _MEMBERS


def blanks_in(value: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield every blank in a value with its place, in the value's order. The content of `seen` is
    not examined further, nor is anything nested deeper than a file of a suite may be."""
    if is_blank(value):
        yield place, value
    elif len(place) >= _DEEPEST:
        return
    elif isinstance(value, dict):
        for name, held in value.items():
            yield from blanks_in(held, (*place, name))
    elif isinstance(value, list):
        for at, held in enumerate(value):
            yield from blanks_in(held, (*place, at))


def answered_meanwhile(value: Any) -> Any:
    """Return a value with the interim answers of its blanks; a blank without one stays a blank."""
    if is_blank(value):
        return value.get(MEANWHILE, value)
    if isinstance(value, dict):
        return {name: answered_meanwhile(held) for name, held in value.items()}
    return [answered_meanwhile(held) for held in value] if isinstance(value, list) else value


def blank_problems(file: str, raw: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each blank of a file."""
    return [Problem(file, json_path(place), _told(one)) for place, one in blanks_in(dict(raw))]


def _told(one: dict[str, Any]) -> str:
    what = shown(one[BLANK], 300)
    way = (
        "remove it once the value is right"
        if what.startswith(CONFIRM)
        else "put the value in its place"
    )
    text = f"is a blank: {what}: {way}"
    seen = one.get("seen")
    if isinstance(seen, list) and seen:
        first = json.dumps(seen[0], ensure_ascii=False, default=str)
        more = f" and {len(seen) - 1} more" if len(seen) > 1 else ""
        text += f" (seen: {shown(first, _SHOWN)}{more})"
    return text


def without_faults_of_blanks(problems: list[Problem], blanks: list[Problem]) -> list[Problem]:
    """Return the problems without those that only say that a blank does not have the value's
    shape."""
    places = [(one.file, one.path) for one in blanks]

    def of_a_blank(problem: Problem) -> bool:
        return any(
            problem.file == file
            and (problem.path == path or problem.path.startswith((f"{path}.", f"{path}[")))
            for file, path in places
        )

    return [one for one in problems if not of_a_blank(one)]
