"""The base of every value of a suite's files."""

from collections.abc import Set
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder


def learned(*kinds: Any) -> None:
    """Have msgspec learn these types and all their parts; 0.1 ms each.

    msgspec learns a struct when it first converts to it, and two threads that make it learn the
    same one at once end the process. A module that calls this where it is imported has it learn
    under the import's own lock, before another thread can have the type.
    """
    for kind in kinds:
        Decoder(kind)


class Value(Struct, frozen=True, kw_only=True):
    """Base of every value: immutable, compared by content.

    A file shape has its kind and version in `SCHEMA`; `ORDER` names the members that the border
    checks and publishes first, where that is not the order of the fields.
    """

    def problem(self, given: Set[str]) -> str | None:
        """Return why the members contradict one another, or None. `given` are those that the file
        has. Called at the border, on a model with the same members."""
        return None
