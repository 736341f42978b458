"""Traces of the OpenAI Agents SDK, as it sends them: batches of `trace` and `trace.span` objects.

Batches cut traces: a trace's own object, or its head, may be in another batch. Response spans hold
only the id of a response, so what the model said is not here; calls of functions are.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, Status, elapsed_ms
from reviewer.importing.formats.base import Format
from reviewer.importing.formats.stated import named
from reviewer.importing.formats.values import at_path, mapping, sequence
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller, tokens_of
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_OBJECTS = ("trace", "trace.span")
_NO_TEXT = "response spans hold only ids: what the model said is not in this file"


class OpenAIAgentsReader(Format):
    name = "openai-agents"

    def sniff(self, head: Head) -> bool:
        first = head.first
        return _is_item(first) or any(_is_item(item) for item in _items(first)[:1])

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        groups: dict[str, list[dict[str, Any]]] = {}
        for name, value in source.records():
            if isinstance(value, Broken):
                yield value
                continue
            found = [value] if _is_item(value) else _items(value)
            if not found:
                yield Broken(("type:record",), name)
            for item in found:
                if _is_item(item):
                    key = item["id"] if item["object"] == "trace" else item.get("trace_id")
                    groups.setdefault(str(key), []).append(item)
        for key, items in groups.items():
            yield source.attempt(partial(_trace, source, key, items), f"trace {key}")


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") in _OBJECTS and "id" in value


def _items(value: Any) -> list[Any]:
    return sequence(at_path(value, "data"))


def _trace(source: Source, key: str, items: list[dict[str, Any]]) -> Foreign:
    draft = Draft("openai-agents")
    head = next((item for item in items if item["object"] == "trace"), None)
    spans = {str(i["id"]): i for i in items if i["object"] == "trace.span"}  # sent twice: last wins
    ordered = sorted(spans.values(), key=lambda span: str(span.get("started_at")))
    if head is None:
        draft.note("the trace object is missing: the batch begins in the middle of a trace")
    if any(s.get("parent_id") and str(s["parent_id"]) not in spans for s in ordered):
        draft.note("spans name a parent that is not in the file")
    told = _Trace(draft, ordered)
    agents, models = [], []
    for span in ordered:
        data = span.get("span_data")
        if not isinstance(data, dict):
            draft.note("a span without span_data was left out")
            continue
        told.account.read(span, ("span_data", "error"))
        _span(told, span, data)
        if data.get("type") == "agent" and data.get("name"):
            agents.append(str(data["name"]))
        if data.get("model"):
            models.append(str(data["model"]))
    told.account.tell(items, draft, "record")
    own = mapping(at_path(head, "metadata"))
    workflow = str(head.get("workflow_name") or "") if head else ""
    draft.source["trace_id"] = key
    draft.source["agents"] = list(dict.fromkeys(agents))
    draft.note("no verdict, attempt or cost in this format")
    starts = [s["started_at"] for s in ordered if s.get("started_at")]
    ends = [s["ended_at"] for s in ordered if s.get("ended_at")]
    failed = any(isinstance(s.get("error"), dict) for s in ordered if not s.get("parent_id"))
    who = " ".join(dict.fromkeys([*agents[:1], *models[:1]])) or workflow
    names, group = named(own), (head or {}).get("group_id")
    # A group's traces are the turns of one conversation, unless each names its task.
    held = group or names.conversation or names.session
    episode = names.task or held or key
    draft.identity = f"trace:{key}" if names.task or not held else f"trace:group {held}"
    draft.names = (f"trace:{key}", *((draft.identity,) if held and not names.task else ()))
    candidate = source.candidate or own.get("candidate_id") or who or source.home
    there = source.called(draft.names)
    if there is not None:
        _, candidate, episode = there
    source.meet(draft.names, str(candidate), str(episode))
    return draft.foreign(
        episode_id=episode,
        candidate_id=candidate,
        final_message=draft.last_words(),
        latency_ms=elapsed_ms(min(starts), max(ends)) if starts and ends else None,
        started_at=draft.at(min(starts)) if starts else None,
        termination="error" if failed else None,
        title=workflow,
    )


class _Trace:
    """One trace in the making. `asked` are calls that a model made and no function span has run
    yet: where a trace holds both, they are one call."""

    def __init__(self, draft: Draft, spans: list[dict[str, Any]]) -> None:
        self.draft = draft
        self.account = Account()
        self.asked: list[dict[str, Any]] = []
        held = [span.get("span_data") for span in spans]
        kinds = [data.get("type") for data in held if isinstance(data, dict)]
        self.as_text = False if {"function", "handoff"} & set(map(str, kinds)) else None
        functions = [span for span in spans if _is_function(span)]
        self.stopped = {
            str(span["id"]) for place, span in enumerate(functions)
            if _unrun(span) and any(map(partial(_again, span), functions[place + 1 :]))
        }  # fmt: skip
        """Function spans of calls that waited for a person: they run in a later span."""

    def ask(self, name: Any, arguments: Any) -> dict[str, Any] | None:
        """Return the open call of the model that this function span runs, None when there is
        none."""
        given = self.draft.arguments(arguments)
        for event in self.asked:
            if event["tool"] == name and event["arguments"] == given:
                self.asked.remove(event)
                return event
        return None


def _is_function(span: dict[str, Any]) -> bool:
    return bool(at_path(span, "span_data", "type") == "function")


def _unrun(span: dict[str, Any]) -> bool:
    return span["span_data"].get("output") is None and span.get("error") is None


def _again(span: dict[str, Any], later: dict[str, Any]) -> bool:
    one, other = span["span_data"], later["span_data"]
    return bool(one.get("name") == other.get("name") and one.get("input") == other.get("input"))


def _function(told: _Trace, span: dict[str, Any], data: dict[str, Any], latency: Any) -> None:
    draft, error, name = told.draft, span.get("error"), data.get("name")
    told.account.read(data, ("type", "name", "input", "output", "mcp_data"), strict=True)
    told.account.whole(data.get("input"), data.get("output"), data.get("mcp_data"))
    if str(span["id"]) in told.stopped:
        draft.approval({"decision": "pending", "tool": name}, at=span.get("started_at"))
        return
    asked = told.ask(name, data.get("input"))
    own = asked.get("call_id") if asked else span["id"]
    if asked is None:
        draft.call(name, data.get("input"), own, at=span.get("started_at"))
    status: Status = "error" if isinstance(error, dict) else "ok"
    output = data.get("output") if data.get("output") is not None else _text(error)
    draft.result(output, own, name, status, latency_ms=latency)


def _span(told: _Trace, span: dict[str, Any], data: dict[str, Any]) -> None:
    draft = told.draft
    kind, error = data.get("type"), span.get("error")
    timed = {
        "at": span.get("started_at"),
        "latency_ms": elapsed_ms(span.get("started_at"), span.get("ended_at")),
    }
    if kind == "function":
        _function(told, span, data, timed["latency_ms"])
    elif kind == "handoff":
        said = {"from_agent": data.get("from_agent"), "to_agent": data.get("to_agent")}
        told.account.read(data, ("type", "from_agent", "to_agent"), strict=True)
        draft.call("handoff", said, span["id"], at=span.get("started_at"), status="ok")
    elif kind == "guardrail":
        decision = "reject" if data.get("triggered") else "approve"
        draft.approval({"decision": decision, "approver": data.get("name")}, **timed)
    elif kind == "generation":
        _generation(told, data, timed)
    elif kind == "response":
        draft.note(_NO_TEXT)
        ids = draft.source.setdefault("response_ids", [])
        ids.append(data.get("response_id"))
    if isinstance(error, dict) and kind != "function":
        draft.error(_text(error), at=span.get("ended_at"))


def _generation(told: _Trace, data: dict[str, Any], timed: dict[str, Any]) -> None:
    draft = told.draft
    given, made = data.get("input"), data.get("output")
    account = told.account
    account.read(data, ("input", "output", "model", "model_config", "usage", "type"))
    account.whole(data.get("model_config"))
    if isinstance(given, list) and not draft.events:
        teller = Teller(draft, account, as_text=told.as_text)
        teller.say_all(given)
        teller.finish()
    elif isinstance(given, list):
        draft.note("generation spans repeat their history: only what they answered was added")
    teller = Teller(draft, account, as_text=told.as_text)
    counts, latency = tokens_of(data.get("usage")), timed["latency_ms"]
    account.every(made)
    for one in sequence(made):
        teller.say(one, "assistant", tokens=counts, latency_ms=latency)
        counts = latency = None
    before = len(draft.events)
    teller.finish()
    told.asked += [event for event in draft.events[before:] if event["kind"] == "tool_call"]


def _text(error: Any) -> Any:
    return (error.get("message") or "error") if isinstance(error, dict) else None
