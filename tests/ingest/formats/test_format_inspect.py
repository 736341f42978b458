"""Logs of Inspect AI of many versions and shapes (data/inspect/PROVENANCE.md)."""

from collections import Counter
from pathlib import Path

import pytest
from doors import Door
from inspect_logs import (
    LOGS,
    READER,
    attempts,
    counted,
    events_of,
    file,
    log,
    of_kind,
    only,
    read,
    said,
    sample,
    samples,
    traces,
)

from reviewer.importing.archive import Archive
from reviewer.importing.formats import inspect_ai as files
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable

WITH_EVENTS = [
    *("refund_zstd.eval", "killed.eval", "edited.eval", "intercode.eval", "desk.eval"),
    *("cancelled.eval", "user_and_critic.eval", "v0.3.135_pool.eval", "v0.3.43_input.eval"),
]
STATUS = {"timeout": "timeout", "approval": "denied"}


@pytest.mark.parametrize("name", WITH_EVENTS)
def test_calls_results_and_approvals_are_those_of_counting_by_hand(name: str) -> None:
    path = LOGS / name
    found = traces(path)
    assert len(found) == len(samples(path))
    tools = events_of(path, "tool")
    assert counted(found, "tool_call", "tool") == Counter(event["function"] for event in tools)
    ends = Counter(
        STATUS.get(event["error"]["type"], "error") if event.get("error") else "ok"
        for event in tools
    )
    assert counted(found, "tool_result", "status") == ends
    for trace in found:
        asked = {event["call_id"]: event["tool"] for event in of_kind(trace, "tool_call")}
        answered = {event["call_id"]: event["tool"] for event in of_kind(trace, "tool_result")}
        assert asked == answered
    decided = Counter(
        {"modify": "approve"}.get(event["decision"], event["decision"])
        for event in events_of(path, "approval")
    )
    words = [event["approval"] for trace in found for event in of_kind(trace, "approval")]
    assert Counter(word["decision"] for word in words) == decided


@pytest.mark.parametrize("name", ["refund_zstd.eval", "intercode.eval", "edited.eval"])
def test_tokens_and_costs_are_those_of_the_sample(name: str) -> None:
    for held, trace in zip(samples(LOGS / name), traces(LOGS / name), strict=True):
        [usage] = held["model_usage"].values()
        mine = {key: trace["usage"][key] for key in ("input_tokens", "total_tokens")}
        assert mine == {key: usage[key] for key in mine}
        assert trace["cost_usd"] == usage.get("total_cost")


def test_slots_times_and_names(door: Door) -> None:
    said = door.run("import", LOGS / "refund_zstd.eval")
    assert said.code == 0, said
    [(suite, candidate)] = set(door.rows("SELECT suite_id, candidate_id FROM traces"))
    assert suite == "inspect-refund_agent"
    assert candidate == "seeded+use_tools+generate 0.3.285 mockllm/model"
    rows = door.rows("SELECT episode_id, attempt, latency_ms, final_state IS NULL FROM traces")
    assert set(rows) == {
        (held["id"], held["epoch"], held["total_time"] * 1000, not held["store"])
        for held in samples(LOGS / "refund_zstd.eval")
    }
    door.healthy()


def test_one_run_in_two_shapes_is_one_run(door: Door) -> None:
    """Whole and chunked samples of one run, and both forms of the oldest log."""
    mixed = {one.raw for one in attempts(LOGS / "desk_mixed.eval")}
    assert mixed == {one.raw for one in attempts(LOGS / "desk.eval")}
    with Archive(LOGS / "desk_mixed.eval") as archive:
        shells = [name for name in archive.names() if name.endswith("/sample.json")]
    assert len(shells) == 2
    for name in ("v0.3.41.eval", "v0.3.41.json"):
        assert door.run("import", LOGS / name).code == 0
    assert door.one("SELECT count(*) FROM traces") == 1


def test_an_edited_log_holds_the_same_attempts(door: Door) -> None:
    assert door.run("import", LOGS / "unedited.eval").code == 0
    said = door.run("import", LOGS / "edited.eval")
    assert said.code == 0
    assert door.one("SELECT count(*) FROM traces") == len(samples(LOGS / "unedited.eval")) == 3
    assert "samples whose scores a person edited after the run: 2" in said.err


