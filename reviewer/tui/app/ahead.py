"""What the reader may ask for next is brought in before: a first visit costs what any other does.

Modules come when they are first used, so that the first frame comes soon; without more, the first
trace, filter or label would wait 50 to 200 ms for them, with a key behind it.
"""

import importlib
import threading
from time import sleep

BREATH = 0.01
"""Seconds between two modules, for whoever presses a key meanwhile."""
NEXT = (
    "reviewer.tui.screens.trajectory.screen",
    "reviewer.desk.traces.records",
    "reviewer.desk.traces.events",
    "reviewer.desk.traces.notes",
    "reviewer.desk.traces.states",
    "reviewer.desk.traces.verdict",
    "reviewer.tui.screens.scorecard.filter",
    "reviewer.tui.screens.dialogs.choose",
    "reviewer.tui.screens.help.screen",
    "reviewer.tui.screens.compare.screen",
    "reviewer.desk.compare.candidates",
    "reviewer.tui.screens.label.screen",
    "reviewer.desk.labels.api",
    "reviewer.desk.labels.labeling",
    "reviewer.desk.labels.queue",
    "reviewer.desk.labels.sheet",
    "reviewer.tui.screens.queue.screen",
    "reviewer.tui.screens.decision.screen",
    "reviewer.tui.screens.runs.screen",
    "reviewer.desk.imports.api",
    "reviewer.tui.screens.trends.screen",
    "reviewer.desk.trends.figures",
    "reviewer.tui.screens.search.screen",
)
"""In the order in which they are likely to be wanted. What checks decisions, judges and runs is
left to those who use it: it brings pydantic, and is large."""


def bring() -> threading.Thread:
    """Begin to bring them in, on a thread that holds up nobody, not even the end."""

    def work() -> None:
        for name in NEXT:
            importlib.import_module(name)
            sleep(BREATH)

    thread = threading.Thread(target=work, name="ahead", daemon=True)
    thread.start()
    return thread
