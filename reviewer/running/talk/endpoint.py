"""A user that a language model plays, behind an OpenAI-compatible endpoint.

Its prompt contains goals, facts, persona and style of the episode, and nothing else of it: no tool
of the agent, no policy, no expectation, and no fact that must never be told. The user's own tools
are offered beside the prompt; their calls go through the talk, as those of any user. It ends the
conversation by a call of `end_conversation`, never by a word in its text, and not in the answer to
a question.
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.candidates.manifest import Places, Settings, metered, read_base_url, read_key
from reviewer.running.candidates.openai import (
    CHAT_USAGE,
    CallIds,
    ChatAnswer,
    call_of,
    read_answer,
    text_for_model,
)
from reviewer.running.candidates.openai_http import Endpoint, Pace
from reviewer.running.model import Call, CandidateFault, Infrastructure, Task, ToolSpec
from reviewer.running.prices import Prices, Usage
from reviewer.running.talk.model import Heard, Reply, UserFailure
from reviewer.running.talk.phrases import asks_to_confirm
from reviewer.running.world import episode_file
from reviewer.suite.user import USER_ENDS, User, UserRunner, filled
from reviewer.suite.wording import unhidden

PROMPT = """\
You are a customer who talks to a support agent. Stay in this role: you are not the agent, and you \
do not help anybody.

Who you are: {persona}
How you talk: {style}

What you want, in this order:
{goals}

What you know. Say it only when the agent asks for it, unless it says otherwise:
{facts}

Write one short message at a time, as a customer would. Do not make up anything that is not above: \
say that you do not know. Do not state everything at once. Where the agent asks you to confirm \
something that you want, confirm it and wait for what the agent does. When everything you want is \
done or finally refused, call end_conversation; never call it in an answer to a question."""

WITH_TOOLS = """

