"""Forty pairs labeled as a person labels them: by keys, in a terminal, through two crashes."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import PROGRAM, REPOSITORY, SUITE, Door, passing
from labelers import kept, label_all, labeler
from terminal import Terminal, terminal

PAIRS, NAMES = 40, ("cand-a", "cand-b")
ANSWERS = {"h": "left", "l": "right", "t": "tie", "b": "both_bad"}
CRASHES = {17: "saved", 52: "saving"}
"""At which items the workstation is killed, and when."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.fixture
def forty(door: Door) -> Door:
    """A workspace whose policy wants forty pairs, with the traces of two candidates that make
    them."""
    raw = json.loads((door.suite / "suite.json").read_bytes())
    raw["policy"]["labels"]["min_pairs"] = PAIRS
    (door.suite / "suite.json").write_text(json.dumps(raw))
    for name in ("suite.lock", "suite.sha256"):
        (door.suite / name).unlink()
    shutil.rmtree(door.suite / ".frozen", ignore_errors=True)
    door.ok("suite", "freeze", SUITE)
    episodes = ("damaged-221", "appeal-009", "attack-014")
    door.take(
        "traces.jsonl",
        [
            passing(
                episodes[n % 3],
                name,
                n // 3 + 1,
                nonce=n + 1000 * side,
                final_message=f"Case {n} is closed. {'A person writes to you. ' * side}",
            )
            for side, name in enumerate(NAMES)
            for n in range(PAIRS)
        ],
    )
    return door


@pytest.fixture
def screen() -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(prefix="r") as folder, terminal(Path(folder)) as found:
        yield found


def workstation(door: Door) -> list[str]:
    program = [*PROGRAM, "--workspace", str(door.root), "--reviewer", "dana", "--no-mouse"]
    return ["env", f"PYTHONPATH={REPOSITORY}", *program]


def place(shown: str) -> int | None:
    """The number of the item that stands there, ready to be answered."""
    found = re.search(r"item (\d+) of \d+ +blind", shown)
    return int(found[1]) if found and "(x)" not in shown else None


def sit_down(screen: Terminal) -> int:
    screen.until(lambda shown: "[Scorecard]" in shown and "hard pass" in shown, "the scorecard")
    screen.press("L")
    shown = screen.until(lambda shown: place(shown) is not None, "a pair")
    number = place(shown)
    assert number is not None
    return number


def exported(door: Door) -> list[dict[str, Any]]:
    """Every label, as `reviewer labels export` gives it, by time."""
    said = door.ok("labels", "export", "--suite", SUITE)
    found = [json.loads(line) for line in said.out.splitlines()]
    return sorted((one for one in found if one["reviewer"] == "dana"), key=lambda one: one["at"])


def test_forty_pairs_by_keys_alone_through_two_crashes(forty: Door, screen: Terminal) -> None:
    screen.open(workstation(forty))
    assert sit_down(screen) == 1
    keys, number = list(ANSWERS), 1
    pressed: dict[int, str] = {}
    crashes = dict(CRASHES)
    while number <= 2 * PAIRS:
        pressed[number] = keys[number * 7 % 4]
        screen.press(pressed[number])
        screen.until(lambda shown: "(x)" in shown, "the answer")
        screen.press("Enter")
        crash = crashes.pop(number, None)
        if crash != "saving" and number < 2 * PAIRS:
            screen.until(lambda shown, n=number: place(shown) == n + 1, f"item {number + 1}")
        number = number + 1 if crash is None else crashed(forty, screen, number, crash)
    shown = screen.until(lambda shown: "everything here is done" in shown, "the end")
    assert "dana picks the left slot" in shown
    assert not crashes

    labels = exported(forty)
    assert len(labels) == len({(one["item"], one["showing"]) for one in labels}) == 2 * PAIRS
    assert len({one["item"] for one in labels}) == PAIRS
    assert [one["answer"] for one in labels] == [ANSWERS[pressed[n + 1]] for n in range(2 * PAIRS)]
    assert {(one["revises"], one["withdrawn"], one["skipped"]) for one in labels} == {
        (None, False, None)
    }
    with labeler(forty, "kim") as desk:
        undisturbed = label_all(desk, desk.labels.session(SUITE, NAMES[1]))
    assert [(one["item"], one["showing"]) for one in labels] == [
        (one.item, one.showing) for one in undisturbed
    ]
    forty.healthy()


def crashed(door: Door, screen: Terminal, number: int, crash: str) -> int:
    """Kill the workstation and sit down again; the number of the item that stands there then. What
    was acknowledged is kept; what was being saved is kept whole, or not at all."""
    screen.kill()
    labels = [one for one in kept(door) if one["reviewer"] == "dana"]
    assert len(labels) in ((number,) if crash == "saved" else (number - 1, number))
    screen.again(workstation(door))
    assert sit_down(screen) == len(labels) + 1
    return len(labels) + 1
