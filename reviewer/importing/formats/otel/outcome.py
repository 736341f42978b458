"""The end of an episode and the scores its source gave it; its tokens, cost and time, each counted
once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, added, at_least, encoded, figure
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import objects, present
from reviewer.importing.formats.otel import (
    Span,
    aggregated_usage,
    conversation_of,
    cost_of,
    plain,
    usage_of,
)
from reviewer.importing.formats.otel.messages import messages, outputs
from reviewer.importing.formats.otel.tree import Call, Tree, finish_reason
from reviewer.importing.messages.parts import Turn
from reviewer.trace.record import SourceVerdict

# End and scores -----------------------------------------------------------------------------------

_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "incomplete"}
_FULL = "model_context_window_exceeded"
_BLOCKED = {
    *("content_filter", "content-filter", "content_filtered", "safety", "refusal"),
    *("guardrail_intervened", "recitation", "blocklist", "prohibited_content", "spii"),
}
_STOPPED = {"stop", "end_turn", "stop_sequence", "completed", "end"}


class Ending(NamedTuple):
    """`termination` is None when none is stated; `word` is the source's own; `waiting` says that
    the run stopped for a person's approval."""

    termination: str | None
    word: str
    waiting: bool


WAITS = "run.waits"
"""An attribute of a run's outermost span where the source states that it stopped for a person."""


def ending_of(tree: Tree) -> Ending:
    """Return how the last run of the episode ended: the agent's span says whether it failed, the
    last model call why it stopped."""
    ended = [span for span in tree.tops() if span.end is not None]
    last = max(ended, key=lambda span: span.end or 0, default=None)
    call = tree.calls[-1] if tree.calls else None
    spans = (call.span, *call.around) if call is not None else ()
    word = next((found for span in spans if (found := finish_reason(span))), "")
    if last is not None and (last.error or _failed_apart(ended)):
        return Ending("error", word, False)
    if last is not None and (approvals_wanted(last) or last.first(WAITS)):
        return Ending(None, word, True)
    if last is None and call is not None and call.span.error:
        return Ending("error", word, False)
    reason = word.casefold()
    if reason in _CUT_OFF:
        return Ending("max_tokens", word, False)
    if reason == _FULL:
        return Ending("context_window_exceeded", word, False)
    if reason in _BLOCKED:
        return Ending("content_filter", word, False)
    if last is not None:
        return Ending("completed", word, False)
    return Ending("stop" if reason in _STOPPED else None, word, False)


def _failed_apart(ended: Sequence[Span]) -> bool:
    """Return whether the last run of one of several traces failed that no conversation joins: none
    of the others is known to have made up for it."""
    if len({span.trace for span in ended}) < 2 or any(map(conversation_of, ended)):
        return False
    last: dict[str, Span] = {}
    for span in sorted(ended, key=lambda one: one.end or 0):
        last[span.trace] = span
    return any(span.error for span in last.values())


def approvals_wanted(span: Span) -> frozenset[str]:
    """Return the ids of the calls that a run returned for approval instead of an answer
    (pydantic-ai)."""
    final = plain(span.first("final_result"))
    wanted = final.get("approvals") if isinstance(final, dict) and "calls" in final else None
    if not isinstance(wanted, list):
        return frozenset()
    ids = (one.get("tool_call_id") for one in wanted if isinstance(one, dict))
    return frozenset(found for found in ids if isinstance(found, str))


def last_output(span: Span) -> str | None:
    """Return the final output of a run as text; None when its span does not state one."""
    final = span.first("final_result")
    if isinstance(final, str):
        return final
    if said := outputs(span):
        return text_of(said)
    raw = span.first(*_RETURNED)
    raw = span.resource.get("langfuse.trace.output") if raw is None and not span.parent else raw
    raw = None if raw in ({}, []) else raw  # written where nothing was returned
    if messages(raw, "agent"):
        return text_of(messages(raw, "agent"))
    return raw if isinstance(raw, str) or raw is None else encoded(raw).decode()


def returned_text(span: Span) -> str | None:
    """Return the words that a run returned: a message, or the only member of an object."""
    if said := outputs(span):
        return text_of(said)
    raw = span.first(*_RETURNED)
    if raw is None and not span.parent:
        raw = span.resource.get("langfuse.trace.output")
    raw = plain(raw)
    if isinstance(raw, str) or (told := messages(raw, "agent")):
        return raw if isinstance(raw, str) else text_of(told)
    only = next(iter(raw.values())) if isinstance(raw, dict) and len(raw) == 1 else None
    return only if isinstance(only, str) else None


_RETURNED = (
    *("langfuse.observation.output", "output.value", "traceloop.entity.output"),
    "lmnr.span.output",
)


def text_of(said: list[Turn]) -> str | None:
    """Return the text of the agent's last message with any text."""
    for message in reversed(said):
        if message.role == "agent":
            texts = [p.value for p in message.parts if p.kind == "text" and p.value.strip()]
            if texts:
                return "\n".join(texts)
    return None


