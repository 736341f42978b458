"""Labels that people give: questions and answers as plain values, and the name of the person.

A labeler sees a `LabelItem`, which is blind: it contains nothing about candidates, gates, costs,
judges, reasons, traces, attempts or sampling probabilities. Texts are raw: the code that displays
them escapes them.
"""

from __future__ import annotations  # names used only in annotations are not imported

import os
from typing import TYPE_CHECKING, Literal, get_args

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.opened import Room, late, refused
from reviewer.desk.views import View
from reviewer.exit_codes import ExitCode
from reviewer.importing.annotations import Tool

if TYPE_CHECKING:
    from reviewer.desk.labels.labeling import Labeling
    from reviewer.desk.labels.signed_files import SignedLabels


ANNOTATION_TOOLS: tuple[str, ...] = get_args(Tool)
"""The tools whose annotations are taken in as labels of attempts."""
LabelKind = Literal["pair", "message"]
LabelRole = Literal["rater", "adjudicator"]
Answer = Literal["left", "right", "tie", "both_bad"]
Side = Literal["left", "right"]
Priority = Literal["high", "normal", "low"]

OPEN_FLAG = "open_flag"
"""Used in place of a reason: items whose label closes a high flag that is still open."""


class Session(View, frozen=True):
    """One person's labeling session; its order is determined by the suite's digest. `review_set` is
    the name of the review set that is labeled, "" for a candidate's own queue."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None
    kind: LabelKind
    reviewer: str
    role: LabelRole
    review_set: str = ""


class CriterionView(View, frozen=True):
    """One criterion of the rubric, with its number from 1. `levels` are (value, anchor); a level of
    a scale of five may have no anchor, and then "" or no entry."""

    number: int
    criterion_id: str
    title: str
    asks: str
    levels: tuple[tuple[int, str], ...]
    weak: str
    strong: str
    required: bool


class LabelItem(View, frozen=True):
    """One showing of one item. A pair has `left` and `right`, a message `message`; None where the
    trace ends without a message. `place` counts from 1; `mean_seconds` is None before the first
    label. `about` is `user` where the message is a whole conversation, and its user is judged."""

    item: str
    showing: int
    kind: LabelKind
    episode_id: str
    user_request: str
    left: str | None
    right: str | None
    message: str | None
    criteria: tuple[CriterionView, ...]
    rubric: str
    place: int
    total: int
    done: int
    skipped: int
    mean_seconds: float | None
    about: str = ""


class LabelDraft(View, frozen=True):
    """A person's answer to a showing. `marks` are criterion id → level, `decided` criterion id →
    side, `skipped` the reason for not answering. `evidence_opened` says whether the person saw the
    evidence; None where the caller cannot know, and then it is not recorded."""

    item: str
    showing: int
    answer: Answer | None
    marks: dict[str, int]
    decided: dict[str, Side]
    flag: bool
    note: str
    skipped: str | None
    duration_ms: int
    evidence_opened: bool | None = None


class EvidenceLine(View, frozen=True):
    """One call, result, approval or error of an attempt, with identifying words masked. `number`
    counts calls from 1, 0 for other lines; `by_user` marks an act of the user's side."""

    kind: Literal["call", "result", "approval", "error"]
    number: int
    tool: str
    status: str
    text: str
    by_user: bool = False


class SideEvidence(View, frozen=True):
    """What was done before one message. `end_state` is masked too, "" where none is recorded;
    `left_out` counts events of a large trace that are not among the lines; `missing` says why there
    is nothing to show."""

    lines: tuple[EvidenceLine, ...] = ()
    end_state: str = ""
    left_out: int = 0
    missing: str = ""


class ItemEvidence(View, frozen=True):
    """What was done before the messages of a showing; for a single message `left` alone is used.
    Candidates, models, costs, times and ids of runs are masked, in the same way on both sides."""

    left: SideEvidence
    right: SideEvidence | None


class ItemTrace(View, frozen=True):
    """A trace behind a shown item, for code that shows neither its id nor its candidate
    (`candidate_id`)."""

    trace_id: str
    candidate_id: str


