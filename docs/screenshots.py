"""Draw docs/screenshots/*.svg: the workstation on the example, in three sizes, without a terminal.

Run `python docs/screenshots.py` after a change of a screen that the pictures show.
"""

import asyncio
import os
import tempfile
from contextlib import closing
from pathlib import Path

from textual.pilot import Pilot

from reviewer.cli.demo import CANDIDATES, SUITE
from reviewer.cli.main import main as reviewer
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.runs.api import RunOrder
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.settings.settings import Settings

SCREENSHOTS = Path(__file__).resolve().parent / "screenshots"
SIZES = ((80, 24), (100, 30), (200, 60))
DARK = Settings(theme="dark")
SCREENS: dict[str, tuple[str, ...]] = {
    "scorecard": (),
    "trajectory": ("enter",),
    "episode": ("enter", "plus"),
    "decision": ("D",),
    "run-dialog": ("r",),
    "label": ("L", "h", "2"),
    "label-message": ("L", "c", "1", "4"),
    "queue": ("Q",),
    "agreement": ("A",),
    "judge": ("J",),
    "compare": ("C",),
    "compare-episode": ("C", "enter"),
    "trends": ("E",),
    "suite": ("U", "right", "right", "right"),
    "sides": ("vertical_line",),
    "search": ("F", *"refund", "enter"),
    "import": ("i",),
    "help": ("question_mark",),
    "tour": ("question_mark", "space"),
    "theme": ("ctrl+t",),
}
"""Each screen, and the keys that lead there from the first one."""
HALF = 4
"""Attempts done when the picture of a run is taken."""
WATCHED = 0.4
"""Seconds until the screen has seen what the run has written."""


async def settled(pilot: Pilot[None], app: ReviewerApp) -> None:
    """Wait until every question is answered and every answer drawn."""
    for _ in range(3):
        await pilot.pause()
        while not app.background.idle():
            await asyncio.sleep(0.01)
    await pilot.pause()


async def draw(desk: Desk, name: str, size: tuple[int, int], *keys: str) -> None:
    """One picture of a screen at rest."""
    app = ReviewerApp(desk, watch=False, ascii_only=False, settings=DARK)
    async with app.run_test(size=size) as pilot:
        await settled(pilot, app)
        for key in keys:
            await pilot.press(key)
            await settled(pilot, app)
        keep(app, name, size)


async def draw_run(desk: Desk, name: str, size: tuple[int, int]) -> None:
    """A run half done, its candidate's first attempts landing as the picture is taken."""
    order = RunOrder(suite_id=SUITE, candidate_id=CANDIDATES[0], jobs=2, pace=0.5)
    app = ReviewerApp(desk, ascii_only=False, settings=DARK, runs=[order])
    async with app.run_test(size=size) as pilot:
        while not (app.live.at_work and app.live.views[0].done >= HALF):
            await pilot.pause(0.05)
        await pilot.pause(WATCHED)
        keep(app, name, size)
        app.live.abandon()


def keep(app: ReviewerApp, name: str, size: tuple[int, int]) -> None:
    """Write what stands on the screen."""
    target = SCREENSHOTS / f"{name}-{size[0]}x{size[1]}.svg"
    target.write_text(app.export_screenshot(title=f"reviewer: {name}"), encoding="utf-8")
    print(target)  # noqa: T201


def example(place: Path, *candidates: str) -> Desk:
    """A workspace with the example, and the recorded traces of these candidates."""
    reviewer(["init", "--example", str(place)])
    traces = place / "suites" / SUITE / "traces"
    for candidate in candidates:
        reviewer(["--workspace", str(place), "import", str(traces / f"{candidate}.jsonl")])
    desk = Desk(at(place))
    desk.opened.reviewer = "robin"
    return desk


def main() -> None:
    os.environ.pop("NO_COLOR", None)
    os.environ.pop("TEXTUAL_THEME", None)
    SCREENSHOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # The candidate that must be blocked comes last: the newest undecided one is shown first.
        with closing(example(Path(folder) / "shopflow", *reversed(CANDIDATES))) as desk:
            for name, keys in SCREENS.items():
                for size in SIZES:
                    asyncio.run(draw(desk, name, size, *keys))
        for size in SIZES:
            with closing(example(Path(folder) / f"run-{size[0]}")) as desk:
                asyncio.run(draw_run(desk, "run", size))


if __name__ == "__main__":
    main()
