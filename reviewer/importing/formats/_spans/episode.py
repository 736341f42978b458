"""One episode's spans, told as a native record."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from reviewer.importing.draft import Draft
from reviewer.importing.formats._spans.accounting import account_for
from reviewer.importing.formats._spans.acts import Prepared, prepared, request, tell
from reviewer.importing.formats._spans.astext import read_texts
from reviewer.importing.formats._spans.ending import (
    Ending,
    ending_of,
    last_output,
    scores_of,
    text_of,
)
from reviewer.importing.formats._spans.identity import conversation_of, run_of
from reviewer.importing.formats._spans.index import names_of
from reviewer.importing.formats._spans.kinds import model_of, served_by
from reviewer.importing.formats._spans.naming import candidate_of
from reviewer.importing.formats._spans.summing import cost, latency_ms, others, usage
from reviewer.importing.formats._spans.telling import Telling
from reviewer.importing.formats._spans.tree import Cast, Tree
from reviewer.importing.reader import Foreign
from reviewer.trace.record import SourceVerdict

FAILED_AROUND = "spans outside the agent's work ended in an error: that says nothing of the episode"
ORPHANS = "some spans name a parent that the file does not have"
TWICE = "spans that stand in the file twice were counted once"
OF_OTHERS = "spans of evaluators and simulated users were left out: they are not the agent's work"
JOINED = "traces that name one conversation, or one episode, were taken as one episode"
NO_CONTENT = "the spans hold no messages: what was said was not recorded"
ONE_INSTANT = "all its spans start at the same time: their order is that of the file"
ROUNDED = "times are numbers beyond 2^53 in the file: their last digits may be rounded"
NO_CANDIDATE = (
    "the spans name no service, agent or model: the candidate is taken from the file name"
)
MOST_LISTED = 20
MOST_NAMES = 64
EXACT = 1 << 53


class Heading(NamedTuple):
    """What a record is called: `candidate` is what the user said, else empty, and `otherwise` what
    to take when the spans name none; attempts of the file count from `first_attempt`. `called` says
    of which suite, candidate and episode a stored attempt of such names is."""

    format: str
    candidate: str
    otherwise: str
    suite: str
    first_attempt: int
    called: Callable[[Iterable[str]], tuple[str, str, str] | None] = lambda names: None


def native(tree: Tree, heading: Heading) -> Foreign:
    """The record of one attempt. Raises Rejected."""
    draft = Draft(heading.format)
    calls = read_texts(tree, [prepared(call) for call in tree.calls])
    cast, ending = Cast(tree), ending_of(tree)
    tell(tree, cast, calls, Telling(draft))
    account_for(tree, draft)
    candidate = heading.candidate or candidate_of(tree)
    if not candidate:
        draft.note(NO_CANDIDATE)
    _note(tree, draft)
    _describe(tree, draft, ending)
    run = next((one for span in tree.all if (one := run_of(span)) is not None), None)
    attempt = None
    if run is not None and run.attempt is not None:
        attempt = run.attempt + 1 - heading.first_attempt
    asked = request(draft)
    # Spans come late and traces are exported again: the trace it began with is what it is.
    draft.identity = f"trace:{tree.all[0].trace}" if tree.all[0].trace else ""
    draft.names = tuple(dict.fromkeys(names_of(tree.all)))[:MOST_NAMES]
    episode = run.episode if run is not None else _conversation(tree) or tree.all[0].trace
    suite, there = heading.suite, heading.called(draft.names)
    if there is not None:
        suite, candidate, episode = there
    return draft.foreign(
        episode_id=episode,
        candidate_id=candidate or heading.otherwise,
        attempt=attempt,
        final_message=_final_message(tree, cast, calls, ending),
        cost_usd=cost(tree, draft),
        latency_ms=latency_ms(tree, draft),
        termination=ending.termination,
        started_at=draft.at(tree.spans[0].stamp),
        usage=usage(tree, draft),
        verdict=_said_of(tree),
        title=(asked or next((span.name for span in tree.tops()), "")).strip(),
        user_request=asked,
        suite=suite,
    )


def _said_of(tree: Tree) -> SourceVerdict | None:
    """Return what scores and graders beside the agent said and used."""
    scores, used = scores_of(tree), others(tree)
    if not used:
        return scores
    return SourceVerdict(detail={**(scores.detail if scores else {}), **used})


def _final_message(tree: Tree, cast: Cast, calls: Sequence[Prepared], ending: Ending) -> str | None:
    """The last answer of an agent that works for no other: what its last model call said, else
    what its span says it gave back."""
    if ending.waiting:
        return None
    own = [one for one in calls if not cast.actor(one.call.span)[1]]
    if own and not any(p.kind == "call" for m in own[-1].answer for p in m.parts):
        found = text_of(own[-1].answer)
        if found is not None:
            return found
    tops = sorted(tree.tops(), key=lambda span: span.end or 0, reverse=True)
    return next((found for span in tops if (found := last_output(span)) is not None), None)


def _conversation(tree: Tree) -> str:
    spans = (*tree.spans, *tree.all)
    return next((found for span in spans if (found := conversation_of(span))), "")


def _note(tree: Tree, draft: Draft) -> None:
    """What was missing or doubtful."""
    around = [span for span in tree.all if not tree.kind(span)]
    starts = {span.start for span in tree.spans}
    told = (e["message"] for e in draft.events if e["kind"] == "message")
    for doubt, text in (
        (any(span.error for span in around), FAILED_AROUND),
        (tree.orphans(), ORPHANS),
        (tree.twice, TWICE),
        (tree.of_others, OF_OTHERS),
        (len({span.trace for span in tree.spans}) > 1, JOINED),
        (not any(told), NO_CONTENT),
        (len(tree.spans) > 1 and len(starts) == 1, ONE_INSTANT),
        (any(type(span.stamp) is int and span.stamp > EXACT for span in tree.spans), ROUNDED),
    ):
        if doubt:
            draft.note(text)


def _describe(tree: Tree, draft: Draft, ending: Ending) -> None:
    """Facts that have no member of their own in a record."""
    models = [one for call in tree.calls for one in (call.span, *call.around)]
    listed = {
        "traces": (span.trace for span in tree.all),
        "conversations": (conversation_of(span) for span in tree.all),
        "scopes": (span.scope for span in tree.spans),
        "models": (model_of(span) for span in models),
        "served_by": (served_by(span) for span in models),
    }
    for name, found in listed.items():
        if values := list(dict.fromkeys(filter(None, found)))[:MOST_LISTED]:
            draft.source[name] = values
    draft.source.update(others(tree))
    draft.source["spans"] = {
        "in_file": len(tree.all),
        "told": len(tree.spans),
        "orphans": tree.orphans(),
    }
    if ending.word:
        draft.source["finish_reason"] = ending.word
