"""SWE-bench results: predictions, a report per instance, run summaries (schema 2, and those of
2024); SWE-smith's of each kind.

Each file contains a part of a run. The facts in all files of one import about an instance are
merged and go to its trajectory; an instance without one becomes an attempt without events. A
prediction that no report mentions is unscored, not failed.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, whole, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    at_path,
    folder_names,
    mapping,
    sequence,
    text,
)
from reviewer.importing.formats.swe import is_instance, suite_of
from reviewer.importing.formats.swe.mini_swe_agent import termination_of
from reviewer.importing.head import Head
from reviewer.importing.pipeline.results import (
    CONTRADICTION,
    NO_TRAJECTORY,
    PREDICTION,
    RUNS_OWN,
    STANDS,
    UNCLEAR_MODEL,
    UNNAMED,
    UNSCORED,
    ResultEntry,
)
from reviewer.importing.pipeline.units import STDIN
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

# Predictions and reports of instances -------------------------------------------------------------

_FOREIGN = {"history", "messages", "trajectory", "test_result", "events", "problem_statement"}
_FLAGS = ("patch_is_None", "patch_exists", "patch_successfully_applied", "resolved")
_TESTS = ("FAIL_TO_PASS", "PASS_TO_PASS", "FAIL_TO_FAIL", "PASS_TO_FAIL")
_STRUCTURE = {"logs", "run_evaluation", "results", "reports", "evaluation_results", "eval_outputs"}
MOST_NAMED, MOST_NAME = 50, 200
APPLIED = "resolved although patch_successfully_applied is false: both were kept"


def is_prediction(row: dict[str, Any]) -> bool:
    """Return whether an object is a prediction; its patch may be too long to be shown."""
    named = isinstance(row.get("instance_id"), str)
    return (
        named and bool({"model_patch", "model_name_or_path"} & set(row)) and not _FOREIGN & set(row)
    )


def is_report(row: dict[str, Any]) -> bool:
    """Return whether an object is the report on one instance."""
    flags = {"patch_exists", "patch_is_None", "patch_successfully_applied"} & set(row)
    return bool(flags) or ("tests_status" in row and "resolved" in row)


def predictions(source: Source) -> Iterator[tuple[str, ResultEntry] | Broken]:
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
        for piece in source.pieces():  # lines, or a single object
            yield "", piece.raw, piece.problem
        return
    for part in source.walk((EACH,)):
        name = part.path[0] if part.path and isinstance(part.path[0], str) else ""
        yield name, part.raw, part.problem


def _prediction(row: Any, path: Path, place: str, ends: dict[str, str]) -> tuple[str, ResultEntry]:
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
    return instance_id, ResultEntry(
        SourceVerdict(detail=detail),
        {"patch": patch or None},
        str(path),
        text(model),
        place=place_in(place, instance_id),
        termination=termination_of(status),
    )


def reports(source: Source) -> Iterator[tuple[str, ResultEntry] | Broken]:
    """Yield the facts of a report file, on one instance or on several. Raises Unreadable."""
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


def _report(source: Source, row: Any, instance_id: str, bare: bool) -> ResultEntry:
    if not isinstance(row, dict):
        raise Rejected("type:report")
    path = source.path
    tests = row.get("tests_status")
    notes = list(_doubts(row, tests))
    if bare:
        notes.append("the report names no instance: its folder's name was taken")
    elif is_instance(folder := folder_names(path, 1)[0]) and folder != instance_id:
        notes.append("the report is in the folder of another instance")
    beside = path.with_name("patch.diff")
    patch = source.text(beside) if beside in source.companions else None
    run, model = evaluation_of(path, instance_id)
    stated = row.get("model_name_or_path")
    resolved = row.get("resolved")
    clear = isinstance(resolved, bool) and CONTRADICTION not in notes
    return ResultEntry(
        SourceVerdict(
            passed=resolved if clear else None,
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
    """Return how many tests of each kind passed and failed, and which required tests failed: a
    trajectory contains nothing else about them."""
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
        yield CONTRADICTION
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
    """Return `place`, or the folder above where it belongs to a single instance
    (`<instance>/<instance>.pred`)."""
    folder = Path(place)
    return str(folder.parent) if folder.name == instance_id else place


_STATUS = re.compile(r"^\s+(['\"]?)([^\s-].*?)\1:\s*$")
_ENTRY = re.compile(r"^\s*- (['\"]?)(\S+)\1\s*$")


def _exit_statuses(source: Source) -> dict[str, str]:
    """Return how the run of each instance ended, from `exit_statuses_*.yaml`: one file per
    invocation, the last statement counts."""
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


# Run summaries ------------------------------------------------------------------------------------

_BESIDE = frozenset(
    {
        "applied", "completed_ids", "completed_instances", "error_ids", "generated",
        "ids_unresolved", "no_generation", "no_logs", "schema_version", "submitted_ids",
        "submitted_instances", "total", "total_instances", "with_logs",
    }
)  # fmt: skip
_GENERIC = {"results", "report", "run_report", "summary", "final_report", "scores"}
"""File names that say nothing about the model."""
_OUTCOMES: tuple[tuple[str, tuple[str, ...], bool | None], ...] = (
    ("resolved", ("resolved_ids", "ids_resolved", "resolved"), True),
    ("unresolved", ("unresolved_ids", "ids_unresolved", "unresolved"), False),
    ("empty_patch", ("empty_patch_ids", "no_generation"), False),
    ("error", ("error_ids", "no_logs"), None),
)
"""Outcome, the lists that may name it, and whether it passed. An empty patch was submitted and
counts as not resolved; an evaluation without a report says nothing about the patch."""
ERROR = "the evaluation ended in an error and gave no report: unscored, not failed"
SUSPECTED = "the harness suspects a failure of its own: a guess by words of the log, not taken"
_RAN = ("completed_ids", "applied", "with_logs", "submitted_ids", "generated")


def is_summary(head: Head) -> bool:
    """Return whether an object is a summary: it has a list of the resolved instances, beside
    similar ones."""
    value = head.value
    if not isinstance(value, dict) or not _BESIDE & head.names or "n_resolved" in head.names:
        return False
    names = _OUTCOMES[0][1]
    return any(isinstance(value.get(name), list) for name in names) or bool(
        {"resolved_ids", "ids_resolved"} & head.names
    )


def summaries(source: Source) -> Iterator[tuple[str, ResultEntry] | Broken]:
    """Yield a summary's facts on every submitted instance. Raises Unreadable."""
    value = source.load()
    if not isinstance(value, dict):
        yield Broken(("type:summary",))
        return
    label = source.path.name.removesuffix(".json")
    label = "" if label in _GENERIC else label
    run, place = evaluation_of(source.path, "")[0], str(place_of(source.path))
    reasons = value.get("failure_reasons")
    broke = set(_ids(value, "infra_failure_ids"))
    for instance_id, (outcome, passed) in _outcomes(value).items():
        detail: dict[str, Any] = {"outcome": outcome}
        if isinstance(reasons, dict) and reasons.get(instance_id):
            detail["failure_reason"] = reasons[instance_id]
        failed = outcome == "error"
        notes = (ERROR,) if failed else (SAYS_BOTH,) if outcome == "both" else ()
        exception = "evaluation error" if failed else None
        yield (
            instance_id,
            ResultEntry(
                SourceVerdict(passed=passed, exception=exception, detail=detail),
                None,
                str(source.path),
                run=run,
                label=label,
                place=place,
                # A word in the log, which a patch may print: SWE-bench counts the instance, too.
                notes=(*notes, SUSPECTED) if instance_id in broke else notes,
            ),
        )


