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
    "reviewer.tui.screens.trajectory",
    "reviewer.desk.traces",
    "reviewer.desk.trace_events",
    "reviewer.desk.trace_notes",
    "reviewer.desk.event_groups",
    "reviewer.desk.state_changes",
    "reviewer.desk.trace_states",
    "reviewer.desk.trace_source",
    "reviewer.desk.trace_verdict",
    "reviewer.tui.screens.scorecard_filter",
    "reviewer.tui.screens.choose",
    "reviewer.tui.screens.help",
    "reviewer.tui.places",
    "reviewer.tui.screens.compare",
    "reviewer.desk.compare",
    "reviewer.tui.screens.label",
    "reviewer.desk.reviewers",
    "reviewer.desk.labeling",
    "reviewer.desk.label_queue",
    "reviewer.desk.label_sheet",
    "reviewer.desk.label_drafts",
    "reviewer.tui.screens.queue",
    "reviewer.tui.screens.decision",
    "reviewer.tui.screens.runs",
    "reviewer.desk.quarantine",
    "reviewer.tui.screens.trends",
    "reviewer.desk.trends",
    "reviewer.tui.screens.search",
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
