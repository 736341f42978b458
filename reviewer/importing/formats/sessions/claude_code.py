"""Claude Code: a session's lines, and the files of its sub-agents.

A model's answer is one line for each of its blocks, all of one message id, each with the tokens so
far. Lines form a tree. Sub-agents have lines of their own in the same file (`isSidechain`, versions
1) or files of their own (`<session>/subagents/agent-<id>.jsonl`, or beside it). Their acts are
evidence of the session that started them; so are the acts on a branch that was taken back.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import measured
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    mapping,
    objects,
    present,
    shown,
    small_value,
    started_ms,
    text,
)
from reviewer.importing.formats.sessions import (
    COPIED,
    FORKED,
    SUB_AGENTS,
    Line,
    Lines,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    rows,
    took,
)
from reviewer.importing.formats.sessions.claude_story import (
    SPOKEN,
    Child,
    Story,
    is_copy,
    missing_of,
    rests,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_AGENT_FILE = re.compile(r"agent-([\w-]{1,80})\.jsonl\Z")
_MOST_META = 1 << 16
TAKEN_BACK = "prompts were taken back: what was done before that is kept as evidence"
COST = "what the tool states that the session cost, now and then, is kept; it is not measured by it"
COMPACTED = "the history was summarized on the way: the tokens of that are not in the file"


def is_line(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a session with a message or an act."""
    kind = value.get("type")
    if kind not in (*SPOKEN, "system", "attachment", "progress"):
        return False
    if "parentUuid" not in value:  # a copy without the tree
        return kind in SPOKEN and "sessionId" in value and isinstance(value.get("message"), dict)
    return "uuid" in value or "sessionId" in value or "isSidechain" in value


def _of_qwen(value: dict[str, Any]) -> bool:
    """Return whether this is a line of Qwen Code, whose lines form such a tree too."""
    return "systemPayload" in value or "parts" in mapping(value.get("message"))


def _exported(value: Any) -> list[dict[str, Any]]:
    """Return the lines of a session on the web, as its service exports them."""
    lines = objects(mapping(value).get("loglines"))
    spoken = (one for one in lines if one.get("type") in SPOKEN)
    return lines if any(isinstance(one.get("message"), dict) for one in spoken) else []


def _told(found: Lines) -> Lines:
    """Return the lines of a file; an export is one value that contains them all."""
    if len(found.lines) == 1 and (lines := _exported(found.lines[0].value)):
        shell = {name: one for name, one in found.lines[0].value.items() if name != "loglines"}
        numbered = [Line(number, one) for number, one in enumerate(lines, 1)]
        return Lines([*numbered, *([Line(len(lines) + 1, shell)] if shell else [])], found.broken)
    return found


class ClaudeCodeReader(SessionFormat):
    name = "claude-code"
    tool = "claude-code"
    facts = FormatFacts(
        by="lines with `parentUuid` and `type`",
        steps="yes, sub-agents' too; those whose file is missing leave it not measured",
        times="yes",
        tokens="the main agent's, once for each answer; those of a fork without what it copied",
        attempt="no: one for each session",
        beside="`<session>/subagents/agent-*.jsonl`, or `agent-*.jsonl` beside it",
    )

    def sniff(self, head: Head) -> bool:
        if any(is_line(row) for row in rows(head)):
            return not any(map(_of_qwen, rows(head)))
        return bool(_exported(head.value))

    def ran_at(self, path: Path) -> float:
        first = shown(path)
        return started_ms(first.get("timestamp") if isinstance(first, dict) else None)

    def companions(self, path: Path) -> tuple[Path, ...]:
        if _AGENT_FILE.search(path.name):
            return ()
        below = path.with_suffix("") / "subagents"
        found = [
            Path(folder, name)
            for folder, _, names in (os.walk(below) if os.path.isdir(below) else ())
            for name in names
            if name.startswith("agent-") and name.endswith((".jsonl", ".meta.json"))
        ]
        return (*sorted(found), *_beside(path.parent, _changed(path.parent)).get(path.stem, ()))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = _told(lines_of(source))
        groups = _by_session(found.lines)
        if not groups and found.broken:
            yield Broken(("json:no line could be read",))
        for name, lines in groups:
            make = partial(_attempt, source, name, lines, found.broken, len(groups) == 1)
            yield source.attempt(make, name)


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _beside(folder: Path, changed: int) -> dict[str, tuple[Path, ...]]:
    """Return the files of sub-agents in a folder of sessions, by their session (versions 2.0)."""
    found: dict[str, tuple[Path, ...]] = {}
    try:
        names = sorted(name for name in os.listdir(folder) if _AGENT_FILE.search(name))
    except OSError:
        return found
    for name in names:
        first = shown(folder / name)
        own = first.get("sessionId") if isinstance(first, dict) else None
        if isinstance(own, str):
            found[own] = (*found.get(own, ()), folder / name)
    return found


