"""A traced test case of DeepEval as spans: the case as the outermost span, and the members of each
span under the names that `formats.otel` reads."""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.draft import added, amount, tokens
from reviewer.importing.formats.base import sequence, text
from reviewer.importing.formats.otel import Attributes, Span, of_unknown_unit
from reviewer.importing.formats.otel.tree import Kind, kind_of
from reviewer.importing.formats.stores import (
    UNSTATED,
    aggregated,
    counted,
    exchanged,
    operation,
    settled,
)
from reviewer.importing.reader import Rejected

BUCKETS: dict[str, Kind] = {
    "baseSpans": "chain",
    "agentSpans": "agent",
    "llmSpans": "model",
    "retrieverSpans": "chain",
    "toolSpans": "tool",
}
READ = frozenset(
    (
        *("name", "input", "actualOutput", "expectedOutput", "toolsCalled", "expectedTools"),
        *("turns", "metricsData", "success", "order", "trace", "tags", "flaky", "comments"),
        *("tokenCost", "inputTokenCount", "outputTokenCount", "completionTime", "runDuration"),
        *("evaluationCost", "expectationsData", "scenario", "expectedOutcome", "userDescription"),
        *("context", "retrievalContext", "metadata", "imagesMapping"),
    )
)
"""Members of a test case that are read, or contain expectations and metric results."""


def given(call: dict[str, Any]) -> Any:
    """Return the arguments of a call."""
    return call.get("inputParameters", call.get("input_parameters"))


def spans_of(case: dict[str, Any], trace: dict[str, Any], episode: str) -> list[Span]:
    """Return the spans of a traced case. Raises Rejected."""
    return settled(list(_spans(case, trace, episode)), "type")


def _spans(case: dict[str, Any], trace: dict[str, Any], episode: str) -> Iterator[Span]:
    own = text(trace.get("uuid"))
    if not own:
        raise Rejected("missing:trace.uuid")
    yield _top(case, trace, own, episode)
    for bucket, kind in BUCKETS.items():
        listed = trace.get(bucket)
        if listed is not None and not isinstance(listed, list):
            raise Rejected(f"type:trace.{bucket}")
        for row in listed or ():
            if not isinstance(row, dict) or not text(row.get("uuid")):
                raise Rejected(f"type:trace.{bucket}")
            yield _span(row, kind, own)


def _top(case: dict[str, Any], trace: dict[str, Any], own: str, episode: str) -> Span:
    """Return the outermost span: the test case, and the facts about the whole trace."""
    counts = tokens(
        input_tokens=case.get("inputTokenCount"), output_tokens=case.get("outputTokenCount")
    )
    beside = {name: one for name, one in trace.items() if name not in (*_TRACE, *BUCKETS)}
    rest = {name: one for name, one in case.items() if name not in READ}
    output = case.get("actualOutput", trace.get("output"))
    cost = amount(case.get("tokenCost"))
    return Span(
        trace=own,
        id=_TOP,
        parent="",
        name=text(trace.get("name")) or "test case",
        start=of_unknown_unit(trace.get("startTime")),
        end=of_unknown_unit(trace.get("endTime")),
        stamp=trace.get("startTime"),
        error=trace.get("status") == "ERRORED",
        said="",
        attributes={
            **rest,
            **{f"trace.{name}": one for name, one in beside.items()},
            **_repeats(case, trace),
            **operation("chain"),
            **exchanged("chain", case.get("input", trace.get("input")), output),
            **aggregated(counts),
            **({} if cost is None else {"gen_ai.usage.cost": cost}),
            "metadata.episode_id": episode,
        },
        resource={},
    )


_TOP = "test case"
_TRACE = frozenset(
    (
        *("uuid", "startTime", "endTime", "name", "input", "output", "status", "toolsCalled"),
        # expectations and metric results
        *("expectedTools", "expectedOutput", "metricsData", "metricCollection"),
    )
)


def _repeats(*holders: dict[str, Any]) -> Attributes:
    """Return the calls stated for a whole run, in the members by which copies are recognized."""
    found = [one for held in holders for one in sequence(held.get("toolsCalled"))]
    calls = [
        {"name": one.get("name"), "arguments": given(one) or {}} if isinstance(one, dict) else one
        for one in found
    ]
    return {"toolsCalled": calls} if calls else {}


def _span(row: dict[str, Any], kind: Kind, trace: str) -> Span:
    stamp, above = row.get("startTime"), text(row.get("parentUuid"))
    error = text(row.get("error"))
    unstated = kind == "chain" and row.get("type") == "base" and bool(above)
    return Span(
        trace=trace,
        id=text(row.get("uuid")),
        parent=above or _TOP,
        name=text(row.get("name")),
        start=of_unknown_unit(stamp),
        end=of_unknown_unit(row.get("endTime")),
        stamp=stamp if of_unknown_unit(stamp) is not None else None,
        error=row.get("status") == "ERRORED" or bool(error),
        said=error,
        attributes={
            **{name: one for name, one in row.items() if name not in _SPAN and one is not None},
            **_repeats(row),
            **operation(kind),
            **({UNSTATED: True} if unstated else {}),
            **exchanged(kind, row.get("input"), row.get("output")),
            **(_of_model(row) if kind == "model" else {}),
        },
        resource={},
    )


_SPAN = frozenset(
    (
        *("uuid", "name", "status", "type", "parentUuid", "startTime", "endTime", "input"),
        *("output", "error", "toolsCalled", "model", "inputTokenCount", "outputTokenCount"),
        *("costPerInputToken", "costPerOutputToken", "expectedTools", "metricsData"),
        # names of tools and agents that it could have used
        *("availableTools", "agentHandoffs"),
    )
)


def _of_model(row: dict[str, Any]) -> Attributes:
    given, back = row.get("inputTokenCount"), row.get("outputTokenCount")
    parts = (
        _times(given, row.get("costPerInputToken")),
        _times(back, row.get("costPerOutputToken")),
    )
    found: Attributes = counted(tokens(input_tokens=given, output_tokens=back))
    if model := text(row.get("model")):
        found["gen_ai.request.model"] = model
    if cost := added(parts):
        found["gen_ai.usage.cost"] = cost
    return found


def _times(count: Any, price: Any) -> float | None:
    known, each = amount(count), amount(price)
    return None if known is None or each is None else known * each


def ties(spans: list[Span]) -> bool:
    """Return whether a call and an answer of a model begin at the same time, so that their order is
    unknown."""
    tools, models = (
        {one.start for one in spans if kind_of(one) == kind} for kind in ("tool", "model")
    )
    return not tools.isdisjoint(models)
