"""Results and trajectories of one run that come in several imports: every order ends alike."""

import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from doors import Door, copied
from swe_files import IDS, MODEL, evaluated, prediction, report, summary, trajectory

from reviewer.importing.pipeline.revising import WHOLE
from reviewer.importing.pipeline.stored_results import SEVERAL
from reviewer.importing.pipeline.storing import OTHER_VERDICT, VERDICT_LATER

PARTS = ("preds.json", "logs", f"{MODEL.replace('/', '__')}.v1.json", "trajs")
ORDERS = random.Random(7).sample(list(permutations(PARTS)), 3)
State = list[tuple[Any, ...]]
Imports = Callable[[Path], Iterable[list[Path]]]


def state(door: Door) -> State:
    """All that is kept of every attempt, whichever file it came from."""
    return door.rows(
        "SELECT a.suite_id, a.candidate_id, a.episode_id, a.attempt, a.passed, a.events,"
        " a.cost_usd, a.termination, a.final_state, a.sha256, v.passed, v.reward, v.detail,"
        " roll.attempts, roll.passes, roll.measured,"
        " (SELECT count(*) FROM event e WHERE e.trace = t.id)"
        " FROM traces a JOIN trace t ON t.id = a.trace"
        " LEFT JOIN source_verdict v ON v.trace = t.id"
        " JOIN roll ON roll.candidate = t.candidate AND roll.episode = t.episode"
        " ORDER BY 1, 2, 3, 4"
    )


@pytest.fixture
def ends(tmp_path: Path, empty_template: Path) -> Callable[..., State]:
    """What is kept after a run, of which some instances have a trajectory, came in these imports.
    The run lies in the same folder every time."""

    def end(imports: Imports, some: int, without: Iterable[str] = ()) -> State:
        root = tmp_path / "desk"
        shutil.rmtree(root, ignore_errors=True)
        door = copied(empty_template, root)
        run = evaluated(door)
        for number in range(some):
            trajectory(door, "run/trajs", number)
        for pattern in without:
            for file in run.rglob(pattern):
                file.unlink()
        for paths in imports(run):
            door.ok("import", *paths)
        door.healthy()
        rows = state(door)
        # A result that came before anybody knew whose it is stays under the name that it had.
        home = max({row[1] for row in rows}, key=lambda name: (name[:5] == "mini-", name == MODEL))
        left = [row for row in rows if row[1] != home]
        assert all(row[5] == 0 and row[4] != 1 for row in left), [
            (row[:6], row[10]) for row in left
        ]
        return [row for row in rows if row[1] == home]

    return end


def at_once(run: Path) -> Iterator[list[Path]]:
    yield [run]


@pytest.mark.parametrize("some", [3, 8])
def test_every_order_of_the_parts_ends_alike(ends: Callable[..., State], some: int) -> None:
    wanted = ends(at_once, some)
    assert len(wanted) == 8
    assert {row[1] for row in wanted} == {f"mini-swe-agent 1.13.4 {MODEL}"}
    for order in ORDERS:
        assert ends(lambda run, order=order: [[run / name] for name in order], some) == wanted, (
            order
        )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("without", [(), ("preds.json",), ("*.v1.json", "patch.diff")])
def test_files_one_by_one_in_any_order_end_alike(
    ends: Callable[..., State], seed: int, without: tuple[str, ...]
) -> None:
    chance = random.Random(f"{seed} {without}")
    some = chance.choice([0, 3, 8])
    wanted = ends(at_once, some, without)

    def shuffled(run: Path) -> Iterator[list[Path]]:
        files = [p for p in sorted(run.rglob("*")) if p.is_file() and p.name != "patch.diff"]
        chance.shuffle(files)
        step = chance.choice([1, 4])
        for start in range(0, len(files), step):
            yield files[start : start + step]

    assert ends(shuffled, some, without) == wanted


