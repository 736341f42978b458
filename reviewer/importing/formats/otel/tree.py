"""The tree of spans of an episode: the kind of operation that each span describes, its model and
its agent, the spans above it, and the model calls that several spans describe.

The dialects: OpenTelemetry's `gen_ai.*` (present and former names), OpenInference, Vercel's `ai.*`,
Google's ADK, pydantic-ai, Traceloop, LangSmith, Langfuse and Laminar.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.otel import (
    Span,
    ToolUse,
    hex_id,
    tool_message,
    tool_use,
    usage_of,
)
from reviewer.trace.record import USER_ACTORS, is_user

# Kinds of operations ------------------------------------------------------------------------------

Kind = Literal["model", "tool", "agent", "chain", "judge", ""]
"""`model` is one call of a model, `agent` and `chain` enclose others, `judge` is not the agent's
work; spans of no kind describe none of it (HTTP, queues, embeddings)."""

_SPAN_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("llm", "generation"), "model"),
    "tool": "tool",
    "agent": "agent",
    **dict.fromkeys(("chain", "span", "workflow", "task", "guardrail", "retriever"), "chain"),
    # Laminar's: the span that runs the agent on a data point, and the spans around and beside it
    "executor": "agent",
    "evaluation": "",
    **dict.fromkeys(("default", "pipeline"), "chain"),
    "cached": "model",
    **dict.fromkeys(("evaluator", "human_evaluator"), "judge"),
    **dict.fromkeys(("embedding", "reranker", "event"), ""),
}
_OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "completion", "text_completion", "generate_content"), "model"),
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "chain",
    **dict.fromkeys(("create_agent", "embeddings"), ""),
}
_DECLARED = (
    "openinference.span.kind", "langsmith.span.kind", "traceloop.span.kind", "lmnr.span.type",
)  # fmt: skip


def kind_of(span: Span) -> Kind:
    """Return the kind of operation that a span describes."""
    operation = span.text("ai.operationId")
    if operation.startswith("ai."):
        return _vercel(operation)
    if (own := span.text("gen_ai.operation.name")) in _OPERATIONS:
        return _OPERATIONS[own]
    for name in _DECLARED:
        if (declared := span.text(name).casefold()) in _SPAN_KINDS:
            return _SPAN_KINDS[declared]
    if span.has("gen_ai.tool.name", "gcp.vertex.agent.tool_call_args"):
        return "tool"
    observed = span.text("langfuse.observation.type").casefold()
    if observed in _SPAN_KINDS and observed != "span":
        return _SPAN_KINDS[observed]
    if span.has("agent_name", "pydantic_ai.all_messages", "all_messages_events"):
        return "agent"
    if span.has("llm.request.type") or span.has(*_MODELS):
        return "model"
    if observed == "span":
        return "tool" if tool_message(span.first("langfuse.observation.output")) else "chain"
    return ""


_NO_ACTS = frozenset(
    (
        # Operations of OpenTelemetry, and kinds of other vocabularies, that call no tool
        *("retrieval", "rerank", "create_memory", "search_memory", "update_memory", "unknown"),
        *("prompt", "parser", "session", "server", "client", "internal", "producer", "consumer"),
    )
)


def unknown_kind(span: Span) -> str:
    """Return the attribute that declares an unknown kind of operation; empty when none does."""
    if (own := span.text("gen_ai.operation.name")) and own not in {*_OPERATIONS, *_NO_ACTS}:
        return "gen_ai.operation.name"
    for name in (*_DECLARED, "langfuse.observation.type"):
        declared = span.text(name).casefold()
        if declared and declared not in _SPAN_KINDS and declared not in _NO_ACTS:
            return name
    return ""


def _vercel(operation: str) -> Kind:
    if operation.endswith((".doGenerate", ".doStream")):
        return "model"
    if operation == "ai.toolCall":
        return "tool"
    return "" if "embed" in operation.casefold() else "agent"


_MODELS = (
    "gen_ai.request.model", "gen_ai.response.model", "llm.model_name",
    "langfuse.observation.model.name", "ai.model.id",
)  # fmt: skip


def model_of(span: Span) -> str:
    """Return the requested model, else the one that answered. OpenInference states that of a call
    that failed among its parameters only."""
    return span.text(*_MODELS) or _asked_model(span)


def _asked_model(span: Span) -> str:
    given = span.first("llm.invocation_parameters")
    parameters = parse_text(given) if isinstance(given, str) else given
    found = parameters.get("model") if isinstance(parameters, dict) else None
    return found if isinstance(found, str) else ""


def served_by(span: Span) -> str:
    """Return the model that answered."""
    return span.text("gen_ai.response.model", "ai.response.model")


def response_id(span: Span) -> str:
    """Return the provider's id of one answer."""
    return span.text("gen_ai.response.id", "ai.response.id")


