"""Shards of one run, each in a store of its own, and what their merged store says."""

import asyncio
import base64
import contextlib
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SHIPPED, SUITE, V7, V8, Door, copied, make_template
from people import key_file
from played_runs import made, order, slots

from reviewer import api
from reviewer.db.connection import reader
from reviewer.db.sources import origins
from reviewer.desk.imports import importing
from reviewer.desk.workspace import merge_traces
from reviewer.importing.pipeline import storing
from reviewer.running.attempt import lost_attempt, run_attempt
from reviewer.running.model import Approver, FinishedAttempt, Task
from reviewer.running.shards import Shard

COUNT, ATTEMPTS = 4, 5
RELEASE = ("--suite", SUITE, "--candidate", V8)
FORMATS = ("report.json", "report.md", "report.html", "junit.xml")


@pytest.fixture(scope="module", autouse=True)
def still_clock() -> Iterator[None]:
    """The report says when the suite was registered in the store: the one time in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "_written", lambda second: "2026-11-27T09:00:00Z")
        yield


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("shards") / "empty")


@pytest.fixture(scope="module")
def whole(empty: Path) -> Door:
    """The store of the run without shards."""
    door = copied(empty, empty.parent / "whole")
    made(door, order(attempts=ATTEMPTS))
    return door


@pytest.fixture(scope="module")
def parts(empty: Path) -> list[Door]:
    """The store of each shard; nothing writes to them any more."""
    return [sharded(empty, number, f"part-{number}") for number in range(1, COUNT + 1)]


def sharded(empty: Path, number: int, name: str, **changes: Any) -> Door:
    door = copied(empty, empty.parent / name)
    changes = {"attempts": ATTEMPTS, "shard": Shard(number, COUNT), **changes}
    assert made(door, order(**changes)).state == "done"
    return door


@pytest.fixture
def target(empty: Path, tmp_path: Path) -> Door:
    return copied(empty, tmp_path / "target")


def reports(door: Door) -> dict[str, bytes]:
    folder = door.root / "reports"
    door.run("--export-report", folder, *RELEASE, "--format", "json,md,html,junit")
    return {name: (folder / name).read_bytes() for name in FORMATS}


def report(door: Door) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reports(door)["report.json"])
    return found


def payload(door: Door, key: Path) -> dict[str, Any]:
    """What a decision on the store says, less what names this very store and its journal."""
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.ok("sign", *RELEASE, "--key", key, "--comment", "seen")
    [file] = (door.root / "store/decisions").glob("*.dsse.json")
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(file.read_bytes())["payload"]))
    predicate = found["predicate"]
    for name in ("decisionId", "timeCreated", "expires"):
        del predicate[name]
    return found


def began(door: Door) -> list[dict[str, Any]]:
    bodies = (json.loads(body) for (body,) in door.rows("SELECT body FROM journal ORDER BY seq"))
    return [entry for entry in bodies if entry["type"] == "run.started"]


def merged(target: Door, parts: list[Door]) -> Door:
    for part in parts:
        target.ok("merge", part.store)
    return target


@pytest.mark.parametrize("turned", [False, True])
def test_merged_shards_report_what_one_run_reports(
    whole: Door, parts: list[Door], target: Door, turned: bool
) -> None:
    merged(target, parts[::-1] if turned else parts)
    assert reports(target) == reports(whole)
    assert sorted(slots(target)) == sorted(slots(whole))
    target.healthy()


def test_a_decision_on_merged_shards_says_what_one_on_the_whole_says(
    empty: Path, whole: Door, parts: list[Door], target: Door, tmp_path: Path
) -> None:
    key = key_file(tmp_path, "robin")
    one = copied(whole.root, tmp_path / "one")
    ours, theirs = payload(merged(target, parts), key), payload(one, key)
    assert ours["predicate"]["audit"] != theirs["predicate"]["audit"]
    differing = {
        name for name in theirs["predicate"] if ours["predicate"][name] != theirs["predicate"][name]
    }
    assert ours["subject"] == theirs["subject"]
    assert differing == {"audit"}


def test_a_shard_says_which_it_was_and_of_what_plan(parts: list[Door]) -> None:
    entries = [began(part) for part in parts]
    assert [[entry["shard"] for entry in each] for each in entries] == [
        [{"number": number, "of": COUNT, "plan": 3 * ATTEMPTS}] for number in range(1, COUNT + 1)
    ]
    assert sum(entry["attempts"] for [entry] in entries) == 3 * ATTEMPTS
    assert all((entry["last"], entry["declared"]) == (ATTEMPTS, ATTEMPTS) for [entry] in entries)


def test_what_was_not_merged_is_missing_and_named(parts: list[Door], target: Door) -> None:
    alone = report(parts[0])
    assert (alone["recommendation"], alone["slots"]["missing"]) == ("hold", 12)
    assert "of shards 2/4 (4), 3/4 (4), 4/4 (4)" in alone["reasons"][0]
    most = report(merged(target, [parts[0], parts[1], parts[3]]))
    assert (most["recommendation"], most["slots"]["planned"]) == ("hold", 15)
    assert "4 of 15 attempts not run" in most["reasons"][0]
    assert "of shard 3/4" in most["reasons"][0]


def test_a_shard_that_comes_twice_adds_nothing(parts: list[Door], target: Door) -> None:
    merged(target, parts[:2])
    [before] = target.rows("SELECT count(*), max(seq) FROM trace, journal")
    said = target.ok("merge", parts[1].store)
    assert "traces: 0 added, 4 already there" in said.out
    assert target.rows("SELECT count(*), max(seq) FROM trace, journal") == [before]


@pytest.fixture(scope="module")
def alike(empty: Path) -> Path:
    """A workspace where all attempts of an episode are equal: a script without any chance."""
    folder = copied(empty, empty.parent / "alike").root
    script = folder / "suites" / SUITE / "candidates/scripts" / f"{V8}.json"
    plain = json.loads(script.read_bytes())
    plain["spread"] = 0.0
    for episode in plain["episodes"].values():
        episode.pop("attempts", None)
        for plan in episode["plans"].values():
            for turn in plan["turns"]:
                turn["messages"] = turn.get("messages", [])[:1]
                if not turn["messages"]:
                    del turn["messages"]
    script.write_text(json.dumps(plain))
    manifest = script.parent.parent / f"{V8}.json"
    door = Door(folder)
    door.ok("candidate", "pin", SUITE, V8)
    assert manifest.exists()
    return folder


def test_no_attempt_is_lost_for_being_equal_to_another(alike: Path, tmp_path: Path) -> None:
    target = copied(alike, tmp_path / "target")
    parts = [sharded(alike, number, f"{tmp_path.name}-{number}") for number in (1, 2, 3, 4)]
    evidence = {row for part in parts for row in part.rows("SELECT evidence FROM trace")}
    assert len(evidence) == 3  # one an episode, of five attempts each
    merged(target, parts)
    assert len(slots(target)) == 15
    assert "0 added, 4 already there" in target.ok("merge", parts[1].store).out
    # The same shard, made again in another store, is attempts of its own.
    again = sharded(alike, 2, f"{tmp_path.name}-again")
    assert "4 added, 0 already there" in target.ok("merge", again.store).out
    # And so they stay when what was merged is merged.
    third = copied(alike, tmp_path / "third")
    third.ok("merge", target.store)
    assert len(slots(third)) == 19
    assert "0 added, 4 already there" in third.ok("merge", again.store).out
    assert "0 added, 3 already there" in third.ok("merge", parts[0].store).out
    third.healthy()


def test_a_shard_made_twice_keeps_both_and_fills_no_other_slot(
    empty: Path, parts: list[Door], target: Door, tmp_path: Path
) -> None:
    other = sharded(empty, 2, tmp_path.name, seed=9)
    merged(target, parts[:3])
    target.run("merge", other.store)
    assert len(slots(target)) == 15
    found = report(target)
    assert (found["slots"]["missing"], found["slots"]["extra"]) == (4, 4)
    assert found["recommendation"] == "hold"


def killed(work: Callable[[], object]) -> None:
    """Do the work in a process that it kills."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL


