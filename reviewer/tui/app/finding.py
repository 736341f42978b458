"""The palette's way to what is not on the screen: candidates, suites, episodes, traces by name, and
the acts of every other screen."""

import asyncio
import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.command import Hit, Hits, Provider

from reviewer.desk.errors import DeskError
from reviewer.tui.settings.keys import written
from reviewer.tui.shell.places import ToScorecard, ToTrace

if TYPE_CHECKING:
    from textual.binding import Binding

    from reviewer.desk.workspace.views import FoundPlace
    from reviewer.tui.app.app import ReviewerApp

_AT = "reviewer.tui.screens."
CLASSES = {
    "scorecard": "scorecard.screen:ScorecardScreen",
    "trajectory": "trajectory.screen:TrajectoryScreen",
    "compare": "compare.screen:CompareScreen",
    "label": "label.pair:LabelPairScreen",
    "queue": "queue.screen:QueueScreen",
    "agreement": "queue.screen:AgreementScreen",
    "judge": "judge.screen:JudgeScreen",
    "decision": "decision.screen:DecisionScreen",
    "runs": "runs.screen:RunsScreen",
    "trends": "trends:TrendsScreen",
    "power": "power:PowerScreen",
    "patterns": "patterns:PatternsScreen",
    "search": "search:SearchScreen",
    "sessions": "sessions.screen:SessionsScreen",
}
"""The class of every screen that a key leads to, by its name."""
SIGN = "sign the decision (decision, Enter)"
"""The act of a screen that its list does, and no binding of the screen."""
SHORTEST = 2
"""Letters from which places are looked for."""
WAIT, TRIES = 0.1, 100
"""Seconds between two looks whether a screen has its answers, and how many looks at most."""


class Places(Provider):
    """Candidates, suites, episodes and traces with the words in their name. While somebody labels,
    nothing is named."""

    async def search(self, query: str) -> Hits:
        app = cast("ReviewerApp", self.app)
        if len(query.strip()) < SHORTEST or app.here is None or app.here.BLIND:
            return
        try:
            found = await asyncio.to_thread(app.desk.workspace.found, query)
        except DeskError:
            return
        matcher = self.matcher(query)
        for place in found:
            text = f"{place.kind} {place.name}, {place.where}"
            score = max(matcher.match(text), 0.5)
            shown = matcher.highlight(text.replace("[", r"\["))
            yield Hit(score, shown, partial(_go, app, place), text=text, help="Go there.")


def _go(app: "ReviewerApp", place: "FoundPlace") -> None:
    if place.kind == "trace":
        app.suite_id, app.candidate_id = place.suite_id, place.candidate_id
        app.trace_id = place.trace_id
        app.visit(ToTrace(place.trace_id))
    elif not place.candidate_id:
        if app.here is not None:
            app.here.say(f"{place.name} has no traces yet: r runs a candidate, i imports")
    elif place.kind == "episode":
        from reviewer.tui.screens.scorecard.reading import Arrangement
        from reviewer.tui.screens.scorecard.screen import ScorecardScreen

        card = ScorecardScreen(place.suite_id, place.candidate_id)
        card.reading.looking = Arrangement(text=place.episode_id)
        app.visit(card)
    else:
        app.visit(ToScorecard(place.suite_id, place.candidate_id))


class OtherActs(Provider):
    """What can be done on the other screens: goes there, and does it once the screen is read."""

    async def search(self, query: str) -> Hits:
        app = cast("ReviewerApp", self.app)
        if app.here is None:
            return
        matcher, words = self.matcher(query), query.casefold().split()
        for text, tooltip, run in other_acts(app, app.here.NAME):
            if all(word in text.casefold() for word in words):
                shown = matcher.highlight(text.replace("[", r"\["))
                score = max(matcher.match(text), 0.1) * 0.9
                yield Hit(score, shown, run, text=text, help=tooltip)


def other_acts(app: "ReviewerApp", here: str) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Return every act of every screen but this one: its words with key and screen, its help, and
    how to do it."""
    for name, path in CLASSES.items():
        if name == here:
            continue
        module, _, kind = path.partition(":")
        screen = getattr(importlib.import_module(_AT + module), kind)
        seen: set[str] = set()
        for binding in cast("list[Binding]", screen.BINDINGS):
            words = binding.description
            moves = (binding.id or "").startswith("move.")
            if not words or moves or binding.action in seen or "numbered" in binding.action:
                continue
            seen.add(binding.action)
            text = f"{words} ({name}, {written(binding.key.partition(',')[0])})"
            yield text, binding.tooltip, partial(_there, app, name, binding.action)
        if name == "decision":
            yield SIGN, "Sign the chosen decision.", partial(_there, app, name, "sign")


def _there(app: "ReviewerApp", name: str, action: str) -> None:
    app.action_go(name)
    if app.here is None or name != app.here.NAME:
        return  # the screen has said why it cannot be opened

    def look(left: int) -> None:
        if app.here is None or name != app.here.NAME or app.screen is not app.here:
            return
        if left and not app.background.idle():
            app.set_timer(WAIT, partial(look, left - 1))
        else:
            app.call_next(app.run_action, action, app.here)

    app.set_timer(WAIT, partial(look, TRIES))
