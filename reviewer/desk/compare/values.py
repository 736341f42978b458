"""JSON values and texts of two attempts, as they are set side by side."""

from typing import Any

import msgspec

from reviewer.desk.traces.changes import changes
from reviewer.stats.trajectory import canonical, common_subsequence
from reviewer.trace.record import ABSENT

MOST_WORDS = 3_000
"""Words of a text that are compared, from its start."""
SHORT = 120
"""Characters of a value in a line."""


def value_of(raw: msgspec.Raw) -> Any:
    """The value of a raw field that is there; text when it is no JSON."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def key_of(raw: msgspec.Raw) -> str:
    """One text per JSON value: equal values, and only they, have equal texts; "" for none."""
    if raw == ABSENT:
        return ""
    try:
        return canonical(value_of(raw))
    except ValueError:  # nested past what can be walked: its bytes stand for it
        return bytes(raw).hex()


def field_changes(before: dict[str, msgspec.Raw], after: dict[str, msgspec.Raw]) -> list[str]:
    """Worded changes between fields of the same names, a line a path, as `state_changes` words
    them; a field that is absent on one side is added or removed."""
    sides = [
        {name: value_of(raw) for name, raw in side.items() if raw != ABSENT}
        for side in (before, after)
    ]
    return changes(*sides)


def short(raw: msgspec.Raw) -> str:
    """A raw field on one line of at most 120 characters; "" for none."""
    text = key_of(raw)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def word_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Runs of words in order: `=` in both, `-` before only, `+` after only. Of long texts the
    first 3,000 words are compared; the rest is left out."""
    old, new = before.split()[:MOST_WORDS], after.split()[:MOST_WORDS]
    runs: list[tuple[str, list[str]]] = []

    def say(sign: str, words: list[str]) -> None:
        if words and runs and runs[-1][0] == sign:
            runs[-1][1].extend(words)
        elif words:
            runs.append((sign, list(words)))

    i = j = 0
    for a, b in (*common_subsequence(old, new), (len(old), len(new))):
        say("-", old[i:a])
        say("+", new[j:b])
        say("=", old[a : a + 1])
        i, j = a + 1, b + 1
    return [(sign, " ".join(words)) for sign, words in runs]
