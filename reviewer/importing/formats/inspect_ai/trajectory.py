"""The events of a sample as the events of a trace, in the order of the list.

The list is not sorted by time: an approval is before its tool event, which is stamped earlier; a
call that hands over to a sub-agent is before what that agent does. So a result is written when the
span of its tool ends. Since 0.3.9x events carry the id of their span; earlier logs have `step`
begin and end marks.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from reviewer.importing.draft import IDENTIFIER, Draft, elapsed_ms, measured
from reviewer.importing.formats.inspect_ai.conversation import History, Talk
from reviewer.importing.formats.inspect_ai.log import Parts, Texts
from reviewer.importing.formats.inspect_ai.run import Spend, counts
from reviewer.importing.formats.inspect_ai.stores import LOST, TOO_MUCH, NoPatch, Stores
from reviewer.importing.formats.values import mapping, sequence, text
from reviewer.trace.record import USER_ACTORS

# Where an event stands: under which agent, in which tool, in the scoring --------------------------

_SCORING = frozenset({"scorer", "scorers"})
_TOOLS = frozenset({"tool", "handoff", "subtask"})
_RESERVED = USER_ACTORS | {"agent", "system"}
MOST_SPANS = 100_000


class Scope(NamedTuple):
    """`actor` is who speaks here: `agent` for the agent evaluated, else a sub-agent's name (or
    that of a tool which asks a model). `nested` says that an agent or a tool is around it."""

    actor: str = "agent"
    nested: bool = False
    scoring: bool = False
    tool: str = ""

    def inner(self, kind: str, name: Any) -> "Scope":
        """Return the scope of a span of that type and name inside this one."""
        if kind in _SCORING:
            return self._replace(scoring=True)
        if kind == "agent":
            return Scope(actor_of(name) if self.nested else self.actor, True, self.scoring)
        if kind in _TOOLS:
            return Scope(actor_of(name), True, self.scoring, text(name))
        return self


def actor_of(name: Any) -> str:
    """Return a sub-agent's name as an actor: never one that would count as the user or the
    agent."""
    own = text(name)[: IDENTIFIER - 10] or "unnamed"
    return f"sub-agent {own}" if own.strip().casefold() in _RESERVED else own


class Spans:
    """The spans and steps that are open or over so far."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}
        self._steps: list[Scope] = []
        self._outer: list[Scope] = []
        self._tools: dict[str, str] = {}

    def begin_span(self, event: dict[str, Any]) -> None:
        own, parent = event.get("id"), event.get("parent_id")
        if not isinstance(own, str) or len(self._scopes) >= MOST_SPANS:
            return
        kind, name = text(event.get("type")), event.get("name")
        around = self._scopes.get(parent) if isinstance(parent, str) else None
        self._scopes[own] = (around or self._top()).inner(kind, name)
        if kind == "tool" and isinstance(name, str):
            self._tools[name] = own

    def step(self, event: dict[str, Any]) -> None:
        """Take a step mark. An end closes the innermost open step, whatever it is called."""
        if event.get("action") == "begin":
            self.enter(text(event.get("type")), event.get("name"))
        else:
            self.leave()

    def enter(self, kind: str, name: Any) -> None:
        if len(self._steps) < MOST_SPANS:
            self._outer.append(self._top())
            self._steps.append(self._top().inner(kind, name))

    def leave(self) -> None:
        if self._steps:
            self._steps.pop()
            self._outer.pop()

    def scope(self, event: dict[str, Any]) -> Scope:
        """Return the scope an event is in."""
        found = self._scopes.get(event["span_id"]) if _has_span(event) else None
        return found or self._top()

    def caller(self, event: dict[str, Any]) -> Scope:
        """Return the scope of who called a tool: a step may be around the tool event itself."""
        if not _has_span(event) and self._steps and self._top().tool == event.get("function"):
            return self._outer[-1]
        return self.scope(event)

    def claim_tool(self, name: Any) -> str:
        """Return the span that was just begun for a call of this tool, empty when there is none."""
        return self._tools.pop(name, "") if isinstance(name, str) else ""

    def _top(self) -> Scope:
        return self._steps[-1] if self._steps else Scope()


def _has_span(event: dict[str, Any]) -> bool:
    return isinstance(event.get("span_id"), str)


# Model calls as turns of a conversation -----------------------------------------------------------

CACHED = "answers came out of a cache: they cost nothing in this attempt and took no time"
PENDING = "a call was still running when the file was written"
_GRADER = re.compile(r"grad|judg|scor|monitor", re.IGNORECASE)
_USER = re.compile(r"user|customer|simulat", re.IGNORECASE)


