"""Filling a judge's prompt: plain replacement, in one pass, of masked text only.

What others wrote stands between two lines with a token that none of it holds, so that no message
can end its own quotation, whatever delimiters the prompt is written with.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from reviewer.suite.canonical import sha256_hex
from reviewer.suite.rubric import Asked, Rubric

NO_MESSAGE = "[no final message]"
NO_CRITERIA = "[none given]"
NO_OBSERVATION = "[none]"
MOST_OBSERVED = 48_000
"""Characters of all observations of one trace; those beyond are left out, and it is said."""

_TOKEN = 16
_PLACES = re.compile(r"\{(user_request|criteria|left|right|message|observations)\}")


class Observed(NamedTuple):
    """What a trace saw at one event; `text` is JSON or plain text."""

    seq: int
    tool: str
    status: str
    text: str


def prompt_digest(asked: Asked) -> str:
    """sha256 of the prompt as it is frozen with the suite, its places unfilled."""
    return sha256_hex(asked.prompt.encode())


def fence_token(item: str, texts: Collection[str]) -> str:
    """What marks the ends of every quotation about an item: the same each time, and in none of
    `texts`. It follows from the item's name, which is made of the messages' digests: nobody writes
    a message that holds its own."""
    number = 0
    while True:
        token = sha256_hex(f"fence {number} {item}".encode())[:_TOKEN]
        if not any(token in text for text in texts):
            return token
        number += 1


def fenced(text: str, token: str) -> str:
    """The text as a quotation that only `token` ends."""
    return f"[quoted text {token} begins]\n{text}\n[quoted text {token} ends]"


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """The prompt with each {place} that `values` names replaced. What is put in is not looked at
    again, so a message that spells a place stays as it is; every other brace is text."""
    return _PLACES.sub(lambda found: values.get(found[1], found[0]), prompt)


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
    """What a trace saw, an event to a line, and the numbers of the events that are shown; "" when
    it saw nothing."""
    lines: list[str] = []
    shown: list[int] = []
    left_out = size = 0
    for one in observed:
        said = "\\n".join(one.text.splitlines())  # none of it begins a line as an event does
        line = f"[event {one.seq}] {one.tool} ({one.status}): {said}"
        size += len(line)
        if size > MOST_OBSERVED:
            left_out += 1
        else:
            lines.append(line)
            shown.append(one.seq)
    if left_out:
        lines.append(f"[{left_out} further observations are left out]")
    return "\n".join(lines), tuple(shown)