def _by_session(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Return (session, its lines) of a file. Consecutive sessions are one: that of the last line
    (lines copied from the continued session keep the older name)."""
    owner: dict[str, str] = {}
    joined: dict[str, str] = {}

    def root(name: str) -> str:
        while joined.get(name, name) != name:
            name = joined[name]
        return name

    said = [line for line in lines if line.value.get("type") in SPOKEN]
    spoken = [line for line in said if is_line(line.value)] or said
    for line in spoken:
        owner.setdefault(text(line.value.get("uuid")), _session(line.value))
    for line in spoken:
        own = root(_session(line.value))
        for link in ("parentUuid", "logicalParentUuid"):
            before = owner.get(text(line.value.get(link)) or "-")
            if before is not None and (other := root(before)) != own:
                joined[other] = own
    names = {root(_session(line.value)) for line in spoken}
    if len(names) < 2:
        return [(names.pop(), lines)] if names else []
    found: dict[str, list[Line]] = {}
    for line in lines:
        own = root(_session(line.value))
        if own in names:
            found.setdefault(own, []).append(line)
    return list(found.items())


def _session(value: dict[str, Any]) -> str:
    return text(value.get("sessionId"))


def _child(source: Source, path: Path) -> Child:
    matched = _AGENT_FILE.search(path.name)
    own = matched.group(1) if matched else path.stem
    meta = mapping(small_value(path.with_suffix(".meta.json"), _MOST_META))
    actor = text(meta.get("agentType"))[:80] or "sub-agent"
    if actor in ("user", "agent", "system"):
        actor = f"sub-agent {actor}"
    shown_path = os.path.relpath(path, source.path.parent)
    try:
        found = lines_of(source, path)
    except (Unreadable, OSError):
        return Child(shown_path, own, actor, text(meta.get("toolUseId")), [], ["file"])
    return Child(shown_path, own, actor, text(meta.get("toolUseId")), *found)


def _is_headless(lines: list[Line], spoken: list[Line]) -> bool:
    """Return whether what is said first answers a line that the session does not have."""
    above = spoken[0].value.get("parentUuid") if spoken else None
    return above is not None and all(line.value.get("uuid") != above for line in lines)


def _attempt(
    source: Source, name: str, lines: list[Line], broken: list[str], only: bool
) -> Foreign:
    spoken = [line for line in lines if line.value.get("type") in SPOKEN]
    alone = all(line.value.get("isSidechain") is True for line in spoken)
    files = [path for path in source.companions if path.suffix == ".jsonl"] if only else []
    story = Story([_child(source, path) for path in files])
    session, draft = story.session, story.session.draft
    every = [*lines, *(line for child in story.children for line in child.lines)]
    story.link(every)
    story.know(lines)
    story.tell(lines, None, alone)
    story.rest()
    session.write()
    story.settle(lines)
    if _is_headless(lines, spoken):
        draft.unread("beginning of the session")
    missing_of(story, lines)
    for path in broken:
        draft.unread(path)
    for child in story.children:
        for path in child.broken:
            draft.unread(f"{child.path}: {path}")
        session.account.tell(by_number(child.lines), draft, f"{child.path}: lines")
        if not rests(child.lines):
            session.child_unended()
    session.account.tell(by_number(lines), draft, "lines")
    if not ended_well(story, source.live):
        session.unended()
    _notes(story, lines)
    agent = next((own for line in spoken if (own := text(line.value.get("agentId")))), "")
    episode = f"{name}/agent-{agent}" if alone and agent else name or source.place
    draft.identity = known_as("session", name)
    if episode != name and draft.identity:
        draft.identity = f"{draft.identity}/{known_as('agent', agent)}"
    if story.models:
        draft.source["models"] = story.models
    if story.versions:
        draft.source["versions"] = story.versions
    _copied(story, lines)
    _cost(story, name, lines)
    story.theirs.drop(story.usage)  # the session's answers that a sub-agent's file repeats
    story.theirs.drop(story.copied)
    if theirs := story.theirs.total():
        draft.source["sub-agents"] = {"files": len(story.children), "usage": theirs}
        draft.note(SUB_AGENTS)
    return draft.foreign(
        episode_id=episode,
        candidate_id=source.candidate or (story.models[-1] if story.models else source.home),
        final_message=_final(story, lines),
        latency_ms=took(session),
        termination=_termination(story),
        started_at=draft.at(session.began),
        usage=story.usage.total(),
        title=session.title,
        user_request=session.title,
    )


def ended_well(story: Story, live: bool = False) -> bool:
    """Return whether the last message is an answer that asks for nothing more. In a `live` file an
    answer without a reason to stop may go on: its next block is another line."""
    if story.interrupted or story.failed:
        return True
    last = story.last
    if last is None or last.value.get("type") != "assistant":
        return False
    if story.stopped not in (None, "end_turn", "stop_sequence", "max_tokens", "refusal"):
        return False
    if live and story.stopped is None:
        return False
    return bool(story.words.get(text(last.value.get("uuid"))) or story.stopped)


def _termination(story: Story) -> str | None:
    if story.interrupted:
        return "interrupted by the user"
    if story.failed:
        return "api_error"
    return {"max_tokens": "max_output_tokens", "refusal": "content_filter"}.get(str(story.stopped))


def _final(story: Story, lines: list[Line]) -> str | None:
    """Return the last words of the branch that was kept."""
    above: dict[str, str] = {}
    leaf = ""
    for line in lines:
        own = text(line.value.get("uuid"))
        if line.value.get("type") == "last-prompt":
            pointed = text(line.value.get("leafUuid"))
            leaf = pointed if pointed in above else leaf
        elif own and line.value.get("isSidechain") is not True:
            link = line.value.get("parentUuid") or line.value.get("logicalParentUuid")
            above[own] = text(link)
            leaf = own if line.value.get("type") in SPOKEN else leaf
    seen: set[str] = set()
    while leaf and leaf not in seen:
        seen.add(leaf)
        if story.words.get(leaf, "").strip():
            return story.words[leaf]
        leaf = above.get(leaf, "")
    return story.session.draft.last_words()


def _cost(story: Story, name: str, lines: list[Line]) -> None:
    """Keep the tool's last statement of the session's cost. It is a total at some moment, often
    before the last answer, and for a copy it is not stated whose total it continues."""
    stated = [line.value for line in lines if line.value.get("type") == "cost-state"]
    costs = [measured(one.get("totalCostUSD")) for one in stated if _session(one) in ("", name)]
    if known := [cost for cost in costs if cost is not None]:
        story.session.draft.source["stated_cost_usd"] = known[-1]
        story.session.draft.note(COST)


def _notes(story: Story, lines: list[Line]) -> None:
    draft = story.session.draft
    if story.compactions:
        draft.note(COMPACTED)
    asked: dict[str, int] = {}
    for line in lines:
        value, message = line.value, mapping(line.value.get("message"))
        held = objects(message.get("content"))
        told = any(one.get("type") == "tool_result" for one in held)
        meant = value.get("type") == "user" and not told and value.get("isMeta") is not True
        if meant and value.get("isSidechain") is not True and value.get("parentUuid"):
            above = text(value["parentUuid"])
            asked[above] = asked.get(above, 0) + 1
    if any(count > 1 for count in asked.values()):
        draft.note(TAKEN_BACK)
    if any(isinstance(line.value.get("forkedFrom"), dict) for line in lines):
        draft.note(FORKED)


def _copied(story: Story, lines: list[Line]) -> None:
    """State the usage of answers that were copied from another session separately: that session
    counts them. Acts in them are evidence of both."""
    story.copied.drop(story.usage)
    if not story.forked:
        return
    marks = [mapping(line.value["forkedFrom"]) for line in lines if is_copy(line.value)]
    facts = {"session": marks[-1]["sessionId"][:80], "answers": len(story.copied)}
    story.session.draft.source["copied"] = present({**facts, "usage": story.copied.total()})
    if len(story.copied):
        story.session.draft.note(COPIED)
