"""Questions that nobody waits for stop at their next step: a query, or a part of a long one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
STEPS = 200_000
"""Instructions of SQLite between two looks at whether to stop: a few milliseconds."""


class Stopped(Exception):
    """The question was given up: there is no answer, and nothing is wrong."""


_asked: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


@contextmanager
def until(stop: Callable[[], bool]) -> Iterator[None]:
    """Let what this thread reads within raise Stopped once `stop` answers True."""
    token = _asked.set(stop)
    try:
        yield
    finally:
        _asked.reset(token)


def watched() -> Callable[[], bool] | None:
    """The check that says whether this thread must stop; None where nothing can stop it."""
    return _asked.get()


def check() -> None:
    """Raise Stopped where this thread is to stop."""
    stop = _asked.get()
    if stop is not None and stop():
        raise Stopped


def steps(items: Iterable[T]) -> Iterator[T]:
    """Yield each item, and look before it whether to stop."""
    for item in items:
        check()
        yield item
