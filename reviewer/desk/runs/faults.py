"""What a failed attempt's record says about the fault of its candidate that ended it."""

import msgspec

from reviewer.importing.scored import JudgedRecord
from reviewer.running.model import FinishedAttempt
from reviewer.trace.safetext import cap, visible_line

FAULT = "candidate_error"
_LONGEST = 200
_SAID = "before its final message: "


def fault_of(one: FinishedAttempt, record: JudgedRecord) -> str:
    """Return why an attempt ended by its candidate's fault, on one masked line: the last line that
    a program wrote, if any. Return "" for a record whose events may not be stored."""
    if record.trace.pack is None and not record.trace.chunks:
        return ""
    events = msgspec.json.decode(one.raw).get("events") or ()
    texts = [event.get("message") for event in events if event.get("kind") == "error"]
    text = texts[-1] if texts and isinstance(texts[-1], str) else ""
    last = text.partition(_SAID)[2].partition(" / ")[0]
    return cap(visible_line(last or text), _LONGEST)
