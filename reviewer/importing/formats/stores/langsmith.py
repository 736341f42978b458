"""Runs of LangSmith: one per line, in an array, nested under their parents, as the API returns them
(`runs`), as the SDK sends them (`post` and `patch`, where the second completes the first), or a row
of a bulk export (Parquet), which keeps objects as JSON text.

A trace's runs are one attempt; `llm` runs count tokens, and their parents count them again. A run
that a graph ended early to ask a person, or to hand over, has that as its `error`.
"""

import re
from typing import Any

from reviewer.importing.draft import figure
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import at_path, mapping, objects, present, sequence, text
from reviewer.importing.formats.otel import (
    Attributes,
    Span,
    SpanEvent,
    nanos,
    of_unknown_unit,
    tool_message,
)
from reviewer.importing.formats.otel.episode import safe
from reviewer.importing.formats.otel.outcome import WAITS
from reviewer.importing.formats.otel.tree import Kind, Tree
from reviewer.importing.formats.stores import (
    caches_known,
    counted,
    exchanged,
    in_one_trace,
    merged,
    money,
    operation,
    score,
    whole_answer,
)
from reviewer.importing.formats.stores.reader import StoreReader
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Rejected

_LISTS = ("post", "patch", "runs")
_KINDS: dict[str, Kind] = {
    "llm": "model",
    "chat_model": "model",  # of a tracer that keeps runs locally
    "tool": "tool",
    "chain": "chain",
    "retriever": "chain",
    **dict.fromkeys(("prompt", "parser", "embedding"), ""),
}
_ASKED = re.compile(r"(?:GraphInterrupt|NodeInterrupt|ParentCommand|Interrupt)\(")
"""How a graph says that it stopped for a person or continued elsewhere: no failure."""
_ORDER = re.compile(r"(\d{8}T\d{12})Z([0-9a-fA-F-]{36})\Z")


class LangSmithReader(StoreReader):
    name = "langsmith-runs"
    facts = FormatFacts(
        by="`run_type` with `inputs` or `dotted_order`; `post` and `patch`; `runs`; Parquet too",
        times="yes",
        cost="each call once, where the server priced it",
        tokens="leaf model calls, once",
        verdict="feedback, kept as evidence",
        attempt="where metadata says",
        approvals="interrupts of a graph leave the run open",
    )
    in_rows = True
    store = "langsmith"
    lists = _LISTS
    names = frozenset(("run_type", "dotted_order"))
    own = ("id", "run_type")

    def is_row(self, value: Any) -> bool:
        return _is_run(value)

    def suite_of(self, tree: Tree) -> str:
        name = safe(text(tree.all[0].resource.get("service.name")))
        return f"langsmith-{name}" if name else "langsmith"

    def spans(self, value: Any) -> list[Span]:
        value = _of_export(value)
        if not isinstance(value, dict):
            raise Rejected("type:run")
        if any(isinstance(value.get(name), list) for name in _LISTS):
            raise Rejected("shape:document")
        return [_span(row) for row in _flat(value)]

    def whole(self, spans: list[Span]) -> list[Span]:
        return caches_known(_left_open(in_one_trace(merged(spans, _joined, _span))))


def _left_open(spans: list[Span]) -> list[Span]:
    """Return spans with the last root marked if a graph in it stopped for a person, which the root
    itself does not state."""
    roots = [span for span in spans if not span.parent]
    last = max(roots, key=lambda span: span.start or 0, default=None)
    if last is None or not any(one.trace == last.trace and _asks(one) for one in spans):
        return spans
    held = {**last.attributes, WAITS: True}
    return [last._replace(attributes=held) if span is last else span for span in spans]


def _asks(span: Span) -> bool:
    error = mapping(span.row).get("error")
    found = _ASKED.match(error) if isinstance(error, str) else None
    return found is not None and not found[0].startswith("ParentCommand")


def _is_run(value: Any) -> bool:
    """Return whether this is a run, or completes one."""
    if not isinstance(value, dict):
        return False
    named = isinstance(value.get("id"), str) or isinstance(value.get("dotted_order"), str)
    if isinstance(value.get("run_type"), str):
        return named and bool({"start_time", "inputs", "dotted_order"} & value.keys())
    return named and "trace_id" in value and "dotted_order" in value


_TEXTS = (
    *("inputs", "outputs", "extra", "events", "tags", "feedback_stats", "parent_run_ids"),
    *("prompt_token_details", "completion_token_details"),
)
"""Members that a bulk export keeps as JSON text."""


