"""Sessions of coding agents as their tools keep them, one module per tool: lines of events, with
sub-agents' events in files beside them.

This module has what these readers share: lines, each of which may be broken by itself, and a
session that is written only when all of it was read, because a result may come before its call and
a line may occur twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from reviewer.importing.account import Account
from reviewer.importing.draft import ABSENT, CUT, Draft, Status, amount, elapsed_ms
from reviewer.importing.foreign_json import NotJson, extent, parse, parse_text
from reviewer.importing.formats.base import Format
from reviewer.importing.head import Head
from reviewer.importing.messages.text_calls import holds_blocks
from reviewer.importing.messages.usual import inner_calls
from reviewer.importing.pipeline.split import Unreadable, shape
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.trace import late

LINES = 50
"""Lines that are examined: session files begin with lines that say little."""
MOST_BYTES = 256 << 20
"""Most bytes of one session, which is read as a whole."""
NO_END = "no end is stated: the session was stopped, goes on, or the file is cut off"
MORE_RESULTS = "a call has more than one result: those behind the first are kept as words"
FORKED = "it begins with a copy of another session"
COPIED = "tokens are those of its own answers: those of the copied ones are that session's"
BOTH = "its tokens may be in the figures of that session too: where the copy ends is not stated"
SUB_AGENTS = "tokens are those of the main agent: what its sub-agents used is beside them"


class SessionFormat(Format):
    """A tool's sessions. They name themselves, so that a folder may hold many."""

    tool = ""
    """The name of a candidate that no session names."""

    def candidate_id(self, path: Path) -> str:
        return self.tool

    def suite_id(self, path: Path) -> str:
        return self.name


def rows(head: Head) -> Iterator[dict[str, Any]]:
    """Yield the first objects of a file: elements of its array, its lines, or values in a row. Most
    readers need few of them to recognize their files, so each is parsed on demand."""
    met, left = head.once("rows of sessions", lambda: (list[dict[str, Any]](), _rows(head, LINES)))
    yield from met
    at = len(met)
    while True:
        if at == len(met):
            if (one := next(left, None)) is None:
                return
            met.append(one)
        yield met[at]
        at += 1


def _rows(head: Head, most: int) -> Iterator[dict[str, Any]]:
    value = head.value
    if isinstance(value, list):
        yield from (one for one in value[:most] if isinstance(one, dict))
        return
    if isinstance(value, dict):
        yield value
    if head.text[:1] != b"{":
        return
    try:
        found = head.lines(most) if shape(head.text) == "lines" else _values(head.text, most)
    except Unreadable:
        return
    yield from (one for one in islice(found, 1, None) if isinstance(one, dict))


def _values(text: bytes, most: int) -> Iterator[Any]:
    """Yield the first values in a row, in any layout."""
    at = 0
    for _ in range(most):
        at = text.find(b"{", at)
        size = extent(text, at) if at >= 0 else None
        if not size:
            return
        try:
            yield parse(text[at : at + size])
        except NotJson:
            yield None
        at += size


class Line(NamedTuple):
    """One record of a file, counted from 1."""

    number: int
    value: dict[str, Any]


BEGINNING = "lines before the first of a session"
"""Names what a file holds of a session of which it does not hold the beginning."""


class Lines(NamedTuple):
    """The records of a file, and the paths of those that could not be read."""

    lines: list[Line]
    broken: list[str]


def lines_of(source: Source, path: Path | None = None) -> Lines:
    """Return the records of a file. Raises Unreadable, OSError."""
    found: list[Line] = []
    broken: list[tuple[int, str]] = []
    last = size = 0
    for piece in source.pieces(path):
        last = piece.number
        size += len(piece.raw)
        if size > MOST_BYTES:
            raise Unreadable(f"a session of over {MOST_BYTES >> 20} MiB")
        value = None if piece.problem else _value(source, piece.raw)
        if isinstance(value, dict):
            found.append(Line(piece.number, value))
        else:
            broken.append((piece.number, f"lines[{piece.number}]"))
    named = [name + CUT if number == last else name for number, name in broken]
    return Lines(found, named)


