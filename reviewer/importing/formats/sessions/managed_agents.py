"""Sessions of Claude Managed Agents: the events of one session, one per line, in an array or in a
page of the API (`data`), or a recording of the client's calls, one line per `[name of the call, its
answer]`.

What the client sent comes back as an event of the session; events that did not come back are read
where they were sent. A sub-agent works on a thread of its own, whose events are not here, except
its requests to the user.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import ABSENT, Status, summed, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import extent
from reviewer.importing.formats.base import mapping, objects, sequence, text
from reviewer.importing.formats.sessions import (
    BEGINNING,
    MOST_BYTES,
    Session,
    SessionFormat,
    known_as,
    took,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import CLIENT, tokens_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

HIDDEN = "sub-agents work on threads of their own, whose events are not in the file"
_CALL = "client.beta.sessions."
_STARTS = ("agent.", "user.", "session.", "span.")
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
_BLOCKS = ("text", "image", "document", "search_result", "redacted")
_OUTCOMES: dict[bool, Status] = {True: "error", False: "ok"}
_QUIET = frozenset(
    (
        *("agent.thinking", "agent.thread_context_compacted", "span.model_request_start"),
        *("span.outcome_evaluation_start", "span.outcome_evaluation_ongoing", "session.updated"),
        *("session.status_running", "session.status_rescheduled", "session.usage"),
        *("session.thread_status_running", "session.thread_status_idle", "session.deleted"),
        *("session.thread_status_terminated", "session.thread_status_rescheduled"),
        *("user.interrupt", "user.define_outcome"),
        *("event_start", "event_delta"),  # pieces of what a later event contains complete
    )
)
_ENDS = {
    "end_turn": "end_turn",
    "refusal": "content_filter",
    "retries_exhausted": "error",
    "budget_reached": "budget",
}
_PERMISSIONS = {"ask": "pending", "deny": "reject"}
_BESIDE = ("type", "id", "processed_at", "session_thread_id")
_USE = {*_BESIDE, "name", "input", "evaluated_permission", "evaluation", "mcp_server_name"}


class ManagedAgentsReader(SessionFormat):
    name = "claude-managed-agents"
    tool = "claude-managed-agents"
    facts = FormatFacts(
        by="events of `agent.…`, `user.…`, `session.…` and `span.…`, or recorded calls for them",
        steps="yes; a session whose sub-agents had threads of their own is not measured",
        times="yes",
        tokens="of each request of a model, once",
        approvals="asked, given and refused",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        first = head.first
        if isinstance(first, str):
            return first.startswith(_CALL)
        listed = mapping(first).get("data")
        found = objects(listed) if isinstance(listed, list) else [mapping(first), *_rows(head)]
        return any(map(_is_event, found[:20]))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        told = _Sessions()
        recorded = isinstance(Head(source.path).first, str)
        for name, value in _calls(source) if recorded else source.records():
            told.take(name, value)
        for one in told.found:
            yield source.attempt(partial(_attempt, source, one), one.own)


def _calls(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each call of a recording, None for a line that cannot be read: a call
    is on one line, or printed over several."""
    with source.open() as handle:
        raw = handle.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise Unreadable(f"a session of over {MOST_BYTES >> 20} MiB")
    at = number = 0
    while at < len(raw):
        end = at + (extent(raw, at) or 0)
        if end == at:
            end = raw.find(b"\n", at) + 1 or len(raw)
        held, at = raw[at:end].strip(), end
        if held:
            number += 1
            try:
                yield f"calls[{number}]", source.value(held)
            except (Rejected, RecursionError):
                yield f"calls[{number}]", None


def _rows(head: Head) -> list[dict[str, Any]]:
    value = head.value
    return objects(value if isinstance(value, list) else list(head.lines(20)))


def _is_event(value: dict[str, Any]) -> bool:
    named = isinstance(value.get("id"), str) and "processed_at" in value
    return named and text(value.get("type")).startswith(_STARTS)


class _Event(NamedTuple):
    """One event. An event that the client `sent` comes back as an event of its own."""

    value: dict[str, Any]
    sent: bool = False


