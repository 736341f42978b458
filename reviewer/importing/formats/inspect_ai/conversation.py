"""Messages and model calls of Inspect as events: texts, calls, results, and which of them are
already in the draft.

Each model call contains the whole conversation so far; its repeated parts are no new events.
Messages are recognized by their content and not by their ids: agents rebuild them with new ones.
"""

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import IDENTIFIER, Draft, Status, elapsed_ms, measured, words
from reviewer.importing.formats.base import mapping, sequence, text
from reviewer.importing.formats.inspect_ai import Attachments, Parts, ranges
from reviewer.importing.formats.inspect_ai.run import Spend, counts
from reviewer.trace.record import USER_ACTORS

# Speakers -----------------------------------------------------------------------------------------

_SCORING = frozenset({"scorer", "scorers"})
_TOOLS = frozenset({"tool", "handoff", "subtask"})
_RESERVED = USER_ACTORS | {"agent", "system"}


class Scope(NamedTuple):
    """`actor` is the speaker: `agent` for the evaluated agent, else a sub-agent's name (or that of
    a tool which asks a model). `nested` says that an agent or a tool encloses it."""

    actor: str = "agent"
    nested: bool = False
    scoring: bool = False
    tool: str = ""

    def inner(self, kind: str, name: Any) -> "Scope":
        """Return the scope of a span of this type and name inside this scope."""
        if kind in _SCORING:
            return self._replace(scoring=True)
        if kind == "agent":
            return Scope(actor_of(name) if self.nested else self.actor, True, self.scoring)
        if kind in _TOOLS:
            return Scope(actor_of(name), True, self.scoring, text(name))
        return self


def actor_of(name: Any) -> str:
    """Return a sub-agent's name as an actor, never one that would count as the user or the
    agent."""
    own = text(name)[: IDENTIFIER - 10] or "unnamed"
    return f"sub-agent {own}" if own.strip().casefold() in _RESERVED else own


# Messages -----------------------------------------------------------------------------------------

Key = tuple[str, Any]
_ROLES = ("system", "user", "tool", "assistant")


