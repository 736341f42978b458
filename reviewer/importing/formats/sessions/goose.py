"""goose: a session as `goose session export --format json` writes it, and the lines in which it was
stored before 1.10.

A message of the role user holds what tools returned. A result names its call; that a tool failed is
said by its status, by `isError` or by the exit code of a shell. Sub-agents are sessions of their
own, and no session names those that it started.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import ABSENT, CUT, Status, measured, tokens, words
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
_STARTS = re.compile(r"(?:^|__)(?:delegate|subagent|dynamic_task|summon)", re.IGNORECASE)
"""Names of tools that start a sub-agent."""
_MESSAGE = frozenset(("id", "role", "created", "content", "metadata"))
_CONTENT = frozenset(("type", "id", "text", "toolCall", "toolResult", "metadata", "_meta",
                      "annotations", "thinking", "signature", "data", "msg"))  # fmt: skip
_TOTALS = ("input_tokens", "output_tokens", "total_tokens")
SUB_AGENTS = "what sub-agents did is in sessions of their own: it is not measured"


def is_header(value: dict[str, Any]) -> bool:
    """Return whether this is a session's own line, or a session as it is exported."""
    return isinstance(value.get("working_dir"), str) and (
        isinstance(value.get("conversation"), list) or "message_count" in value
    )


class GooseReader(SessionFormat):
    name = "goose-session"
    tool = "goose"
    facts = FormatFacts(
        by="`working_dir` with `conversation` or `message_count`",
        steps="yes; a session that started sub-agents is not measured",
        times="in seconds",
        cost="the session's own; 0 is null",
        tokens="the session's own",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        return any(map(is_header, rows(head)))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        if not found.lines:
            yield Broken(("json:no line could be read",))
            return
        first, *rest = (line.value for line in found.lines)
        if isinstance(first.get("conversation"), list):
            for value in (first, *rest):
                make = partial(told, source, value, sequence(value.get("conversation")))
                yield source.attempt(partial(make, GooseReader.name, found.broken))
            return
        lost = found.broken
        if not is_header(first):
            lost, first, rest = [*lost, "lines[1]"], {}, [first, *rest]
        make = partial(told, source, {"id": source.path.stem, **first}, rest)
        yield source.attempt(partial(make, GooseReader.name, lost))


def told(
    source: Source, value: dict[str, Any], messages: list[Any], name: str, lost: list[str]
) -> Foreign:
    """Return the attempt of a session. Raises Rejected."""
    own = text(value.get("id"))
    if not messages:
        raise Rejected("missing:conversation")
    story = _Story(Session(name))
    for message in messages:
        story.take(message)
    session, draft = story.session, story.session.draft
    session.write()
    for place in lost:
        draft.unread(place)
    count = value.get("message_count")
    if count is not None and count != len(messages):
        draft.unread(f"conversation{CUT}")
    if story.started:
        draft.note(SUB_AGENTS)
        draft.unread(f"sessions of its sub-agents{ABSENT}")
    session.account.tell(messages, draft, "conversation")
    if not story.answered:
        session.unended()
    held = mapping(value.get("model_config"))
    model = text(held.get("model_name"))
    if model:
        draft.source["models"] = [model]
    started = text(value.get("created_at")).replace(" ", "T").removesuffix("Z")
    # Ids count the sessions of a day: two machines use the same ones.
    draft.identity = known_as("session", f"{own}@{started}") if own and started else ""
    return draft.foreign(
        episode_id=own or source.place,
        candidate_id=source.candidate or model or source.home,
        final_message=draft.last_words(),
        cost_usd=measured(value.get("accumulated_cost")),
        latency_ms=took(session),
        started_at=draft.at(session.began),
        usage=_usage(value),
        title=text(value.get("name")) or text(value.get("description")) or session.title,
        user_request=session.title,
    )


def _usage(value: dict[str, Any]) -> dict[str, int] | None:
    """Return the tokens of the whole session, of which cached ones are a part."""
    held = {name: value.get(f"accumulated_{name}") for name in _TOTALS}
    return tokens(**held, cached_tokens=value.get("accumulated_cache_read_tokens"))


class _Story:
    """A session read into events."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.started = False
        self.answered = False
        """Return whether the last message is an answer that asks for nothing more."""

    def take(self, message: Any) -> None:
        """Read one message."""
        session, account = self.session, self.session.account
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            session.draft.unread("conversation.content")
            return
        account.read(message, _MESSAGE)
        account.whole(message.get("metadata"))
        account.every(message["content"])
        at = message.get("created")
        session.clocked(at)
        role = message.get("role")
        shown = at_path(message, "metadata", "userVisible") is not False
        actor = "agent" if role == "assistant" else "user" if role == "user" else ""
        if not actor:
            session.draft.unread("conversation.role")
        if actor == "user" and not shown:
            actor = "system"  # goose's own words: a summary, or what is new around it
        self.answered = role == "assistant"
        if len(objects(message["content"])) < len(message["content"]):
            session.draft.unread("conversation.content")
        for one in objects(message["content"]):
            self._part(one, actor or "system", at)

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
        session.account.whole(call, one.get("metadata"), one.get("_meta"))
        self.answered = False
        if call.get("status", "success") != "success" or not held:
            session.draft.unread("conversation.toolCall")  # a call that could not be understood
            session.wrong(text(call.get("error")) or "toolCall", at)
            return
        name = text(held.get("name"))
        self.started = self.started or bool(_STARTS.search(name))
        session.call("agent", name, held.get("arguments"), own, at)

    def _result(self, one: dict[str, Any], at: Any) -> None:
        result = mapping(one.get("toolResult"))
        held = result.get("value")
        self.session.account.whole(result, one.get("metadata"), one.get("_meta"))
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
