"""Wording of a final message as it is compared, and wording that nothing could be compared with."""

from reviewer.trace.safetext import HOSTILE_IN_LINE


def wording(text: str) -> str:
    """Text as wording is compared: case folded, each run of whitespace one space."""
    return " ".join(text.casefold().split())


def wording_problem(text: str) -> str | None:
    """Why `text` cannot be looked for in a message, or None."""
    if HOSTILE_IN_LINE.sub("", text).strip():
        return None
    return "is blank, so no message is told from another by it: write the words, or take it out"
