"""Opens every screen of the workstation on a workspace full of hostile text, one after another.

Runs as a program on a terminal of its own. For each screen it writes its name into a pipe, once it
stands and has been used a little, and waits for a line from another pipe before it goes on: what
was written to the terminal in between is that screen's.

    python show_all.py WORKSPACE PIPE_OUT PIPE_IN
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile import SUITE, V7, V8, WORD, hostile, names
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.runs.api import ApprovalView, RunOrder, RunView, TurnView
from reviewer.desk.scorecards.views import SavedView
from reviewer.desk.views import KeyInfo
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.scenes import screens
from reviewer.tui.settings.settings import Settings
from reviewer.tui.shell.jobs import LiveRuns

A, B = names()
TRACE = f"{SUITE}/{A}/attack-014/1"
USED = ("down", "tab", "down", "v", "tab", "down", "v", "v")
"""Keys that show more of a screen and do nothing to the store."""

Made = Callable[[], Screen[Any]]


def made(app: ReviewerApp, desk: Desk) -> dict[str, Made]:
    """How each screen is opened, by the name of its class, with the most hostile text it takes."""
    from reviewer.tui.app.finding import Found
    from reviewer.tui.screens import help as help
    from reviewer.tui.screens import patterns as patterns
    from reviewer.tui.screens import releases as releases
    from reviewer.tui.screens import search as search
    from reviewer.tui.screens import settings as settings
    from reviewer.tui.screens import settings as themes
    from reviewer.tui.screens import trends as trends
    from reviewer.tui.screens.compare import episode as compare_episode
    from reviewer.tui.screens.compare import screen as compare
    from reviewer.tui.screens.decision import key as sign_key
    from reviewer.tui.screens.decision import own_key, sign
    from reviewer.tui.screens.decision import screen as decision
    from reviewer.tui.screens.decision import trust as sign_trust
    from reviewer.tui.screens.dialogs import ask as compare_choose
    from reviewer.tui.screens.dialogs import ask as prompt
    from reviewer.tui.screens.dialogs import ask as question
    from reviewer.tui.screens.dialogs import episode as make_episode
    from reviewer.tui.screens.dialogs import error, finder, who
    from reviewer.tui.screens.dialogs import import_traces as import_traces
    from reviewer.tui.screens.dialogs import run_order as order
    from reviewer.tui.screens.judge import dialogs as judge_order
    from reviewer.tui.screens.judge import dialogs as judge_pair
    from reviewer.tui.screens.judge import screen as judge
    from reviewer.tui.screens.label import message as label_message
    from reviewer.tui.screens.label import pair as label_pair
    from reviewer.tui.screens.label import screen as skip
    from reviewer.tui.screens.queue import screen as agreement
    from reviewer.tui.screens.queue import screen as queue
    from reviewer.tui.screens.runs import dialogs as approve
    from reviewer.tui.screens.runs import dialogs as import_read
    from reviewer.tui.screens.runs import screen as runs
    from reviewer.tui.screens.runs import talk
    from reviewer.tui.screens.scorecard import dialogs as scorecard_filter
    from reviewer.tui.screens.scorecard import dialogs as scorecard_views
    from reviewer.tui.screens.scorecard import screen as scorecard
    from reviewer.tui.screens.sessions import screen as sessions
    from reviewer.tui.screens.suite import screen as suite
    from reviewer.tui.screens.trajectory import screen as trajectory

    text = hostile(0)[:400]

    def judged() -> Screen[Any]:
        found = desk.judge.view(SUITE, V8, V7)
        row = found.rows[0]
        detail = desk.judge.pair(SUITE, V8, row.item, V7)
        return judge_pair.JudgePairScreen(row, detail, found)

    def aligned() -> Screen[Any]:
        found = desk.compare.attempts(TRACE, f"{SUITE}/{B}/attack-014/1")
        return compare_episode.CompareEpisodeScreen(None, (), 0, found)

    key = KeyInfo(
        fingerprint=text, comment=text, where=text, principal=text, roles=(text,), public=text
    )

    def signing() -> Screen[Any]:
        return sign.SignScreen(desk.decisions.view(SUITE, A), "BLOCK", [key])

    return {
        "AgreementScreen": lambda: agreement.AgreementScreen(SUITE, V8),
        "ApproveScreen": approve.ApproveScreen,
        "FinderScreen": lambda: finder.FinderScreen(Found(app, app.screen), "", acts_first=False),
        "ChooseSide": lambda: compare_choose.ChooseSide(text, [(text, (A, B)), (WORD, (B, A))]),
        "CompareEpisodeScreen": aligned,
        "CompareScreen": lambda: compare.CompareScreen(SUITE, B, A),
        "DecisionScreen": lambda: decision.DecisionScreen(SUITE, A),
        "EpisodeScreen": lambda: make_episode.EpisodeScreen(TRACE, f"{WORD} {text}"),
        "ErrorScreen": lambda: error.ErrorScreen.of(DeskError(text, text, text)),
        "FilterPrompt": lambda: scorecard_filter.FilterPrompt(
            f"{WORD} {text}", desk.scorecards.filter_values(SUITE, A)
        ),
        "HelpScreen": lambda: help.HelpScreen(app.screen),
        "ImportReadScreen": lambda: import_read.ImportReadScreen.of_source(
            desk.imports.sources()[-1]
        ),
        "ImportScreen": lambda: import_traces.ImportScreen(str(_hostile_file(desk)), SUITE),
        "JudgeOrderScreen": lambda: judge_order.JudgeOrderScreen(SUITE, A, text),
        "JudgePairScreen": judged,
        "JudgeScreen": lambda: judge.JudgeScreen(SUITE, V8),
        "KeyScreen": lambda: sign_key.KeyScreen(desk.decisions.view(SUITE, A), "BLOCK", text),
        "LabelMessageScreen": lambda: label_message.LabelMessageScreen(SUITE, A),
        "LabelPairScreen": lambda: label_pair.LabelPairScreen(SUITE, A),
        "OrderScreen": lambda: order.OrderScreen(SUITE, A),
        "OwnKeyScreen": lambda: own_key.OwnKeyScreen(desk.decisions.view(SUITE, A), "BLOCK", None),
        "PatternsScreen": lambda: patterns.PatternsScreen(SUITE, A),
        "PromptScreen": lambda: prompt.PromptScreen(text, f"{WORD} {text}", text),
        "QuitScreen": lambda: question.QuitScreen(text, [text], [("a", text), ("b", text)]),
        "QuestionScreen": lambda: question.QuestionScreen(
            "leave?", [text, text], [("stay", WORD), ("go", "go")]
        ),
        "QueueScreen": lambda: queue.QueueScreen(SUITE, A),
        "ReleasesScreen": lambda: releases.ReleasesScreen("suite", SUITE, A),
        "RunsScreen": runs.RunsScreen,
        "ScorecardScreen": lambda: scorecard.ScorecardScreen(SUITE, A),
        "SearchScreen": lambda: search.SearchScreen(SUITE, A, WORD),
        "SessionsScreen": sessions.SessionsScreen,
        "SettingsScreen": settings.SettingsScreen,
        "SignScreen": signing,
        "SkipScreen": skip.SkipScreen,
        "ThemesScreen": themes.ThemesScreen,
        "SuiteScreen": lambda: suite.SuiteScreen(SUITE),
        "TalkScreen": talk.TalkScreen,
        "TrajectoryScreen": lambda: trajectory.TrajectoryScreen(TRACE),
        "TrustScreen": lambda: sign_trust.TrustScreen(
            desk.decisions.view(SUITE, A), "BLOCK", [key]
        ),
        "TrendsScreen": lambda: trends.TrendsScreen(SUITE, A),
        "WhoScreen": lambda: who.WhoScreen(),
        "ViewsScreen": lambda: scorecard_views.ViewsScreen(
            [SavedView(name=text), SavedView(name=WORD, filter=text)]
        ),
    }


def _hostile_file(desk: Desk) -> Path:
    return next(path for path in desk.place.root.iterdir() if path.name.startswith(WORD))


class Waiting(LiveRuns):
    """Runs of which, once `asking`, two calls wait for an answer with hostile arguments."""

    asking = False
    talking = False

    @property
    def approvals(self) -> list[tuple[RunView, ApprovalView]]:
        tool, arguments = hostile(1)[:200], hostile(2)
        return [
            (
                _run_view(),
                ApprovalView(number=n, trace_id=TRACE, seq=2, tool=tool, arguments=arguments),
            )
            for n in ((1, 2) if self.asking else ())
        ]

    @property
    def turns(self) -> list[tuple[RunView, TurnView]]:
        text = hostile(1)[:200]
        turn = TurnView(
            number=1, trace_id=TRACE, seq=2, talk=((False, text), (True, hostile(2))),
            goals=(text,), facts=((text, text, "asked"),), persona=text, style=text, left=5,
            confirms=True,
        )  # fmt: skip
        return [(_run_view(), turn)] if self.talking else []


class Showing(ReviewerApp):
    """The workstation, with somebody who looks at every screen of it."""

    def __init__(self, desk: Desk, told: int, heard: int) -> None:
        super().__init__(desk, settings=Settings())
        self._real, self._told, self._heard = desk, told, heard
        self.live = self.waiting = Waiting(self)

    def on_ready(self) -> None:
        self._showing = asyncio.create_task(self._all())

    async def _all(self) -> None:
        try:
            await self._each()
            self.exit()
        except BaseException as error:
            self._say(f"!{type(error).__name__}: {error}")
            raise

    async def _each(self) -> None:
        pilot = Pilot(self)
        await self._settle(pilot)
        ways = made(self, self._real)
        for kind in screens():
            name = kind.__name__
            if name not in ways:
                self._say(f"!no way to open {name}: tell show_all.py one")
                continue
            self.waiting.asking = name == "ApproveScreen"
            self.waiting.talking = name == "TalkScreen"
            await self._open(pilot, ways[name]())
            await asyncio.to_thread(self._shown, name)
            self.waiting.asking = self.waiting.talking = False
            await self._close(pilot)
        await self._press(pilot, "ctrl+p", *"evil")
        await asyncio.to_thread(self._shown, "acts by name")
        await self._press(pilot, "escape", "escape")
        self.notify(hostile(3), title=hostile(4), markup=False)
        await self._settle(pilot)
        await asyncio.to_thread(self._shown, "message")

    async def _open(self, pilot: Pilot[None], screen: Screen[Any]) -> None:
        if isinstance(screen, ModalScreen):
            self.push_screen(screen)
            await self._settle(pilot)
            await self._press(pilot, "down", "tab", "tab")
        else:
            self.visit(screen)  # type: ignore[arg-type]
            await self._settle(pilot)
            await self._press(pilot, *USED)

    async def _close(self, pilot: Pilot[None]) -> None:
        """Back to the scorecard of the beginning."""
        for _ in range(20):
            if isinstance(self.screen, ModalScreen):
                self.pop_screen()
            elif len(self._trail) > 1:
                await self.action_back()
            else:
                return
            await self._settle(pilot)

    async def _press(self, pilot: Pilot[None], *keys: str) -> None:
        for key in keys:
            await pilot.press(key)
            await self._settle(pilot)

    async def _settle(self, pilot: Pilot[None]) -> None:
        for _ in range(2000):
            await pilot.pause()
            if self.background.idle():
                await pilot.pause()
                if self.background.idle():
                    return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{self.screen} never came to rest")

    def _shown(self, name: str) -> None:
        """Say that this stands, and wait until all of it was read."""
        self._say(name)
        os.read(self._heard, 1)

    def _say(self, text: str) -> None:
        os.write(self._told, f"{text}\n".encode("utf-8", "backslashreplace"))


def _run_view() -> RunView:
    order = RunOrder(suite_id=SUITE, candidate_id=A)
    counts = dict.fromkeys(
        ("done", "passed", "failed", "critical", "infrastructure", "not_measured", "lost"), 0
    )
    return RunView(
        number=1, order=order, suite_id=SUITE, candidate_id=A, state="running", planned=9,
        running=(("attack-014", 1),), pending=(), gates=(0,) * 7, seconds=1.0, eta_seconds=None,
        approvals=(), problem=hostile(5)[:300], began=1_800_000_000.0, **counts,
    )  # fmt: skip


def _hostile_home(folder: Path) -> None:
    """Make this the home, in which a coding agent keeps sessions of hostile text."""
    os.environ["HOME"] = str(folder)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    kept = folder / ".claude/projects/p"
    kept.mkdir(parents=True, exist_ok=True)
    for turn in range(6):
        asked = {"role": "user", "content": hostile(turn)[:400]}
        line = {"type": "user", "cwd": f"/{hostile(turn)[:300]}", "message": asked}
        (kept / f"{WORD}{turn}.jsonl").write_text(json.dumps(line) + "\n")


def main() -> None:
    _hostile_home(Path(sys.argv[1]) / "home")
    desk = Desk(at(Path(sys.argv[1])), "dana")
    app = Showing(desk, int(sys.argv[2]), int(sys.argv[3]))
    app.run()
    desk.close()
    os._exit(app.return_code or 0)


if __name__ == "__main__":
    main()
