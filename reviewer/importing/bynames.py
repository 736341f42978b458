"""What follows from the names of an object's members alone, worked out once.

Files hold many objects of few shapes. What is kept is bounded, whatever names a file has.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

MOST = 4096
"""Shapes that are kept."""
LONGEST = 2000
"""Characters of all names together, beyond which a shape is not kept."""

Found = TypeVar("Found")
Names = tuple[str, ...]


class ByNames(dict[Names, Found], Generic[Found]):
    """`self[tuple(value)]` is what `work` says of these names, in this order."""

    def __init__(self, work: Callable[[Names], Found]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, names: Names) -> Found:
        found = self._work(names)
        if len(self) < MOST and sum(map(len, names)) <= LONGEST:
            self[names] = found
        return found
