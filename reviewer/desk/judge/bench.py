"""From an order to the questions a judge is asked: the suite's prompt, the items, the endpoint."""

import math
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db import judgments as stored
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.judge.views import JudgeOrder
from reviewer.desk.labels.items import message_of, side_of
from reviewer.desk.labels.labeling import against
from reviewer.desk.place import Workspace
from reviewer.desk.traces import records as traces
from reviewer.desk.traces.finals import Finals, traces_of
from reviewer.desk.traces.text import text_of
from reviewer.exit_codes import ExitCode
from reviewer.review.items import attempt_pairs, candidate_pairs, message_items
from reviewer.review.judging.endpoint import Address, judge_settings
from reviewer.review.judging.judgments import KIND_OF, stored_judgment
from reviewer.review.judging.plan import Bench, Observed, Question, questions
from reviewer.review.model import Item, Kind, TraceMessage
from reviewer.running.candidates.openai_manifest import Settings
from reviewer.running.candidates.prices import Prices
from reviewer.running.masking import Mask
from reviewer.running.model import Unrunnable
from reviewer.suite.rubric import JudgePrompt
from reviewer.trace.record import ABSENT, kind_of

LONGEST_OBSERVATION = 4_000


class Prepared(NamedTuple):
    """An order with all that it would ask. `settings` is None while `problem` says why nothing can
    be sent; `cached` calls are answered already."""

    order: JudgeOrder
    held: suites.Held
    bench: Bench
    asked: tuple[Question, ...]
    cached: int
    prices: Prices
    settings: Settings | None
    problem: str


def prepare(
    workspace: Workspace, connection: sqlite3.Connection, finals: Finals, order: JudgeOrder
) -> Prepared:
    """Raises DeskError for an order that asks nothing of this workspace: no judge in the suite, no
    prompt for what is to be judged, nothing to judge, a number that cannot be."""
    prices = _checked(order)
    held = suites.hold(workspace, connection, order.suite_id)
    judge = judge_of(held, order.suite_id)
    known = tuple(dict.fromkeys(KIND_OF[asked.preset] for asked in judge.asks))
    kinds = order.kinds or known
    for kind in kinds:
        if kind not in known:
            raise DeskError(
                f"the judge of {order.suite_id} has no prompt about "
                f"{'pairs' if kind == 'pair' else 'single messages'}",
                "a suite whose judge.json has one: reviewer schema judge says how",
                exit_code=ExitCode.USAGE,
            )
    settings, problem = _settings(judge, order, prices)
    bench = _bench(held, judge, order, settings)
    items = [item for kind in kinds for item in items_of(connection, finals, held, order, kind)]
    if not items:
        raise DeskError(
            f"nothing to judge: no final messages of {order.candidate_id} to compare or read"
        )
    records = traces.Records()
    asked = tuple(
        questions(items, bench, order.repeats, lambda trace: observed(connection, records, trace))
    )
    left = _unanswered(connection, asked)
    return Prepared(order, held, bench, left, len(asked) - len(left), prices, settings, problem)


def judge_of(held: suites.Held, suite_id: str) -> JudgePrompt:
    """The suite's judge. Raises DeskError when it has none."""
    if held.judge is None:
        raise DeskError(
            f"{suite_id} has no judge: there is no judge.json in its folder",
            f"write one, then: reviewer suite freeze {suite_id} --as NEW_ID",
        )
    return held.judge


def items_of(
    connection: sqlite3.Connection,
    finals: Finals,
    held: suites.Held,
    order: JudgeOrder,
    kind: Kind,
) -> tuple[Item, ...]:
    """The items of one kind: pairs against the baseline, the only other candidate, or among the
    candidate's attempts; or the candidate's own messages."""
    baseline = against(connection, order.suite_id, order.candidate_id, order.baseline_id, kind)
    mine = _ends(connection, finals, order.suite_id, order.candidate_id)
    digest = held.suite.digest
    if kind == "message":
        return message_items(digest, mine).items
    if baseline is None:
        return attempt_pairs(digest, mine).items
    return candidate_pairs(digest, _ends(connection, finals, order.suite_id, baseline), mine).items


def _ends(
    connection: sqlite3.Connection, finals: Finals, suite_id: str, candidate_id: str
) -> list[TraceMessage]:
    side = side_of(connection, suite_id, candidate_id)
    rows = traces_of(connection, side.key)
    texts = finals.of(connection, rows)
    return [message_of(side, row, texts[row.id]) for row in rows if row.id in texts]


def observed(
    connection: sqlite3.Connection, records: traces.Records, trace_id: str
) -> Sequence[Observed]:
    """What a trace saw, in the order of its events."""
    row = traces.locate(connection, trace_id).row
    found = []
    for position, event in enumerate(records.events(connection, row, 0, row.events), 1):
        if event.observation != ABSENT:
            text = text_of(event.observation)
            if len(text) > LONGEST_OBSERVATION:
                text = f"{text[:LONGEST_OBSERVATION]}… [cut here]"
            found.append(
                Observed(
                    event.seq or position, event.tool or kind_of(event), event.status or "ok", text
                )
            )
    return found


def _checked(order: JudgeOrder) -> Prices:
    for name, value, least, most in (
        ("repeats", order.repeats, 1, 100),
        ("jobs", order.jobs, 1, 64),
    ):
        if not least <= value <= most:
            raise DeskError(f"--{name} {value}: from {least} to {most}", exit_code=ExitCode.USAGE)
    if not (math.isfinite(order.timeout_s) and order.timeout_s > 0):
        raise DeskError(
            f"--timeout {order.timeout_s:g}: a number of seconds above 0", exit_code=ExitCode.USAGE
        )
    for name, price in (("input", order.input_price), ("output", order.output_price)):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise DeskError(
                f"--{name}-price {price:g}: US dollars, zero or more", exit_code=ExitCode.USAGE
            )
    return Prices(order.input_price, order.output_price)


def _settings(judge: JudgePrompt, order: JudgeOrder, prices: Prices) -> tuple[Settings | None, str]:
    """The endpoint, or why it cannot be asked."""
    address = Address(order.base_url, order.model, order.api_key_env, order.timeout_s, prices)
    try:
        return judge_settings(judge, address), ""
    except Unrunnable as error:
        return None, str(error)


def _bench(
    held: suites.Held, judge: JudgePrompt, order: JudgeOrder, settings: Settings | None
) -> Bench:
    suite = held.suite
    mask = Mask(suite.redaction)
    return Bench(
        suite_id=suite.suite_id,
        suite_digest=suite.digest,
        judge=judge,
        model=settings.model if settings else order.model or judge.model,
        url=settings.url if settings else order.base_url.rstrip("/"),
        rubric=held.rubric,
        rubric_digest=held.rubric_digest,
        requests={episode.episode_id: episode.user_request for episode in suite.episodes},
        masked=lambda text: str(mask.masked(text)),
    )


def _unanswered(connection: sqlite3.Connection, asked: Sequence[Question]) -> tuple[Question, ...]:
    known = stored.answered(connection, [question.request for question in asked])
    answered = {
        request
        for request, bodies in known.items()
        if any(stored_judgment(body).final for body in bodies)
    }
    return tuple(question for question in asked if question.request not in answered)
