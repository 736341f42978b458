"""A terminal that a program runs in, as a person has one: keys go in, a screen comes out."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0
PAUSE = 0.01


class Terminal:
    """One pane of a tmux server of its own, 80×24."""

    def __init__(self, socket: Path, environment: dict[str, str]) -> None:
        self._socket, self._environment = socket, environment

    def tmux(self, *words: str) -> str:
        """Run a tmux command and return what it prints."""
        said = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", os.devnull, *words],
            capture_output=True,
            text=True,
            env=self._environment,
            check=True,
        )
        return said.stdout

    def open(self, command: Sequence[str]) -> None:
        """Start a program; the pane outlives it."""
        line = shlex.join(["exec", *command])
        self.tmux(
            "new-session", "-d", "-x", "80", "-y", "24", line, ";", "set", "remain-on-exit", "on"
        )  # fmt: skip

    def again(self, command: Sequence[str]) -> None:
        """Start a program in the pane of one that has ended."""
        self.tmux("respawn-pane", "-k", shlex.join(["exec", *command]))

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def until(self, true: Callable[[str], bool], what: str) -> str:
        """The screen, once it is as it should be."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.screen()
            if true(shown):
                return shown
            assert time.monotonic() < end, f"never came: {what}\n{shown}"
            time.sleep(PAUSE)

    def kill(self) -> None:
        """End the program without a word, as a crash would."""
        pid = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while self.tmux("display-message", "-p", "#{pane_dead}").strip() != "1":
            assert time.monotonic() < end, "the program would not die"
            time.sleep(PAUSE)


@contextmanager
def terminal(folder: Path) -> Iterator[Terminal]:
    """A terminal whose server ends with it. The socket's path must be short."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TMUX", "NO_COLOR", "TEXTUAL_THEME")
    }
    environment.update(TERM="xterm-256color", LC_ALL="C.UTF-8", LANG="C.UTF-8")
    found = Terminal(folder / "tmux", environment)
    try:
        yield found
    finally:
        subprocess.run(
            ["tmux", "-S", str(folder / "tmux"), "kill-server"], capture_output=True, check=False
        )
