"""How an episode ended and what the source thought of it."""

from typing import Any, NamedTuple

from reviewer.importing.draft import amount, encoded
from reviewer.importing.formats._spans.content import outputs
from reviewer.importing.formats._spans.kinds import finish_reason
from reviewer.importing.formats._spans.messages import Message, messages
from reviewer.importing.formats._spans.tools import plain
from reviewer.importing.formats._spans.tree import Tree
from reviewer.importing.formats._spans.value import Span
from reviewer.trace.record import SourceVerdict

_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "incomplete"}
_BLOCKED = {"content_filter", "content-filter", "safety", "refusal"}
_STOPPED = {"stop", "end_turn", "stop_sequence", "completed", "end"}


class Ending(NamedTuple):
    """`termination` is None when nothing is stated; `word` is the source's own; `waiting` says
    that the run stopped for a person's approval."""

    termination: str | None
    word: str
    waiting: bool


def ending_of(tree: Tree) -> Ending:
    """How the last run of the episode ended: the agent's span says whether it failed, the last
    model call why it stopped."""
    ended = [span for span in tree.tops() if span.end is not None]
    last = max(ended, key=lambda span: span.end or 0, default=None)
    call = tree.calls[-1] if tree.calls else None
    spans = (call.span, *call.around) if call is not None else ()
    word = next((found for span in spans if (found := finish_reason(span))), "")
    if last is not None and last.error:
        return Ending("error", word, False)
    if last is not None and approvals_wanted(last):
        return Ending(None, word, True)
    if last is None and call is not None and call.span.error:
        return Ending("error", word, False)
    reason = word.casefold()
    if reason in _CUT_OFF:
        return Ending("max_tokens", word, False)
    if reason in _BLOCKED:
        return Ending("content_filter", word, False)
    if last is not None:
        return Ending("completed", word, False)
    return Ending("stop" if reason in _STOPPED else None, word, False)


def approvals_wanted(span: Span) -> frozenset[str]:
    """Ids of the calls that a run handed back for approval instead of an answer (pydantic-ai)."""
    final = plain(span.first("final_result"))
    wanted = final.get("approvals") if isinstance(final, dict) and "calls" in final else None
    if not isinstance(wanted, list):
        return frozenset()
    ids = (one.get("tool_call_id") for one in wanted if isinstance(one, dict))
    return frozenset(found for found in ids if isinstance(found, str))


def last_output(span: Span) -> str | None:
    """What a run gave back at last, as text; None when its span does not say."""
    final = span.first("final_result")
    if isinstance(final, str):
        return final
    if said := outputs(span):
        return text_of(said)
    raw = span.first(*_RETURNED)
    raw = span.resource.get("langfuse.trace.output") if raw is None and not span.parent else raw
    if messages(raw, "agent"):
        return text_of(messages(raw, "agent"))
    return raw if isinstance(raw, str) or raw is None else encoded(raw).decode()


_RETURNED = ("langfuse.observation.output", "output.value", "traceloop.entity.output")


def text_of(said: list[Message]) -> str | None:
    """The text of the last message of the agent's that has any."""
    for message in reversed(said):
        if message.role == "agent":
            texts = [p.value for p in message.parts if p.kind == "text" and p.value.strip()]
            if texts:
                return "\n".join(texts)
    return None


_SCORE = ("name", "value", "stringValue", "dataType", "source", "comment")
MOST_SCORES = 100


def scores_of(tree: Tree) -> SourceVerdict | None:
    """Scores beside the trace, as a detail: what they mean for passing nobody says."""
    given = next(
        (one for span in tree.all if (one := span.resource.get("langfuse.trace.scores"))), None
    )
    found = (
        [_score(one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    )
    events = (event for span in tree.all for event in span.events)
    found += [_evaluation(e.attributes) for e in events if e.name == "gen_ai.evaluation.result"]
    return SourceVerdict(detail={"scores": found[:MOST_SCORES]}) if found else None


def _score(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _SCORE if isinstance(given.get(name), (str, int, float))}


def _evaluation(given: dict[str, Any]) -> dict[str, Any]:
    found = {
        "name": given.get("gen_ai.evaluation.name"),
        "value": amount(given.get("gen_ai.evaluation.score.value")),
        "stringValue": given.get("gen_ai.evaluation.score.label"),
        "comment": given.get("gen_ai.evaluation.explanation"),
    }
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float))}
