"""Asking a judge: where it is reached, calls to it, and reading its replies.

As many calls run at a time as there are lines, until all are answered or asking is stopped. Every
call ends as a judgment, even one without a usable answer.

A reply is the one JSON object in it, checked against the shape its preset asks for. Nothing is
evaluated, guessed or repaired. Text around the object is ignored, since most models wrap it in a
sentence or a fence; no object, two of them, an unknown winner or a score off its scale make a reply
unusable.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from reviewer.review.judge_questions import Bench, Question, prompt_digest
from reviewer.review.judgments import MOST_CLAIMS, Claim, Failure, Judgment, Verdict, seal
from reviewer.running.candidates.manifest import Places, Settings, metered, read_base_url, read_key
from reviewer.running.candidates.openai import CHAT_USAGE, read_answer
from reviewer.running.candidates.openai_http import Endpoint, Pace, RequestRefusal
from reviewer.running.engine import Control
from reviewer.running.masking import Mask
from reviewer.running.model import CandidateFault, Infrastructure, Unrunnable
from reviewer.running.prices import Prices, Usage
from reviewer.suite.errors import ContractError, json_path
from reviewer.suite.model import RedactionRules
from reviewer.suite.rubric import JudgePrompt, Preset
from reviewer.suite.strict_json import loads

TIMEOUT_S = 120.0


class Address(NamedTuple):
    """The address of an endpoint. `api_key_env` names the environment variable with its key, ""
    for one that asks for none; prices are US dollars per million tokens."""

    base_url: str
    model: str = ""
    api_key_env: str = ""
    timeout_s: float = TIMEOUT_S
    prices: Prices = Prices()


def judge_settings(judge: JudgePrompt, address: Address) -> Settings:
    """Return the endpoint ready to be asked. `model` falls back to that of judge.json. Raises
    Unrunnable with the way out: no address, no model, a model other than the one that judge.json
    fixes, or no key."""
    model = address.model or judge.model
    if not model:
        raise Unrunnable("--model: is missing: judge.json names none, so say which is asked")
    if judge.model and model != judge.model:
        raise Unrunnable(
            f"--model {model}: judge.json fixes `{judge.model}`: leave --model out, or freeze a "
            "suite whose judge.json names the other"
        )
    url = read_base_url(address.base_url, "--base-url")
    return Settings(
        places=Places("--base-url", "--api-key-env", "--model"),
        url=url.geturl().rstrip("/"),
        host=url.netloc,
        model=model,
        key=read_key(address.api_key_env or None, "--api-key-env"),
        config={"temperature": judge.temperature, "max_tokens": judge.max_tokens},
        prompts=(),
        prices=address.prices,
        timeout_s=address.timeout_s,
        apart_s=0.0,
    )


LONGEST = 32_768
MOST_STARTS = 200
"""Braces that begin no JSON object: a reply with this many is not searched further."""


class NotParsed(Exception):
    """The reply contains nothing usable; the text says why."""


class UnknownEvent(Exception):
    """A claim names an event that was not shown."""


class Reply(NamedTuple):
    """The content of a reply. `reason` and the claims are the judge's own words, not yet masked."""

    answer: Verdict | None = None
    scores: dict[str, float] = {}  # noqa: RUF012 (never changed)
    claims: tuple[Claim, ...] | None = None
    reason: str = ""


def _folded(value: object) -> object:
    return value.strip().casefold() if isinstance(value, str) else value


Reason = Annotated[str, Field(validation_alias=AliasChoices("reason", "reasoning"))]
Winner = Annotated[Literal["left", "right", "tie"], BeforeValidator(_folded)]
Five = Annotated[float, Field(ge=0, le=5)]


