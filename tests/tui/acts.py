"""Every act of the workstation, and the test that does it: `acts.txt`, kept true by the tests.

To write it anew, after an act was added or a test renamed:
    REVIEWER_ACTS=/tmp/acts pytest tests/tui && python tests/tui/acts.py /tmp/acts
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textual import actions
from textual.binding import Binding

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scenes import bindings, screens
from reviewer.tui.widgets.chrome import Choice, Menu, Scroll
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.textview import TextView

LEDGER = Path(__file__).parent / "acts.txt"
UPDATE = "REVIEWER_ACTS"
WIDGETS = (Choice, Grid, Menu, Scroll, TextView)
"""Regions that keys act in, on whichever screen they are."""


def bound() -> Iterator[tuple[type[Any], Binding]]:
    """Every binding of every screen, of the regions on them, and of the app."""
    for kind in (*screens(), *WIDGETS, ReviewerApp):
        for binding in bindings(kind):
            yield kind, binding


def act_of(kind: str, name: str, parameters: object) -> str:
    """An act as the ledger writes it; a digit's are one."""
    said = "" if name == "numbered" or parameters == () else repr(parameters)
    return f"{kind}.{name}{said}"


def every_act() -> dict[str, set[str]]:
    """Each act, with the keys that do it."""
    found: dict[str, set[str]] = {}
    for kind, binding in bound():
        place, name, parameters = actions.parse(binding.action)
        owner = {"app": ReviewerApp.__name__}.get(place, kind.__name__)
        found.setdefault(act_of(owner, name, parameters), set()).add(binding.key)
    return found


def ledger() -> dict[str, str]:
    """Act → the test that does it."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines() if LEDGER.exists() else []
    return dict(line.split("\t") for line in lines if line)


def claims(test: str) -> set[str]:
    """What the ledger says that a test does."""
    return {act for act, name in ledger().items() if name == test}


def note(test: str, acts: set[str]) -> None:
    """While the ledger is written anew: what a test did."""
    if target := os.environ.get(UPDATE):
        with Path(target).open("a", encoding="utf-8") as out:
            out.writelines(f"{act}\t{test}\n" for act in sorted(acts))


def main(noted: str) -> None:
    """Write the ledger: for every act one test, the same as before where it still does it."""
    before, did = ledger(), {}
    for line in Path(noted).read_text(encoding="utf-8").splitlines():
        act, test = line.split("\t")
        did.setdefault(act, set()).add(test)
    kept = []
    for act in sorted(every_act()):
        tests = did.get(act, set())
        if not tests:
            print(f"no test does {act}", file=sys.stderr)
            continue
        plain = sorted(test for test in tests if "[" not in test)
        test = before.get(act) if before.get(act) in tests else min(plain or tests)
        kept.append(f"{act}\t{test}\n")
    LEDGER.write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
