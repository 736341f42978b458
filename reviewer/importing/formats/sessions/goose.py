"""goose: a session as `goose session export --format json` writes it, the lines in which it was
stored before 1.10, and what `goose run --output-format json` and `stream-json` print.

A message of the role user holds what tools returned. A result names its call; that a tool failed is
said by its status, by `isError` or by the exit code of a shell. Sub-agents are sessions of their
own: since 1.5x a result names the one that it is from, and that session the one that started it.
A run is `completed` also if it failed; what goose itself says of that stands where an answer would,
without the `inference` that answers of a model have.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from reviewer.importing.draft import CUT, Status, measured, tokens, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, sequence, text
from reviewer.importing.formats.sessions import (
    Session,
    SessionFormat,
    known_as,
    lines_of,
    rows,
    took,
)
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_CALLS = ("toolRequest", "frontendToolRequest")
_QUIET = ("thinking", "redactedThinking", "reasoning")
_SHOWN = ("systemNotification", "contextLengthExceeded", "summarizationRequested")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_STARTS = re.compile(r"(?:^|__)(?:delegate|subagent|dynamic_task|summon)", re.IGNORECASE)
"""Names of tools that start a sub-agent."""
_MESSAGE = frozenset(("id", "role", "created", "content", "metadata"))
_CONTENT = frozenset(("type", "id", "text", "toolCall", "toolResult", "metadata", "_meta",
                      "annotations", "thinking", "signature", "data", "msg"))  # fmt: skip
_HOLD = ("conversation", "messages")
"""Members in which a session's messages are."""
_SETTINGS = (("extension_data", "enabled_extensions.v0", "extensions"), ("recipe", "extensions"),
             ("recipe", "retry", "checks"))  # fmt: skip
_SETTING = frozenset(("type", "name", "display_name", "description", "cmd", "args", "envs",
                      "env_keys", "timeout", "bundled", "available_tools", "uri", "headers",
                      "instructions", "code", "dependencies", "command"))  # fmt: skip
"""Members that say what goose itself starts, an extension or a check: no call of the model."""
_TOTALS = ("input_tokens", "output_tokens", "total_tokens")
_CACHED = ("accumulated_cache_read_tokens", "cache_read_input_tokens")
_OWN_WORDS = {
    "I've reached the maximum number of actions": "max_turns",
    "Ran into this error:": "error",
}
SUB_AGENTS = "what sub-agents did is in sessions of their own: it is not measured"


class Said(NamedTuple):
    """A session: its own facts, and its messages."""

    facts: dict[str, Any]
    messages: list[Any]


def is_header(value: dict[str, Any]) -> bool:
    """Return whether this is a session's own line, or a session as it is exported."""
    return isinstance(value.get("working_dir"), str) and (
        isinstance(value.get("conversation"), list) or "message_count" in value
    )


def is_list(found: list[dict[str, Any]]) -> bool:
    """Return whether these are sessions without their messages, as `goose session list` prints
    them."""
    return len(found) > 1 and all(
        is_header(one) and not isinstance(one.get("conversation"), list) for one in found
    )


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in ("user", "assistant")
        and "created" in value
        and isinstance(value.get("content"), list)
        and isinstance(value.get("metadata"), dict)
        and "userVisible" in value["metadata"]
    )


def is_run(value: dict[str, Any]) -> bool:
    """Return whether this is what `goose run` printed: one object, or a line of several."""
    held = value.get("messages")
    if isinstance(held, list) and held and isinstance(value.get("metadata"), dict):
        return _is_message(held[0])
    return value.get("type") == "message" and _is_message(value.get("message"))


