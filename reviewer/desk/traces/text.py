"""The text of an event as a person reads it, and the places of words in it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from reviewer.trace.jsontree import indented, kind, text_in
from reviewer.trace.record import ABSENT, Event

AROUND = 36
"""Characters shown before a matched word."""
MOST = 160
LONG = 4096
"""Bytes of a field that are read for its first words."""
_PLAIN = re.compile(r"[A-Za-z0-9_.\- ]+")


def text_of(raw: Any) -> str:
    """Return a raw field as a person reads it: a string as it is, JSON indented, absent as
    empty."""
    if raw == ABSENT or raw == b"":
        return ""
    try:
        return text_in(raw) if kind(raw) == "text" else indented(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def brief_of(raw: Any, most: int) -> str:
    """Return the first `most` characters of `text_of`; of a long field, only its start is read."""
    if len(memoryview(raw)) <= LONG:
        return text_of(raw)[:most]
    start = bytes(memoryview(raw)[:LONG])
    if kind(start) != "text":
        return start.decode("utf-8", "ignore")[:most]
    for end in range(len(start), len(start) - 16, -1):  # the cut may be in a letter or an escape
        try:
            return text_in(start[:end] + b'"')[:most]
        except ValueError:
            continue
    return ""


def fields_of(event: Event) -> Iterator[Any]:
    """Yield the raw fields that a search looks into."""
    yield from (event.message, event.arguments, event.observation, event.state, event.approval)


def holding(events: Sequence[Event], text: str) -> list[int]:
    """Return the positions (from 0) of the events whose displayed text contains `text`, ignoring
    case.

    A text that JSON cannot write differently from the display is searched in the raw bytes: a trace
    of 50 MB is then read once without decoding.
    """
    wanted = text.casefold()
    if not wanted:
        return []
    if _PLAIN.fullmatch(text):
        quick = re.compile(re.escape(text.encode()), re.IGNORECASE)
        return [n for n, event in enumerate(events) if _quick(event, quick, wanted)]
    return [n for n, event in enumerate(events) if _slow(event, wanted)]


def _quick(event: Event, quick: re.Pattern[bytes], wanted: str) -> bool:
    if wanted in (event.tool or "").casefold():
        return True
    for raw in fields_of(event):
        data = bytes(raw)
        if quick.search(data):
            return True
        if (b"\\" in data or not data.isascii()) and wanted in text_of(raw).casefold():
            return True
    return False


def _slow(event: Event, wanted: str) -> bool:
    return wanted in (event.tool or "").casefold() or any(
        wanted in text_of(raw).casefold() for raw in fields_of(event)
    )


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a query, each once: runs of letters and digits, as the index splits text.
    Quotes, operators and all other characters only separate words."""
    return tuple(dict.fromkeys(word for each in typed(text) if (word := bare(each))))


def typed(text: str) -> list[str]:
    """Return the words as they were typed, since the index folds letters in its own way."""
    whole = unicodedata.normalize("NFC", text)
    return "".join(char if _in_word(char) else " " for char in whole).split()


def bare(text: str) -> str:
    """Return a text without letter case and without diacritics, as the index compares."""
    if text.isascii():
        return text.casefold()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if unicodedata.category(char) != "Mn")


def _in_word(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in "LNM" or category == "Co"


def how_many(text: str, words: Sequence[str]) -> int:
    """Count those words, as `words_of` returns them, with which a word of the text begins."""
    folded = bare(text)
    if not any(word in folded for word in words):
        return 0
    known = words_of(text)
    return sum(any(each.startswith(word) for each in known) for word in words)


def plain_text(event: Event) -> str:
    """Return the text of an event that the index contains."""
    parts = [event.tool or ""]
    parts += [text_of(raw) for raw in (event.arguments, event.observation, event.message)]
    return "\n".join(part for part in parts if part)


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return one line of `text` around the first of the words in it."""
    flat = " ".join(text.split())
    folded = bare(flat)  # other length with diacritics: the cut is then approximate
    found = [at for word in words if (at := folded.find(word)) >= 0]
    start = max(0, min(found, default=0) - AROUND)
    cut = flat[start : start + MOST]
    return ("…" if start else "") + cut + ("…" if start + MOST < len(flat) else "")
