"""Traffic of the Agent Client Protocol, JSON-RPC one message per line: one attempt for each session
in it.

The protocol need not name tools: it has their kind (read, edit, execute), and a title for people.
Where no name is stated, authority is not measured.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import Status
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, text
from reviewer.importing.formats.sessions import (
    Session,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    rows,
    took,
)
from reviewer.importing.formats.sessions.rpc import Message, Requests, messages_in, messages_of
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_ENDS = {
    "max_tokens": "max_output_tokens",
    "max_turn_requests": "max_turns",
    "refusal": "content_filter",
    "cancelled": "interrupted by the user",
}
_STATUS: dict[str, Status] = {"completed": "ok", "failed": "error"}
_OF_CALL = frozenset(
    (
        *("toolCallId", "title", "kind", "status", "content", "locations", "rawInput"),
        *("rawOutput", "sessionUpdate", "_meta", "ended"),
    )
)
_QUIET = frozenset(
    (
        *("plan", "usage_update", "available_commands_update", "current_mode_update"),
        *("config_option_update", "session_info_update", "agent_thought_chunk"),
    )
)
_ENVELOPE = ("jsonrpc", "id", "method", "params", "result", "error")
_METHODS = ("session/", "fs/", "terminal/")
_OF_CLIENT = (
    *("fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output"),
    *("terminal/release", "terminal/wait_for_exit", "terminal/kill"),
)
"""Requests from the agent to its client. They are not tool calls by the model."""
NO_NAMES = "the protocol names kinds of tools, not tools: which were called is not measured"
NO_TOKENS = "tokens and cost are not stated for the whole session"


class AcpReader(SessionFormat):
    name = "acp"
    tool = "acp"
    facts = FormatFacts(
        by="JSON-RPC of `session/…`, bare or as a logger wrote it",
        steps="yes; a call that started a sub-agent leaves it not measured",
        tools="kinds, unless the agent states names: else not measured",
        times="where the log has them",
        approvals="yes",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        return any(_is_acp(one) for row in rows(head) for one in messages_in(row))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        log = _Log()
        for message in messages_of(found.lines):
            log.take(message)
        for story in log.stories.values():
            make = partial(_foreign, source, log, story, by_number(found.lines), found.broken)
            yield source.attempt(make, story.own)
        if not log.stories:
            yield Broken(("missing:sessionId",))


def _is_acp(value: dict[str, Any]) -> bool:
    method = text(value.get("method"))
    version = mapping(value.get("params")).get("protocolVersion")
    return method.startswith(_METHODS) or (method == "initialize" and isinstance(version, int))


class _Story:
    """One session of the traffic."""

    def __init__(self, own: str, began: Any) -> None:
        self.own = own
        self.began = began
        self.session = Session("acp")
        self.calls: dict[str, dict[str, Any]] = {}
        self.places: list[tuple[str, Any]] = []
        self.words: list[str] = []
        self.words_at: Any = None
        self.speaker = ""
        self.loading = False
        self.open = True
        self.stop = ""
        self.cost: Any = None

    def flush(self) -> None:
        """Write the collected chunks as one message."""
        if self.words:
            self.session.say(self.speaker, "".join(self.words), self.words_at)
        self.words, self.speaker = [], ""

    def chunk(self, speaker: str, value: Any, at: Any) -> None:
        """Add a chunk of a message."""
        if speaker != self.speaker:
            self.flush()
        self.words_at = self.words_at if self.words else at
        self.speaker = speaker
        self.words.append(_words(value))

    def tool(self, update: dict[str, Any], at: Any) -> None:
        """Add a call or an update to it, by its id."""
        self.flush()
        own = text(update.get("toolCallId"))
        held = self.calls.get(own)
        if held is None:
            held = self.calls[own] = {}
            self.session.call("agent", "", held, own, at)
        for name, value in update.items():
            if value not in (None, "", [], {}) or name not in held:
                held[name] = value
        if text(update.get("status")) in _STATUS and "ended" not in held:
            held["ended"] = at
            self.session.result(held, own, "", None, at)

    def settle(self) -> bool:
        """Add to calls and results the facts collected about them; return whether all tools were
        named."""
        self.flush()
        named = True
        for place, step in enumerate(self.session.steps):
            held = self.calls.get(step.id, {})
            if step.kind == "call":
                name = text(at_path(held, "_meta", "claudeCode", "toolName"))
                named = named and bool(name)
                given = held.get("rawInput")
                if not isinstance(given, dict) or not given:
                    kept = ("title", "locations", "rawInput")
                    given = {one: held[one] for one in kept if held.get(one)}
                name = name or text(held.get("kind")) or "other"
                self.session.steps[place] = step._replace(name=name, value=given)
            elif step.kind == "result":
                seen = held.get("rawOutput", held.get("content"))
                status = _STATUS.get(text(held.get("status")))
                self.session.steps[place] = step._replace(value=seen, status=status)
        return named


class _Log:
    """Traffic, being read."""

    def __init__(self) -> None:
        self.stories: dict[str, _Story] = {}
        self.requests = Requests()
        self.agent = ""
        self.odd: list[int] = []
        self.read: list[Any] = []
        """Parts that were read with all that is in them."""
        self.envelopes: list[Any] = []
        """Known messages, whose members are looked at one by one."""
        self._began: Any = None

    def take(self, message: Message) -> None:
        """Read one message."""
        self._began = self._began or message.at
        if message.method and "id" in message.value:
            self.requests.asked(message)
        if message.answers:
            self._answer(message)
        elif message.method == "session/update":
            self._update(message)
        elif message.method == "session/prompt":
            story = self._story(message)
            story.flush()
            story.loading, story.open = False, True
            story.session.say("user", _words(message.params.get("prompt")), message.at)
            self.envelopes.append(message.value)
        elif message.method == "session/load":
            story = self._story(message)
            story.loading = not story.session.steps
            story.open = False
        elif message.method == "session/request_permission":
            call = mapping(message.params.get("toolCall"))
            self._story(message).tool(call, message.at)
            self.read.append(message.params.get("toolCall"))
            self.envelopes.append(message.value)
        elif message.method in _OF_CLIENT:
            self.read.append(message.params)
            self.envelopes.append(message.value)
        elif message.method.startswith(_METHODS) or message.method == "initialize":
            self.read.append(message.params.get("mcpServers"))
            self.envelopes.append(message.value)

    def _story(self, message: Message, own: str = "") -> _Story:
        own = own or text(message.params.get("sessionId"))
        if own not in self.stories:
            self.stories[own] = _Story(own, self._began)
        story = self.stories[own]
        story.session.clocked(message.at)
        return story

    def _update(self, message: Message) -> None:
        story, update = self._story(message), mapping(message.params.get("update"))
        kind = text(update.get("sessionUpdate"))
        self.envelopes.append(message.value)
        if kind == "agent_message_chunk":
            if story.loading or story.open or not story.session.steps:
                story.chunk("agent", update.get("content"), message.at)
        elif kind == "user_message_chunk":
            if story.loading:
                story.chunk("user", update.get("content"), message.at)
        elif kind in ("tool_call", "tool_call_update"):
            story.tool(update, message.at)
            self.read.append(update)
        elif kind in _QUIET:
            self.read.append(update.get("availableCommands"))
            if kind == "agent_thought_chunk":
                story.flush()
            if kind == "usage_update" and isinstance(update.get("cost"), dict):
                story.cost = update["cost"]
        else:
            self.envelopes.pop()
            story.session.odd(kind)

    def _answer(self, message: Message) -> None:
        asked = self.requests.answered(message)
        if asked is None:
            self.odd.append(message.number)
            return
        self.envelopes.append(message.value)
        self.read.append(message.value.get("error"))
        if asked.method != "session/prompt":
            self.read.append(message.value.get("result"))
        result = mapping(message.value.get("result"))
        if asked.method == "initialize":
            self.agent = text(at_path(result, "agentInfo", "name")) or self.agent
        elif asked.method == "session/new" and text(result.get("sessionId")):
            self._story(message, text(result["sessionId"]))
        elif asked.method == "session/load":
            story = self._story(asked)
            story.flush()
            story.loading = False
        elif asked.method == "session/prompt":
            story = self._story(asked)
            story.session.clocked(message.at)
            story.flush()
            story.open = False
            failed = message.value.get("error")
            story.stop = "error" if failed is not None else text(result.get("stopReason"))
            if failed is not None:
                story.session.wrong(text(mapping(failed).get("message")) or "error", message.at)
        elif asked.method == "session/request_permission":
            self._decided(asked, result, message.at)

    def _decided(self, asked: Message, result: dict[str, Any], at: Any) -> None:
        outcome = mapping(result.get("outcome"))
        chosen = next(
            (
                text(one.get("kind"))
                for one in objects(asked.params.get("options"))
                if one.get("optionId") == outcome.get("optionId")
            ),
            "",
        )
        allowed = outcome.get("outcome") == "selected" and chosen.startswith("allow")
        said = {"decision": "approve" if allowed else "reject", "approver": "client"}
        own = text(mapping(asked.params.get("toolCall")).get("toolCallId"))
        self._story(asked).session.decided(said, own, at)


def _foreign(
    source: Source, log: _Log, story: _Story, lines: list[Any], broken: list[str]
) -> Foreign:
    session, draft, account = story.session, story.session.draft, story.session.account
    named = story.settle()
    session.write()
    account.whole(*log.read)
    for one in log.envelopes:
        account.read(one, _ENVELOPE)
    account.tell(lines, draft, "lines")
    for name in broken:
        draft.unread(name)
    for number in log.odd:
        draft.unread(f"lines[{number}]")
    if not named:
        draft.note(NO_NAMES)
        first = min(session.seqs.values(), default=None)
        draft.unread("update.kind (no tool is named)", first)
    for own, held in story.calls.items():
        if any(isinstance(held[one], (dict, list)) for one in held.keys() - _OF_CALL):
            draft.unread("update", session.seqs.get(own))
        if _starts_agent(held):
            session.absent("session of its sub-agent", own)
    draft.note(NO_TOKENS)
    if story.cost is not None:
        draft.source["usage_update"] = {"cost": story.cost}
    if story.open or not story.stop:
        session.unended()
    draft.identity = known_as("session", story.own)
    return draft.foreign(
        episode_id=story.own or source.place,
        candidate_id=source.candidate or log.agent or source.home,
        final_message=draft.last_words(),
        latency_ms=took(session),
        termination=_ENDS.get(story.stop, None if story.stop == "end_turn" else story.stop or None),
        started_at=draft.at(story.began),
        title=session.title,
        user_request=session.title,
    )


def _starts_agent(held: dict[str, Any]) -> bool:
    given, seen = mapping(held.get("rawInput")), mapping(held.get("rawOutput"))
    return "subagent_type" in given or "parentSessionId" in mapping(seen.get("metadata"))


def _words(value: Any) -> str:
    """Return the text of content blocks."""
    if isinstance(value, list):
        return "\n".join(_words(one) for one in value)
    held = mapping(value)
    if isinstance(held.get("text"), str):
        return str(held["text"])
    resource = mapping(held.get("resource"))
    if isinstance(resource.get("text"), str):
        return str(resource["text"])
    return f"[{held['type']}]" if isinstance(held.get("type"), str) else text(value)
