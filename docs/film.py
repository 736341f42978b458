"""Draw docs/screenshots/film.svg: the main way through the workstation as one moving picture.

Run `python docs/film.py` after a change of a screen that it shows. The frames are the program's own
screens on the example. The picture is plain SVG with CSS: a README shows it without a script.
"""

import asyncio
import os
import re
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from screenshots import DARK, HALF, SCREENSHOTS, WATCHED, example, settled
from textual.pilot import Pilot

from reviewer.cli.demo import CANDIDATES, SUITE
from reviewer.desk.desk import Desk
from reviewer.desk.runs.api import RunOrder
from reviewer.tui.app.app import ReviewerApp

SIZE = (100, 30)
CAPTION = 34
"""Pixels below a frame for its words."""


class Step(NamedTuple):
    """Keys that are pressed, how long the frame after them stays (seconds), and what it shows."""

    keys: tuple[str, ...]
    seconds: float
    words: str


WAY = (
    Step(
        (),
        3.0,
        "A candidate on its frozen suite: one critical failure blocks, whatever else passed",
    ),
    Step(("enter",), 3.0, "Enter opens the trace at the very event that broke the gate"),
    Step(("n",), 2.5, "n goes to what else broke"),
    Step(("number_sign",), 2.5, "# groups the events by turn"),
    Step(("v",), 2.5, "v shows the state that the event found and left"),
    Step(("L",), 3.0, "L labels final messages, blind, in pairs shown in both orders"),
    Step(("J",), 2.5, "J: how far a model judge may be trusted, from people's labels alone"),
    Step(("C",), 2.5, "C: what changed against another candidate"),
    Step(("D",), 3.5, "D: the decision, with every reason and the bounds of each figure"),
)


class Frame(NamedTuple):
    """One screen as SVG, how long it stays, and its words."""

    svg: str
    seconds: float
    words: str


def picture(app: ReviewerApp, step: Step) -> Frame:
    return Frame(app.export_screenshot(title="reviewer"), step.seconds, step.words)


async def run_frames(desk: Desk) -> list[Frame]:
    """The grid as a run fills it: at its start, and half done."""
    order = RunOrder(suite_id=SUITE, candidate_id=CANDIDATES[0], jobs=2, pace=0.5)
    app = ReviewerApp(desk, ascii_only=False, settings=DARK, runs=[order])
    found = []
    async with app.run_test(size=SIZE) as pilot:
        for done, words in (
            (1, "reviewer run: each attempt in a world of its own"),
            (HALF, "verdicts land in the grid as attempts end"),
            (2 * HALF, "cells turn red where a hard gate breaks"),
        ):
            while app.live.at_work and app.live.views[0].done < done:
                await pilot.pause(0.05)
            await pilot.pause(WATCHED)
            found.append(picture(app, Step((), 1.2, words)))
        app.live.abandon()
    return found


async def way_frames(desk: Desk) -> list[Frame]:
    """The screens of `WAY`, one after another."""
    app = ReviewerApp(desk, watch=False, ascii_only=False, settings=DARK)
    found = []
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot, app)
        for step in WAY:
            await _press(pilot, app, step.keys)
            found.append(picture(app, step))
    return found


async def _press(pilot: Pilot[None], app: ReviewerApp, keys: tuple[str, ...]) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot, app)


def joined(frames: list[Frame]) -> str:
    """Return one SVG that shows each frame for its time, over and over. Where motion is unwanted
    (`prefers-reduced-motion`) the first screen at rest stays."""
    total = sum(frame.seconds for frame in frames)
    width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', frames[0].svg)[0])
    parts, styles, begins = [], [], 0.0
    for number, frame in enumerate(frames):
        first, last = 100 * begins / total, 100 * (begins + frame.seconds) / total
        begins += frame.seconds
        styles.append(
            f"@keyframes f{number} {{ 0% {{ visibility: hidden }} {first:.3f}% "
            f"{{ visibility: visible }} {last:.3f}%, 100% {{ visibility: hidden }} }}\n"
            f".f{number} {{ animation: f{number} {total:.1f}s step-end infinite }}"
        )
        inner = re.sub(r"@font-face \{.*?\}\s*", "", _inside(frame.svg), flags=re.S)
        inner = re.sub(r"font-family: ?Fira Code", "font-family: ui-monospace, monospace", inner)
        words = (
            f'<text class="words" x="{width / 2:.0f}" y="{height + 22:.0f}">{frame.words}</text>'
        )
        parts.append(f'<g class="frame f{number}">{inner}{words}</g>')
    still = next(n for n, frame in enumerate(frames) if frame.words == WAY[0].words)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height + CAPTION:g}" '
        'role="img" aria-label="The main way through reviewer, from a run to the decision">\n'
        "<style>\n.frame { visibility: hidden }\n"
        ".words { font: 18px system-ui, sans-serif; fill: #8a93a3; text-anchor: middle }\n"
        + "\n".join(styles)
        + "\n@media (prefers-reduced-motion: reduce) { .frame { animation: none } "
        f".f{still} {{ visibility: visible }} }}\n</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _inside(svg: str) -> str:
    return re.sub(r"^.*?<svg[^>]*>|</svg>\s*$", "", svg, flags=re.S)


def main() -> None:
    os.environ.pop("NO_COLOR", None)
    os.environ.pop("TEXTUAL_THEME", None)
    with tempfile.TemporaryDirectory() as folder:
        with closing(example(Path(folder) / "run")) as desk:
            frames = asyncio.run(run_frames(desk))
        with closing(example(Path(folder) / "shopflow", *reversed(CANDIDATES))) as desk:
            frames += asyncio.run(way_frames(desk))
    target = SCREENSHOTS / "film.svg"
    target.write_text(joined(frames), encoding="utf-8")
    print(target)  # noqa: T201


if __name__ == "__main__":
    main()
