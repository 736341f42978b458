"""Runs in the stores of observability tools, as spans: LangSmith, MLflow, Weave, Braintrust.

A store has its own words for the kind of an operation, its inputs and outputs, and its counts. Each
module here translates them into the attributes that `formats.otel` reads, and passes on the other
members of a row under the store's own names, so that nothing is ignored. This module has their
common parts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import amount, figure
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import text
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent
from reviewer.importing.formats.otel.messages import outputs
from reviewer.importing.formats.otel.tree import Kind, kind_of
from reviewer.importing.head import Head
from reviewer.importing.messages.streams import assembled
from reviewer.importing.walking import Path

# A file -------------------------------------------------------------------------------------------

LOOKED_AT = 20


def any_row(
    head: Head, lists: Sequence[str], names: frozenset[str], fits: Callable[[Any], bool]
) -> bool:
    """Return whether one of a file's first records is a store's: a line, an element of its array,
    or of a list that its object has under one of `lists`. A row has one of `names`."""
    told = head.once("rows of stores", lambda: _first_rows(head))
    if not names.isdisjoint(told.names) and any(map(fits, told.first)):
        return True
    return any(name in lists and any(map(fits, rows[:LOOKED_AT])) for name, rows in told.held)


class _FirstRows(NamedTuple):
    """The first values of a file, the names of their members, and the lists in them with theirs:
    shared by all stores."""

    first: list[Any]
    names: frozenset[str]
    held: list[tuple[str, list[Any]]]


def _first_rows(head: Head) -> _FirstRows:
    value = head.value
    listed = isinstance(value, list)
    first = value[:LOOKED_AT] if listed else [value, *head.lines(LOOKED_AT)]
    objects = [one for one in first if isinstance(one, dict)]
    held = [(name, rows) for one in objects for name, rows in one.items() if type(rows) is list]
    return _FirstRows(first, frozenset().union(*objects), [] if listed else held)


def in_list(path: Path, lists: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether a value is a row: a document, or an element of one of these lists; or a member
    (one of `own`) of a document that was entered and is itself a row."""
    if path == () or (len(path) == 2 and path[0] in lists):
        return True
    return len(path) == 1 and path[0] in own


# One row ------------------------------------------------------------------------------------------

_OPERATIONS: dict[Kind, Attributes] = {
    "model": {"gen_ai.operation.name": "chat"},
    "tool": {"gen_ai.operation.name": "execute_tool"},
    "agent": {"gen_ai.operation.name": "invoke_agent"},
    "chain": {"gen_ai.operation.name": "invoke_workflow"},
    "judge": {"openinference.span.kind": "EVALUATOR"},
    "": {},
}
_OPERATION = ("gen_ai.operation.name", "openinference.span.kind")
_NAMES = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning_tokens",
}
_SUMS = ("gen_ai.aggregated_usage.input_tokens", "gen_ai.aggregated_usage.output_tokens")
CACHED = _NAMES["cached_tokens"]


def operation(kind: Kind) -> Attributes:
    """Return the attributes that say what kind of operation a span describes."""
    return dict(_OPERATIONS[kind])


def exchanged(kind: Kind, given: Any, returned: Any) -> Attributes:
    """Return the input and output of an operation as attributes."""
    tool = kind == "tool"
    returned = whole_answer(returned) if kind == "model" else returned
    names = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    asked, answered = names if tool else ("input.value", "output.value")
    found = {asked: given if tool else asked_text(given), answered: returned}
    if not tool and found[asked] is not given:
        found["input"] = given
    return {name: value for name, value in found.items() if value is not None}


def whole_answer(returned: Any) -> Any:
    """Return the complete answer from the chunks of a model's stream; any other value unchanged."""
    alone = isinstance(returned, dict) and len(returned) == 1
    chunks = returned.get("output") if alone else returned
    found = assembled(chunks) if isinstance(chunks, list) and len(chunks) > 1 else None
    return returned if found is None else found


def asked_text(given: Any) -> Any:
    """Return the text of an input whose only member is a text, which is the request of a run; any
    other input unchanged."""
    if isinstance(given, dict) and len(given) == 1:
        (only,) = given.values()
        return only if isinstance(only, str) else given
    return given


def counted(counts: dict[str, int] | None) -> Attributes:
    """Return token counts of one model call as attributes."""
    return {_NAMES[name]: number for name, number in (counts or {}).items() if name in _NAMES}


def aggregated(counts: dict[str, int] | None) -> Attributes:
    """Return the sum of a whole run's tokens as attributes of its outermost span."""
    held = counts or {}
    pairs = zip(_SUMS, ("input_tokens", "output_tokens"), strict=True)
    return {name: held[one] for name, one in pairs if one in held}


def money(value: Any) -> float | None:
    """Return a cost in USD, also one written as text; None for 0, which is written where nothing
    was priced."""
    if isinstance(value, str):
        value = parse_text(value) if len(value) < 40 else None
    return amount(value) or None


