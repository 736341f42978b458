"""Gemini CLI: the log of a session, and those of its sub-agents.

A later record of one id replaces the earlier one (an answer is written before its calls, then with
them), `$set` replaces members and `$rewindTo` takes messages back. Messages that were taken back or
replaced did occur: their calls are kept, and their words appear under another name. Older versions
wrote one object.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Status, summed, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import mapping, objects, shown, started_ms, text
from reviewer.importing.formats.sessions import (
    BEGINNING,
    SUB_AGENTS,
    Line,
    Session,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    plain_id,
    rows,
    took,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_OF_CALL = frozenset(
    (
        *("id", "name", "args", "result", "status", "timestamp", "agentId", "resultDisplay"),
        *("description", "displayName", "renderOutputAsMarkdown", "tailToolCallRequest"),
        *("approvalMode", "outcome", "durationMs"),
    )
)
_STATUS: dict[str, Status] = {"success": "ok", "error": "error", "cancelled": "denied"}
_QUIET = ("info", "warning")
_INJECTED = ("<session_context>", "<system-reminder>")
_TAKEN_BACK = "agent, taken back"
TAKEN_BACK = "messages were taken back or replaced: the calls in them are kept as evidence"


class GeminiCliReader(SessionFormat):
    name = "gemini-cli"
    tool = "gemini-cli"
    facts = FormatFacts(
        by="`sessionId, projectHash, startTime`",
        steps="yes, sub-agents' too; those whose file is missing leave it not measured",
        times="yes",
        tokens="the main agent's",
        attempt="no: one for each session",
        beside="`<session>/*.jsonl`, the logs of its sub-agents",
    )

    def sniff(self, head: Head) -> bool:
        return any({"sessionId", "projectHash"} <= row.keys() for row in rows(head))

    def ran_at(self, path: Path) -> float:
        first = shown(path)
        return started_ms(first.get("startTime") if isinstance(first, dict) else None)

    def companions(self, path: Path) -> tuple[Path, ...]:
        first = shown(path)
        own = first.get("sessionId") if isinstance(first, dict) else None
        if not isinstance(own, str) or not own or os.sep in own or own in (".", ".."):
            return ()
        try:
            found = sorted((path.parent / own).glob("*.jsonl"))
        except (OSError, ValueError):
            return ()
        return tuple(one for one in found if one.is_file() and one != path)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        every = _logs(found.lines)
        logs = [log for log in every if log.head["sessionId"]]
        lost = [*found.broken, BEGINNING] if len(logs) < len(every) else found.broken
        for log in logs:
            files = source.companions if len(logs) == 1 else ()
            make = partial(_attempt, source, log, files, lost)
            yield source.attempt(make, text(log.head.get("sessionId")))
        if not logs:
            yield Broken(("missing:sessionId",))


class _Log(NamedTuple):
    """A log: the session's own facts, and its lines."""

    head: dict[str, Any]
    lines: list[Line]


def _logs(lines: list[Line]) -> list[_Log]:
    """Return the logs of a file. The first is without a name where no session begins there."""
    found: list[_Log] = []
    for line in lines:
        value = line.value
        if "projectHash" in value and isinstance(value.get("sessionId"), str):
            if not found or found[-1].head["sessionId"] != value["sessionId"]:
                found.append(_Log(value, []))
        elif not found:
            found.append(_Log({"sessionId": text(value.get("sessionId"))}, []))
        found[-1].lines.append(line)
    return found


class _Folded(NamedTuple):
    """Messages of a log in order, each once; which of them were taken back, by identity; earlier
    states and replaced messages with calls that no later one has; the lines of unknown changes; and
    how many answers were removed without a replacement."""

    messages: list[dict[str, Any]]
    back: set[int]
    gone: list[dict[str, Any]]
    odd: list[int]
    dropped: int


class _Fold:
    """The state of a log while it is read."""

    def __init__(self) -> None:
        self.live: dict[str, tuple[int, dict[str, Any]]] = {}
        self.back: list[tuple[int, dict[str, Any]]] = []
        self.gone: list[dict[str, Any]] = []
        self.dropped: set[str] = set()
        self._count = 0

    def put(self, message: dict[str, Any]) -> None:
        """Add a message; an existing one of its id is replaced in its place."""
        self._count += 1
        own = text(message.get("id")) or f"number {self._count}"
        before = self.live.get(own)
        if before is not None:
            self.gone.append(before[1])
        self.live[own] = (self._count if before is None else before[0], message)

    def set(self, messages: list[dict[str, Any]]) -> None:
        """Replace all messages."""
        self.gone += [message for _, message in self.live.values()]
        self.dropped |= {
            own
            for own, (_, message) in self.live.items()
            if message.get("type") == "gemini" and _tokens(message.get("tokens"))
        }
        self.live.clear()
        for message in messages:
            self.put(message)
        self.dropped -= self.live.keys()

    def rewind(self, point: Any) -> None:
        """Take back a message, and those after it; all of them where it is missing."""
        names = list(self.live)
        at = names.index(point) if point in names else len(names)
        self.back += [self.live.pop(name) for name in names[at:]]


