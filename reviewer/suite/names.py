"""What an id, a tool name and a path inside a suite may look like, and which known word a typo
means."""

import re
import unicodedata

MAX_ID = 200
MAX_NAME = 512
NEAR = 0.75
"""The least likeness at which a known word is named as the one that was meant."""

_PLAIN = re.compile(r"[^a-z0-9]")


def id_problem(text: str) -> str | None:
    """Why `text` cannot be an id (it becomes a file name and a part of a trace id), or None."""
    if "/" in text or "\\" in text:
        return "an id may not contain a path separator"
    if text.startswith("."):
        return "an id may not start with a dot"
    if len(text) > MAX_ID:
        return f"an id may have at most {MAX_ID} characters, this one has {len(text)}"
    return _text_problem(text, "an id")


def name_problem(text: str) -> str | None:
    """Why `text` cannot be the name of a tool, a tag or the like, or None."""
    if len(text) > MAX_NAME:
        return f"a name may have at most {MAX_NAME} characters, this one has {len(text)}"
    return _text_problem(text, "a name")


def path_problem(path: str) -> str | None:
    """Why `path` cannot stand in a lock, or None.

    Refused: absolute paths, `.` and `..` parts, backslashes, control characters, names that are
    not NFC (two systems would store them under different bytes).
    """
    if "\\" in path:
        return "contains a backslash"
    if unprintable(path):
        return "contains a control character"
    if not path.isascii() and path != unicodedata.normalize("NFC", path):
        return "is not in Unicode form NFC"
    if path.startswith("/"):
        return "is absolute"
    if any(part in ("", ".", "..") for part in path.split("/")):
        return "has an empty, `.` or `..` part"
    return None


def unprintable(text: str) -> bool:
    """Whether `text` holds control, format, surrogate or line-breaking characters."""
    if text.isascii():
        return not text.isprintable()
    return any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


def likeness(written: str, known: str) -> float:
    """0 (nothing in common) to 1 (the same without case and separators)."""
    import difflib  # 3 ms, and only a typo needs it

    a, b = _PLAIN.sub("", written[:100].lower()), _PLAIN.sub("", known.lower())
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if a and b else 0.0


def _text_problem(text: str, what: str) -> str | None:
    if not text:
        return f"{what} may not be empty"
    if unprintable(text):
        return f"{what} may not contain control characters"
    if text != text.strip():
        return f"{what} may not start or end with a space"
    if text != unicodedata.normalize("NFC", text):
        return f"{what} must be in Unicode form NFC"
    return None
