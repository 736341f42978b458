"""Hostile text on every screen there is, judged by the bytes that reach a real terminal."""

import os
import re
import select
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from doors import REPOSITORY, Door, copied, environment
from hostile import SEQUENCES, WORD, fill
from wire import PATIENCE, Wire, wire

from reviewer.tui.screens.scenes import screens

# All that Textual itself sends while a screen is drawn: colors and attributes, a cursor that moves
# and hides, frames that begin and end, the shape of the pointer. The corpus has colors and shapes
# that nothing of ours has.
OWN = re.compile(
    rb"\x1b\[(?:[0-9;:]*m|\d+;\d+H|H|\?(?:25|2026)[hl])|\x1b\]22;(?:default|pointer|text)\x07"
)
# What it asks of the terminal and sets on it when it takes it over, and when it gives it back.
ENDS = re.compile(
    rb"\x1b\[(?:\?(?:1049|1000|1003|1004|1006|1015|1016|2004|2048|7)[hl]|\?(?:2026|2048)\$p"
    rb"|>\d+u|<u)"
)
QUIET = {"SettingsScreen", "SkipScreen", "ThemesScreen", "HelpScreen", "acts by name"}
"""Where no text of a store, a suite or a person is shown."""
ALTERNATIVES = {
    "colors": {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    "no colors": {"TERM": "xterm", "NO_COLOR": "1"},
    "a console": {"TERM": "linux"},
}


class Shown(NamedTuple):
    """What was written to the terminal for one screen."""

    name: str
    bytes: bytes


@pytest.fixture(scope="module")
def full_of_it(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    door = copied(empty_template, tmp_path_factory.mktemp("hostile") / "desk")
    fill(door)
    door.healthy()
    return door.root


def everything(door: Door, about: dict[str, str]) -> list[Shown]:
    """Every screen opened on this workspace, on a terminal of its own."""
    told, tell = os.pipe()
    heard, hear = os.pipe()
    paths = [REPOSITORY, REPOSITORY / "tests", REPOSITORY / "tests" / "tui"]
    clean = {k: v for k, v in environment().items() if k not in ("NO_COLOR", "COLORTERM")}
    clean |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "LC_ALL": "C.UTF-8", **about}
    command = [sys.executable, "-P", "-m", "show_all", str(door.root), str(tell), str(heard)]
    found: list[Shown] = []
    with wire(command, clean, size=(140, 40), keep=(tell, heard)) as on:
        os.close(tell)
        os.close(heard)
        begun = 0
        for name in _names(told, on):
            assert not name.startswith("!"), f"{name[1:]}\n{on.written[-2000:]!r}"
            end = on.rest(0.1)
            found.append(Shown(name, on.written[begun:end]))
            begun = end
            os.write(hear, b"\n")
        assert on.end() == 0, on.written[-4000:]
        found.append(Shown("the end", on.written[begun:]))
    for number in (told, hear):
        os.close(number)
    return found


def _names(pipe: int, on: Wire) -> Iterator[str]:
    """The lines of the pipe as they come, while the terminal is read."""
    rest, end = b"", time.monotonic() + PATIENCE
    while True:
        on.read(0.02)
        if select.select([pipe], [], [], 0)[0]:
            data = os.read(pipe, 4096)
            if not data:
                return
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode()
            end = time.monotonic() + PATIENCE
        assert time.monotonic() < end, f"it shows nothing more:\n{on.written[-2000:]!r}"


def faults(shown: Shown, end: bool = False) -> Iterator[str]:
    """Everything in these bytes that no terminal may be told; `end`: the first or the last."""
    for raw in SEQUENCES:
        for sequence in re.findall(r"[\x1b\x9b\x9d\x90][^\x1b\x9b\x9d\x90]*", raw):
            known = end and ENDS.match(sequence.encode())
            if len(sequence) > 3 and sequence.encode() in shown.bytes and not known:
                yield f"the corpus's own {sequence!r}"
    rest = OWN.sub(b"", shown.bytes)
    text = (ENDS.sub(b"", rest) if end else rest).decode("utf-8", "surrogateescape")
    for at, char in enumerate(text):
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\r\n":
            yield f"{char!r} in {text[max(0, at - 30) : at + 30]!r}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, marks=[pytest.mark.nightly] if number else [])
        for number, how in enumerate(ALTERNATIVES)
    ],
)
def test_no_screen_lets_a_text_reach_the_terminal_as_more_than_text(
    full_of_it: Path, how: str
) -> None:
    found = everything(Door(full_of_it), ALTERNATIVES[how])
    opened = {shown.name for shown in found}
    assert {screen.__name__ for screen in screens()} <= opened, "each screen there is was opened"
    for shown in found:
        at_an_end = shown in (found[0], found[-1])
        assert list(faults(shown, at_an_end))[:5] == [], shown.name
    silent = {s.name for s in found if WORD.encode() not in OWN.sub(b"", s.bytes)}
    assert silent - QUIET == {"the end"}, "each screen shows what the store is full of"


def test_what_must_not_be_written_is_seen() -> None:
    """The judge of the bytes is no rubber stamp."""
    for raw in SEQUENCES:
        assert list(faults(Shown("", b"fine \x1b[1;31mred\x1b[0m" + raw.encode()))), repr(raw)
    assert list(faults(Shown("", "\u202e".encode())))
    assert list(faults(Shown("", "\x9b2J".encode())))
    assert list(faults(Shown("", b"\x1b[?1049l")))
    assert not list(faults(Shown("", b"\x1b[?1049l"), end=True))
    assert not list(faults(Shown("", "\x1b[?25l\x1b[1;1H\x1b[38;2;1;2;3mé漢\x1b[0m".encode())))
