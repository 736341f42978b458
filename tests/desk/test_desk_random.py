"""The random part of the queue in a report: what its labels say of all, and how far it has come."""

import json
from typing import Any

from doors import SUITE, V8, Door
from labelers import drafted, labeler

SAMPLED = "sampled-v1"


def sampled(door: Door, rate: float) -> Door:
    """A version of the suite that draws so many traces, with v8's nine on it."""
    path = door.suite / "suite.json"
    suite = json.loads(path.read_text())
    suite["policy"]["labels"] = {"sample_rate": rate}
    path.write_text(json.dumps(suite))
    door.ok("suite", "freeze", SUITE, "--as", SAMPLED)
    traces = door.suite / "traces" / f"{V8}.jsonl"
    door.ok("import", traces, "--suite", SAMPLED, "--candidate", V8)
    return door


def part(door: Door) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.desk().reports.build(SAMPLED, V8).raw)["review"][
        "random_part"
    ]
    return found


def label(door: Door, most: int, level: int = 2) -> int:
    """Label so many messages, or all there are, with this level of every criterion."""
    with labeler(door) as desk:
        session = desk.labels.session(SAMPLED, V8, kind="message")
        made = 0
        while made < most and (item := desk.labels.next_item(session)) is not None:
            marks = {c.criterion_id: min(level, c.levels[-1][0]) for c in item.criteria}
            desk.labels.record(session, drafted(item, marks=marks))
            made += 1
    return made


def test_labels_of_the_random_part_speak_for_all_and_say_how_far_they_are(door: Door) -> None:
    sampled(door, 1.0)
    assert label(door, 2) == 2
    begun = part(door)
    assert (begun["items"], begun["of"], begun["drawn_traces"]) == (2, 2, 9)
    assert 0 < begun["waiting_traces"] < 9
    rates = {one["criterion_id"] or one["question"]: one for one in begun["rates"]}
    assert rates["passes"]["n"] == 2
    assert rates["passes"]["value"] == 0.0  # the middle of a scale is not above it
    label(door, 99)
    done = part(door)
    assert done["waiting_traces"] == 0
    assert done["rates"][0]["n"] == done["items"] > 2
    door.healthy()


def test_where_nothing_is_drawn_no_rate_is_made(door: Door) -> None:
    sampled(door, 0.0)
    label(door, 2)
    found = part(door)
    assert (found["items"], found["rates"], found["drawn_traces"]) == (0, [], None)
    report = json.loads(door.desk().reports.build(SAMPLED, V8).raw)
    assert "review.random_part: no labeled item was drawn by lot" in report["not_measured"]
