"""Wording of a final message as it is compared, and wording that nothing could be compared with."""

import re
import unicodedata

from reviewer.trace.safetext import HOSTILE_IN_LINE

_UNSEEN = re.compile(f"(?![\\t\\n\\r]){HOSTILE_IN_LINE.pattern}")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|code|del|div|em|font|h[1-6]|i|ins|kbd|li|mark|ol|p|pre|q|s|small|span|"
    r"strike|strong|sub|sup|tt|u|ul)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\](?:\([^()\s]{0,2000}\)|\[[^\[\]\n]{0,200}\])")
_LEADING = re.compile(r"^[ \t]*(?:>[ \t]*|#{1,6}[ \t]+)+", re.MULTILINE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKUP = str.maketrans(dict.fromkeys("*_~`"))
_MARKED = re.compile(r"[*_~`<>\[#\\]")
_ENTITIES = 3
"""Times that a text may have been escaped over."""


def wording(text: str) -> str:
    """Text as wording is compared: case folded, each run of whitespace one space."""
    return " ".join(text.casefold().split())


def unhidden(text: str) -> str:
    """Text with its entities and forms read and its invisible characters left out."""
    if text.isascii() and "&" not in text and text.isprintable():
        return text
    for _ in range(_ENTITIES):
        if "&" not in text:
            break
        from html import unescape  # its table of names takes a millisecond

        text = unescape(text)
    text = _UNSEEN.sub("", text)
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def seen_through(text: str) -> str:
    """Text as a person sees it: `unhidden`, without the marks of Markdown and HTML."""
    text = unhidden(text)
    if not _MARKED.search(text):
        return text
    text = _TAG.sub("", _uncommented(text))
    text = _LEADING.sub("", _LINK.sub(r"\1", text))
    return _ESCAPED.sub(r"\1", text).translate(_MARKUP)


def _uncommented(text: str) -> str:
    kept, place = [], 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[place:start])
        place = end + 3
    return "".join((*kept, text[place:]))


def readings(message: str) -> tuple[str, ...]:
    """The ways a message is looked into for wording: as it is written, and as it is seen."""
    plain = unhidden(message)
    return tuple(dict.fromkeys(map(wording, (message, plain, seen_through(message)))))


def stands_in(text: str, read: tuple[str, ...]) -> bool:
    """Return whether wording stands in a message, of which these are the `readings`."""
    wanted = {wording(text), wording(unhidden(text))} - {""}
    return any(one in reading for one in wanted for reading in read)


def stands_hidden_in(text: str, read: tuple[str, ...]) -> bool:
    """As `stands_in`, also where only the marks in the wording itself tell the two apart: for what
    a message may not say."""
    plain = wording(seen_through(text))
    return stands_in(text, read) or bool(plain and any(plain in reading for reading in read))


def stands_loosely_in(text: str, message: str) -> bool:
    """Return whether the words of a wording stand in a message in a row, whatever signs, tags,
    colors, accents, look-alikes or footnotes stand between and on them: nobody can say that it is
    there, nor that it is not."""
    if len(message) > LONGEST or _MARKED.search(text):
        return False  # marks of its own may be what tells it from other words
    wanted = _words(text)
    return bool(wanted) and f" {wanted} " in f" {_words(message)} "


LONGEST = 100_000
"""Characters of a message that are looked into so."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CODED = re.compile(r"\\u([0-9a-fA-F]{4})")
_NOTED = re.compile(r"\[\^?\d+\]|<sup>[^<]{0,20}</sup>", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> str:
    text = _CODED.sub(lambda match: chr(int(match[1], 16)), _ANSI.sub("", text))
    text = _TAG.sub(" ", _NOTED.sub("", _uncommented(unhidden(text))))
    text = _LINK.sub(r"\1", text).casefold()
    if not text.isascii():
        from disarm import skeleton_key  # 60 ms, and most messages have no need of it

        text = str(skeleton_key(text.encode("utf-8", "replace").decode())).casefold()
        text = "".join(
            one for one in unicodedata.normalize("NFKD", text) if unicodedata.category(one) != "Mn"
        )
    return " ".join(_WORD.findall(text.translate(_MARKUP)))


def wording_problem(text: str) -> str | None:
    """Why `text` cannot be looked for in a message, or None."""
    if HOSTILE_IN_LINE.sub("", text).strip():
        return None
    return "is blank, so no message is told from another by it: write the words, or take it out"
