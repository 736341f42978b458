"""A workspace that is open: connections for one question each, and what was begun here."""

from __future__ import annotations  # what only types name is not loaded

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import structs

from reviewer.db import contracts, registry
from reviewer.db.connection import DAMAGE, StoreError, Unmade
from reviewer.desk.connections import Readers
from reviewer.desk.errors import DeskError
from reviewer.desk.labels.book import Book
from reviewer.desk.reports import reports
from reviewer.desk.traces.finals import Finals
from reviewer.desk.workspace import overview

if TYPE_CHECKING:
    from reviewer.desk.imports.jobs import ImportJobs
    from reviewer.desk.judge.judging import Judging
    from reviewer.desk.place import Workspace
    from reviewer.desk.runs.jobs import Runs
    from reviewer.desk.scorecards.aside import Aside
    from reviewer.desk.views import SuiteInfo
    from reviewer.suite.model import Suite


class Opened:
    """What every room of the desk shares. Methods raise DeskError."""

    def __init__(self, workspace: Workspace, reviewer: str = "", embedding_model: str = "") -> None:
        self.place = workspace
        self.workspace = str(workspace.root)
        self.reviewer = reviewer
        self._finals, self._book = Finals(), Book()
        self._reports = reports.Reports(workspace, self._finals, self._book, embedding_model)
        self._readers = Readers(workspace.store)
        self._made = False
        self._begun: Runs | None = None
        self._importing: ImportJobs | None = None
        self._judging: Judging | None = None
        self._beginning = Lock()
        self._closing: list[Aside] = []

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection for one question."""
        try:
            with self._readers.lend() as connection:
                yield connection
        except StoreError as error:
            raise DeskError(str(error), "reviewer doctor says what is wrong") from error
        except sqlite3.Error as error:
            raise DeskError(
                f"{self.place.store}: cannot be read ({error})",
                "reviewer doctor says what is wrong",
            ) from error
        except DAMAGE as error:
            from reviewer.desk.integrity.doctor import damage

            found = damage(self.place)
            if found is None:
                raise
            raise DeskError(
                f"{self.place.store}: is damaged ({found})", "restore a backup"
            ) from error

    def close(self) -> None:
        """Abandon what runs, stop every question and let the connections go; for quitting."""
        if self._begun is not None:
            self._begun.close()
        if self._judging is not None:
            self._judging.close()
        if self._importing is not None:
            self._importing.close()
        for aside in self._closing:
            aside.close()
        self._readers.close()

    @cached_property
    def _aside(self) -> Aside:
        from reviewer.desk.scorecards.aside import Aside  # few suites are large

        found = Aside(self.place.root)
        self._closing.append(found)
        return found

    def interrupt(self) -> None:
        """Stop questions at work in other threads."""
        self._readers.interrupt()

    def version(self) -> int:
        """A number that changes when anything was committed, by whichever process."""
        return self._readers.version()

    def _has_store(self) -> bool:
        """Whether there is anything to ask. A store that an import or a run is just making has
        nothing to say yet."""
        if not self.place.store.exists():
            return False
        if not self._made:
            try:
                with self._readers.lend():
                    self._made = True
            except Unmade:
                return False
            except (StoreError, sqlite3.Error):
                pass  # the question says what is wrong
        return True

    def _info(self, connection: sqlite3.Connection, suite_id: str) -> SuiteInfo:
        found = overview.suite_infos(self.place, connection, suite_id)
        if not found:
            raise DeskError(f"no suite {suite_id} in {self.workspace}")
        return found[0]

    def _candidate(
        self, connection: sqlite3.Connection, suite_id: str, candidate_id: str
    ) -> tuple[int, int]:
        """(suite key, candidate key). Raises DeskError when the store has neither."""
        row = registry.suite_row(connection, suite_id)
        stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
        if row is None or stored is None:
            raise DeskError(f"no trace of {candidate_id} on {suite_id} is in this store")
        return row.id, stored.id

    def _suite(self, connection: sqlite3.Connection, suite_id: str, episode: int) -> Suite:
        """The suite as it stands in the store, with one of its episodes, by key: for showing,
        whatever became of the folder."""
        found = contracts.episode(connection, episode)
        head = registry.suite_head(connection, suite_id)
        return head if found is None else structs.replace(head, episodes=(found,))

    def reviewer_name(self) -> str:
        """Who labels here: the name the desk was opened with, else what the machine says. Raises
        DeskError for a name that was asked for and identifies a person."""
        from reviewer.desk.labels.reviewers import reviewer_name

        return reviewer_name(self.reviewer)
