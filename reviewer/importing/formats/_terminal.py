"""Terminal recordings (asciicast 2 and 3) as evidence: what was typed, and what the screen said.

A recording does not tell who typed: the harness starts the agent through the same terminal. So
its events show what happened there and are no account of the agent's own tool calls.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._folder import clipped

TOOL = "terminal"
RECORDING = "sessions/agent.cast"
SHOWN = 32 * 1024
"""Characters kept of what the screen said in one go."""
MOST_SHOWN = 4 << 20
"""Characters kept of a whole recording."""
PAUSE_S = 2.0
"""What the screen said is cut where it stood still this long: an agent that was started once works
on behind one input."""


class _Moment(NamedTuple):
    """One event of a recording: seconds from its start, `i`, `o` or `m`, and the text."""

    at: float
    kind: str
    text: str


def recorded(draft: Draft, text: str) -> None:
    """Tell a recording into the draft: inputs as calls of `terminal`, what follows them as their
    results, markers as the agent's messages."""
    head, _, rest = text.partition("\n")
    header = parse_text(head)
    if not isinstance(header, dict) or header.get("version") not in (2, 3):
        draft.note("the terminal recording is in a form that is not read")
        draft.unread(RECORDING)
        return
    moments = list(_moments(rest, header["version"] == 3, draft))
    last = moments[-1].at if moments else 0.0
    draft.source["recording"] = {"events": len(moments), "seconds": last}
    draft.note("terminal recordings show keys and screen, not the agent's own tool calls")
    origin = header.get("timestamp")
    start = origin if isinstance(origin, (int, float)) and not isinstance(origin, bool) else None
    left = MOST_SHOWN
    for group in _groups(moments):
        left -= min(len(group.text), SHOWN)
        if left < 0:
            draft.note("the recording is long: its end was left out")
            draft.unread(RECORDING)
            break
        _tell(draft, group, None if start is None else start + group.at)
    draft.settle()


def _moments(text: str, relative: bool, draft: Draft) -> Iterator[_Moment]:
    clock = 0.0
    for number, line in enumerate(text.split("\n"), 2):
        if not line.strip() or line.startswith("#"):
            continue
        value = parse_text(line)
        if not _is_moment(value):
            draft.note("lines of the recording that cannot be read were left out")
            draft.unread(f"{RECORDING}:{number}")
            continue
        clock = clock + value[0] if relative else value[0]
        yield _Moment(clock, value[1], value[2])


def _is_moment(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3 or isinstance(value[0], bool):
        return False
    at, kind, text = value
    timed = isinstance(at, (int, float)) and math.isfinite(at) and at >= 0
    return timed and isinstance(kind, str) and isinstance(text, str)


def _groups(moments: list[_Moment]) -> Iterator[_Moment]:
    """Runs of one kind as one moment each, at the time of their first."""
    held: list[str] = []
    first = last = _Moment(0.0, "", "")
    for one in moments:
        if one.kind not in ("i", "o", "m"):
            continue
        paused = one.kind == "o" and one.at - last.at > PAUSE_S
        if held and (one.kind != first.kind or one.kind == "m" or paused):
            yield first._replace(text="".join(held))
            held = []
        first = one if not held else first
        held.append(one.text)
        last = one
    if held:
        yield first._replace(text="".join(held))


def _tell(draft: Draft, group: _Moment, at: float | None) -> None:
    text = clipped(group.text, SHOWN)
    if text != group.text:
        draft.note("long stretches of the terminal's text were cut in their middle")
    if group.kind == "i":
        draft.settle()
        draft.call(TOOL, {"keystrokes": text}, actor=TOOL, at=at)
    elif group.kind == "m":
        draft.message("agent", text, at=at)
    else:
        draft.result(text, tool=TOOL, loose=not draft.waiting, actor=TOOL, at=at)
