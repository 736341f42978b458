"""Sessions that Strands Agents stores as files: `session_<id>/agents/agent_<id>/messages/`, one
message per file, in the blocks of Bedrock's Converse API.

Messages are ordered by the numbers in their names; for several agents, by when they were stored.
`redact_message` is the replacement of a message. A window manager drops messages from memory, never
from the files.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import CUT, Draft, elapsed_ms, summed, tokens, whole
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    at_path,
    files_below,
    mapping,
    small_value,
    started_ms,
    text,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript, tokens_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_MESSAGE = re.compile(r"message_(\d{1,9})\.json\Z")
_AGENT = re.compile(r"agent_(.+)\Z")
_SESSION = re.compile(r"session_(.+)\Z")
REDACTED = "messages that were redacted are in the record as what took their place"
ALONE = "the session's other messages are in files of their own: import their folder"
WAITS = "the agent waits for a person's answer to an interrupt"
_FACTS = 8 << 20


class StrandsReader(Format):
    name = "strands-session"
    facts = FormatFacts(
        by="`message`, `message_id` and `redact_message`; session.json above them",
        times="yes",
        tokens="where the model states them",
        beside="the session's other messages, agent.json",
    )

    def sniff(self, head: Head) -> bool:
        first = head.first
        if not isinstance(first, dict):
            return False
        if _is_message(first):
            return True
        if {"session_id", "session_type", "created_at"} <= first.keys():
            return head.path.name == "session.json" and bool(_messages(head.path.parent))
        return False

    def companions(self, path: Path) -> tuple[Path, ...]:
        if path.name == "session.json":
            return files_below(path.parent, path)
        found = _MESSAGE.match(path.name)
        others = _numbered(path.parent)
        if found is None or not others or others[0].path != path:
            return ()
        about = path.parent.parent / "agent.json"
        beside = (about,) if about.is_file() else ()
        return (*(one.path for one in others[1:]), *beside)

    def candidate_id(self, path: Path) -> str:
        return _agent_of(path) or path.stem

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(partial(_session, source), "session")


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "message_id" in value
        and isinstance(value.get("message"), dict)
        and ("redact_message" in value or "created_at" in value)
    )


class _File(NamedTuple):
    """A message's file: its number, and its agent."""

    number: int
    path: Path
    agent: str


def _numbered(folder: Path) -> list[_File]:
    """Return the messages of a folder, by number."""
    found: list[_File] = []
    try:
        for path in folder.iterdir():
            name = _MESSAGE.match(path.name)
            if name and path.is_file() and not path.is_symlink():
                found.append(_File(int(name[1]), path, _agent_of(path)))
    except OSError:
        return []
    return sorted(found)


def _agent_of(path: Path) -> str:
    found = next((n for p in path.parents[:3] if (n := _AGENT.match(p.name))), None)
    return found[1] if found else ""


def _session_of(path: Path) -> str:
    found = next((n for p in path.parents[:5] if (n := _SESSION.match(p.name))), None)
    return found[1] if found else ""


def _messages(session: Path) -> list[_File]:
    """Return the messages of every agent of a session."""
    try:
        agents = sorted(path for path in (session / "agents").iterdir() if path.is_dir())
    except OSError:
        return []
    return [one for agent in agents for one in _numbered(agent / "messages")]


