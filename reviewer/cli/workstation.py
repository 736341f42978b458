"""`reviewer`: the workstation on the workspace you stand in."""

import argparse
from collections.abc import Sequence

from reviewer.cli.opening import desk_of
from reviewer.cli.say import fail
from reviewer.desk.desk import Desk
from reviewer.desk.run_views import RunOrder


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    try:
        return open_on(desk, mouse=not arguments.no_mouse)
    finally:
        desk.close()


def open_on(desk: Desk, mouse: bool = True, runs: Sequence[RunOrder] = ()) -> int:
    """Open the screens; needs a terminal. `runs` are begun one after another, once they stand."""
    import sys

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return fail(
            "the workstation needs a terminal",
            "reviewer --export-report OUT writes the report without a screen",
            "reviewer scorecard --plain prints the scorecard",
            exit_code=2,
        )
    from reviewer.tui.app import run as run_app

    run_app(desk, mouse=mouse, runs=runs)
    return 0
