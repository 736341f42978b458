"""The workstation's first answers, computed in a second process while the screens load.

Loading Textual and reading the store both need a processor, and threads of one Python take turns.
So a fork of this process, made before anything heavy is loaded, asks the desk what the first screen
will ask, and sends the answers through a pipe; every other question goes to a desk in this process.
The answers are used until the store's version is first read, a moment later; then the screen reads
everything again, so nothing written meanwhile is missed.
"""

import gc
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from reviewer.forks import fork

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.place import Workspace

MISSING: Any = object()
"""No answer: ask the desk itself."""
NICE = 5
"""Lower priority than the process that draws, for what the first rows do not wait for."""


_Question = tuple[str, tuple[Any, ...]]


class Said(NamedTuple):
    """One message of the second process: a question, to be answered or (`done`) answered."""

    question: _Question
    done: bool = False
    answer: Any = None


class HeadStart:
    """Answers that come through a pipe from the process `pid`. Safe from any thread."""

    def __init__(self, pid: int, pipe: int) -> None:
        self._pid = pid
        self._heard = Condition()
        self._begun: list[_Question] = []
        self._answers: list[Said] = []
        self._kept, self._spoken = True, False
        Thread(target=self._hear, args=(pipe,), name="head start", daemon=True).start()

    def answer(self, name: str, *arguments: Any) -> Any:
        """Return the desk's answer to this question, MISSING when the second process did not ask
        it. Wait only for its first message, and for a question that it is going to answer."""
        question = name, arguments
        with self._heard:
            self._heard.wait_for(lambda: self._spoken and question not in self._begun)
            found = (said.answer for said in self._answers if said.question == question)
            return next(found, MISSING)

    def forget(self) -> None:
        """Drop the answers, and pass later ones only to the threads that wait for them."""
        with self._heard:
            self._kept = False
            self._answers.clear()

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        with self._heard:
            if self._pid:
                os.kill(self._pid, signal.SIGKILL)  # safe: it writes nothing but a cache

    def _hear(self, pipe: int) -> None:
        with os.fdopen(pipe, "rb") as words, suppress(EOFError, pickle.UnpicklingError, OSError):
            while True:
                said = pickle.load(words)  # from a fork of this program, so trusted
                with self._heard:
                    self._spoken = True
                    if not self._kept:
                        self._answers.clear()
                    if said.done:
                        self._begun = [one for one in self._begun if one != said.question]
                        self._answers.append(said)
                    else:
                        self._begun.append(said.question)
                    self._heard.notify_all()
        with self._heard:
            pid, self._pid, self._spoken = self._pid, 0, True
            self._begun.clear()
            self._heard.notify_all()
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def begin(
    make: "Callable[[], Desk]", workspace: "Workspace", release: tuple[str, str] = ("", "")
) -> HeadStart | None:
    """Start asking a desk of this workspace in a second process, about this suite and candidate, or
    about those that the desk chooses. Return None where a process cannot safely be forked. A
    question that is refused ends the process: the screen asks again, and says why."""
    forked = fork(partial(_ask, make, workspace, release))
    return None if forked is None else HeadStart(*forked)


def _ask(
    make: "Callable[[], Desk]", workspace: "Workspace", release: tuple[str, str], writing: int
) -> None:
    """Ask the desk in the fork, which computes everything itself, and ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    from reviewer.desk import early_stats

    early_stats.begin(workspace, release[0], nice=NICE)
    from reviewer.desk.scorecards.views import PAGE
    from reviewer.tui.screens.scorecard.reading import Arrangement, Question, read, read_early

    with os.fdopen(writing, "wb", buffering=0) as pipe:

        def tell(said: Said) -> None:
            pipe.write(pickle.dumps(said))

        asked = make()
        asked.scorecards.apart = False
        desk = cast("Desk", _Telling(asked, tell))
        question = Question(*release, Arrangement())
        desk.scorecards.saved_views()
        early = read_early(desk, question)
        if early is not None:
            desk.scorecards.rows(early.suite_id, early.candidate_id, early.rows.keys[:PAGE])
            question = question._replace(suite_id=early.suite_id, candidate_id=early.candidate_id)
            # What takes long is waited for from now on, however soon it is asked.
            place = early.suite_id, early.candidate_id
            tell(Said(("scorecards.order", (*place, *question.looking[:4]))))
            tell(Said(("scorecards.card", place)))
        os.nice(NICE)
        found = read(desk, question).card
        if found is not None and found.reasons and found.reasons[0].evidence:
            first = found.reasons[0].evidence[0]
            desk.scorecards.cell(
                found.suite.suite_id, found.candidate_id, first.episode_id, first.gate
            )


class _Telling:
    """A desk, or one of its rooms (if `within` names it), that reports each question when it begins
    and when it is answered."""

    def __init__(self, asked: object, tell: Callable[[Said], object], within: str = "") -> None:
        self._asked, self._tell, self._within = asked, tell, within

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._asked, name)
        if not self._within:
            return _Telling(found, self._tell, name)
        question = f"{self._within}.{name}"

        def ask(*arguments: Any) -> Any:
            self._tell(Said((question, arguments)))
            answer = found(*arguments)
            self._tell(Said((question, arguments), True, answer))
            return answer

        return ask
