"""Codex CLI: a rollout of one thread, one `{timestamp, type, payload}` per line.

What the model saw is in `response_item`; `event_msg` repeats it as the screen showed it, with exit
codes and tokens. A call that is only in an event (made inside another tool) is still an act.
Sub-agents are threads with rollouts of their own.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, shown, started_ms, text
from reviewer.importing.formats.sessions import (
    BEGINNING,
    BOTH,
    COPIED,
    FORKED,
    SUB_AGENTS,
    Line,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    rows,
    took,
)
from reviewer.importing.formats.sessions.codex_fork import parent_of, spent
from reviewer.importing.formats.sessions.codex_story import Story, Thread
from reviewer.importing.head import Head, head_of
from reviewer.importing.pipeline.opening import opened, start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_ROLLOUT = re.compile(
    r"rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(?:\.zst)?\Z"
)
_PARENT = re.compile(rb'"parent_thread_id"\s*:\s*"([\w-]{1,64})"')
_SPAWN = (b"spawn_agent", b"thread_spawn")
_BLOCK = 1 << 16
_META = 1 << 16
"""Bytes of a rollout in which its parent is named."""
_MOST_ROLLOUTS = 20_000


def is_line(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a rollout."""
    if value.get("type") in _TYPES and isinstance(value.get("payload"), dict):
        return True
    return "instructions" in value and {"id", "timestamp"} <= value.keys() and "type" not in value


class CodexReader(SessionFormat):
    name = "codex-rollout"
    tool = "codex"
    facts = FormatFacts(
        by="lines of `timestamp`, `type` (`session_meta` first) and `payload`",
        steps="yes, sub-agents' too; those whose rollout is missing leave it not measured",
        times="yes",
        tokens="the last total of the thread; a fork's without what it copied, where shown",
        attempt="no: one for each thread",
        beside="rollouts of threads that name it as their parent",
    )

    def sniff(self, head: Head) -> bool:
        return any(is_line(row) for row in rows(head))

    def ran_at(self, path: Path) -> float:
        first = shown(path)
        return started_ms(first.get("timestamp") if isinstance(first, dict) else None)

    def companions(self, path: Path) -> tuple[Path, ...]:
        return tuple(sorted(_below(path, _children_of(path), {path})))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        threads = _threads(found.lines)
        if not threads and found.broken:
            yield Broken(("json:no line could be read",))
        lost = found.broken
        if len(threads) > 1 and not _own(threads[0]):
            lost = [*lost, BEGINNING]
        for number, lines in enumerate(threads):
            own = _own(lines)
            files = source.companions if len(threads) == 1 else ()
            make = partial(_attempt, source, own or f"{source.place}-{number}", lines, files)
            yield source.attempt(partial(make, lost), own)


def _children_of(path: Path) -> dict[str, tuple[Path, ...]]:
    """Return rollouts by the thread that started them; none for a thread that started none."""
    try:
        if not _spawns(path):
            return {}
    except (OSError, Unreadable):
        return {}
    folder = path.absolute().parent
    root = next((one for one in folder.parents if one.name.endswith("sessions")), folder)
    if len(folder.parts) - len(root.parts) > 3:  # sessions/YYYY/MM/DD
        root = folder
    return _by_parent(root, _state(root))


def _spawns(path: Path) -> bool:
    """Return whether a thread started others, by words in its file."""
    head = head_of(path)
    if head.whole:  # usually already read
        return any(word in head.start for word in _SPAWN)
    with opened(path) as handle:
        held = b""
        while block := handle.read(_BLOCK):
            held = held[-max(map(len, _SPAWN)) :] + block
            if any(word in held for word in _SPAWN):
                return True
    return False


def _state(root: Path) -> tuple[tuple[str, int], ...]:
    """Return a value that changes with the rollouts below a folder: the times of its folders."""
    found: list[tuple[str, int]] = []
    for folder, _, _ in os.walk(root):
        try:
            found.append((folder, os.stat(folder).st_mtime_ns))
        except OSError:
            continue
    return tuple(found[:_MOST_ROLLOUTS])


@lru_cache(maxsize=8)
def _by_parent(root: Path, state: tuple[tuple[str, int], ...]) -> dict[str, tuple[Path, ...]]:
    found: dict[str, tuple[Path, ...]] = {}
    seen = 0
    for folder, _ in state:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if not _ROLLOUT.match(name) or seen >= _MOST_ROLLOUTS:
                continue
            seen += 1
            try:
                matched = _PARENT.search(start_of(Path(folder, name), _META))
            except (OSError, Unreadable):
                continue
            if matched:
                parent = matched.group(1).decode()
                found[parent] = (*found.get(parent, ()), Path(folder, name))
    return found


