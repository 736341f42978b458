"""Desks at which somebody labels: what is shown in which order, and what was kept."""

import json
from pathlib import Path
from typing import Any

from doors import SHIPPED, SUITE, V7, V8, Door, shipped
from labelers import drafted, kept
from msgspec.structs import replace
from template import Bent, is_attack, opened

from reviewer.desk.desk import Desk
from reviewer.desk.labels.api import EstimateView, LabelItem, LabelKind, QuestionView, Side
from reviewer.desk.place import at
from reviewer.suite.derived import ContractDraft

TEXTS = ("left", "right", "message")


def saved(desk: Any, reviewer: str = "dana") -> list[dict[str, Any]]:
    """The labels of a person that count, in the order in which they were given."""
    mine = [one for one in kept(Door(desk.place.root)) if one["reviewer"] == reviewer]
    newest = {(one["item"], one["showing"]): one for one in mine}
    return [one for one in mine if one in newest.values() and not one.get("withdrawn")]


def answers(desk: Any) -> list[tuple[str, int, str | None]]:
    """Dana's labels that count as (item, showing, answer)."""
    return [(one["item"], one["showing"], one["answer"]) for one in saved(desk)]


def asked(desk: Bent) -> list[tuple[Any, ...]]:
    """What was asked for to label: (session, showings handed back, reason, item)."""
    return [(*call, None, None)[:4] for call in desk.asked("labels.next_item")]


def queue_with(desk: Bent, **changes: Any) -> dict[str, Any]:
    """Have a desk answer for its queue with these fields; they may be changed later."""
    desk.bend("labels.queue", lambda real, *args, **more: replace(real(*args, **more), **changes))
    return changes


def own_first(desk: Bent) -> list[Any]:
    """What two people disagree on, as a desk lists it from now on: dana's own, then the other.
    (They come by item, and what an item is called follows from the suite's digest.)"""
    found = sorted(desk.labels.queue(SUITE, V7).disagreements, key=lambda one: not one.mine)
    assert tuple(one.item[:8] for one in found) == PARTED
    queue_with(desk, disagreements=tuple(found))
    return found


def shown_order(root: Path, kind: LabelKind = "pair") -> list[tuple[str, int]]:
    """Dana's showings in the order in which they come. Labels all of them."""
    desk = opened(root)
    session = desk.labels.session(SUITE, V7, kind=kind)
    shown = list[tuple[str, int]]()
    while (item := desk.labels.next_item(session)) is not None:
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


PARTED = ("c36d0fdd", "3bed8b78")
"""How the pairs begin on which dana parts from the others, and robin from kim."""


def make_parted(door: Door) -> None:
    """Kim and robin label every pair and message, and dana one pair, in both orders.

    Dana parts from both on that pair. Kim and robin part on another, which waits for a third.
    """
    for name in ("kim", "robin"):
        desk = Desk(at(door.root), name)
        for kind in ("pair", "message"):
            session = desk.labels.session(SUITE, V7, kind=kind)
            while (item := desk.labels.next_item(session)) is not None:
                desk.labels.record(session, _by_length(name, item))
        desk.close()
    desk = Desk(at(door.root), "dana")
    session = desk.labels.session(SUITE, V7)
    [name] = {one["item"] for one in saved(desk, "kim") if one["item"].startswith(PARTED[0])}
    for _ in range(2):
        item = desk.labels.next_item(session, item=name)
        assert item is not None
        desk.labels.record(session, _by_length("dana", item))
    desk.close()


def _by_length(name: str, item: LabelItem) -> ContractDraft:
    """The longer message is better, but for the pair on which this person parts."""
    if item.kind == "message":
        parts = name == "robin" and item.episode_id == "appeal-009"
        return drafted(item, marks={"accurate": 2 if parts else 1, "next-step": 3, "access": 1})
    parts = item.item.startswith({"dana": PARTED[0], "robin": PARTED[1]}.get(name, "none"))
    left, right = len(item.left or ""), len(item.right or "")
    side: Side = "left" if (left > right) != parts else "right"
    decided: dict[str, Side] = {} if name == "dana" else {"accurate": side}
    if name == "kim":
        decided["next-step"] = side
    return drafted(item, side, decided=decided)


def labels_of_kim(door: Door, count: int) -> bytes:
    """A file of so many labels that kim gives in a workspace."""
    desk = Desk(at(door.root), "kim")
    session = desk.labels.session(SUITE, V7)
    for _ in range(count):
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))
    data = desk.labels.export(SUITE)
    desk.close()
    return data


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


def without_dollars(desk: Bent) -> Bent:
    """A desk whose messages name no sum in dollars: what is left of those is a cost."""

    def changed(real: Any, *args: Any, **more: Any) -> LabelItem | None:
        item = real(*args, **more)
        if item is None:
            return None
        texts = {name: getattr(item, name) for name in TEXTS}
        had = {name: text.replace("$", "€") for name, text in texts.items() if text is not None}
        return replace(item, **had)

    return desk.bend("labels.next_item", changed).bend("labels.undo", changed)


# figures that no store of three episodes has ------------------------------------------------------


def estimate(
    name: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    share: tuple[int, int] | None = None,
    why: str = "",
) -> EstimateView:
    hits, n = share or (None, 0)
    return EstimateView(name=name, value=value, low=low, high=high, hits=hits, n=n, why=why)


def unmeasured(question: QuestionView, why: str, about: str = "") -> QuestionView:
    """A question of which nothing is measured, and why."""
    figures = {
        name: replace(getattr(question, name), value=None, low=None, high=None, why=why)
        for name in ("raw", "alpha", "ac1", "kappa")
    }
    return replace(question, about=about, items=0, prevalence=None, **figures)