def rescored(door: Door) -> list[dict[str, Any]]:
    bodies = [json.loads(body) for (body,) in door.rows("SELECT body FROM journal ORDER BY seq")]
    return [body for body in bodies if body["type"] == "traces.rescored"]


def test_verdicts_that_come_later_stand_in_the_journal(door: Door) -> None:
    run = evaluated(door)
    for number in range(8):
        trajectory(door, "run/trajs", number)
    door.ok("import", run / "trajs")
    said = door.ok("import", run / "logs")
    assert VERDICT_LATER in said.both
    changes = [(body["changed"], body["why"]) for body in rescored(door)]
    assert changes == [(1, "verdicts of the source came later")] * 5
    assert door.one("SELECT count(passed) FROM traces") == 5


def test_a_trajectory_that_comes_later_carries_its_result(door: Door) -> None:
    """What came before anybody knew whose it is stays where it is; a pass counts once."""
    run = evaluated(door)
    trajectory(door, "run/trajs", 0)
    door.ok("import", run / "preds.json", run / "logs")
    before = door.rows("SELECT trace_id, passed, sha256 FROM traces ORDER BY 1")
    passed = [row[0] for row in before if row[1] == 1]
    door.ok("import", run / "trajs")
    after = {row[0]: row for row in door.rows("SELECT trace_id, passed, sha256 FROM traces")}
    for name, was, sha256 in before:
        assert after[name] == (name, None if was == 1 else was, sha256)
    assert {name for name, code in door.rows("SELECT trace_id, code FROM findings")
            if code == "shared_evidence"} >= set(passed)  # fmt: skip
    home = f"mini-swe-agent 1.13.4 {MODEL}"
    rows = door.rows("SELECT episode_id, passed, events FROM traces WHERE candidate_id=?", home)
    assert len(rows) == 8
    assert sum(row[1] == 1 for row in rows) == len(passed)
    assert [row[2] for row in rows if row[0] == IDS[0]] == [11]
    door.healthy()


def test_a_report_adds_to_a_prediction_that_was_imported_before(door: Door) -> None:
    run = evaluated(door)
    door.ok("import", run / "preds.json")
    said = door.ok("import", run / "logs")
    assert WHOLE in said.both
    assert door.one("SELECT count(*) FROM traces") == 8
    assert door.one("SELECT count(passed) FROM traces") == 5


def test_of_two_verdicts_that_contradict_the_failure_holds(door: Door) -> None:
    run = evaluated(door)
    for number in range(2):
        trajectory(door, "run/trajs", number)
    door.ok("import", run)
    before = state(door)
    turned = summary(resolved_ids=[IDS[1], IDS[3], IDS[5]], unresolved_ids=[IDS[0], IDS[2]])
    said = door.ok("import", door.file(f"run/{MODEL.replace('/', '__')}.v2.json", turned))
    assert OTHER_VERDICT in said.both
    was = {row[2]: row[4] for row in before}
    now = {row[2]: row[4] for row in state(door)}
    assert len(state(door)) == len(before)
    assert [name for name in IDS if was[name] == 1 and now[name] == 0] == [
        name for name in (IDS[0], IDS[2]) if was[name] == 1
    ]
    assert [name for name in IDS if was[name] == 0] == [
        name for name in IDS if was[name] == 0 and now[name] == 0
    ]
    door.healthy()


def test_results_of_another_model_are_not_joined_later(door: Door) -> None:
    for number in range(3):
        trajectory(door, "run/trajs", number)
    door.ok("import", door.root / "run")
    door.ok("import", evaluated(door, "other", "gpt-4"))
    rows = door.rows("SELECT candidate_id, count(*), count(passed) FROM traces GROUP BY 1")
    assert rows == [("gpt-4", 8, 6), (f"mini-swe-agent 1.13.4 {MODEL}", 3, 0)]


