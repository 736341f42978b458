"""SWE-bench results: predictions, a report per instance, run summaries; SWE-smith's of each kind.

Each file tells a part of a run. What all files of one import say of an instance is merged and goes
to its trajectory; an instance without one becomes an attempt without events. A prediction that no
report speaks of is unscored, not failed.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft
from reviewer.importing.formats import _swe_results as rows
from reviewer.importing.formats import _swe_summary as summary
from reviewer.importing.formats._places import folder_names
from reviewer.importing.formats._swe import is_instance, suite_of
from reviewer.importing.head import Head
from reviewer.importing.joined import (
    NO_TRAJECTORY,
    RUNS_OWN,
    STANDS,
    UNCLEAR_MODEL,
    UNNAMED,
    UNSCORED,
    Joined,
)
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_DATED = re.compile(r"\d{8}_\w")
"""A run's folder in the layout of SWE-bench's experiments, `<date>_<name>`: it names the run."""
FACTS = ("model", "run", "label", "place")
"""What of a result stands in its attempt's source, for results that come later to be joined by."""


class SweBenchReader:
    name = "swe-bench"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        return _kind(head) != ""

    def suite_id(self, path: Path) -> str:
        return "swe-bench"

    def candidate_id(self, path: Path) -> str:
        return rows.place_of(path).name or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        """Reports of two models, and summaries of two runs, may be the same to the byte."""
        (instance,) = folder_names(path, 1)
        return (path.name, instance, *rows.evaluation_of(path, instance), self.candidate_id(path))

    def companions(self, path: Path) -> tuple[Path, ...]:
        """The patch beside a report; how runs ended, beside predictions."""
        patch = path.with_name("patch.diff")
        if path.name == "report.json" and patch.is_file():
            return (patch,)
        if path.name in ("preds.json", "all_preds.jsonl"):
            return tuple(sorted(path.parent.glob("exit_statuses_*.yaml")))
        return ()

    def results(self, source: Source) -> Iterator[tuple[str, Joined]]:
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
        summary.notes(source, told)
        held = 0
        for instance_id, joined in source.joins.left(str(source.path)):
            own = source.candidate or source.joins.candidate_of(joined)
            if not own and _unclear(joined):
                held += 1
                continue
            yield source.attempt(
                lambda i=instance_id, j=joined: self.attempt(source, i, j),  # type: ignore[misc]
                instance_id,
            )
        if held:
            yield Broken((UNCLEAR_MODEL.format(f"{held} verdicts"),))

    def _said(self, source: Source) -> Iterator[tuple[str, Joined] | Broken]:
        """What this file alone says. Raises Unreadable."""
        kind = _kind(Head(source.path))
        if kind == "summary":
            yield from summary.read(source)
        elif kind == "report":
            yield from rows.reports(source)
        else:
            yield from rows.predictions(source)

    def attempt(self, source: Source, instance_id: str, joined: Joined) -> Foreign:
        draft = Draft("swe-bench")
        draft.replaces = joined.stored
        draft.note(NO_TRAJECTORY)
        if joined.termination is None:  # what infrastructure ended may not have begun
            draft.absent("trajectory")
        for note in joined.notes:
            # That others say otherwise changes nothing of the attempt.
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
        state = joined.final_state if isinstance(joined.final_state, dict) else {}
        return draft.foreign(
            episode_id=instance_id,
            candidate_id=source.candidate or candidate,
            final_state={name: state.get(name) for name in ("patch", "tests")},
            termination=joined.termination,
            verdict=joined.verdict,
            suite=suite_of(instance_id, self.suite_id(source.path)),
        )


def _unclear(joined: Joined) -> bool:
    """Return whether this is a verdict without what was judged, and nobody says whose."""
    if joined.model or joined.label or joined.candidate or joined.stored:
        return False
    if isinstance(joined.final_state, dict) and "patch" in joined.final_state:
        return False
    return _DATED.match(Path(joined.place).name) is None


def _kind(head: Head) -> str:
    """`predictions`, `report`, `summary`, or nothing: the file is none of these."""
    first = head.first
    if not isinstance(first, dict):
        return ""
    if rows.is_prediction(first):
        return "predictions"
    if not isinstance(head.value, dict) or {"events", "history", "messages"} & set(first):
        return ""
    if rows.is_report(first):
        return "report"
    name, some = next(iter(first.items()), ("", None))
    if isinstance(some, dict):
        if rows.is_prediction(some):
            return "predictions"
        return "report" if rows.is_report(some) or _of_instance(name, some) else ""
    return "summary" if summary.is_summary(head) else ""


def _of_instance(name: str, some: dict[str, Any]) -> bool:
    return is_instance(name) and "resolved" in some
