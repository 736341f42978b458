"""Final messages as they are shown to be compared, fenced from the screen's own lines."""

import re

from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.words import plural
from reviewer.tui.widgets.wrap import Block

MISSING = "○ no final message in this trace"


_ALIKE = re.compile(
    r"""^(?:
        [^\n]*<[ ]*/?[ ]*
            (?:left|right|message|request|user_request|criteria|observations)\b[^<>\n]*>
        | (?:[^\w\n]|_)*(?:left|right|final[ ]message|user[ ]request)(?:[^\w\n]|_)*$
        | [ \t]*[─━═│┃┊]
    )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""Lines with a tag that prompts put around a text, that are nothing but the name of a side, or that
begin as a rule or a fence does."""


def blocks(text: str | None) -> list[Block]:
    """A message as it is shown, behind its fence; one that is missing says so."""
    return [Block(MISSING, "not_measured")] if not text else [Block(text, quoted=True)]


def alike(text: str | None) -> list[Span]:
    """What is said above a text that spells something like the screen's or a prompt's own lines."""
    count = sum(1 for _ in _ALIKE.finditer(text or ""))
    return [Span(f"{plural(count, 'line')} like ours, fenced", "quarantined")] if count else []
