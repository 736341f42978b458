"""Calls of Weave, by W&B: one per line or in an array, as the API exports them or the SDK sends
them.

Weave states no kinds: a call is a model's where its answer or its operation says so, and any other
that contains no call is a tool. A parent's usage includes that of its children. Values stored by
reference (`weave:///…`) are not in the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import at_path, mapping, objects, present, text
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent, of_unknown_unit
from reviewer.importing.formats.otel.tree import Kind, kind_of
from reviewer.importing.formats.stores import (
    UNSTATED,
    caches_known,
    counted,
    exchanged,
    in_one_trace,
    leaves,
    merged,
    money,
    of_kind,
    operation,
    score,
)
from reviewer.importing.formats.stores.reader import StoreReader
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Rejected

_OP = re.compile(r"(?:weave:///[^/]*/[^/]*/op/)?([^:]+)(?::[^:/]*)?\Z")
_MODEL = re.compile(
    r"(?:openai|anthropic|litellm|mistralai|cohere|groq|google\.genai|google\.generativeai|cerebras"
    r"|vertexai|bedrock(?:runtime)?|ollama|together|huggingface_hub)\.",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(r"embed|rerank|moderat|image|audio|speech|transcri", re.IGNORECASE)
_REFERENCE = "weave:///"
_TRIAL = "Evaluation.predict_and_score"
_HARNESS = ("Evaluation.evaluate", _TRIAL)
"""Calls of Weave's evaluations around the candidate's work."""
_AROUND = ("start", "end", "req", "body")
"""Members of a request with the call that it starts, ends or completes."""


class WeaveReader(StoreReader):
    name = "weave-calls"
    facts = FormatFacts(
        by="`op_name` with `trace_id`",
        tools="calls that hold no other",
        times="yes",
        cost="each call once, where Weave priced it",
        tokens="leaf model calls, once",
        verdict="feedback and scores, kept as evidence",
        attempt="where attributes say",
    )
    in_rows = True
    store = "weave"
    lists = ("calls",)
    names = frozenset(("op_name", *_AROUND))
    own = ("id", "op_name")

    def is_row(self, value: Any) -> bool:
        return _is_call(value)

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:call")
        return [_span(_opened(value))]

    def whole(self, spans: list[Span]) -> list[Span]:
        return caches_known(_kinds(in_one_trace(merged(spans, _joined, _span))))


def _is_call(value: Any) -> bool:
    held = _opened(value) if isinstance(value, dict) else {}
    named = isinstance(held.get("op_name"), str) and "trace_id" in held
    return named and bool({"inputs", "project_id", "started_at"} & held.keys())


def _opened(value: dict[str, Any]) -> dict[str, Any]:
    """Return the call in the request that starts, ends or completes it."""
    for name in _AROUND:
        inner = value.get(name)
        if isinstance(inner, dict) and "op_name" not in value and "started_at" not in value:
            return _opened(inner)
    return value


def _joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in sorted(rows, key=lambda one: one.get("ended_at") is not None):
        found.update({name: one for name, one in row.items() if one is not None})
    return found


def _name(row: dict[str, Any]) -> str:
    found = _OP.match(text(row.get("op_name")))
    return found[1] if found else text(row.get("op_name"))


def _span(row: dict[str, Any]) -> Span:
    own = text(row.get("id"))
    if not own:
        raise Rejected("missing:id")
    stamp = row.get("started_at")
    name = _name(row)
    given, back = row.get("inputs"), row.get("output")
    error = row.get("exception")
    thrown = parse_text(error) if isinstance(error, str) else error
    attributes = mapping(row.get("attributes"))
    kind: Kind = "model" if _answers(row, name) else "chain"
    facts = {
        "session.id": text(row.get("thread_id")) or None,
        "metadata.episode_id": attributes.get("episode_id"),
        "metadata.attempt": attributes.get("attempt"),
    }
    if name == _TRIAL:
        facts["metadata.episode_id"] = own
    return Span(
        trace=text(row.get("trace_id")) or own,
        id=own,
        parent=text(row.get("parent_id")),
        name=name,
        start=of_unknown_unit(stamp),
        end=of_unknown_unit(row.get("ended_at")),
        stamp=stamp if of_unknown_unit(stamp) is not None else None,
        error=bool(error),
        said=text(at_path(thrown, "message")) or text(error),
        attributes={
            **{one: held for one, held in row.items() if one not in _TOLD and held is not None},
            **present(facts),
            **operation(kind),
            **exchanged(kind, given, back),
            **(_of_model(row, given, back) if kind == "model" else {UNSTATED: True}),
        },
        resource={},
        events=_feedback(row),
        row=row,
    )


_TOLD = frozenset(
    (
        *("id", "trace_id", "parent_id", "op_name", "started_at", "ended_at", "inputs", "output"),
        *("exception", "thread_id", "turn_id", "display_name", "project_id", "summary"),
    )
)


def _answers(row: dict[str, Any], name: str) -> bool:
    """Return whether a call is a model's: by its answer, or by the library it belongs to."""
    back = row.get("output")
    if isinstance(back, dict) and ("choices" in back or "candidates" in back):
        return True
    if isinstance(back, dict) and isinstance(back.get("usage"), dict) and back.keys() & _SAYING:
        return True
    return _MODEL.match(name) is not None and _NO_ANSWER.search(name) is None


_SAYING = {"content", "output", "message", "messages", "text", "completion"}


