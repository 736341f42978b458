"""Review sets in tests: production traces with every flag, and people who label them."""

import json
from collections.abc import Callable
from typing import Any

from doors import Door
from labelers import drafted, labeler

from reviewer.desk.labels.api import LabelItem


def conversation(number: int, **changes: Any) -> dict[str, Any]:
    """One attempt as a chat log of production has it."""
    arguments = json.dumps({"number": number})
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": arguments}}
    return {
        "id": f"parcel-{number:03}",
        "model": "parcel-agent",
        "messages": [
            {"role": "user", "content": f"Where is parcel {number}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "in the depot"},
            {"role": "assistant", "content": f"Parcel {number} is in the depot."},
        ],
        "cost_usd": number / 100,
        "passed": number % 3 > 0,
        "started_at": f"2026-10-{number % 28 + 1:02}T08:00:00Z",
        **changes,
    }


def calling(record: dict[str, Any], *names: str) -> None:
    """Have an attempt make more calls, with the arguments of its first."""
    head, first, answer, final = record["messages"]
    more = []
    for place, name in enumerate(names, 2):
        call = {**first["tool_calls"][0], "id": f"c{place}"}
        call["function"] = {**call["function"], "name": name}
        more += [{**first, "tool_calls": [call]}, {**answer, "tool_call_id": f"c{place}"}]
    record["messages"] = [head, first, answer, *more, final]


def production(count: int = 40) -> list[dict[str, Any]]:
    """So many attempts: number 1 refuses, 2 repeats a call, 3 calls a tool that is new, 4 has no
    known cost and no verdict, and the dearest are the last."""
    found = [conversation(number) for number in range(1, count + 1)]
    found[0]["messages"][-1]["content"] = "I'm sorry, but I cannot help with parcels."
    calling(found[1], "find", "find")
    calling(found[2], "refund")
    found[2]["started_at"] = "2026-11-20T08:00:00Z"
    del found[3]["cost_usd"], found[3]["passed"]
    return found


def shown(door: Door, name: str) -> dict[str, Any]:
    """A set as `show --json` has it."""
    found: dict[str, Any] = json.loads(door.ok("review-set", "show", name, "--json").out)
    return found


def label_set(
    door: Door,
    name: str,
    good: Callable[[LabelItem], bool],
    who: str = "dana",
    most: int = 10_000,
) -> list[LabelItem]:
    """Have a person label a set's messages, each question with yes or no; returns what was
    shown."""
    seen: list[LabelItem] = []
    with labeler(door, who) as desk:
        session = desk.labels.session("", "", review_set=name)
        while len(seen) < most and (item := desk.labels.next_item(session)) is not None:
            level = 1 if good(item) else 2
            marks = {c.criterion_id: level for c in item.criteria}
            desk.labels.record(session, drafted(item, marks=marks))
            seen.append(item)
    return seen
