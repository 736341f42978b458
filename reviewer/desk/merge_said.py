"""What people and judges said in another store: read as a stranger's, and joined by uid."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from reviewer.contract.errors import ContractError, Problem
from reviewer.db import judgments, labels
from reviewer.desk.judgment_files import JudgmentBorder, keep_judgments
from reviewer.desk.label_files import Border, Taken, keep
from reviewer.desk.workspace import Workspace
from reviewer.review.judging.judgments import read_judgment
from reviewer.review.judging.model import Judgment
from reviewer.review.labels import read_label
from reviewer.review.model import Label

Renamed = Mapping[str, str]
"""Trace ids of the other store that are others here."""


class There(NamedTuple):
    """The other store beside this one; `name` is what it is called in messages."""

    workspace: Workspace
    ours: sqlite3.Connection
    other: sqlite3.Connection
    name: str


def take_labels(there: There, renamed: Renamed) -> Taken:
    """Join the labels. One that this workspace would refuse from a file is refused."""
    border = Border(there.workspace, there.ours)
    good: list[Label] = []
    problems: list[Problem] = []
    count = 0
    for digest in labels.suites_labeled(there.other):
        for row in labels.labels_of(there.other, digest):
            count += 1
            place = f"{there.name}: label {row.id}"
            try:
                label = border.admitted(read_label(row.body, place), place)
            except ContractError as error:
                problems += error.problems
                continue
            traces = _here(label.traces, renamed)
            good.append(msgspec.structs.replace(label, traces=traces))
    return keep(there.ours, there.workspace, good, count, problems)


def take_judgments(there: There, renamed: Renamed) -> Taken:
    """Join the judgments, as `take_labels` does."""
    border = JudgmentBorder(there.workspace, there.ours)
    good: list[Judgment] = []
    problems: list[Problem] = []
    count = 0
    for digest in judgments.suites_judged(there.other):
        for row in judgments.judgments_of(there.other, digest):
            count += 1
            place = f"{there.name}: judgment {row.id}"
            try:
                judgment = border.admitted(read_judgment(row.body, place), place)
            except ContractError as error:
                problems += error.problems
                continue
            traces = _here(judgment.traces, renamed)
            good.append(msgspec.structs.replace(judgment, traces=traces))
    return keep_judgments(there.ours, there.workspace, good, count, problems)


def _here(traces: tuple[str, ...], renamed: Renamed) -> tuple[str, ...]:
    return tuple(sorted({renamed.get(trace, trace) for trace in traces}))


def decisions_there(there: There) -> tuple[str, ...]:
    """Signed decisions that stand there and not here: files under version control, each bound to
    the journal it was signed under."""
    rows = there.ours.execute("SELECT payload_sha256 FROM decision").fetchall()
    mine = {row[0] for row in rows}
    found = there.other.execute(
        "SELECT number, suite_id, candidate_id, decision, principal, payload_sha256"
        " FROM decisions ORDER BY number"
    ).fetchall()
    return tuple(
        f"{number}: {word} {suite}/{candidate}, signed by {who}"
        for number, suite, candidate, word, who, payload in found
        if payload not in mine
    )