class Turns:
    """Writes model events; `spends` is what each of them used."""

    def __init__(self, draft: Draft, talk: Talk, parts: Parts, texts: Texts) -> None:
        self.spends: list[Spend] = []
        self._draft = draft
        self._talk = talk
        self._texts = texts
        self._history = History(parts.pool, texts)

    def model(self, event: dict[str, Any], scope: Scope) -> None:
        """Take a model call. A call by a grader is no part of the trajectory; a model role that
        plays the user is not the agent; another role (a critic) is a sub-agent of that name."""
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
            more = {} if cached else _figures(event, output, usage)
            self._said(actor, message, user, more, event)
        if cached:
            self._draft.note(CACHED)

    def returned(self, event: dict[str, Any]) -> None:
        """Note a tool event: its result will be in the conversation under this id."""
        self._history.own(event.get("message_id"))

    def conversation(self, messages: list[Any]) -> None:
        """Take the conversation of a sample without model events: it has nothing else."""
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
        """Take what only the final conversation holds: the user's last words, results of tools that
        ran outside of Inspect."""
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
    """Return whether the agent's model calls are among the events of a sample."""
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


def _figures(
    event: dict[str, Any], output: dict[str, Any], usage: dict[str, Any]
) -> dict[str, Any]:
    seconds = measured(output.get("time"))
    elapsed = elapsed_ms(event.get("timestamp"), event.get("completed"))
    return {
        "latency_ms": elapsed if seconds is None else seconds * 1000,
        "tokens": counts(usage),
        "cost_usd": usage.get("total_cost"),
    }


# The trajectory -----------------------------------------------------------------------------------

CHANGED = "an approver changed a call before it ran: the call is shown as it ran"
BRANCHED = "the trajectory branches: steps that were replayed may stand there twice"
_REFUSED = frozenset({"reject", "terminate"})


