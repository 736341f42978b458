"""Final messages as they are labeled, and files of labels and judgments."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError, ways_out
from reviewer.tui.widgets.lines import Block, Span
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.labels.api import SideEvidence


MISSING = "○ no final message in this trace"


_ALIKE = re.compile(
    r"""^(?:
        [^\n]*<[ ]*/?[ ]*
            (?:left|right|message|request|user_request|criteria|observations)\b[^<>\n]*>
        | (?:[^\w\n]|_)*(?:left|right|final[ ]message|user[ ]request)(?:[^\w\n]|_)*$
        | [ \t]*[─━═│┃┊]
    )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""Lines with a tag that prompts put around a text, lines with nothing but the name of a side, or
lines that begin like a rule or a fence."""


def blocks(text: str | None) -> list[Block]:
    """Return a message as it is shown, after its fence; a missing message is reported."""
    return [Block(MISSING, "not_measured")] if not text else [Block(text, quoted=True)]


def done_blocks(side: "SideEvidence | None") -> list[Block]:
    """Return the acts before a message, each call followed by its result, all of it after the
    fence."""
    if side is None:
        return [Block("reading…", "dim")]
    told: list[Block] = []
    called = ""
    for line in side.lines:
        if line.kind == "call":
            mark = "◆" if line.by_user else "→"
            called, head = line.tool, f"{line.number:>5} {mark} "
            words = f"{line.tool}  {line.text}".rstrip()
        else:
            head = f"{_RESULT.get(line.kind) or line.status or 'got':>7} "
            named = line.tool and line.tool != called
            words = f"{line.tool}: {line.text}" if named else line.text
        told.append(Block(words, head=[Span(head, "dim")], quoted=True))
    if side.left_out:
        told.append(Block(f"{plural(side.left_out, 'event')} between are left out", "not_measured"))
    if side.missing:
        told.append(Block(side.missing, "not_measured"))
    if side.end_state:
        told.append(Block(side.end_state, head=[Span("    end ", "dim")], quoted=True))
    else:
        told.append(Block("no end state is recorded", "not_measured"))
    return told


_RESULT = {"approval": "asked", "error": "error"}


def alike(text: str | None) -> list[Span]:
    """Return the warning above a text that imitates the screen's or a prompt's own lines."""
    count = sum(1 for _ in _ALIKE.finditer(text or ""))
    return [Span(f"{plural(count, 'line')} like ours, fenced", "quarantined")] if count else []


def file_name(what: str, suite_id: str) -> str:
    """Return the name to offer for a file of `what`."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in suite_id)
    return f"{what}-{safe}.jsonl"


def export_labels(desk: "Desk", suite_id: str, name: str) -> str:
    """Write all labels of a suite to a new file."""
    return _written(desk.labels.export(suite_id), "label", name)


def export_judgments(desk: "Desk", suite_id: str, name: str) -> str:
    """Write all answers of a suite's judges to a new file."""
    return _written(desk.judge.export(suite_id), "judgment", name)


def _written(data: bytes, noun: str, name: str) -> str:
    """Write a new file and return the words for it. Raises DeskError when it cannot be written or
    exists already: files that were handed out are not overwritten."""
    path = Path(name).expanduser()
    if path.exists():
        raise DeskError(f"already exists and was not overwritten: {name}", "choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise DeskError(
            f"cannot be written ({error.strerror}): {name}", *ways_out(error)
        ) from error
    return f"exported {plural(data.count(bytes([10])), noun)} to {name}"


def import_labels(desk: "Desk", name: str) -> str:
    """Import the labels of a file; labels that are already known stay as they are."""
    desk.allow("labels", "take")  # others do not even learn which files there are
    path = Path(name).expanduser()
    try:
        if not path.is_file():
            raise DeskError(f"no such file: {name}", "name the exported file")
        data = path.read_bytes()
    except OSError as error:
        raise DeskError(f"cannot be read ({error.strerror}): {name}", *ways_out(error)) from error
    counts = desk.labels.take(data, name)
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    return f"imported {name}: {told}"
