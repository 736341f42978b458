"""The events of a sample as the events of a trace, in the order of the list.

The list is not sorted by time: an approval stands before its tool event, which is stamped
earlier; a call that hands over to a sub-agent stands before what that agent does. So a result is
told when the span of its tool ends.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from reviewer.importing.draft import Draft, elapsed_ms, measured
from reviewer.importing.formats.inspect_ai.parts import Parts, Texts, mapping, sequence, text
from reviewer.importing.formats.inspect_ai.spans import Scope, Spans
from reviewer.importing.formats.inspect_ai.stores import LOST, TOO_MUCH, NoPatch, Stores
from reviewer.importing.formats.inspect_ai.talk import Talk
from reviewer.importing.formats.inspect_ai.turns import PENDING, Turns, speaks

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
        """Tell everything the sample holds."""
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
        """The span of a tool is over: its result is known now."""
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
        """Events that old logs keep inside the event of a tool or a subtask."""
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
        said: dict[str, Any] = {"decision": decision, **_named(event, "approver", "explanation")}
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
        """Give a call the arguments it ran with; the approval keeps those that were asked for.
        What ran as another tool, or in a form that nobody knows, is not understood."""
        given = ran["arguments"]
        if call is None or ran["function"] != call["tool"] or not isinstance(given, dict):
            self.draft.unread("approval.modified")
        else:
            said["asked"], call["arguments"] = call["arguments"], given

    def _review(self, event: dict[str, Any], scope: Scope) -> None:
        """A word on a call that is no approval: of its result, or a monitor's."""
        decided = text(event.get("decision")) or text(event.get("action"))
        call_id = mapping(event.get("call")).get("id") or event.get("step_id")
        if decided:
            said = {"review": decided, **_named(event, "reviewer", "factory", "explanation")}
            self.draft.approval(said, call_id, at=event.get("timestamp"))

    def _input(self, event: dict[str, Any], scope: Scope) -> None:
        """What a person typed or was shown at the terminal."""
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


def _named(event: dict[str, Any], *names: str) -> dict[str, str]:
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
