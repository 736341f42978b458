"""A native trace under construction: what every reader of foreign files does in the same way.

Calls and results are paired here once for all formats: by id where ids are unique, by position
where they repeat or are missing. Small functions below handle zeros that mean "not measured" and
clocks of unknown zones.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import msgspec

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.reader import Foreign, Rejected
from reviewer.trace import late
from reviewer.trace.record import SourceVerdict
from reviewer.trace.strictjson import has_repeats

Status = Literal["ok", "error", "timeout", "denied", "pending"]
IDENTIFIER = 512
ZEROS = "all token counts are 0: they were not measured, and neither was a cost of 0 with them"
UNNAMED = "unnamed"
_ENDS_TASK = "attempt_completion"
"""The tool of Cline, Roo Code and Kilo Code whose `result` is what their user reads at the end."""
MOST_UNREAD = 64
"""Most paths of unread parts that are kept for one record; a single one makes it not measured."""
ABSENT = " (no such file)"
"""Ends the path of a part that was not read because its file does not exist."""
CUT = " (cut off)"
"""Ends the path of a part that was not read because the file ends before it: the session may go
on."""
COMES = (ABSENT, CUT)
"""Ends of paths of parts that may come later."""
EXACT = 1 << 63
"""Whole numbers from here on are stored as the nearest double."""
UNREAD = (
    "parts that may be acts were not understood (unread:<path> in the findings): authority, "
    "process and state are not measured"
)
_encode = msgspec.json.Encoder().encode


_REPEATED_ID = late(r"~\d+\Z")
"""What a draft appends to an id that occurs twice in the source."""


def plain_id(event: dict[str, Any]) -> str | None:
    """Return the id of a call or result as its source has it; None where it has none."""
    own = event.get("call_id")
    if not own:
        return None
    return _REPEATED_ID.sub("", own) if "~" in own else str(own)


class CallIndex:
    """The calls of a draft by tool, and by id where they have one, and the ids that were answered,
    among its first `upto` events."""

    def __init__(self) -> None:
        self.calls: dict[str, list[dict[str, Any]]] = {}
        self.named: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.answered: set[str] = set()
        self.upto = 0

    def take(self, events: list[dict[str, Any]]) -> None:
        """Index the events that were added since the last call."""
        for event in islice(events, self.upto, None):
            if event["kind"] == "tool_call":
                self.calls.setdefault(event["tool"], []).append(event)
                if own := plain_id(event):
                    self.named.setdefault((event["tool"], own), []).append(event)
            elif event["kind"] == "tool_result" and (own := plain_id(event)):
                self.answered.add(own)
        self.upto = len(events)


class Draft:
    """Events of one attempt, in order, and notes on what was missing or doubtful.

    `answers` says whether the format records what calls returned: if so, a call without a result is
    `pending`; if not, its status stays unknown.
    """

    def __init__(self, format_name: str, *, answers: bool = True) -> None:
        self.events: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.source: dict[str, Any] = {"format": format_name}
        self.clocks: set[str] = set()
        self._unread: dict[str, int | None] = {}
        self.replaces: tuple[int, int] | None = None
        self.identity = ""
        self.names: tuple[str, ...] = ()
        """Names as in `Foreign`."""
        self._asides: list[str] = []
        self._index = CallIndex()
        self._calls = self._counted = 0
        self._answers = answers
        self._open: list[tuple[str | None, dict[str, Any]]] = []
        self._ids: dict[str, int] = {}

    def note(self, text: str) -> None:
        """Note once what was missing or doubtful, without raw values."""
        if text not in self.notes:
            self.notes.append(text)

    def aside(self, text: str) -> None:
        """Note what other files state about this attempt: reported by the import, and not part of
        the record, whose evidence is the same whenever those files arrive."""
        if text not in self._asides:
            self._asides.append(text)

    def unread(self, path: str, seq: int | None = None) -> None:
        """Note that the part at `path` of the source's record may be an act and was not understood:
        authority, process and state of this attempt are then not measured. `seq` is the event it
        belongs to, by default the one before it (the first, where no event was read yet). The path
        has member names and places, never values."""
        if seq is None:
            seq = len(self.events) or None
        if len(self._unread) < MOST_UNREAD:
            self._unread.setdefault(path[:IDENTIFIER] or "record", seq)

    def absent(self, name: str) -> None:
        """Note, as `unread`, a missing file that would show what the agent did. It may come later,
        and the attempt is then complete."""
        self.unread(f"{name}{ABSENT}")

    def message(self, actor: str, text: Any, **more: Any) -> dict[str, Any]:
        """Add a message: `actor` is `user`, `simulated_user`, `agent`, `system` or a name. Text may
        be a string, a list of content parts, or any JSON."""
        return self._add({"kind": "message", "actor": actor, "message": words(text)}, more)

    def call(
        self,
        tool: Any,
        arguments: Any,
        call_id: Any = None,
        actor: str = "agent",
        **more: Any,
    ) -> dict[str, Any]:
        """Add a tool call. Arguments may be an object or a JSON text of one; anything else is
        kept under `unparsed`. Such a call, and one without a name, counts as not understood
        (`unread`)."""
        if name_of(tool) == UNNAMED:
            self.unread(f"calls[{self.calls()}].name", len(self.events) + 1)
        event = {
            "kind": "tool_call",
            "actor": actor,
            "tool": name_of(tool),
            "arguments": self.arguments(arguments),
        }
        own = str(call_id) if call_id not in (None, "") else None
        if own is not None:
            event["call_id"] = self._unique(own)
        self._open.append((own, event))
        return self._add(event, more)

    def result(
        self,
        observation: Any,
        call_id: Any = None,
        tool: Any = None,
        status: Status | None = None,
        *,
        loose: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """Add what a call returned. It goes to the oldest open call of that id; without an id, or
        with one that no open call has, to the oldest open call (of that tool, if it is named).
        `loose` means that it answers no call: for example the output of a test or a terminal."""
        own = str(call_id) if call_id not in (None, "") else None
        call = None if loose else self._answered(own, tool)
        event: dict[str, Any] = {"kind": "tool_result", "observation": observation}
        if call is not None:
            event["tool"] = call["tool"]
            if call.get("actor") not in (None, "agent"):
                event["actor"] = call["actor"]
            if "call_id" not in call:
                call["call_id"] = self._unique(f"call-{len(self.events)}")
            event["call_id"] = call["call_id"]
            call.pop("status", None)
        else:
            event["tool"] = name_of(tool)
            if own is not None:
                event["call_id"] = own[:IDENTIFIER]
            if not loose:
                self.note("a tool result answers no earlier call")
                self.unread(f"results[{len(self.events)}].call", len(self.events) + 1)
        if status is not None:
            event["status"] = status
        return self._add(event, more)

    def settle(self) -> None:
        """Close the calls that are still open: no result can come any more, and it is unknown
        whether they had one."""
        self._open.clear()

    def error(self, text: Any, **more: Any) -> dict[str, Any]:
        """Add an error outside any call."""
        return self._add({"kind": "error", "status": "error", "message": words(text)}, more)

    def approval(self, approval: Any, call_id: Any = None, **more: Any) -> dict[str, Any]:
        """Add a person's or a rule's decision on a call: `{"decision": ..., "approver": ...}`."""
        event: dict[str, Any] = {"kind": "approval", "approval": approval}
        if call_id not in (None, ""):
            event["call_id"] = str(call_id)[:IDENTIFIER]
        return self._add(event, more)

    def state(self, state: Any, **more: Any) -> dict[str, Any]:
        """Add a snapshot of the state of the environment."""
        return self._add({"kind": "state_snapshot", "state": state}, more)

    def arguments(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments of the next call as an object."""
        if arguments == "":
            return {}
        if arguments is None:
            self.unread(f"calls[{self.calls()}].arguments", len(self.events) + 1)
            return {}
        value = parse_text(arguments) if isinstance(arguments, str) else arguments
        if isinstance(value, dict):
            if has_repeats(value):
                self.unread(f"calls[{self.calls()}].arguments", len(self.events) + 1)
            return value
        self.unread(f"calls[{self.calls()}].arguments", len(self.events) + 1)
        self.note("arguments of a call are not a JSON object: kept as text")
        return {"unparsed": arguments}

    def at(self, stamp: Any) -> str | None:
        """Return a time as text, and remember its kind of clock in `clocks`."""
        text, kind = clock(stamp)
        if text is not None:
            self.clocks.add(kind)
        return text

    @property
    def waiting(self) -> bool:
        """Return whether a call has no result yet."""
        return bool(self._open)

    def index(self) -> CallIndex:
        """Return the present calls by tool. Events are only ever added, and keep their kind and
        their tool."""
        self._index.take(self.events)
        return self._index

    def calls(self) -> int:
        """Return the present number of tool calls."""
        events = self.events
        if self._counted < len(events):
            fresh = islice(events, self._counted, None)
            self._calls += sum(event["kind"] == "tool_call" for event in fresh)
            self._counted = len(events)
        return self._calls

    def last_words(self, actor: str = "agent") -> str | None:
        """Return the last message of `actor` that is not empty, or the message that it gave to the
        tool that ends a task."""
        for event in reversed(self.events):
            if event["kind"] == "tool_call" and event["tool"] == _ENDS_TASK:
                text = event["arguments"].get("result")
                if isinstance(text, str) and text.strip() and event.get("actor") == actor:
                    return text.strip()
            if event["kind"] == "message" and event.get("actor") == actor:
                text = event["message"]
                if isinstance(text, str) and text.strip():
                    return text
        return None

    def foreign(
        self,
        *,
        episode_id: Any,
        candidate_id: Any,
        attempt: int | None = None,
        final_state: Any = None,
        final_message: str | None = None,
        cost_usd: float | None = None,
        latency_ms: float | None = None,
        termination: str | None = None,
        started_at: str | None = None,
        usage: dict[str, Any] | None = None,
        verdict: SourceVerdict | None = None,
        title: str = "",
        user_request: str = "",
        suite: str = "",
        start_state_digest: str | None = None,
    ) -> Foreign:
        """Build the native record. Raises Rejected (`missing:episode_id`, `not_json`)."""
        if episode_id in (None, ""):
            raise Rejected("missing:episode_id")
        if self._answers:
            for _, call in self._open:
                call.setdefault("status", "pending")
        if usage and not any(usage.values()):
            self.note(ZEROS)
            usage, cost_usd = None, measured(cost_usd)
        if self.identity:
            self.source["session"] = self.identity[:IDENTIFIER]
        if self.clocks:
            self.source["clock"] = ", ".join(sorted(self.clocks))
        if self.notes:
            self.source["notes"] = self.notes
        record: dict[str, Any] = {
            "episode_id": str(episode_id)[:IDENTIFIER],
            "candidate_id": (str(candidate_id) if candidate_id else "unnamed")[:IDENTIFIER],
            "attempt": attempt,
            "events": self.events,
            "final_state": final_state,
            "final_message": final_message,
            "cost_usd": amount(cost_usd),
            "latency_ms": amount(latency_ms),
            "termination": termination,
            "started_at": started_at,
            "start_state_digest": start_state_digest,
            "source": self.source,
        }
        if usage:
            record["usage"] = usage
        if self._unread:
            last = len(self.events)
            record["unread"] = [
                {"path": path, "seq": min(seq, last) if seq and last else None}
                for path, seq in self._unread.items()
            ]
            self.aside(UNREAD)
        kept = {name: value for name, value in record.items() if value is not None}
        kept.update(final_state=final_state, cost_usd=record["cost_usd"])
        kept.update(latency_ms=record["latency_ms"])
        notes = (*self.notes, *self._asides)
        return Foreign(
            encoded(kept),
            verdict,
            notes,
            title[:200],
            user_request,
            suite,
            self.replaces,
            self.identity[:IDENTIFIER],
            self.names,
        )

    def _add(self, event: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        for name, value in more.items():
            if name in ("latency_ms", "cost_usd"):
                value = amount(value)
            elif name == "at":
                name, value = "started_at", self.at(value)
            if value is not None:
                event[name] = value
        self.events.append(event)
        return event

    def _unique(self, own: str) -> str:
        times = self._ids[own] = self._ids.get(own, 0) + 1
        if times == 1:
            return own[:IDENTIFIER]
        self.note("call ids repeat: results are paired to calls by position")
        return f"{own[: IDENTIFIER - 12]}~{times}"

    def _answered(self, own: str | None, tool: Any) -> dict[str, Any] | None:
        places = range(len(self._open))
        found = [n for n in places if own is not None and self._open[n][0] == own]
        if not found:
            loose = [n for n in places if own is None or self._open[n][0] is None]
            found = [n for n in loose if not tool or self._open[n][1]["tool"] == name_of(tool)]
        return self._open.pop(found[0])[1] if found else None


def encoded(value: Any) -> bytes:
    """Return the JSON bytes of a value; lone surrogates are replaced. Raises Rejected."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_cleaned(value))
    except (TypeError, ValueError, RecursionError):
        raise Rejected("not_json:record") from None


_LONE = late("[\ud800-\udfff]")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(one) for name, one in value.items()}
    return value


def name_of(tool: Any) -> str:
    """Return a tool's name as an identifier; `unnamed` when there is none."""
    return tool[:IDENTIFIER] if isinstance(tool, str) and tool.strip() else UNNAMED


def words(content: Any) -> Any:
    """Return the text of a message in the forms that chat formats use: a string, content parts, or
    any JSON as it is. Parts that are not text (images, audio) become `[image]` and the like."""
    if content is None:
        return ""
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return content["text"]
    if not isinstance(content, list):
        return content
    if not all(isinstance(part, (str, dict)) for part in content):
        return content
    return "\n".join(_part(part) for part in content)


def _part(part: str | dict[str, Any]) -> str:
    if isinstance(part, str):
        return part
    for name in ("text", "content", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    kind = part.get("type")
    return f"[{kind}]" if isinstance(kind, str) else "[part]"


def amount(value: Any) -> float | None:
    """Return a finite number from 0, else None."""
    if type(value) is float:
        return value if 0 <= value < math.inf else None
    if type(value) is int and 0 <= value < EXACT:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not finite(value) or value < 0:
        return None
    return float(value) if value >= EXACT and isinstance(value, int) else value


def figure(value: Any) -> float | None:
    """Return a finite number of any sign, as a score may be; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not finite(value):
        return None
    return float(value) if isinstance(value, int) and abs(value) >= EXACT else value


def finite(number: float) -> bool:
    """Return whether a double can represent the number. A JSON text may have 4,300 digits, and
    `math.isfinite` of such a number raises OverflowError."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def measured(value: Any) -> float | None:
    """Return the `amount` from a source that writes 0 where nothing was measured: zero becomes None
    too."""
    return amount(value) or None


def whole(value: Any) -> int | None:
    """Return a whole number from 0, also one written as a float or as text, else None."""
    if type(value) is int and 0 <= value < EXACT:
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    number = amount(value)
    return None if number is None or number != int(number) else int(number)


def added(values: Sequence[float | None]) -> float | None:
    """Return the sum of values; None when there are none or one of them is not known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else None


def tokens(**counts: Any) -> dict[str, int] | None:
    """Return the known token counts: `input_tokens`, `output_tokens`, `cached_tokens`,
    `cache_write_tokens`, `reasoning_tokens`, `total_tokens`; None when none is known."""
    found = {name: number for name, value in counts.items() if (number := whole(value)) is not None}
    return found or None


def at_least(counts: dict[str, int] | None, counted: int, replies: int) -> dict[str, Any] | None:
    """Mark token counts as a lower bound where some replies have none."""
    if not counts or counted >= replies:
        return counts
    return {**counts, "lower_bound": True, "replies": replies, "replies_counted": counted}


def summed(usages: Sequence[dict[str, int] | None], unseen: int = 0) -> dict[str, Any] | None:
    """Sum the token counts of several replies (None: a reply without counts); the sum is marked as
    a lower bound where a reply has none, or `unseen` further replies were made. A reply whose
    counts are all zero was not measured."""
    known = [one for one in usages if one and any(one.values())]
    total: dict[str, int] = {}
    for one in known:
        for name, number in one.items():
            total[name] = total.get(name, 0) + number
    return at_least(total, len(known), len(usages) + max(0, unseen))


_USUAL = late(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|\+00:00)")
"""Times in UTC as most programs write them."""
_NAIVE = late(r"\d{4}-?\d\d-?\d\d[T @]?\d\d:?\d\d(:?\d\d)?([.,]\d+)?")
_NUMBER = late(r"\d{9,20}(\.\d+)?")
_ZONED = late(r"(Z|UTC|[+-]\d\d:?\d\d)\s*\Z", re.IGNORECASE)


def clock(stamp: Any) -> tuple[str | None, str]:
    """Return (text, kind) of a time: `utc` and `offset` are as written; `epoch` numbers (seconds,
    ms, µs or ns by their size) become RFC 3339 in UTC; `unstated` is a text without a zone, kept as
    it is: its zone is unknown. (None, "") for a value that is no time."""
    return _known_clock(stamp) if type(stamp) is str and len(stamp) <= _STAMP else _clock(stamp)


def _clock(stamp: Any) -> tuple[str | None, str]:
    if type(stamp) is str and _USUAL.fullmatch(stamp):
        return stamp, "utc"
    if isinstance(stamp, str) and _NUMBER.fullmatch(stamp):
        stamp = float(stamp) if "." in stamp else int(stamp)
    if isinstance(stamp, bool):
        return None, ""
    if isinstance(stamp, (int, float)):
        text = _epoch(stamp)
        return (text, "epoch") if text else (None, "")
    if not isinstance(stamp, str) or not _NAIVE.match(stamp) or len(stamp) > _STAMP:
        return None, ""
    zone = _ZONED.search(stamp)
    if zone is None:
        return stamp, "unstated"
    return stamp, "utc" if zone.group(1).upper() in ("Z", "UTC", "+00:00", "+0000") else "offset"


_STAMP = 64
_known_clock = lru_cache(maxsize=1024)(_clock)
"""Cached: a time is parsed when it is written, and again for durations."""


@lru_cache(maxsize=1024)
def _epoch(number: float) -> str | None:
    seconds = _seconds(number)
    try:
        moment = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if moment is None:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def elapsed_ms(start: Any, end: Any) -> float | None:
    """Return the milliseconds from one time to another of the same kind of clock; None across
    kinds, when one is not a time, or when the second is earlier."""
    if isinstance(start, (int, float)) and isinstance(end, (int, float)):
        first, last = _seconds(start), _seconds(end)
        return amount((last - first) * 1000) if first is not None and last is not None else None
    one, kind = clock(start)
    two, other = clock(end)
    if one is None or two is None or (kind == "unstated") != (other == "unstated"):
        return None
    began, ended = _moment(one), _moment(two)
    if began is None or ended is None:
        return None
    return amount((ended - began) / timedelta(milliseconds=1))


def _seconds(number: float) -> float | None:
    """Return, in seconds, a number of seconds, ms, µs or ns since 1970, distinguished by its
    size."""
    if isinstance(number, bool) or not finite(number) or number <= 0:
        return None
    scale = next((s for s, top in ((1, 1e11), (1e3, 1e14), (1e6, 1e17)) if number < top), 1e9)
    return number / scale


_UTC = late(r"\s*UTC\Z", re.IGNORECASE)
_FINER = late(r"(\.\d{6})\d+")  # nanoseconds
_COMPACT = late(r"(\d{4})(\d\d)(\d\d)[@T ](\d\d)(\d\d)(\d\d)(\d*)")


def _moment(text: str) -> datetime | None:
    return _known_moment(text) if len(text) <= _STAMP else _moment_of(text)


def _moment_of(text: str) -> datetime | None:
    if _USUAL.fullmatch(text):
        with suppress(ValueError):
            return datetime.fromisoformat(text)
        return None
    compact = _COMPACT.fullmatch(text)
    if compact:
        year, month, day, hour, minute, second, fraction = compact.groups()
        text = f"{year}-{month}-{day}T{hour}:{minute}:{second}"
        text += f".{fraction[:6]}" if fraction else ""
    text = text.strip()
    if text[-1:] in "Cc":
        text = _UTC.sub("Z", text)
    text = _FINER.sub(r"\1", text.replace(",", "."))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_known_moment = lru_cache(maxsize=1024)(_moment_of)