class Trajectory:
    """Reads the events of one sample into a draft.

    `limit` is the event that says which limit stopped the sample; `first` and `last` are the
    times between which the agent was at work.
    """

    def __init__(self, draft: Draft, parts: Parts, texts: Texts) -> None:
        self.draft = draft
        self.limit: dict[str, Any] = {}
        self.first = self.last = ""
        self._texts = texts
        self._parts = parts
        self._talk = Talk(draft, texts)
        self.turns = Turns(draft, self._talk, parts, texts)
        self._spans = Spans()
        self._stores: Stores | None = Stores({})
        self._results: dict[str, Callable[[], None]] = {}
        self._speaks = speaks(parts.events)

    def read(self) -> None:
        """Write everything the sample holds."""
        messages = sequence(self._parts.sample.get("messages"))
        if not self._speaks:
            self.turns.conversation(messages)
        for event in self._parts.events:
            self._take(mapping(event))
        for tell in list(self._results.values()):
            tell()
        self._results.clear()
        if self._speaks:
            self.turns.rest(messages)

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "span_begin":
            self._spans.begin_span(event)
            if self._stores is not None:
                self._stores.begin(text(event.get("id")))
        elif kind == "span_end":
            self._tell(text(event.get("id")))
        elif kind == "step":
            self._step(event)
        elif isinstance(kind, str) and kind in _READERS:
            scope = self._spans.scope(event)
            if not scope.scoring:
                started = text(event.get("timestamp"))
                self.first = self.first or started
                self.last = text(event.get("completed")) or started or self.last
            _READERS[kind](self, event, scope)

    def _step(self, event: dict[str, Any]) -> None:
        self._spans.step(event)
        if self._stores is not None:
            (self._stores.begin if event.get("action") == "begin" else self._stores.end)()

    def _tell(self, span: str) -> None:
        """Write the result of a tool whose span ended."""
        waiting = self._results.pop(span, None)
        if waiting is not None:
            waiting()

    def _init(self, event: dict[str, Any], scope: Scope) -> None:
        start = mapping(mapping(event.get("state")).get("store"))
        self._stores = Stores(self._texts.whole(start))

    def _tool(self, event: dict[str, Any], scope: Scope) -> None:
        self.turns.returned(event)
        told = not self._speaks and text(event.get("id")) in self._talk.called
        if scope.scoring or told:
            return
        call = self._talk.waiting(event.get("id"))
        if call is None:
            call = self._talk.call(self._spans.caller(event).actor, event)
        if (at := self.draft.at(event.get("timestamp"))) is not None:
            call["started_at"] = at
        self._inside(event, "tool", event.get("agent") or event.get("function"))
        if event.get("pending") and not event.get("completed"):
            self.draft.note(PENDING)
            return
        span = self._spans.claim_tool(event.get("function"))
        tell = partial(self._returned, event, self._talk.taken(event.get("id")))
        if span:
            self._results[span] = tell
        else:
            tell()

    def _returned(self, event: dict[str, Any], call: dict[str, Any] | None) -> None:
        worked = measured(event.get("working_time"))  # without the wait for an approval
        elapsed = elapsed_ms(event.get("timestamp"), event.get("completed"))
        self._talk.result(
            call,
            event.get("id"),
            event,
            self._texts.whole(event.get("result")),
            event.get("failed") is True,
            at=event.get("completed"),
            latency_ms=elapsed if worked is None else worked * 1000,
        )

    def _inside(self, event: dict[str, Any], kind: str, name: Any) -> None:
        """Take the events that old logs keep inside the event of a tool or a subtask."""
        inner = sequence(event.get("events"))
        if inner:
            self._spans.enter(kind, name)
            for one in inner:
                self._take(mapping(one))
            self._spans.leave()

    def _subtask(self, event: dict[str, Any], scope: Scope) -> None:
        self._inside(event, "subtask", event.get("name"))

    def _branch(self, event: dict[str, Any], scope: Scope) -> None:
        self.draft.note(BRANCHED)

    def _approval(self, event: dict[str, Any], scope: Scope) -> None:
        given = mapping(event.get("call"))
        told = not self._speaks and text(given.get("id")) in self._talk.called
        call = self._talk.waiting(given.get("id"))
        if call is None and not told:
            call = self._talk.call(scope.actor, given)
        decision = text(event.get("decision"))
        said: dict[str, Any] = {"decision": decision, **_texts_in(event, "approver", "explanation")}
        if decision == "modify":
            self.draft.note(CHANGED)
            changed = mapping(self._texts.whole(event.get("modified")))
            ran = {name: changed.get(name) for name in ("function", "arguments")}
            said = {**said, "decision": "approve", "in_source": "modify", "modified": ran}
            self._changed(call, ran, said)
        elif decision in _REFUSED and call is not None:
            self._talk.deny(call)
        own, tool = (call.get("call_id"), call["tool"]) if call else (given.get("id"), None)
        self.draft.approval(said, own, tool=tool, at=event.get("timestamp"))

    def _changed(
        self, call: dict[str, Any] | None, ran: dict[str, Any], said: dict[str, Any]
    ) -> None:
        """Give a call the arguments it ran with; the approval keeps those that were asked for. A
        call that ran as another tool, or in an unknown form, counts as not understood."""
        given = ran["arguments"]
        if call is None or ran["function"] != call["tool"] or not isinstance(given, dict):
            self.draft.unread("approval.modified")
        else:
            said["asked"], call["arguments"] = call["arguments"], given

    def _review(self, event: dict[str, Any], scope: Scope) -> None:
        """Take a review that is no approval of a call: of its result, or by a monitor."""
        decided = text(event.get("decision")) or text(event.get("action"))
        call_id = mapping(event.get("call")).get("id") or event.get("step_id")
        if decided:
            said = {"review": decided, **_texts_in(event, "reviewer", "factory", "explanation")}
            self.draft.approval(said, call_id, at=event.get("timestamp"))

    def _input(self, event: dict[str, Any], scope: Scope) -> None:
        """Take what a person typed or was shown at the terminal."""
        typed = event.get("content") or text(event.get("input")).strip()
        if typed:
            self.draft.message("user", typed, at=event.get("timestamp"))

    def _store(self, event: dict[str, Any], scope: Scope) -> None:
        self._tell(text(event.get("span_id")))
        if self._stores is None:
            return
        try:
            changes = sequence(self._texts.whole(event.get("changes")))
            news = self._stores.change(event.get("span_id"), changes)
        except NoPatch:
            self._stores = None
            self.draft.note(LOST)
            return
        if news and not scope.scoring:
            if self._stores.affords():
                self.draft.state(self._stores.state, at=event.get("timestamp"))
            else:
                self.draft.note(TOO_MUCH)

    def _error(self, event: dict[str, Any], scope: Scope) -> None:
        message = mapping(event.get("error")).get("message")
        self.draft.error(text(message), at=event.get("timestamp"))

    def _limited(self, event: dict[str, Any], scope: Scope) -> None:
        self.limit = event
        self.draft.error(text(event.get("message")), at=event.get("timestamp"))

    def _interrupt(self, event: dict[str, Any], scope: Scope) -> None:
        said = f"interrupted ({text(event.get('source'))}): {text(event.get('interrupted'))}"
        self.draft.error(said, at=event.get("timestamp"))


def _texts_in(event: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: event[name] for name in names if isinstance(event.get(name), str)}


# Beside the class and not in each reading of a sample: methods bound in an attribute are a cycle,
# which would keep the whole sample in memory until cycles are looked for.
_READERS: dict[str, Callable[[Trajectory, dict[str, Any], Scope], None]] = {
    "sample_init": Trajectory._init,
    "model": lambda told, event, scope: told.turns.model(event, scope),
    "tool": Trajectory._tool,
    "approval": Trajectory._approval,
    "review": Trajectory._review,
    "sentinel": Trajectory._review,
    "input": Trajectory._input,
    "store": Trajectory._store,
    "error": Trajectory._error,
    "sample_limit": Trajectory._limited,
    "interrupt": Trajectory._interrupt,
    "subtask": Trajectory._subtask,
    "branch": Trajectory._branch,
}