class _Reply(BaseModel):
    """Members beyond those asked for are ignored: judges add some, and none changes the asked
    ones."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    reason: Reason = ""


class _Pairwise(_Reply):
    winner: Winner


class _Three(_Reply):
    correctness: Five
    completeness: Five
    relevance: Five


class _Completion(_Reply):
    score: Annotated[float, Field(ge=0, le=10)]


class _Claim(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    claim: Annotated[str, Field(min_length=1)]
    grounded: bool
    seq: int | None = None


class _Faithfulness(_Reply):
    claims: Annotated[list[_Claim], Field(max_length=MOST_CLAIMS)]


_SHAPES: dict[Preset, type[_Reply]] = {
    "pairwise": _Pairwise,
    "correctness-completeness-relevance": _Three,
    "completion": _Completion,
    "faithfulness": _Faithfulness,
}


def read_reply(text: str, preset: Preset, shown: Collection[int] = ()) -> Reply:
    """Return the reply as a value. `shown` has the numbers of the events that a claim may name.

    Raises NotParsed, and UnknownEvent for a claim that names an event that was not shown.
    """
    found = _the_object(text)
    try:
        said: Any = _SHAPES[preset].model_validate(found)
    except ValidationError as error:
        fault = error.errors()[0]
        where, why = json_path(fault["loc"]), fault["type"].replace("_", " ")
        raise NotParsed(f"its answer does not fit preset {preset}: {where}: {why}") from None
    if isinstance(said, _Pairwise):
        return Reply(answer=said.winner, reason=said.reason)
    if isinstance(said, _Faithfulness):
        return Reply(claims=tuple(_claim(c, shown) for c in said.claims), reason=said.reason)
    scores: dict[str, float] = said.model_dump(exclude={"reason"})
    return Reply(scores=scores, reason=said.reason)


def _claim(said: _Claim, shown: Collection[int]) -> Claim:
    if said.seq is not None and said.seq not in shown:
        raise UnknownEvent(f"a claim names event {said.seq:.6g}, which it was not shown")
    if said.grounded and said.seq is None:
        raise UnknownEvent("a claim is called grounded, and no event is named for it")
    return Claim(claim=said.claim, grounded=said.grounded, seq=said.seq)


def _the_object(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise NotParsed(f"its answer is longer than {LONGEST:,} characters")
    found = list(_objects(text))
    if len(found) != 1:
        what = "no JSON object" if not found else f"{len(found)} JSON objects, not one"
        raise NotParsed(f"its answer holds {what}")
    try:
        value = loads(found[0].encode("utf-8", "surrogatepass"), "its answer")
    except ContractError as error:
        raise NotParsed(f"its answer: {error.path}: {error.reason}") from None
    assert isinstance(value, dict)  # it starts with a brace
    return value


def _objects(text: str) -> Iterator[str]:
    """Yield each outermost JSON object in the text, as it is written."""
    decoder = json.JSONDecoder()
    place, in_vain = text.find("{"), 0
    while place >= 0 and in_vain < MOST_STARTS:
        try:
            end = decoder.raw_decode(text, place)[1]
        except (ValueError, RecursionError):
            end, in_vain = place + 1, in_vain + 1
        else:
            yield text[place:end]
        place = text.find("{", end)


PACE = Pace(tries=3, longest_backoff_s=10.0)
"""A judge can be asked again later without loss, so calls wait less long than those of a
candidate."""

MOST_UNANSWERED = 5
"""After this many calls in a row without an answer, the others are not tried."""

_LIMIT, _LIMIT_NOW = "max_tokens", "max_completion_tokens"


class Silent(Exception):
    """The endpoint no longer answers; the text names the last error."""


class Line(NamedTuple):
    """Settings that all calls share. `now` gives the time of a judgment, RFC 3339 in UTC."""

    bench: Bench
    settings: Settings
    redaction: RedactionRules
    now: Callable[[], str]
    pace: Pace = PACE


class _CallOutcome(NamedTuple):
    """The outcome of one call."""

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
    """Ask every question, or fewer when `control` says so; `told` receives each judgment as it
    comes, and may wait. Raises Unrunnable (no key, no such model) and Silent; judgments passed on
    before that remain."""
    asking = _AskSession(asked, line, control, told)
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


class _AskSession:
    """The questions that wait, and the common settings of their calls."""

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
        """Make calls over one line to the endpoint until no question is left."""
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

    async def _ask(self, endpoint: Endpoint, question: Question) -> _CallOutcome:
        meter = partial(metered, names=CHAT_USAGE, prices=self._line.settings.prices)
        try:
            payload = self._payload(question)
            call = partial(endpoint.ask, "/chat/completions", read=read_answer, meter=meter)
            try:
                answer, usage, cost_usd = await call(payload=payload)
            except RequestRefusal as refused:
                if _LIMIT_NOW not in refused.said or self._limit == _LIMIT_NOW:
                    raise
                self._limit = _LIMIT_NOW  # the same limit under its name in newer models
                answer, usage, cost_usd = await call(payload=self._payload(question))
        except CandidateFault as fault:
            turn = fault.turn
            spent = (turn.usage, turn.cost_usd) if turn is not None else (None, None)
            cut = fault.reason == "max_tokens"
            return _CallOutcome(None, "not_parsed" if cut else "refused", fault.text, *spent)
        except Infrastructure as failed:
            return _CallOutcome(None, "no_answer", str(failed))
        text = self._line.settings.key.cleared(answer.text or "")
        try:
            reply = read_reply(text, question.asked.preset, question.shown)
        except NotParsed as error:
            return _CallOutcome(None, "not_parsed", str(error), usage, cost_usd)
        except UnknownEvent as error:
            return _CallOutcome(None, "unknown_event", str(error), usage, cost_usd)
        return _CallOutcome(reply, None, reply.reason, usage, cost_usd)

    def _payload(self, question: Question) -> dict[str, Any]:
        settings = self._line.settings
        config = {
            self._limit if name == _LIMIT else name: value
            for name, value in settings.config.items()
        }
        said = [{"role": "user", "content": question.prompt}]
        return {"model": settings.model, **config, "messages": said}

    def _safe(self, text: str) -> str:
        """Return the judge's words in a form that may be kept: without the key (which a reply may
        spell with escapes), without identifiers, on one line, of limited length."""
        return self._mask.line(self._line.settings.key.hide(text).strip())

    def _judgment(self, question: Question, came: _CallOutcome) -> Judgment:
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
