"""tau-bench result files, on an excerpt of the benchmark's own (see data/tau_bench/README.md)."""

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"
CANDIDATE = EXCERPT.stem
SUITE = "tau-bench-airline"


def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(EXCERPT.read_bytes())
    return found


@pytest.fixture
def probe(door: Door) -> Door:
    said = door.run("import", EXCERPT)
    assert said.code == 0, said
    return door


def report(door: Door, candidate: str = CANDIDATE) -> dict[str, Any]:
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate)
    assert said.code == 10, said
    found: dict[str, Any] = json.loads((out / "report.json").read_bytes())
    return found


def test_the_excerpt_holds_the_odd_records() -> None:
    """One cut off at the step limit, one with outputs for its reward, one with a repeated id."""
    infos = [record["info"].get("reward_info") for record in records()]
    assert infos.count(None) == 1
    assert sum("r_outputs" in info["info"] for info in infos if info) == 7
    ids = [
        [call["id"] for message in record["traj"] for call in message.get("tool_calls") or []]
        for record in records()
    ]
    assert any(len(found) != len(set(found)) for found in ids)


def test_pass_hat_is_that_of_counting_by_hand(probe: Door) -> None:
    # Task 2 passes once in four trials, task 44 twice: mean over tasks of C(c, k) / C(4, k).
    found = report(probe)
    wanted = {k: (comb(1, k) + comb(2, k)) / comb(4, k) / 2 for k in (1, 2, 3, 4)}
    assert wanted == {1: 0.375, 2: pytest.approx(1 / 12), 3: 0.0, 4: 0.0}
    assert {int(k): v for k, v in found["pass_hat"].items() if v is not None} == pytest.approx(
        wanted
    )
    assert found["hard_pass_rate"]["value"] == pytest.approx(3 / 8)
    assert found["suite"]["probe"] is True
    assert found["recommendation"] == "hold"
    assert found["cost"]["cpst_usd"] is None


def test_trials_are_attempts_from_one_with_the_sources_verdict(probe: Door) -> None:
    wanted = sorted(
        (str(record["task_id"]), record["trial"] + 1, int(record["reward"])) for record in records()
    )
    assert probe.rows("SELECT episode_id, attempt, passed FROM traces ORDER BY 1, 2") == wanted
    assert probe.one("SELECT count(*) FROM traces WHERE cost_usd IS NOT NULL") == 0


def test_the_cut_off_record_says_so(probe: Door) -> None:
    assert probe.rows("SELECT episode_id, attempt, termination FROM traces"
                      " WHERE termination='max_steps'") == [("2", 2, "max_steps")]  # fmt: skip
    assert probe.codes(f"{SUITE}/{CANDIDATE}/2/2") == ["terminated:max_steps"]


def test_results_stand_right_behind_their_calls(probe: Door) -> None:
    """By position, since ids repeat."""
    for record in records():
        trace_id = f"{SUITE}/{CANDIDATE}/{record['task_id']}/{record['trial'] + 1}"
        desk = probe.desk()
        rows = desk.traces.events(trace_id, 0, 1000)
        desk.close()
        kinds = [(row.kind, row.title) for row in rows if row.kind != "message"]
        calls = [title for kind, title in kinds if kind == "tool_call"]
        results = [title for kind, title in kinds if kind == "tool_result"]
        assert calls == results
        assert all(
            after == ("tool_result", before[1])
            for before, after in zip(kinds[::2], kinds[1::2], strict=True)
        )
        sent = sum(len(message.get("tool_calls") or []) for message in record["traj"])
        assert len(calls) == sent


def test_again_and_in_another_shape_nothing_is_added(probe: Door) -> None:
    assert "nothing added" in probe.run("import", EXCERPT).err
    lines = "\n".join(json.dumps(record) for record in reversed(records()))
    renamed = probe.file(f"{CANDIDATE}.jsonl", lines)
    said = probe.run("import", renamed)
    assert said.code == 0, said
    assert probe.one("SELECT count(*) FROM trace") == 8
    probe.healthy()


