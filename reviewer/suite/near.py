"""How like a word somebody wrote is to one that is known."""

import difflib
import re

NEAR = 0.75
"""The least likeness at which a known word is named as the one that was meant."""

_PLAIN = re.compile(r"[^a-z0-9]")


def likeness(written: str, known: str) -> float:
    """0 (nothing in common) to 1 (the same without case and separators)."""
    a, b = _PLAIN.sub("", written[:100].lower()), _PLAIN.sub("", known.lower())
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if a and b else 0.0