def test_a_pool_of_messages_is_told_once() -> None:
    """Inputs are references into `message_pool`: five rounds, one user message."""
    trace = only(LOGS / "v0.3.135_pool.eval")
    kinds = [event["kind"] for event in trace["events"]]
    assert kinds == ["message", *["message", "tool_call", "tool_result"] * 5, "message"]
    assert [event["actor"] for event in trace["events"][:2]] == ["user", "agent"]
    assert trace["cost_usd"] is None
    assert "usage" not in trace


def test_clocks_keep_their_zone() -> None:
    old = traces(LOGS / "intercode.eval")[0]
    first = samples(LOGS / "intercode.eval")[0]["events"][0]["timestamp"]
    assert old["started_at"] == first
    assert first.endswith("-08:00")
    assert old["source"]["clock"] == "offset"
    assert only(LOGS / "v0.3.41.json")["source"]["clock"] == "offset"
    new = traces(LOGS / "desk.eval")[0]
    assert new["source"]["clock"] == "utc"


def test_attachments_are_put_back() -> None:
    raw = b"".join(one.raw for one in attempts(LOGS / "intercode.eval"))
    assert b"attachment://" not in raw
    held = [
        attached
        for one in samples(LOGS / "intercode.eval")
        for event in one["events"]
        if event["event"] == "model"
        for attached in [event["output"]["choices"][0]["message"]["content"]]
        if attached.startswith("attachment://")
    ]
    assert len(held) > 10
    assert sum(len(of_kind(trace, "message")) for trace in traces(LOGS / "intercode.eval")) > 30


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("intercode.eval", "the header counts 790 samples, in the file are 2"),
        ("killed.eval", "killed or is still being written (2 of 120 planned samples"),
        ("cancelled.eval", "the run ended as `cancelled` (3 of 3 planned"),
        ("refund_zstd.eval", "pass_at_2 is at least one pass in 2 tries, not pass^2"),
        ("refund_zstd.eval", "`final_state` (the header's headline) decides pass or fail"),
        ("killed.eval", "`final_state` (first of the header's scorers) decides"),
        ("refund_zstd.eval", "ended with an error and have no score: 1"),
        ("edited.eval", "samples that a person marked invalid: 1"),
    ],
)
def test_what_is_doubtful_of_a_file_is_said(name: str, note: str) -> None:
    _, notes = read(LOGS / name)
    assert any(note in one for one in notes), notes


def test_a_header_is_compared_with_its_samples(tmp_path: Path) -> None:
    score = {"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": 0.5}}}
    held = sample(said("a"), scores={"match": {"value": "C"}},
                  model_usage={"m/one": {"total_tokens": 7}})  # fmt: skip
    header = {
        "results": {"total_samples": 1, "scores": [score]},
        "stats": {"model_usage": {"m/one": {"total_tokens": 8}}},
    }
    _, notes = read(file(tmp_path, log(held, **header)))
    assert "the header's accuracy is 0.5, that of the samples 1" in notes
    assert "the header's token totals differ from those of the samples" in notes
    score["metrics"]["accuracy"]["value"] = 1.0  # type: ignore[index]
    header["stats"]["model_usage"]["m/one"]["total_tokens"] = 7
    assert read(file(tmp_path, log(held, **header)))[1] == set()


@pytest.mark.parametrize("name", ["v0.3.41.json", "tool_errors.json"])
def test_a_document_too_large_to_hold_is_walked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    at_once = read(LOGS / name)
    monkeypatch.setattr(files, "AT_ONCE", 1000)
    assert read(LOGS / name) == at_once


def test_a_log_without_samples_says_so(door: Door) -> None:
    said = door.run("import", LOGS / "no_samples.json")
    assert said.code == 20
    assert "the log has results but no samples" in said.err
    with pytest.raises(Unreadable, match="no samples"):
        read(LOGS / "no_samples.json")


def test_logs_are_claimed_by_content(tmp_path: Path) -> None:
    for path in LOGS.glob("*.[ej]*"):
        moved = tmp_path / "x.bin"
        moved.write_bytes(path.read_bytes())
        assert READER.sniff(Head(moved)), path
    for value in ({}, [], {"eval": 1, "status": "success"}, {"eval": {"task": 1}, "status": "x"},
                  [log(sample())], {"episode_id": "a", "events": []}):  # fmt: skip
        assert not READER.sniff(Head(file(tmp_path, value)))