def test_the_patch_says_which_attempt_is_meant(door: Door) -> None:
    """Two runs of one model, the second of them evaluated in another import."""
    patch = "diff --git a/x b/x\n+second\n"
    trajectory(door, "first/trajs", 0)
    trajectory(door, "second/trajs", 0, submission=patch)
    door.ok("import", door.root / "first", door.root / "second")
    place = f"eval/logs/run_evaluation/v1/{MODEL.replace('/', '__')}/{IDS[0]}"
    door.file(f"{place}/report.json", report(0, True))
    door.file(f"{place}/patch.diff", patch)
    door.ok("import", door.root / "eval")
    rows = door.rows("SELECT passed, json_extract(final_state, '$.submission') FROM traces")
    assert sorted(rows, key=str) == sorted(
        [(None, prediction(0)["model_patch"]), (1, patch)], key=str
    )


def test_results_that_may_be_of_several_attempts_are_given_to_none(door: Door) -> None:
    """And they make no attempt that nobody made."""
    for run in ("first", "second"):
        trajectory(door, f"{run}/trajs", 0, submission=f"diff --git a/x b/x\n+{run}\n")
    door.ok("import", door.root / "first", door.root / "second")
    place = f"eval/logs/run_evaluation/v1/{MODEL.replace('/', '__')}/{IDS[0]}"
    door.file(f"{place}/report.json", report(0, True))
    said = door.ok("import", door.root / "eval")
    assert SEVERAL in said.both
    assert door.rows("SELECT passed FROM traces") == [(None,), (None,)]


def test_a_run_of_its_own_folder_is_meant_first(door: Door) -> None:
    """One of two runs of a model is evaluated: the other one's trajectories get no verdict."""
    for run in ("evaluated", "unknown"):
        for number in range(3):
            text = f"diff --git a/{number} b/{number}\n+{run}\n"
            trajectory(door, f"{run}/trajs", number, submission=text)
    door.file(f"evaluated/{MODEL.replace('/', '__')}.v1.json", summary())
    door.ok("import", door.root / "evaluated", door.root / "unknown")
    rows = door.rows(
        "SELECT source_path LIKE '%/evaluated/%', count(*), count(passed) FROM traces"
        " WHERE events > 0 GROUP BY 1"
    )
    assert rows == [(0, 3, 0), (1, 3, 3)]


def test_reports_of_two_models_that_are_the_same_to_the_byte_are_two(door: Door) -> None:
    for model in ("gpt-4", "gpt-4.1"):
        run = evaluated(door, f"run-{model}", model)
        for file in (*run.rglob("patch.diff"), run / "preds.json"):
            file.unlink()
    door.ok("import", door.root / "run-gpt-4", door.root / "run-gpt-4.1")
    rows = door.rows("SELECT candidate_id, count(*), sum(passed) FROM traces GROUP BY 1")
    assert rows == [("gpt-4", 8, 2), ("gpt-4.1", 8, 2)]
    again = door.ok("import", door.root / "run-gpt-4", door.root / "run-gpt-4.1")
    assert ", 0 added" not in again.both.replace("nothing added", "")
    assert door.one("SELECT count(*) FROM traces") == 16


def test_a_private_suites_gates_say_what_passed_whatever_comes_later(door: Door) -> None:
    """The source's word is kept beside them."""
    names = {"schema": "reviewer/episode-map@1", "episodes": {IDS[0]: "damaged-221"}}
    options = ("--suite", door.suite.name, "--episode-map", door.file("map.json", names))
    door.run("import", trajectory(door, "run/trajs", 0), *options)
    before = door.rows("SELECT passed, gates FROM trace")
    door.file("run/preds.json", {IDS[0]: prediction(0)})
    door.file(f"run/logs/{IDS[0]}/report.json", report(0, True))
    said = door.run("import", door.root / "run/logs", *options)
    assert VERDICT_LATER in said.both, said
    assert door.rows("SELECT passed, gates FROM trace") == before
    assert door.rows("SELECT passed FROM source_verdict") == [(1,)]
    door.healthy()
