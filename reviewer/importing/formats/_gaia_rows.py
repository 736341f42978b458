"""What the rows of a GAIA file have in common, found before the first is read in full."""

import hashlib
import re
from typing import Any, NamedTuple

from reviewer.importing.draft import words
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.opening import opened
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable, pieces_of

ANSWERS = ("model_answer", "prediction", "answer")
FEW = 3
"""Tasks from which on it is told that all rows have the same answer."""
_FAILED = re.compile(
    r"(?i)\berror\b|\w+Error\b|exception|traceback|unauthori[sz]ed|authenticat|api.?key"
    r"|rate.?limit|\b(?:401|403|404|429|5\d\d)\b|quota|timed? ?out"
)
_VARYING = re.compile(r"[0-9a-f]{6,}|\d+|req_\w+")
_BLANKS = re.compile(r"\s+")
MOST_QUESTIONS = 100_000


class Common:
    """`same` is what is to be told of an answer that all rows share, else empty."""

    def __init__(self, same: str, beside: "Beside") -> None:
        self.same = same
        self._task_ids, self._gold = beside

    def gold(self, row: dict[str, Any], task_id: str) -> tuple[str, str]:
        """(the true answer, where it stands), both empty when it is not known: to be compared
        with, never to be kept. GAIA hides those of its test part behind a question mark."""
        beside = self._gold.get(task_id, ""), "metadata.jsonl"
        own = row.get("true_answer")
        stated = (as_text(own).strip() if own is not None else ""), "true_answer"
        return next((one for one in (beside, stated) if one[0] not in ("", "?")), ("", ""))

    def task_of(self, question: str) -> tuple[str, str]:
        """(the task's id out of the metadata, or empty; an id made of the question)."""
        plain = _plain(question)
        made = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:12]
        return self._task_ids.get(plain, ""), f"q-{made}"


def common_of(source: Source) -> Common:
    """Of every row that can be read. Raises Unreadable, OSError."""
    rows, first, same = 0, "", True
    asked: set[int] = set()
    for piece in source.pieces():
        try:
            row = None if piece.problem else parse(piece.raw)
        except NotJson:
            continue
        if not isinstance(row, dict):
            continue
        key = next((name for name in ANSWERS if name in row), "")
        answer = _VARYING.sub("#", as_text(row.get(key)).strip()[:300])
        first = answer if not rows else first
        rows += 1
        same = same and answer == first
        asked.add(hash(as_text(row.get("task_id") or row.get("question"))))
    beside = _beside(source)
    if len(asked) < FEW or not same:
        return Common("", beside)
    if not first:
        return Common(f"all {rows} rows are without an answer", beside)
    if _FAILED.search(first):
        told = f"all {rows} rows have the same error text as their answer: the harness failed"
        return Common(told, beside)
    return Common(f"all {rows} rows have the same answer", beside)


class Beside(NamedTuple):
    """Of the metadata beside the rows: task ids by question, true answers by task."""

    task_ids: dict[str, str]
    gold: dict[str, str]


def _beside(source: Source) -> Beside:
    """Task ids and true answers out of the metadata; nothing of the answers may be kept."""
    found: dict[str, str] = {}
    gold: dict[str, str] = {}
    for path in source.companions:
        try:
            with opened(path) as handle:
                for piece in pieces_of(handle):
                    row = None if piece.problem else parse(piece.raw)
                    if isinstance(row, dict) and len(found) < MOST_QUESTIONS:
                        question, own = row.get("Question"), row.get("task_id")
                        if isinstance(question, str) and isinstance(own, str):
                            found[_plain(question)] = own
                            gold[own] = as_text(row.get("Final answer") or "").strip()
        except (OSError, Unreadable, NotJson):
            source.notes.add(f"{path.name} beside it could not be read")
    return Beside(found, gold)


def _plain(question: str) -> str:
    return _BLANKS.sub(" ", question).strip()


def first_text(row: dict[str, Any], *names: str) -> str:
    """The first of these members that is a text with something in it."""
    return next((row[n] for n in names if isinstance(row.get(n), str) and row[n].strip()), "")


def as_text(value: Any) -> str:
    """An answer or error as text, whatever JSON it is."""
    found = words(value)
    return found if isinstance(found, str) else str(found)