def finish_reason(span: Span) -> str:
    """Return why the model stopped, in the source's word; empty when not stated."""
    found = span.first(
        "gen_ai.response.finish_reasons",
        "ai.response.finishReason",
        "gen_ai.completion.0.finish_reason",
        "llm.finish_reason",
    )
    value = parse_text(found) if isinstance(found, str) and found[:1] == "[" else found
    if isinstance(value, list):
        value = value[-1] if value else ""
    return value[:100] if isinstance(value, str) else ""


_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}|\d{6}", re.IGNORECASE)
_AROUND = re.compile(r"^(?:invoke_agent|agent_run|agent)\s+\[?|\]$|\s+run$")


def agent_name(span: Span) -> str:
    """Return the name of an agent; empty when its span names none, or only a name made for this
    run."""
    name = span.text("gen_ai.agent.name", "agent_name", "agent.name", "graph.node.id")
    if not name and kind_of(span) == "agent":
        name = span.text("traceloop.entity.name", "ai.telemetry.functionId")
        if not name and not span.text("ai.operationId"):
            name = _AROUND.sub("", span.name).strip()
            name = "" if name in _OPERATIONS else name
    return "" if made_for_one_run(name) else name[:200]


def made_for_one_run(name: str) -> bool:
    """Return whether a name contains an id or a number that another run would not have."""
    return _UNIQUE.search(name) is not None


# The tree -----------------------------------------------------------------------------------------

AGENT = "agent"
Other = Literal["grader", "simulated_user"]
"""Other parties that make model calls in an episode."""


class Call(NamedTuple):
    """One call of a model. `span` is the innermost that describes it; `around` are those that
    describe the same call again."""

    span: Span
    around: tuple[Span, ...]