class GooseReader(SessionFormat):
    name = "goose-session"
    tool = "goose"
    facts = FormatFacts(
        by="`working_dir` with `conversation` or `message_count`; messages with `userVisible`",
        steps="yes; a session that started sub-agents is not measured",
        times="in seconds",
        cost="the session's own; 0 is null",
        tokens="the session's own",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        found = list(rows(head))
        return any(map(is_run, found)) or (any(map(is_header, found)) and not is_list(found))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        if not found.lines:
            yield Broken(("json:no line could be read",))
            return
        first, *rest = (line.value for line in found.lines)
        if isinstance(first.get("conversation"), list):
            for value in (first, *rest):
                one = Said(value, sequence(value.get("conversation")))
                make = partial(told, source, one, {}, GooseReader.name, found.broken)
                yield source.attempt(make)
            return
        lost = found.broken
        if isinstance(first.get("messages"), list):
            for value in (first, *rest):
                one = Said(mapping(value.get("metadata")), sequence(value.get("messages")))
                make = partial(told, source, one, {}, GooseReader.name, lost)
                yield source.attempt(make)
            return
        if any(map(is_run, (first, *rest))):
            runs = _runs([first, *rest])
            for number, lines in enumerate(runs, 1):
                held = list(lost)
                run = _streamed(lines, held)
                if len(runs) > 1:
                    run.facts["run"] = f"{source.place}-{number}"
                yield source.attempt(partial(told, source, run, {}, GooseReader.name, held))
            return
        if not is_header(first):
            lost, first, rest = [*lost, "lines[1]"], {}, [first, *rest]
        one = Said({"id": source.path.stem, **first}, rest)
        yield source.attempt(partial(told, source, one, {}, GooseReader.name, lost))


def _runs(lines: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the lines of each run: one that was printed after another begins behind its end."""
    found: list[list[dict[str, Any]]] = [[]]
    ended = False
    for line in lines:
        if ended and line.get("type") == "message":
            found.append([])
            ended = False
        ended = ended or line.get("type") == "complete"
        found[-1].append(line)
    return found


def _streamed(lines: list[dict[str, Any]], lost: list[str]) -> Said:
    """Return a run from the lines that it printed: an answer comes in pieces, each as a message. A
    line of an unknown kind is added to `lost`."""
    messages: list[Any] = []
    facts: dict[str, Any] = {}
    for line in lines:
        kind, message = line.get("type"), line.get("message")
        if kind == "message" and isinstance(message, dict):
            if messages and _goes_on(messages[-1], message):
                before = messages[-1]["content"]
                before[-1] = {
                    **before[-1],
                    "text": before[-1]["text"] + message["content"][0]["text"],
                }
                before += message["content"][1:]
            else:
                messages.append(message)
        elif kind == "complete":
            facts = {**line, "status": "completed"}
        elif kind == "error":
            facts = {"status": "error"}
        elif kind != "notification":
            lost.append("lines.type")
    facts.setdefault("status", "")
    return Said(facts, messages)


def _goes_on(before: Any, message: dict[str, Any]) -> bool:
    """Return whether a message is the next piece of the text at the end of the one before."""
    if message.get("role") != "assistant" or message.get("role") != before.get("role"):
        return False
    held, more = objects(before.get("content")), objects(message.get("content"))
    return (
        message.get("id") == before.get("id")
        and bool(held and more)
        and all(isinstance(one.get("text"), str) and one.get("type") == "text"
                for one in (held[-1], more[0]))
    )  # fmt: skip


def told(
    source: Source, said: Said, children: dict[str, Said], name: str, lost: list[str]
) -> Foreign:
    """Return the attempt of a session with those that it started. Raises Rejected."""
    value, messages = said
    own = text(value.get("id"))
    if not messages:
        raise Rejected("missing:conversation")
    story = _Story(Session(name), children)
    story.tell(said)
    story.rest()
    session, draft = story.session, story.session.draft
    session.write()
    for place in lost:
        draft.unread(place)
    for one in (said, *children.values()):
        if _is_short(one):
            draft.unread(f"conversation{CUT}")
    if story.missing:
        draft.note(SUB_AGENTS)
        for call_id in story.missing:
            session.absent("sessions of its sub-agents", call_id)
    for one in (said, *children.values()):
        session.account.tell(one.messages, draft, "conversation")
        facts = {name: held for name, held in one.facts.items() if name not in _HOLD}
        for way in _SETTINGS:
            for setting in objects(at_path(facts, *way)):
                session.account.read(setting, _SETTING)
        session.account.tell(facts, draft, "session")
    stated = value.get("status", "completed") == "completed"
    if not (story.answered or story.ended) or not stated:
        session.unended()
    held = mapping(value.get("model_config"))
    model = text(held.get("model_name")) or story.model
    if model:
        draft.source["models"] = [model]
    # A text that is no time is left out: with its blanks changed, a secret in it has no edge.
    started = text(value.get("created_at"))
    started = started.replace(" ", "T").removesuffix("Z") if _TIME.fullmatch(started) else ""
    # Ids count the sessions of a day: two machines use the same ones.
    draft.identity = known_as("session", f"{own}@{started}") if own and started else ""
    return draft.foreign(
        episode_id=own or text(value.get("run")) or source.place,
        candidate_id=source.candidate or model or source.home,
        final_message=draft.last_words(),
        cost_usd=measured(value.get("accumulated_cost")),
        latency_ms=took(session) or None,  # in whole seconds: 0 is less than one
        started_at=draft.at(session.began),
        usage=_usage(value),
        termination=story.ended or None,
        title=text(value.get("name")) or text(value.get("description")) or session.title,
        user_request=session.title,
    )


def _is_short(said: Said) -> bool:
    """Return whether a session says that it has another number of messages. Since 1.5x that is
    without those that only tell the time and the folder."""
    count = said.facts.get("message_count")
    shown = [one for one in said.messages if at_path(one, "metadata", "turnContext") is not True]
    return count is not None and count != len(shown)


def _usage(value: dict[str, Any]) -> dict[str, int] | None:
    """Return the tokens of the whole session, of which cached ones are a part."""
    held = mapping(value.get("accumulated_usage")) or value
    totals = {name: held.get(name, value.get(f"accumulated_{name}")) for name in _TOTALS}
    if held is value and "status" not in value:  # those of the last answer have the plain names
        totals = {name: value.get(f"accumulated_{name}") for name in _TOTALS}
    cached = next((held[name] for name in _CACHED if name in held), None)
    return tokens(**totals, cached_tokens=cached)


class _Story:
    """A session read into events, with those that it started."""

    def __init__(self, session: Session, children: dict[str, Said]) -> None:
        self.session, self.children = session, children
        self.missing: list[str] = []
        """Ids of calls that started a sub-agent of which no session is known."""
        self.answered = False
        """Whether the last message is an answer that asks for nothing more."""
        self.ended = ""
        """How goose itself says that the session ended."""
        self.model = ""
        self._actor = ""
        """The sub-agent whose session is being read."""
        self._started: set[str] = set()
        self._told: set[str] = set()

    def tell(self, said: Said) -> None:
        """Read the messages of a session."""
        for message in said.messages:
            self.take(message)
        self.missing += sorted(self._started)
        self._started.clear()

    def rest(self) -> None:
        """Read the sessions that no result names."""
        for own in self.children:
            self._child(own)

    def _child(self, own: str) -> None:
        """Read the session of a sub-agent, once; its end is not that of the session."""
        if own in self._told:
            return
        self._told.add(own)
        before = self._actor, self.answered, self.ended, self._started
        self._actor, self._started = "sub-agent", set()
        self.tell(self.children[own])
        if not (self.answered or self.ended):
            self.session.child_unended()
        self._actor, self.answered, self.ended, self._started = before

    def take(self, message: Any) -> None:
        """Read one message."""
        session, account = self.session, self.session.account
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            session.draft.unread("conversation.content")
            return
        account.read(message, _MESSAGE)
        account.every(message["content"])
        at = message.get("created")
        if not self._actor:
            session.clocked(at)
        role = message.get("role")
        shown = at_path(message, "metadata", "userVisible") is not False
        actor = "agent" if role == "assistant" else "user" if role == "user" else ""
        if not actor:
            session.draft.unread("conversation.role")
        if actor == "user" and not shown:
            actor = "system"  # goose's own words: a summary, or what is new around it
        own = self._own_words(message) if actor == "agent" else ""
        if own:
            actor = "system"
        elif actor in ("agent", "user") and self._actor:
            actor = self._actor
        self.answered, self.ended = role == "assistant" and not own, own
        if not (self.model or self._actor):
            model = text(at_path(message, "metadata", "inference", "requestedModel"))
            self.model = model
        if len(objects(message["content"])) < len(message["content"]):
            session.draft.unread("conversation.content")
        for one in objects(message["content"]):
            self._part(one, actor or "system", at)

    def _own_words(self, message: dict[str, Any]) -> str:
        """Return how goose itself says that the session ended; empty for an answer of a model."""
        if at_path(message, "metadata", "inference") is not None:
            return ""
        said = text(at_path(message, "content", 0, "text"))
        return next((end for words, end in _OWN_WORDS.items() if said.startswith(words)), "")

    def _part(self, one: dict[str, Any], actor: str, at: Any) -> None:
        session, kind = self.session, text(one.get("type"))
        session.account.read(one, _CONTENT, strict=True)
        if kind == "text":
            session.say(actor, one.get("text"), at)
        elif kind == "image":
            session.say(actor, "[image]", at)
            session.account.whole(one)
        elif kind in _CALLS:
            self._call(one, at)
        elif kind == "toolResponse":
            self._result(one, at)
        elif kind in _QUIET:
            session.account.whole(one)
        elif kind in _SHOWN:
            session.account.whole(one)
            session.say("system", text(one.get("msg")), at)
        else:
            self.session.draft.unread(f"conversation.content[{kind[:40]}]")

    def _call(self, one: dict[str, Any], at: Any) -> None:
        session, own = self.session, one.get("id")
        call = mapping(one.get("toolCall"))
        held = mapping(call.get("value"))
        session.account.read(call, ("status", "value", "error"))
        session.account.read(held, ("name", "arguments"))
        session.account.whole(held.get("arguments"))
        self.answered = False
        if call.get("status", "success") != "success" or not held:
            session.draft.unread("conversation.toolCall")  # a call that could not be understood
            session.wrong(text(call.get("error")) or "toolCall", at)
            return
        name = text(held.get("name"))
        if _STARTS.search(name):
            self._started.add(text(own))
        session.call(self._actor or "agent", name, held.get("arguments"), own, at)

    def _result(self, one: dict[str, Any], at: Any) -> None:
        result = mapping(one.get("toolResult"))
        held = result.get("value")
        self.session.account.whole(result)
        self.answered = False
        child = text(at_path(held, "_meta", "subagent_session_id"))
        if child in self.children and self.children[child].messages:
            self._started.discard(text(one.get("id")))
            self._child(child)
            self.answered = False
        status = result.get("status", "success" if "value" in result else None)
        if status not in ("success", "error"):
            self.session.draft.unread("conversation.toolResult")
        failed: Status | None = "error" if status == "error" or _failed(held) else None
        seen = result.get("error") if held is None else _seen(held)
        self.session.result(seen, one.get("id"), status=failed, at=at)


def _failed(held: Any) -> bool:
    if not isinstance(held, dict):
        return False
    code = at_path(held, "structuredContent", "exit_code")
    return held.get("isError") is True or code not in (0, None)


def _seen(held: Any) -> Any:
    """Return what a tool returned: a list of contents, or an object with one."""
    content = held.get("content") if isinstance(held, dict) else held
    code = at_path(held, "structuredContent", "exit_code") if isinstance(held, dict) else None
    said = words(content)
    return said if code is None else {"output": said, "exit_code": code}