def _kinds(spans: list[Span]) -> list[Span]:
    """Return calls with their kinds, which follow from their children: judges and their work,
    tools, and calls that contain others."""
    outermost = leaves(spans)
    trials = {(s.trace, s.id): s for s in spans if s.name == _TRIAL}
    scorers = _scorers(spans, trials)
    models = {span.name for span in spans if kind_of(span) == "model"}
    found: list[Span] = []
    for span in spans:
        leaf = id(span) in outermost
        used = bool(mapping(at_path(span.row, "summary", "usage")))
        if id(span) in scorers or span.name == "Evaluation.summarize":
            span = of_kind(span, "judge")
        elif span.name in _HARNESS:
            span = of_kind(span, "")
        elif kind_of(span) != "model" and leaf and (used or _unanswered(span, models)):
            span = of_kind(span, "model")
            span.attributes.update(_of_model(span.row, span.row.get("inputs"), None))
        elif (span.trace, span.parent) in trials:
            pass  # the candidate's own operation: no tool, even where it contains no call
        elif kind_of(span) != "model" and leaf and span.parent:
            span = of_kind(span, "tool")
        elif kind_of(span) != "model" and not span.parent:
            span = of_kind(span, "agent")
        found.append(_referenced(span))
    return found


def _scorers(spans: list[Span], trials: dict[tuple[str, str], Span]) -> set[int]:
    """Return the identities of the scorers' calls: of the calls directly within a trial those that
    are named like one of its scores, or that begin after another one and take its output; and a
    scorer by itself, as `Call.apply_scorer` calls it."""
    within: dict[tuple[str, str], list[Span]] = defaultdict(list)
    found: set[int] = set()
    for span in spans:
        if (span.trace, span.parent) in trials:
            within[span.trace, span.parent].append(span)
        elif not span.parent and span.name.endswith(".score"):
            found |= {id(span)} if _SCORED & mapping(span.row.get("inputs")).keys() else set()
    for key, own in within.items():
        named = mapping(at_path(trials[key].row, "output", "scores"))
        first = min(own, key=lambda span: span.start or 0)
        for span in own:
            given = mapping(span.row.get("inputs"))
            scores = span is not first and bool(_SCORED & given.keys())
            if scores or span.name in named or span.name.endswith(".score"):
                found.add(id(span))
    return found


_SCORED = frozenset(("output", "model_output"))
"""The argument of a scorer that has the candidate's output."""


def _unanswered(span: Span, models: set[str]) -> bool:
    """Return whether a call without a result belongs to an operation whose other calls have
    results."""
    return span.name in models and span.row.get("output") is None


def _referenced(span: Span) -> Span:
    """Return a span with its referenced values as `unread`."""
    kind = kind_of(span)
    if kind not in ("tool", "model"):
        return span
    unread = list(span.unread)
    for name in ("inputs", "output"):
        held = span.row.get(name)
        parts = held.items() if isinstance(held, dict) else [("", held)]
        for inner, one in parts:
            if isinstance(one, str) and one.startswith(_REFERENCE) and inner != "self":
                unread.append(f"{name}.{inner}".rstrip("."))
    return span._replace(unread=tuple(unread))


def _of_model(row: dict[str, Any], given: Any, back: Any) -> Attributes:
    summary, answer = mapping(row.get("summary")), mapping(back)
    used = mapping(summary.get("usage"))
    places = ("usage", "usage_metadata", "usageMetadata")
    counts = next((said for name in places if (said := tokens_of(answer.get(name)))), None)
    if not counts:
        of_models = [one for held in used.values() if (one := tokens_of(held))]
        names = dict.fromkeys(name for one in of_models for name in one)
        counts = {name: sum(one.get(name, 0) for one in of_models) for name in names}
    asked = text(mapping(given).get("model"))
    costs = mapping(at_path(summary, "weave", "costs")).values()
    priced = [
        number
        for held in costs
        for name, one in mapping(held).items()
        if name.endswith("_total_cost") and (number := money(one))
    ]
    found = {
        "gen_ai.request.model": asked or next(iter(used), ""),
        "gen_ai.response.model": text(answer.get("model")),
        "gen_ai.response.id": text(answer.get("id")),
        "llm.finish_reason": text(
            at_path(answer, "choices", 0, "finish_reason") or answer.get("stop_reason")
        ),
        "gen_ai.usage.cost": sum(priced) or None,
    }
    return {**{name: one for name, one in found.items() if one}, **counted(counts)}


def _feedback(row: dict[str, Any]) -> tuple[SpanEvent, ...]:
    """Return the feedback of people and scorers on a call."""
    found: list[SpanEvent] = []
    for one in objects(at_path(row, "summary", "weave", "feedback")):
        payload = one.get("payload")
        said = payload.get("output", payload) if isinstance(payload, dict) else payload
        found += _scores(text(one.get("feedback_type")), said)
    if _name(row) == _TRIAL:
        for name, value in mapping(at_path(row, "output", "scores")).items():
            found += _scores(name, value)
    return tuple(found)


_DEEP = 5


def _scores(name: str, value: Any, depth: int = 0) -> Iterator[SpanEvent]:
    """Yield every figure and word of a score, by the names of the members around it."""
    if isinstance(value, dict) and depth < _DEEP:
        for inner, one in value.items():
            yield from _scores(f"{name} {inner}".strip(), one, depth + 1)
    elif (found := score(name, value)) is not None:
        yield found
