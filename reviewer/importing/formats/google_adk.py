"""Sessions of Google's Agent Development Kit: one object per session, in either of its spellings.

The speaker is the event's `author`, not the role of its content: results have the role of a user.
Streamed pieces (`partial`) are repeated by the event that ends the stream. A call that waits for a
person's answer is answered twice: first with a notice that it waits, then with its result. The
state of a session is the framework's own, not that of the world that the agent works on.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any

from reviewer.importing.draft import CUT, Draft, elapsed_ms
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, mapping, objects, sequence, text
from reviewer.importing.formats.chat import ENDS, episode_of
from reviewer.importing.head import Head
from reviewer.importing.messages import CLIENT, Transcript, tokens_of, usage_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

STREAMED = "pieces of streamed answers were left out: whole answers repeat them"
CUT_STREAM = "a streamed answer was never finished: its pieces are not in the record"
REWOUND = "the session was rewound: what was done before that stays in the record"
TWICE = "events that are in the session twice were read once"
_ASKS = "adk_request_confirmation"
_CAMEL = {
    "usage_metadata": "usageMetadata", "model_version": "modelVersion", "error_code": "errorCode",
    "error_message": "errorMessage", "finish_reason": "finishReason", "function_call":
    "functionCall", "function_response": "functionResponse", "app_name": "appName", "user_id":
    "userId", "invocation_id": "invocationId", "original_function_call": "originalFunctionCall",
    "requested_tool_confirmations": "requestedToolConfirmations", "rewind_before_invocation_id":
    "rewindBeforeInvocationId", "long_running_tool_ids": "longRunningToolIds",
    "skip_summarization": "skipSummarization", "end_of_agent": "endOfAgent", "escalate": "escalate",
}  # fmt: skip


class GoogleAdkReader(Format):
    name = "google-adk-session"
    facts = FormatFacts(
        by="`id`, `events` and `appName` or `app_name`",
        times="yes",
        tokens="yes",
        approvals="confirmations",
    )

    def sniff(self, head: Head) -> bool:
        return _is_session(head.first)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        for number, (name, value) in enumerate(source.records(), 1):
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(session, source, number, value), name)


def _is_session(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("events"), list):
        return False
    return "id" in value and ("appName" in value or "app_name" in value)


def _of(value: Any, name: str) -> Any:
    """Return a member by its name in snake case, in either spelling."""
    if not isinstance(value, dict):
        return None
    found = value.get(name)
    return value.get(_CAMEL[name]) if found is None else found


def session(source: Source, number: int, value: Any, name: str = GoogleAdkReader.name) -> Foreign:
    """Return the attempt of a session. `name` is the format's. Raises Rejected."""
    if not isinstance(value, dict):
        raise Rejected("type:session")
    events = value.get("events")
    if not isinstance(events, list):
        raise Rejected("missing:events")
    own = text(value.get("id"))
    if not own:
        raise Rejected("missing:id")
    told = _Events(Draft(name), objects(events))
    told.write()
    draft, account = told.draft, told.transcript.account
    account.read(value, ("id", "events", "appName", "app_name", "userId", "user_id"))
    account.tell(value, draft)
    if len(objects(events)) < len(events) or not events:
        draft.unread("events")
    if told.is_open():
        draft.unread(f"end of the session{CUT}")
    spoken = [one for one in told.events if _of(one, "usage_metadata")]
    stamps = [one["timestamp"] for one in told.events if "timestamp" in one]
    took = elapsed_ms(stamps[0], stamps[-1]) if stamps else None
    for name, found in (("agents", told.agents), ("models", told.models)):
        if found:
            draft.source[name] = list(dict.fromkeys(found))
    app = text(_of(value, "app_name"))
    episode_id = episode_of(source, number, {"session_id": own}, draft)
    owner = _owner(app, text(_of(value, "user_id")))
    draft.identity = f"session:{owner}/{draft.identity.removeprefix('session:')}"
    return draft.foreign(
        episode_id=episode_id,
        candidate_id=source.candidate or app or source.home,
        final_message=draft.last_words(),
        latency_ms=took,
        started_at=draft.at(stamps[0]) if stamps else None,
        termination=told.ending(),
        usage=usage_of([_of(one, "usage_metadata") for one in spoken]),
        title=app,
    )


def _owner(app: str, user: str) -> str:
    """Return a short digest of whose session it is: an id is one session of one user of one app."""
    return sha256(f"{app}\0{user}".encode("utf-8", "replace")).hexdigest()[:12]


