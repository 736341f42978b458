"""Where the capitals of line 1 lead. A screen is imported when somebody first goes there."""

from typing import TYPE_CHECKING

from reviewer.tui.settings.keys import key_of

if TYPE_CHECKING:
    from reviewer.desk.labels.views import LabelRole
    from reviewer.tui.app.app import ReviewerApp
    from reviewer.tui.screens.base import DeskScreen


def place(app: "ReviewerApp", name: str) -> "DeskScreen | str":
    """The screen of that name for what the reader looks at; or, in words, why there is none yet."""
    if name == "scorecard":
        from reviewer.tui.screens.scorecard.screen import ScorecardScreen

        return ScorecardScreen(app.suite_id, app.candidate_id)
    if name == "runs":
        from reviewer.tui.screens.runs.screen import RunsScreen

        return RunsScreen()
    if name == "search":
        from reviewer.tui.screens.search.screen import SearchScreen

        return SearchScreen(app.suite_id, app.candidate_id)
    if name == "trajectory":
        if not app.trace_id:
            home = key_of("screen.scorecard")
            return f"no trace chosen yet: {home}, then Enter on a cell of the scorecard"
        from reviewer.tui.screens.trajectory.screen import TrajectoryScreen

        return TrajectoryScreen(app.trace_id)
    if name == "compare" and app.candidate_id:
        from reviewer.tui.screens.compare.screen import CompareScreen

        return CompareScreen(app.suite_id, app.candidate_id)
    if not app.candidate_id:
        return f"no candidate {_WHY[name]} yet: import traces first"
    return _of_candidate(app, name)


_WHY = {
    "compare": "to compare",
    "decision": "to decide on",
    "label": "with messages to label",
    "queue": "with messages to label",
    "agreement": "with messages to label",
    "judge": "with messages to judge",
    "trends": "to draw a trend of",
}


def _of_candidate(app: "ReviewerApp", name: str) -> "DeskScreen":
    where = app.suite_id, app.candidate_id
    if name == "decision":
        from reviewer.tui.screens.decision.screen import DecisionScreen

        return DecisionScreen(*where)
    if name == "queue":
        from reviewer.tui.screens.queue.screen import QueueScreen

        return QueueScreen(*where)
    if name == "agreement":
        from reviewer.tui.screens.queue.agreement import AgreementScreen

        return AgreementScreen(*where)
    if name == "trends":
        from reviewer.tui.screens.trends.screen import TrendsScreen

        return TrendsScreen(*where)
    if name == "judge":
        from reviewer.tui.screens.judge.screen import JudgeScreen

        return JudgeScreen(*where)
    return label_screen(app)


def label_screen(
    app: "ReviewerApp", role: "LabelRole" = "rater", reason: str = "", item: str = ""
) -> "DeskScreen":
    """The screen for the kind of items that were labeled last. `reason` keeps to one line of the
    queue while it has any left; `item` comes first of all."""
    where = app.suite_id, app.candidate_id
    if app.labeling.kind == "pair":
        from reviewer.tui.screens.label.pair import LabelPairScreen

        return LabelPairScreen(*where, role, reason, item)
    from reviewer.tui.screens.label.message import LabelMessageScreen

    return LabelMessageScreen(*where, role, reason, item)
