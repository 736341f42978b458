"""Proposing by their names which tools read and which write; and their names as words."""

import re

READS = frozenset(
    {
        "browse", "calculate", "check", "compare", "compute", "count", "describe", "diff",
        "download", "exists", "explain", "export", "fetch", "filter", "find", "get", "has",
        "head", "inspect", "is", "list", "load", "lookup", "look", "peek", "preview", "query",
        "read", "retrieve", "search", "select", "show", "summarize", "test", "track",
        "validate", "verify", "view", "whoami",
    }
)  # fmt: skip
"""First words of names of tools that change nothing."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a tool's name, without the namespace before it."""
    last = re.split(r"__|[./:]", name)[-1]
    return [part.lower() for part in _PARTS.findall(last)] or [name]


def reads(name: str) -> bool:
    """Return whether a tool of this name is likely to change nothing."""
    return words_of(name)[0] in READS


def sentence(name: str) -> str:
    """Return a tool's name as words: `create_refund` is `create refund`."""
    return " ".join(words_of(name))
