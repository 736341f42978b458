"""People who label in tests: sit down, answer, and read back what is kept."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from doors import SUITE, V8, Door

from reviewer.desk.desk import Desk
from reviewer.desk.labels.api import LabelDraft, LabelItem, Session
from reviewer.desk.place import at

Chooser = Callable[[LabelItem], str]


@contextmanager
def labeler(door: Door, name: str = "dana") -> Iterator[Desk]:
    """A desk that this person opened."""
    desk = Desk(at(door.root), name)
    try:
        yield desk
    finally:
        desk.close()


def soon(hours: float = 1) -> str:
    """Return a time behind that of every record that was made by now."""
    return f"{datetime.now(UTC) + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def drafted(item: LabelItem, answer: str | None = "left", **changes: Any) -> LabelDraft:
    """An answer to what is shown; of a message the lowest level of every criterion."""
    marks = {c.criterion_id: 1 for c in item.criteria} if item.kind == "message" else {}
    said = {
        "answer": answer if item.kind == "pair" else None,
        "marks": marks,
        "decided": {},
        "flag": False,
        "note": "",
        "skipped": None,
        "duration_ms": 1500,
    }
    return LabelDraft(item=item.item, showing=item.showing, **{**said, **changes})


def skipping(item: LabelItem, why: str) -> LabelDraft:
    return drafted(item, None, marks={}, skipped=why)


def longer(item: LabelItem) -> str:
    """Someone who prefers the longer message, in whichever order."""
    left, right = len(item.left or ""), len(item.right or "")
    return "left" if left > right else "right"


def label_all(desk: Desk, session: Session, choose: Chooser = longer) -> list[LabelItem]:
    """Answer until nothing is left; returns what was shown."""
    shown = []
    while (item := desk.labels.next_item(session)) is not None:
        desk.labels.record(session, drafted(item, choose(item)))
        shown.append(item)
    return shown


def pairs_of(desk: Desk, candidate: str = V8, **asked: Any) -> Session:
    return desk.labels.session(SUITE, candidate, **asked)


def labeled(door: Door, name: str = "dana", choose: Chooser = longer) -> list[LabelItem]:
    """One person labels every pair of v7 and v8."""
    with labeler(door, name) as desk:
        return label_all(desk, pairs_of(desk), choose)


def kept(door: Door) -> list[dict[str, Any]]:
    """Every label in the store, oldest first."""
    return [json.loads(row[0]) for row in door.rows("SELECT body FROM label ORDER BY id")]
