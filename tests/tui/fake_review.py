"""A desk with pairs and messages to label, a queue and a judge; no store behind it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from fake_runs import RunningDesk
from fake_shop import HOSTILE, SUITE, V7, V8

from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import (
    JudgeDetail,
    JudgeOrder,
    JudgePairRow,
    JudgePlan,
    JudgeRunView,
    JudgeView,
)
from reviewer.desk.labels.api import (
    CriterionView,
    DisagreementView,
    EstimateView,
    LabelDraft,
    LabelItem,
    QuestionView,
    QueueView,
    ReasonLine,
    SavedLabel,
    Session,
)

JUDGE = "refund-judge-v2"
APPEAL = (
    "The chair came without the armrest I need. Your form does not work with my screen reader. "
    "I want to appeal the decision."
)
GOOD = (
    "I have opened a specialist case for your appeal. A person reads it within two working days "
    "and writes to the address on your account. You do not need the online form: reply to this "
    "message if you want to add anything."
)
WEAK = (
    "Thank you for reaching out! Your appeal has been escalated and someone will get back to you. "
    "Please fill in the online form if you would like to add anything to your case."
)
CRITERIA = (
    CriterionView(
        number=1,
        criterion_id="accurate",
        title="accurate",
        asks="says only what was done",
        levels=((1, "yes"), (2, "no")),
        weak="claims more than was done",
        strong="claims only finished acts",
        required=False,
    ),
    CriterionView(
        number=2,
        criterion_id="next-step",
        title="next step",
        asks="who acts, and by when",
        levels=((1, "nobody is named"), (3, "a person or a date"), (5, "a person, a date, a way")),
        weak='"someone will get back to you"',
        strong="a person, a date, a way back",
        required=False,
    ),
    CriterionView(
        number=3,
        criterion_id="access",
        title="access",
        asks="asks for nothing they cannot do",
        levels=((1, "none"), (2, "partly"), (3, "full")),
        weak="the only path is closed to them",
        strong="works with what they said",
        required=False,
    ),
)


def estimate(
    name: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    share: tuple[int, int] | None = None,
    why: str = "",
) -> EstimateView:
    hits, n = share or (None, 0)
    return EstimateView(name=name, value=value, low=low, high=high, hits=hits, n=n, why=why)


def question(about: str = "", why: str = "", **changes: object) -> QuestionView:
    """Agreement on one question; with `why`, nothing of it is measured."""
    known = QuestionView(
        about=about,
        items=4,
        reviewers=("dana", "kim"),
        prevalence=0.62,
        lead="alpha",
        raw=estimate("raw agreement", 0.75, 0.194, 0.994, (3, 4)),
        alpha=estimate("Krippendorff alpha", 0.533, -0.4, 1.0),
        ac1=estimate("Gwet AC1", 0.529, why="no interval: too few items"),
        kappa=estimate("Cohen kappa", 0.5, -0.235, 1.0),
    )
    if why:
        named = (known.raw, known.alpha, known.ac1, known.kappa)
        raw, alpha, ac1, kappa = (estimate(each.name, None, why=why) for each in named)
        changes = {
            "items": 0, "prevalence": None, "raw": raw, "alpha": alpha, "ac1": ac1, "kappa": kappa,
            **changes,
        }  # fmt: skip
    return msgspec.structs.replace(known, **changes)


AGREEMENT = (
    question(),
    question(
        "accurate",
        lead="ac1",
        prevalence=0.94,
        raw=estimate("raw agreement", 0.917, 0.615, 0.998, (11, 12)),
        alpha=estimate("Krippendorff alpha", -0.012, -0.2, 0.5),
        ac1=estimate("Gwet AC1", 0.902),
    ),
    question("next step", why="one reviewer"),
)
CONSISTENCY = (
    estimate("dana agrees with dana", 0.75, 0.194, 0.994, (3, 4)),
    estimate("dana picks the left slot", 0.625, 0.245, 0.915, (5, 8)),
)
ROWS = tuple(
    JudgePairRow(
        item=f"item-{pair}",
        pair=pair,
        episode_id=episode,
        people=people,
        forward=forward,
        swapped=swapped,
        outcome=outcome,  # type: ignore[arg-type]
        slot=slot,
    )
    for pair, episode, people, forward, swapped, outcome, slot in (
        (2, "appeal-009", "B", "B", "A", "flips", "to last slot"),
        (4, "damaged-221", "B", "A", "B", "flips", "to first slot"),
        (1, "damaged-221", "A", "A", "A", "agrees", ""),
        (3, "attack-014", "A", "A", "A", "agrees", ""),
    )
)


@dataclass
class ReviewDesk(RunningDesk):
    """`pairs` pairs, each shown in both orders: all first showings, then all second ones."""

    pairs: int = 4
    messages: int = 4
    criteria: tuple[CriterionView, ...] = CRITERIA
    left: str | None = GOOD
    right: str | None = WEAK
    request: str = APPEAL
    saved_labels: list[LabelDraft] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    asked: list[tuple[object, ...]] = field(default_factory=list)
    wanted: list[str | None] = field(default_factory=list)
    refuse_label: DeskError | None = None
    refuse_session: DeskError | None = None
    slow: threading.Event | None = None
    disagreements: tuple[DisagreementView, ...] = ()
    imported: list[tuple[bytes, str]] = field(default_factory=list)
    judge_view: JudgeView | None = None
    refuse_judge: DeskError | None = None
    judge_runs: list["FakeJudgeRun"] = field(default_factory=list)
    plans: list[JudgeOrder] = field(default_factory=list)

    @classmethod
    def ready(cls, **options: object) -> "ReviewDesk":
        """With the traces of v7 and v8, so that line 1 leads everywhere."""
        desk = cls(**options)  # type: ignore[arg-type]
        desk.made = RunningDesk.with_traces(V7, V8).made
        return desk

    # people

    def reviewer_name(self) -> str:
        return "dana"

    def label_session(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: str = "pair",
        role: str = "rater",
    ) -> Session:
        if self.refuse_session is not None:
            raise self.refuse_session
        return Session(
            suite_id=suite_id,
            candidate_id=candidate_id,
            baseline_id=V8,
            kind=kind,  # type: ignore[arg-type]
            reviewer=self.reviewer_name(),
            role=role,  # type: ignore[arg-type]
        )

    def _showings(self, session: Session) -> list[tuple[str, int]]:
        if session.kind == "message":
            return [(f"message-{n}", 1) for n in range(1, self.messages + 1)]
        return [(f"pair-{n}", showing) for showing in (1, 2) for n in range(1, self.pairs + 1)]

    def _done(self, session: Session) -> list[LabelDraft]:
        names = dict.fromkeys(self._showings(session))
        return [each for each in self.saved_labels if (each.item, each.showing) in names]

    def next_item(
        self,
        session: Session,
        handed_back: tuple[tuple[str, int], ...] = (),
        reason: str | None = None,
        item: str | None = None,
    ) -> LabelItem | None:
        self.asked.append((session, handed_back, reason))
        self.wanted.append(item)
        done = {(each.item, each.showing) for each in self._done(session)}
        left = [each for each in self._showings(session) if each not in done]
        left.sort(key=lambda each: handed_back.index(each) if each in handed_back else -1)
        if item is not None:
            left = [each for each in left if each[0] == item]
        elif reason is not None:
            left = [each for each in left if each[0] == "pair-3"]
        return self._item(session, *left[0]) if left else None

    def _item(self, session: Session, item: str, showing: int) -> LabelItem:
        done = self._done(session)
        number = int(item.partition("-")[2])
        swapped = (number + showing) % 2 == 1
        sides = (self.right, self.left) if swapped else (self.left, self.right)
        skipped = sum(each.skipped is not None for each in done)
        pair = session.kind == "pair"
        return LabelItem(
            item=item,
            showing=showing,
            kind=session.kind,
            episode_id=HOSTILE if self.hostile else "appeal-009",
            user_request=HOSTILE if self.hostile else self.request,
            left=sides[0] if pair else None,
            right=sides[1] if pair else None,
            message=None if pair else self.left,
            criteria=self.criteria,
            rubric="refund-final-message v2",
            place=len(done) + 1,
            total=len(self._showings(session)),
            done=len(done),
            skipped=skipped,
            mean_seconds=19.0 if done else None,
        )

    def record_label(self, session: Session, drafted: LabelDraft) -> SavedLabel:
        if self.slow is not None:
            self.slow.wait(5)
        if self.refuse_label is not None:
            raise self.refuse_label
        self.saved_labels.append(drafted)
        self.log.append(f"saved {drafted.item}/{drafted.showing}")
        done = len(self._done(session))
        return SavedLabel(
            uid=f"uid-{len(self.log)}",
            at="2026-11-20T09:02:31Z",
            item=drafted.item,
            place=done,
            reasons=("gate_disagreement",),
            done=done,
            total=len(self._showings(session)),
        )

    def undo_label(self, session: Session) -> LabelItem:
        mine = self._done(session)
        if not mine:
            raise DeskError("there is no label of yours to take back")
        last = mine[-1]
        self.saved_labels.remove(last)
        self.log.append(f"withdrawn {last.item}/{last.showing}")
        return self._item(session, last.item, last.showing)

    def own_end(self, session: Session) -> tuple[EstimateView, ...]:
        return CONSISTENCY if session.kind == "pair" and self._done(session) else ()

    def queue(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: str = "pair",
    ) -> QueueView:
        self.calls += 1
        session = self.label_session(suite_id, candidate_id, kind=kind)
        done = self._done(session)
        total = len(self._showings(session))
        lines = (
            ("safety", "high", 1, 1, 1, "1 flag to close"),
            ("gate_disagreement", "high", 0, 0, 0, "no flag"),
            ("iteration_limit", "high", 0, 0, 0, "no flag"),
            ("judge_flips", "normal", 0, 2, 0, ""),
            ("lost_episode", "normal", 0, 0, 0, ""),
            ("uncertain", "normal", 3, 1, 0, "not needed"),
            ("random", "low", 1, 1, 0, "5% of traces by lot"),
        )
        return QueueView(
            suite_id=suite_id,
            candidate_id=candidate_id,
            baseline_id=V8,
            kind=kind,  # type: ignore[arg-type]
            reviewers=("dana", "kim"),
            items=total,
            done=len(done),
            labeled=4,
            begun=0,
            identical=1,
            unpaired=2,
            reasons=tuple(
                ReasonLine(reason=r, priority=p, left=left, done=d, open=flags, note=note)  # type: ignore[arg-type]
                for r, p, left, d, flags, note in lines
            ),
            high=2,
            open_high=1,
            open_left=1,
            agreement=AGREEMENT,
            consistency=CONSISTENCY,
            needed="under 20 repeats: self-consistency is rough. 16 more make it readable.",
            disagreements=self.disagreements,
            saved=tuple(
                ("safety, random", "0.05", each.answer or each.skipped or "marks") for each in done
            ),
        )

    def export_labels(self, suite_id: str) -> bytes:
        return b"".join(f'{{"item":"{each.item}"}}\n'.encode() for each in self.saved_labels)

    def import_labels(self, data: bytes, file: str) -> dict[str, int]:
        if not data.startswith(b"{"):
            raise DeskError(f"{file}: line 1 is no label", "reviewer schema label")
        self.imported.append((data, file))
        return {"added": data.count(b"\n"), "known": 1, "refused": 0}

    # the judge

    def read_judge(
        self, suite_id: str, candidate_id: str, baseline_id: str | None = None
    ) -> JudgeView:
        if self.refuse_judge is not None:
            raise self.refuse_judge
        return self.judge_view or CALIBRATED

    def judge_pair(
        self, suite_id: str, candidate_id: str, item: str, baseline_id: str | None = None
    ) -> JudgeDetail:
        said = HOSTILE if self.hostile else "Left sends the customer to a form. Right names who."
        return JudgeDetail(
            left=WEAK, right=GOOD, forward=said, swapped="Both answer the appeal. Right is warmer."
        )

    def export_judgments(self, suite_id: str) -> bytes:
        return b'{"judgment":1}\n{"judgment":2}\n'

    def judge_plan(self, order: JudgeOrder) -> JudgePlan:
        self.plans.append(order)
        problem = "" if order.base_url and order.model else "base URL and model are needed"
        return JudgePlan(
            calls=84,
            cached=12,
            input_tokens=41_000,
            cost_usd=None if order.model == "unpriced" else 0.12,
            model=order.model,
            base_url=order.base_url,
            problem=problem,
        )

    def start_judge(
        self, order: JudgeOrder, on_change: Callable[["FakeJudgeRun"], None] | None = None
    ) -> "FakeJudgeRun":
        if self.refuse_judge is not None:
            raise self.refuse_judge
        self.judge_runs.append(FakeJudgeRun(order, on_change))
        return self.judge_runs[-1]


CALIBRATED = JudgeView(
    suite_id=SUITE,
    judge_id=JUDGE,
    model="small-judge-1",
    prompt_digest="sha256:4be17c0000",
    role="advisory only",
    banner="forward accuracy 0.75 < 0.90, flip rate 0.50 > 0.05 (point mode)",
    needs="to earn ● SCORING: 59 pairs without a flip, 29 without an error. Plan 300.",
    labeled_pairs=4,
    estimates=(
        estimate("forward accuracy", 0.75, 0.249, None, (3, 4)),
        estimate("swapped accuracy", 0.75, 0.249, None, (3, 4)),
        estimate("both orders right", 0.5, 0.098, None, (2, 4)),
        estimate("flip rate", 0.5, None, 0.902, (2, 4)),
    ),
    policy=(("forward accuracy", 0.9), ("both orders right", 0.9), ("flip rate", 0.05)),
    slots="1 first, 1 last: no position bias can be shown from 2",
    repeats="not measured (no repeats)",
    errors="not parsed 0 of 8",
    a_name=V7,
    b_name=V8,
    rows=ROWS,
    others=0,
    begun=0,
    hidden=0,
    confusion=(
        ("people \\ judge", "A", "B", "tie"),
        ("A", "2", "0", "0"),
        ("B", "1", "1", "0"),
    ),
    cost_usd=0.012,
    expired="",
)


class FakeJudgeRun:
    """A judge at work, one call at a time, as the test says."""

    def __init__(
        self, order: JudgeOrder, on_change: Callable[["FakeJudgeRun"], None] | None
    ) -> None:
        self.order, self._on_change = order, on_change
        self.state, self.done, self.log = "running", 0, []  # type: ignore[var-annotated]

    def answer(self, calls: int) -> None:
        self.done += calls
        if self.done >= 84:
            self.state = "done"
        self.changed()

    def end(self, state: str) -> None:
        self.state = state
        self.changed()

    def changed(self) -> None:
        if self._on_change is not None:
            thread = threading.Thread(target=self._on_change, args=(self,))
            thread.start()
            thread.join()

    def view(self) -> JudgeRunView:
        return JudgeRunView(
            suite_id=self.order.suite_id,
            candidate_id=self.order.candidate_id,
            judge_id=JUDGE,
            state=self.state,  # type: ignore[arg-type]
            calls=84,
            done=self.done,
            errors=0,
            cost_usd=0.001 * self.done,
            seconds=2.0,
            problem="the endpoint does not answer" if self.state == "failed" else "",
        )

    def stop(self) -> None:
        self.log.append("stop")
        self.state = "stopping"

    def wait(self, timeout: float | None = None) -> JudgeRunView:
        return self.view()
