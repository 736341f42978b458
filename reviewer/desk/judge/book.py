"""The record of a judge: judgments and labels of the store, joined for one candidate.

Rows are only ever added, so cached rows stay valid.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import reviewable_trace
from reviewer.db.tables import JUDGMENTS, JudgmentRow
from reviewer.desk.labels.book import Book, candidates_of
from reviewer.desk.labels.items import Side
from reviewer.desk.suites import ReadySuite
from reviewer.desk.traces.records import FinalMessages
from reviewer.review.calibration import Calibration, calibrate
from reviewer.review.items import TIE, message_digest
from reviewer.review.judge_questions import prompt_digest
from reviewer.review.judged import (
    JudgeKey,
    MessageFigures,
    WinRate,
    made_by,
    message_figures,
    win_rate,
)
from reviewer.review.judgments import Judgment, counting, judgment_line, stored_judgment
from reviewer.review.labels import Label
from reviewer.review.labels import counting as counting_labels
from reviewer.suite.rubric import JudgePrompt, JudgeQuestion, Preset


class JudgeRecord(NamedTuple):
    """The record of one suite's judge for one candidate.

    `labels` are all of the suite; the judge is compared with those `counted` for this candidate.
    `calibration` is None when the judge is asked about single messages only; `cost_usd` is of the
    calls about this candidate's messages, None when the cost of a call is unknown: `unpriced`
    counts such calls, and `known_usd` is the sum of the others.
    """

    judge: JudgePrompt
    model: str
    labels: tuple[Label, ...]
    counted: tuple[Label, ...]
    judgments: tuple[Judgment, ...]
    calibration: Calibration | None
    messages: tuple[MessageFigures, ...]
    cost_usd: float | None
    known_usd: float | None
    unpriced: int


class JudgeBook:
    """The judgments of each suite that was read. Safe to share between threads."""

    def __init__(self, labels: Book) -> None:
        self._labels = labels
        self._read: dict[str, tuple[int, tuple[Judgment, ...]]] = {}
        self._lock = Lock()

    def of(self, connection: Connection, suite_digest: str) -> tuple[Judgment, ...]:
        """Return every judgment of a suite, in the order in which they arrived."""
        with self._lock:
            last, known = self._read.get(suite_digest, (0, ()))
            fresh = JUDGMENTS.of_suite(connection, suite_digest, after=last)
            if fresh:
                known = (*known, *(stored_judgment(row.body) for row in fresh))
                self._read[suite_digest] = fresh[-1].id, known
            return known

    def judged(
        self,
        connection: Connection,
        held: ReadySuite,
        candidate_id: str,
        counted: Sequence[Label],
    ) -> JudgeRecord | None:
        """Return the record of the suite's judge for this candidate, with the labels that count
        for it; None when it was never asked."""
        made = self.of(connection, held.suite.digest) if held.judge is not None else ()
        if held.judge is None or not made:
            return None
        labels = self._labels.of(connection, held.suite.digest)
        agents = agents_of(connection, held.suite.suite_id)
        return join_record(held, held.judge, candidate_id, agents, labels, counted, made)


def row_of(judgment: Judgment) -> JudgmentRow:
    """Return a sealed judgment as a row of the store."""
    return JudgmentRow(
        uid=judgment.uid,
        request=judgment.request_digest,
        suite=judgment.suite_digest,
        item=judgment.item,
        order=judgment.order,
        repeat=judgment.repeat,
        judge_id=judgment.judge_id,
        model=judgment.model,
        at=judgment.at,
        body=judgment_line(judgment),
    )


def agents_of(connection: Connection, suite_id: str) -> dict[str, str]:
    """Return candidate id → agent, of the candidates of a suite whose manifest names one."""
    suite = registry.suite_row(connection, suite_id)
    found = {}
    for row in registry.candidates(connection, suite.id) if suite else ():
        agent = json.loads(row.manifest).get("agent") if row.manifest else None
        if agent:
            found[row.candidate_id] = str(agent)
    return found


def join_record(
    held: ReadySuite,
    judge: JudgePrompt,
    candidate_id: str,
    agents: Mapping[str, str],
    labels: Sequence[Label],
    counted: Sequence[Label],
    judgments: Sequence[Judgment],
) -> JudgeRecord:
    """Join the judge's answers with the labels, for one candidate; `counted` are the labels that
    count for it. `judgments` holds at least one."""
    model = judge.model or max(judgments, key=lambda one: (one.kind == "pair", one.at)).model
    about = [one for one in judgments if candidate_id in candidates_of(one)]
    costs = [one.cost_usd for one in about]
    known = [cost for cost in costs if cost is not None]
    prompts = {prompt_digest(asked) for asked in judge.asks}
    return JudgeRecord(
        judge=judge,
        model=model,
        labels=tuple(labels),
        counted=tuple(counted),
        judgments=tuple(judgments),
        calibration=_calibration(held, judge, model, candidate_id, agents, counted, judgments),
        messages=message_figures(
            one
            for one in about
            if (one.judge_id, one.model) == (judge.judge_id, model)
            and one.prompt_digest in prompts
            and one.rubric_digest == held.rubric_digest
        ),
        cost_usd=math.fsum(known) if costs and len(known) == len(costs) else None,
        known_usd=math.fsum(known) if known else None,
        unpriced=len(costs) - len(known),
    )


def asked_alone(judged: JudgeRecord, preset: Preset) -> list[Judgment]:
    """Return the judge's first answers about single messages under one preset, of all
    candidates."""
    prompts = {prompt_digest(asked) for asked in judged.judge.asks if asked.preset == preset}
    return [
        one
        for one in counting(judged.judgments)
        if one.preset == preset
        and one.repeat == 1
        and one.model == judged.model
        and one.prompt_digest in prompts
    ]


def pairwise(judge: JudgePrompt) -> JudgeQuestion | None:
    """Return the question that the judge is asked about pairs, if any."""
    return next((asked for asked in judge.asks if asked.preset == "pairwise"), None)


def _calibration(
    held: ReadySuite,
    judge: JudgePrompt,
    model: str,
    candidate_id: str,
    agents: Mapping[str, str],
    labels: Sequence[Label],
    judgments: Sequence[Judgment],
) -> Calibration | None:
    asked = pairwise(judge)
    if asked is None:
        return None
    key = JudgeKey(
        judge_id=judge.judge_id,
        model=model,
        prompt_digest=prompt_digest(asked),
        rubric_digest=held.rubric_digest,
        family=agents.get(candidate_id, candidate_id),
    )
    policy = held.suite.policy
    families = _families((*labels, *judgments), agents)
    return calibrate(labels, judgments, key, families, policy.judge, policy.mode == "strict")


def _families(
    said: Iterable[Label | Judgment], agents: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one in said:
        names = (agents.get(name, name) for name in candidates_of(one))
        found.setdefault(one.item, set()).update(names)
    return {item: frozenset(names) for item, names in found.items()}


def messages_of(
    connection: Connection,
    finals: FinalMessages,
    side: Side,
    said: Iterable[Label | Judgment],
) -> dict[str, dict[str, str]]:
    """Return item → digest → text, of the messages of each item that this candidate's traces end
    with. Traces are skipped that the store lacks, that have no payload, or that end otherwise here
    than where the label or judgment was made."""
    keys = {name: key for key, name in side.names.items()}
    wanted: dict[str, set[tuple[int, int]]] = {}
    sides: dict[str, set[str | None]] = {}
    for one in said:
        episode = keys.get(one.episode_id)
        head = f"{side.prefix}/{one.episode_id}/"
        sides.setdefault(one.item, set()).update((one.left, one.right, one.message))
        for trace_id in one.traces:
            attempt = trace_id.removeprefix(head)
            known = trace_id.startswith(head) and attempt.isdecimal() and len(attempt) < 19
            if episode is not None and known:
                wanted.setdefault(one.item, set()).add((episode, int(attempt)))
    slots = {slot for slots in wanted.values() for slot in slots}
    held = {slot: reviewable_trace(connection, side.key, *slot) for slot in sorted(slots)}
    texts = finals.of(connection, [one for one in held.values() if one is not None])
    found: dict[str, dict[str, str]] = {}
    for item, slots in wanted.items():
        for slot in slots:
            trace = held[slot]
            if trace is not None and trace.id in texts:
                digest = message_digest(texts[trace.id])
                if digest in sides[item]:
                    found.setdefault(item, {})[digest] = texts[trace.id] or ""
    return found


def win_rate_of(
    connection: Connection,
    finals: FinalMessages,
    side: Side,
    judged: JudgeRecord,
    found: Calibration,
) -> WinRate:
    """Return how often the candidate's message is the better one, over the pairs that contain one
    of its messages and another message."""
    mine = [one for one in judged.judgments if one.kind == "pair"]
    own = messages_of(connection, finals, side, mine)
    wins = {item: next(iter(texts)) for item, texts in own.items() if len(texts) == 1}
    rows = {row.item for row in found.rows}
    labeled = {label.item for label in judged.counted}
    return win_rate(
        found.rows,
        {
            item: winner
            for item, winner in _winners(mine, found).items()
            if item not in rows and item not in labeled
        },
        wins,
        _random(judged.counted),
        found.expired,
    )


def _winners(judgments: Iterable[Judgment], found: Calibration) -> dict[str, str]:
    """Return the judge's winner by both orders, for every pair that it answered under the current
    key."""
    key = found.key
    given: dict[str, dict[str, str]] = {}
    for one in counting(judgments):
        if made_by(one, key) and one.repeat == 1:
            given.setdefault(one.item, {})[one.order] = one.winner or TIE
    return {
        item: orders["forward"] if orders["forward"] == orders["swapped"] else TIE
        for item, orders in given.items()
        if len(orders) == 2
    }


def _random(labels: Iterable[Label]) -> frozenset[str]:
    """Return the items of the random part of the queue, as long as each was equally likely: only
    then are their labels a simple random sample."""
    chances: dict[str, float] = {}
    for label in counting_labels(labels):
        if label.pi is not None:
            chances[label.item] = label.pi
    return frozenset(chances) if len(set(chances.values())) == 1 else frozenset()