def test_unmapped_episodes_do_not_fill_a_private_suite(door: Door) -> None:
    said = door.run("import", EXCERPT, "--suite", "refund-eval-v5")
    assert said.code == 20
    assert "unknown_episode:44" in said.err
    assert door.one("SELECT count(*) FROM trace") == 0


def test_identifiers_are_masked_and_the_trace_is_scored(door: Door) -> None:
    found = records()[:2]
    found[0]["traj"][1]["content"] = "I am jane.roe@corp-mail.org"
    found[0]["info"]["task"]["instruction"] = "You are jane.roe@corp-mail.org"
    found[1]["task_id"] = "jane.roe@corp-mail.org"
    said = door.take("tau-airline.json", found)
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM traces WHERE passed IS NOT NULL") == 2
    assert b"jane.roe" not in every_byte(door.root / "store")
    shown = door.run("suite", "show", SUITE).both + door.run("sources").both
    trace = door.one("SELECT trace_id FROM traces ORDER BY trace LIMIT 1")
    assert "jane.roe" not in shown + said.both + door.run("show", trace).both


def test_a_run_that_broke_is_kept_as_it_says(door: Door) -> None:
    found = records()[0]
    broken = {**found, "traj": [], "reward": 0.0, "trial": 9,
              "info": {"error": "boom of jane.roe@corp-mail.org", "traceback": "..."}}  # fmt: skip
    said = door.take("airline.json", [found, broken])
    assert said.code == 0, said
    assert door.one("SELECT termination FROM traces WHERE attempt=10") == "unexpected_error"
    assert b"jane.roe" not in every_byte(door.root / "store")


HOSTILE: dict[str, Any] = {
    "NaN for the simulator's cost": ("info", {"user_cost": float("nan")}),
    "infinite reward": ("reward", float("inf")),
    "reward as text": ("reward", "1.0"),
    "info is a list": ("info", []),
    "traj is text": ("traj", "hello"),
    "a message is a number": ("traj", [1]),
    "a role is null": ("traj", [{"role": None}]),
    "calls are text": ("traj", [{"role": "assistant", "tool_calls": "x"}]),
    "a call is null": ("traj", [{"role": "assistant", "tool_calls": [None, 5, "x"]}]),
    "calls are an object": ("traj", [{"role": "assistant", "tool_calls": {"a": 1}}]),
    "calls are a number": ("traj", [{"role": "assistant", "tool_calls": 7}]),
    "a name is a list": (
        "traj",
        [{"role": "assistant", "tool_calls": [
            {"id": 1, "function": {"name": [1], "arguments": "{}"}}]}],
    ),
    "arguments say NaN": (
        "traj",
        [{"role": "assistant", "tool_calls": [
            {"id": "a", "function": {"name": "t", "arguments": '{"a": NaN}'}}]}],
    ),
    "arguments are deep": (
        "traj",
        [{"role": "assistant", "tool_calls": [
            {"id": "a", "function": {"name": "t", "arguments": "[" * 100_000}}]}],
    ),
    "arguments are a huge number": (
        "traj",
        [{"role": "assistant", "tool_calls": [
            {"id": "a", "function": {"name": "t", "arguments": "9" * 5000}}]}],
    ),
    "a lone surrogate": ("traj", [{"role": "user", "content": "\ud800"}]),
    "content is an object": ("traj", [{"role": "user", "content": {"a": [1, None]}}]),
    "content is NaN": ("traj", [{"role": "user", "content": {"a": float("nan")}}]),
    "a tool's name is missing": ("traj", [{"role": "tool", "content": None}]),
    "negative trial": ("trial", -1),
    "huge trial": ("trial", 10**30),
    "trial true": ("trial", True),
    "task id is long": ("task_id", 10**600),
    "task id is null": ("task_id", None),
    "task id is empty": ("task_id", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_records_cost_themselves_at_most(door: Door, name: str) -> None:
    member, value = HOSTILE[name]
    good = records()[0]
    said = door.take("airline.json", [good, {**records()[1], member: value}])
    assert said.code in (0, 20), said
    assert "internal" not in said.err
    assert door.one("SELECT count(*) FROM trace WHERE record=1") == 1
    door.healthy()
