"""Abandoned questions stop at their next step: a query, or a part of a long one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
STEPS = 200_000
"""Instructions of SQLite between two checks for stopping: a few milliseconds."""


class Stopped(Exception):
    """The question was abandoned: there is no answer, and nothing is wrong."""


_asked: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


@contextmanager
def until(stop: Callable[[], bool]) -> Iterator[None]:
    """Make the reads of this thread raise Stopped within this context once `stop` returns True."""
    token = _asked.set(stop)
    try:
        yield
    finally:
        _asked.reset(token)


def watched() -> Callable[[], bool] | None:
    """Return the check that says whether this thread must stop; None where nothing can stop it."""
    return _asked.get()


def check() -> None:
    """Raise Stopped where this thread must stop."""
    stop = _asked.get()
    if stop is not None and stop():
        raise Stopped


def steps(items: Iterable[T]) -> Iterator[T]:
    """Yield each item, checking before it whether to stop."""
    for item in items:
        check()
        yield item