def _session(source: Source) -> Foreign:
    path = source.path
    root = path.parent if path.name == "session.json" else None
    listed = _messages(root) if root else _numbered(path.parent)
    alone = root is None and not source.companions and len(listed) > 1
    if root is None and (alone or not listed or _MESSAGE.match(path.name) is None):
        listed = [_File(0, path, _agent_of(path))]
    draft = Draft("strands-session")
    told = _Told(draft, source)
    last: dict[str, Any] = {}
    for row, place in _in_order(told, listed):
        told.say(row, place)
        last[place.rpartition("/")[0]] = at_path(row, "message", "role")
    told.finish()
    if "user" in last.values():
        draft.unread(f"end of the session{CUT}")  # nothing answers it
    if alone:
        draft.unread("messages")
        draft.note(ALONE)
    own = text(mapping(source.beside(path) if root else None).get("session_id"))
    session = own or _session_of(path) or source.place
    agents = list(dict.fromkeys(one.agent for one in listed if one.agent))
    _missing(draft, listed)
    for folder in dict.fromkeys(one.path.parent.parent for one in listed):
        state = small_value(folder / "agent.json", _FACTS)
        if at_path(state, "_internal_state", "interrupt_state", "activated") is True:
            draft.note(WAITS)
            told.waiting = True
    if agents:
        draft.source["agents"] = agents
    draft.identity = f"session:{session}" if own or _session_of(path) else ""
    stamps = [one for one in told.stamps if one]
    return draft.foreign(
        episode_id=session,
        candidate_id=source.candidate or (agents[0] if agents else source.home),
        final_message=None if told.waiting else draft.last_words(),
        latency_ms=elapsed_ms(stamps[0], stamps[-1]) if stamps else None,
        started_at=draft.at(stamps[0]) if stamps else None,
        usage=summed(told.counts),
    )


def _in_order(told: "_Told", listed: list[_File]) -> list[tuple[dict[str, Any], str]]:
    """Return (message, its name) in the order in which they were stored; within one agent by
    number. A file that cannot be read is unread."""
    found: list[tuple[float, int, dict[str, Any], str]] = []
    latest: dict[str, float] = {}
    for one in listed:
        name = f"{one.agent}/{one.path.name}" if one.agent else one.path.name
        value = told.source.beside(one.path)
        if not _is_message(value):
            told.draft.unread(name)
            continue
        stamp = started_ms(value.get("created_at"))
        at = max(latest.get(one.agent, 0.0), stamp if stamp != float("inf") else 0.0)
        latest[one.agent] = at
        found.append((at, len(found), value, name))
    if not found:
        raise Rejected("missing:messages")
    return [(value, name) for _, _, value, name in sorted(found, key=lambda one: one[:2])]


def _missing(draft: Draft, listed: list[_File]) -> None:
    """Note the messages that are missing from an agent's, by their numbers."""
    for agent in dict.fromkeys(one.agent for one in listed):
        numbers = [one.number for one in listed if one.agent == agent]
        known = set(numbers)
        for number in range(max(numbers)):
            if number not in known:
                draft.absent(f"message_{number}.json")
                break


class _Told:
    """One session under construction."""

    def __init__(self, draft: Draft, source: Source) -> None:
        self.draft, self.source = draft, source
        self.transcript = Transcript(draft)
        self.counts: list[dict[str, int] | None] = []
        self.stamps: list[Any] = []
        self.waiting = False
        self._rows: list[tuple[dict[str, Any], str]] = []

    def say(self, row: dict[str, Any], name: str) -> None:
        """Add one message."""
        message = row["message"]
        redacted = row.get("redact_message")
        if isinstance(redacted, dict):
            self.draft.note(REDACTED)
            message = redacted
        about = mapping(message.get("metadata"))
        counts = _tokens(about.get("usage"))
        if message.get("role") == "assistant":
            self.counts.append(counts)
        at = self.draft.at(row.get("created_at"))
        self.stamps.append(row.get("created_at"))
        account = self.transcript.account
        account.read(row, ("message", "redact_message", "message_id", "created_at", "updated_at"))
        self.transcript.say(message, tokens=counts, started_at=at)
        self._rows.append((row, name))

    def finish(self) -> None:
        self.transcript.finish()
        for row, name in self._rows:
            self.transcript.account.tell(row, self.draft, name)


def _tokens(usage: Any) -> dict[str, int] | None:
    """Return the counts of one answer. Models differ in whether `inputTokens` includes cached
    tokens: where the total is input plus output alone, it does."""
    held = mapping(usage)
    given, made = whole(held.get("inputTokens")), whole(held.get("outputTokens"))
    if None in (given, made) or held.get("totalTokens") != (given or 0) + (made or 0):
        return tokens_of(usage)
    return tokens(
        input_tokens=given,
        output_tokens=made,
        cached_tokens=held.get("cacheReadInputTokens"),
        cache_write_tokens=held.get("cacheWriteInputTokens"),
    )
