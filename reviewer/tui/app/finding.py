"""What the finder offers: acts of this screen and of every other one, candidates, suites, episodes
and traces by name."""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

from reviewer.tui.settings.keys import written
from reviewer.tui.settings.theme import STATES, VERDICTS
from reviewer.tui.shell.places import Offer, ToScorecard, ToTrace

if TYPE_CHECKING:
    from textual.binding import ActiveBinding, Binding
    from textual.dom import DOMNode

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
    "suite": "suite.screen:SuiteScreen",
    "patterns": "patterns:PatternsScreen",
    "search": "search:SearchScreen",
    "sessions": "sessions.screen:SessionsScreen",
}
"""The class of every screen that a key opens, by its name."""
SIGN = "sign the decision"
"""An act that the list of a screen does without a binding of the screen."""
WAIT, TRIES = 0.1, 100
"""Seconds between two checks whether a screen has its answers, and the most checks."""


class Found:
    """Offers for the finder over one screen. While someone labels, no place is named."""

    def __init__(self, app: "ReviewerApp", screen: Screen[Any]) -> None:
        self._app, self._screen = app, screen

    @property
    def _blind(self) -> bool:
        return self._app.here is None or self._app.here.BLIND

    def acts(self) -> list[Offer]:
        """Return the acts of the screen, of the widget in focus on it, and of every screen."""
        return [
            *(
                Offer(
                    "act",
                    active.binding.description,
                    partial(self._app.run_action, active.binding.action, active.node),
                    getattr(self._screen, "NAME", ""),
                    aside=" ".join(pressed),
                    tip=active.binding.tooltip,
                )
                for pressed, active in _bound(self._screen)
            ),
            *(
                Offer("act", words, run, tip=tip)
                for words, tip, run in (
                    *getattr(self._screen, "palette_acts", tuple)(),
                    *self._app.common_acts(),
                )
            ),
        ]

    def other_acts(self) -> list[Offer]:
        """Return the acts of every other screen: choosing one opens that screen and does the act
        once the screen has its answers."""
        here = "" if self._app.here is None else self._app.here.NAME
        return list(other_acts(self._app, here))

    def numbered(self, text: str) -> list[Offer]:
        """Return the item with a number on the screen."""
        here = self._app.here
        return [] if here is None else list(here.numbered_offers(text))

    def recent(self) -> list[Offer]:
        """Return candidates, the newest registration first, then suites."""
        if self._blind:
            return []
        rows, empty = self._app.desk.workspace.all_candidates()
        offers = [
            Offer(
                "candidate",
                one.candidate_id,
                partial(self._app.visit, ToScorecard(info.suite_id, one.candidate_id)),
                info.suite_id,
                VERDICTS[one.recommendation],
                one.recommendation,
                f"signed {one.decided}" if one.decided else "not signed",
                f"{one.traces:,} {'trace' if one.traces == 1 else 'traces'}",
                info.suite_id,
                one.candidate_id,
            )
            for info, one in rows
        ]
        newest: dict[str, Offer] = {}
        for offer in offers:
            newest.setdefault(offer.suite_id, offer)
        states = {info.suite_id: str(info.state) for info, _ in rows}
        for suite_id, offer in newest.items():
            offers.append(
                Offer(
                    "suite", suite_id, offer.run, "suites", verdict=states[suite_id],
                    tip=f"its newest candidate is {offer.candidate_id}", suite_id=suite_id,
                )
            )  # fmt: skip
        for info in empty:
            run = partial(self._say, f"{info.suite_id} has no traces yet: r runs, i imports")
            offers.append(
                Offer(
                    "suite", info.suite_id, run, "suites", verdict=str(info.state),
                    aside="no attempts", suite_id=info.suite_id,
                )
            )  # fmt: skip
        return offers

    def _say(self, text: str) -> None:
        if self._app.here is not None:
            self._app.here.say(text)

    def named(self, text: str) -> list[Offer]:
        """Return episodes and traces whose names contain the words of a text."""
        if self._blind:
            return []
        return [
            _place(self._app, one)
            for one in self._app.desk.workspace.found(text)
            if one.kind in ("episode", "trace") and one.candidate_id
        ]


def _bound(screen: Screen[Any]) -> "list[tuple[list[str], ActiveBinding]]":
    """Return each act once, with all its keys. Two nodes may call different acts by one name."""
    found: dict[tuple[DOMNode, str, str], tuple[list[str], ActiveBinding]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        moves = (binding.id or "").startswith("move.")
        if binding.description and active.enabled and binding.id and not moves:
            name = active.node, binding.action, binding.description
            found.setdefault(name, ([], active))[0].append(written(binding.key))
    return list(found.values())


def _place(app: "ReviewerApp", place: "FoundPlace") -> Offer:
    state = STATES.get(place.mark)
    return Offer(
        place.kind,
        place.name,
        partial(_go, app, place),
        place.where,
        place.mark,
        state.word if state else "",
        suite_id=place.suite_id,
        candidate_id=place.candidate_id,
    )


def _go(app: "ReviewerApp", place: "FoundPlace") -> None:
    if place.kind == "trace":
        app.suite_id, app.candidate_id = place.suite_id, place.candidate_id
        app.trace_id = place.trace_id
        app.visit(ToTrace(place.trace_id))
        return
    from reviewer.tui.screens.scorecard.reading import Arrangement
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen

    card = ScorecardScreen(place.suite_id, place.candidate_id)
    card.reading.looking = Arrangement(text=place.episode_id)
    app.visit(card)


def other_acts(app: "ReviewerApp", here: str) -> Iterator[Offer]:
    """Return every act of every screen but this one."""
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
            there = partial(_there, app, name, binding.action)
            key = written(binding.key.partition(",")[0])
            yield Offer("act", words, there, name, aside=key, tip=binding.tooltip)
        if name == "decision":
            there = partial(_there, app, name, "sign")
            yield Offer("act", SIGN, there, name, aside="Enter", tip="Sign the chosen decision.")


def _there(app: "ReviewerApp", name: str, action: str) -> None:
    app.action_go(name)
    if app.here is None or name != app.here.NAME:
        return  # the screen has already said why it cannot be opened

    def look(left: int) -> None:
        if app.here is None or name != app.here.NAME or app.screen is not app.here:
            return
        if left and not app.background.idle():
            app.set_timer(WAIT, partial(look, left - 1))
        else:
            app.call_next(app.run_action, action, app.here)

    app.set_timer(WAIT, partial(look, TRIES))


def find(
    app: "ReviewerApp",
    text: str,
    take: Callable[[str, str], None] | None,
    at: tuple[str, str],
    *,
    acts_first: bool,
) -> None:
    """Open the finder over the screen. `take` gets the suite and candidate that were chosen; any
    other choice is opened, or done."""
    from reviewer.tui.screens.dialogs.finder import FinderScreen

    if isinstance(app.screen, FinderScreen):
        app.screen.acts()
        return

    def chosen(offer: Offer | None) -> None:
        if offer is None:
            return
        if take is not None and offer.kind == "candidate":
            take(offer.suite_id, offer.candidate_id)
        else:
            app.call_next(offer.run)

    source = Found(app, app.screen)
    app.push_screen(FinderScreen(source, text, acts_first=acts_first, at=at), chosen)
