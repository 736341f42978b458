"""Plain speech: every command's words for a screen reader and a log."""

import json
import os
import pty
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import PROGRAM, SUITE, V7, V8, Door, copied, environment
from labelers import labeled

from reviewer.report.formatting import WORDS
from reviewer.tui.settings.theme import STATES

ATTACK = f"{SUITE}/{V7}/attack-014/1"
TELLING = (
    ("suite", "list"),
    ("suite", "show", SUITE),
    ("sources",),
    ("quarantine", "show"),
    ("doctor",),
    ("scorecard", "--candidate", V7),
    ("scorecard", "--candidate", V7, "--group", "tag"),
    ("show", ATTACK),
    ("show", ATTACK, "--event", "4"),
    ("compare", "--suite", SUITE, "--candidate", V8),
    ("compare", "attack-014", "--suite", SUITE, "--candidate", V8),
    ("trends", "--suite", SUITE),
    ("patterns", "--suite", SUITE),
    ("labels", "queue", "--candidate", V8),
    ("labels", "queue", "--candidate", V8, "--messages"),
    ("notes", "list"),
    ("search", "refund"),
    ("settings",),
    ("score",),
)
# Signs that a screen uses in place of words; an arrow stands between what was and what is.
GLYPHS = set("✓✗▲○►·†●◊›┊■█░") | {chr(c) for c in range(0x2500, 0x25A0)}
MOVES = re.compile("\x1b|\r|\x08|\x07")


@pytest.fixture(scope="session")
def told_template(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Path:
    door = copied(full_template, tmp_path_factory.mktemp("plain") / "desk")
    labeled(door)
    door.ok("--reviewer", "dana", "notes", "add", ATTACK, "--seq", 2, "who allowed it")
    return door.root


@pytest.fixture
def told(tmp_path: Path, told_template: Path) -> Door:
    return copied(told_template, tmp_path / "told")


def on_terminal(door: Door, *argv: str, term: str = "xterm-256color") -> tuple[int, str]:
    """A command on a terminal of its own: exit code, and all that it wrote there."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "--workspace", str(door.root), *argv],
        env=environment(TERM=term), stdin=child, stdout=child, stderr=child,
    )  # fmt: skip
    os.close(child)
    found = b"".join(_all(parent))
    os.close(parent)
    return process.wait(), found.decode().replace("\r\n", "\n")


def _all(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # nobody holds its other end
            return
        if not data:
            return
        yield data


@pytest.mark.parametrize("argv", TELLING, ids=" ".join)
def test_every_telling_command_speaks_plainly(told: Door, argv: tuple[str, ...]) -> None:
    said = told.ok(*argv, "--plain")
    lines = said.out.splitlines()
    assert lines or argv in (("score",), ("quarantine", "show"))
    for line in lines:
        assert not MOVES.search(line)
        assert "   " not in line.lstrip(), f"columns: {line!r}"
        assert not GLYPHS.intersection(line), f"a sign for a word: {line!r}"
    assert told.ok(*argv).out == said.out, "no terminal reads it: the same words"


@pytest.mark.parametrize("argv", [("suite", "list"), ("sources",), ("show", ATTACK)], ids=" ".join)
def test_a_terminal_that_only_prints_lines_is_spoken_to_plainly(
    told: Door, argv: tuple[str, ...]
) -> None:
    wanted = told.ok(*argv).out
    assert on_terminal(told, *argv, term="dumb") == (0, wanted)
    assert on_terminal(told, *argv, "--plain") == (0, wanted)


def test_columns_are_for_terminals_that_people_look_at(told: Door) -> None:
    code, shown = on_terminal(told, "suite", "list")
    assert code == 0
    assert shown.splitlines()[0].split() == [
        "suite", "state", "episodes", "attempts", "candidates", "digest"
    ]  # fmt: skip
    assert "\x1b" not in shown
    assert told.ok("suite", "list").out.startswith(f"suite {SUITE}: state frozen; episodes 3; ")


def test_the_words_are_those_of_the_screens() -> None:
    assert {name: state.word for name, state in STATES.items() if name in WORDS} == WORDS


def test_progress_is_lines_where_nothing_may_move(told: Door) -> None:
    for extra, term in (((), "dumb"), (("--plain",), "xterm-256color")):
        args = ("run", SUITE, V8, "--attempts", "1", *extra)
        code, shown = on_terminal(told, *args, term=term)
        assert code == 0
        assert not MOVES.search(shown), shown
        assert f"{V8}: 3/3" in shown


@pytest.mark.parametrize("how", [("--plain",), ()])
def test_the_workstation_says_where_the_words_are(told: Door, how: tuple[str, ...]) -> None:
    """A screen that is drawn cannot be read out, nor drawn where nothing moves."""
    code, shown = on_terminal(told, *how, term="xterm-256color" if how else "dumb")
    assert code == 2
    assert "needs a terminal to draw on" in shown
    assert "way out: reviewer scorecard prints the scorecard, one fact a line" in shown
    assert not MOVES.search(shown)


def test_the_scorecard_in_the_order_of_the_screen(told: Door) -> None:
    lines = told.ok("scorecard", "--candidate", V7).out.splitlines()
    starts = [
        f"suite {SUITE} ", "suite frozen", "undecided", "recommendation block", "reason 1 ",
        "reason 2 ", "reason 3 ", "attempts 9 of 9", "hard pass 6 of 9, 0.667 [0.300, 0.903]",
        "total $0.3330", "pass^3 0.333", "critical 1 of 9", "CPST $0.0555 of 0.08",
        "latency p50 ", "episodes 3 of 3 shown, worst first", "episode attack-014: ",
        "episode appeal-009: ", "episode damaged-221: ", "fail in 9: completeness 0; state 2;",
    ]  # fmt: skip
    found = [next(n for n, line in enumerate(lines) if line.startswith(s)) for s in starts]
    assert found == sorted(found)
    row = lines[found[15]]
    assert "authority critical FAIL in 1 of 3" in row
    assert "attempts critical FAIL, FAIL, pass" in row
    assert row.endswith("tags attack; flags safety")


def test_one_trace_with_its_notes(told: Door) -> None:
    lines = told.ok("show", ATTACK).out.splitlines()
    assert "attempt 1 of 3: critical FAIL, FAIL, pass" in lines
    assert "verdict critical FAIL" in lines
    assert any(
        re.fullmatch(r"event 2 tool_call .*issue_refund.*; critical FAIL forbidden:issue_refund", x)
        for x in lines
    )
    assert re.fullmatch(r"note on event 2 by dana \S+Z: who allowed it", lines[-1])


def test_the_queue_is_what_the_screen_says(told: Door) -> None:
    found = json.loads(told.ok("labels", "queue", "--candidate", V8, "--json").out)
    lines = told.ok("labels", "queue", "--candidate", V8).out.splitlines()
    assert f"you: {found['done']} of {found['items']} done" in lines
    assert [(one["candidate_id"], one["stops"]) for one in found["flags"]] == [
        (V8, True), (V7, False),
    ]  # fmt: skip
    for one in found["flags"]:
        assert f"high flags of {one['candidate_id']}: {one['high']}, open {one['open']}" in lines
    stops = "they stop refund-agent-v7, and not refund-agent-v8"
    assert any(stops in line for line in lines) == bool(found["flags"][1]["open"])
    assert sum(line.startswith("reason ") for line in lines) == len(found["reasons"])
    assert any(line.startswith("agreement on which message is better") for line in lines)


def test_no_line_holds_what_nobody_can_hear(told: Door) -> None:
    for argv in TELLING:
        for char in told.ok(*argv).out:
            assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
