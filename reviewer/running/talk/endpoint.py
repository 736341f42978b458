"""A user that a language model plays, behind an OpenAI-compatible endpoint.

Its prompt holds goals, facts, persona and style of the episode, and nothing else of it: no tool, no
policy, no expectation, and no fact that is never to be told. It ends the talk by a call of
`end_conversation`, never by a word in its text, and not in the answer to a question.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.running.candidates.manifest import (
    Places,
    Prices,
    Settings,
    metered,
    read_base_url,
    read_key,
)
from reviewer.running.candidates.openai import CHAT_USAGE, ChatAnswer, read_answer
from reviewer.running.candidates.openai_http import Endpoint, Pace
from reviewer.running.model import CandidateFault, Infrastructure, Task, Usage
from reviewer.running.talk.model import Heard, Reply, UserFailure
from reviewer.running.talk.phrases import asks_to_confirm
from reviewer.running.world import episode_file
from reviewer.suite.user import User, UserRunner, filled

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

END = "end_conversation"
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
_SPEAK = "Write your next message to the agent, as text."


def prompt_of(user: User) -> str:
    """Return the prompt of a user that a model plays."""
    runner = user.runner
    template = PROMPT if runner is None or runner.prompt is None else runner.prompt
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

    def __init__(self, task: Task, user: User, pace: Pace = Pace()) -> None:  # noqa: B008 (an immutable value)
        runner = user.runner
        assert runner is not None, "the check of an episode asks for it"
        self._runner = runner
        prompt = prompt_of(user)
        self.prompt_sha256 = hashlib.sha256(prompt.encode()).hexdigest()
        self._prices = Prices() if user.prices is None else Prices(
            user.prices.input_usd_per_mtok, user.prices.output_usd_per_mtok
        )  # fmt: skip
        file = episode_file(task.episode, Path(task.folder))
        self._endpoint = Endpoint(_settings(runner, file, self._prices), task.redaction, pace)
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
        said, usages, costs = await self._ask([] if heard.said else [_OPEN])
        text, ends = said
        asked = asks_to_confirm(heard.last)
        if (ends and asked and text is None) or (text is None and not ends):
            (text, again), usage, cost = await self._ask([_ANSWER_FIRST if ends else _SPEAK])
            usages, costs = usages + usage, costs + cost
            ends = again if not asked else ends
        ignored = ends and asked and text is not None
        if text is not None:
            self._sent.append({"role": "assistant", "content": text})
        return Reply(
            message=text,
            ended="user_stop" if ends and not ignored else None,
            usage=_added(usages),
            cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            ignored_end=ignored,
        )

    async def close(self) -> None:
        await self._endpoint.close()

    async def _ask(
        self, reminders: list[str]
    ) -> tuple[tuple[str | None, bool], list[Usage | None], list[float | None]]:
        """Return what the model says, and whether it ends the talk; with tokens and cost."""
        runner = self._runner
        payload: dict[str, Any] = {
            "model": runner.model,
            "temperature": runner.temperature,
            "max_tokens": runner.max_tokens,
            "messages": [*self._sent, *({"role": "system", "content": one} for one in reminders)],
            "tools": [_END_TOOL],
        }
        if runner.seed is not None:
            payload["seed"] = runner.seed
        meter = partial(metered, names=CHAT_USAGE, prices=self._prices)
        try:
            answer, usage, cost = await self._endpoint.ask(
                "/chat/completions", payload, read_answer, meter
            )
        except (CandidateFault, Infrastructure) as error:
            raise UserFailure(f"the simulated user: {error}") from None
        return _said(answer), [usage], [cost]


def _said(answer: ChatAnswer) -> tuple[str | None, bool]:
    names = [(entry.get("function") or {}).get("name") for entry in answer.entries]
    text = (answer.text or "").strip()
    return text or None, END in names


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
