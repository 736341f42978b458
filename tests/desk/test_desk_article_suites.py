"""The shipped suites through the doors: an example workspace, its candidates, their reports."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door

from reviewer.running.attempt import run_attempt
from reviewer.running.model import Slot, Task
from reviewer.running.offer import offer_of
from reviewer.suite.folder import read_candidates, read_suite
from reviewer.suite.toolset import equipped

FILES, DRUGS, PAYOUTS = "file-tools-v1", "drug-info-v1", "payouts-v1"
CANDIDATES = ((FILES, "file-agent-v1"), (FILES, "file-agent-v2"),
              (DRUGS, "drug-agent-v1"), (DRUGS, "drug-agent-v2"))  # fmt: skip


async def made(folder: Path, candidate_id: str) -> list[Any]:
    """The records of three attempts per episode."""
    loaded, candidate = read_suite(folder), read_candidates(folder)[0][candidate_id]
    suite, offer = loaded.suite, offer_of(loaded.suite.episodes, loaded.toolset)
    found = []
    for episode in suite.episodes:
        for attempt in (1, 2, 3):
            task = Task(
                slot=Slot(suite.suite_id, candidate_id, episode.episode_id, attempt),
                episode=equipped(episode, loaded.toolset),
                candidate=candidate,
                redaction=suite.redaction,
                folder=str(folder),
                offer=offer,
            )
            found.append(json.loads((await run_attempt(task)).raw))
    return found


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """An example workspace with every candidate of the two suites in it."""
    door = Door(tmp_path_factory.mktemp("example") / "desk")
    assert door.run("init", door.root, "--example").code == 0
    for suite, candidate in CANDIDATES:
        records = asyncio.run(made(door.root / "suites" / suite, candidate))
        said = door.take(f"{candidate}.jsonl", records)
        assert said.code == 0, said
    return door


def report(door: Door, suite: str, candidate: str, *more: object) -> dict[str, Any]:
    said = door.run("--export-report", door.root / "out", "--suite", suite,
                    "--candidate", candidate, "--json", "--quiet", *more)  # fmt: skip
    document: dict[str, Any] = json.loads(said.out)
    assert said.code == (0 if document["recommendation"] == "promote" else 10)
    return document


def test_an_example_workspace_holds_every_shipped_suite_frozen(example: Door) -> None:
    said = example.ok("suite", "check")
    assert [line.partition(": ")[0] for line in said.out.splitlines()] == [
        DRUGS,
        FILES,
        PAYOUTS,
        SUITE,
    ]
    assert all(": frozen, " in line for line in said.out.splitlines())
    rows = json.loads(example.ok("suite", "list", "--json").out)
    assert [(row["suite_id"], row["state"], row["candidates"]) for row in rows] == [
        (DRUGS, "frozen", 2), (FILES, "frozen", 2), (PAYOUTS, "frozen", 0), (SUITE, "frozen", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("suite", "candidate"), CANDIDATES)
def test_the_good_are_promoted_and_the_bad_blocked(
    example: Door, suite: str, candidate: str
) -> None:
    document = report(example, suite, candidate)
    good = candidate.endswith("v2")
    assert document["recommendation"] == ("promote" if good else "block")
    assert (document["hard_pass_rate"]["value"] == 1.0) is good
    assert document["slots"]["valid"] == document["slots"]["planned"] == 18
    if not good:
        assert document["reasons"][:2] == [
            "critical safety failure", "not every frozen episode passed",
        ]  # fmt: skip


def test_the_safety_block_rate_is_counted_from_the_store(example: Door) -> None:
    bad = report(example, DRUGS, "drug-agent-v1")["safety_block_rate"]
    # Of three red-team episodes one is refused, in each of three attempts.
    assert (bad["blocked"], bad["not_blocked"], bad["n"]) == (3, 6, 9)
    assert bad["value"] == 1 / 3
    good = report(example, DRUGS, "drug-agent-v2")["safety_block_rate"]
    assert (good["value"], good["n"], good["not_measured"]) == (1.0, 9, 0)
    none = report(example, FILES, "file-agent-v2")["safety_block_rate"]
    assert (none["value"], none["n"], none["why"]) == (None, 0, "no red-team episode")


def test_every_rendering_says_it(example: Door) -> None:
    report(example, DRUGS, "drug-agent-v1")
    assert "| safety block rate | 3/9 0.333 |" in (example.root / "out/report.md").read_text()
    assert "3/9 0.333" in (example.root / "out/report.html").read_text()
    said = example.run("--export-report", example.root / "out", "--suite", DRUGS,
                       "--candidate", "drug-agent-v1")  # fmt: skip
    assert "safety block 3/9 0.333 [" in said.out


def test_selection_scores_stand_among_the_diagnostics(example: Door) -> None:
    good = report(example, FILES, "file-agent-v2")["diagnostics"]
    # Five rows and a task, three attempts each; the two negative rows expect no tool.
    assert good["tool_f1"] == {"mean": 1.0, "n": 12}
    bad = report(example, FILES, "file-agent-v1")["diagnostics"]
    assert bad["tool_f1"]["mean"] == pytest.approx((1 + 0 + 2 / 3 + 6 / 7) / 4, abs=1e-6)


def test_the_drop_from_the_good_one_is_told(example: Door) -> None:
    against = report(example, DRUGS, "drug-agent-v1", "--baseline", "drug-agent-v2")["regression"]
    assert (against["score"] < -1.645, against["margin"]) == (True, 0.05)
    assert len(against["lost"]) == 4


def test_a_suite_that_is_not_named_is_the_one_with_the_traces(example: Door) -> None:
    said = example.run("scorecard", "--candidate", "drug-agent-v1")
    assert said.out.startswith(f"suite {DRUGS}  candidate drug-agent-v1\n")
    said = example.run("scorecard", "--suite", FILES)
    assert said.code == 2
    assert "--candidate is needed, one of: file-agent-v1, file-agent-v2" in said.err
    for asked in ((), ("--candidate", V8)):
        said = example.run("scorecard", *asked)
        assert said.code == 2
        assert f"--suite is needed, one of: {DRUGS}, {FILES}\n" in said.err


def test_without_traces_every_suite_is_a_choice(tmp_path: Path) -> None:
    door = Door(tmp_path / "desk")
    door.run("init", door.root, "--example")
    said = door.run("scorecard", "--candidate", V8)
    assert said.code == 2
    assert f"one of: {DRUGS}, {FILES}, {PAYOUTS}, {SUITE}" in said.err
    door.ok("import", door.root / "suites" / SUITE / "traces")
    assert door.ok("scorecard", "--candidate", V8).out.startswith(f"suite {SUITE} ")
