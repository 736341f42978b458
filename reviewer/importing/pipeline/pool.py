"""Judge a large file of JSON lines in several processes; one writer takes their groups in order.

Each process reads its own run of lines, so nothing raw travels between them.
"""

import errno
import multiprocessing
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec

from reviewer.db.payload import PACK_BYTES
from reviewer.importing.pipeline.scoring import Order, Scorer
from reviewer.importing.pipeline.split import blocks, lines_of
from reviewer.importing.scored import Group, JudgedRecord

# Two full packs and a little less, so that a block leaves no small third one.
BLOCK = 2 * PACK_BYTES - (96 << 10)
AHEAD = 24 << 20
"""Bytes that may be judged before the writer asks for them: it may be hashing, or committing."""
WORTH = 24 << 20
MOST = 4

_judge: Scorer | None = None
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Group).decode


def workers() -> int:
    """Return how many processes may judge: the processors this process may use, up to MOST."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system can say
        allowed = os.cpu_count() or 1
    return min(allowed, MOST)


def worth_processes(size: int) -> bool:
    """Return whether a file of `size` bytes repays starting them."""
    return size >= WORTH and workers() > 1


def _start_method() -> str:
    """Forking spares each process its imports; it is safe only while nothing else runs here."""
    alone = sys.platform == "linux" and threading.active_count() == 1
    return "fork" if alone else "spawn"


def _begin(order: Order, parent: int, judge: Scorer | None) -> None:
    import gc

    global _judge  # each process keeps its own
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    gc.disable()
    _judge = judge or Scorer(order)


def _end_with(parent: int) -> None:
    """End this process with its parent: a killed parent sends no signal, and its processes would
    wait for work for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _judge_block(path: str, start: int, end: int) -> bytes:
    """Return a group, encoded: pickling its many small tuples would take five times as long."""
    assert _judge is not None  # set by _begin before any work
    with open(path, "rb") as handle:
        return _encode(_judge.group(lines_of(handle, start, end)))


class ScoringPool:
    """A file of JSON lines, judged by processes from the moment this is entered.

    Iterating gives groups in file order with the offset behind each; raises OSError.
    """

    def __init__(self, judge: Scorer, order: Order, path: Path) -> None:
        method = _start_method()
        start = order, os.getpid(), judge if method == "fork" else None  # a fork has it already
        context = multiprocessing.get_context(method)
        self._pool = ProcessPoolExecutor(workers(), context, _begin, start)
        self._path = path
        self._blocks = blocks(path, BLOCK)
        self._waiting: deque[tuple[Future[bytes], int]] = deque()
        self._asked = self._taken = 0
        self._problem: OSError | None = None

    def __enter__(self) -> "ScoringPool":
        self._ask()
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _ask(self) -> None:
        """Keep the processes in work while the writer is busy with something else."""
        try:
            while self._asked - self._taken < AHEAD or len(self._waiting) < 2 * workers():
                start, self._asked = next(self._blocks)
                future = self._pool.submit(_judge_block, str(self._path), start, self._asked)
                self._waiting.append((future, self._asked))
        except StopIteration:
            return
        except OSError as error:
            self._problem = error  # raised when what comes before it has been taken

    def __iter__(self) -> Iterator[tuple[Group, int]]:
        number = 1
        while self._waiting:
            number, group, self._taken = _next(self._waiting, number)
            self._ask()
            yield group, self._taken
        if self._problem is not None:
            raise self._problem


def _next(waiting: deque[tuple[Future[bytes], int]], number: int) -> tuple[int, Group, int]:
    """Return the oldest group, its records numbered on from `number`."""
    future, end = waiting.popleft()
    try:
        group = _decode(future.result())
    except BrokenProcessPool as error:
        reason = "a judging process was ended from outside; import the file again to go on"
        raise OSError(errno.ECHILD, reason) from error
    shift = number - group.first
    moved = group._replace(
        first=number,
        judged=[JudgedRecord(one.number + shift, *one[1:]) for one in group.judged],
        refused=[refused._replace(record=refused.record + shift) for refused in group.refused],
        flagged=[flagged._replace(record=flagged.record + shift) for flagged in group.flagged],
    )
    return number + group.records, moved, end
