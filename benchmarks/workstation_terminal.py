"""A program on a pseudo-terminal of 120 × 40: keys go in as bytes, frames come out with the time at
which they were whole.

Textual marks the beginning and the end of a frame for a terminal that knows synchronized output;
this one says that it does, so that a frame's end is seen and not guessed.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

COLUMNS, LINES = 120, 40
PATIENCE = 60.0
LOOK = 0.05
"""Seconds between two looks at what the processes below hold."""
_TOKEN = re.compile(
    rb"\x1b\[([0-9;?<=>]*)([ -/]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
    rb"|\x1bP[^\x1b]*\x1b\\|\x1b[=>78MDE]|[\r\n\x08\x07]|[^\x1b\r\n\x08\x07]+"
)
_ASKS_SYNC, _KNOWS_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_FRAME = "?2026"

Screen = list[str]
Sees = Callable[[Screen], bool]


class Terminal:
    """One program and what it has drawn. `frames` counts the frames since the start."""

    def __init__(
        self, command: list[str], environment: dict[str, str], nice: int | None = None
    ) -> None:
        self.started = time.perf_counter()
        self.process, self._file = pty.fork()
        if self.process == 0:
            if nice is not None:  # of a session as a whole, where the kernel shares by sessions
                Path("/proc/self/autogroup").write_text(str(nice))
                os.nice(nice)
            os.execvpe(command[0], command, {**environment, "TERM": "xterm-256color"})
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._cells = [[" "] * COLUMNS for _ in range(LINES)]
        self._row = self._column = 0
        self._rest = b""
        self._within = False
        self.frames = 0
        self.last = 0.0
        self.helpers_mb = 0.0
        self._looked = 0.0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.close(self._file)
        os.waitpid(self.process, 0)

    @property
    def screen(self) -> Screen:
        """The lines as they stand."""
        return ["".join(line) for line in self._cells]

    # keys and frames ---------------------------------------------------------------------------

    def press(self, keys: bytes) -> float:
        """Type; returns the time at which it was."""
        now = time.perf_counter()
        os.write(self._file, keys)
        return now

    def until(self, sees: Sees, patience: float = PATIENCE) -> float:
        """The time at which the first frame that is as it should be was whole. Raises TimeoutError
        with the screen."""
        end = time.perf_counter() + patience
        while not self._frame(end):
            raise TimeoutError("no frame came\n" + "\n".join(self.screen))
        while not sees(self.screen):
            if not self._frame(end):
                raise TimeoutError("it never came\n" + "\n".join(self.screen))
        return self.last

    def after(self, keys: bytes, sees: Sees, patience: float = PATIENCE) -> float:
        """Milliseconds from typing to the end of the frame that shows it."""
        pressed = self.press(keys)
        return (self.until(sees, patience) - pressed) * 1000

    def settle(self, quiet: float = 0.1, most: float = 5.0) -> None:
        """Read until nothing was drawn for a while."""
        end = time.perf_counter() + most
        while time.perf_counter() < end and self._frame(time.perf_counter() + quiet):
            pass

    def _frame(self, end: float) -> bool:
        """Read on to the end of a frame; False when none came in time."""
        before = self.frames
        while self.frames == before:
            if self._take():
                continue
            self._look()
            left = end - time.perf_counter()
            if left < 0:
                return False
            if not select.select([self._file], [], [], min(left, LOOK))[0]:
                continue
            try:
                data = os.read(self._file, 65536)
            except OSError:
                raise TimeoutError("it ended\n" + "\n".join(self.screen)) from None
            self.last = time.perf_counter()
            if _ASKS_SYNC in data:
                os.write(self._file, _KNOWS_SYNC)
            self._rest += data
        return True

    # what a terminal does ----------------------------------------------------------------------

    def _take(self) -> bool:
        """Do what has been read, up to the end of a frame; True at one."""
        at, data = 0, self._rest
        while at < len(data):
            found = _TOKEN.match(data, at)
            if found is None or (found.end() == len(data) and data[at] == 0x1B and not found[3]):
                if len(data) - at > 4096:  # not a sequence that this terminal knows
                    at += 1
                    continue
                break
            if found.group()[0] >= 0x20 and found.end() == len(data):
                cut = _whole(data[at:])
                if cut < len(data) - at:
                    self._write(data[at : at + cut].decode())
                    at += cut
                    break
            at = found.end()
            if found[3]:
                if found[1].decode() == _FRAME and found[3] in b"hl":
                    self._within = found[3] == b"h"
                    if not self._within:
                        self.frames += 1
                        self._rest = data[at:]
                        return True
                self._control(found[1].decode(), found[3].decode())
            else:
                self._plain(found.group())
        self._rest = data[at:]
        if at and not self._within:  # drawn without a mark: the answer had not come yet
            self.frames += 1
            return True
        return False

    def _control(self, numbers: str, end: str) -> None:
        values = (
            [int(part or 0) for part in numbers.split(";")] if numbers[:1] not in "?<=>" else []
        )
        if not numbers:
            values = []
        first = values[0] if values else 0
        if end in "Hf":
            self._row = max(first, 1) - 1
            self._column = max(values[1] if len(values) > 1 else 1, 1) - 1
        elif end == "J":
            for line in self._cells:
                line[:] = [" "] * COLUMNS
        elif end == "K" and self._row < LINES:
            self._cells[self._row][self._column :] = [" "] * (COLUMNS - self._column)
        elif end in "ABCD":
            step = max(first, 1)
            self._row += step * ((end == "B") - (end == "A"))
            self._column += step * ((end == "C") - (end == "D"))

    def _plain(self, text: bytes) -> None:
        if text == b"\n":
            self._row += 1
        elif text == b"\r":
            self._column = 0
        elif text[:1] not in b"\x1b\x08\x07":
            self._write(text.decode("utf-8", "replace"))

    def _write(self, text: str) -> None:
        if 0 <= self._row < LINES:
            for char in text[: COLUMNS - self._column]:
                self._cells[self._row][self._column] = char
                self._column += 1

    # what it costs -----------------------------------------------------------------------------

    def worked(self) -> float:
        """Milliseconds of processor time that the thread which draws has taken, where the kernel
        says so: other programs on the machine have no share in it."""
        told = Path(f"/proc/{self.process}/task/{self.process}/schedstat")
        return int(told.read_text().split()[0]) / 1e6

    def peak_mb(self) -> float:
        """The most memory that the program has held, in MB. What the processes it started have
        held, the largest of them, is noted in `helpers_mb` while frames are waited for."""
        return _peak(self.process)

    def _look(self) -> None:
        now = time.perf_counter()
        if now - self._looked > LOOK:
            self._looked = now
            self.helpers_mb = max(self.helpers_mb, *map(_peak, _below(self.process)), 0.0)


def _whole(data: bytes) -> int:
    """How much of this text ends with a whole character."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        size = 1 if byte < 0x80 else 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4
        return len(data) if size <= back else len(data) - back
    return len(data)


def _peak(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0  # it has ended
    return int(found[1]) / 1024 if found else 0.0


def _below(pid: int) -> list[int]:
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in own for each in (int(child), *_below(int(child)))]
