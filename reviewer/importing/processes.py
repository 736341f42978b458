"""Processes that do a part of an import: how many, how they are started, and how they end with the
import."""

import errno
import gc
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
MOST = 4
WORTH = 24 << 20
"""Bytes of a file from which it is worth starting processes."""
WORTH_ONE = 3 << 20
"""Bytes of another tool's file from which it is worth starting one process beside the reading
one."""


_is_one = False
"""Whether this process is one of them: it starts none itself."""


def workers() -> int:
    """Return how many processes may work: the processors this process may use, up to MOST."""
    if _is_one:
        return 1
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system can say
        allowed = os.cpu_count() or 1
    return min(allowed, MOST)


def worth_processes(size: int) -> bool:
    """Return whether it is worth starting processes for `size` bytes."""
    return size >= WORTH and workers() > 1


def worth_one(size: int) -> bool:
    """Return whether `size` bytes of another tool's file are worth one more process: one that
    starts at once, since it inherits everything loaded here."""
    return size >= WORTH_ONE and can_fork()


def can_fork() -> bool:
    """Return whether processes can be started at once, inheriting everything loaded here."""
    return workers() > 1 and start_method() == "fork"


def start_method() -> str:
    """Return how to start them. Forking saves each process its imports; it is safe only while no
    other thread runs here."""
    alone = sys.platform == "linux" and threading.active_count() == 1
    return "fork" if alone else "spawn"


def pool(
    method: str, initializer: Callable[..., None], arguments: tuple[Any, ...], most: int = MOST
) -> "ProcessPoolExecutor":
    """Return processes, at most so many, that are started by `method` when work is submitted. Each
    begins with `initializer`, given this process's id and the arguments."""
    from concurrent.futures import ProcessPoolExecutor  # a small import starts none
    from multiprocessing import get_context

    start = os.getpid(), *arguments
    return ProcessPoolExecutor(min(workers(), most), get_context(method), initializer, start)


def begin(parent: int) -> None:
    """Prepare a process for work that leaves no cycles behind, and make it end with its parent: an
    interrupt is handled by the parent."""
    global _is_one
    _is_one = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    gc.disable()


def _end_with(parent: int) -> None:
    """Make this process end with its parent: a killed parent sends no signal, and its processes
    would wait for work forever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def result_of(future: "Future[T]") -> T:
    """Return the result of a process. Raises OSError when it was ended from outside."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool as error:
        reason = "a process of the import was ended from outside; import the file again to continue"
        raise OSError(errno.ECHILD, reason) from error


def in_order(
    work: Callable[[Any], T],
    tasks: Iterable[Any],
    initializer: Callable[..., None],
    arguments: tuple[Any, ...],
) -> Iterator[T]:
    """Yield the result of `work` for each task, in their order; a few are computed ahead. Each
    process begins with `initializer`, given this process's id and the arguments."""
    left = iter(tasks)
    waiting: deque[Future[T]] = deque()
    several = pool(start_method(), initializer, arguments)
    try:
        while True:
            while len(waiting) < 2 * workers() and (task := next(left, None)) is not None:
                waiting.append(several.submit(work, task))
            if not waiting:
                return
            yield result_of(waiting.popleft())
    finally:
        several.shutdown(wait=True, cancel_futures=True)
