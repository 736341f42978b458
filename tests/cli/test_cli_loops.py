"""The optional gate of loops, from a policy that names it to the report."""

import json
from typing import Any

import pytest
from doors import SUITE, V8, Door, shipped

LOOPING = "refund-loops"
TRACE = f"{LOOPING}/{V8}/appeal-009/1"


def looping(one: dict[str, Any]) -> dict[str, Any]:
    """The same attempt, which makes its last call twice more."""
    last = max(
        place
        for place, event in enumerate(one["events"])
        if event.get("kind") in (None, "tool_call")
    )
    again = [one["events"][last]] * 2
    events = [*one["events"][: last + 1], *again, *one["events"][last + 1 :]]
    return {**one, "events": [{**event, "seq": n} for n, event in enumerate(events, 1)]}


@pytest.fixture
def door(full: Door) -> Door:
    suite = full.suite / "suite.json"
    body = json.loads(suite.read_text())
    body["policy"]["gates"] = {"loops": 3}
    suite.write_text(json.dumps(body))
    full.ok("suite", "freeze", SUITE, "--as", LOOPING)
    records = [
        looping(one) if (one["episode_id"], one["attempt"]) == ("appeal-009", 1) else one
        for one in shipped(V8)
    ]
    assert full.take("loops.jsonl", records, "--suite", LOOPING).code == 0
    return full


def test_a_trace_that_loops_keeps_a_release_back(door: Door) -> None:
    assert "looped:" in " ".join(door.codes(TRACE))
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", LOOPING, "--candidate", V8)
    assert said.code == 10, said
    report = json.loads((out / "report.json").read_bytes())
    assert report["recommendation"] == "repair"
    assert "not every frozen episode passed" in report["reasons"]
    assert list(report["gates"])[-1] == "loops"
    assert report["gates"]["loops"]["fail"] == 1
    for path in out.iterdir():
        if path.suffix in (".md", ".html", ".sarif", ".xml"):
            assert "loops" in path.read_text(), path
    door.healthy()


def test_the_grid_filters_and_orders_by_it(door: Door) -> None:
    desk = door.desk()
    try:
        assert desk.scorecards.card(LOOPING, V8).gates[-1] == "loops"
        (key,) = desk.scorecards.order(LOOPING, V8, "worst", False, False, "gate:loops")
        (row,) = desk.scorecards.rows(LOOPING, V8, [key])
        assert (row.episode_id, row.cells[-1].mark) == ("appeal-009", "fail")
        orders = [desk.scorecards.order(LOOPING, V8, "loops", way) for way in (False, True)]
        assert orders[0] == orders[1][::-1]
        assert key in (orders[0][0], orders[0][-1])
    finally:
        desk.close()


def test_a_suite_without_it_says_nothing_of_it(full: Door) -> None:
    out = full.root / "out"
    assert full.run("--export-report", out, "--suite", SUITE, "--candidate", V8).code == 0
    for path in out.iterdir():
        assert b"loops" not in path.read_bytes(), path
    said = full.run("scorecard", "--suite", SUITE, "--candidate", V8, "--filter", "gate:loops")
    assert said.code == 2, said
