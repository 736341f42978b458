"""A report as Markdown (CommonMark with tables), with everything from a trace made inert."""

import re

from reviewer.report.formatting import Name
from reviewer.report.model import Report
from reviewer.report.page import page
from reviewer.report.page_parts import NOTHING, Section, Supplement
from reviewer.trace.safetext import visible_line

_TAME = re.compile(r"[A-Za-z0-9_.,:;/=+^~ ×-]+")
_PUNCTUATION = re.compile(r"([\\`*_\[\]#|~$])")
_LEADING = re.compile(r"^(\d*)([-+=.)])")


def render_markdown(report: Report, beside: Supplement = NOTHING) -> str:
    """Return the whole report as Markdown, ending in a newline."""
    return "\n\n".join(markdown_of(part) for part in page(report, beside)) + "\n"


def markdown_of(part: Section) -> str:
    """Return one part with its heading, without a newline at the end."""
    heading = "#" * part.level + " " + _text(part.title)
    return "\n\n".join([heading, *_body(part)])


def _body(part: Section) -> list[str]:
    parts = [_line(line) for line in part.lines]
    items = ["\n".join(f"- {_line(item)}" for item in part.items)] if part.items else []
    if part.excerpt is not None:  # first the findings, then their events
        parts, items = [*items, *parts], []
    if part.code:
        # One line each, none beginning with the fence, so that the fence cannot be closed from
        # inside.
        parts.append("\n".join(["```text", *(" " + visible_line(c) for c in part.code), "```"]))
    if part.rows:
        rule = "|".join(" --- " for _ in part.head)
        lines = [_row(part.head), f"|{rule}|", *(_row(row) for row in part.rows)]
        parts.append("\n".join(lines))
    parts += items
    if part.terms:
        parts.append("\n".join(f"- **{_text(term)}**: {_text(said)}" for term, said in part.terms))
    return parts


def _line(text: str) -> str:
    """Return the same as `_text` for the start of a line, where a dash or a number would begin a
    list."""
    return _LEADING.sub(r"\1\\\2", _text(text))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(_text(cell) for cell in cells) + " |"


def _text(text: str) -> str:
    """Return escaped text; an identifier of plain characters becomes a code span, for copying."""
    line = visible_line(text)
    if isinstance(text, Name) and _TAME.fullmatch(line) and line.strip() == line:
        return f"`{line}`"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _PUNCTUATION.sub(r"\\\1", line)
    # Neither a link nor a mention of a user.
    return line.replace("://", ":\\/\\/").replace("@", "&#64;").replace("www.", "www\\.")
