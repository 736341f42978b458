"""Patterns that are compiled when they are first asked: a file needs few of those there are, and
compiling all of them would take half as long as reading a small file."""

import re
from typing import Any, cast


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        self.__dict__[name] = found
        return found


def late(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use. What is wrong in a pattern shows there: each has tests."""
    return cast(re.Pattern[str], _Late(text, flags))
