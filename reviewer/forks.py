"""Forks of this process, which work on another processor and answer through a pipe."""

import os
import sys
from collections.abc import Callable
from threading import active_count
from typing import NamedTuple


class Fork(NamedTuple):
    """A forked process, and the end of the pipe on which its answer is read."""

    pid: int
    pipe: int


def fork(work: Callable[[int], object]) -> Fork | None:
    """Run `work` in a fork of this process, with the end of a pipe to write to, and its standard
    streams closed to the terminal. Whatever it raises ends it without a word.

    Return None where a process cannot safely be forked: the libraries of other systems do not
    tolerate it, and a thread may hold a lock. The caller has no open connection to a store.
    """
    if not sys.platform.startswith("linux") or active_count() > 1:
        return None
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if pid:
        os.close(writing)
        return Fork(pid, reading)
    try:
        os.close(reading)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        work(writing)
    finally:
        os._exit(0)
