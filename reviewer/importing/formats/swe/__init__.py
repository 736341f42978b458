"""Benchmarks of software engineering: SWE-agent, mini-swe-agent, SWE-bench results. Their readers
share instance ids, suites, and results joined to trajectories."""

import re
from typing import Any

from reviewer.importing.draft import Draft
from reviewer.importing.pipeline.results import UNSCORED, ResultEntry, digest_of
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

_BENCH = re.compile(r"[\w.-]+__[\w.-]+-\d+")
_SMITH = re.compile(r"[\w.-]+__[\w.-]+\.[0-9a-f]{8}(\.\S+)?")
EXCEPTION_CHARS = 500
NO_REPORT = "the file holds no test verdict, and no report of this instance is known"


def suite_of(instance_id: str, own: str) -> str:
    """Return the benchmark of an instance id by its form, so that the attempts of all scaffolds are
    in one suite; `own` for ids of an unknown form."""
    if _SMITH.fullmatch(instance_id):
        return "swe-smith"
    return "swe-bench" if _BENCH.fullmatch(instance_id) else own


def is_instance(text: Any) -> bool:
    """Return whether a text has the form of an instance id."""
    return isinstance(text, str) and suite_of(text, "") != ""


def joined(
    source: Source,
    draft: Draft,
    instance_id: str,
    model: str,
    patch: Any,
    candidate: str,
    folders: tuple[str, ...] = (),
) -> ResultEntry | None:
    """Return the facts of result files about this trajectory. They are not part of its record, so
    that its evidence is the same whenever they arrive: doubts go with the verdict. `folders` are
    names of its run's folders, which results may be named after."""
    text = patch if isinstance(patch, str) and patch.strip() else None
    by = {"model": model, "patch": digest_of(text) if text else ""}
    draft.source["joined_by"] = {name: value for name, value in by.items() if value}
    names = tuple(name for name in (model, *folders) if name)
    found, note = source.joins.take(
        instance_id, *names, patch=text, path=source.path, candidate=candidate, model=model
    )
    for line in (note, *(found.notes if found else ())):
        if line:
            draft.aside(line)
    if found is None:
        draft.aside(NO_REPORT)
    elif found.verdict.passed is None and not found.notes:
        draft.aside(UNSCORED)
    draft.replaces = found.stored if found else None
    return found


def verdict_of(found: ResultEntry | None, exception: str | None = None) -> SourceVerdict | None:
    """Return the joined verdict with the exception that the trajectory itself states."""
    if found is None:
        return SourceVerdict(exception=exception) if exception else None
    said = found.verdict
    return SourceVerdict(
        passed=said.passed,
        reward=said.reward,
        exception=exception or said.exception,
        detail=said.detail,
    )


def end_state(kind: str, patch: Any) -> dict[str, Any] | None:
    """Return the submission, under the source's own word for it."""
    return {kind: patch} if isinstance(patch, str) and patch else None
