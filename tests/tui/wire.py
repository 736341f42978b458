"""The bytes that a program writes to a terminal, as they come over the wire."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PATIENCE = 60.0
_MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
_KEYS = re.compile(rb"\x1b\[(?:([<>])\d*u)")
# As a terminal is that nobody has drawn on: the cursor shown, lines wrapped, all else off.
AT_REST = {b"25": b"h", b"7": b"h"}


class Wire:
    """A program on a terminal of its own. `written` are all bytes that came so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", parent: int, child: int) -> None:
        self.process, self._parent, self._child = process, parent, child
        self.written = b""
        self.before = termios.tcgetattr(child)

    def read(self, seconds: float = 0.05) -> bytes:
        """What comes within this time."""
        if not select.select([self._parent], [], [], seconds)[0]:
            return b""
        try:
            found = os.read(self._parent, 1 << 16)
        except OSError:  # nobody holds the other end
            found = b""
        self.written += found
        return found

    def until(self, words: str, start: int = 0) -> int:
        """Read on until these words were drawn behind `start`; where what follows begins."""
        end = time.monotonic() + PATIENCE
        while words.encode() not in self.written[start:]:
            self.read()
            gone = self.process.poll() is not None and not self.read()
            assert not gone, f"it ended before {words!r}:\n{self.written[-3000:]!r}"
            assert time.monotonic() < end, f"never came: {words!r}\n{self.written[-3000:]!r}"
        return len(self.written)

    def rest(self, quiet: float = 0.4) -> int:
        """Read on until nothing has come for so long; where what follows begins."""
        end = time.monotonic() + PATIENCE
        while self.read(quiet):
            assert time.monotonic() < end, "it never comes to rest"
        return len(self.written)

    def type(self, keys: str) -> None:
        os.write(self._parent, keys.encode())

    def end(self) -> int:
        """Its exit code, once it has ended and all it wrote has come."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < end, "it does not end"
        while self.read():
            pass
        return self.process.returncode

    def modes(self) -> dict[bytes, bytes]:
        """Private modes as they were last set, less those that are as in a terminal at rest."""
        found = {
            mode: how for modes, how in _MODE.findall(self.written) for mode in modes.split(b";")
        }
        return {m: how for m, how in found.items() if how != AT_REST.get(m, b"l")}

    def keyboards(self) -> int:
        """How many keyboard protocols were pushed and not taken back."""
        found = _KEYS.findall(self.written)
        return found.count(b">") - found.count(b"<")

    def settings(self) -> list[object]:
        """How the terminal takes input and gives output, as the program left it."""
        return termios.tcgetattr(self._child)

    def hang_up(self) -> None:
        """As a terminal whose window is closed."""
        os.close(self._parent)
        self._parent = -1

    def close(self) -> None:
        for number in (self._parent, self._child):
            if number >= 0:
                os.close(number)


@contextmanager
def wire(
    command: Sequence[str],
    environment: dict[str, str],
    size: tuple[int, int] = (80, 24),
    keep: Sequence[int] = (),
) -> Iterator[Wire]:
    """A program on a terminal of this many columns and lines, which ends with it. `keep` are files
    of ours that are its own too."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        command,
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment,
        pass_fds=keep,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that it can hang up on it
    )
    found = Wire(process, parent, child)
    try:
        yield found
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        found.close()
