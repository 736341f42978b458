"""What was done before a labeled message: calls, results and the end state, blind.

A labeler may look at it, and must not learn from it whose message it is. So the names of candidates
and of models, and the members that contain models, costs, times or ids of runs, are masked before
anything is cut: cutting first could leave half a name.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reviewer.db import payload, registry
from reviewer.db.connection import Connection
from reviewer.desk.labels.api import (
    EvidenceLine,
    ItemEvidence,
    LabelItem,
    Session,
    SideEvidence,
)
from reviewer.desk.labels.labeling import Labeling
from reviewer.desk.labels.set_labeling import traces_of
from reviewer.desk.traces.records import Records, TracePlace, locate
from reviewer.desk.traces.text import brief_of
from reviewer.gates.approvals import granted
from reviewer.gates.values import parse
from reviewer.suite.candidate import trusted_candidate
from reviewer.trace.jsontree import Buffer, held, kind, text_in
from reviewer.trace.record import ABSENT, Event, TraceRecord, is_user, kind_of

FIRST, LAST = 400, 100
"""Events of an attempt that are shown: the first, and for a longer attempt also the last."""
READ = 1 << 16
"""Most bytes of a value that are parsed; a longer value is shown from its start, as text."""
MOST = 2000
"""Characters of one value that are shown."""
MASK = "⟨…⟩"

_MEMBERS = re.compile(
    r"(?:^|_)(?:costs?|usage|tokens|token_count|latency|duration|elapsed|took|models?|candidates?"
    r"|agents?|assistants?|providers?|(?:trace|span|run|session|request|response|call)_id"
    r"|started_at|ended_at|finished_at|timestamp)(?:_|$)"
)
"""Names of members whose values are masked, in snake case."""
_MODELS = re.compile(
    r"(?<![a-z0-9])(?:(?:chatgpt|claude|gemini|gemma|llama|mi[sx]tral|qwen|deepseek|kimi|openai"
    r"|anthropic)(?:[-_. ]?v?\d[\w.:-]*|-[\w.:-]+)?"
    r"|(?:gpt|grok|glm|phi|nova)[-_ ]?v?\d[\w.:-]*|o[134]-(?:mini|preview|pro)[\w.:-]*)",
    re.IGNORECASE,
)
_IDS = re.compile(
    r"(?<![0-9a-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,})(?![0-9a-z])",
    re.IGNORECASE,
)
"""Ids that programs make: UUIDs, and hexadecimal numbers of 16 digits or more."""


class Masker:
    """Masks values for both sides of a showing: the same id gets the same number on both."""

    def __init__(self, names: Iterable[str]) -> None:
        spelled = sorted({name for name in names if re.search(r"[^\W\d]", name)}, key=len)
        words = (filter(None, re.split(r"[-_. ]+", name)) for name in reversed(spelled))
        parts = "|".join(filter(None, ("[-_. ]?".join(map(re.escape, each)) for each in words)))
        told = rf"(?<![^\W_])(?:{parts})(?![^\W_])" if parts else r"(?!)"
        self._names = re.compile(told, re.IGNORECASE)
        self._numbers: dict[str, int] = {}

    def text(self, text: str) -> str:
        """Return a text with the names and models masked and its ids numbered."""
        text = _MODELS.sub(MASK, self._names.sub(MASK, text))
        return _IDS.sub(self._number, text)

    def _number(self, found: re.Match[str]) -> str:
        number = self._numbers.setdefault(found[0].casefold(), len(self._numbers) + 1)
        return f"⟨{number}⟩"

    def words(self, raw: Buffer) -> str:
        """Return a value as a person reads it, masked, cut to MOST characters; "" when absent."""
        if raw == ABSENT or not memoryview(raw):
            return ""
        return _cut(self._told(raw))

    def _told(self, raw: Buffer) -> str:
        if len(memoryview(raw)) > READ:
            return self.text(brief_of(raw, 2 * MOST)) + "…"
        try:
            if kind(raw) == "text":
                text = text_in(raw)
                inner = held(text)
                return self.text(text.strip()) if inner is None else self._told(inner)
            return _plain(self.value(json.loads(bytes(raw))))
        except (ValueError, RecursionError):
            return self.text(brief_of(raw, 2 * MOST))

    def value(self, value: Any) -> Any:
        """Return a JSON value with its texts and names of members masked."""
        if isinstance(value, str):
            inner = held(value) if len(value) <= READ else None
            return self.text(value) if inner is None else self.value(json.loads(inner))
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {
                self.text(name): MASK if _is_masked(name) else self.value(each)
                for name, each in value.items()
            }
        return value


def _is_masked(name: str) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).casefold()
    return _MEMBERS.search(re.sub(r"[-. ]+", "_", snake)) is not None


def _plain(value: Any) -> str:
    """Return an object as its members: on one line where all are plain, else one line each. Any
    other value is returned as JSON."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    lines = [f"{name} {json.dumps(each, ensure_ascii=False)}" for name, each in value.items()]
    nested = any(isinstance(each, list | dict) for each in value.values())
    return ("\n" if nested else "  ").join(lines)


