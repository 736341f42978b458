"""Rows of SWE-bench results: predictions and the reports of single instances."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import words
from reviewer.importing.formats.base import folder_names
from reviewer.importing.formats.swe import is_instance
from reviewer.importing.formats.swe.mini_swe_agent import termination_of
from reviewer.importing.formats.values import at_path, sequence, text
from reviewer.importing.head import Head
from reviewer.importing.pipeline.results import PREDICTION, Joined
from reviewer.importing.pipeline.units import STDIN
from reviewer.importing.reader import Broken, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

_FOREIGN = {"history", "messages", "trajectory", "test_result", "events", "problem_statement"}
_FLAGS = ("patch_is_None", "patch_exists", "patch_successfully_applied", "resolved")
_TESTS = ("FAIL_TO_PASS", "PASS_TO_PASS", "FAIL_TO_FAIL", "PASS_TO_FAIL")
_STRUCTURE = {"logs", "run_evaluation", "results", "reports", "evaluation_results", "eval_outputs"}
MOST_NAMED, MOST_NAME = 50, 200
APPLIED = "resolved although patch_successfully_applied is false: both were kept"


def is_prediction(row: dict[str, Any]) -> bool:
    """Return whether an object is a prediction; its patch may be too long to be seen."""
    named = isinstance(row.get("instance_id"), str)
    return (
        named and bool({"model_patch", "model_name_or_path"} & set(row)) and not _FOREIGN & set(row)
    )


def is_report(row: dict[str, Any]) -> bool:
    """Return whether an object is what a report says of one instance."""
    flags = {"patch_exists", "patch_is_None", "patch_successfully_applied"} & set(row)
    return bool(flags) or ("tests_status" in row and "resolved" in row)


def predictions(source: Source) -> Iterator[tuple[str, Joined] | Broken]:
    """Yield the predictions of JSON lines, an array, an object by instance, or a single one. Raises
    Unreadable."""
    ends = _exit_statuses(source)
    place = str(place_of(source.path))
    for name, raw, problem in _rows(source):
        if problem:
            yield Broken((problem,), name)
            continue
        try:
            row = source.value(raw)
            yield _prediction(row, source.path, place, ends)
        except Rejected as error:
            yield Broken(error.codes, name)


def _rows(source: Source) -> Iterator[tuple[str, bytes, str]]:
    """Yield (name, bytes, problem) of each prediction."""
    head = Head(source.path)
    if isinstance(head.value, dict) and is_prediction(head.value):
        for piece in source.pieces():  # lines, or a single one
            yield "", piece.raw, piece.problem
        return
    for part in source.walk((EACH,)):
        name = part.path[0] if part.path and isinstance(part.path[0], str) else ""
        yield name, part.raw, part.problem


def _prediction(row: Any, path: Path, place: str, ends: dict[str, str]) -> tuple[str, Joined]:
    if not isinstance(row, dict) or not isinstance(row.get("instance_id"), str):
        raise Rejected("missing:instance_id")
    instance_id = row["instance_id"]
    patch, model = row.get("model_patch"), row.get("model_name_or_path")
    if patch is not None and not isinstance(patch, str):
        raise Rejected("type:model_patch")
    status = ends.get(instance_id)
    detail: dict[str, Any] = {PREDICTION: "patch" if patch and patch.strip() else "empty"}
    if status:
        detail["exit_status"] = status
    return instance_id, Joined(
        SourceVerdict(detail=detail),
        {"patch": patch or None},
        str(path),
        text(model),
        place=place_in(place, instance_id),
        termination=termination_of(status),
    )


def reports(source: Source) -> Iterator[tuple[str, Joined] | Broken]:
    """Yield what a report file says, of one instance or of several. Raises Unreadable."""
    value = source.load()
    if not isinstance(value, dict):
        yield Broken(("type:report",))
        return
    bare = is_report(value)
    (folder,) = folder_names(source.path, 1)
    if bare and not folder:
        yield Broken(("missing:instance_id (only the folder's name has it)",))
        return
    for name, row in ({folder: value} if bare else value).items():
        try:
            yield name, _report(source, row, name, bare)
        except Rejected as error:
            yield Broken(error.codes, name)


def _report(source: Source, row: Any, instance_id: str, bare: bool) -> Joined:
    if not isinstance(row, dict):
        raise Rejected("type:report")
    path = source.path
    tests = row.get("tests_status")
    notes = list(_doubts(row, tests))
    if bare:
        notes.append("the report names no instance: its folder's name was taken")
    elif is_instance(folder := folder_names(path, 1)[0]) and folder != instance_id:
        notes.append("the report lies in the folder of another instance")
    beside = path.with_name("patch.diff")
    patch = source.text(beside) if beside in source.companions else None
    run, model = evaluation_of(path, instance_id)
    stated = row.get("model_name_or_path")
    resolved = row.get("resolved")
    return Joined(
        SourceVerdict(
            passed=resolved if isinstance(resolved, bool) else None,
            detail={**{name: row[name] for name in _FLAGS if name in row}, **_counts(tests)},
        ),
        {"patch": patch, "tests": tests if isinstance(tests, dict) else None},
        str(path),
        stated if isinstance(stated, str) else model,
        run,
        place=str(place_of(path, instance_id)),
        notes=tuple(notes),
    )


def _lists(tests: Any, name: str) -> tuple[list[Any], list[Any]]:
    return sequence(at_path(tests, name, "success")), sequence(at_path(tests, name, "failure"))


def _counts(tests: Any) -> dict[str, Any]:
    """Return how many tests of each kind went well and badly, and which tests that must pass did
    not: a trajectory holds nothing else of them."""
    counted: dict[str, Any] = {}
    for name in _TESTS:
        good, bad = _lists(tests, name)
        if good or bad:
            counted[name] = {"success": len(good), "failure": len(bad)}
            if bad and name in _TESTS[:2]:
                counted[f"{name}_failed"] = [str(test)[:MOST_NAME] for test in bad[:MOST_NAMED]]
    return counted


def _doubts(row: dict[str, Any], tests: Any) -> Iterator[str]:
    resolved = row.get("resolved")
    if not isinstance(resolved, bool):
        yield "the report says nothing of whether it was resolved"
        return
    if resolved and row.get("patch_successfully_applied") is False:
        yield APPLIED
    failed = [name for name in _TESTS[:2] if _lists(tests, name)[1]]
    ran = any(_lists(tests, name)[0] for name in _TESTS[:2])
    if resolved and failed:
        yield "resolved, and yet tests that must pass failed: both were kept"
    elif not resolved and ran and not failed:
        yield "not resolved, and yet no test that must pass failed: both were kept"


def evaluation_of(path: Path, instance_id: str) -> tuple[str, str]:
    """Return (run, model) of `run_evaluation/<run>/<model>/<instance>/report.json`; SWE-smith has
    no folder for the model."""
    parts = path.absolute().parent.parts
    if "run_evaluation" not in parts:
        return "", ""
    behind = parts[len(parts) - parts[::-1].index("run_evaluation") :]
    if behind and behind[-1] == instance_id:
        behind = behind[:-1]
    return (behind[0] if behind else ""), (behind[1] if len(behind) > 1 else "")


def place_of(path: Path, instance_id: str = "") -> Path:
    """Return the folder of the run a result file belongs to."""
    folder = Path() if path.name == STDIN else path.absolute().parent
    if instance_id and folder.name == instance_id:
        folder = folder.parent
    for above in (folder, *folder.parents):
        if above.name == "run_evaluation":
            folder = above
    while folder.name in _STRUCTURE:
        folder = folder.parent
    return folder


def place_in(place: str, instance_id: str) -> str:
    """Return `place`, one up where it is a single instance's folder
    (`<instance>/<instance>.pred`)."""
    folder = Path(place)
    return str(folder.parent) if folder.name == instance_id else place


_STATUS = re.compile(r"^\s+(['\"]?)([^\s-].*?)\1:\s*$")
_ENTRY = re.compile(r"^\s*- (['\"]?)(\S+)\1\s*$")


def _exit_statuses(source: Source) -> dict[str, str]:
    """Return how the run of each instance ended, out of `exit_statuses_*.yaml`: one file per
    invocation, the last word counts."""
    ends: dict[str, str] = {}
    for path in sorted(source.companions):
        status = ""
        for line in str(words(source.text(path)) or "").splitlines():
            if entry := _ENTRY.match(line):
                if status:
                    ends[entry.group(2)] = status
            elif named := _STATUS.match(line):
                status = named.group(2)
    return ends
