"""Floor 1: trace records, whether they may be believed, and redaction. Pure.

`late` compiles a pattern when it is first used: a file needs few of those there are, and compiling
all of them would take half as long as reading a small file.
"""

import re
from typing import Any, AnyStr, cast


class _Late:
    def __init__(self, text: Any, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        self.__dict__[name] = found
        return found


def late(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compile a pattern at its first use. An error in a pattern shows only there: each has
    tests."""
    return cast(re.Pattern[AnyStr], _Late(text, flags))
