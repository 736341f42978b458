"""An agent that failed comes back under another id."""

import json
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, shipped

from reviewer.desk.reports.same_manifest import acting

AGAIN = "refund-agent-again"


def again(door: Door, suite: str = SUITE, **changes: Any) -> dict[str, Any]:
    """v7's manifest under another id, with v8's attempts, reported."""
    manifest = json.loads((door.suite / "candidates" / f"{V7}.json").read_bytes())
    path = door.root / "suites" / suite / "candidates" / f"{AGAIN}.json"
    path.write_text(json.dumps({**manifest, "candidate_id": AGAIN, **changes}))
    records = [
        {**record, "candidate_id": AGAIN, "latency_ms": record["latency_ms"] + 1}
        for record in shipped(V8)
    ]
    assert door.take("again.jsonl", records, "--suite", suite).code == 0
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", suite, "--candidate", AGAIN)
    report: dict[str, Any] = json.loads((out / "report.json").read_bytes())
    assert (said.code == 0) is (report["recommendation"] == "promote")
    return report


@pytest.mark.parametrize(
    "changes", [{}, {"version": "99", "authors": ["someone"]}, {"agent": "another-agent"}]
)
def test_an_agent_that_failed_under_another_id_is_held(full: Door, changes: Any) -> None:
    report = again(full, **changes)
    assert report["recommendation"] == "hold"
    (reason,) = report["reasons"]
    assert f"the same agent failed as {V7} on {SUITE}" in reason
    text = (full.root / "out" / "report.md").read_text()
    assert "3 of 9 attempts failed, 1 critically" in text
    assert any(f"a change between {V7} and {AGAIN}" in need for need in report["needs"])


def test_an_agent_whose_manifest_states_a_change_is_another(full: Door) -> None:
    assert again(full, config={"temperature": 0.5})["recommendation"] == "promote"


def test_a_number_that_is_zero_is_a_statement() -> None:
    """0 equals False, and False says no more than a member that is left out."""
    runner = {"kind": "python", "entry": "agent:answer"}
    assert acting({"runner": {**runner, "depth": 0}}) != acting({"runner": runner})
    assert acting({"runner": {**runner, "network": False}}) == acting({"runner": runner})


def test_manifests_that_say_nothing_name_no_agent(full: Door) -> None:
    failed = {"schema": "reviewer/candidate@1", "candidate_id": "first", "agent": "shop"}
    (full.suite / "candidates" / "first.json").write_text(json.dumps(failed))
    silent = {"model": "", "prompts": [], "tools": [], "config": {}, "runner": None}
    records = [{**record, "candidate_id": "first"} for record in shipped(V7)]
    full.take("first.jsonl", [{**one, "latency_ms": 7} for one in records], "--suite", SUITE)
    report = again(full, agent="shop", version="", authors=[], prices={}, **silent)
    assert report["recommendation"] == "promote"


def test_an_agent_that_failed_on_an_earlier_version_of_the_suite_is_held(full: Door) -> None:
    path = full.suite / "suite.json"
    path.write_text(path.read_text().replace("returns, appeals", "returns and appeals"))
    full.ok("suite", "freeze", SUITE, "--as", "refund-next")
    assert again(full, "refund-next")["recommendation"] == "hold"


def test_an_agent_that_failed_on_a_suite_of_other_tasks_is_not_held(full: Door) -> None:
    """Two suites may number their episodes alike: what makes them versions is what is asked."""
    for path in (full.suite / "episodes").glob("*.json"):
        body = json.loads(path.read_bytes())
        body["user_request"] = f"Another task. {body['user_request']}"
        path.write_text(json.dumps(body))
    full.ok("suite", "freeze", SUITE, "--as", "other-tasks")
    assert again(full, "other-tasks")["recommendation"] == "promote"


def test_no_candidate_is_its_own_baseline(full: Door) -> None:
    release = ("--suite", SUITE, "--candidate", V8, "--baseline", V8)
    said = full.run("--export-report", full.root / "out", *release)
    assert said.code == 20, said
    assert "is the candidate itself" in said.err
    assert "way out: name another candidate as the baseline" in said.err


def test_a_changed_manifest_is_told_to_take_another_id(full: Door) -> None:
    path = full.suite / "candidates" / f"{V7}.json"
    path.write_text(path.read_text().replace('"7.0.0"', '"7.0.1"'))
    said = full.run("run", SUITE, V7)
    assert said.code == 20, said
    assert "way out: give the changed candidate a new candidate_id" in said.err


def test_names_of_files_keys_and_versions_are_no_change() -> None:
    digest = "0" * 64
    runner = {"kind": "openai-chat", "base_url": "https://x.example/v1", "options": {"seed": 7}}
    prompt = {"name": "system", "version": "1", "sha256": digest, "path": "prompts/a.md"}
    mine = {"candidate_id": "a", "model": "m", "prompts": [prompt], "runner": runner}
    renamed = {**prompt, "version": "2", "path": "prompts/b.md"}
    asked = {**runner, "api_key_env": "OTHER", "requests_per_minute": 9, "network": False}
    again = {**mine, "candidate_id": "b", "prompts": [renamed], "runner": asked}
    assert acting(mine) == acting(again)
    for change in (
        {"prompts": [{**prompt, "sha256": "1" * 64}]},
        {"runner": {**runner, "options": {"seed": 8}}},
        {"model": "n"},
        {"tools": [{"name": "t", "version": "2"}]},
    ):
        assert acting({**mine, **change}) != acting(mine), change


@pytest.mark.parametrize("id_", ["Refund-Agent-v8", "refund_agent_v8", "refund-agent-v\uff18"])
def test_failures_under_another_spelling_of_the_id_are_not_left_behind(
    door: Door, id_: str
) -> None:
    records = shipped(V8)
    failed = {**shipped(V7)[0], "candidate_id": id_, "final_state": "nothing", "attempt": 1}
    assert door.take("mixed.jsonl", [*records, failed], "--suite", SUITE).code == 0
    release = ("--export-report", door.root / "out", "--suite", SUITE, "--candidate", V8)
    assert door.run(*release).code == 10
    report = json.loads((door.root / "out" / "report.json").read_bytes())
    assert report["recommendation"] == "hold"
    assert "the ids differ in spelling alone" in report["reasons"][0]
    # It is another candidate where it has a manifest that says so.
    manifest = json.loads((door.suite / "candidates" / f"{V8}.json").read_bytes())
    other = door.suite / "candidates" / f"{id_}.json"
    other.write_text(json.dumps({**manifest, "candidate_id": id_, "model": "another"}))
    door.take("again.jsonl", [failed], "--suite", SUITE)
    assert door.run(*release).code == 0