class _Recorded:
    """The known facts of one session."""

    def __init__(self, own: str = "", facts: dict[str, Any] | None = None) -> None:
        self.own = own
        self.facts = facts or {}
        self.events: list[_Event] = []
        self.lost: list[str] = []
        self.held: list[Any] = []


class _Sessions:
    """The sessions in a file. A client's call that begins a session begins another one here."""

    def __init__(self) -> None:
        self.found: list[_Recorded] = []

    def take(self, name: str, value: Any) -> None:
        """Add one record: an event, a page of them, or a recorded call with its answer."""
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            self._of_call(name, value[0], value[1])
        elif isinstance(value, dict) and isinstance(value.get("data"), list):
            for one in value["data"]:
                self._event(name, one)
        else:
            self._event(name, value)

    def _now(self) -> _Recorded:
        if not self.found:
            self.found.append(_Recorded())
        return self.found[-1]

    def _of_call(self, name: str, called: str, value: Any) -> None:
        act = called.removeprefix(_CALL)
        if act == "create" and isinstance(value, dict):
            before = self.found[-1] if self.found else None
            new = _Recorded(text(value.get("id")), value)
            if before is not None and not before.facts:
                new.lost.append(BEGINNING)
            self.found.append(new)
        elif act == "events.send":
            parts = sequence(value)
            own = text(parts[0]) if parts else ""
            now = self._now()
            if now.own and own and own != now.own:
                self.found.append(now := _Recorded(own))
            now.own = now.own or own
            for one in sequence(mapping(parts[1] if parts[1:] else None).get("events")):
                self._event(name, one, sent=True)
        elif act.startswith("events."):
            held = mapping(value).get("data")
            for one in held if isinstance(held, list) else [value]:
                self._event(name, one)
        else:
            self._now().held.append(value)

    def _event(self, name: str, value: Any, *, sent: bool = False) -> None:
        if isinstance(value, dict):
            self._now().events.append(_Event(value, sent))
        else:
            self._now().lost.append(name)


def _key(value: dict[str, Any]) -> bytes:
    """Return the content that an event as sent shares with the one that came back."""
    names = ("type", "content", "custom_tool_use_id", "tool_use_id", "result")
    return msgspec.json.encode([value.get(name) for name in names], order="sorted")


def _in_order(events: list[_Event]) -> Iterator[_Event]:
    """Yield each event once, including sent events that did not come back."""
    came = Counter(_key(one.value) for one in events if not one.sent)
    known: dict[str, dict[str, Any]] = {}
    for one in events:
        if one.sent:
            key = _key(one.value)
            came[key] -= 1
            if came[key] < 0:
                yield one
            continue
        own = text(one.value.get("id"))
        if own and known.get(own) == one.value:
            continue
        known[own] = one.value
        yield one


def _attempt(source: Source, recorded: _Recorded) -> Foreign:
    told = _Story(Session("claude-managed-agents"))
    session = told.session
    draft, account = session.draft, session.account
    events = list(_in_order(recorded.events))
    for event in events:
        told.take(event)
    session.write()
    for place in recorded.lost:
        draft.unread(place)
    if told.threads:
        draft.note(HIDDEN)
        draft.unread(f"events of sub-agents{ABSENT}")
    account.whole(recorded.facts)
    account.tell([one.value for one in events], draft, "events")
    account.tell(recorded.held, draft, "calls")
    if not told.ended and not told.waiting:
        session.unended()
    agent = mapping(recorded.facts.get("agent"))
    if model := text(mapping(agent.get("model")).get("id")):
        draft.source["models"] = [model]
    draft.identity = known_as("session", recorded.own)
    return draft.foreign(
        episode_id=recorded.own or source.place,
        candidate_id=source.candidate or text(agent.get("name")) or model or source.home,
        final_message=None if told.waiting else draft.last_words(),
        latency_ms=took(session),
        started_at=draft.at(session.began),
        termination=told.ended or None,
        usage=summed(told.counts),
        verdict=SourceVerdict(detail={"outcome": told.outcome}) if told.outcome else None,
        title=session.title,
        user_request=session.title,
    )


