"""Whether an answer is GAIA's, by the rule of its own leaderboard: a number as a number, a list
element by element, anything else without blanks, case and punctuation."""

import re
import string

_UNITS = str.maketrans("", "", "$%,")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PARTS = re.compile("[,;]")
_BLANKS = re.compile(r"\s")


def right(answer: str | None, gold: str) -> bool:
    """Return whether the benchmark counts `answer` as `gold`; no answer is a wrong one."""
    said = "None" if answer is None else answer
    number = _number(gold)
    if number is not None:
        return _number(said.translate(_UNITS)) == number
    if not _PARTS.search(gold):
        return _plain(said).translate(_PUNCTUATION) == _plain(gold).translate(_PUNCTUATION)
    ours, theirs = _PARTS.split(said), _PARTS.split(gold)
    return len(ours) == len(theirs) and all(map(_part, ours, theirs))


def _part(answer: str, gold: str) -> bool:
    number = _number(gold)
    if number is not None:
        return _number(answer.translate(_UNITS)) == number
    return _plain(answer) == _plain(gold)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _plain(text: str) -> str:
    return _BLANKS.sub("", text).lower()
