"""Phrases in the words of an agent, a user or a tool: whether they occur, and whether a message
asks."""

import json
import re
from collections.abc import Iterable
from typing import Any

from reviewer.suite.wording import readings, stands_in, wording

_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]?")
_REQUEST = re.compile(
    r"\?|\b(?:please|could you|can you|would you|may i|do you|let me know|tell me|provide|"
    r"confirm|i(?:'ll| will)? need|what|which|when|who)\b",
    re.I,
)
_CONFIRM = re.compile(
    r"\b(?:confirm|proceed|go ahead|is that (?:ok|okay|correct|right)|would you like|shall i|"
    r"do you want|yes or no|\(yes/no\)|are you sure)\b",
    re.I,
)


def says_one_of(phrases: Iterable[str], message: str) -> bool:
    """Return whether one of these phrases is in a message."""
    read = readings(message)
    return any(stands_in(phrase, read) for phrase in phrases)


def asks_one_of(phrases: Iterable[str], message: str) -> bool:
    """Return whether one of these phrases is in a sentence of the message that asks or requests
    something."""
    wanted = tuple(phrases)
    return any(
        _REQUEST.search(one) is not None and says_one_of(wanted, one)
        for one in _SENTENCE.findall(message)
    )


def as_text(answer: Any) -> str:
    """Return the answer of a tool as a user reads it."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def asks_to_confirm(message: str) -> bool:
    """Return whether a message ends with a question whether to go on, so that the answer leaves the
    agent something to do."""
    sentences = [one for one in _SENTENCE.findall(message) if one.strip()]
    return bool(sentences) and any(
        _CONFIRM.search(one) and ("?" in one or "confirm" in one.casefold())
        for one in sentences[-3:]
    )


def folded(message: str) -> str:
    """Return a message in the form for comparison: case folded, without marks and spaces at the
    ends."""
    return wording(message).strip(" .!?")