class History:
    """The messages of one sample written so far."""

    def __init__(self, pool: list[Any], texts: Attachments) -> None:
        self.spoken = False
        """Whether the agent has said something of its own."""
        self._texts = texts
        self._pool = pool
        self._places = [n for n, one in enumerate(pool) if mapping(one).get("role") in _ROLES]
        self._keys: dict[int, Key | None] = {}
        self._told: Counter[Key] = Counter()
        self._own: set[str] = set()

    def own(self, message_id: Any) -> None:
        """Record the id of a message that has an event of its own. It may come back in another
        role: a handoff turns a sub-agent's messages into words of the user."""
        if isinstance(message_id, str) and message_id:
            self._own.add(message_id)

    def count(self, role: str, content: Any) -> None:
        """Count a message that will come back in this role with another id."""
        self._told[role, _hashable(content)] += 1

    def news(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the messages given to a model call beyond those already written: system, user and
        tool messages, and assistant messages from before the agent first spoke."""
        found = [(self._pool[n], self._keyed(n)) for n in self._referred(event.get("input_refs"))]
        found += [(one, self._key(one)) for one in sequence(event.get("input"))]
        yield from self._unheard(found)

    def rest(self, messages: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """Yield the same for the conversation as it was at the end."""
        yield from self._unheard([(one, self._key(one)) for one in messages])

    def _unheard(self, found: list[tuple[Any, Key | None]]) -> Iterator[dict[str, Any]]:
        here: Counter[Key] = Counter()
        spoken = self.spoken
        for message, key in found:
            if key is None or (key[0] == "assistant" and spoken):
                continue
            here[key] += 1
            if here[key] <= self._told[key]:
                continue
            self._told[key] += 1
            if text(message.get("id")) not in self._own:
                yield message

    def _referred(self, refs: Any) -> Iterator[int]:
        for start, end in ranges(refs, len(self._pool)):
            place = bisect_left(self._places, start)
            while place < len(self._places) and self._places[place] < end:
                yield self._places[place]
                place += 1

    def _keyed(self, place: int) -> Key | None:
        if place not in self._keys:
            self._keys[place] = self._key(self._pool[place])
        return self._keys[place]

    def _key(self, message: Any) -> Key | None:
        named = mapping(message)
        role = text(named.get("role"))
        if role == "tool":
            return role, _hashable(named.get("tool_call_id"))
        if role in _ROLES:
            return role, _hashable(self._texts.whole(named.get("content")))
        return None


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, type(None))) else msgspec.json.encode(value)


_UNSAID = frozenset({"reasoning", "data"})
"""Content parts that are not visible words: private reasoning, payloads of a provider."""
PREFILLED = "assistant messages in the input were not written in this attempt: kept as context"
TRUNCATED = "outputs of tools were cut off by the harness"


def status_of(error: Any, failed: bool = False) -> Status:
    """Return how a call ended, by the type of its tool error."""
    kind = mapping(error).get("type")
    if kind == "timeout":
        return "timeout"
    if kind == "approval":
        return "denied"
    return "error" if error or failed else "ok"


def observed(result: Any, error: Any) -> Any:
    """Return what a call returned; with an error, its type and message besides."""
    seen = words(_shown(result)) if isinstance(result, (list, dict)) else result
    if not isinstance(error, dict):
        return seen
    said = {"type": text(error.get("type")), "message": text(error.get("message"))}
    return {"error": said, "result": seen} if seen not in (None, "") else {"error": said}


def _shown(result: Any) -> Any:
    """Return one media part as a list with it, so that an image becomes `[image]` instead of a
    megabyte."""
    is_part = isinstance(result, dict) and isinstance(result.get("type"), str)
    return [result] if is_part and set(result) & _MEDIA else result


_MEDIA = frozenset({"text", "image", "audio", "video", "document"})


class MessageWriter:
    """Writes messages into a draft, and tracks which calls still wait for their result."""

    def __init__(self, draft: Draft, texts: Attachments) -> None:
        self.draft = draft
        self.texts = texts
        self._open: dict[str, deque[dict[str, Any]]] = {}
        self._denied: set[int] = set()
        self.called: set[str] = set()

    def said(self, actor: str, message: dict[str, Any], **more: Any) -> None:
        """Write an assistant's turn: the acts of the provider's own tools, the text, then the
        calls. `more` (time, tokens, cost) goes to the text, or to the first call of a turn without
        text."""
        content = self.texts.whole(message.get("content"))
        for part in sequence(content):
            if mapping(part).get("type") == "tool_use":
                self._served(actor, part)
        spoken = (
            words([p for p in content if _audible(p)])
            if isinstance(content, list)
            else words(content)
        )
        calls = [mapping(one) for one in sequence(message.get("tool_calls"))]
        if spoken or not calls:
            self.draft.message(actor, spoken, **more)
            more = {}
        for call in calls:
            more.pop("latency_ms", None)  # the model's time, not the tool's
            self.call(actor, call, **more)
            more = {}

    def heard(self, message: dict[str, Any], inside: bool = False) -> None:
        """Write a message given to the agent. Inside a sub-agent, messages with the user's role
        come from the program, and so do assistant's turns that were in the input."""
        role, content = message.get("role"), self.texts.whole(message.get("content"))
        if role == "tool":
            if (call := self.taken(message.get("tool_call_id"))) is not None:
                self.result(call, message.get("tool_call_id"), message, content)
            return
        if role == "assistant":
            self.draft.note(PREFILLED)
        summary = mapping(message.get("metadata")).get("summary")
        user = role == "user" and not inside and not summary
        self.draft.message("user" if user else "system", words(content))

    def call(self, actor: str, call: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Write a tool call as the model made it."""
        event = self.draft.call(
            call.get("function"),
            self.texts.whole(call.get("arguments")),
            call.get("id"),
            actor,
            **more,
        )
        own = text(call.get("id"))
        self.called.add(own)
        self._open.setdefault(own, deque()).append(event)
        return event

    def waiting(self, call_id: Any) -> dict[str, Any] | None:
        """Return the oldest unanswered call of that id."""
        waiting = self._open.get(text(call_id))
        return waiting[0] if waiting else None

    def taken(self, call_id: Any) -> dict[str, Any] | None:
        """Return the same call as `waiting` and close it: the caller writes its result."""
        waiting = self._open.get(text(call_id))
        return waiting.popleft() if waiting else None

    def deny(self, call: dict[str, Any]) -> None:
        """Mark a call that an approver refused."""
        call["status"] = "denied"
        self._denied.add(id(call))

    def result(
        self,
        call: dict[str, Any] | None,
        call_id: Any,
        answer: dict[str, Any],
        value: Any,
        failed: bool = False,
        **more: Any,
    ) -> None:
        """Write what a call returned: `answer` has its `function` and `error`."""
        error = answer.get("error")
        refused = call is not None and id(call) in self._denied
        status = "denied" if refused else status_of(error, failed)
        if answer.get("truncated"):
            self.draft.note(TRUNCATED)
        self.draft.result(observed(value, error), call_id, answer.get("function"), status, **more)

    def _served(self, actor: str, part: dict[str, Any]) -> None:
        """Write the call and the result of a tool that the model's provider ran inside the turn."""
        self.call(actor, {**part, "function": part.get("name")})
        error = part.get("error")
        failed = {"type": "provider", "message": text(error)} if error else None
        answer = {"function": part.get("name"), "error": failed}
        result = self.texts.whole(part.get("result"))
        self.result(self.taken(part.get("id")), part.get("id"), answer, result)


def _audible(part: Any) -> bool:
    return str(mapping(part).get("type")) not in _UNSAID | {"tool_use"}


# Model calls as turns of a conversation -----------------------------------------------------------

CACHED = "answers came out of a cache: they cost nothing in this attempt and took no time"
PENDING = "a call was still running when the file was written"
_GRADER = re.compile(r"grad|judg|scor|monitor", re.IGNORECASE)
_USER = re.compile(r"user|customer|simulat", re.IGNORECASE)


class Turns:
    """Writes model events; `spends` is what each of them used."""

    def __init__(self, draft: Draft, talk: MessageWriter, parts: Parts, texts: Attachments) -> None:
        self.spends: list[Spend] = []
        self._draft = draft
        self._talk = talk
        self._texts = texts
        self._history = History(parts.pool, texts)

    def model(self, event: dict[str, Any], scope: Scope) -> None:
        """Read a model call. A call by a grader is not part of the trajectory; a model role that
        plays the user is not the agent; any other role (a critic) is a sub-agent of that name."""
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
                continue  # a placeholder for an answer that never came
            more = {} if cached else _figures(event, output, usage)
            self._said(actor, message, user, more, event)
        if cached:
            self._draft.note(CACHED)

    def returned(self, event: dict[str, Any]) -> None:
        """Record a tool event: its result will be in the conversation under this id."""
        self._history.own(event.get("message_id"))

    def conversation(self, messages: list[Any]) -> None:
        """Read the conversation of a sample without model events: it has nothing else."""
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
        """Read the messages that only the final conversation has: the user's last words, results of
        tools that ran outside of Inspect."""
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


def _figures(
    event: dict[str, Any], output: dict[str, Any], usage: dict[str, Any]
) -> dict[str, Any]:
    seconds = measured(output.get("time"))
    if seconds is None:
        took = elapsed_ms(event.get("timestamp"), event.get("completed"))
    else:
        took = seconds * 1000
    return {
        "latency_ms": took,
        "tokens": counts(usage),
        "cost_usd": usage.get("total_cost"),
    }