def _value(source: Source, raw: bytes) -> Any:
    try:
        return source.value(raw)
    except (Rejected, RecursionError):
        return None


def parted(lines: Iterable[Line], begins: Callable[[Any], bool]) -> list[list[Line]]:
    """Return the lines of each session or run of a file: one begins where `begins` is true for a
    line's value, and the first with the first line."""
    found: list[list[Line]] = []
    for line in lines:
        if not found or begins(line.value):
            found.append([])
        found[-1].append(line)
    return found


def by_number(lines: Sequence[Line]) -> list[Any]:
    """Return the values of lines, indexed by their number."""
    found: list[Any] = [None] * (max((line.number for line in lines), default=0) + 1)
    for line in lines:
        found[line.number] = line.value
    return found


class Step(NamedTuple):
    """One statement or act of one side. `actor` is who did it; `value` is a text, a call's
    arguments, or a call's result."""

    kind: Literal["text", "call", "result", "error", "approval"]
    actor: str
    value: Any
    id: str = ""
    name: str = ""
    status: Status | None = None
    at: Any = None
    more: dict[str, Any] | None = None


class Session:
    """One session that is being read. Steps are added in the order of the file and written by
    `write`."""

    def __init__(self, name: str, harmless: Iterable[str] = ()) -> None:
        self.draft = Draft(name)
        self.account = Account(frozenset(harmless))
        self.steps: list[Step] = []
        self.seqs: dict[str, int] = {}
        """By the id of a call: its event, once it is written."""
        self.title = ""
        self.began: Any = None
        self.ended: Any = None
        self.prompts = 0
        self._odd: Counter[str] = Counter()
        self._made: Counter[str] = Counter()

    def say(self, actor: str, text: Any, at: Any = None, **more: Any) -> None:
        """Add a message; a text without words is ignored. The first text of the user is the
        request."""
        if isinstance(text, str) and not text.strip():
            return
        if actor == "user":
            self.prompts += 1
            self.title = self.title or str(text)
        self.steps.append(Step("text", actor, text, at=at, more=more))

    def call(
        self, actor: str, name: Any, given: Any, own: Any, at: Any = None, **more: Any
    ) -> None:
        """Add a call; `own` is its id."""
        step = Step("call", actor, given, _text(own), name, more.pop("status", None), at, more)
        self.steps.append(step)

    def result(
        self, value: Any, own: Any, name: str = "", status: Status | None = None, at: Any = None,
        **more: Any,
    ) -> None:  # fmt: skip
        """Add the result of the call of that id."""
        self.steps.append(Step("result", "", value, _text(own), name, status, at, more))

    def wrong(self, text: Any, at: Any = None) -> None:
        """Add an error outside any call."""
        self.steps.append(Step("error", "", text, at=at))

    def decided(self, approval: dict[str, Any], own: Any, at: Any = None) -> None:
        """Add a decision on the call of that id."""
        self.steps.append(Step("approval", "", approval, _text(own), at=at))

    def clocked(self, at: Any) -> None:
        """Record when something happened. Results of parallel calls may be written out of order."""
        if at is None:
            return
        self.began = at if self.began is None else self.began
        if self.ended is None or not _is_before(at, self.ended):
            self.ended = at

    def odd(self, kind: Any) -> None:
        """Count a record of an unknown kind. Its content is still examined."""
        self._odd[kind[:40] if isinstance(kind, str) else "without a type"] += 1

    def write(self) -> None:
        """Write the steps into the draft: each call once, each result after its call."""
        first: dict[str, int] = {}
        for place, step in enumerate(self.steps):
            if step.kind == "call" and step.id:
                first.setdefault(step.id, place)
        waiting: dict[str, list[Step]] = {}
        made: dict[str, list[tuple[Any, Any]]] = {}
        told: dict[str, list[Any]] = {}
        for place, step in enumerate(self.steps):
            if step.kind == "call":
                if any(one == (step.name, step.value) for one in made.get(step.id, ())):
                    continue  # the same line again
                if step.id:
                    made.setdefault(step.id, []).append((step.name, step.value))
                self._made[step.id] += 1
                self._call(step)
                for one in waiting.pop(step.id, ()) if step.id else ():
                    self._result(one, told)
            elif step.kind == "result" and step.id and first.get(step.id, -1) > place:
                waiting.setdefault(step.id, []).append(step)
            elif step.kind == "result":
                self._result(step, told)
            elif step.kind == "error":
                self.draft.error(step.value, at=step.at)
            elif step.kind == "approval":
                self.draft.approval(step.value, step.id, at=step.at)
            else:
                self.draft.message(step.actor, step.value, at=step.at, **step.more or {})
                theirs = step.actor not in ("user", "system") and isinstance(step.value, str)
                if theirs and holds_blocks(step.value):
                    self.draft.unread(f"messages[{len(self.draft.events)}].text")
        if self._odd:
            self.draft.note(
                f"{self._odd.total()} records of {len(self._odd)} kinds that are not known were "
                "looked through"
            )

    def _call(self, step: Step) -> None:
        if inner_calls(str(step.name), step.value) is not None:  # a call that contains others
            self.draft.unread(f"calls[{self.draft.calls()}].arguments", len(self.draft.events) + 1)
        more = {name: value for name, value in (step.more or {}).items() if value is not None}
        self.draft.call(step.name, step.value, step.id, step.actor, at=step.at, **more)
        if step.status is not None:
            self.draft.events[-1]["status"] = step.status
        if step.id:
            self.seqs.setdefault(step.id, len(self.draft.events))

    def _result(self, step: Step, told: dict[str, list[Any]]) -> None:
        earlier = told.setdefault(step.id, []) if step.id else []
        if step.value in earlier:
            return  # the same line again
        more = {name: value for name, value in (step.more or {}).items() if value is not None}
        if len(earlier) >= max(1, self._made[step.id]):
            self.draft.note(MORE_RESULTS)
            self.draft.message("tool", step.value, at=step.at)
        else:
            self.draft.result(
                step.value, step.id or None, step.name or None, step.status, at=step.at, **more
            )
        earlier.append(step.value)

    def absent(self, name: str, call_id: str = "") -> None:
        """Note a missing file that would show a sub-agent's acts; call it after `write`."""
        self.draft.unread(f"{name}{ABSENT}", self.seqs.get(call_id))

    def child_unended(self) -> None:
        """Note that nothing says how a sub-agent ended: later acts of it may be missing."""
        self.draft.unread(f"end of its sub-agent's session{CUT}")

    def unended(self) -> None:
        """Note that nothing says how the session ended; call it after `write`. Later events may be
        missing."""
        self.draft.unread(f"end of the session{CUT}")
        self.draft.note(NO_END)


