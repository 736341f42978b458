"""pi, the coding agent (OpenClaw uses it too): a session as it stores it, and the lines of `pi
--mode json`.

Entries form a tree: each names the one before it. Where a person went back and took another branch,
both branches did run, and both are read in the order in which they were written. In JSON mode a
message comes in pieces (`message_start`, `message_update`) and then complete (`message_end`).
"""

import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from reviewer.importing.draft import Status, amount, elapsed_ms, measured, summed, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, present, text
from reviewer.importing.formats.sessions import (
    COPIED,
    FORKED,
    Line,
    Session,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    parted,
    rows,
    took,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

WAYS = "the session was taken back and went another way: what was done before that is told too"
LATER = "the session is of a later version than 3: parts of it may be missing here"
_VERSION = 3
_NAMED = re.compile(r"_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z")
_HEADER = frozenset(
    (
        *("type", "id", "timestamp", "cwd", "version", "provider", "modelId", "thinkingLevel"),
        *("parentSession", "branchedFrom"),
    )
)
_QUIET = ("thinking_level_change", "label", "session_info", "custom", "model_change")
_ENTRY = ("type", "id", "parentId", "timestamp")
_STREAM = (
    *("agent_start", "turn_start", "queue_update", "compaction_start", "auto_retry_start"),
    *("auto_retry_end", "extension_ui_request"),
)
_PIECES = ("message_update", "tool_execution_update")
_COPIES = ("message_start", "tool_execution_start", "tool_execution_end", "turn_end", "agent_end")
"""Events of JSON mode that repeat complete messages."""
_MESSAGE = frozenset(
    (
        *("role", "content", "api", "provider", "model", "usage", "stopReason", "errorMessage"),
        *("timestamp", "responseId", "toolCallId", "toolName", "details", "isError"),
        *("command", "output", "exitCode", "cancelled", "truncated", "fullOutputPath"),
        *("excludeFromContext", "customType", "display", "summary", "fromId", "tokensBefore"),
        *("responseModel", "diagnostics"),
    )
)
_ENDS = {"length": "max_output_tokens", "error": "error", "aborted": "interrupted by the user"}


class PiSessionReader(SessionFormat):
    name = "pi-session"
    tool = "pi"
    facts = FormatFacts(
        by="a line of `type` session with `cwd`, and lines with `type` and `parentId` or events",
        times="yes",
        cost="yes, a fork's without what it copied; 0 is null",
        tokens="yes, a fork's without what it copied",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        found = any(_is_header(row) or _is_entry(row) for row in rows(head))
        return found and not any(row.get("type") == "session_start" for row in rows(head))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        for lines in parted(found.lines, _is_header):
            own = text(lines[0].value.get("id")) if _is_header(lines[0].value) else ""
            yield source.attempt(partial(_attempt, source, own, lines, found.broken), own)


def _is_header(value: dict[str, Any]) -> bool:
    return value.get("type") == "session" and isinstance(value.get("cwd"), str) and "id" in value


def _is_entry(value: dict[str, Any]) -> bool:
    """Return whether this is a message in a session, which may have lost its first lines."""
    return (
        value.get("type") == "message"
        and "parentId" in value
        and isinstance(value.get("id"), str)
        and mapping(value.get("message")).get("role") in ("user", "assistant", "toolResult")
    )


def _attempt(source: Source, own: str, lines: list[Line], broken: list[str]) -> Foreign:
    story = _Story()
    session, draft = story.session, story.session.draft
    for line in lines:
        story.take(line.value)
    session.write()
    for name in broken:
        draft.unread(name)
    session.account.tell(by_number(lines), draft, "lines")
    for path in story.missing():
        draft.unread(path, 1)
    if story.ended == "":
        session.unended()
    if story.models:
        draft.source["models"] = list(dict.fromkeys(story.models))
    if copied := story.copied.usages:
        spent = {"usage": story.copied.usage(), "cost_usd": story.copied.cost()}
        facts = {"session": story.parent or None, "answers": len(copied), **spent}
        draft.source["copied"] = present(facts)
        draft.note(COPIED)
    draft.identity = known_as("session", own)
    return draft.foreign(
        episode_id=own or source.place,
        candidate_id=source.candidate or (story.models[-1] if story.models else source.home),
        final_message=draft.last_words(),
        cost_usd=story.own.cost(),
        latency_ms=took(session),
        termination=story.ended or None,
        started_at=draft.at(session.began),
        usage=story.own.usage(),
        title=story.title or session.title,
        user_request=session.title,
    )


class _Spent(NamedTuple):
    """The usage of some answers."""

    usages: list[dict[str, int] | None]
    costs: list[float | None]

    def usage(self) -> dict[str, Any] | None:
        return summed(self.usages) if self.usages else None

    def cost(self) -> float | None:
        """Return the sum; None where there are none, or one of them has no price."""
        known = [one for one in self.costs if one is not None]
        return measured(math.fsum(known)) if known and len(known) == len(self.costs) else None


def _session_in(path: Any) -> str:
    """Return the id of a session in the name of its file, empty where it has none."""
    matched = _NAMED.search(text(path))
    return matched.group(1) if matched else ""


class _Story:
    """A session read into events."""

    def __init__(self) -> None:
        self.session = Session("pi-session")
        self.models: list[str] = []
        self.own, self.copied = _Spent([], []), _Spent([], [])
        self.parent = ""
        self.title = ""
        self.ended: str | None = ""
        """None after an ordinary end, empty where none is stated."""
        self._ids: set[str] = set()
        self._parents: list[str] = []
        self._forked: Any = None
        """When the session began, if it began with a copy of another one."""
        self._copy = False

    def take(self, value: dict[str, Any]) -> None:
        """Read one line."""
        session, kind, account = self.session, value.get("type"), self.session.account
        if _is_header(value):
            self._header(value)
            return
        self._place(value)
        # An entry that was copied from another session is older than this one.
        since = None if self._forked is None else elapsed_ms(value.get("timestamp"), self._forked)
        self._copy = since is not None and since > 0
        if not self._copy:
            session.clocked(value.get("timestamp"))
        if kind in ("message", "message_end") and isinstance(value.get("message"), dict):
            account.read(value, (*_ENTRY, "message"))
            self._message(value["message"], value.get("timestamp"))
        elif kind == "custom_message":
            account.read(value, (*_ENTRY, "content", "customType", "display"))
            account.whole(value.get("content"), value.get("details"))
            session.say("system", words(value.get("content")), value.get("timestamp"))
        elif kind in ("compaction", "branch_summary", "compaction_end"):
            account.read(value, (*_ENTRY, "summary", "tokensBefore", "firstKeptEntryId", "fromId"))
            account.whole(value.get("details"))
            session.say("system", text(value.get("summary")), value.get("timestamp"))
        elif kind in _QUIET:
            account.read(value, (*_ENTRY, "provider", "modelId", "thinkingLevel", "name", "label"))
            account.whole(value.get("data"))
            self.title = text(value.get("name")) if kind == "session_info" else self.title
        elif kind in _PIECES:
            account.whole(value)
        elif kind in _STREAM or kind in _COPIES:
            self._repeated(value)
        else:
            session.odd(kind)
            account.apart(value)

    def _header(self, value: dict[str, Any]) -> None:
        self.session.account.read(value, _HEADER)
        self.session.clocked(value.get("timestamp"))
        version = value.get("version")
        if isinstance(version, (int, float)) and version > _VERSION:
            self.session.draft.note(LATER)
            self.session.draft.unread("version", 1)
        if value.get("parentSession") or value.get("branchedFrom"):
            self.session.draft.note(FORKED)
            self._forked = value.get("timestamp")
            self.parent = _session_in(value.get("parentSession") or value.get("branchedFrom"))

    def _place(self, value: dict[str, Any]) -> None:
        own, above = value.get("id"), value.get("parentId")
        if isinstance(own, str) and "parentId" in value:
            if isinstance(above, str):
                if above in self._parents:
                    self.session.draft.note(WAYS)
                self._parents.append(above)
            self._ids.add(own)

    def missing(self) -> list[str]:
        """Return the places of entries that name missing ones."""
        return ["lines.parentId"] if any(one not in self._ids for one in self._parents) else []

    def _repeated(self, value: dict[str, Any]) -> None:
        """Read an event that repeats messages: its results are theirs, its calls are compared."""
        account = self.session.account
        account.read(value, ("type", "result", "toolResults"))
        if value.get("type") == "tool_execution_end":
            account.whole(value.get("result"))
        for held in (value.get("message"), *objects(value.get("messages"))):
            account.read(held, ("role",))
            if mapping(held).get("role") == "toolResult":
                account.whole(held)
        for held in objects(value.get("toolResults")):
            account.whole(held)

    def _message(self, message: dict[str, Any], at: Any) -> None:
        session, account, role = self.session, self.session.account, message.get("role")
        account.read(message, _MESSAGE)
        account.whole(message.get("details"), message.get("diagnostics"))
        at = message.get("timestamp") or at
        if not self._copy:
            session.clocked(at)
        if role == "assistant":
            self._answer(message, at)
        elif role == "toolResult":
            account.whole(message.get("content"))
            status: Status = "error" if message.get("isError") is True else "ok"
            own, name = text(message.get("toolCallId")), text(message.get("toolName"))
            session.result(_seen(message.get("content")), own, name, status, at)
        elif role == "bashExecution":  # a person's own command, not a call of the agent
            told = f"! {text(message.get('command'))}\n{text(message.get('output'))}"
            session.say("user", told, at)
        elif role in ("user", "custom", "branchSummary", "compactionSummary"):
            content = message.get("content") or message.get("summary")
            session.say("user" if role == "user" else "system", words(content), at)
            self.ended = "" if role == "user" else self.ended
        else:
            session.odd(role)
            account.apart(message)
            account.refuse(message)

    def _answer(self, message: dict[str, Any], at: Any) -> None:
        session, account = self.session, self.session.account
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        account.every(content)
        if not isinstance(blocks, list):
            session.draft.unread("message.content")
        for block in objects(blocks):
            kind = block.get("type")
            if kind == "text":
                account.read(block, ("type", "text", "textSignature"))
                session.say("agent", text(block.get("text")), at)
            elif kind == "thinking":
                account.read(block, ("type", "thinking", "thinkingSignature", "redacted"))
            elif kind == "toolCall":
                known = ("type", "id", "name", "arguments", "thoughtSignature", "partialArgs")
                account.read(block, (*known, "streamIndex", "intent"), strict=True)
                account.whole(block.get("arguments"))
                own = text(block.get("id"))
                session.call("agent", block.get("name"), block.get("arguments"), own, at)
            else:
                session.odd(kind)
                account.apart(block)
        if model := text(message.get("model")):
            self.models.append(model)
        spent = self.copied if self._copy else self.own
        spent.usages.append(tokens_of(message.get("usage")))
        spent.costs.append(amount(at_path(message, "usage", "cost", "total")))
        reason = text(message.get("stopReason"))
        if reason in ("error", "aborted") and message.get("errorMessage"):
            session.wrong(text(message.get("errorMessage")), at)
        self.ended = None if reason == "stop" else _ENDS.get(reason, "")


def _seen(content: Any) -> Any:
    """Return the result of a tool: its text, or its blocks where some are not text."""
    blocks = objects(content)
    if isinstance(content, list) and blocks and all(one.get("type") == "text" for one in blocks):
        return "\n".join(text(one.get("text")) for one in blocks)
    return content