def _below(path: Path, children: dict[str, tuple[Path, ...]], seen: set[Path]) -> Iterator[Path]:
    """Yield the rollouts of a thread's sub-agents, and of theirs."""
    first = shown(path) if children else None
    own = text(at_path(first, "payload", "id"))
    for child in children.get(own, ()):
        if child not in seen and child.name != path.name:
            seen.add(child)
            yield child
            yield from _below(child, children, seen)


def _own(lines: list[Line]) -> str:
    for line in lines:
        value = line.value
        if value.get("type") == "session_meta":
            return text(at_path(value, "payload", "id"))
        if "payload" not in value and "instructions" in value:
            return text(value.get("id"))
    return ""


def _threads(lines: list[Line]) -> list[list[Line]]:
    """Return the lines of each thread. A second beginning after messages is another thread; a
    forked thread has its parent's beginning directly after its own."""
    found: list[list[Line]] = []
    said, own = False, ""
    for line in lines:
        value = line.value
        if value.get("type") == "session_meta":
            name = text(at_path(value, "payload", "id"))
            if not found or (said and name != own):
                found.append([])
                said, own = False, name
        said = said or value.get("type") == "response_item"
        if not found:
            found.append([])
        found[-1].append(line)
    return found


def _thread(source: Source, path: Path) -> Thread:
    shown_path = os.path.relpath(path, source.path.parent)
    try:
        found = lines_of(source, path)
    except (Unreadable, OSError):
        return Thread(shown_path, path.stem[-36:], "sub-agent", [], ["file"])
    meta = next((one.value for one in found.lines if one.value.get("type") == "session_meta"), {})
    spawn = mapping(at_path(meta, "payload", "source", "subagent", "thread_spawn"))
    actor = text(spawn.get("agent_role")) or text(spawn.get("agent_nickname")) or "sub-agent"
    if actor in ("user", "agent", "system"):
        actor = f"sub-agent {actor}"
    return Thread(shown_path, _own(found.lines), actor[:80], *found)


def _usage(story: Story, own: str, lines: list[Line]) -> dict[str, Any]:
    """Return the tokens of a thread. Those of the thread that it was forked from, which its totals
    continue, belong to that thread and are stated separately."""
    draft, parent = story.session.draft, parent_of(own, lines)
    if parent is None:
        return mapping(story.usage)
    draft.note(FORKED)
    found = spent(own, lines)
    if found is None:
        if story.usage:
            draft.note(BOTH)
        return mapping(story.usage)
    draft.source["copied"] = {"session": parent[:80], "usage": _named(found.copied)}
    draft.note(COPIED)
    return found.own


def _named(usage: dict[str, Any]) -> dict[str, int] | None:
    return tokens(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cached_tokens=usage.get("cached_input_tokens"),
        reasoning_tokens=usage.get("reasoning_output_tokens"),
        total_tokens=usage.get("total_tokens"),
    )


def _attempt(
    source: Source, own: str, lines: list[Line], files: tuple[Path, ...], broken: list[str]
) -> Foreign:
    story = Story([_thread(source, path) for path in files])
    session, draft = story.session, story.session.draft
    story.tell(lines)
    story.rest()
    session.write()
    story.settle(source.live)
    for path in broken:
        draft.unread(path)
    for thread in story.threads:
        for path in thread.broken:
            draft.unread(f"{thread.path}: {path}")
        session.account.tell(by_number(thread.lines), draft, f"{thread.path}: lines")
    session.account.tell(by_number(lines), draft, "lines")
    if story.threads:
        draft.note(SUB_AGENTS)
        draft.source["sub-agents"] = {"files": len(story.threads)}
    if story.models:
        draft.source["models"] = story.models
    meta = next((one.value for one in lines if one.value.get("type") == "session_meta"), {})
    if version := text(at_path(meta, "payload", "cli_version")):
        draft.source["versions"] = [version[:80]]
    usage = _usage(story, own, lines)
    draft.identity = known_as("thread", own)
    return draft.foreign(
        episode_id=own,
        candidate_id=source.candidate or (story.models[-1] if story.models else source.home),
        final_message=story.final or draft.last_words(),
        latency_ms=took(session),
        termination=story.termination,
        started_at=draft.at(session.began),
        usage=_named(usage),
        title=session.title,
        user_request=session.title,
    )
