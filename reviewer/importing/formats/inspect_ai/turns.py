"""Model calls as turns of a conversation: who spoke, what was new to them, what it cost."""

import re
from typing import Any

from reviewer.importing.draft import Draft, elapsed_ms, measured
from reviewer.importing.formats.inspect_ai.history import History
from reviewer.importing.formats.inspect_ai.parts import Parts, Texts, mapping, sequence, text
from reviewer.importing.formats.inspect_ai.spans import Scope, Spans, actor_of
from reviewer.importing.formats.inspect_ai.spending import Spend, counts
from reviewer.importing.formats.inspect_ai.talk import Talk

CACHED = "answers came out of a cache: they cost nothing in this attempt and took no time"
PENDING = "a call was still running when the file was written"
_GRADER = re.compile(r"grad|judg|scor|monitor", re.IGNORECASE)
_USER = re.compile(r"user|customer|simulat", re.IGNORECASE)


class Turns:
    """Tells model events; `spends` is what each of them used."""

    def __init__(self, draft: Draft, talk: Talk, parts: Parts, texts: Texts) -> None:
        self.spends: list[Spend] = []
        self._draft = draft
        self._talk = talk
        self._texts = texts
        self._history = History(parts.pool, texts)

    def model(self, event: dict[str, Any], scope: Scope) -> None:
        """A model call. A grader's is no part of the trajectory; a model role that plays the user
        is not the agent; another role (a critic) is a sub-agent of that name."""
        role, output = text(event.get("role")), mapping(event.get("output"))
        usage, cached = mapping(output.get("usage")), event.get("cache") == "read"
        grader = scope.scoring or bool(_GRADER.search(role))
        user = not grader and bool(_USER.search(role))
        if usage and not cached:
            whose = "grader" if grader else "simulated_user" if user else ""
            self.spends.append(Spend(text(event.get("model")), not whose, usage, whose))
        if grader:
            return
        if not role:
            for message in self._history.news(event):
                self._talk.heard(message, inside=scope.actor != "agent")
        actor = "simulated_user" if user else actor_of(role) if role else scope.actor
        if event.get("pending"):
            self._draft.note(PENDING)
        if event.get("error"):
            self._draft.error(text(event["error"]), actor=actor, at=event.get("timestamp"))
        for choice in sequence(output.get("choices"))[:1]:
            message = mapping(mapping(choice).get("message"))
            if event.get("error") and not (message.get("content") or message.get("tool_calls")):
                continue  # what stands for the answer that never came
            more = {} if cached else _measured(event, output, usage)
            self._said(actor, message, user, more, event)
        if cached:
            self._draft.note(CACHED)

    def returned(self, event: dict[str, Any]) -> None:
        """A tool event: its result will stand in the conversation under this id."""
        self._history.own(event.get("message_id"))

    def conversation(self, messages: list[Any]) -> None:
        """A sample without model events: its conversation is all there is."""
        for message in map(mapping, messages):
            if message.get("role") == "assistant":
                self._talk.said("agent", message)
            elif message.get("role") == "tool":
                content = self._texts.whole(message.get("content"))
                call_id = message.get("tool_call_id")
                self._talk.result(self._talk.taken(call_id), call_id, message, content)
            else:
                self._talk.heard(message)

    def rest(self, messages: list[Any]) -> None:
        """What only the conversation at the end tells: the user's last words, results of tools
        that ran outside of Inspect."""
        heard = [one for one in messages if mapping(one).get("role") in ("user", "tool")]
        for message in self._history.rest(heard):
            self._talk.heard(message)

    def _said(
        self,
        actor: str,
        message: dict[str, Any],
        user: bool,
        more: dict[str, Any],
        event: dict[str, Any],
    ) -> None:
        self._talk.said(actor, message, at=event.get("timestamp"), **more)
        self._history.own(message.get("id"))
        self._history.spoken = True
        if user:
            self._history.count("user", self._texts.whole(message.get("content")))


def speaks(events: list[Any]) -> bool:
    """Whether the agent's model calls are among the events of a sample."""
    spans = Spans()
    for event in map(mapping, events):
        if event.get("event") == "span_begin":
            spans.begin_span(event)
        elif event.get("event") == "step":
            spans.step(event)
        elif event.get("event") == "model":
            if not spans.scope(event).scoring:
                return True
        elif speaks(sequence(event.get("events"))):
            return True
    return False


def _measured(
    event: dict[str, Any], output: dict[str, Any], usage: dict[str, Any]
) -> dict[str, Any]:
    seconds = measured(output.get("time"))
    elapsed = elapsed_ms(event.get("timestamp"), event.get("completed"))
    return {
        "latency_ms": elapsed if seconds is None else seconds * 1000,
        "tokens": counts(usage),
        "cost_usd": usage.get("total_cost"),
    }
