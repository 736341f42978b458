"""The optional gate of loops, from a policy that names it to the report."""

import hashlib
import json
from typing import Any
from xml.etree import ElementTree

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


def frozen(door: Door) -> None:
    """Freeze the suite as one whose policy names the gate."""
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_text())
    body["policy"]["gates"] = {"loops": 3}
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", LOOPING)


@pytest.fixture
def looped(full: Door) -> Door:
    frozen(full)
    records = [
        looping(one) if (one["episode_id"], one["attempt"]) == ("appeal-009", 1) else one
        for one in shipped(V8)
    ]
    assert full.take("loops.jsonl", records, "--suite", LOOPING).code == 0
    return full


def test_a_trace_that_loops_keeps_a_release_back(looped: Door) -> None:
    assert "looped:" in " ".join(looped.codes(TRACE))
    out = looped.root / "out"
    said = looped.run("--export-report", out, "--suite", LOOPING, "--candidate", V8)
    assert said.code == 10, said
    report = json.loads((out / "report.json").read_bytes())
    assert report["recommendation"] == "repair"
    assert "not every frozen episode passed" in report["reasons"]
    assert list(report["gates"])[-1] == "loops"
    assert report["gates"]["loops"]["fail"] == 1
    for path in out.iterdir():
        if path.suffix in (".md", ".html", ".sarif", ".xml"):
            assert "loops" in path.read_text(), path
    looped.healthy()


def test_the_grid_filters_and_orders_by_it(looped: Door) -> None:
    desk = looped.desk()
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


def test_show_names_the_call_and_the_limit(looped: Door) -> None:
    said = looped.ok("show", TRACE)
    assert "looped:verify_state" in said.out
    assert "verify_state is called 3 times in a row with the same arguments" in said.out
    other = looped.ok("show", TRACE.replace("appeal-009", "damaged-221"))
    assert "looped" not in other.out


def test_junit_and_sarif_say_what_looped(looped: Door) -> None:
    out = looped.root / "out"
    release = ("--suite", LOOPING, "--candidate", V8)
    said = looped.run("--export-report", out, *release, "--format", "junit,sarif")
    assert said.code == 10, said
    cases = {
        (case.get("classname"), case.get("name")): case
        for case in ElementTree.parse(out / "junit.xml").iter("testcase")
    }
    failed = {key: case for key, case in cases.items() if case.find("failure") is not None}
    told = [ElementTree.tostring(case, "unicode") for case in failed.values()]
    assert any("looped:verify_state" in text for text in told), told
    (run,) = json.loads((out / "report.sarif").read_bytes())["runs"]
    found = [one for one in run["results"] if "looped" in json.dumps(one)]
    assert found, run["results"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in found} <= rules


def test_a_suite_without_it_says_nothing_of_it(full: Door) -> None:
    out = full.root / "out"
    assert full.run("--export-report", out, "--suite", SUITE, "--candidate", V8).code == 0
    for path in out.iterdir():
        assert b"loops" not in path.read_bytes(), path
    said = full.run("scorecard", "--suite", SUITE, "--candidate", V8, "--filter", "gate:loops")
    assert said.code == 2, said


def test_a_scripted_candidate_that_repeats_a_call_loops(door: Door) -> None:
    candidates = door.suite / "candidates"
    place = candidates / "scripts" / f"{V8}.json"
    script = json.loads(place.read_bytes())
    (plan,) = script["episodes"]["appeal-009"]["plans"].values()
    plan["turns"][:1] *= 3
    script["episodes"]["appeal-009"]["attempts"] = []
    place.write_bytes(json.dumps(script).encode())
    manifest = json.loads((candidates / f"{V8}.json").read_bytes())
    manifest["runner"]["script_sha256"] = hashlib.sha256(place.read_bytes()).hexdigest()
    (candidates / f"{V8}.json").write_text(json.dumps(manifest))
    frozen(door)
    assert door.run("run", LOOPING, V8, "--attempts", "1", "--quiet").code == 0
    assert "looped:lookup_policy" in door.codes(TRACE)
    for episode in ("damaged-221", "attack-014"):
        assert door.codes(TRACE.replace("appeal-009", episode)) == []
    door.healthy()
