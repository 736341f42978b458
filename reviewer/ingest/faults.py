"""What a reader did not foresee costs the file that has it, not the import.

Readers meet whatever a file holds, and readers of other packages are not ours to test. A fault of
one is told as what it is; REVIEWER_DEBUG=1 lets it through, so that it shows where.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from reviewer.ingest.split import Unreadable

T = TypeVar("T")


@contextmanager
def foreseen(*known: type[Exception]) -> Iterator[None]:
    """Turns what nobody foresaw into Unreadable; `known` exceptions pass."""
    told: tuple[type[Exception], ...] = (Unreadable, OSError, *known)
    try:
        yield
    except told:
        raise
    except Exception as error:
        if os.environ.get("REVIEWER_DEBUG"):
            raise
        fault = f"a fault of its reader: {type(error).__name__}; REVIEWER_DEBUG=1 shows where"
        raise Unreadable(fault) from error


def asked(question: Callable[[], T], otherwise: T) -> T:
    """An answer; `otherwise` when a reader breaks over the question."""
    try:
        with foreseen():
            return question()
    except Unreadable:
        return otherwise
