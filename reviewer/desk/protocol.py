"""What a door may ask of the desk, as a protocol: the workstation is built against this."""

from collections.abc import Callable, Container, Sequence
from typing import Any, Protocol

from reviewer.desk.compare.views import AttemptComparison, Comparison
from reviewer.desk.decisions.views import DecisionView, KeyInfo, Signed
from reviewer.desk.imports.views import ImportOrder, ImportView
from reviewer.desk.judge.views import JudgeDetail, JudgeOrder, JudgePlan, JudgeRunView, JudgeView
from reviewer.desk.labels.views import (
    Drafted,
    EstimateView,
    LabelItem,
    LabelKind,
    LabelRole,
    QueueView,
    SavedLabel,
    Session,
)
from reviewer.desk.runs.views import Runnable, RunOrder, RunView
from reviewer.desk.scorecards.views import (
    FilterValues,
    Group,
    GroupBy,
    SavedView,
    SideCell,
    SidesRow,
)
from reviewer.desk.traces.views import EventDetail, NoteKind, NoteView, SearchView, StateView
from reviewer.desk.trends.views import Trends
from reviewer.desk.views import (
    CandidateInfo,
    CellLine,
    EpisodeRow,
    EventRow,
    Exported,
    Refusal,
    Scorecard,
    SourceInfo,
    SuiteInfo,
    TraceView,
)


class RunHandleProtocol(Protocol):
    """One run of this process, steered from any thread. No method waits, except `wait`."""

    def view(self) -> RunView: ...
    def pause(self) -> None: ...
    def go_on(self) -> None: ...
    def stop(self) -> None:
        """No new attempts; those at work finish."""

    def abandon(self) -> None:
        """The attempts at work are killed."""

    def answer(self, number: int, granted: bool) -> None:
        """What becomes of the call that waits under this number."""

    def wait(self, timeout: float | None = None) -> RunView: ...


class ImportHandleProtocol(Protocol):
    """One import of this process. No method waits, except `wait`."""

    def view(self) -> ImportView: ...
    def pause(self) -> None:
        """Read no further than the batch under way."""

    def go_on(self) -> None: ...
    def stop(self) -> None:
        """End it; what was written stands."""

    def wait(self, timeout: float | None = None) -> ImportView: ...


class JudgeHandleProtocol(Protocol):
    """A judge at work in this process. No method waits, except `wait`."""

    def view(self) -> JudgeRunView: ...
    def stop(self) -> None:
        """No new calls; those under way are answered, and what was answered is kept."""

    def wait(self, timeout: float | None = None) -> JudgeRunView: ...


