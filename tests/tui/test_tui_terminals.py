"""Terminals of all kinds: opened, left as they were found, also when somebody ends the program."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from doors import PROGRAM, SUITE, V8, Door, by_day, environment
from terminal import Terminal, terminal
from wire import PATIENCE, Wire, wire

KINDS = ("xterm-256color", "xterm", "screen", "tmux-256color", "linux", "vt100")
QUIT = "\x11"


def words(door: Door, *more: str) -> list[str]:
    return [*PROGRAM, "--workspace", str(door.root), *more]


def around(kind: str) -> dict[str, str]:
    return environment(TERM=kind, LC_ALL="C.UTF-8", TEXTUAL_ALLOW_SIGNALS="")


def left_as_found(on: Wire) -> None:
    assert on.modes() == {}, "cursor, screen, mouse, paste, focus as before"
    assert on.keyboards() == 0
    assert on.settings() == on.before, "echo, lines and signals as before"


@pytest.mark.parametrize("kind", KINDS)
def test_it_opens_and_leaves_the_terminal_as_it_found_it(full: Door, kind: str) -> None:
    with wire(words(full), around(kind)) as on:
        on.until("attack-014")
        at = on.rest()
        on.type("\r")
        on.until("Trajectory]", at)
        on.type(QUIT)
        assert on.end() == 0
        left_as_found(on)
        assert on.written.rindex(b"\x1b[?1049l") > on.written.rindex(b"\x1b[?1049h")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux on this machine's PATH")
def test_in_tmux_the_shell_stands_where_it_was(full: Door, tmp_path: Path, kind: str) -> None:
    """By a real terminal's own account."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / f"t{os.getpid()}-{kind[:2]}"
    folder.mkdir(mode=0o700)
    try:
        with terminal(folder) as shell:
            shell.open(
                [
                    "env",
                    "PS1=here> ",
                    f"TERM={kind}",
                    "PYTHONPATH=" + environment()["PYTHONPATH"],
                    "sh",
                ]
            )
            shell.until(lambda shown: "here>" in shown, "a prompt")
            shell.press(f"echo before; {' '.join(words(full))}; echo left $?", "Enter")
            shell.until(lambda shown: "attack-014" in shown, "the scorecard")
            assert flags(shell)["alternate_on"] == "1"
            shell.press("C-q")
            shown = shell.until(lambda shown: "left 0" in shown, "the end")
            assert "before" in shown, "what stood there stands there"
            assert "attack-014" not in shown
            assert flags(shell) == {
                "alternate_on": "0", "cursor_flag": "1", "mouse_any_flag": "0",
                "mouse_sgr_flag": "0", "keypad_flag": "0", "wrap_flag": "1",
            }  # fmt: skip
            shell.press("stty -a", "Enter")
            shown = shell.until(lambda shown: "echoctl" in shown, "settings")
            assert {"icanon", "echo", "isig", "icrnl", "ixon"} <= set(shown.split())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def flags(shell: Terminal) -> dict[str, str]:
    names = ("alternate_on", "cursor_flag", "mouse_any_flag", "mouse_sgr_flag", "keypad_flag",
             "wrap_flag")  # fmt: skip
    told = shell.tmux("display-message", "-p", " ".join(f"#{{{name}}}" for name in names))
    return dict(zip(names, told.split(), strict=True))


def test_nothing_is_drawn_on_a_terminal_that_cannot_move_its_cursor(full: Door) -> None:
    with wire(words(full), around("dumb")) as on:
        assert on.end() == 2
        assert b"\x1b" not in on.written
        assert b"needs a terminal to draw on" in on.written
        left_as_found(on)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(full: Door, number: int) -> None:
    with wire(words(full), around("xterm-256color")) as on:
        on.until("attack-014")
        on.rest()
        on.process.send_signal(number)
        assert on.end() == 128 + number
        left_as_found(on)
        assert b"Traceback" not in on.written
    full.healthy()