_SCORE = ("name", "value", "stringValue", "dataType", "source", "comment")
MOST_SCORES = 100
SCORES = "langfuse.trace.scores"
"""A fact in the spans of a source that scores whole traces: a list of scores."""


def scores_of(tree: Tree) -> SourceVerdict | None:
    """Return scores beside the trace as a detail: nothing says what they mean for passing."""
    given = next((one for span in tree.all if (one := span.resource.get(SCORES))), None)
    found = [_score(one) for one in objects(given)]
    events = (event for span in tree.all for event in span.events)
    found += [_evaluation(e.attributes) for e in events if e.name == "gen_ai.evaluation.result"]
    for span in tree.others.get("grader", ()):
        if span.text("lmnr.span.type") in _EVALUATORS:
            found += _of_evaluator(span)
    if not found:
        return None
    detail: dict[str, Any] = {"scores": found[:MOST_SCORES]}
    if len(found) > MOST_SCORES:
        detail["scores_left_out"] = len(found) - MOST_SCORES
    return SourceVerdict(detail=detail)


_EVALUATORS = ("EVALUATOR", "HUMAN_EVALUATOR")


REACTION = "wandb.reaction.1 emoji"
_THUMBS = {"\N{THUMBS DOWN SIGN}": "thumbs_down", "\N{THUMBS UP SIGN}": "thumbs_up"}


def thumbs_of(tree: Tree) -> str:
    """Return the overall reaction of people to the attempt: down where any reaction is a
    thumbs-down, in any color; empty without one."""
    told = {
        _THUMBS.get(str(event.attributes.get("gen_ai.evaluation.score.label"))[:1], "")
        for span in tree.all
        if not span.parent
        for event in span.events
        if event.attributes.get("gen_ai.evaluation.name") == REACTION
    }
    return next((word for word in _THUMBS.values() if word in told), "")


def _of_evaluator(span: Span) -> list[dict[str, Any]]:
    """Return the result of an evaluator of Laminar: a number or a truth value, or several by their
    names."""
    raw = span.first("lmnr.span.output")
    value = parse_text(raw) if isinstance(raw, str) else raw
    named = value if isinstance(value, dict) else {span.name: value}
    found: list[dict[str, Any]] = []
    for name, one in named.items():
        if isinstance(one, bool):
            found.append({"name": name, "stringValue": str(one).lower()})
        elif (number := figure(one)) is not None:
            found.append({"name": name, "value": number})
    return found


def _score(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _SCORE if isinstance(given.get(name), (str, int, float))}


def _evaluation(given: dict[str, Any]) -> dict[str, Any]:
    found = {
        "name": given.get("gen_ai.evaluation.name"),
        "value": figure(given.get("gen_ai.evaluation.score.value")),
        "stringValue": given.get("gen_ai.evaluation.score.label"),
        "comment": given.get("gen_ai.evaluation.explanation"),
    }
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float))}


# Tokens, money and time ---------------------------------------------------------------------------

REPEATED = "tokens that several spans report of one model call were counted once"
AGGREGATED = "no model call gives its tokens: the sum on the agent's span was taken"
UNCOUNTED = "some model calls have no token counts: the sum is a lower bound"
ROOT = "langfuse.trace.id"
"""A fact in the spans of a source that exports whole traces: the trace's id."""
WRAPPED = "spans around model calls are priced as well as the calls: each call was counted once"
PRICED_AROUND = "no model call is priced: the cost of the spans around them was taken"
UNPRICED = "only some of the model calls are priced: no cost is given"
WAITED = "time between its spans (a person was waited for, perhaps) is not in the latency"


def usage_of_call(call: Call) -> dict[str, int] | None:
    """Return the tokens of one call: those of its innermost span, else of the nearest enclosing
    one."""
    return next((u for span in (call.span, *call.around) if (u := usage_of(span))), None)


def cost_of_call(call: Call) -> float | None:
    """Return what one call cost in USD, by the same rule as `usage_of_call`."""
    return next((c for span in (call.span, *call.around) if (c := cost_of(span))), None)


def usage(tree: Tree, draft: Draft) -> dict[str, Any] | None:
    """Return the sum over the model calls, for each count that all of them state. Where some calls
    have no counts it is a lower bound, and marked. Failed calls without counts are left out."""
    found = [(call, usage_of_call(call)) for call in tree.calls]
    counted = [one for call, one in found if one is not None or not call.span.error]
    known = [one for one in counted if one is not None]
    if any(usage_of(span) for call in tree.calls for span in call.around):
        draft.note(REPEATED)
    if not known:
        tops = [one for span in tree.tops() if (one := aggregated_usage(span)) is not None]
        if tops:
            draft.note(AGGREGATED)
        return _sum(tops)
    if any(aggregated_usage(span) for span in tree.tops()):
        draft.note(REPEATED)
    if len(known) < len(counted):
        draft.note(UNCOUNTED)
    return at_least(_sum(known), len(known), len(counted))