def _cut(text: str) -> str:
    over = len(text) - MOST
    return text if over <= 0 else f"{text[:MOST]}… {over:,} more characters"


def item_evidence(
    labeling: Labeling,
    connection: Connection,
    records: Records,
    session: Session,
    shown: LabelItem,
) -> ItemEvidence:
    """Return what was done before each message of a showing. Where several attempts end with the
    same words, the first is used."""
    traces = traces_of(labeling.sheet(connection, session), shown)
    places = [locate(connection, trace) for trace in traces if trace is not None]
    heads = [_head(connection, records, place) for place in places]
    sources = [head.source for head in heads if head is not None]
    masker = Masker((*_names(connection, session, places), *_said(sources)))
    sides = [
        _side(connection, records, place, head, masker)
        for place, head in zip(places, heads, strict=True)
    ]
    return ItemEvidence(left=sides[0], right=sides[1] if len(sides) > 1 else None)


def _names(connection: Connection, session: Session, places: Sequence[TracePlace]) -> Iterator[str]:
    """Yield the names that would reveal whose an attempt is: the candidates of the suite, and the
    names in their manifests."""
    yield from (session.candidate_id, session.baseline_id or "")
    for suite in {place.suite.id for place in places}:
        for row in registry.candidates(connection, suite):
            yield row.candidate_id
            if row.manifest is not None:
                made = trusted_candidate(row.manifest)
                yield from (made.agent, made.model, made.version, *made.authors)


def _said(sources: Iterable[Buffer]) -> Iterator[str]:
    """Yield the models and agents that the sources of the records name."""
    for source in sources:
        if source != ABSENT and len(memoryview(source)) <= READ:
            yield from _named(json.loads(bytes(source)))


def _named(value: Any) -> Iterator[str]:
    below = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in below:
        if isinstance(each, dict | list):
            yield from _named(each)
        elif isinstance(each, str) and 2 < len(each) <= 200 and _is_masked(str(name)):
            yield each


def _head(connection: Connection, records: Records, place: TracePlace) -> TraceRecord | None:
    """Return the record, without its events for a large trace; None where none is stored."""
    row = place.row
    return records.whole(connection, row) or payload.large_head(connection, row.id)


def _side(
    connection: Connection,
    records: Records,
    place: TracePlace,
    record: TraceRecord | None,
    masker: Masker,
) -> SideEvidence:
    row = place.row
    if record is None:
        return SideEvidence(missing="the record of this attempt is not in the store")
    events = records.events(connection, row, 0, FIRST)
    left_out = max(0, row.events - FIRST - LAST)
    rest = max(FIRST, row.events - LAST)
    if row.events > FIRST:
        events = [*events, *records.events(connection, row, rest, LAST)]
    return SideEvidence(
        lines=tuple(_lines(events, masker)),
        end_state=_end_state(record, events, masker),
        left_out=left_out,
        missing="" if events else "no event of this attempt is recorded",
    )


def _lines(events: Sequence[Event], masker: Masker) -> Iterator[EvidenceLine]:
    calls = 0
    for event in events:
        what, tool = kind_of(event), masker.text(event.tool or "")
        if what == "tool_call":
            calls += 1
            asked = masker.words(event.arguments)
            yield _line_of(event, "call", tool, asked, calls)
            if event.observation != ABSENT or event.status not in (None, "pending"):
                yield _line_of(event, "result", tool, masker.words(event.observation))
        elif what == "tool_result":
            yield _line_of(event, "result", tool, masker.words(event.observation))
        elif what == "approval":
            word = "granted" if granted(parse(event.approval)) else "not granted"
            yield _line_of(event, "approval", tool, word)
        elif what == "error":
            said = event.message if event.message != ABSENT else event.observation
            yield _line_of(event, "error", tool, masker.words(said))


def _line_of(event: Event, what: Any, tool: str, text: str, number: int = 0) -> EvidenceLine:
    return EvidenceLine(
        kind=what,
        number=number,
        tool=tool,
        status="" if what in ("call", "approval") else event.status or "",
        text=text,
        by_user=is_user(event.actor),
    )


def _end_state(record: TraceRecord, events: Sequence[Event], masker: Masker) -> str:
    """Return the last recorded state, and how the attempt ended according to the record."""
    last = next((event.state for event in reversed(events) if event.state != ABSENT), ABSENT)
    told = [masker.words(each) for each in (record.final_state, last)]
    return "\n".join(dict.fromkeys(each for each in told if each not in ("", "null")))