class _Events:
    """The events of one session, read into a transcript."""

    def __init__(self, draft: Draft, events: list[dict[str, Any]]) -> None:
        self.draft = draft
        self.transcript = Transcript(draft, as_text=None)
        self.events = _once(events, draft)
        self.agents: list[str] = []
        self.models: list[str] = []
        self._last = _last_answers(self.events)
        self._wanted: dict[str, str] = {}
        """Calls that a person was asked about, by the id of the question."""
        self._asked: set[str] = set()
        """Those of them that are not answered."""
        self._cut = False
        """Whether a streamed answer is unfinished at the end."""

    def write(self) -> None:
        streamed: set[tuple[str, str]] = set()
        for place, event in enumerate(self.events):
            author = text(event.get("author"))
            by = text(_of(event, "invocation_id")), author
            if event.get("partial") is True:
                self.draft.note(STREAMED)
                streamed.add(by)
                continue
            streamed.discard(by)
            self._one(place, event, author)
        if streamed:
            self.draft.note(CUT_STREAM)
        self._cut = bool(streamed)
        self.transcript.finish()

    def _one(self, place: int, event: dict[str, Any], author: str) -> None:
        account = self.transcript.account
        account.read(event, _READ)
        account.read(event.get("actions"), ())  # changes made by an event: no calls themselves
        if author != "user" and isinstance(event.get("content"), dict):
            self.agents.append(author)
        if model := text(_of(event, "model_version")):
            self.models.append(model)
        content = mapping(event.get("content"))
        parts = content.get("parts")
        counts, at = tokens_of(_of(event, "usage_metadata")), self.draft.at(event.get("timestamp"))
        if isinstance(parts, list) and parts:
            account.read(content, ("parts", "role"))
            account.every(parts)
            told = [one for one in parts if not self._apart(place, event, one)]
            if told:
                role = "user" if author == "user" else "model"
                message = {"role": role, "parts": told}
                self.transcript.say(message, tokens=counts, started_at=at)
        elif content.get("parts") not in (None, []):
            account.refuse(content)
        elif event.get("content") is not None and not isinstance(event["content"], dict):
            self.draft.unread(f"events[{place}].content")
        if code := _of(event, "error_code"):
            said = text(_of(event, "error_message")) or str(code)
            self.transcript.wrong(said, started_at=at)
        if _of(event.get("actions"), "rewind_before_invocation_id"):
            self.draft.note(REWOUND)

    def _apart(self, place: int, event: dict[str, Any], part: Any) -> bool:
        """Return whether a part is no message: a question to a person, the answer to one, or a
        result that a later one of the same call replaces."""
        account = self.transcript.account
        call, answer = _of(part, "function_call"), _of(part, "function_response")
        if isinstance(call, dict) and call.get("name") == _ASKS:
            asked = _of(call.get("args"), "original_function_call")
            if not isinstance(asked, dict):
                return False
            self._wanted[text(call.get("id"))] = text(asked.get("id"))
            self._asked.add(text(call.get("id")))
            account.whole(part)
            self._approve({"decision": "pending", "tool": asked.get("name")}, asked.get("id"))
            return True
        if not isinstance(answer, dict):
            return False
        own = text(answer.get("id"))
        if answer.get("name") == _ASKS and own in self._wanted:
            account.whole(part)
            agreed = mapping(answer.get("response")).get("confirmed") is True
            said = {"decision": "approve", "approver": CLIENT} if agreed else {"decision": "reject"}
            self._asked.discard(own)
            self._approve(said, self._wanted[own])
            return True
        if not own or self._last.get(own) == place:
            return False
        waiting = own in mapping(_of(event.get("actions"), "requested_tool_confirmations"))
        if waiting or not _failed(answer.get("response")):
            account.whole(part)
            return True
        return False

    def _approve(self, said: dict[str, Any], call: Any) -> None:
        self.transcript.finish()
        account = self.transcript.account
        self.draft.approval(said, call)
        self.transcript = Transcript(self.draft, account, as_text=False)

    def is_open(self) -> bool:
        """Return whether the session ends with something that an agent was to answer, and nothing
        says why it did not: it was cut off, failed, or goes on."""
        said = [
            one for one in self.events
            if one.get("partial") is not True and (one.get("content") or _of(one, "error_code"))
        ]  # fmt: skip
        if self._cut or not said or self._asked:
            return self._cut
        last = said[-1]
        if _of(last, "error_code"):
            return False
        parts = objects(mapping(last.get("content")).get("parts"))
        runs_on = set(map(str, sequence(_of(last, "long_running_tool_ids"))))
        calls = [call for one in parts if isinstance(call := _of(one, "function_call"), dict)]
        if calls:
            return any(str(call.get("id")) not in runs_on for call in calls)
        if any(_of(one, "function_response") for one in parts):
            actions = last.get("actions")
            return not any(_of(actions, name) is True for name in _LAST)
        return last.get("author") == "user"

    def ending(self) -> str | None:
        """Return how the session ended, as far as its last event says."""
        last = self.events[-1] if self.events else {}
        if _of(last, "error_code"):
            return "error"
        if self.draft.waiting:
            return None
        return ENDS.get(text(_of(last, "finish_reason")))


_LAST = ("skip_summarization", "escalate", "end_of_agent")
"""Actions of an event that end a turn without an answer of the agent."""
_READ = frozenset(
    (
        *("id", "author", "content", "timestamp", "invocationId", "invocation_id", "partial"),
        *("usageMetadata", "usage_metadata", "modelVersion", "model_version", "errorCode"),
        *("error_code", "errorMessage", "error_message", "finishReason", "finish_reason"),
        *("longRunningToolIds", "long_running_tool_ids", "actions"),
    )
)


def _failed(response: Any) -> bool:
    held = mapping(response)
    return bool(held.get("error")) or held.get("status") == "error" or held.get("isError") is True


def _once(events: list[dict[str, Any]], draft: Draft) -> list[dict[str, Any]]:
    """Return the events without those that repeat another one with the same id."""
    known: dict[str, list[dict[str, Any]]] = {}
    found: list[dict[str, Any]] = []
    for event in events:
        own = text(event.get("id"))
        same = known.setdefault(own, []) if own else []
        if event in same:
            draft.note(TWICE)
            continue
        same.append(event)
        found.append(event)
    return found


def _last_answers(events: list[dict[str, Any]]) -> dict[str, int]:
    """Return the place of the last event that answers each call, by the call's id."""
    found: dict[str, int] = {}
    for place, event in enumerate(events):
        for part in sequence(mapping(event.get("content")).get("parts")):
            answer = _of(part, "function_response")
            if isinstance(answer, dict) and event.get("partial") is not True:
                found[text(answer.get("id"))] = place
    return found
