"""Filling a judge's prompt: plain replacement, in one pass, of masked text only."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reviewer.contract.model import Rubric

NO_MESSAGE = "[no final message]"
NO_CRITERIA = "[none given]"
NO_OBSERVATION = "[none]"
MOST_OBSERVED = 48_000
"""Characters of all observations of one trace; those beyond are left out, and it is said."""

_PLACES = re.compile(r"\{(user_request|criteria|left|right|message|observations)\}")


class Observed(NamedTuple):
    """What a trace saw at one event; `text` is JSON or plain text."""

    seq: int
    tool: str
    status: str
    text: str


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """The prompt with each {place} that `values` names replaced. What is put in is not looked at
    again, so a message that spells a place stays as it is; every other brace is text."""
    return _PLACES.sub(lambda found: values.get(found[1], found[0]), prompt)


def message_text(text: str) -> str:
    return text or NO_MESSAGE


def criteria_text(rubric: Rubric | None) -> str:
    """The rubric's questions, a line each, with what the two ends look like."""
    lines = []
    for criterion in rubric.criteria if rubric else ():
        ends = [
            f"{name}: {end}"
            for name, end in (("weak", criterion.weak), ("strong", criterion.strong))
            if end
        ]
        tail = f" ({'; '.join(ends)})" if ends else ""
        lines.append(f"- {criterion.title}: {criterion.asks}{tail}")
    return "\n".join(lines) or NO_CRITERIA


def observations_text(observed: Iterable[Observed]) -> tuple[str, tuple[int, ...]]:
    """What a trace saw, an event each, and the numbers of the events that are shown."""
    lines: list[str] = []
    shown: list[int] = []
    left_out = size = 0
    for one in observed:
        line = f"[event {one.seq}] {one.tool} ({one.status}): {one.text}"
        size += len(line)
        if size > MOST_OBSERVED:
            left_out += 1
        else:
            lines.append(line)
            shown.append(one.seq)
    if left_out:
        lines.append(f"[{left_out} further observations are left out]")
    return "\n".join(lines) or NO_OBSERVATION, tuple(shown)
