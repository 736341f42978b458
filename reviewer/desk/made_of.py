"""What a recommendation was made from, so that a cached one can be compared with the present
state."""

from typing import NamedTuple

from reviewer.db import journal
from reviewer.report.evidence import MissingFailures, MissingLabels


class MadeOf(NamedTuple):
    """Everything that a recommendation depends on. Every row that it may read is written together
    with an entry of the journal, so the hash of the last entry covers them all; the suite is
    proved, and the other fields cover what lies outside the store."""

    head: journal.Head
    suite: str
    candidate: str | None
    lacking: tuple[MissingFailures, ...]
    label_files: tuple[object, ...]
    missing_labels: tuple[MissingLabels, ...]