class _Story:
    """One session under construction."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.counts: list[dict[str, int] | None] = []
        self.threads = False
        self.waiting = False
        self.outcome: dict[str, Any] = {}
        self.ended = ""
        self._failed = False

    def take(self, event: _Event) -> None:
        """Add one event."""
        value, session, account = event.value, self.session, self.session.account
        kind, at = text(value.get("type")), value.get("processed_at")
        session.clocked(at)
        account.read(value.get("stop_reason"), ("type",))
        if kind in _USES:
            self._use(value, at)
        elif kind in _RESULTS:
            name = _RESULTS[kind]
            account.read(value, {*_BESIDE, name, "content", "is_error"}, strict=True)
            account.whole(value.get("content"))
            failed = value.get("is_error")
            status = _OUTCOMES[failed] if isinstance(failed, bool) else None
            session.result(_seen(value.get("content")), value.get(name), status=status, at=at)
            self.waiting = self.waiting and not kind.startswith("user.")
        elif kind in ("agent.message", "user.message", "system.message"):
            account.read(value, (*_BESIDE, "content"))
            self._heard(value.get("content"))
            session.say(kind.partition(".")[0], words(value.get("content")), at)
        elif kind.startswith("agent.thread_message_"):
            self._between(value, kind, at)
        elif kind == "user.tool_confirmation":
            account.read(value, (*_BESIDE, "result", "tool_use_id", "deny_message"))
            agreed = value.get("result") == "allow"
            said = {"decision": "approve", "approver": CLIENT} if agreed else {"decision": "reject"}
            session.decided(said, value.get("tool_use_id"), at)
            self.waiting = False
        elif kind == "span.model_request_end":
            if value.get("is_error") is not True or value.get("model_usage"):
                self.counts.append(tokens_of(value.get("model_usage")))
        elif kind == "span.outcome_evaluation_end":
            names = ("result", "iteration", "explanation")
            self.outcome = {name: value[name] for name in names if name in value}
        elif kind == "session.error":
            error = mapping(value.get("error"))
            session.wrong(text(error.get("message")) or text(error.get("type")) or "error", at)
            self._failed = mapping(error.get("retry_status")).get("type") != "retrying"
        elif kind in ("session.status_idle", "session.status_terminated"):
            self._rest(value, kind)
        elif kind == "session.thread_created":
            self.threads = True
        elif kind in _QUIET:
            if kind == "session.status_running":
                self.ended, self.waiting, self._failed = "", False, False
        else:
            session.odd(kind)
            account.apart(value)

    def _use(self, value: dict[str, Any], at: Any) -> None:
        session, own = self.session, value.get("id")
        session.account.read(value, _USE, strict=True)
        session.account.whole(value.get("input"))
        actor = "sub-agent" if value.get("session_thread_id") else "agent"
        session.call(actor, value.get("name"), value.get("input"), own, at)
        if said := _PERMISSIONS.get(text(value.get("evaluated_permission"))):
            session.decided({"decision": said}, own, at)

    def _between(self, value: dict[str, Any], kind: str, at: Any) -> None:
        """Add a message from an agent to another one."""
        names = ("to_session_thread_id", "to_agent_name", "from_session_thread_id")
        self.session.account.read(value, (*_BESIDE, "content", *names, "from_agent_name"))
        self._heard(value.get("content"))
        sent = kind.endswith("_sent")
        actor = "agent" if sent else f"agent {text(value.get('from_agent_name'))[:100]}".strip()
        self.session.say(actor, words(value.get("content")), at)
        self.threads = True

    def _heard(self, content: Any) -> None:
        """Skip the blocks of a message that are no acts."""
        account = self.session.account
        account.every(content)
        account.whole(*(one for one in objects(content) if one.get("type") in _BLOCKS))

    def _rest(self, value: dict[str, Any], kind: str) -> None:
        why = text(mapping(value.get("stop_reason")).get("type"))
        self.waiting = why == "requires_action"
        failed = kind.endswith("terminated") and self._failed
        self.ended = "error" if failed else _ENDS.get(why, "" if self.waiting else why)
        if kind.endswith("terminated") and not failed:
            self.ended = "terminated"


def _seen(content: Any) -> Any:
    """Return the result of a call: its text, or its blocks where some are not text."""
    blocks = objects(content)
    only = all(one.get("type") == "text" for one in blocks) and blocks == content
    return words(content) if only else content