class DeskProtocol(Protocol):
    """What a door may ask. `reviewer.desk.Desk` is the one implementation; tests may fake it.

    Every method may be called from any thread; each opens short read transactions of its own.
    Methods raise `reviewer.desk.DeskError` (with `.text`, `.ways_out`, `.exit_code`). A run calls
    `on_change` from its own thread, as often as something happens.
    """

    workspace: str

    def suites(self) -> list[SuiteInfo]: ...
    def candidates(self, suite_id: str) -> list[CandidateInfo]: ...
    def releases(self) -> list[tuple[str, str]]: ...
    def opening(self) -> tuple[str, str] | None: ...
    def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard: ...
    def order(
        self,
        suite_id: str,
        candidate_id: str,
        by: str = "worst",
        descending: bool = False,
        only_failing: bool = False,
        text: str = "",
        most: int = -1,
    ) -> list[int]: ...
    def clock(self, suite_id: str, candidate_id: str) -> int: ...
    def episode_key(self, suite_id: str, episode_id: str) -> int | None: ...
    def maybe_red(self, suite_id: str, candidate_ids: Sequence[str]) -> Container[int]: ...
    def rows(self, suite_id: str, candidate_id: str, keys: list[int]) -> list[EpisodeRow]: ...
    def cell(
        self, suite_id: str, candidate_id: str, episode_id: str, gate: str
    ) -> list[CellLine]: ...
    def groups(
        self,
        suite_id: str,
        candidate_id: str,
        group: GroupBy,
        by: str = "worst",
        descending: bool = False,
        only_failing: bool = False,
        text: str = "",
    ) -> list[Group]: ...
    def sides(
        self, suite_id: str, candidate_ids: Sequence[str], keys: list[int]
    ) -> list[SidesRow]: ...
    def side_totals(self, suite_id: str, candidate_ids: Sequence[str]) -> list[SideCell]: ...
    def filter_values(self, suite_id: str, candidate_id: str) -> FilterValues: ...
    def saved_views(self) -> list[SavedView]: ...
    def save_view(self, view: SavedView) -> list[SavedView]: ...
    def drop_view(self, name: str) -> list[SavedView]: ...
    def trace(self, trace_id: str) -> TraceView: ...
    def events(self, trace_id: str, first: int, count: int) -> list[EventRow]: ...
    def event(self, trace_id: str, seq: int) -> EventDetail: ...
    def compare(
        self, suite_id: str, candidate_id: str, baseline_id: str | None = None
    ) -> Comparison: ...
    def compare_episode(
        self, suite_id: str, candidate_id: str, baseline_id: str | None, episode_id: str
    ) -> AttemptComparison: ...
    def compare_attempts(self, trace_a: str, trace_b: str) -> AttemptComparison: ...
    def trends(self, suite_id: str) -> Trends: ...
    def search(self, text: str, suite_id: str = "", candidate_id: str = "") -> SearchView: ...
    def find(self, trace_id: str, text: str) -> list[int]: ...
    def state(self, trace_id: str, seq: int) -> StateView: ...
    def notes(self, trace_id: str) -> list[NoteView]: ...
    def write_note(
        self, trace_id: str, seq: int, kind: NoteKind, text: str = "", *, removed: bool = False
    ) -> list[NoteView]:
        """Durable when it returns; answers what then stands on the trace."""

    def decision(
        self, suite_id: str, candidate_id: str, baseline: str | None = None
    ) -> DecisionView: ...
    def keys(self) -> list[KeyInfo]: ...
    def sign(
        self,
        suite_id: str,
        candidate_id: str,
        decision: str,
        key: str,
        comment: str = "",
        expect_report: str | None = None,
        passphrase: str | None = None,
    ) -> Signed: ...
    def add_signature(
        self, reference: str, key: str = "", passphrase: str | None = None
    ) -> Signed: ...
    def export(
        self, suite_id: str, candidate_id: str, out: str, formats: tuple[str, ...]
    ) -> Exported: ...
    def sources(self) -> list[SourceInfo]: ...
    def refusals(self) -> list[Refusal]: ...
    def version(self) -> int: ...
    def schema(self, kind: str) -> dict[str, Any]: ...
    def runnable(self, suite_id: str) -> list[Runnable]: ...
    def start_run(
        self, order: RunOrder, on_change: Callable[[RunHandleProtocol], None] | None = None
    ) -> RunHandleProtocol: ...
    def runs(self) -> list[RunView]: ...
    def run_handle(self, number: int) -> RunHandleProtocol: ...
    def start_import(
        self, order: ImportOrder, on_change: Callable[[ImportHandleProtocol], None] | None = None
    ) -> ImportHandleProtocol: ...
    def imports(self) -> list[ImportView]: ...
    def import_handle(self, number: int) -> ImportHandleProtocol: ...
    def reviewer_name(self) -> str: ...
    def label_session(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
        role: LabelRole = "rater",
    ) -> Session: ...
    def next_item(
        self,
        session: Session,
        handed_back: tuple[tuple[str, int], ...] = (),
        reason: str | None = None,
        item: str | None = None,
    ) -> LabelItem | None:
        """What to label next, None when nothing is left. `handed_back` are showings that left the
        screen unsaved and come again behind others; `reason` keeps to one line of the queue, `item`
        asks for exactly that one."""

    def record_label(self, session: Session, drafted: Drafted) -> SavedLabel:
        """Store a label; durable when it returns."""

    def undo_label(self, session: Session) -> LabelItem:
        """Withdraw the last label of this person, and answer its item."""

    def own_end(self, session: Session) -> tuple[EstimateView, ...]: ...
    def queue(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
    ) -> QueueView: ...
    def export_labels(self, suite_id: str) -> bytes: ...
    def import_labels(self, data: bytes, file: str) -> dict[str, int]: ...
    def judge(
        self, suite_id: str, candidate_id: str, baseline_id: str | None = None
    ) -> JudgeView: ...
    def judge_pair(
        self, suite_id: str, candidate_id: str, item: str, baseline_id: str | None = None
    ) -> JudgeDetail: ...
    def export_judgments(self, suite_id: str) -> bytes: ...
    def judge_plan(self, order: JudgeOrder) -> JudgePlan: ...
    def start_judge(
        self,
        order: JudgeOrder,
        on_change: Callable[[JudgeHandleProtocol], None] | None = None,
    ) -> JudgeHandleProtocol: ...
