"""The arguments and the result of a call in a few words, for the rows of an event list.

The words are made from the stored record, which is masked. They are a preview: omitted parts are
counted or marked with `…`; the event itself contains everything.
"""

import json
import re
from collections.abc import Iterator

from reviewer.desk.traces.states import differences
from reviewer.desk.traces.text import brief_of
from reviewer.trace.jsontree import Buffer, held, kind, members, text_in
from reviewer.trace.record import ABSENT

MOST = 240
"""Most characters of a preview."""
VALUE = 80
"""Most characters of one value in a preview."""
READ = 1 << 16
"""Most bytes of a value that are parsed for its preview; a longer value is shown from its start."""
TYPED = frozenset({"cmd", "code", "command", "script"})
"""Names of arguments that are shown as they were typed, without quotes and before the others."""
CHANGES = 3
"""Most changes of a state that are shown."""
RETURN = "⏎"
"""Replaces a line break within typed text."""


def call_words(arguments: Buffer, findings: str = "") -> str:
    """Return the arguments of a call on one line: first those that `findings` (the words of the
    findings on this event) mention, then the others in recorded order. Empty without arguments."""
    if arguments == ABSENT:
        return ""
    level = _members(arguments)
    if level is None:
        return _plain(arguments)
    named = set(re.findall(r"\w+", findings))
    # sorted is stable: each of the two groups keeps the recorded order
    level = sorted(level, key=lambda member: member[0] not in named and member[0] not in TYPED)
    return _cut("  ".join(_argument(name, value) for name, value in level))


def result_words(observation: Buffer) -> str:
    """Return the result of a call on one line: the members of an object, or the first line of a
    text and how many lines it has. Empty where nothing is recorded."""
    return "" if observation == ABSENT else _plain(observation)


def state_words(state: Buffer, before: Buffer) -> str:
    """Return what a recorded state changed since the one `before` it; where that is not known, or
    either is large, the members of the state."""
    sides = [each for each in (before, state) if each != ABSENT and len(memoryview(each)) <= READ]
    if len(sides) < 2:
        return result_words(state)
    earlier, later = (json.loads(bytes(each)) for each in sides)
    told = [change.words.removeprefix("changed ") for change in differences(earlier, later)]
    more = f"  … {len(told) - CHANGES} more" if len(told) > CHANGES else ""
    return _cut("  ".join(told[:CHANGES])) + more or "nothing changed"


def _argument(name: str, value: Buffer) -> str:
    if name in TYPED and kind(value) == "text":
        return _text(value).strip().replace("\n", RETURN)
    return f"{name} {_value(value)}"


def _members(raw: Buffer) -> list[tuple[str, Buffer]] | None:
    """Return the members of an object, None for one that is too large to parse here."""
    if kind(raw) != "object" or len(memoryview(raw)) > READ:
        return None
    level = members(raw)
    return [(str(name), value) for name, value in zip(*level, strict=True)]


def _plain(raw: Buffer) -> str:
    what = kind(raw)
    if len(memoryview(raw)) > READ:
        return _cut(brief_of(raw, MOST).strip()) + " …"
    if what == "text":
        text = text_in(raw).strip()
        inner = held(text)
        return _lines(text) if inner is None else _plain(inner)
    if what == "scalar":
        return brief_of(raw, MOST)
    return _cut("  ".join(_parts(raw))) or ("{}" if what == "object" else "[]")


def _parts(raw: Buffer) -> Iterator[str]:
    level = members(raw)
    if kind(raw) == "array" and level.values:
        yield f"[{len(level.values)}]"
    for name, value in zip(*level, strict=True):
        yield _value(value) if isinstance(name, int) else f"{name} {_value(value)}"


def _lines(text: str) -> str:
    """Return the first line of a text, and the number of its lines."""
    first, *rest = text.splitlines() or [""]
    return f"{_cut(first.strip())} … {len(rest) + 1:,} lines" if rest else _cut(first)


def _value(raw: Buffer) -> str:
    """Return one value in a few words: a text in quotes, an object or a list by its size."""
    what = kind(raw)
    if what == "text":
        return f'"{_cut(_text(raw).replace(chr(10), RETURN), VALUE)}"'
    if what == "scalar":
        return brief_of(raw, VALUE)
    many = len(members(raw).values)
    return f"{{{many}}}" if what == "object" else f"[{many}]"


def _text(raw: Buffer) -> str:
    return text_in(raw) if len(memoryview(raw)) <= READ else brief_of(raw, MOST)


def _cut(text: str, most: int = MOST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