def _of_export(value: Any) -> Any:
    """Return a run with the JSON texts of a bulk export decoded."""
    if not isinstance(value, dict):
        return value
    told = {
        name: held
        for name in _TEXTS
        if isinstance(value.get(name), str)
        and isinstance(held := parse_text(value[name]), (dict, list))
    }
    return {**value, **told} if told else value


def _flat(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a run and those nested under it, which then need not name it."""
    rows: list[dict[str, Any]] = []
    waiting = [(value, "", "")]
    while waiting:
        row, above, trace = waiting.pop()
        held = {name: one for name, one in row.items() if name != "child_runs"}
        if above:
            held.setdefault("parent_run_id", above)
            held.setdefault("trace_id", trace)
        rows.append(held)
        own = _own_id(row)
        inner = [(one, own, _trace_of(held)) for one in objects(row.get("child_runs"))]
        waiting += reversed(inner)
    return rows


def _joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows of one run joined: the row that completes it counts as later, wherever it
    is."""
    found: dict[str, Any] = {}
    for row in sorted(rows, key=lambda one: one.get("end_time") is not None):
        found.update({name: one for name, one in row.items() if one not in (None, {}, [])})
    return found


def _places(row: dict[str, Any]) -> list[re.Match[str]]:
    """Return (time, id) of every run from the root to this one."""
    steps = text(row.get("dotted_order"))[:8192].split(".")
    return [found for step in steps if (found := _ORDER.match(step))]


def _own_id(row: dict[str, Any]) -> str:
    places = _places(row)
    return text(row.get("id")) or (places[-1][2] if places else "")


def _trace_of(row: dict[str, Any]) -> str:
    places = _places(row)
    return text(row.get("trace_id")) or (places[0][2] if places else "") or _own_id(row)


def _span(row: dict[str, Any]) -> Span:
    own, places = _own_id(row), _places(row)
    if not own:
        raise Rejected("missing:id")
    declared = text(row.get("run_type"))
    kind = _KINDS.get(declared, "")
    wanted = isinstance(error := row.get("error"), str) and _ASKED.match(error) is not None
    stamp = row.get("start_time")
    start = of_unknown_unit(stamp)
    if start is None and places:
        start = nanos(f"{places[-1][1][:15]}.{places[-1][1][15:]}")
    extra = mapping(row.get("extra"))
    metadata = mapping(extra.get("metadata"))
    project = text(row.get("session_name"))
    above = text(row.get("parent_run_id")) or (places[-2][2] if len(places) > 1 else "")
    return Span(
        trace=_trace_of(row),
        id=own,
        parent=above,
        name=text(row.get("name")),
        start=start,
        end=None if wanted else of_unknown_unit(row.get("end_time")),
        stamp=stamp if of_unknown_unit(stamp) is not None else None,
        error=bool(error) and not wanted,
        said=text(error) if isinstance(error, str) else str(error or ""),
        attributes={
            **_rest(row, extra),
            **{f"metadata.{name}": one for name, one in metadata.items() if one is not None},
            **_facts(row, metadata),
            **operation(kind),
            **({} if declared in _KINDS else {"langsmith.span.kind": declared or "none stated"}),
            **_of_kind(kind, row, extra),
        },
        resource={} if project in ("", "default") else {"service.name": project},
        events=_feedback(row),
        row=row,
    )


_TOLD = frozenset(
    (
        *("id", "trace_id", "parent_run_id", "parent_run_ids", "dotted_order", "name", "run_type"),
        *("start_time", "end_time", "error", "inputs", "outputs", "extra", "feedback_stats"),
        # times of a run's start, stream and end; the parts of its component
        *("events", "serialized", "manifest"),
    )
)


def _rest(row: dict[str, Any], extra: dict[str, Any]) -> Attributes:
    """Return the other members of a run, under their own names."""
    beside = {name: one for name, one in extra.items() if name not in ("metadata", "runtime")}
    found = {name: one for name, one in row.items() if name not in _TOLD and one is not None}
    return {**found, **({"extra": beside} if beside else {})}


def _facts(row: dict[str, Any], metadata: dict[str, Any]) -> Attributes:
    names = ("session_id", "thread_id", "conversation_id")
    thread = next((one for name in names if (one := text(metadata.get(name)))), None)
    example = text(row.get("reference_example_id")) or None
    return present(
        {
            "session.id": thread,
            "metadata.episode_id": metadata.get("episode_id", example),
            "gen_ai.usage.cost": money(row.get("total_cost")),
        }
    )


def _of_kind(kind: Kind, row: dict[str, Any], extra: dict[str, Any]) -> Attributes:
    given, back = row.get("inputs"), row.get("outputs")
    if kind == "tool":
        return _tool(row, given, back, extra)
    back = whole_answer(back) if kind == "model" else back
    found = exchanged(kind, given, back)
    if kind == "model":
        found |= counted(_counts(row, mapping(back), mapping(extra.get("metadata"))))
        found |= _model(mapping(back), extra)
    return found


def _tool(row: dict[str, Any], given: Any, back: Any, extra: dict[str, Any]) -> Attributes:
    """Return a tool's call: with LangChain its result may be a message that names the call."""
    if isinstance(back, dict) and len(back) == 1 and "output" in back:
        back = back["output"]
    back = None if back == {} else back
    message = tool_message(back) or {}
    own = text(extra.get("tool_call_id")) or text(message.get("tool_call_id"))
    if isinstance(given, dict) and given.get("type") == "tool_call" and "args" in given:
        own, given = own or text(given.get("id")), given["args"]
    name = text(row.get("name")) or text(message.get("name"))
    return {
        **exchanged("tool", given, back),
        "gen_ai.tool.name": name,
        **({"gen_ai.tool.call.id": own} if own else {}),
    }


def _replies(back: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that answer each prompt of a run, in LangChain's form."""
    firsts = (next(iter(objects(one)), {}) for one in sequence(back.get("generations")))
    held = (mapping(one.get("message")) for one in firsts)
    return [mapping(one.get("kwargs", one.get("data", one))) for one in held]


def _counts(
    row: dict[str, Any], back: dict[str, Any], metadata: dict[str, Any]
) -> dict[str, int] | None:
    """Return the tokens of a model's run, from the most detailed place."""
    of_replies = [tokens_of(one.get("usage_metadata")) for one in _replies(back)]
    counts = [one for one in of_replies if one]
    if counts and len(counts) == len(of_replies):
        names = dict.fromkeys(name for one in counts for name in one)
        return {name: sum(one.get(name, 0) for one in counts) for name in names}
    places = (
        back.get("usage_metadata"),
        back.get("usageMetadata"),
        at_path(back, "message", "usage_metadata"),
        at_path(back, "message", "kwargs", "usage_metadata"),
        metadata.get("usage_metadata"),
        back.get("usage"),
        at_path(back, "message", "usage"),
        at_path(back, "llm_output", "token_usage"),
        at_path(back, "llm_output", "usage"),
        _stated(row),
    )
    return next((found for one in places if (found := tokens_of(one))), None)


def _stated(row: dict[str, Any]) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    found = {name: row[name] for name in names if row.get(name)}
    inside, outside = row.get("prompt_token_details"), row.get("completion_token_details")
    if found and isinstance(inside, dict):
        found["input_token_details"] = inside
    if found and isinstance(outside, dict):
        found["output_token_details"] = outside
    return found


def _model(back: dict[str, Any], extra: dict[str, Any]) -> Attributes:
    """Return the requested and answering model, the answer's id, and why it stopped."""
    about = next((one for r in _replies(back) if (one := mapping(r.get("response_metadata")))), {})
    asked = (
        at_path(extra, "metadata", "ls_model_name"),
        at_path(extra, "invocation_params", "model_name"),
        at_path(extra, "invocation_params", "model"),
    )
    told = (about.get("model_name"), about.get("model"), back.get("model"))
    ends = (
        about.get("finish_reason"),
        about.get("stop_reason"),
        at_path(back, "generations", 0, 0, "generation_info", "finish_reason"),
        at_path(back, "choices", 0, "finish_reason"),
        back.get("stop_reason"),
    )
    return {
        name: found
        for name, places in (
            ("gen_ai.request.model", (*asked, *told)),
            ("gen_ai.response.model", told),
            ("gen_ai.response.id", (about.get("id"), back.get("id"))),
            ("llm.finish_reason", ends),
        )
        if (found := next((text(one) for one in places if text(one)), ""))
    }


def _feedback(row: dict[str, Any]) -> tuple[SpanEvent, ...]:
    """Return the feedback of people and evaluators on a run."""
    found = []
    for name, one in mapping(row.get("feedback_stats")).items():
        held = mapping(one)
        if (average := figure(held.get("avg"))) is not None:
            found.append(score(name, average))
        else:
            found += [score(name, label) for label in mapping(held.get("values"))]
    for one in objects(row.get("feedback")):
        value = one.get("score") if one.get("score") is not None else one.get("value")
        found.append(score(one.get("key"), value, one.get("comment")))
    return tuple(one for one in found if one is not None)
