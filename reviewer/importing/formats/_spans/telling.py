"""Messages into a draft, each once: every model call repeats the history before it."""

from collections import Counter
from typing import Any

import msgspec

from reviewer.importing.draft import Draft, Status
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.messages import Message, Part
from reviewer.importing.formats._spans.tree import actor_name

HISTORY_ONLY = "calls that stand only in the message history have no times of their own"
UNNAMED = "unnamed-"
DENIED = "a call that waited for approval was answered without being run: taken as denied"


class Open:
    """A call without a result. `begun` is whether a tool span has been found to describe it."""

    def __init__(self, own: str, name: str, event: dict[str, Any]) -> None:
        self.own, self.name, self.event = own, name, event
        self.begun = False


class Telling:
    """One draft and what of the conversation stands in it by now."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.waiting: set[str] = set()
        """Ids of calls that the source says wait for a person's approval."""
        self._told: Counter[object] = Counter()
        self._results = 0
        self._open: list[Open] = []
        self._begun: Counter[str] = Counter()
        self._made = 0

    def hear(self, given: list[Message], actor: str, user: str = "user") -> None:
        """Tell what is new in a whole history: of its messages like ones told before, as many as
        were told are old. `actor` is whose the agent's lines are, `user` whose the user's."""
        seen: Counter[object] = Counter()
        results = 0
        for message in given:
            for part in message.parts:
                if part.kind == "result":
                    results += 1
                    self._hear_result(part, seen, results)
                    continue
                key = _key(part, message.role)
                seen[key] += 1
                if seen[key] <= self._told[key]:
                    continue
                if part.kind == "line" and (call := self._fitting("", part.name, None)) is not None:
                    self._told[key] += 1
                    self._answer(call, part)
                    continue
                self._tell(part, message.role, actor, user)
                if part.kind == "call":
                    self.draft.note(HISTORY_ONLY)

    def say(self, answer: list[Message], actor: str, **more: Any) -> dict[str, Any]:
        """Tell what a model answered; `more` (time, tokens …) goes to the first event."""
        first: dict[str, Any] | None = None
        for message in answer:
            for part in message.parts:
                if part.kind == "result":
                    self._hear_result(part, Counter(), self._results + 1)
                    continue
                event = self._tell(part, "agent", actor, "user", **more)
                if event is not None:
                    first = first or event
                    more = {name: value for name, value in more.items() if name == "at"}
        return first or self.draft.message(actor, "", **more)

    def begin(self, part: Part, actor: str, at: Any) -> Open | None:
        """Tell the call a tool span describes, unless a message has told it. None when another
        span describes that very call, or its result is known."""
        own = part.id
        if any(call.own == own and call.begun for call in self._open):
            return None
        call = self._fitting(own, part.name, part.value, fresh=True)
        if own:
            self._begun[own] += 1
            if call is None and self._begun[own] <= self._told["call", own]:
                return None
        if call is None:
            self._tell(part, "agent", actor, "user", at=at)
            call = self._open[-1]
        call.begun = True
        return call

    def end(self, call: Open, result: Part, status: Status, **more: Any) -> None:
        """Tell what a tool span says came back, unless a message has told it."""
        if call in self._open:
            self._answer(call, result, status, **more)

    def close(self, arguments: Any) -> None:
        """An open call with these arguments was no tool but the answer itself: it is done."""
        for call in self._open:
            if call.event["arguments"] == arguments:
                call.event["status"] = "ok"
                self._open.remove(call)
                return

    def _tell(
        self, part: Part, role: str, actor: str, user: str, **more: Any
    ) -> dict[str, Any] | None:
        self._told[_key(part, role)] += 1
        if part.kind == "call":
            return self._call(part, actor, **more)
        if not part.value.strip():
            return None
        if part.kind == "reasoning":
            return self.draft.message(actor, {"reasoning": part.value}, **more)
        if part.kind == "line":
            return self.draft.message(actor_name(part.name), part.value, **more)
        who = {"user": user, "agent": actor, "": user}.get(role, "system")
        return self.draft.message(who, part.value, **more)

    def _call(self, part: Part, actor: str, **more: Any) -> dict[str, Any]:
        own = part.id
        if not own:
            self._made += 1
            own = f"{UNNAMED}{self._made}"
        event = self.draft.call(part.name, part.value, own, actor, **more)
        self._open.append(Open(own, part.name, event))
        return event

    def _hear_result(self, part: Part, seen: Counter[object], number: int) -> None:
        if part.id:
            key = "result", part.id
            seen[key] += 1
            if seen[key] <= self._told[key]:
                return
        elif number <= self._results:
            return
        call = self._fitting(part.id, part.name, None)
        if call is None:
            self._count(part)
            self.draft.result(part.value, part.id, part.name, "error" if part.failed else None)
            return
        self._answer(call, part)

    def _fitting(self, own: str, name: str, made: Any, fresh: bool = False) -> Open | None:
        """Which open call is meant: that of the id; without one (or when calls have none) the
        oldest of that tool, one with those arguments before others. `fresh` calls have not
        begun."""
        calls = [call for call in self._open if not (fresh and call.begun)]
        for call in calls:
            if own and call.own == own:
                return call
        loose = [
            call
            for call in calls
            if (not own or call.own.startswith(UNNAMED)) and (not name or call.name == name)
        ]
        wanted = _arguments(made)
        exact = (call for call in loose if call.event["arguments"] == wanted)
        return next(exact, loose[0] if loose else None)

    def _answer(self, call: Open, part: Part, status: Status | None = None, **more: Any) -> None:
        self._open.remove(call)
        self._count(part._replace(id=call.own))
        if status is None and part.failed:
            status = "error"
        if status is None and call.own in self.waiting:
            status = "denied"
            self.draft.note(DENIED)
        self.draft.result(part.value, call.own, call.name, status, **more)

    def _count(self, part: Part) -> None:
        self._results += 1
        if part.id:
            self._told["result", part.id] += 1


def _key(part: Part, role: str) -> object:
    if part.kind != "call":
        return part.kind, part.name or role or "user", part.value.strip()
    if part.id:
        return "call", part.id
    try:
        return "call", part.name, msgspec.json.encode(_arguments(part.value), order="sorted")
    except (TypeError, ValueError, RecursionError):
        return "call", part.name


def _arguments(value: Any) -> Any:
    """Arguments as the draft keeps them."""
    parsed = parse_text(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else {"unparsed": value} if value else {}
