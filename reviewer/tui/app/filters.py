"""The last line of defence: what no segment may carry to the terminal, whoever drew it."""

import os
import sys
import unicodedata

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from reviewer.trace.safetext import HOSTILE_IN_LINE

_ASCII = str.maketrans(
    {
        **dict(zip("✓✗▲○►·†●◊§", "+x#o>.%@oS", strict=True)),
        **dict.fromkeys("━═", "="),
        **dict.fromkeys("─", "-"),
        **dict.fromkeys("│┃┊", "|"),
        **dict(zip("█░", "#-", strict=True)),
        **dict.fromkeys("┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋┯┷", "+"),
        **dict(zip("›…→←↑↓×≥≤≠▸▾", ">~><^vx><!>v", strict=True)),
    }
)


class SafeText(LineFilter):
    """Drops what is hostile from every segment. Widgets show it as pictures (safetext); a segment
    that still has some came round that door."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(HOSTILE_IN_LINE.sub("", text), style, control)
            if not control and HOSTILE_IN_LINE.search(text)
            else segment
            for segment in segments
            for text, style, control in (segment,)
        ]


def plain_terminal() -> bool:
    """Whether this terminal cannot be trusted with glyphs."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return encoding not in ("utf8", "utf16", "utf32") or os.environ.get("TERM") == "linux"


class AsciiOnly(LineFilter):
    """Draws glyphs and rules in ASCII, and `?` for what a plain terminal cannot show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(_plain(text), style, control) for text, style, control in segments]


def _plain(text: str) -> str:
    if text.isascii():
        return text
    text = text.translate(_ASCII)
    if text.isascii():
        return text
    return "".join(
        char if char.isascii() else _letter(char) if cell_len(char) == 1 else "?" * cell_len(char)
        for char in text
    )


def _letter(char: str) -> str:
    """A letter without its accent, else `?`."""
    base = unicodedata.normalize("NFKD", char)[0]
    return base if base.isascii() and base.isprintable() else "?"
