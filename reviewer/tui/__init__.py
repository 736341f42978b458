"""The workstation: a Textual door on the desk. Screens show what the desk answers, nothing else.

Importing this package is free; `run` pulls Textual.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.desk.protocol import DeskProtocol
    from reviewer.desk.run_views import RunOrder


def run(
    desk: "DeskProtocol",
    *,
    mouse: bool = True,
    theme: str = "desk-dark",
    runs: "Sequence[RunOrder]" = (),
) -> None:
    """Open the workstation on a desk and stay until the reader quits.

    `runs` are started one after another; with nothing on screen yet, the first is followed.
    """
    from reviewer.tui.app import run as run_app

    run_app(desk, mouse=mouse, theme=theme, runs=runs)
