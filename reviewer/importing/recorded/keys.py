"""Which tools read and which write, and which arguments distinguish the calls of a tool. Pure.

An argument that is new in every call (an id of a request, a time, words of the model) is volatile:
if it were compared, no later call would find its recorded answer.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from reviewer.importing.draft import clock
from reviewer.importing.recorded import NotUsable
from reviewer.importing.recorded.marks import Marks
from reviewer.importing.recorded.story import Made, Said, Story
from reviewer.suite.errors import shown

Acts = Literal["read", "write", "unknown"]
Key = tuple[str, str]
"""A tool, and its arguments that are not volatile as canonical JSON."""

_READS = frozenset(
    (
        *("get", "list", "search", "find", "read", "fetch", "lookup", "look", "query", "check"),
        *("calculate", "compute", "describe", "show", "view", "count", "think", "status", "glob"),
        *("grep", "ls", "cat", "load", "retrieve", "inspect", "validate", "verify", "estimate"),
        *("quote", "preview", "compare", "summarize", "classify", "browse", "open", "is", "has"),
    )
)
_WRITES = frozenset(
    (
        *("cancel", "create", "update", "delete", "remove", "add", "set", "send", "book", "modify"),
        *("issue", "refund", "pay", "charge", "transfer", "write", "edit", "insert", "post", "put"),
        *("patch", "submit", "apply", "exchange", "return", "grant", "revoke", "enable", "disable"),
        *("reset", "move", "rename", "approve", "reject", "close", "assign", "upload", "publish"),
        *("reserve", "buy", "sell", "schedule", "reschedule", "register", "save", "drop"),
        *("start", "stop", "escalate", "notify", "change", "replace"),
    )
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES = frozenset(
    (
        *("requestid", "idempotencykey", "traceid", "spanid", "correlationid", "timestamp"),
        *("nonce", "cursor", "clientrequestid", "pagetoken"),
    )
)
_WORDY = frozenset(
    (
        *("summary", "reason", "thought", "thoughts", "reasoning", "comment", "comments", "note"),
        *("notes", "explanation", "rationale", "justification", "thinking"),
    )
)
_MADE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{16,}|[0-9A-F]{16,}",
)
_LONG = 40
_NEAR = timedelta(days=1)


def acts_of(tool: str, marks: Marks) -> Acts:
    """Return whether a tool reads or writes: by the person's mark, else by its name."""
    if tool in marks.reads:
        return "read"
    if tool in marks.writes:
        return "write"
    words = [word.lower() for word in _WORDS.findall(tool.rpartition(".")[2])]
    for word in words[:3]:
        if word in _READS:
            return "read"
        if word in _WRITES:
            return "write"
    return "unknown"


class Keys:
    """Which arguments of each tool are volatile, over all stories."""

    def __init__(self, stories: Iterable[Story], marks: Marks) -> None:
        named = _named(marks.volatile, "volatile")
        kept = _named(marks.keys, "key")
        self.volatile: dict[str, dict[str, str]] = {}
        """Tool → argument → why it is volatile."""
        for story in stories:
            seen: list[str] = []
            for step in story.steps:
                if isinstance(step, Said):
                    seen.append(step.text)
                    continue
                for name, value in step.arguments.items():
                    if name in self.volatile.get(step.tool, ()) or _has(kept, step.tool, name):
                        continue
                    why = "named" if _has(named, step.tool, name) else ""
                    why = why or _why(step, name, value, story.started_at, marks)
                    if why and (why == "named" or not _met(value, seen)):
                        self.volatile.setdefault(step.tool, {}).setdefault(name, why)
                seen.append(json.dumps(step.answer, ensure_ascii=False))

    def of(self, call: Made) -> dict[str, Any]:
        """Return the arguments of a call that distinguish it."""
        return self.lasting(call.tool, call.arguments)

    def lasting(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        loose = self.volatile.get(tool, {})
        return {name: value for name, value in arguments.items() if name not in loose}

    def key(self, call: Made) -> Key:
        return self.key_of(call.tool, call.arguments)

    def key_of(self, tool: str, arguments: Mapping[str, Any]) -> Key:
        return tool, canonical(self.lasting(tool, arguments))


def canonical(value: Any) -> str:
    """Return a JSON value as text that is the same for equal values."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(held) for name, held in value.items()}
    return [_plain(held) for held in value] if isinstance(value, list) else value


def _named(texts: Iterable[str], mark: str) -> set[tuple[str, str]]:
    found = set()
    for text in texts:
        tool, _, name = text.rpartition(".")
        if not name:
            raise NotUsable(f"--{mark} {shown(text)}: is no ARGUMENT and no TOOL.ARGUMENT")
        found.add((tool, name))
    return found


def _has(named: set[tuple[str, str]], tool: str, name: str) -> bool:
    return (tool, name) in named or ("", name) in named


def _met(value: Any, seen: list[str]) -> bool:
    """Return whether the agent got a value from the world or the user: it must pass such a value on
    unchanged, so it is not volatile."""
    text = str(value)
    return bool(text) and any(text in one for one in reversed(seen))


def _why(call: Made, name: str, value: Any, started: str | None, marks: Marks) -> str:
    """Return why an argument looks volatile, "" where it does not."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)
    folded = name.replace("_", "").replace("-", "").lower()
    if folded in _NAMES:
        return "its name"
    if isinstance(value, str) and _MADE.fullmatch(text):
        return "an id that the agent made"
    if _is_now(value, started):
        return "a time close to the call's"
    says_nothing = call.answer in (None, "", [], {}) or not isinstance(call.answer, dict | list)
    wordy = folded in _WORDY or (len(text) > _LONG and " " in text)
    if isinstance(value, str) and wordy and (acts_of(call.tool, marks) != "read" or says_nothing):
        return "words of the agent"
    return ""


def _is_now(value: Any, started: str | None) -> bool:
    if started is None:
        return False
    one, other = _moment(value), _moment(started)
    return one is not None and other is not None and abs(one - other) <= _NEAR


def _moment(value: Any) -> datetime | None:
    text, kind = clock(value)
    if text is None or not kind:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
