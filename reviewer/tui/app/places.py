"""The screen of every place, and the modules that are imported before they are needed."""

import importlib
import threading
from collections.abc import Callable
from time import sleep
from typing import TYPE_CHECKING

from reviewer.tui.settings.keys import key_of
from reviewer.tui.shell.places import (
    Place,
    ToAttempts,
    ToCompare,
    ToLabel,
    ToReleases,
    ToScorecard,
    ToTrace,
)

if TYPE_CHECKING:
    from reviewer.tui.screens.base import DeskScreen
    from reviewer.tui.shell.shell import Shell


_WHY = {
    "compare": "to compare",
    "decision": "to decide on",
    "label": "with messages to label",
    "queue": "with messages to label",
    "agreement": "with messages to label",
    "judge": "with messages to judge",
    "trends": "to draw a trend of",
    "patterns": "whose failures are grouped",
}


def named(shell: "Shell", name: str) -> "DeskScreen | str":
    """Return the screen of line 1 with that name, for the suite and candidate that the reader looks
    at; or a message why there is none yet."""
    where = shell.suite_id, shell.candidate_id
    if name == "scorecard":
        return screen_of(shell, ToScorecard(*where))
    if name == "runs":
        from reviewer.tui.screens.runs.screen import RunsScreen

        return RunsScreen()
    if name == "sessions":
        from reviewer.tui.screens.sessions.screen import SessionsScreen

        return SessionsScreen()
    if name == "search":
        from reviewer.tui.screens.search import SearchScreen

        return SearchScreen(*where)
    if name == "trajectory":
        if not shell.trace_id:
            home = key_of("screen.scorecard")
            return f"no trace chosen yet: {home}, then Enter on a cell of the scorecard"
        return screen_of(shell, ToTrace(shell.trace_id))
    if name == "suite":
        if not shell.suite_id:
            return "no suite here yet: reviewer suite new makes one"
        from reviewer.tui.screens.suite.screen import SuiteScreen

        return SuiteScreen(shell.suite_id)
    if not shell.candidate_id:
        return f"no candidate {_WHY[name]} yet: import traces first"
    return _of_candidate(shell, name)


def _of_candidate(shell: "Shell", name: str) -> "DeskScreen":
    where = shell.suite_id, shell.candidate_id
    if name == "compare":
        trace = getattr(shell.here, "NAME", "") == "trajectory" and shell.trace_id.split("/")
        episode = trace[-2] if trace and len(trace) > 1 else ""
        return screen_of(shell, ToCompare(*where, episode_id=episode))
    if name == "decision":
        from reviewer.tui.screens.decision.screen import DecisionScreen

        return DecisionScreen(*where)
    if name == "queue":
        from reviewer.tui.screens.queue.screen import QueueScreen

        return QueueScreen(*where)
    if name == "agreement":
        from reviewer.tui.screens.queue.screen import AgreementScreen

        return AgreementScreen(*where)
    if name == "trends":
        from reviewer.tui.screens.trends import TrendsScreen

        return TrendsScreen(*where)
    if name == "patterns":
        from reviewer.tui.screens.patterns import PatternsScreen

        return PatternsScreen(*where)
    if name == "judge":
        from reviewer.tui.screens.judge.screen import JudgeScreen

        return JudgeScreen(*where)
    return screen_of(shell, ToLabel())


def screen_of(shell: "Shell", place: Place) -> "DeskScreen":
    """Return a new screen that shows a place."""
    match place:
        case ToScorecard():
            from reviewer.tui.screens.scorecard.screen import ScorecardScreen

            return ScorecardScreen(*place)
        case ToReleases():
            from reviewer.tui.screens.releases import ReleasesScreen

            return ReleasesScreen(*place)
        case ToTrace():
            from reviewer.tui.screens.trajectory.screen import TrajectoryScreen

            return TrajectoryScreen(*place)
        case ToCompare():
            from reviewer.tui.screens.compare.screen import CompareScreen

            return CompareScreen(*place)
        case ToAttempts():
            from reviewer.tui.screens.compare.episode import CompareEpisodeScreen

            return CompareEpisodeScreen(*place)
        case ToLabel():
            where = shell.suite_id, shell.candidate_id
            if shell.labeling.kind == "pair":
                from reviewer.tui.screens.label.pair import LabelPairScreen

                return LabelPairScreen(*where, place.role, place.reason, place.item)
            from reviewer.tui.screens.label.message import LabelMessageScreen

            return LabelMessageScreen(*where, place.role, place.reason, place.item)


BREATH = 0.01
"""Seconds between two imports, so that a key pressed meanwhile is answered."""
NEXT = (
    "reviewer.tui.screens.trajectory.screen",
    "reviewer.desk.traces.records",
    "reviewer.desk.traces.events",
    "reviewer.desk.traces.notes",
    "reviewer.desk.traces.states",
    "reviewer.desk.traces.verdict",
    "reviewer.tui.screens.scorecard.dialogs",
    "reviewer.tui.screens.dialogs.ask",
    "reviewer.tui.screens.help",
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
    "reviewer.tui.screens.trends",
    "reviewer.desk.trends.api",
    "reviewer.tui.screens.search",
    "reviewer.tui.screens.dialogs.finder",
    "reviewer.tui.screens.dialogs.run_order",
    "reviewer.desk.runs.start",
    "reviewer.tui.screens.dialogs.import_traces",
    "reviewer.tui.screens.dialogs.error",
    "reviewer.tui.screens.label.message",
    "reviewer.desk.labels.set_sheets",
    "reviewer.tui.screens.compare.episode",
    "reviewer.desk.compare.api",
    "reviewer.tui.screens.judge.screen",
    "reviewer.tui.screens.suite.screen",
    "reviewer.tui.screens.patterns",
    "reviewer.desk.patterns.api",
    "reviewer.tui.screens.decision.step",
    "reviewer.tui.screens.releases",
)
"""Modules in the order in which they are likely to be needed. Modules for decisions, judges and
runs are not among them, because they import pydantic, which is large."""


def bring(then: Callable[[], None] = lambda: None) -> threading.Thread:
    """Start importing them, on a daemon thread that delays nothing, not even the exit."""

    def work() -> None:
        for name in NEXT:
            importlib.import_module(name)
            sleep(BREATH)
        then()

    thread = threading.Thread(target=work, name="ahead", daemon=True)
    thread.start()
    return thread
