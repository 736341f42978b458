"""Annotations of other tools as labels of attempts: the meaning of an answer under the rubric.

A person maps every answer, value by value: `Unsure`, 0.5 or any other value without a mapping is
not measured, and never rounded.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from reviewer.suite.errors import shown
from reviewer.suite.rubric import Rubric, levels_of
from reviewer.suite.value import Value

FORM = "QUESTION=CRITERION:VALUE=LEVEL"
_NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?", re.ASCII)


class QuestionMap(Value, frozen=True):
    """The criterion that a question asks about, and the level that each value means."""

    criterion_id: str
    levels: dict[str, int]


class Mapped(Value, frozen=True):
    """The meaning of one annotation's answers. `said` is criterion → question and answer in the
    tool's words, `not_measured` the answers without a meaning here, each with its reason."""

    marks: dict[str, int]
    said: dict[str, str]
    not_measured: tuple[str, ...] = ()


def question_maps(given: Sequence[str], rubric: Rubric) -> dict[str, QuestionMap]:
    """Return question → the meaning of its values, from texts such as
    `trajectory_success=success:Unsuccessful=2`, one for each value. ValueError for a text with
    names that the rubric does not have, or a text that contradicts another."""
    criteria = {criterion.criterion_id: criterion for criterion in rubric.criteria}
    found: dict[str, QuestionMap] = {}
    for text in given:
        question, equals, rest = text.partition("=")
        criterion_id, colon, meaning = rest.partition(":")
        said, sign, level = meaning.rpartition("=")
        if not (question and equals and colon and sign and said):
            raise ValueError(f"`{shown(text)}` is not {FORM}")
        criterion = criteria.get(criterion_id)
        if criterion is None:
            known = ", ".join(criteria)
            raise ValueError(f"`{shown(criterion_id)}` is no criterion of the rubric ({known})")
        if not level.isdecimal() or not level.isascii() or int(level) not in levels_of(criterion):
            most = levels_of(criterion)[-1]
            raise ValueError(f"`{shown(text)}`: the levels of {criterion_id} are 1 to {most}")
        known_map = found.setdefault(question, QuestionMap(criterion_id=criterion_id, levels={}))
        if known_map.criterion_id != criterion_id:
            raise ValueError(f"`{shown(question)}` is mapped to two criteria")
        if known_map.levels.setdefault(form_of(said), int(level)) != int(level):
            raise ValueError(f"`{shown(said)}` of `{shown(question)}` is mapped to two levels")
    by_criterion: dict[str, str] = {}
    for question, one in found.items():
        if (other := by_criterion.setdefault(one.criterion_id, question)) != question:
            both = f"`{shown(other)}` and `{shown(question)}`"
            raise ValueError(f"{both} are mapped to one criterion, {one.criterion_id}")
    return found


def form_of(said: str) -> str:
    """Return the form in which values are compared: `1.00` becomes `1`, every other value is
    unchanged."""
    text = said.strip()
    if not _NUMBER.fullmatch(text):
        return text
    number = Decimal(text).normalize()
    return f"{number + 0:f}"


def mapped(answers: Iterable[tuple[str, Sequence[str]]], maps: Mapping[str, QuestionMap]) -> Mapped:
    """Return the meaning of (question, forms of the answer): a question without a mapping, a value
    without a level, and forms with two levels have none."""
    marks: dict[str, int] = {}
    told: dict[str, str] = {}
    silent: list[str] = []
    for question, forms in answers:
        words = " / ".join(forms)
        plain = " / ".join(map(form_of, forms))
        meant = maps.get(question)
        if meant is None:
            silent.append(f"question `{shown(question)}` is not mapped")
            continue
        known = {form_of(form) for form in forms} & meant.levels.keys()
        levels = {meant.levels[form] for form in known}
        if len(levels) == 1:
            marks[meant.criterion_id] = levels.pop()
            told[meant.criterion_id] = f"{question}={words}"[:4096]
        elif levels:
            silent.append(f"answer `{shown(plain)}` to `{shown(question)}` is mapped to two levels")
        else:
            silent.append(f"answer `{shown(plain)}` to `{shown(question)}` is not mapped")
    return Mapped(marks=marks, said=told, not_measured=tuple(silent))


def with_earlier(now: Mapped, marks: Mapping[str, int], said: Mapping[str, str]) -> Mapped:
    """Return the marks of an annotation together with its earlier ones, for questions that are not
    mapped this time."""
    asked = {words.partition("=")[0] for words in now.said.values()}
    kept = {
        name: level
        for name, level in marks.items()
        if name not in now.marks and said[name].partition("=")[0] not in asked
    }
    return Mapped(
        marks={**kept, **now.marks},
        said={**{name: said[name] for name in kept}, **now.said},
        not_measured=now.not_measured,
    )


def contradicts(now: Mapped, marks: Mapping[str, int], said: Mapping[str, str]) -> bool:
    """Return whether an annotation answers a question differently from before: with words that mean
    another level, not with another form of the same answer."""
    before = {words.partition("=")[0]: name for name, words in said.items()}
    for name, words in now.said.items():
        was = before.get(words.partition("=")[0])
        if was is None or said[was] == words:
            continue
        if was != name or marks[was] != now.marks[name]:
            return True
    return False


def utc(text: str) -> str | None:
    """Return a time as RFC 3339 in UTC with six decimals, so that texts sort as times do; None for
    a text that is not a time, or names no zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        return None
    try:
        return found.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:
        return None