def killed_merge(target: Door, other: Door, calls: int) -> None:
    """Merge, and be killed within the given batch."""

    def work() -> None:
        left, real = [calls], storing.write_batch

        def other_batch(*given: Any) -> Any:
            left[0] -= 1
            made = real(*given)
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        storing.write_batch = other_batch
        target.run("merge", other.store)

    killed(work)


def test_a_merge_of_shards_that_was_killed_goes_on_to_the_same_result(
    whole: Door, parts: list[Door], target: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "BATCH_TRACES", 0)
    monkeypatch.setattr(merge_traces, "FEW", 1)
    monkeypatch.setattr(merge_traces, "PACK_TRACES", 1)
    target.ok("merge", parts[0].store)
    killed_merge(target, parts[1], 3)
    assert 3 < len(slots(target)) < 7
    target.healthy()
    merged(target, parts[1:])
    assert reports(target) == reports(whole)
    assert sorted(slots(target)) == sorted(slots(whole))
    target.healthy()


def test_what_runs_made_stays_so_when_a_merge_of_two_candidates_was_killed(
    empty: Path, target: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their traces alternate, so what is left of the second has gaps."""
    other = copied(empty, tmp_path / "other")
    for _ in range(3):
        for candidate in (V7, V8):
            made(other, order(candidate, attempts=1))
    monkeypatch.setattr(storing, "BATCH_TRACES", 0)
    monkeypatch.setattr(merge_traces, "FEW", 1)
    monkeypatch.setattr(merge_traces, "PACK_TRACES", 1)
    killed_merge(target, other, 14)
    target.ok("merge", other.store)
    with contextlib.closing(reader(target.store)) as connection:
        found = origins(connection)
    rows = target.rows("SELECT source, record FROM trace")
    assert len(rows) == 18
    assert all(found.own(source, record) for source, record in rows)


def test_a_shard_that_was_cut_off_goes_on_by_resume_alone(
    empty: Path, whole: Door, parts: list[Door], target: Door, tmp_path: Path
) -> None:
    """Which shard it was is in the journal; and another start without --resume makes nothing."""
    part = copied(empty, tmp_path / "part")
    begun: list[Task] = []

    async def dying(task: Task, approver: Approver | None) -> FinishedAttempt:
        begun.append(task)
        while len(begun) == 3:
            if len(slots(part)) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.sleep(0.01)
        return await run_attempt(task, approver)

    killed(lambda: made(part, order(attempts=ATTEMPTS, shard=Shard(2, COUNT), jobs=1), dying))
    assert len(slots(part)) == 2
    refused = part.run("run", SUITE, V8, "--attempts", ATTEMPTS, "--shard", "2/4")
    assert refused.code == 2
    assert "--shard 2/4 --resume makes the missing attempts of the shard" in refused.err
    made(part, order(resume=True))
    assert sorted(slots(part)) == sorted(slots(parts[1]))
    assert [entry["shard"]["number"] for entry in began(part)] == [2, 2]
    made(part, order(resume=True, shard=Shard(2, COUNT)))
    assert len(began(part)) == 2  # nothing was left to make
    merged(target, [parts[0], part, *parts[2:]])
    assert reports(target) == reports(whole)


def test_resume_can_name_another_shard_or_the_whole(empty: Path, tmp_path: Path) -> None:
    part = copied(empty, tmp_path / "part")
    first = order(attempts=ATTEMPTS, resume=True, shard=Shard(1, COUNT))
    made(part, first)  # as a job of an array is told, the first time too
    made(part, order(resume=True, shard=Shard(4, COUNT)))
    assert len(slots(part)) == 7
    made(part, order(resume=True, shard=Shard(1, 1)))
    assert len(slots(part)) == 15
    assert report(part)["slots"]["missing"] == 0


def test_some_episodes_are_divided_too(empty: Path, tmp_path: Path) -> None:
    found: list[tuple[str, int]] = []
    for number in range(1, COUNT + 1):
        part = copied(empty, tmp_path / f"part-{number}")
        one = order(attempts=4, shard=Shard(number, COUNT), episodes=("appeal-009",))
        made(part, one)
        assert len(slots(part)) == 1
        found += slots(part)
    assert sorted(found) == [("appeal-009", n) for n in (1, 2, 3, 4)]


def test_a_shard_without_a_slot_makes_nothing(empty: Path, target: Door, tmp_path: Path) -> None:
    part = copied(empty, tmp_path / "part")
    said = part.ok("run", SUITE, V8, "--attempts", "1", "--shard", "8/8")
    assert "in shard 8/8: every slot of it holds a trace" in said.out
    assert "0 added, 0 already there" in target.ok("merge", part.store).out


def test_what_infrastructure_took_of_two_shards_is_made_good_in_both(
    empty: Path, target: Door, tmp_path: Path
) -> None:
    async def losing(task: Task, approver: Approver | None) -> FinishedAttempt:
        return lost_attempt(task, "gone")

    for number in (1, 2):
        part = copied(empty, tmp_path / f"part-{number}")
        made(part, order(shard=Shard(number, 2)), losing)
        made(part, order(resume=True))
        target.ok("merge", part.store)
    assert len(slots(target)) == 18
    found = report(target)["slots"]
    assert (found["valid"], found["missing"], found["infrastructure_attempts"]) == (9, 0, 9)


def test_a_shard_of_another_candidate_or_suite_is_refused(
    empty: Path, parts: list[Door], target: Door, tmp_path: Path
) -> None:
    merged(target, parts[:1])
    changed = copied(empty, tmp_path / "changed")
    manifest = changed.suite / "candidates" / f"{V8}.json"
    manifest.write_text(manifest.read_text().replace('"8.0.0"', '"8.0.1"'))
    made(changed, order(attempts=ATTEMPTS, shard=Shard(2, COUNT)))
    said = target.run("merge", changed.store)
    assert said.code == 20
    assert "a changed candidate needs a new candidate_id" in said.err
    other = copied(empty, tmp_path / "other")
    shutil.rmtree(other.suite)
    shutil.copytree(SHIPPED, other.suite)
    body = json.loads((other.suite / "suite.json").read_bytes())
    body["policy"]["max_cpst_usd"] = 0.5
    (other.suite / "suite.json").write_text(json.dumps(body))
    shutil.rmtree(other.suite / ".frozen")
    for name in ("suite.lock", "suite.sha256"):
        (other.suite / name).unlink()
    other.ok("suite", "freeze", SUITE)
    made(other, order(attempts=ATTEMPTS, shard=Shard(2, COUNT)))
    said = target.run("merge", other.store)
    assert said.code == 20
    assert f"{SUITE}: its traces were not merged" in said.err
    assert len(slots(target)) == 3


def test_other_plans_are_told(empty: Path, parts: list[Door], target: Door, tmp_path: Path) -> None:
    merged(target, parts[:1])
    other = sharded(empty, 2, tmp_path.name, attempts=8)
    said = target.run("merge", other.store)
    assert said.code == 20
    assert "8 attempts of each episode were declared there, not here" in said.err
    assert report(target)["slots"]["planned"] == 15


def test_shards_run_by_other_rules_are_told(
    empty: Path, parts: list[Door], target: Door, tmp_path: Path
) -> None:
    """They would not be resumed as one run either; what was made counts."""
    merged(target, parts[:2])
    other = sharded(empty, 3, tmp_path.name, approvals="allow", seed=7)
    said = target.run("merge", other.store)
    assert said.code == 20
    rules = "--seed 7 --approve allow there and --seed 0 --approve deny here"
    assert f"its shards were run with {rules}: all count" in said.err
    assert len(slots(target)) == 11


def test_a_shard_is_made_from_python(empty: Path, parts: list[Door], tmp_path: Path) -> None:
    part = copied(empty, tmp_path / "part")
    with api.open_workspace(part.root) as desk:
        view = desk.run(SUITE, V8, attempts=ATTEMPTS, shard="2/4")
        with pytest.raises(api.DeskError, match="the shards of 4 are"):
            desk.run(SUITE, V8, shard="5/4", resume=True)
    assert (view.planned, view.whole) == (4, 15)
    assert sorted(slots(part)) == sorted(slots(parts[1]))


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "1/", "x/y", "1/4/2", "1/99999999999"])
def test_a_shard_that_is_none_is_refused_before_anything(target: Door, text: str) -> None:
    said = target.run("run", SUITE, V8, "--shard", text)
    assert (said.code, said.out) == (2, "")
    assert f"--shard '{text}': " in said.err
    assert "way out: --shard 1/8 to --shard 8/8 are the eight parts of a run" in said.err
    assert not target.store.exists()