class SavedLabel(View, frozen=True):
    """A durable label; only now may the item's `reasons` be shown. `at` is RFC 3339, UTC."""

    uid: str
    at: str
    item: str
    place: int
    reasons: tuple[str, ...]
    done: int
    total: int


class Holder(View, frozen=True):
    """Another person who has `items` open now, the first of them since `since`, in seconds since
    1970. It does not say which items."""

    reviewer: str
    items: int
    since: float


class GivenLabel(View, frozen=True):
    """States that a person labeled, skipped or took back something at a time (RFC 3339, UTC)."""

    reviewer: str
    at: str
    act: Literal["label", "skip", "withdrawal"]


class ReasonLine(View, frozen=True):
    """One person's showings under one reason: `left` to come, `done`. `open` counts high flags of
    the candidate's traces that no label has closed; `note` says what the reason means for a
    release; `holders` are the people who have an item under this reason open."""

    reason: str
    priority: Priority
    left: int
    done: int
    open: int
    note: str
    holders: tuple[Holder, ...] = ()


class FlagLine(View, frozen=True):
    """The high flags of one candidate's traces, of which no label has closed `open`. They stop the
    release of that candidate and of no other: `stops` says whether that candidate is the one under
    review."""

    candidate_id: str
    high: int
    open: int
    stops: bool


