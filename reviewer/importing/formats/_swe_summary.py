"""Run summaries of SWE-bench (schema 2, and those of 2024) and of SWE-smith: lists of ids."""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.draft import whole
from reviewer.importing.formats._swe_results import evaluation_of, place_of
from reviewer.importing.head import Head
from reviewer.importing.joined import Joined
from reviewer.importing.reader import Broken
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

_BESIDE = frozenset(
    {
        "applied", "completed_ids", "completed_instances", "error_ids", "generated",
        "ids_unresolved", "no_generation", "no_logs", "schema_version", "submitted_ids",
        "submitted_instances", "total", "total_instances", "with_logs",
    }
)  # fmt: skip
_GENERIC = {"results", "report", "run_report", "summary", "final_report", "scores"}
"""File names that say nothing of the model."""
_OUTCOMES: tuple[tuple[str, tuple[str, ...], bool | None], ...] = (
    ("resolved", ("resolved_ids", "ids_resolved", "resolved"), True),
    ("unresolved", ("unresolved_ids", "ids_unresolved", "unresolved"), False),
    ("empty_patch", ("empty_patch_ids", "no_generation"), False),
    ("error", ("error_ids", "no_logs"), None),
)
"""Outcome, the lists that may name it, and whether it passed. An empty patch was submitted and is
counted as not resolved; an evaluation that gave no report says nothing of the patch."""
ERROR = "the evaluation ended in an error and gave no report: unscored, not failed"
_RAN = ("completed_ids", "applied", "with_logs", "submitted_ids", "generated")


def is_summary(head: Head) -> bool:
    """Whether an object is a summary: a list of what was resolved, among its like."""
    value = head.value
    if not isinstance(value, dict) or not _BESIDE & head.names or "n_resolved" in head.names:
        return False
    names = _OUTCOMES[0][1]
    return any(isinstance(value.get(name), list) for name in names) or bool(
        {"resolved_ids", "ids_resolved"} & head.names
    )


def read(source: Source) -> Iterator[tuple[str, Joined] | Broken]:
    """What a summary says of every instance that was submitted. Raises Unreadable."""
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
        exception = "evaluation error" if failed else None
        yield (
            instance_id,
            Joined(
                SourceVerdict(passed=passed, exception=exception, detail=detail),
                None,
                str(source.path),
                run=run,
                label=label,
                place=place,
                termination="infrastructure_error" if instance_id in broke else None,
                notes=(ERROR,) if failed else (),
            ),
        )


def _ids(value: dict[str, Any], *names: str) -> list[str]:
    for name in names:
        found = value.get(name)
        if isinstance(found, list):
            return [one for one in found if isinstance(one, str) and one]
    return []


def _outcomes(value: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    """Each instance that was submitted: what came of it, and whether it passed."""
    found: dict[str, tuple[str, bool | None]] = {}
    for outcome, names, passed in reversed(_OUTCOMES):
        for instance_id in _ids(value, *names):
            found[instance_id] = (outcome, passed)
    listed = isinstance(value.get("unresolved_ids", value.get("ids_unresolved")), list)
    for instance_id in _ids(value, *_RAN):
        # Where no list says so, what was evaluated and is not among the resolved was not.
        said = ("submitted", None) if listed else ("unresolved", False)
        found.setdefault(instance_id, said)
    return found


def notes(source: Source, told: set[str]) -> None:
    """What a summary says of the run as a whole, in notes on the file: which denominator its rates
    have, totals that differ from its lists, predictions it leaves out."""
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
    for outcome, text in (
        ("empty_patch", "submitted an empty patch: counted as not resolved"),
        ("error", "ended in an evaluation error: unscored"),
        ("submitted", "stand in no list of outcomes: unscored"),
    ):
        if times := outcomes.count(outcome):
            source.notes.add(f"{times} {text}")
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
    """Declared totals that differ from the lists."""
    declared = {
        "resolved": (value.get("resolved_instances", value.get("resolved")), resolved),
        "submitted": (value.get("submitted_instances", value.get("total")), submitted),
    }
    for name, (said, held) in declared.items():
        number = whole(said)
        if number is not None and number != held:
            source.notes.add(f"the file declares {number} {name} and lists {held}")
