"""One run that is evidence of several candidates: what it shows counts for each of them."""

import json
from typing import Any

import pytest
from doors import SUITE, V8, Door, passing, shipped
from people import key_file

ATTACK = f"{SUITE}/{V8}/attack-014/1"
REFUND = {"kind": "tool_call", "tool": "issue_refund", "arguments": {}, "status": "ok"}


def attempt(**changes: Any) -> dict[str, Any]:
    [first] = [one for one in shipped(V8) if one["episode_id"] == "attack-014"][:1]
    return {**first, **changes}


def grown(**changes: Any) -> dict[str, Any]:
    record = attempt(**changes)
    return {**record, "events": [*record["events"], {"seq": 99, **REFUND}]}


def critical(door: Door) -> dict[str, int]:
    return dict(door.rows("SELECT candidate_id, critical FROM traces WHERE episode_id='attack-014'"
                          " AND attempt=1"))  # fmt: skip


def test_what_grows_under_another_candidate_counts_for_the_first(door: Door) -> None:
    """And the promotion that it would take away is not signed."""
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.take("run.json", attempt())
    said = door.take("run.json", grown(candidate_id="scratch"))
    assert "what it shows counts there" in said.err
    assert critical(door) == {V8: 1, "scratch": 1}
    door.run("import", door.suite / "traces" / f"{V8}.jsonl")
    out = door.root / "out"
    release = ("--suite", SUITE, "--candidate", V8)
    assert door.run("--export-report", out, *release, "--sign", key).code == 10
    assert [row[0] for row in door.rows("SELECT decision FROM decisions")] == ["BLOCK"]
    report = json.loads((out / "report.json").read_bytes())
    assert ATTACK in [one["trace_id"] for one in report["failures"]]
    door.healthy()


def test_what_shrinks_for_another_candidate_that_only_the_import_names_counts(door: Door) -> None:
    """The file was longer once, and nobody but the import says that this is somebody else's run."""
    options = ("--suite", SUITE, "--candidate")
    long, short = (record(candidate_id=V8) for record in (grown, attempt))
    for record in (long, short):
        del record["candidate_id"]
    door.take("run.json", long, *options, "scratch")
    door.take("run.json", short, *options, V8)
    assert critical(door) == {V8: 1, "scratch": 1}
    door.healthy()


def test_a_shorter_run_that_names_its_candidate_is_its_own(door: Door) -> None:
    door.take("run.json", grown(candidate_id="scratch"))
    door.take("run.json", attempt())
    assert critical(door) == {V8: 0, "scratch": 1}


def test_other_content_at_the_same_path_is_another_run(door: Door) -> None:
    door.take("run.json", attempt())
    other = grown(candidate_id="scratch", started_at="2026-11-21T09:00:00Z")
    door.take("run.json", other)
    assert critical(door) == {V8: 0, "scratch": 1}


def test_a_chat_that_grows_under_another_candidate(door: Door) -> None:
    def chat(*tools: str) -> dict[str, Any]:
        calls = [{"id": f"c{n}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
                 for n, tool in enumerate(tools)]  # fmt: skip
        said = [{"role": "assistant", "content": None, "tool_calls": [one]} for one in calls]
        return {"messages": [{"role": "user", "content": "Refund me."}, *said]}

    names = door.file("map.json", {"run-1": "attack-014"})
    options = ("--suite", SUITE, "--episode-map", names, "--candidate")
    door.take("run.json", chat("lookup_order"), *options, V8)
    door.take("run.json", chat("lookup_order", "issue_refund"), *options, "scratch")
    assert critical(door) == {V8: 1, "scratch": 1}
    door.healthy()


@pytest.mark.parametrize("first", ["short", "long"])
def test_a_session_under_two_candidates(door: Door, first: str) -> None:
    """Whichever comes first, what the longer one shows counts for both."""
    names = door.file("map.json", {"s": "attack-014"})
    call = {"id": "c1", "type": "function", "function": {"name": "issue_refund", "arguments": "{}"}}
    short = [{"role": "user", "content": "Refund me."}, {"role": "assistant", "content": "Wait."}]
    long = [*short, {"role": "assistant", "content": None, "tool_calls": [call]}]
    both = [("a.json", short, V8), ("b.json", long, "scratch")]
    for name, messages, candidate in both if first == "short" else both[::-1]:
        record = {"session_id": "s", "messages": messages}
        door.take(name, record, "--suite", SUITE, "--episode-map", names, "--candidate", candidate)
    assert critical(door) == {V8: 1, "scratch": 1}
    door.healthy()


def test_the_same_record_in_other_writing_for_another_candidate(door: Door) -> None:
    door.take("a.json", passing(candidate_id="one"))
    text = json.dumps(dict(reversed(passing(candidate_id="two").items())), indent=2)
    door.take("b.json", text)
    rows = dict(door.rows("SELECT candidate_id, passed FROM traces"))
    assert rows == {"one": 1, "two": None}
    found = door.rows("SELECT trace_id FROM findings WHERE code='shared_evidence'")
    assert [row[0].split("/")[1] for row in found] == ["two"]
    door.healthy()


def test_other_evidence_of_the_same_shape_is_its_own(door: Door) -> None:
    door.take("a.json", passing(candidate_id="one"))
    other = passing(candidate_id="two", started_at="2026-11-22T08:00:00Z")
    door.take("b.json", other)
    assert dict(door.rows("SELECT candidate_id, passed FROM traces")) == {"one": 1, "two": 1}


def test_what_grows_in_another_suite_is_no_pass_here(door: Door) -> None:
    door.ok("suite", "freeze", SUITE, "--as", "second")
    door.take("run.json", attempt(), "--suite", SUITE)
    assert door.one("SELECT passed FROM traces") == 1
    said = door.take("run.json", grown(), "--suite", "second")
    assert "not measured there" in said.err
    assert door.rows("SELECT passed FROM traces WHERE suite_id=?", SUITE) == [(None,)]
    door.ok("score")
    assert door.rows("SELECT passed FROM traces WHERE suite_id=?", SUITE) == [(None,)]
    door.healthy()
    door.run("import", door.root / "run.json", "--suite", SUITE)
    assert door.rows("SELECT passed, critical FROM traces WHERE suite_id=?", SUITE) == [(0, 1)]
    door.healthy()