_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PLAIN_ID = late(rf"{_UUID}|a[0-9a-f]{{7,31}}")


def plain_id(own: Any, otherwise: str) -> str:
    """Return an id that identifies and reveals nothing else; `otherwise` for a text that may reveal
    more: unread parts are named in findings, which contain no values."""
    return own if isinstance(own, str) and _PLAIN_ID.fullmatch(own) else otherwise


def known_as(kind: str, own: str) -> str:
    """Return the name by which the same session is recognized; empty for one without an id."""
    return f"{kind}:{own}" if own else ""


def _is_before(at: Any, other: Any) -> bool:
    """Return whether a time is certainly before another one."""
    if isinstance(at, str) and isinstance(other, str) and at >= other:
        return False
    return bool(elapsed_ms(at, other))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def is_json_failure(seen: Any) -> bool:
    """Return whether a result itself says that it failed, by `success`."""
    value = parse_text(seen) if isinstance(seen, str) and seen[:1] == "{" else seen
    return any(
        isinstance(one, dict) and one.get("success") is False
        for one in (value if isinstance(value, list) else [value])
    )


def took(session: Session) -> float | None:
    """Return the milliseconds of a session that waited for nobody: one prompt, and its answer."""
    return amount(elapsed_ms(session.began, session.ended)) if session.prompts == 1 else None