class Tree:
    """The spans of one episode, in the order in which they began: `spans` are those that describe
    the agent's work."""

    def __init__(self, spans: Sequence[Span]) -> None:
        spans = _begun(spans)
        self.all = _in_order(spans)
        self.twice = len(spans) - len(self.all)
        self._by_id = {(span.trace, span.id): span for span in self.all if span.id}
        self.kinds: dict[int, Kind] = {id(span): kind_of(span) for span in self.all}
        others = {id(span): other for span in self.all if (other := self._other(span))}
        whose = {id(span): self._whose(span, others) if others else None for span in self.all}
        self.own = [span for span in self.all if not whose[id(span)]]
        self.others: dict[Other, list[Span]] = {}
        for span in self.all:
            if other := whose[id(span)]:
                self.others.setdefault(other, []).append(span)
        self.of_others = len(self.all) - len(self.own)
        self.spans = [span for span in self.own if self.kinds[id(span)]]
        self.calls = self._calls(self.spans)

    def kind(self, span: Span) -> Kind:
        return self.kinds[id(span)]

    def above(self, span: Span) -> Iterator[Span]:
        """Yield the ancestors of a span, nearest first."""
        seen = {id(span)}
        while True:
            parent = self._by_id.get((span.trace, span.parent)) if span.parent else None
            if parent is None or id(parent) in seen:
                return
            seen.add(id(parent))
            yield parent
            span = parent

    def orphans(self) -> int:
        """Return how many spans name a parent that is not in the tree."""
        return sum(
            bool(span.parent) and (span.trace, span.parent) not in self._by_id for span in self.all
        )

    def has_gaps(self, elsewhere: Callable[[], Container[str]]) -> bool:
        """Return whether spans within a trace are known to be missing: what describes the agent's
        work is below several that are named as parents and not here, or below one beside a root. A
        single one may be that of the service that called, as is that of a span that another process
        called for; a store has the rows of all of them. `elsewhere` returns the ids of spans that
        others hold of these traces."""
        return self._gaps(()) and self._gaps(elsewhere())

    def _gaps(self, elsewhere: Container[str]) -> bool:
        here = {span.id for span in self.all}
        tops = {id(span): span for span in map(self._top, self.spans)}
        above: dict[str, set[str]] = {}
        for span in tops.values():
            if span.entered:
                continue
            if not span.parent or (span.parent not in here and span.parent not in elsewhere):
                above.setdefault(span.trace, set()).add(span.parent)
                if span.parent and span.row is not None:
                    return True
        return any(len(parents) > 1 for parents in above.values())

    def _top(self, span: Span) -> Span:
        """Return the outermost span around a span, itself where there is none."""
        for above in self.above(span):
            span = above
        return span

    def _other(self, span: Span) -> Other | None:
        """Return whose span it is, a judge's or a simulated user's, by its own statement."""
        kind = self.kinds[id(span)]
        if kind == "judge":
            return "grader"
        return "simulated_user" if kind == "agent" and is_user(agent_name(span)) else None

    def _whose(self, span: Span, others: dict[int, Other]) -> Other | None:
        """Return whose work a span is, a judge's or a simulated user's; None for the agent's."""
        around = (span, *self.above(span))
        return next((others[id(one)] for one in around if id(one) in others), None)

    def calls_of(self, other: Other) -> list[Call]:
        """Return the model calls of a grader or a simulated user, each once."""
        return self._calls(self.others.get(other, []))

    def tops(self) -> list[Span]:
        """Return the agents and chains that are below no other."""
        return [
            span
            for span in self.spans
            if self.kind(span) in ("agent", "chain")
            and not any(self.kind(one) in ("agent", "chain") for one in self.above(span))
        ]

    @cached_property
    def tools(self) -> list[tuple[Span, ToolUse]]:
        """Return tool spans with their facts. A span inside another of that tool, or beside another
        of the same call, describes the same call again."""
        found: list[tuple[Span, ToolUse]] = []
        by_id: dict[str, tuple[Span, ToolUse]] = {}
        for span in self.spans:
            if self.kind(span) != "tool":
                continue
            use = tool_use(span)
            outer = self._around(span, "tool")
            if outer is not None and tool_use(outer).name == use.name:
                continue
            before = by_id.get(use.id) if use.id else None
            if before is not None and _came_back(*before) and _together(before[0], span):
                continue
            by_id[use.id] = span, use
            found.append((span, use))
        return found

    def _around(self, span: Span, kind: Kind) -> Span | None:
        """Return the nearest span of a kind that encloses a span, None when an agent or other
        operation is between them."""
        for one in self.above(span):
            if (other := self.kind(one)) == kind:
                return one if _together(one, span) else None
            if other in ("model", "tool", "agent"):
                return None
        return None

    def _calls(self, spans: Sequence[Span]) -> list[Call]:
        models = [span for span in spans if self.kind(span) == "model"]
        within: dict[int, list[Span]] = defaultdict(list)
        for span in models:
            if (outer := self._around(span, "model")) is not None:
                within[id(outer)].append(span)
        found: list[Call] = []
        for span in models:
            if id(span) in within:
                continue
            around: list[Span] = []
            outer = self._around(span, "model")
            while outer is not None and len(within[id(outer)]) == 1:
                around.append(outer)
                outer = self._around(outer, "model")
            found.append(Call(span, tuple(around)))
        return _without_repeats(found)

    def owner(self, span: Span) -> Span | None:
        """Return the agent that a span works for."""
        return next((one for one in self.above(span) if self.kind(one) == "agent"), None)


def _came_back(span: Span, use: ToolUse) -> bool:
    """Return whether a tool's span ended; one that waits for a person never does."""
    return span.end is not None or use.result is not None or span.error


_TYPE_OF_SPAN = "logfire.span_type"


def _begun(spans: Sequence[Span]) -> Sequence[Span]:
    """Return spans without what Logfire writes when one begins: a span within the real one, with
    its attributes. Where the real span never came, that is all that is known of it."""
    if not any(span.attributes.get(_TYPE_OF_SPAN) == "pending_span" for span in spans):
        return spans
    pending = [s.attributes.get(_TYPE_OF_SPAN) == "pending_span" for s in spans]
    came = {(s.trace, s.id) for s, early in zip(spans, pending, strict=True) if not early}
    found: list[Span] = []
    for span, early in zip(spans, pending, strict=True):
        if not early:
            found.append(span)
        elif (span.trace, span.parent) not in came:
            above = hex_id(span.attributes.get("logfire.pending_parent_id"))
            found.append(span._replace(id=span.parent, parent=above, end=None))
    return found


