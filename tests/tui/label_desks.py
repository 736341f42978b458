"""Desks at which somebody labels: what is shown in which order, and what was kept."""

import json
from pathlib import Path
from typing import Any

from doors import SHIPPED, SUITE, V7, V8, Door, shipped
from labelers import drafted, kept
from msgspec.structs import replace
from template import Bent, is_attack, opened

from reviewer.desk.desk import Desk
from reviewer.desk.labels.api import LabelItem, LabelKind

TEXTS = ("left", "right", "message")


def saved(desk: Any, reviewer: str = "dana") -> list[dict[str, Any]]:
    """The labels of a person that count, in the order in which they were given."""
    mine = [one for one in kept(Door(desk.place.root)) if one["reviewer"] == reviewer]
    newest = {(one["item"], one["showing"]): one for one in mine}
    return [one for one in mine if one in newest.values() and not one.get("withdrawn")]


def answers(desk: Any) -> list[tuple[str, int, str | None]]:
    """Dana's labels that count as (item, showing, answer)."""
    return [(one["item"], one["showing"], one["answer"]) for one in saved(desk)]


def shown_order(
    root: Path, kind: LabelKind = "pair", *, handing_back: bool = False
) -> list[tuple[str, int]]:
    """Dana's showings in the order in which they come. Labels all of them.

    With `handing_back` the first is handed back once, and so comes twice.
    """
    desk = opened(root)
    session = desk.labels.session(SUITE, V7, kind=kind)
    shown, back = list[tuple[str, int]](), ()
    if handing_back:
        first = desk.labels.next_item(session)
        assert first is not None
        back = ((first.item, first.showing),)
        shown += back
    while (item := desk.labels.next_item(session, back)) is not None:
        desk.labels.record(session, drafted(item))
        shown.append((item.item, item.showing))
    desk.close()
    return shown


def with_pairs(door: Door, count: int) -> Desk:
    """A desk with so many pairs to label: attempts of one episode, which v7 fails critically."""
    for candidate, message in ((V7, "It is on its way"), (V8, "A review is open")):
        base = next(record for record in shipped(candidate) if is_attack(record))
        records = [
            {
                **base,
                "attempt": number,
                "latency_ms": base["latency_ms"] + number,
                "final_message": f"{message}, by way {number}.",
            }
            for number in range(1, count + 1)
        ]
        said = door.take(f"{candidate}.jsonl", records)
        assert f"{count} added" in said.err, said
    return opened(door.root)


def with_finals(door: Door, first: str | None, second: str | None) -> Desk:
    """A desk on which all attempts of v7 end with one message and those of v8 with the other.

    None is an attempt without a final message.
    """
    for candidate, message in ((V7, first), (V8, second)):
        records = [{**record, "final_message": message} for record in shipped(candidate)]
        if message is None:
            for record in records:
                del record["final_message"]
        said = door.take(f"{candidate}.jsonl", records)
        assert "9 added" in said.err, said
    return opened(door.root)


def with_criteria(door: Door, criteria: list[dict[str, Any]]) -> Desk:
    """A desk whose suite asks by these criteria."""
    rubric = door.suite / "rubric.json"
    body = json.loads(rubric.read_bytes())
    rubric.write_text(json.dumps({**body, "criteria": criteria}))
    door.ok("suite", "freeze", SUITE, "--as", "refund-other")
    door.ok("import", door.suite / "traces", "--suite", "refund-other")
    return opened(door.root)


def criteria() -> list[dict[str, Any]]:
    """The criteria of the shipped rubric."""
    body = json.loads((SHIPPED / "rubric.json").read_bytes())
    return list(body["criteria"])


def showing(desk: Any, **changes: Any) -> Bent:
    """A desk whose items are shown otherwise; texts of sides only where the item has them."""

    def changed(real: Any, *args: Any, **more: Any) -> LabelItem | None:
        item = real(*args, **more)
        if item is None:
            return None
        had = {
            name: value
            for name, value in changes.items()
            if name not in TEXTS or getattr(item, name) is not None
        }
        return replace(item, **had)

    return Bent(desk, {"labels.next_item": changed, "labels.undo": changed})
