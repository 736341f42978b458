"""Telling the repetitions of one episode apart, where its metadata numbers no attempts."""

from collections import defaultdict
from collections.abc import Sequence

from reviewer.importing.formats._spans.content import inputs
from reviewer.importing.formats._spans.identity import conversation_of, run_of
from reviewer.importing.formats._spans.tree import Tree
from reviewer.importing.formats._spans.value import Span


def attempts_in(spans: Sequence[Span]) -> list[Sequence[Span]]:
    """The spans of each attempt. Traces under one episode id are one attempt, as long as each goes
    on where another ended or stands for a single span; when every one of them begins anew, with
    the very same messages, they are attempts."""
    if len({span.trace for span in spans}) < 2 or not any(run_of(span) for span in spans):
        return [spans]
    parts = _parts(spans)
    openings = [_opening(Tree(part)) for part in parts]
    if len(parts) > 1 and openings[0] and all(one == openings[0] for one in openings):
        return list(parts)
    return [spans]


def _parts(spans: Sequence[Span]) -> list[list[Span]]:
    """Spans by trace; traces of one conversation together."""
    same: dict[str, str] = {}
    for span in spans:
        if conversation := conversation_of(span):
            same.setdefault(conversation, span.trace)
    first = {s.trace: same[c] for s in spans if (c := conversation_of(s))}
    found: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        found[first.get(span.trace, span.trace)].append(span)
    return list(found.values())


def _opening(tree: Tree) -> object:
    """What the first model call of a run with a span of its own was given; None when there is no
    such run, or when the history holds answers already."""
    if not tree.calls or not any(True for _ in tree.above(tree.calls[0].span)):
        return None
    call = tree.calls[0]
    given = next((found for s in (call.span, *call.around) if (found := inputs(s))), [])
    if not given or any(one.role in ("agent", "tool") for one in given):
        return None
    return given
