"""The judge as a door sees it: what it has earned, pair by pair, what asking it would take, and
asking it.

Its figures are for all. Pair by pair its answers are shown only to who has labeled the pair
himself: whoever has still to label one must not know them.
"""

from threading import Lock
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.judge.book import JudgeBook, Judged, messages_of, pairwise, win_rate_of
from reviewer.desk.judge.jobs import JudgeHandle, Judges, OnChange, Prepared, judge_of, prepare
from reviewer.desk.judge.shown import Named, judge_view, own_pairs, pair_detail, unasked
from reviewer.desk.judge.views import JudgeDetail, JudgeOrder, JudgePlan, JudgeView
from reviewer.desk.labels.items import Side, other_candidate, side_of
from reviewer.desk.place import Workspace
from reviewer.desk.suites import Held
from reviewer.desk.traces.records import FinalMessages
from reviewer.review.judged import WinRate
from reviewer.review.judging.ask import PACE
from reviewer.review.judging.plan import estimate, prompt_digest
from reviewer.running.candidates.openai_http import Pace


class _About(NamedTuple):
    """One suite's judge where one candidate is concerned, and who is called A and B."""

    held: Held
    judged: Judged | None
    side: Side
    names: tuple[str, str]


class Judging:
    """The judges of one workspace. Safe to share between threads."""

    def __init__(
        self, workspace: Workspace, finals: FinalMessages, book: JudgeBook, pace: Pace = PACE
    ) -> None:
        self._workspace, self._finals, self._book = workspace, finals, book
        self._pace = pace
        self._judges: Judges | None = None
        self._lock = Lock()

    def view(
        self,
        connection: Connection,
        reviewer: str,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
    ) -> JudgeView:
        """The judge as this reviewer may see it. Raises DeskError for a suite without a judge, or a
        candidate without a trace."""
        about = self._about(connection, suite_id, candidate_id, baseline_id)
        judge, judged = judge_of(about.held, suite_id), about.judged
        if judged is None or judged.calibration is None:
            asked = pairwise(judge)
            digest = prompt_digest(asked) if asked is not None else ""
            return unasked(suite_id, judge, digest, about.names, judged)
        policy = about.held.suite.policy.judge
        wins = self._wins(connection, judged, about.side)
        named = self._named(connection, about, judged)
        own = own_pairs(judged.labels, reviewer)
        return judge_view(suite_id, judged, judged.calibration, named, policy, wins, own)

    def detail(
        self,
        connection: Connection,
        reviewer: str,
        suite_id: str,
        candidate_id: str,
        item: str,
        baseline_id: str | None,
    ) -> JudgeDetail:
        """Raises DeskError for a pair that this reviewer has not labeled, or the judge has not
        answered."""
        about = self._about(connection, suite_id, candidate_id, baseline_id)
        judged = about.judged
        found = judged.calibration if judged else None
        row = next((row for row in found.rows if row.item == item), None) if found else None
        if judged is None or row is None:
            raise DeskError("this pair is shown once people have labeled it and the judge answered")
        if item not in own_pairs(judged.labels, reviewer).whole:
            raise DeskError(
                "the judge's word on this pair is shown once your own label is in",
                "label it first, in both orders",
            )
        named = self._named(connection, about, judged)
        return pair_detail(judged, row, named.texts.get(item, {}))

    def _about(
        self,
        connection: Connection,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
    ) -> _About:
        held = suites.hold(self._workspace, connection, suite_id)
        judge_of(held, suite_id)
        side = side_of(connection, suite_id, candidate_id)
        if baseline_id is not None:
            side_of(connection, suite_id, baseline_id)
            names = baseline_id, candidate_id
        else:
            other = other_candidate(connection, suite_id, candidate_id) or candidate_id
            low, high = sorted((candidate_id, other))
            names = low, high
        judged = self._book.judged(connection, held, candidate_id)
        return _About(held, judged, side, names)

    def _named(self, connection: Connection, about: _About, judged: Judged) -> Named:
        """Whose message is whose, and what the messages say, of the labeled pairs."""
        assert judged.calibration is not None  # or there would be nothing to name
        items = {row.item for row in judged.calibration.rows}
        said = [one for one in judged.judgments if one.item in items]
        suite_id = about.held.suite.suite_id
        by_candidate = {
            name: messages_of(connection, self._finals, side_of(connection, suite_id, name), said)
            for name in registry_names(connection, suite_id)
        }
        texts: dict[str, dict[str, str]] = {}
        for found in by_candidate.values():
            for item, messages in found.items():
                texts.setdefault(item, {}).update(messages)
        a, b = (
            {item: frozenset(known) for item, known in by_candidate.get(name, {}).items()}
            for name in about.names
        )
        return Named(about.names, a, b, texts)

    def _wins(self, connection: Connection, judged: Judged, side: Side) -> WinRate | None:
        if judged.calibration is None:
            return None
        return win_rate_of(connection, self._finals, side, judged, judged.calibration)

    def plan(self, connection: Connection, order: JudgeOrder) -> JudgePlan:
        """What an order would take. Nothing is sent. Raises DeskError as `prepare` does."""
        prepared = prepare(self._workspace, connection, self._finals, order)
        found = estimate(prepared.asked, prepared.bench.judge, prepared.prices)
        return JudgePlan(
            calls=found.calls,
            cached=prepared.cached,
            input_tokens=found.input_tokens,
            cost_usd=found.cost_usd,
            model=prepared.bench.model,
            base_url=prepared.bench.url,
            problem=prepared.problem,
        )

    def prepared(self, connection: Connection, order: JudgeOrder) -> Prepared:
        return prepare(self._workspace, connection, self._finals, order)

    def start(self, prepared: Prepared, on_change: OnChange | None = None) -> JudgeHandle:
        """Begin to ask. Raises DeskError when nothing can be sent."""
        with self._lock:
            if self._judges is None:
                self._judges = Judges(self._workspace, self._pace)
            judges = self._judges
        return judges.start(prepared, on_change)

    def close(self) -> None:
        """Let go of what is still asked."""
        with self._lock:
            judges = self._judges
        if judges is not None:
            judges.close()


def registry_names(connection: Connection, suite_id: str) -> list[str]:
    """Ids of the candidates with traces on a suite."""
    row = registry.suite_row(connection, suite_id)
    return [one.candidate_id for one in registry.candidates(connection, row.id)] if row else []
