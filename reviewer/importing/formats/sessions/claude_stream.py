"""Claude Code's `--output-format stream-json`, and the `result` object that `json` gives alone.

Lines of a sub-agent name the call that started it (`parent_tool_use_id`). The tokens on answers are
partial; the run's tokens are in `result`, for the main agent alone, beside the cost of all.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import measured
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import mapping, objects, text
from reviewer.importing.formats.sessions import (
    Line,
    SessionFormat,
    by_number,
    known_as,
    lines_of,
    rows,
)
from reviewer.importing.formats.sessions.claude_story import SPOKEN, Story, missing_of
from reviewer.importing.head import Head
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_KNOWN = (
    *("system", "result", "stream_event", "rate_limit_event"),
    *("control_request", "control_response"),
)
_ENDS = {
    "error_max_turns": "max_turns",
    "error_max_budget_usd": "cost_limit",
    "error_during_execution": "error",
}
ONLY_TOTALS = "the file has the end of the run alone: what the agent did is not in it"
PARTIAL = "there is no result line: tokens and cost are not measured"
SEVERAL = "the run was asked several times: its tokens are not measured, its cost is the last one"


def is_line(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a stream."""
    if "session_id" not in value:
        return False
    kind = value.get("type")
    if kind in SPOKEN:
        return isinstance(value.get("message"), dict) and "parent_tool_use_id" in value
    if kind == "result":
        return "subtype" in value and "num_turns" in value
    return kind == "system" and value.get("subtype") == "init"


class ClaudeStreamReader(SessionFormat):
    name = "claude-code-stream-json"
    tool = "claude-code"
    facts = FormatFacts(
        by="lines with `session_id` and `type`, or a `result` alone",
        steps="yes; a `result` alone has none and is not measured",
        times="what the tools returned, and the whole run",
        cost="yes",
        tokens="the main agent's, as the result states them",
        attempt="no: one for each session",
    )

    def sniff(self, head: Head) -> bool:
        return any(is_line(row) for row in rows(head))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        found = lines_of(source)
        sessions: dict[str, list[Line]] = {}
        for line in found.lines:
            sessions.setdefault(text(line.value.get("session_id")), []).append(line)
        if len(sessions) > 1 and "" in sessions:  # records of unknown kinds, of any of them
            loose = sessions.pop("")
            for lines in sessions.values():
                lines.extend(loose)
        for name, lines in sessions.items():
            yield source.attempt(partial(_attempt, source, name, lines, found.broken), name)


def _attempt(source: Source, name: str, lines: list[Line], broken: list[str]) -> Foreign:
    story = Story([], "claude-code-stream-json")
    session, draft, account = story.session, story.session.draft, story.session.account
    results: list[dict[str, Any]] = []
    models: list[str] = []
    inside: list[Line] = []
    for line in lines:
        value, kind = line.value, line.value.get("type")
        if kind in SPOKEN and isinstance(value.get("message"), dict):
            inside.append(_line(line))
            story.tell(inside[-1:])
            account.read(value, ("message", "tool_use_result"))
            account.whole(value.get("tool_use_result"))
        elif kind == "result":
            results.append(value)
        elif kind == "system" and value.get("subtype") == "init":
            models += [model for model in [text(value.get("model"))] if model]
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            story.compactions += 1
        elif kind not in _KNOWN:
            session.odd(kind)
    final = _final(results)
    if not inside and final is not None:
        session.say("agent", final)
    session.write()
    for line in lines:
        if line.value.get("type") == "stream_event":  # pieces of answers that follow complete
            block = mapping(mapping(line.value.get("event")).get("content_block"))
            if "id" not in block or text(block.get("id")) in session.seqs:
                account.whole(line.value)
    _missing(story, inside)
    for path in broken:
        draft.unread(path)
    account.tell(by_number(lines), draft, "lines")
    if not inside:
        draft.unread("events")
        draft.note(ONLY_TOTALS)
    last = results[-1] if results else {}
    if not results:
        draft.note(PARTIAL)
        session.unended()
    elif len(results) > 1:
        draft.note(SEVERAL)
    stated = ("subtype", "num_turns", "is_error")
    facts: dict[str, Any] = {one: last[one] for one in stated if one in last}
    if denied := objects(last.get("permission_denials")):
        facts["permission_denials"] = len(denied)
    draft.source.update(facts)
    if isinstance(last.get("modelUsage"), dict):
        models += [str(model) for model in last["modelUsage"]]
    draft.identity = known_as("session", name)
    title = session.title
    return draft.foreign(
        episode_id=name or source.place,
        candidate_id=source.candidate or next(iter((*models, *story.models)), source.home),
        final_message=final or draft.last_words(),
        cost_usd=measured(last.get("total_cost_usd")),
        latency_ms=last.get("duration_ms") if len(results) == 1 else None,
        termination=_termination(last) if last else None,
        usage=tokens_of(last.get("usage")) if len(results) == 1 else None,
        title=title,
        user_request=title,
    )


def _line(line: Line) -> Line:
    """Return the line in the form of a session's file."""
    value = line.value
    own = {
        "sessionId": value.get("session_id"),
        "isSidechain": value.get("parent_tool_use_id") is not None,
        "isMeta": value.get("isSynthetic") is True,
        "isApiErrorMessage": isinstance(value.get("error"), str),
        "toolUseResult": value.get("tool_use_result"),
        "parentToolUseID": value.get("parent_tool_use_id"),
    }
    named = ("type", "uuid", "message", "timestamp")
    kept: dict[str, Any] = {name: value[name] for name in named if name in value}
    return Line(line.number, {**kept, **own})


def _missing(story: Story, lines: list[Line]) -> None:
    """Note each sub-agent without any lines."""
    there = {text(line.value.get("parentToolUseID")) for line in lines}
    for own in there:
        story.spawned.pop(own, None)
    missing_of(story, lines, there)


def _final(results: list[dict[str, Any]]) -> str | None:
    told = [text(one.get("result")) for one in results if one.get("is_error") is not True]
    return next((one for one in reversed(told) if one.strip()), None)


def _termination(last: dict[str, Any]) -> str | None:
    subtype = text(last.get("subtype"))
    if subtype == "success":
        return "error" if last.get("is_error") is True else None
    return _ENDS.get(subtype, subtype[:80] or None)
