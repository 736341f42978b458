"""Messages, items and labels to try things on."""

from typing import Any

import msgspec

from reviewer.review.items import (
    Item,
    TraceMessage,
    candidate_pairs,
    message_digest,
    message_items,
    showing,
)
from reviewer.review.labels import Label, seal
from reviewer.suite.rubric import Criterion, Level, Rubric

SUITE = "5" * 64
RUBRIC_DIGEST = "6" * 64


def trace(candidate: str, episode: str, text: str | None, attempt: int = 1) -> TraceMessage:
    trace_id = f"suite-v1/{candidate}/{episode}/{attempt}"
    return TraceMessage(trace_id=trace_id, episode_id=episode, attempt=attempt, text=text)


def pairs(count: int) -> tuple[Item, ...]:
    """`count` pairs, each of an episode of its own."""
    old = [trace("old", f"e{i}", f"old answer {i}") for i in range(count)]
    new = [trace("new", f"e{i}", f"new answer {i}") for i in range(count)]
    return candidate_pairs(SUITE, old, new).items


def messages(count: int) -> tuple[Item, ...]:
    return message_items(SUITE, [trace("new", f"e{i}", f"answer {i}") for i in range(count)]).items


def at(second: int) -> str:
    return f"2026-02-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def draft(item: Item, /, **changes: Any) -> Label:
    """A label as it is before it is sealed."""
    base = Label(
        item=item.item,
        kind=item.kind,
        suite_id="suite-v1",
        suite_digest=SUITE,
        episode_id=item.episode_id,
        reviewer="dana",
        rubric_id="r",
        rubric_version="v1",
        rubric_digest=RUBRIC_DIGEST,
        at=at(0),
        traces=item.traces,
    )
    if item.kind == "pair":
        sides = showing(item, changes.get("showing", 1), "seed")
        base = msgspec.structs.replace(base, left=sides.left, right=sides.right)
    else:
        base = msgspec.structs.replace(base, message=item.messages[0].digest)
    return msgspec.structs.replace(base, **changes)


def label(item: Item, /, **changes: Any) -> Label:
    silent = changes.get("withdrawn") or changes.get("skipped")
    said = {"answer": "left"} if item.kind == "pair" else {"marks": {"accurate": 1}}
    return seal(draft(item, **({} if silent else said) | changes))


def choosing(item: Item, winner: str, **changes: Any) -> Label:
    """A label of a pair whose winner is the side that `old …` or `new …` stands on, or a word."""
    number = changes.get("showing", 1)
    sides = showing(item, number, "seed")
    digest = next((m.digest for m in item.messages if m.text.startswith(winner)), None)
    answer = {sides.left: "left", sides.right: "right"}.get(digest or "", winner)
    return label(item, answer=answer, **changes)


def rubric(scale: str = "binary") -> Rubric:
    values = {"binary": (1, 2), "five": (1, 3, 5), "levels": (1, 2, 3)}[scale]
    criterion = Criterion(
        criterion_id="accurate",
        title="accurate",
        asks="says only what was done",
        scale=scale,  # type: ignore[arg-type]
        levels=tuple(Level(value=value, label=str(value)) for value in values),
    )
    return Rubric(rubric_id="r", version="v1", criteria=(criterion,))


def digest(text: str) -> str:
    return message_digest(text)
