"""What a recommendation was made of, so that one that is kept can be told from one of now."""

from typing import NamedTuple

from reviewer.db import journal
from reviewer.report.evidence import MissingFailures, MissingLabels


class MadeOf(NamedTuple):
    """All that a recommendation depends on. Every row it may read is written together with an entry
    of the journal, and the hash of the last one covers them all; the suite is proved, and the rest
    lies outside the store."""

    head: journal.Head
    suite: str
    candidate: str | None
    lacking: tuple[MissingFailures, ...]
    label_files: tuple[object, ...]
    missing_labels: tuple[MissingLabels, ...]
