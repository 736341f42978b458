"""Labels of a candidate's attempts that people gave in other tools, shown beside the gates and the
judge."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import attempt_records
from reviewer.desk.labels.items import Side
from reviewer.desk.suites import ReadySuite
from reviewer.report.opinions import (
    AttemptFigures,
    JudgeBeside,
    LabelsElsewhere,
    ReviewSection,
)
from reviewer.review.attempt_labels import AttemptMarks, attempt_marks, of_attempts

if TYPE_CHECKING:
    from reviewer.desk.reports.opinions import LabelSources

SHOWN = 3


def with_elsewhere(
    found: ReviewSection,
    connection: Connection,
    held: ReadySuite,
    candidate_id: str,
    side: Side,
    sources: LabelSources,
) -> ReviewSection:
    """Add the labels of this candidate's attempts, except labels by another rubric, and of records
    that no attempt here has."""
    assert held.rubric is not None  # the caller has checked this
    every = sources.book.of(connection, held.suite.digest)
    labels = [x for x in of_attempts(every) if x.rubric_digest == held.rubric_digest]
    keys = {name: key for key, name in side.names.items()}
    episodes = {keys[x.episode_id] for x in labels if x.episode_id in keys}
    traces: dict[str, str] = {}
    passed: dict[str, bool | None] = {}
    for one in attempt_records(connection, side.key, sorted(episodes)):
        trace = f"{side.prefix}/{side.names[one.episode]}/{one.attempt}"
        traces[one.sha256.hex()] = trace
        passed[trace] = one.passed
    # Records of one attempt are one item here, whichever of them a label was made from.
    mine = [
        structs.replace(label, item=traces[label.record])
        for label in labels
        if isinstance(label.record, str) and label.record in traces
    ]
    if not mine:
        return found
    judged = _completion(connection, held, candidate_id, sources)
    tools = {label.origin.tool for label in mine if label.origin}
    section = LabelsElsewhere(
        labels=len(mine),
        attempts=len({label.item for label in mine}),
        tools=tuple(sorted(tools)),
        annotators=tuple(sorted({label.reviewer for label in mine})),
        criteria=tuple(
            _figures(one, passed, judged)
            for one in attempt_marks(mine, held.rubric, held.suite.digest)
        ),
    )
    return structs.replace(found, elsewhere=section)


def _figures(
    marks: AttemptMarks, passed: Mapping[str, bool | None], judged: Mapping[str, bool | None]
) -> AttemptFigures:
    from reviewer.desk.reports.opinions import agreement_figures

    sides = marks.good
    against = sorted(t for t, good in sides.items() if good is False and passed[t] is True)
    return AttemptFigures(
        criterion_id=marks.criterion_id,
        attempts=len(sides),
        good=sum(good is True for good in sides.values()),
        weak=sum(good is False for good in sides.values()),
        open=sum(good is None for good in sides.values()),
        passed_and_weak=len(against),
        first=tuple(against[:SHOWN]),
        failed_and_good=sum(good is True and passed[t] is False for t, good in sides.items()),
        agreement=agreement_figures(marks.agreement),
        judge=_beside(sides, judged),
    )


def _beside(
    sides: Mapping[str, bool | None], judged: Mapping[str, bool | None]
) -> JudgeBeside | None:
    both = [(good, judged[t]) for t, good in sides.items() if good is not None and t in judged]
    if not both:
        return None
    return JudgeBeside(
        n=len(both),
        alike=sum(good == complete for good, complete in both),
        complete_and_weak=both.count((False, True)),
        incomplete_and_good=both.count((True, False)),
        unusable=sum(complete is None for _, complete in both),
    )


def _completion(
    connection: Connection, held: ReadySuite, candidate_id: str, sources: LabelSources
) -> dict[str, bool | None]:
    """Return trace → whether the suite's judge calls its final message complete; None for an
    answer that cannot be used."""
    from reviewer.desk.judge.book import asked_alone
    from reviewer.review.judgments import COMPLETE

    found: dict[str, bool | None] = {}
    judged = sources.judges().judged(connection, held, candidate_id, ())
    for one in asked_alone(judged, "completion") if judged is not None else ():
        complete = None if one.error is not None else one.scores["score"] >= COMPLETE
        found.update(dict.fromkeys(one.traces, complete))
    return found