def _folded(log: _Log) -> _Folded:
    fold, odd = _Fold(), []
    for line in log.lines:
        value = line.value
        for message in objects(value.get("messages")):
            fold.put(message)
        changed = value.get("$set")
        if isinstance(changed, dict) and "messages" in changed:
            fold.set(objects(changed["messages"]))
        if "$rewindTo" in value:
            point = value["$rewindTo"]
            fold.rewind(point.get("id") if isinstance(point, dict) else point)
        if "type" in value and "id" in value:
            fold.put(value)
        elif not value.keys() <= {"$set", "$rewindTo"} and "projectHash" not in value:
            odd.append(line.number)
    every = sorted((*fold.live.values(), *fold.back), key=lambda one: one[0])
    messages = [message for _, message in every]
    made = [_made(call) for message in messages for call in objects(message.get("toolCalls"))]
    gone = [
        message
        for message in fold.gone
        if any(_made(call) not in made for call in objects(message.get("toolCalls")))
    ]
    back = {id(message) for _, message in fold.back}
    return _Folded(messages, back, gone, odd, len(fold.dropped - fold.live.keys()))


def _made(call: dict[str, Any]) -> tuple[Any, Any, Any]:
    return call.get("id"), call.get("name"), call.get("args")


class _Story:
    """Messages read into a session."""

    def __init__(self, session: Session, files: dict[str, tuple[str, str, _Log]]) -> None:
        self.session = session
        self.files = files
        self.told: set[str] = set()
        self.models: list[str] = []
        self.usages: list[dict[str, int] | None] = []
        self.missing: list[tuple[str, str]] = []
        self.answered: set[str] = set()

    def log(self, log: _Log, agent: str = "") -> _Folded:
        """Read a log; `agent` is the sub-agent it belongs to."""
        folded = _folded(log)
        if agent and _end_of(log, folded, False) == "":
            self.session.child_unended()
        for message in (*folded.messages, *folded.gone):
            for one in objects(message.get("toolCalls")):
                if one.get("result") is not None:
                    self.answered.add(text(one.get("id")))
        for message in folded.messages:
            self._message(message, agent, id(message) in folded.back)
        for message in folded.gone:
            self._calls(message, agent or "agent")
        if folded.back or folded.gone or folded.dropped:
            self.session.draft.note(TAKEN_BACK)
        if not agent:  # answers replaced by a summary: their usage is no longer stated
            self.usages += [None] * folded.dropped
        return folded

    def _message(self, message: dict[str, Any], agent: str, back: bool) -> None:
        session, at, kind = self.session, message.get("timestamp"), message.get("type")
        if not agent:
            session.clocked(at)
        if kind == "user":
            self._user(message, agent, back)
        elif kind == "gemini":
            session.account.read(
                message, ("id", "type", "content", "toolCalls", "thoughts", "tokens")
            )
            words = _words(message.get("content"))
            session.say(_TAKEN_BACK if back else agent or "agent", words, at)
            self._calls(message, agent or "agent")
            if not agent:
                model = text(message.get("model"))
                self.models += [model] if model and model not in self.models else []
                self.usages.append(_tokens(message.get("tokens")))
        elif kind == "error":
            session.wrong(_words(message.get("content")), at)
        elif kind not in _QUIET:
            session.odd(kind)

    def _user(self, message: dict[str, Any], agent: str, back: bool) -> None:
        session, at, content = self.session, message.get("timestamp"), message.get("content")
        parts = content if isinstance(content, list) else [content]
        session.account.read(message, ("id", "type", "content", "displayContent"))
        for part in objects(parts):
            answer = part.get("functionResponse")
            if isinstance(answer, dict):
                session.account.whole(part)
                if text(answer.get("id")) not in self.answered:
                    name = text(answer.get("name"))
                    session.result(answer.get("response"), answer.get("id"), name, None, at)
        words = _words(content)
        injected = words.lstrip().startswith(_INJECTED)
        actor = "system" if injected else "user, taken back" if back else agent or "user"
        session.say(actor, words, at)

    def _calls(self, message: dict[str, Any], actor: str) -> None:
        session = self.session
        session.account.every(message.get("toolCalls"))
        for call in objects(message.get("toolCalls")):
            session.account.read(call, _OF_CALL, strict=True)
            session.account.whole(*(call.get(one) for one in ("args", "result", "resultDisplay")))
            own, at, name = call.get("id"), call.get("timestamp"), call.get("name")
            session.call(actor, name, call.get("args"), own, at)
            self._spawned(call, text(own))
            if call.get("result") is not None:
                status = _STATUS.get(text(call.get("status")))
                session.result(_seen(call["result"]), own, text(name), status, at)

    def _spawned(self, call: dict[str, Any], own: str) -> None:
        agent = text(call.get("agentId"))
        progress = mapping(call.get("resultDisplay")).get("isSubagentProgress") is True
        if agent in self.files:
            actor, path, log = self.files[agent]
            if path not in self.told:
                self.told.add(path)
                self.log(log, actor)
        elif agent or (
            call.get("status") != "error" and (progress or call.get("name") == "invoke_agent")
        ):
            self.missing.append((own, agent))


