"""Sheets of a workspace: made once, and kept while nothing but labels comes in."""

import sqlite3
from threading import Lock

from reviewer.db import registry
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.labels import items as label_items
from reviewer.desk.labels.book import EvidenceClock
from reviewer.desk.labels.sheet import Ruled, Sheet
from reviewer.desk.place import Workspace
from reviewer.desk.traces.finals import Finals
from reviewer.review.items import message_items
from reviewer.review.model import Kind
from reviewer.suite.values import RUBRIC_FILE


class Sheets:
    """Sheets of one workspace, kept until a trace, a verdict or a judgment comes. Safe to share
    between threads."""

    def __init__(self, workspace: Workspace, finals: Finals) -> None:
        self._workspace, self._finals = workspace, finals
        self._clock = EvidenceClock()
        self._lock = Lock()
        self._ruled: dict[str, Ruled] = {}
        self._kept: dict[tuple[str, str, str | None, Kind], tuple[int, Sheet]] = {}

    def ruled(self, connection: sqlite3.Connection, suite_id: str, anew: bool = False) -> Ruled:
        """The suite and its rubric, as it was when it was last held; `anew` looks at its files.

        Raises DeskError for a suite that may not be used, or has no rubric.
        """
        with self._lock:
            known = self._ruled.get(suite_id)
        if known is None or anew:
            known = ruled(self._workspace, connection, suite_id)
            with self._lock:
                self._ruled[suite_id] = known
        return known

    def sheet(
        self,
        connection: sqlite3.Connection,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None,
        kind: Kind,
    ) -> Sheet:
        """Raises DeskError for a suite, candidate or baseline that cannot be labeled."""
        key = suite_id, candidate_id, baseline_id, kind
        stamp = self._clock.read(connection)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        made = self._made(connection, self.ruled(connection, suite_id), key)
        with self._lock:
            self._kept[key] = stamp, made
        return made

    def _made(
        self,
        connection: sqlite3.Connection,
        ruled: Ruled,
        key: tuple[str, str, str | None, Kind],
    ) -> Sheet:
        suite_id, candidate_id, baseline_id, kind = key
        side = label_items.side_of(connection, suite_id, candidate_id)
        candidate = label_items.gather(connection, self._finals, side)
        baseline, signals = None, candidate.signals
        if baseline_id is not None:
            other = label_items.side_of(connection, suite_id, baseline_id)
            baseline = label_items.gather(connection, self._finals, other)
            row = registry.suite_row(connection, suite_id)
            assert row is not None  # both sides were found in it
            lost = label_items.with_lost(connection, signals, side, other, row.id)
            signals = {**baseline.signals, **lost} if kind == "pair" else lost
        digest = ruled.suite.digest
        built = label_items.build(kind, digest, candidate, baseline)
        signals = label_items.with_judgments(connection, signals, built.items)
        own = built.items if kind == "message" else message_items(digest, candidate.messages).items
        return Sheet(ruled, kind, built, signals, own)


def ruled(workspace: Workspace, connection: sqlite3.Connection | None, suite_id: str) -> Ruled:
    """A suite that may be used now, with its rubric. Raises DeskError."""
    held = suites.hold(workspace, connection, suite_id)
    if held.rubric is None or held.rubric_digest is None:
        raise DeskError(
            f"{suite_id} has no rubric, and people label by one",
            f"write {RUBRIC_FILE} into its folder, then: reviewer suite freeze {suite_id}"
            " --as NEW_ID",
        )
    return Ruled(held.suite, held.rubric, held.rubric_digest)