def _ids(value: dict[str, Any], *names: str) -> list[str]:
    for name in names:
        found = value.get(name)
        if isinstance(found, list):
            return [one for one in found if isinstance(one, str) and one]
    return []


def _outcomes(value: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    """Return for each submitted instance its outcome, and whether it passed."""
    found: dict[str, tuple[str, bool | None]] = {}
    for outcome, names, passed in reversed(_OUTCOMES):
        for instance_id in _ids(value, *names):
            before = found.get(instance_id)
            both = passed is True and before is not None and before[1] is not True
            found[instance_id] = ("both", None) if both else (outcome, passed)
    listed = isinstance(value.get("unresolved_ids", value.get("ids_unresolved")), list)
    for instance_id in _ids(value, *_RAN):
        # Where no list says so, evaluated instances that are not among the resolved ones were not
        # resolved.
        said = ("submitted", None) if listed else ("unresolved", False)
        found.setdefault(instance_id, said)
    return found


def summary_notes(source: Source, told: set[str]) -> None:
    """Note on the file a summary's facts about the run as a whole: the denominator of its rates,
    totals that contradict its lists, predictions it leaves out."""
    value = source.load() if told and is_summary(Head(source.path)) else None
    if not isinstance(value, dict):
        return
    outcomes = [outcome for outcome, _ in _outcomes(value).values()]
    resolved, submitted = outcomes.count("resolved"), len(outcomes)
    total = whole(value.get("total_instances"))
    rate = f"{resolved} of {submitted} submitted instances were resolved"
    if total is not None and total != submitted:
        rate += f"; the data set has {total}, and a rate over it is another figure"
    source.notes.add(rate)
    for outcome, said in (
        ("empty_patch", "submitted an empty patch: counted as not resolved"),
        ("error", "ended in an evaluation error: unscored"),
        ("submitted", "are in no list of outcomes: unscored"),
        ("both", "are in lists that contradict each other: unscored"),
    ):
        if times := outcomes.count(outcome):
            source.notes.add(f"{times} {said}")
    if never := len(_ids(value, "incomplete_ids")):
        source.notes.add(f"{never} instances were never attempted: no attempts")
    _totals(source, value, resolved, submitted)
    missing = source.joins.beyond(source.path.name.removesuffix(".json"), told)
    if missing:
        source.notes.add(
            f"{missing} predictions of this model are not in the summary: it may be of a partial"
            " rerun"
        )


def _totals(source: Source, value: dict[str, Any], resolved: int, submitted: int) -> None:
    """Note declared totals that contradict the lists."""
    declared = {
        "resolved": (value.get("resolved_instances", value.get("resolved")), resolved),
        "submitted": (value.get("submitted_instances", value.get("total")), submitted),
    }
    for name, (said, held) in declared.items():
        number = whole(said)
        if number is not None and number != held:
            source.notes.add(f"the file declares {number} {name} and lists {held}")


# The reader ---------------------------------------------------------------------------------------

_DATED = re.compile(r"\d{8}_\w")
"""A run's folder in the layout of SWE-bench's experiments, `<date>_<name>`: it names the run."""
FACTS = ("model", "run", "label", "place")
"""Facts of a result stored in its attempt's source, by which later results are joined."""


class SweBenchReader(Format):
    name = "swe-bench"
    facts = FormatFacts(
        by="`instance_id` and a patch; report flags; lists of resolved ids",
        steps="no",
        tools="no",
        verdict="resolved, test counts",
        attempt="no",
        start_state="no",
        final_state="patch, tests",
        beside="`patch.diff`, `exit_statuses_*.yaml`",
    )

    def sniff(self, head: Head) -> bool:
        return _kind(head) != ""

    def candidate_id(self, path: Path) -> str:
        return place_of(path).name or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        """Return file, instance, run and model: reports on two models, and summaries of two runs,
        may be equal to the byte."""
        (instance,) = folder_names(path, 1)
        return (path.name, instance, *evaluation_of(path, instance), self.candidate_id(path))

    def companions(self, path: Path) -> tuple[Path, ...]:
        """Return the patch beside a report; how runs ended, beside predictions."""
        patch = path.with_name("patch.diff")
        if path.name == "report.json" and patch.is_file():
            return (patch,)
        if path.name in ("preds.json", "all_preds.jsonl"):
            return tuple(sorted(path.parent.glob("exit_statuses_*.yaml")))
        return ()

    def results(self, source: Source) -> Iterator[tuple[str, ResultEntry]]:
        for said in self._said(source):
            if not isinstance(said, Broken):
                yield said

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        known = bool(source.joins.instances(str(source.path)))
        told: set[str] = set()
        for said in self._said(source):
            if isinstance(said, Broken):
                yield said
                continue
            told.add(said[0])
            if not known:
                source.joins.add(*said)
        summary_notes(source, told)
        held = 0
        for instance_id, joined in source.joins.left(str(source.path)):
            own = source.candidate or source.joins.candidate_of(joined)
            if not own and _unclear(joined):
                held += 1
                continue
            yield source.attempt(partial(self.attempt, source, instance_id, joined), instance_id)
        if held:
            yield Broken((UNCLEAR_MODEL.format(f"{held} verdicts"),))

    def _said(self, source: Source) -> Iterator[tuple[str, ResultEntry] | Broken]:
        """Yield the facts of this file alone. Raises Unreadable."""
        kind = _kind(Head(source.path))
        if kind == "summary":
            yield from summaries(source)
        elif kind == "report":
            yield from reports(source)
        else:
            yield from predictions(source)

    def attempt(self, source: Source, instance_id: str, joined: ResultEntry) -> Foreign:
        draft = Draft("swe-bench")
        draft.replaces = joined.stored
        draft.note(NO_TRAJECTORY)
        if joined.termination is None:  # an attempt that infrastructure ended may not have begun
            draft.absent("trajectory")
        for note in joined.notes:
            # Contradictions by other files change nothing in the attempt.
            source.notes.add(note) if note == STANDS else draft.note(note)
        if joined.verdict.passed is None and not joined.notes:
            draft.note(UNSCORED)
        own = source.joins.candidate_of(joined) or joined.candidate
        folder = Path(joined.place).name or self.candidate_id(source.path)
        candidate = own or joined.model or joined.label or folder
        if own:
            draft.note(RUNS_OWN)
        elif not joined.model:
            draft.note(UNNAMED)
        facts: dict[str, Any] = {name: getattr(joined, name) for name in FACTS}
        facts["joined_by"] = {"patch": joined.digest} if joined.digest else None
        draft.source.update({name: value for name, value in facts.items() if value})
        state = mapping(joined.final_state)
        return draft.foreign(
            episode_id=instance_id,
            candidate_id=source.candidate or candidate,
            final_state={name: state.get(name) for name in ("patch", "tests")},
            termination=joined.termination,
            verdict=joined.verdict,
            suite=suite_of(instance_id, self.suite_id(source.path)),
        )


def _unclear(joined: ResultEntry) -> bool:
    """Return whether this is a verdict without the judged patch and without a model."""
    if joined.model or joined.label or joined.candidate or joined.stored:
        return False
    if isinstance(joined.final_state, dict) and "patch" in joined.final_state:
        return False
    return _DATED.match(Path(joined.place).name) is None


def _kind(head: Head) -> str:
    """Return `predictions`, `report`, `summary`, or an empty text when the file is none of
    these."""
    first = head.first
    if not isinstance(first, dict):
        return ""
    if is_prediction(first):
        return "predictions"
    if not isinstance(head.value, dict) or {"events", "history", "messages"} & set(first):
        return ""
    if is_report(first):
        return "report"
    name, some = next(iter(first.items()), ("", None))
    if isinstance(some, dict):
        if is_prediction(some):
            return "predictions"
        return "report" if is_report(some) or _of_instance(name, some) else ""
    return "summary" if is_summary(head) else ""


def _of_instance(name: str, some: dict[str, Any]) -> bool:
    return is_instance(name) and "resolved" in some