@pytest.mark.parametrize("wait", by_day(range(6), every=3))
@pytest.mark.parametrize("how", ["key", "signal"])
def test_it_can_be_left_at_any_moment_of_its_opening(full: Door, how: str, wait: int) -> None:
    """A screen that is cut off on its way up, a question half asked: nobody sees a traceback."""
    with wire(words(full), around("xterm")) as on:
        # Until the terminal is raw, a Ctrl+Q is its own: it means "go on" there.
        on.until("\x1b[?25l" if how == "key" else "\x1b[?1049h")
        for _ in range(4 * wait):
            on.read(0.01)
        if how == "key":
            on.type(QUIT)
        else:
            on.process.send_signal(signal.SIGTERM)
        assert on.end() == (0 if how == "key" else 128 + signal.SIGTERM)
        assert b"Traceback" not in on.written
        left_as_found(on)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_run_goes_on_leaves_the_store_whole(door: Door, number: int) -> None:
    """What was told as made stands, the rest is made by going on."""
    with wire(words(door), around("xterm-256color")) as on:
        on.until("refund-eval-v5")
        on.rest()
        began = door.start("run", SUITE, V8, "--quiet")
        on.until(V8)
        on.process.send_signal(number)
        assert on.end() == 128 + number
        left_as_found(on)
        assert began.wait() == 0
        began.communicate()
    door.healthy()


def test_the_demo_takes_its_workspace_with_it_when_it_is_told_to_end(tmp_path: Path) -> None:
    """Both candidates are being run here when the signal comes."""
    about = environment(TERM="xterm", LC_ALL="C.UTF-8", TMPDIR=str(tmp_path))
    with wire([*PROGRAM, "demo"], about) as on:
        on.until("run")
        on.process.send_signal(signal.SIGTERM)
        assert on.end() == 128 + signal.SIGTERM
        left_as_found(on)
    assert list(tmp_path.glob("reviewer-demo-*")) == []


def test_a_crash_gives_the_terminal_back_and_tells_no_terminal_what_to_do(full: Door) -> None:
    crash = """
import sys
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
def on_mount(self):
    text = "\\x1b]52;c;ZXZpbA==\\x07 [/foo]"
    raise KeyError(text) from ValueError(text)
ScorecardScreen.on_mount = on_mount
from reviewer.cli.main import program
sys.exit(program())
"""
    command = [PROGRAM[0], "-P", "-c", crash, "--workspace", str(full.root)]
    with wire(command, around("xterm-256color")) as on:
        assert on.end() == 40
        left_as_found(on)
        told = on.written[on.written.rindex(b"\x1b[?25h") :]
        assert b"\x1b]52" not in on.written
        assert "␛]52;c;" in told.decode()
        assert b"Error" in told


def test_what_takes_too_long_to_leave_is_ended_with_the_terminal_as_it_was_found(
    full: Door,
) -> None:
    slow = """
import sys
from reviewer.tui.app import terminal
from reviewer.tui.app.app import ReviewerApp
terminal.GRACE = 0.1
ReviewerApp.exit = lambda *told: None
from reviewer.cli.main import program
sys.exit(program())
"""
    command = [PROGRAM[0], "-P", "-c", slow, "--workspace", str(full.root)]
    with wire(command, around("xterm-256color")) as on:
        on.until("attack-014")
        on.rest()
        on.process.send_signal(signal.SIGTERM)
        assert on.end() == 128 + signal.SIGTERM
        left_as_found(on)


def test_it_ends_when_its_terminal_is_gone(full: Door) -> None:
    """A closed window, a connection that broke: nobody is left to quit."""
    with wire(words(full), around("xterm-256color")) as on:
        on.until("attack-014")
        on.rest()
        on.hang_up()
        end = time.monotonic() + PATIENCE
        while on.process.poll() is None:
            assert time.monotonic() < end, "it stays behind"
            time.sleep(0.05)
    full.healthy()
