"""One section of the page that HTML and Markdown are drawn from.

Nothing in it is escaped: a rendering passes every text through `visible_line` and its own escape.
"""

from msgspec import Struct

from reviewer.report.beside import Excerpt

Terms = list[tuple[str, str]]
"""(the figure's name in its table, the sentence that explains it)."""


class Section(Struct, frozen=True):
    """One section. `rows` are aligned with `head`; `code` are lines to be typed; `terms` explain
    its figures, each with its denominator and method. `level` is that of its heading, and
    `excerpt` is the trace whose events it shows."""

    title: str
    lines: list[str] = []
    items: list[str] = []
    head: list[str] = []
    rows: list[list[str]] = []
    code: list[str] = []
    terms: Terms = []
    level: int = 2
    excerpt: Excerpt | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing but the title is there."""
        return not (self.lines or self.items or self.rows or self.code)