You can act yourself with your tools, as the customer who has the thing in hand. Use one only when \
the agent asks you to do something or to look something up, and tell the agent what it showed. \
Never make up what a tool would show."""

END = USER_ENDS
_END_TOOL = {
    "type": "function",
    "function": {
        "name": END,
        "description": "End the conversation: what you want is done, or finally refused.",
        "parameters": {
            "type": "object",
            "properties": {"reason": {"type": "string"}},
            "additionalProperties": False,
        },
    },
}
_ANSWER_FIRST = "The agent asked you something. Answer it in one message; do not end yet."
_OPEN = "You have reached the agent. Write your first message to it, as text."
_NOT_YET = "Not ended: first say what your tools showed."
_SPEAK = "Write your next message to the agent, as text."


def prompt_of(user: User, acts: bool = False) -> str:
    """Return the prompt of a user that a model plays; `acts` says that it has tools."""
    runner = user.runner
    template = PROMPT if runner is None or runner.prompt is None else runner.prompt
    template += WITH_TOOLS if acts else ""
    known = [
        f"- {name.replace('_', ' ')}: {fact.value}"
        + (" (you may say this at any time)" if fact.tell == "freely" else "")
        for name, fact in user.facts.items()
        if fact.tell != "never"
    ]
    return filled(
        template,
        {
            "persona": user.persona or "a customer",
            "style": user.style or "plain and short",
            "goals": "\n".join(f"- {goal.asks}" for goal in user.goals),
            "facts": "\n".join(known) or "- nothing besides your own wishes",
        },
    )


class EndpointUser:
    """The user of one attempt. Raises Unrunnable for an address or a key that cannot be used."""

    def __init__(
        self,
        task: Task,
        user: User,
        specs: Sequence[ToolSpec] = (),
        pace: Pace = Pace(),  # noqa: B008 (an immutable value)
    ) -> None:
        runner = user.runner
        assert runner is not None, "the check of an episode asks for it"
        self._runner = runner
        prompt = prompt_of(user, bool(specs))
        own = [{"type": "function", "function": spec._asdict()} for spec in specs]
        self._tools = [_END_TOOL, *own]
        self._ids = CallIds()
        self._unanswered: list[str] = []
        self._beside: str | None = None
        self.prompt_sha256 = hashlib.sha256(prompt.encode()).hexdigest()
        self._prices = Prices() if user.prices is None else Prices(
            user.prices.input_usd_per_mtok, user.prices.output_usd_per_mtok
        )  # fmt: skip
        file = episode_file(task.episode, Path(task.folder))
        settings = _settings(runner, file, self._prices)
        self._key = settings.key
        self._endpoint = Endpoint(settings, task.redaction, pace)
        self._sent: list[dict[str, Any]] = [
            {"role": "system", "content": prompt},
        ]
        if task.episode.user_request:
            self._sent.append({"role": "assistant", "content": task.episode.user_request})
        self._heard = 0

    async def answer(self, heard: Heard) -> Reply:
        for message in heard.said[self._heard :]:
            self._sent.append({"role": "user", "content": message})
        self._heard = len(heard.said)
        for seen in heard.answers:
            self._answered(seen.call_id, text_for_model(seen))
        for call_id in self._unanswered:
            self._answered(call_id, _NOT_YET)
        self._unanswered = []
        said, usages, costs = await self._ask([] if heard.said or heard.answers else [_OPEN])
        if said.calls:
            self._beside = said.text or self._beside
            return Reply(calls=said.calls, usage=_added(usages), cost_usd=_summed(costs))
        text, ends = said.text or self._beside, said.ends
        self._beside = None
        asked = asks_to_confirm(heard.last)
        if (ends and asked and text is None) or (text is None and not ends):
            again, usage, cost = await self._ask([_ANSWER_FIRST if ends else _SPEAK], acts=False)
            usages, costs = usages + usage, costs + cost
            text, ends = again.text, again.ends if not asked else ends
        ignored = ends and asked and text is not None
        if text is not None:
            self._sent.append({"role": "assistant", "content": text})
        return Reply(
            message=text,
            ended="user_stop" if ends and not ignored else None,
            usage=_added(usages),
            cost_usd=_summed(costs),
            ignored_end=ignored,
        )

    async def close(self) -> None:
        await self._endpoint.close()

    def _answered(self, call_id: str, text: str) -> None:
        self._sent.append({"role": "tool", "tool_call_id": call_id, "content": text})

    async def _ask(
        self, reminders: list[str], acts: bool = True
    ) -> tuple["_Said", list[Usage | None], list[float | None]]:
        """Return the model's answer, with tokens and cost; its calls of tools count where it
        `acts`, and are sent back to it with the next request."""
        runner = self._runner
        payload: dict[str, Any] = {
            "model": runner.model,
            "temperature": runner.temperature,
            "max_tokens": runner.max_tokens,
            "messages": [*self._sent, *({"role": "system", "content": one} for one in reminders)],
            "tools": self._tools if acts else [_END_TOOL],
        }
        if runner.seed is not None:
            payload["seed"] = runner.seed
        meter = partial(metered, names=CHAT_USAGE, prices=self._prices)
        try:
            answer, usage, cost = await self._endpoint.ask(
                "/chat/completions", payload, read_answer, meter
            )
            said = self._taken(answer) if acts else _said(answer)
        except (CandidateFault, Infrastructure) as error:
            raise UserFailure(f"the simulated user: {error}") from None
        return said, [usage], [cost]

    def _taken(self, answer: ChatAnswer) -> "_Said":
        """Return the model's answer. Where it calls tools of its own, its message is kept to be
        sent back, with this attempt's ids for its calls."""
        said = _said(answer)
        if len(self._tools) == 1 or all(_name(entry) == END for entry in answer.entries):
            return said
        entries, calls = [], []
        for entry in answer.entries:
            call_id = self._ids.own(entry.get("id"))
            entries.append({**entry, "id": call_id})
            if _name(entry) == END:
                self._unanswered.append(call_id)
                continue
            given = (entry.get("function") or {}).get("arguments")
            calls.append(call_of(call_id, _name(entry), given, self._key))
        message = {k: v for k, v in answer.message.items() if v is not None or k == "content"}
        self._sent.append({**message, "role": "assistant", "tool_calls": entries})
        return said._replace(calls=tuple(calls), ends=False)


class _Said(NamedTuple):
    """The model's words, whether it ends the conversation, and its calls of the user's tools."""

    text: str | None
    ends: bool
    calls: tuple[Call, ...] = ()


def _said(answer: ChatAnswer) -> _Said:
    text = (answer.text or "").strip()
    return _Said(text if unhidden(text).strip() else None, END in map(_name, answer.entries))


def _name(entry: dict[str, Any]) -> Any:
    function = entry.get("function")
    return function.get("name") if isinstance(function, dict) else None


def _summed(costs: list[float | None]) -> float | None:
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _added(usages: list[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    if len(known) < len(usages):
        return None
    sums: list[int | None] = []
    for name in Usage._fields:
        parts = [getattr(usage, name) for usage in known]
        sums.append(None if None in parts else sum(parts))
    return Usage(*sums)


def _settings(runner: UserRunner, file: str, prices: Prices) -> Settings:
    where = f"{file}: $.user.runner"
    url = read_base_url(runner.base_url, f"{where}.base_url")
    return Settings(
        places=Places(f"{where}.base_url", f"{where}.api_key_env", f"{where}.model"),
        url=url.geturl().rstrip("/"),
        host=url.netloc,
        model=runner.model,
        key=read_key(runner.api_key_env, f"{where}.api_key_env"),
        config={},
        prompts=(),
        prices=prices,
        timeout_s=runner.timeout_s,
        apart_s=0.0,
    )
