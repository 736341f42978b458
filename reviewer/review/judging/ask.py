"""Asking a judge: as many calls at a time as there are lines, until all are answered or it is
stopped. Every call ends as a judgment, also one that brought nothing usable."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from reviewer.review.judging.judgments import Claim, Failure, Judgment, seal
from reviewer.review.judging.plan import Bench, Question, prompt_digest
from reviewer.review.judging.reply import NotParsed, Reply, UnknownEvent, read_reply
from reviewer.running.candidates.openai_answers import Refused
from reviewer.running.candidates.openai_chat import COUNTS, read_answer
from reviewer.running.candidates.openai_http import Endpoint, Pace
from reviewer.running.candidates.openai_manifest import Settings
from reviewer.running.candidates.prices import metered
from reviewer.running.engine import Control
from reviewer.running.masking import Mask
from reviewer.running.model import CandidateFault, Infrastructure, Usage
from reviewer.suite.model import RedactionRules

PACE = Pace(tries=3, longest_backoff_s=10.0)
"""A judge is asked again later at no loss, so it is not waited for as long as a candidate."""

MOST_UNANSWERED = 5
"""So many calls in a row without an answer, and the others are not tried."""

_LIMIT, _LIMIT_NOW = "max_tokens", "max_completion_tokens"


class Silent(Exception):
    """The endpoint answers nothing any more; the text says what was tried last."""


class Line(NamedTuple):
    """What all calls share. `now` gives the time of a judgment, RFC 3339 in UTC."""

    bench: Bench
    settings: Settings
    redaction: RedactionRules
    now: Callable[[], str]
    pace: Pace = PACE


class _Came(NamedTuple):
    """What came of one call."""

    reply: Reply | None
    error: Failure | None
    reason: str
    usage: Usage | None = None
    cost_usd: float | None = None


async def ask_all(
    asked: Iterable[Question],
    line: Line,
    jobs: int,
    control: Control,
    told: Callable[[Judgment], Awaitable[None]],
) -> None:
    """Ask every question, or fewer when `control` says so; `told` is given each judgment as it
    comes, and may wait. Raises Unrunnable (no key, no such model) and Silent; what was told by
    then stands."""
    asking = _Asking(asked, line, control, told)
    with control.listening() as changed:
        workers = [asyncio.create_task(asking.work()) for _ in range(jobs)]
        watching = asyncio.create_task(_abandoned(control, changed))
        try:
            busy = set(workers)
            while busy and not watching.done():
                done, busy = await asyncio.wait(
                    {*busy, watching}, return_when=asyncio.FIRST_COMPLETED
                )
                busy.discard(watching)
                for worker in done - {watching}:
                    worker.result()
        finally:
            for task in (*workers, watching):
                task.cancel()
            await asyncio.gather(*workers, watching, return_exceptions=True)
    asking.check()


async def _abandoned(control: Control, changed: asyncio.Event) -> None:
    while control.state != "abandoned":
        await changed.wait()
        changed.clear()


class _Asking:
    """The questions that wait, and what their calls have in common."""

    def __init__(
        self,
        asked: Iterable[Question],
        line: Line,
        control: Control,
        told: Callable[[Judgment], Awaitable[None]],
    ) -> None:
        self._waiting = deque(asked)
        self._line, self._control, self._told = line, control, told
        self._mask = Mask(line.redaction)
        self._limit = _LIMIT
        self._unanswered = 0
        self._last = ""

    def check(self) -> None:
        if self._unanswered >= MOST_UNANSWERED:
            raise Silent(f"{self._unanswered} calls in a row brought no answer: {self._last}")

    async def work(self) -> None:
        """One line to the endpoint, until there is nothing more to ask."""
        line = self._line
        endpoint = Endpoint(line.settings, line.redaction, line.pace)
        try:
            while self._waiting and self._control.state == "open":
                if self._unanswered >= MOST_UNANSWERED:
                    return
                question = self._waiting.popleft()
                came = await self._ask(endpoint, question)
                if came.error == "no_answer":
                    self._unanswered, self._last = self._unanswered + 1, came.reason
                else:
                    self._unanswered = 0
                await self._told(self._judgment(question, came))
        finally:
            await endpoint.close()

    async def _ask(self, endpoint: Endpoint, question: Question) -> _Came:
        meter = partial(metered, names=COUNTS, prices=self._line.settings.prices)
        try:
            payload = self._payload(question)
            call = partial(endpoint.ask, "/chat/completions", read=read_answer, meter=meter)
            try:
                answer, usage, cost_usd = await call(payload=payload)
            except Refused as refused:
                if _LIMIT_NOW not in refused.said or self._limit == _LIMIT_NOW:
                    raise
                self._limit = _LIMIT_NOW  # the same limit under the name that newer models know
                answer, usage, cost_usd = await call(payload=self._payload(question))
        except CandidateFault as fault:
            turn = fault.turn
            spent = (turn.usage, turn.cost_usd) if turn is not None else (None, None)
            cut = fault.reason == "max_tokens"
            return _Came(None, "not_parsed" if cut else "refused", fault.text, *spent)
        except Infrastructure as failed:
            return _Came(None, "no_answer", str(failed))
        text = self._line.settings.key.cleared(answer.text or "")
        try:
            reply = read_reply(text, question.asked.preset, question.shown)
        except NotParsed as error:
            return _Came(None, "not_parsed", str(error), usage, cost_usd)
        except UnknownEvent as error:
            return _Came(None, "unknown_event", str(error), usage, cost_usd)
        return _Came(reply, None, reply.reason, usage, cost_usd)

    def _payload(self, question: Question) -> dict[str, Any]:
        settings = self._line.settings
        config = {
            self._limit if name == _LIMIT else name: value
            for name, value in settings.config.items()
        }
        said = [{"role": "user", "content": question.prompt}]
        return {"model": settings.model, **config, "messages": said}

    def _safe(self, text: str) -> str:
        """The judge's words, fit to be kept: no key (it may have been spelled with escapes inside
        the reply), no identifier, one line, not long."""
        return self._mask.line(self._line.settings.key.hide(text).strip())

    def _judgment(self, question: Question, came: _Came) -> Judgment:
        bench, reply = self._line.bench, came.reply or Reply()
        claims = reply.claims
        if claims is not None:
            claims = tuple(
                Claim(claim=self._safe(c.claim) or "?", grounded=c.grounded, seq=c.seq)
                for c in claims
            )
        usage = came.usage or Usage()
        return seal(
            Judgment(
                item=question.item.item,
                kind=question.item.kind,
                suite_id=bench.suite_id,
                suite_digest=bench.suite_digest,
                episode_id=question.item.episode_id,
                preset=question.asked.preset,
                order=question.order,
                repeat=question.repeat,
                left=question.left,
                right=question.right,
                message=question.message,
                trace=question.trace,
                judge_id=bench.judge.judge_id,
                judge_version=bench.judge.version,
                model=self._line.settings.model,
                prompt_digest=prompt_digest(question.asked),
                rubric_digest=bench.rubric_digest,
                request_digest=question.request,
                answer=reply.answer,
                scores=reply.scores,
                claims=claims,
                error=came.error,
                reason=self._safe(came.reason),
                cost_usd=came.cost_usd,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                at=self._line.now(),
                traces=(question.trace,) if question.trace else question.item.traces,
            )
        )