def _in_order(spans: Sequence[Span]) -> list[Span]:
    """Return spans by start; of those that start together a parent first, then in the order of the
    file. A span that occurs twice (it was sent again) is returned once."""
    known: dict[tuple[str, str], Span] = {}
    once: list[Span] = []
    for span in spans:
        if span.id and known.get((span.trace, span.id)) == span:
            continue
        known.setdefault((span.trace, span.id), span)
        once.append(span)
    depths = {id(span): _depth(span, known) for span in once}
    return sorted(once, key=lambda span: (span.start or 0, depths[id(span)]))


def _depth(span: Span, known: dict[tuple[str, str], Span]) -> int:
    depth = 0
    seen = {span.id}
    while span.parent and span.parent not in seen:
        parent = known.get((span.trace, span.parent))
        if parent is None or parent.start != span.start:
            return depth
        seen.add(parent.id)
        depth, span = depth + 1, parent
    return depth


NEAR = 8


def _without_repeats(calls: list[Call]) -> list[Call]:
    """Return each call once, where two instrumentations describe it side by side."""
    kept: list[Call] = []
    for call in calls:
        near = range(len(kept) - 1, max(-1, len(kept) - 1 - NEAR), -1)
        place = next((n for n in near if _same_call(kept[n], call)), None)
        if place is None:
            kept.append(call)
        else:
            outer, inner = kept[place], call
            if _holds(inner.span, outer.span):
                outer, inner = inner, outer
            kept[place] = Call(inner.span, (*inner.around, outer.span, *outer.around))
    return kept


def _same_call(one: Call, other: Call) -> bool:
    """Return whether two calls are one: they were open at the same time, and the provider's id of
    the answer is the same; or, for spans with different names for one model, one lay within the
    other and counted the same tokens."""
    if _streamed(one, other):
        return True
    if not _together(one.span, other.span):
        return False
    answers = [next((i for s in (c.span, *c.around) if (i := response_id(s))), "")
               for c in (one, other)]  # fmt: skip
    if all(answers):
        return answers[0] == answers[1]
    if one.span.name == other.span.name or model_of(one.span) != model_of(other.span):
        return False
    counts = usage_of(one.span)
    nested = _holds(one.span, other.span) or _holds(other.span, one.span)
    return nested and counts is not None and _main(counts) == _main(usage_of(other.span) or {})


_ASKED = ("gen_ai.input.messages", "request_data")


def _streamed(one: Call, other: Call) -> bool:
    """Return whether the second is Logfire's note on how a stream ended that the first began: it
    has the answer to the same request, which the first does not have."""
    if other.span.attributes.get(_TYPE_OF_SPAN) != "log" or one.around:
        return False
    begun, ended = one.span, other.span
    return (
        begun.attributes.get(_TYPE_OF_SPAN) == "span"
        and (begun.trace, begun.parent) == (ended.trace, ended.parent)
        and not begun.error
        and usage_of(begun) is None
        and ended.has(*_ASKED)
        and begun.first(*_ASKED) == ended.first(*_ASKED)
    )


def _main(counts: dict[str, int]) -> tuple[int | None, int | None]:
    return counts.get("input_tokens"), counts.get("output_tokens")


def _holds(outer: Span, inner: Span) -> bool:
    times = outer.start, inner.start, inner.end, outer.end
    if any(time is None for time in times):
        return False
    return list(times) == sorted(time for time in times if time is not None)


def _together(one: Span, other: Span) -> bool:
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return True
    return one.start < other.end and other.start < one.end


class Actors:
    """The actors of an episode: the first agent that speaks by itself is `agent`; agents it calls,
    and later ones, have their own names."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        owners = {id(o): o for call in tree.calls if (o := tree.owner(call.span)) is not None}
        self._speaking = owners
        self._main = next((agent_name(one) for one in owners.values() if not self._called(one)), "")

    def _called(self, agent: Span) -> bool:
        """Return whether an agent works for another one that speaks."""
        return any(id(one) in self._speaking for one in self._tree.above(agent))

    def actor(self, span: Span) -> tuple[str, bool]:
        """Return (the actor of a span's acts, whether it is a sub-agent of another)."""
        owner = self._tree.owner(span)
        if owner is None:
            return AGENT, False
        name = agent_name(owner)
        called = id(owner) in self._speaking and self._called(owner)
        if not name:
            return ("sub-agent" if called else AGENT), called
        if not called and name == self._main:
            return AGENT, False
        return actor_name(name), called


_TAKEN = USER_ACTORS | {AGENT, "system"}


def actor_name(name: str) -> str:
    """Return an agent's own name as an actor that cannot be mistaken for a reserved one."""
    return f"agent {name}" if name.casefold() in _TAKEN else name
