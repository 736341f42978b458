"""Text in a page: made visible, then escaped, so that nothing of a trace is markup."""

from html import escape

from reviewer.report.marks import Marked
from reviewer.report.words import Name
from reviewer.trace.safetext import visible, visible_line


def plain(text: str) -> str:
    """One line, for an element or for an attribute in double quotes."""
    return escape(visible_line(text))


def lines(text: str) -> str:
    """Several lines, for a `<pre>`."""
    return escape(visible(text))


def cell(text: str) -> str:
    """One line, an identifier as code, a verdict in its color beside sign and word."""
    safe = plain(text)
    if isinstance(text, Marked):
        return f'<span class="{text.mark}">{safe}</span>'
    return f"<code>{safe}</code>" if isinstance(text, Name) else safe