def _attempt(source: Source, log: _Log, paths: tuple[Path, ...], broken: list[str]) -> Foreign:
    session = Session("gemini-cli")
    draft = session.draft
    files: dict[str, tuple[str, str, _Log]] = {}
    bad: list[str] = []
    for path in paths:
        shown_path = os.path.relpath(path, source.path.parent)
        try:
            found = lines_of(source, path)
        except (Unreadable, OSError):
            bad.append(f"{shown_path}: file")
            continue
        bad += [f"{shown_path}: {name}" for name in found.broken]
        for one in _logs(found.lines):
            if not one.head["sessionId"]:
                bad.append(f"{shown_path}: {BEGINNING}")
            files[text(one.head.get("sessionId"))] = ("sub-agent", shown_path, one)
    story = _Story(session, files)
    folded = story.log(log)
    for actor, place, one in files.values():
        if place not in story.told:
            story.told.add(place)
            story.log(one, actor)
    session.write()
    for own, agent in story.missing:
        session.absent(f"{plain_id(agent, 'log of its sub-agent')}.jsonl", own)
    for name in (*broken, *bad):
        draft.unread(name)
    for _, place, one in files.values():
        session.account.tell(by_number(one.lines), draft, f"{place}: lines")
    session.account.tell(by_number(log.lines), draft, "lines")
    for number in folded.odd:
        session.draft.unread(f"lines[{number}]")
    if (termination := _end_of(log, folded, source.live)) == "":
        session.unended()
    own = text(log.head.get("sessionId"))
    draft.identity = known_as("session", own)
    if files:
        draft.note(SUB_AGENTS)
        draft.source["sub-agents"] = {"files": len(files)}
    if story.models:
        draft.source["models"] = story.models
    begun = log.head.get("startTime")
    return draft.foreign(
        episode_id=own,
        candidate_id=source.candidate or (story.models[-1] if story.models else source.home),
        final_message=draft.last_words(),
        latency_ms=took(session),
        termination=termination or None,
        started_at=draft.at(begun) or draft.at(session.began),
        usage=summed(story.usages) if story.usages else None,
        title=session.title,
        user_request=session.title,
    )


def _end_of(log: _Log, folded: _Folded, live: bool) -> str | None:
    """Return how a session ended; None for an ordinary end, empty where nothing says so. An answer
    is written first without its calls, and again with them: in a `live` file it is no end."""
    for message in reversed([one for one in folded.messages if id(one) not in folded.back]):
        kind, calls = message.get("type"), objects(message.get("toolCalls"))
        if kind == "info" and "cancelled" in _words(message.get("content")):
            return "interrupted by the user"
        if kind in _QUIET:
            continue
        if kind == "error":
            return "error"
        sub_agent = log.head.get("kind") == "subagent"
        done = sub_agent and any(one.get("name") == "complete_task" for one in calls)
        answered = not live and not calls and _words(message.get("content")).strip()
        if kind == "gemini" and (done or (answered and _dated(log))):
            return None
        break
    return ""


def _dated(log: _Log) -> bool:
    """Return whether the time that is written after each message is there for the last one. A log
    that was cut off before it may lack the calls of that message."""
    dated = [line.number for line in log.lines if "lastUpdated" in mapping(line.value.get("$set"))]
    said = (line.number for line in log.lines if "type" in line.value and "id" in line.value)
    return not dated or dated[-1] > max(said, default=0)


def _seen(result: Any) -> Any:
    """Return the result of a call from the parts in which it was sent back."""
    answers = [mapping(one.get("functionResponse")) for one in objects(result)]
    found = [one["response"] for one in answers if "response" in one]
    return found[0] if len(found) == 1 and len(objects(result)) == 1 else result


def _words(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(
            one if isinstance(one, str) else text(one.get("text"))
            for one in content
            if isinstance(one, str) or (isinstance(one, dict) and "text" in one)
        )
    return text(mapping(content).get("text")) or text(content)


def _tokens(value: Any) -> dict[str, int] | None:
    held = mapping(value)
    return tokens(
        input_tokens=held.get("input"),
        output_tokens=held.get("output"),
        cached_tokens=held.get("cached"),
        reasoning_tokens=held.get("thoughts"),
        total_tokens=held.get("total"),
    )