class EstimateView(View, frozen=True):
    """One figure with its limits. `hits` of `n` where it is a share; `why` says why a value or an
    interval is not measured, or which policy it must meet."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    hits: int | None
    n: int
    why: str


class QuestionView(View, frozen=True):
    """The agreement of raters on one question. `about` is the criterion's title, "" for which
    message is better; `items` were answered by at least two raters. `prevalence` is the share of
    the commonest answer, None without answers; `lead` names the coefficient that is reliable at
    this prevalence."""

    about: str
    items: int
    reviewers: tuple[str, ...]
    prevalence: float | None
    lead: Literal["alpha", "ac1"]
    raw: EstimateView
    alpha: EstimateView
    ac1: EstimateView
    kappa: EstimateView


class DisagreementView(View, frozen=True):
    """An item for a third person to label. `text` says what is open; a person who has not labeled
    the item sees only that it is open. `mine`: the viewer is one of those who disagree on it, and
    cannot settle it."""

    item: str
    episode_id: str
    text: str
    reviewers: tuple[str, ...]
    mine: bool


class QueueView(View, frozen=True):
    """The queue of one kind of items for one person, and the agreement of all reviewers.

    `flags` has the high flags of each candidate in the queue, this one's first. Of this person
    alone: `items` showings, `done` of them, the counts of `reasons`, `open_left` showings to come
    that would close a high flag, and `saved`, lines of saved items (reason, sampling probability,
    answer). Of all reviewers: `labeled` items, `begun` pairs that no one has answered in both
    orders, `high` flags of the candidate's traces, of which no label has closed `open_high`, the
    agreement and the disagreements. Of the other people: `holders`, who have an item of this queue
    open, and `recent`, the newest labels of everybody, newest first. `by_authors` are people who
    both labeled and made the candidate: their labels close no flag and do not count for a release.
    `author` says that the viewer is one of them. `unsigned` labels do not count either, because the
    policy requires signed ones.
    """

    suite_id: str
    candidate_id: str
    baseline_id: str | None
    kind: LabelKind
    reviewers: tuple[str, ...]
    items: int
    done: int
    labeled: int
    begun: int
    identical: int
    unpaired: int
    reasons: tuple[ReasonLine, ...]
    high: int
    open_high: int
    open_left: int
    agreement: tuple[QuestionView, ...]
    consistency: tuple[EstimateView, ...]
    needed: str
    disagreements: tuple[DisagreementView, ...]
    saved: tuple[tuple[str, ...], ...]
    flags: tuple[FlagLine, ...] = ()
    review_set: str = ""
    holders: tuple[Holder, ...] = ()
    recent: tuple[GivenLabel, ...] = ()
    by_authors: tuple[str, ...] = ()
    author: bool = False
    unsigned: int = 0


REASONS = {
    "safety": "safety: a critical finding",
    "gate_disagreement": "gates and harness disagree",
    "iteration_limit": "iteration limit",
    "blocked_output": "blocked output",
    "thumbs_down": "thumbs down",
    "judge_flips": "judge flips",
    "lost_episode": "lost episode",
    "low_efficiency": "efficiency < 0.3",
    "uncertain": "uncertain, near a limit",
    "random": "random",
    "quota": "to fill the quota",
    "high_cost": "high cost",
    "new_tools": "a new tool",
    "refusal": "a refusal",
    "repeated_calls": "the same call again",
}


VARIABLE = "REVIEWER_NAME"
NOBODY = "reviewer"


def reviewer_name(asked: str = "") -> str:
    """Return the name given, that of REVIEWER_NAME, git's user.name, or the login, whichever comes
    first. Raises DeskError for a given name that contains an identifier; any other such name is
    skipped."""
    for source, name in (("--reviewer", asked), (VARIABLE, os.environ.get(VARIABLE, ""))):
        if name:
            return checked(name.strip(), source)
    for name in (_git_name(), os.environ.get("USER", ""), os.environ.get("LOGNAME", "")):
        if name and not _problem(name):
            return name
    return NOBODY


def checked(name: str, source: str) -> str:
    """Return the name. Raises DeskError when it cannot be used in a label."""
    problem = _problem(name)
    if problem:
        raise DeskError(
            f"{source}: {problem}",
            "use a name such as dana, not an address",
            exit_code=ExitCode.USAGE,
        )
    return name


def _problem(name: str) -> str | None:
    from reviewer.suite.errors import name_problem
    from reviewer.suite.model import RedactionRules
    from reviewer.trace.redaction import redactor_of

    if redactor_of(RedactionRules()).masked(name) != name:
        return "it holds an identifier, and labels are exported"
    return name_problem(name)


def _git_name() -> str:
    """Return git's user.name, "" when it is not set."""
    import shutil
    import subprocess

    program = shutil.which("git")
    if program is None:
        return ""
    try:
        said = subprocess.run(
            [program, "config", "--global", "--get", "user.name"],
            capture_output=True,
            text=True,
            timeout=5,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return said.stdout.strip()


class LabelsRoom(Room):
    """The API of `desk.labels`."""

    @late
    def _labeling(self) -> Labeling:
        from reviewer.desk.labels.labeling import Labeling

        return Labeling(self._opened.place, self._opened.finals, self._opened.book)

    def reviewer_name(self) -> str:
        """Return the name under which labels are stored. Raises DeskError for a given name that
        identifies a person."""
        return self._opened.reviewer_name()

    def session(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
        role: LabelRole = "rater",
        review_set: str = "",
    ) -> Session:
        """Begin a labeling session, on a review set where one is named. Pairs are of the candidate
        and a baseline: the one named, else the default of Compare; for the only candidate they are
        of its own attempts. Raises DeskError when there is nothing to label, with the ways out."""
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            if review_set:
                from reviewer.desk.labels.set_labeling import set_session

                labeling = self._labeling
                return set_session(labeling, connection, me, review_set, candidate_id, role)
            return self._labeling.session(
                connection, me, suite_id, candidate_id, baseline_id, kind, role
            )

    def next_item(
        self,
        session: Session,
        handed_back: tuple[tuple[str, int], ...] = (),
        reason: str | None = None,
        item: str | None = None,
        claim: bool = False,
    ) -> LabelItem | None:
        """Return the next item to label; None when nothing is left, or nothing for that reason (a
        stratum, or OPEN_FLAG), or when this person may not label the item named. `handed_back` are
        (item, showing) that were shown but not saved: they come again later.

        An item that somebody else has open is not returned: `held` says who has the remaining ones.
        With `claim` the item is given to nobody else until it is labeled or released, and items
        that others labeled within hours come after all others.
        """
        claims, me = self._opened.claims, session.reviewer
        with self._opened.reading() as connection:
            if not claim:
                return self._labeling.next_item(
                    connection, session, handed_back, reason, item, claims.others(me)
                )
            self._labeling.sheet(connection, session)  # built first, so that nobody waits for it
            with claims.choosing(me) as others:
                found = self._labeling.next_item(
                    connection, session, handed_back, reason, item, others, sharing=True
                )
                claims.take(me, None if found is None else found.item)
            return found

    def release(self) -> None:
        """Release the item claimed by this desk, so that it may be given to another person."""
        self._opened.claims.release()

    def held(self, session: Session, item: str = "") -> tuple[Holder, ...]:
        """Return who else has items open that this person could label, or only who has the named
        item."""
        with self._opened.reading() as connection:
            return self._labeling.held(
                connection, session, self._opened.claims.others(session.reviewer), item
            )

    def trace_of(self, session: Session, item: LabelItem, side: Side = "left") -> ItemTrace:
        """Return a trace that ends with the message on that side, or with the item's only message.
        Raises DeskError when none is left in this store."""
        from reviewer.desk.labels.set_labeling import trace_of

        with self._opened.reading() as connection:
            return trace_of(self._labeling, connection, session, item, side)

    def evidence(self, session: Session, item: LabelItem) -> ItemEvidence:
        """Return what was done before each message of a showing, blind. Raises DeskError for an
        item that no longer belongs to the suite."""
        from reviewer.desk.labels.evidence import item_evidence

        with self._opened.reading() as connection:
            return item_evidence(self._labeling, connection, self._opened.records, session, item)

    def record(self, session: Session, drafted: LabelDraft) -> SavedLabel:
        """Store a label: durable when this returns. A second label of a showing revises the
        first."""
        with self._opened.reading() as connection:
            saved = self._labeling.record(connection, session, drafted)
        self._opened.claims.labeled(session.reviewer, drafted.item)
        return saved

    def undo(self, session: Session, claim: bool = False) -> LabelItem:
        """Take back the label saved last (both are kept), and show its item again. With `claim` the
        item belongs to this person until it is labeled, even when somebody else has it open."""
        with self._opened.reading() as connection:
            item = self._labeling.undo(connection, session)
        if claim:
            self._opened.claims.take(session.reviewer, item.item)
        return item

    def own_end(self, session: Session) -> tuple[EstimateView, ...]:
        """Return the person's agreement with their own labels and their share of left slots;
        nothing before the end of the queue."""
        with self._opened.reading() as connection:
            return self._labeling.own_end(connection, session)

    def queue(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
        review_set: str = "",
    ) -> QueueView:
        """Return the queue as counts, with agreement and the items to adjudicate; the queue of a
        review set where one is named."""
        me = self._opened.reviewer_name()
        claims = self._opened.claims.others(me)
        with self._opened.reading() as connection:
            if review_set:
                from reviewer.desk.labels.set_labeling import set_queue

                return set_queue(self._labeling, connection, me, review_set, candidate_id, claims)
            return self._labeling.queue(
                connection, me, suite_id, candidate_id, baseline_id, kind, claims
            )

    def export(self, suite_id: str = "") -> bytes:
        """Return every label of a suite, of all suites for "", as a file of JSON lines."""
        from reviewer.desk.labels.files import export_labels

        if not self._opened.has_store():
            return b""
        with self._opened.reading() as connection:
            return export_labels(connection, self._opened.book, suite_id)

    def sign(self, suite_id: str, key: str, passphrase: str | None = None) -> list[SignedLabels]:
        """Write the labels of the key's owner that no signed file contains yet into `store/labels`,
        and sign them; return the files made. Raises DeskError as signing does."""
        from reviewer.desk.labels.signed_files import sign_labels

        if not self._opened.has_store():
            raise DeskError(
                "there is no store yet, so there are no labels",
                "run reviewer import or reviewer run, then label",
            )
        with refused():
            return sign_labels(self._opened.place, self._opened.book, suite_id, key, passphrase)

    def take(self, data: bytes, file: str) -> dict[str, int]:
        """Take in a file of labels; return counts of `added`, `known` and `refused` ones."""
        from reviewer.desk.labels.files import import_labels

        try:
            taken = import_labels(self._opened.place, data, file)
        except StoreError as error:
            raise refusal_of(error) from error
        return {"added": taken.added, "known": taken.known, "refused": taken.refused}