def _sum(counts: Sequence[dict[str, int]]) -> dict[str, int] | None:
    names = dict.fromkeys(name for one in counts for name in one)
    full = {name: sum(one[name] for one in counts) for name in names
            if all(name in one for one in counts)}  # fmt: skip
    return full or None


def cost(tree: Tree, draft: Draft) -> float | None:
    """Return what the episode cost in USD: each model call once, as for tokens, and paid work
    besides the calls. An enclosing span repeats the costs within it. None while the price of a call
    is not known: `source.priced_usd` is then the cost of the others."""
    priced = [span for span in tree.own if cost_of(span) is not None]
    if not priced:
        return None
    calls = [(call, cost_of_call(call)) for call in tree.calls]
    of_calls = {id(span) for call in tree.calls for span in (call.span, *call.around)}
    work = [call.span for call in tree.calls]
    around = {id(above) for span in (*work, *priced) for above in tree.above(span)} - of_calls
    beside = [
        span
        for span in priced
        if id(span) not in around | of_calls
        and not any(id(above) in of_calls for above in tree.above(span))
    ]
    known = [one for _, one in calls if one is not None]
    if not known and not beside:
        draft.note(PRICED_AROUND)
        return added([cost_of(span) for span in priced if not _held(span, priced, tree)])
    total = added([*known, *(cost_of(span) for span in beside)])
    if wrapped := added([cost_of(span) for span in priced if id(span) in around]):
        draft.note(WRAPPED)
        draft.source["wrapping_spans_cost_usd"] = wrapped
    if any(one is None and not call.span.error for call, one in calls):
        draft.note(UNPRICED)
        draft.source["priced_usd"] = total
        return None
    return total


def _held(span: Span, priced: Sequence[Span], tree: Tree) -> bool:
    """Return whether a span is below another priced one."""
    others = {id(one) for one in priced}
    return any(id(above) in others for above in tree.above(span))


def others(tree: Tree) -> dict[str, Any]:
    """Return the usage and cost of graders and simulated users, by role: lines of their own beside
    the agent's, not part of its figures."""
    found: dict[str, Any] = {}
    for other in tree.others:
        calls = tree.calls_of(other)
        if not calls:
            continue
        counts = [one for call in calls if (one := usage_of_call(call)) is not None]
        costs = [cost_of_call(call) for call in calls]
        told = {
            "model_calls": len(calls),
            "usage": at_least(_sum(counts), len(counts), len(calls)),
            "cost_usd": added(costs),
        }
        found[other] = present(told)
    return found


def latency_ms(tree: Tree, draft: Draft) -> float | None:
    """Return how long the episode took, by the root of the agent's work: the span that encloses all
    of it, for several traces one each. The root of a Langfuse export is the trace itself, from its
    first span to the end of its last. Where nothing encloses all, it is the time during which a
    span was open."""
    if any(ROOT in span.resource for span in tree.spans):
        return busy_ms(_traces(tree), draft)
    traces: dict[str, list[Span]] = {}
    for span in tree.spans:
        traces.setdefault(span.trace, []).append(span)
    roots = [_root(tree, spans) for spans in traces.values()]
    took = busy_ms([root for root in roots if root is not None], draft)
    whole = took is not None and None not in roots
    return took if whole else busy_ms(tree.spans, draft)


def _root(tree: Tree, spans: Sequence[Span]) -> Span | None:
    """Return the innermost span with both times that encloses all of these, or is the only one."""
    shared: dict[int, Span] | None = None
    for span in spans:
        line = {id(one): one for one in (span, *tree.above(span))}
        if shared is None:
            shared = line
        shared = {key: one for key, one in shared.items() if key in line}
    return next((one for one in (shared or {}).values() if one.lasted_ms is not None), None)


def _traces(tree: Tree) -> list[Span]:
    """Return one span per trace, as long as the trace."""
    found: dict[str, Span] = {}
    for span in tree.own:
        if span.start is None or span.end is None:
            continue
        one = found.setdefault(span.trace, span)
        start, end = min(one.start or 0, span.start), max(one.end or 0, span.end)
        found[span.trace] = one._replace(start=start, end=end)
    return list(found.values())


def busy_ms(spans: Sequence[Span], draft: Draft) -> float | None:
    """Return the milliseconds in which at least one of the spans was open; None when no span has
    both times."""
    open_times = sorted(
        (span.start, span.end)
        for span in spans
        if span.start is not None and span.end is not None and span.end >= span.start
    )
    if not open_times:
        return None
    total, until = 0, open_times[0][0]
    for start, end in open_times:
        total += max(0, end - max(start, until))
        until = max(until, end)
    if until - open_times[0][0] - total > 10**9:
        draft.note(WAITED)
    return round(total / 1e6, 6)
