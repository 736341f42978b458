"""The answers of a model judge, and how far people agree with it."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.labels.api import EstimateView, LabelKind
from reviewer.desk.opened import Room, late
from reviewer.desk.views import View

if TYPE_CHECKING:
    from reviewer.desk.judge.jobs import JudgeHandle, Judges
    from reviewer.desk.judge.judging import Judging


JudgeRole = Literal["scoring", "advisory only"]
Outcome = Literal["agrees", "flips", "differs", "error"]
JudgeState = Literal["running", "stopping", "done", "stopped", "failed"]


class JudgePairRow(View, frozen=True):
    """One pair that people and the judge have answered: A, B, tie or both bad. `slot` says which
    side a flip followed."""

    item: str
    pair: int
    episode_id: str
    people: str
    forward: str
    swapped: str
    outcome: Outcome
    slot: str


class JudgeView(View, frozen=True):
    """The role that a judge has earned. `banner` says why it has its role, `needs` what is still
    missing; of each estimate one limit is set, the one-sided 95 % bound, and `policy` holds
    (estimate, its limit). `expired` is "" while the calibration is valid. `confusion` is a table
    with its header; `win_rate` is how often B's message is the better one, corrected for the
    judge's mistakes where possible; `messages` are lines about single messages.

    All figures are of the `labeled_pairs`. `rows` are those that the viewer has labeled; `others`
    are labeled only by other people, `begun` by the viewer in one order so far, and `hidden` judged
    pairs are labeled by no one.
    """

    suite_id: str
    judge_id: str
    model: str
    prompt_digest: str
    role: JudgeRole
    banner: str
    needs: str
    labeled_pairs: int
    estimates: tuple[EstimateView, ...]
    policy: tuple[tuple[str, float], ...]
    slots: str
    repeats: str
    errors: str
    a_name: str
    b_name: str
    rows: tuple[JudgePairRow, ...]
    others: int
    begun: int
    hidden: int
    confusion: tuple[tuple[str, ...], ...]
    cost_usd: float | None
    expired: str
    win_rate: tuple[EstimateView, ...] = ()
    messages: tuple[str, ...] = ()


class JudgeDetail(View, frozen=True):
    """The two messages of a pair in forward order, and the judge's words on them in either order,
    masked."""

    left: str
    right: str
    forward: str
    swapped: str


class JudgeOrder(View, frozen=True):
    """A request to ask a judge: the questions and the endpoint; without `kinds`, everything that
    the judge is asked about. `api_key_env` is the name of a variable, never its value. Prices are
    US dollars per million tokens; without both no cost is known."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None = None
    kinds: tuple[LabelKind, ...] = ("pair",)
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    repeats: int = 1
    jobs: int = 4
    timeout_s: float = 120.0
    input_price: float | None = None
    output_price: float | None = None


class JudgePlan(View, frozen=True):
    """The extent of a request, before anything is sent. `calls` are to be made, `cached` are
    answered already; `problem` is "" or why it cannot begin. `input_tokens` are estimated at four
    bytes each; `cost_usd` is the maximum by that estimate, with every reply as long as judge.json
    allows."""

    calls: int
    cached: int
    input_tokens: int | None
    cost_usd: float | None
    model: str
    base_url: str
    problem: str


class JudgeRunView(View, frozen=True):
    """A run of a judge: `done` of `calls` are stored, `errors` of them brought no usable answer,
    and of these `unanswered` are asked again by the next run; `cached` calls were not needed.
    `cost_usd` and tokens are None as soon as those of one call are unknown; `unpriced` counts the
    calls without a price, and `known_usd` is the sum of the others."""

    suite_id: str
    candidate_id: str
    judge_id: str
    state: JudgeState
    calls: int
    done: int
    errors: int
    cost_usd: float | None
    seconds: float
    problem: str
    cached: int = 0
    unanswered: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    eta_seconds: float | None = None
    known_usd: float | None = None
    unpriced: int = 0


class JudgeRoom(Room):
    """The API of `desk.judge`."""

    @late
    def _judging(self) -> Judging:
        from reviewer.desk.judge.judging import Judging

        opened = self._opened
        return Judging(opened.place, opened.finals, opened.reports.judgments, opened.book)

    @late
    def _judges(self) -> Judges:
        from reviewer.desk.judge.jobs import Judges

        return Judges(self._opened.place)

    def close(self) -> None:
        """Stop the running calls."""
        if "_judges" in vars(self):
            self._judges.close()

    def view(self, suite_id: str, candidate_id: str, baseline_id: str | None = None) -> JudgeView:
        """Return the role and figures of the suite's judge. Pairs are called A and B by the named
        baseline and the candidate, else by the candidate and the default of Compare; listed are
        those that the reviewer has labeled. Raises DeskError without a judge."""
        try:
            me = self._opened.reviewer_name()
        except DeskError:
            me = ""  # the figures are for everyone; without a name there are no own pairs
        with self._opened.reading() as connection:
            return self._judging.view(connection, me, suite_id, candidate_id, baseline_id)

    def pair(
        self, suite_id: str, candidate_id: str, item: str, baseline_id: str | None = None
    ) -> JudgeDetail:
        """Return the messages of one labeled pair and the judge's words. Raises DeskError for a
        pair that the reviewer has not labeled, because a person who may still label it must not see
        them."""
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            return self._judging.detail(connection, me, suite_id, candidate_id, item, baseline_id)

    def plan(self, order: JudgeOrder) -> JudgePlan:
        """Return the extent of a request; nothing is sent. Raises DeskError for a request without
        questions."""
        with self._opened.reading() as connection:
            return self._judging.plan(connection, order)

    def start(
        self, order: JudgeOrder, on_change: Callable[[JudgeHandle], None] | None = None
    ) -> JudgeHandle:
        """Ask the judge the questions that it has not answered yet, in another thread, which calls
        `on_change` after each change. Raises DeskError if it cannot start."""
        with self._opened.reading() as connection:
            prepared = self._judging.prepared(connection, order)
        return self._judges.start(prepared, on_change)

    def export(self, suite_id: str = "") -> bytes:
        """Return every judgment of a suite, of all suites for "", as a file of JSON lines."""
        from reviewer.desk.judge.files import export_judgments

        if not self._opened.has_store():
            return b""
        with self._opened.reading() as connection:
            return export_judgments(connection, self._opened.reports.judgments, suite_id)

    def take(self, data: bytes, file: str) -> dict[str, int]:
        """Import a file of judgments; return the counts of `added`, `known` and `refused` ones."""
        from reviewer.desk.judge.files import import_judgments

        try:
            taken = import_judgments(self._opened.place, data, file)
        except StoreError as error:
            raise refusal_of(error) from error
        return {"added": taken.added, "known": taken.known, "refused": taken.refused}
