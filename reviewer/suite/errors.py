"""Problems of files that people wrote (which file, where in it, and why), and the rules for ids,
tool names and paths inside a suite.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_LONGEST = 80


class Problem(NamedTuple):
    """One thing wrong with one file. `path` is a JSON path such as `$.tools.allowed[0]`."""

    file: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{shown(self.file, 200)}: {self.path}: {self.reason}"


class ContractError(ValueError):
    """A file that cannot be used. `problems` holds everything found, in order.

    The text is one `file: path: reason` line per problem; `file`, `path` and `reason` are those
    of the first.
    """

    def __init__(self, file: str, path: str, reason: str, more: Iterable[Problem] = ()) -> None:
        self.file = file
        self.path = path
        self.reason = reason
        self.problems: tuple[Problem, ...] = (Problem(file, path, reason), *more)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "ContractError":
        """Return the error that carries all of `problems` (at least one)."""
        first = problems[0]
        return cls(first.file, first.path, first.reason, problems[1:])


def shown(text: str, longest: int = _LONGEST) -> str:
    """Return `text` in a form for a message: unprintable characters are escaped, length is
    capped."""
    safe = "".join(c if c.isprintable() else _escaped(c) for c in text[: longest + 1])
    return safe if len(text) <= longest else safe[:longest] + "…"


def json_path(parts: Iterable[str | int]) -> str:
    """Return `("tools", "allowed", 0)` as `$.tools.allowed[0]`; unusual names are quoted."""
    out = ["$"]
    for part in parts:
        if isinstance(part, int):
            out.append(f"[{part}]")
        elif part.isidentifier():
            out.append(f".{shown(part)}")
        else:
            out.append('["' + shown(part).replace('"', '\\"') + '"]')
    return "".join(out)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


MAX_ID = 200
MAX_NAME = 512
NEAR = 0.75
"""The least similarity at which a known word is suggested."""

_PLAIN = re.compile(r"[^a-z0-9]")


def id_problem(text: str) -> str | None:
    """Return why `text` cannot be an id (it becomes a file name and a part of a trace id), or
    None."""
    if "/" in text or "\\" in text:
        return "an id may not contain a path separator"
    if text.startswith("."):
        return "an id may not start with a dot"
    if len(text) > MAX_ID:
        return f"an id may have at most {MAX_ID} characters, this one has {len(text)}"
    return _text_problem(text, "an id")


def name_problem(text: str) -> str | None:
    """Return why `text` cannot be the name of a tool, a tag or the like, or None."""
    if len(text) > MAX_NAME:
        return f"a name may have at most {MAX_NAME} characters, this one has {len(text)}"
    return _text_problem(text, "a name")


def path_problem(path: str) -> str | None:
    """Return why `path` cannot be in a lock, or None.

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
    """Return whether `text` holds control, format, surrogate or line-breaking characters."""
    if text.isascii():
        return not text.isprintable()
    return any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


def likeness(written: str, known: str) -> float:
    """Return the similarity, from 0 (nothing in common) to 1 (equal except for case and
    separators)."""
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
