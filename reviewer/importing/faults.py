"""What a reader did not foresee costs the file that has it, not the import.

Readers meet whatever a file holds, and readers of other packages are not ours to test. A fault of
one is told as what it is, by the reader's name. REVIEWER_DEBUG=1 shows where it happened, on the
standard error stream; REVIEWER_DEBUG=raise lets it through, for who looks for faults.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from reviewer.importing.pipeline.split import Unreadable
from reviewer.trace.safetext import visible

T = TypeVar("T")
DEBUG = "REVIEWER_DEBUG"


@contextmanager
def foreseen(reader: str = "", *known: type[Exception]) -> Iterator[None]:
    """Turns what nobody foresaw into Unreadable; `known` exceptions pass. `reader` is the name of
    the reader at work."""
    told: tuple[type[Exception], ...] = (Unreadable, OSError, *known)
    try:
        yield
    except told:
        raise
    except Exception as error:
        if os.environ.get(DEBUG) == "raise":
            raise
        show(error, reader)
        raise Unreadable(f"{_named(reader, error)}; {DEBUG}=1 shows where") from error


def asked(question: Callable[[], T], otherwise: T, reader: str = "") -> T:
    """An answer; `otherwise` when a reader breaks over the question."""
    try:
        with foreseen(reader):
            return question()
    except Unreadable:
        return otherwise


def show(error: BaseException, reader: str) -> None:
    """Where a fault happened, for who asked for it. It may quote a hostile file."""
    if os.environ.get(DEBUG):
        lines = "".join(traceback.format_exception(error))
        sys.stderr.write(f"{_named(reader, error)}\n{visible(lines)}")


def _named(reader: str, error: BaseException) -> str:
    whose = f"the reader {visible(reader)}" if reader else "its reader"
    return f"a fault of {whose}: {type(error).__name__}"