def score(
    name: Any, value: Any, comment: Any = None, source: Any = None, label: Any = None
) -> SpanEvent | None:
    """Return the score by a store's own judge or a person on a run: a figure, a word, or a figure
    with a `label`; None where it has no content."""
    found: Attributes = {"gen_ai.evaluation.name": text(name)}
    if (number := figure(value)) is not None:
        found["gen_ai.evaluation.score.value"] = number
    elif isinstance(value, bool):
        label = str(value).lower()
    elif isinstance(value, str):
        label = value
    if isinstance(label, str) and label:
        found["gen_ai.evaluation.score.label"] = label
    if len(found) == 1:
        return None
    said = " ".join(one for one in (text(source), text(comment)) if one)
    if said:
        found["gen_ai.evaluation.explanation"] = said
    return SpanEvent("gen_ai.evaluation.result", found)


# All rows of an episode ---------------------------------------------------------------------------


def merged(
    spans: Sequence[Span], join: Callable[[list[Any]], Any], span_of: Callable[[Any], Span]
) -> list[Span]:
    """Return one span for each operation: the rows of one id are joined by `join`, in file order.
    Values of an earlier row that differ are kept besides, where acts are looked for."""
    rows: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        rows[span.trace, span.id].append(span)
    found: list[Span] = []
    for same in rows.values():
        distinct = [one for n, one in enumerate(same) if one.row not in [o.row for o in same[:n]]]
        if len(distinct) == 1:
            found.append(same[0])
            continue
        row = join([one.row for one in distinct])
        span = span_of(row)
        if lost := [one for held in distinct if (one := _otherwise(held.row, row))]:
            if kind_of(span) == "tool":
                lost = [{"name": span.name, "arguments": one} for one in lost]
            span = span._replace(attributes={**span.attributes, "superseded": lost})
        found.append(span)
    return found


_SAYING = ("inputs", "outputs", "input", "output", "error", "exception")


def _otherwise(row: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs, outputs and errors in a row that the joined row does not have."""
    return {
        name: row[name]
        for name in _SAYING
        if row.get(name) not in (None, "", {}, []) and not _within(row[name], whole.get(name))
    }


def _within(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(name in other and _within(held, other[name]) for name, held in one.items())
    return bool(one == other)


def in_one_trace(spans: Sequence[Span]) -> list[Span]:
    """Return spans with the trace of their ancestors, where an older export names only their own
    ids."""
    traces = {span.id: span for span in spans if span.id}
    found: list[Span] = []
    for span in spans:
        top, seen = span, {span.id}
        while top.parent in traces and top.parent not in seen:
            seen.add(top.parent)
            top = traces[top.parent]
        found.append(span if top.trace == span.trace else span._replace(trace=top.trace))
    return found


def leaves(spans: Sequence[Span]) -> set[int]:
    """Return the identities of spans that have no other below them."""
    holders = {(span.trace, span.parent) for span in spans if span.parent}
    return {id(span) for span in spans if (span.trace, span.id) not in holders}


def settled(spans: Sequence[Span], member: str) -> list[Span]:
    """Return the spans, where those without a kind and without children become tools if a model
    called a tool of that name; any other such span may be an act, and is `unread`. `member` is
    where the source would state its kind."""
    outermost = leaves(spans)
    called = set(_called(spans))
    found: list[Span] = []
    for span in spans:
        if kind_of(span) != "chain" or not span.has(UNSTATED) or id(span) not in outermost:
            found.append(span)
        elif span.name in called:
            found.append(of_kind(span, "tool"))
        elif span.parent:
            found.append(span._replace(unread=(*span.unread, member)))
        else:
            found.append(span)
    return found


UNSTATED = "operation.unstated"
"""An attribute of spans for which the source states no kind."""


def _called(spans: Sequence[Span]) -> Iterator[str]:
    for span in spans:
        if kind_of(span) == "model":
            for message in outputs(span):
                yield from (part.name for part in message.parts if part.kind == "call")


def of_kind(span: Span, kind: Kind) -> Span:
    """Return a span as one of another kind."""
    held = dict(span.attributes)
    given, back = held.pop("input", held.pop("input.value", None)), held.pop("output.value", None)
    held.pop("input.value", None)
    for name in (*_OPERATION, UNSTATED):
        held.pop(name, None)
    return span._replace(attributes={**held, **operation(kind), **exchanged(kind, given, back)})


def caches_known(spans: Sequence[Span]) -> list[Span]:
    """Return spans with zero cached tokens where a call states none and another one does: providers
    leave out zeros."""
    if not any(CACHED in span.attributes for span in spans):
        return list(spans)
    return [
        span._replace(attributes={**span.attributes, CACHED: 0})
        if CACHED not in span.attributes and _NAMES["input_tokens"] in span.attributes
        else span
        for span in spans
    ]
