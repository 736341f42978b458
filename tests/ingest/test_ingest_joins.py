"""What result files say of instances: merged by attempt, taken by the trajectory that is meant."""

from itertools import permutations
from pathlib import Path

import pytest

from reviewer.importing.pipeline.results import (
    CONTRADICTION,
    OTHER_MODEL,
    OTHER_PATCH,
    UNCLEAR,
    Joins,
    ResultEntry,
)
from reviewer.trace.record import SourceVerdict

ONE = "django__django-11001"
PATCH = "diff --git a/x b/x\n+1\n"
OTHER = "diff --git a/x b/x\n+2\n"


def said(
    path: str,
    passed: bool | None = None,
    *,
    model: str = "",
    patch: str | None = None,
    tests: object = None,
    run: str = "",
    label: str = "",
    place: str = "",
) -> ResultEntry:
    state = {"patch": patch, "tests": tests}
    verdict = SourceVerdict(passed=passed, detail={path: True})
    return ResultEntry(verdict, state, path, model, run, label, place)


def joins(*some: ResultEntry) -> Joins:
    made = Joins()
    for one in some:
        made.add(ONE, one)
    return made


PARTS = (
    said("preds", model="a/b", patch=PATCH),
    said("report", True, model="a__b", run="v1", tests={"t": 1}),
    said("summary", True, label="a__b.v1"),
)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_become_one_result_in_any_order(order: tuple[int, ...]) -> None:
    """And the file that spoke first is the one that makes an attempt of it."""
    made = joins(*(PARTS[n] for n in order))
    first = PARTS[order[0]].path
    [(instance, whole)] = made.left(first)
    assert instance == ONE
    assert (whole.model, whole.verdict.passed) == ("a/b", True)
    assert whole.final_state == {"patch": PATCH, "tests": {"t": 1}}
    assert whole.verdict.detail == {"preds": True, "report": True, "summary": True}
    assert all(not list(made.left(PARTS[n].path)) for n in order[1:])


def test_a_taken_result_is_left_to_nobody() -> None:
    made = joins(*PARTS)
    found, note = made.take(ONE, "a/b", patch=PATCH)
    assert found is not None
    assert (found.verdict.passed, note) == (True, "")
    assert not [one for part in PARTS for one in made.left(part.path)]


@pytest.mark.parametrize("patch", [PATCH, f"log line\n{PATCH}".replace("\n", "\r\n")])
def test_the_same_patch_says_which_result_is_meant(patch: str) -> None:
    made = joins(said("a", False, model="m", patch=OTHER), said("b", True, model="n", patch=PATCH))
    found, note = made.take(ONE, "m", patch=patch)
    assert found is not None
    assert (found.path, note) == ("b", "")


def test_a_result_with_another_patch_is_of_another_attempt() -> None:
    made = joins(said("a", True, model="m", patch=OTHER))
    assert made.take(ONE, "m", patch=PATCH) == (None, OTHER_PATCH)
    assert len(list(made.left("a"))) == 1


def test_another_models_only_result_is_taken_with_a_doubt_and_once() -> None:
    made = joins(said("a", True, model="run-name"))
    found, note = made.take(ONE, "m")
    assert found is not None
    assert note == OTHER_MODEL
    assert made.take(ONE, "n") == (None, "")


def test_several_that_may_be_meant_are_none() -> None:
    made = joins(said("a", True, model="m"), said("b", False, model="n"))
    assert made.take(ONE, "other") == (None, UNCLEAR)


def test_the_nearest_folder_is_meant(tmp_path: Path) -> None:
    near, far = tmp_path / "a", tmp_path / "b"
    made = joins(said("1", True, place=str(near)), said("2", False, place=str(far)))
    found, note = made.take(ONE, "m", path=near / "x" / "x.traj")
    assert found is not None
    assert (found.path, note) == ("1", "")


def test_contradictions_give_no_verdict() -> None:
    made = joins(said("a", True, model="m"), said("b", False, model="m"))
    found, note = made.take(ONE, "m")
    assert found is not None
    assert found.verdict.passed is None
    assert CONTRADICTION in (note, *found.notes)


@pytest.mark.parametrize(("label", "model", "named"), [
    ("a__b.v1", "a/b", True), ("a__b", "a/b", True), ("gpt-4.1.run", "gpt-4", False),
    ("gpt-4.1.run", "gpt-4.1", True), ("gpt-4.run", "gpt-4", True), ("gpt-4o.run", "gpt-4", False),
    ("gpt-4.20250101", "gpt-4", True),
])  # fmt: skip
def test_labels_name_models(label: str, model: str, named: bool) -> None:
    made = joins(said("p", model=model, patch=PATCH), said("s", True, label=label))
    whole = dict(made.left("p"))[ONE]
    assert whole.verdict.passed is (True if named else None)


def test_a_run_without_names_is_its_folders_model() -> None:
    made = joins(said("preds", model="m", patch=PATCH, place="/r"), said("s", True, place="/r"))
    assert [one.verdict.passed for _, one in made.left("preds")] == [True]
    apart = joins(said("preds", model="m", place="/r"), said("preds2", model="n", place="/r"),
                  said("s", True, place="/r"))  # fmt: skip
    assert [one.verdict.passed for _, one in apart.left("preds")] == [None]
    assert [one.verdict.passed for _, one in apart.left("s")] == [True]


def test_an_attempt_without_a_trajectory_is_its_runs_candidate() -> None:
    made = joins(said("preds", model="m", patch=PATCH))
    lost = said("preds", model="m")
    made.add("lost", lost)
    assert made.candidate_of(lost) == ""
    made.take(ONE, "m", candidate="scaffold 1 m")
    assert made.candidate_of(lost) == "scaffold 1 m"
    made.take("lost", "m", candidate="scaffold 2 m")
    assert made.candidate_of(lost) == ""  # two scaffolds ran this model
