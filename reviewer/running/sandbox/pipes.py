"""The three streams of a child, read as they come and never beyond their bounds."""

import asyncio
from collections import deque
from typing import cast

LONGEST_LINE = 8 * 1024**2
MOST_OUTPUT = 64 * 1024**2
"""Bytes of standard output and standard error together."""

_TAIL = 4096


class Pipes(asyncio.SubprocessProtocol):
    """Whole lines of standard output, the end of standard error, and why no more may be read.

    `news` is set whenever any of it changes.
    """

    def __init__(self) -> None:
        self.lines: deque[bytes] = deque()
        self.tail = b""
        self.flood = ""
        self.closed = False
        self.gone = asyncio.Event()
        self.news = asyncio.Event()
        self._partial = bytearray()
        self._total = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._total += len(data)
        if self.flood:
            return
        if self._total > MOST_OUTPUT:
            self._refuse(f"wrote more than {MOST_OUTPUT // 1024**2} MiB")
        elif fd == 2:
            self.tail = (self.tail + data)[-_TAIL:]
        else:
            self._take(data)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        if fd == 1:
            self.closed = True
            self.news.set()

    def process_exited(self) -> None:
        self.gone.set()
        self.news.set()

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for part in whole:
            self.lines.append(bytes(self._partial) + part)
            self._partial.clear()
        self._partial += rest
        longest = max(len(self._partial), *(len(line) for line in self.lines), 0)
        if longest > LONGEST_LINE:
            self._refuse(f"wrote a line of more than {LONGEST_LINE // 1024**2} MiB")
        elif len(self.lines) > 1:  # each line answers one of ours
            self._refuse("wrote a line before it was asked for one")
        elif whole:
            self.news.set()

    def _refuse(self, why: str) -> None:
        """What it writes from here on stays in its pipe."""
        self.flood = why
        self.lines.clear()
        self._partial.clear()
        for fd in (1, 2):
            pipe = self._transport.get_pipe_transport(fd)
            if pipe is not None:
                cast(asyncio.ReadTransport, pipe).pause_reading()
        self.news.set()
