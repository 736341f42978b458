"""The state that all rooms of the desk share: connections to the store, caches, and common
queries."""

from __future__ import annotations  # names used only in annotations are not imported

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from msgspec import structs

from reviewer.db import contracts, registry
from reviewer.db.connection import (
    DAMAGE,
    Connection,
    DatabaseError,
    EmptyStore,
    StoreError,
    data_version,
    reader,
    scripts,
)
from reviewer.db.schema import bring_up_to_date, version_of
from reviewer.desk import stopping
from reviewer.desk.errors import DeskError, NoTrace, meant, refusal_of
from reviewer.desk.traces.records import FinalMessages, Records

if TYPE_CHECKING:
    from reviewer.desk.labels.book import Book
    from reviewer.desk.place import Workspace
    from reviewer.desk.presence.claims import Claims
    from reviewer.desk.reports.api import CandidateReport, Reports
    from reviewer.desk.scorecards.card_process import CardProcesses
    from reviewer.desk.views import SuiteInfo
    from reviewer.suite.model import Suite


IDLE = 4


class Readers:
    """Connections of one store. A connection serves one query at a time."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._lock = Lock()
        self._idle: list[Connection] = []
        self._lent: set[Connection] = set()
        self._watch: Connection | None = None

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend a connection for the length of one query. Raises StoreError without a store, and
        Stopped where nobody waits for the answer any more."""
        stopping.check()
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._open()
        with self._lock:
            self._lent.add(connection)
        stop = stopping.watched()
        if stop is not None:
            connection.set_progress_handler(stop, stopping.STEPS)
        try:
            yield connection
        except DatabaseError:
            stopping.check()
            raise
        finally:
            if stop is not None:
                connection.set_progress_handler(None, 0)
            self._take_back(connection)

    def _open(self) -> Connection:
        """Open a connection; the schema of an older store is updated first."""
        connection = reader(self._store)
        if version_of(connection) < len(scripts()):
            connection.close()
            bring_up_to_date(self._store)
            connection = reader(self._store)
        return connection

    def _take_back(self, connection: Connection) -> None:
        with self._lock:
            self._lent.discard(connection)
            keep = len(self._idle) < IDLE and not connection.in_transaction
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def version(self) -> int:
        """Return a number that changes when any process commits; 0 without a store. It belongs to
        one connection, so compare it only with other values of the same connection."""
        with self._lock:
            try:
                if self._watch is None:
                    self._watch = reader(self._store)
                return data_version(self._watch)
            except (StoreError, DatabaseError):
                self._watch = None
                return 0

    def interrupt(self) -> None:
        """Stop the running queries."""
        with self._lock:
            for connection in self._lent:
                connection.interrupt()

    def close(self) -> None:
        """Close every connection; those in use are interrupted, and closed by their users."""
        self.interrupt()
        with self._lock:
            idle, self._idle = self._idle, []
            watch, self._watch = self._watch, None
        for connection in (*idle, *([watch] if watch else [])):
            connection.close()


def never_run(suite_id: str) -> DeskError:
    """Return the error for a draft whose present version has no runs."""
    return DeskError(
        f"the draft {suite_id} has no runs since its last edit (of its files, or a manifest in "
        "candidates/); earlier runs no longer count",
        f"reviewer run {suite_id} CANDIDATE",
    )


_making = RLock()


if TYPE_CHECKING:
    late = cached_property
else:

    class late(cached_property):
        """A cached property that two threads never compute twice."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            with _making:
                return super().__get__(instance, owner)


class DeskState:
    """The state shared by every room of the desk. Methods raise DeskError.

    `principal` is the name whose keys sign for the person of a served session; "" means the
    reviewer.
    """

    def __init__(
        self,
        workspace: Workspace,
        reviewer: str = "",
        embedding_model: str = "",
        principal: str = "",
    ) -> None:
        self.place, self.path = workspace, str(workspace.root)
        self.finals, self.records = FinalMessages(), Records()
        self.readers = Readers(workspace.store)
        self.reviewer, self.embedding_model, self.principal = reviewer, embedding_model, principal
        self.workstation = os.urandom(16).hex()
        self._made = False

    @late
    def book(self) -> Book:
        """Return the reader of labels, with its cache."""
        from reviewer.desk.labels.book import Book

        return Book()

    @late
    def claims(self) -> Claims:
        """Return the claims: which item this person has open, and which items others have open."""
        from reviewer.desk.presence.claims import Claims

        return Claims(self.place.store.parent / "presence", self.workstation)

    @late
    def reports(self) -> Reports:
        """Return the builder of reports, with its caches."""
        from reviewer.desk.reports.api import Reports

        return Reports(self.place, self.finals, self.book, self.embedding_model)

    @late
    def card_processes(self) -> CardProcesses:
        """Return the processes that compute the figures of large suites."""
        from reviewer.desk.scorecards.card_process import CardProcesses  # few suites are large

        return CardProcesses(self.place.root)

    def close(self) -> None:
        """Stop running computations, interrupt every query and close the connections."""
        if "card_processes" in vars(self):
            self.card_processes.close()
        self.readers.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a read-only connection for one query."""
        try:
            with self.readers.lend() as connection:
                yield connection
        except NoTrace as error:
            raise (error.of_draft() if self.place.draft else error) from None
        except StoreError as error:
            if self.place.draft and not self.place.store.exists():
                raise never_run(self.place.draft) from error
            raise DeskError(str(error), "reviewer doctor says what is wrong") from error
        except DatabaseError as error:
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
                f"{self.place.store}: the store is damaged ({found})", "restore a backup"
            ) from error

    def has_store(self) -> bool:
        """Return whether there is a store to read. A store that an import or a run is still
        creating has nothing to read yet."""
        if not self.place.store.exists():
            return False
        if not self._made:
            try:
                with self.readers.lend():
                    self._made = True
            except EmptyStore:
                return False
            except (StoreError, DatabaseError):
                pass  # the query that follows reports what is wrong
        return True

    def info(self, connection: Connection, suite_id: str) -> SuiteInfo:
        """Return a suite of the workspace or the store. Raises DeskError when neither knows it."""
        from reviewer.desk import suites

        found = suites.suite_infos(self.place, connection, suite_id)
        if not found:
            known = [folder.name for folder in suites.folders(self.place)]
            known += [each.suite_id for each in registry.suites(connection)]
            near = meant(suite_id, known)
            raise DeskError(f"no suite {suite_id} in {self.path}{near}", "reviewer suite list")
        return found[0]

    def judged_info(self, connection: Connection, suite_id: str) -> SuiteInfo:
        """Return the same for a suite whose files are checked anyway before any statement about it:
        a frozen suite with traces is not checked twice."""
        from reviewer.desk import suites

        row = registry.suite_row(connection, suite_id)
        if row is None or row.probe or self.place.draft:
            return self.info(connection, suite_id)
        return suites.stored_suite_info(self.place, connection, suite_id)

    def candidate(
        self, connection: Connection, suite_id: str, candidate_id: str
    ) -> tuple[int, int]:
        """Return (suite key, candidate key). Raises DeskError when the store lacks either."""
        row = registry.suite_row(connection, suite_id)
        stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
        if row is None or stored is None:
            from reviewer.desk.suites import near_ids

            raise NoTrace(suite_id, candidate_id, near_ids(connection, suite_id, candidate_id))
        return row.id, stored.id

    def suite(self, connection: Connection, suite_id: str, episode: int) -> Suite:
        """Return the suite as stored, with one of its episodes, by key: for display, even when the
        folder was changed or deleted."""
        found = contracts.episode(connection, episode)
        head = registry.suite_head(connection, suite_id)
        return head if found is None else structs.replace(head, episodes=(found,))

    def reviewer_name(self) -> str:
        """Return the name of the person who labels here: the one the desk was opened with, else the
        machine's. Raises DeskError for a given name that identifies a person."""
        from reviewer.desk.labels.api import reviewer_name

        return reviewer_name(self.reviewer)

    def build_of(self, suite_id: str, candidate_id: str) -> Callable[[str | None], CandidateReport]:
        """Return a function that builds the report of a candidate against a given baseline."""

        def build(baseline: str | None) -> CandidateReport:
            with self.reading() as connection:
                return self.reports.build(connection, suite_id, candidate_id, baseline)

        return build


class Room:
    """One part of the desk's API, over the shared state."""

    def __init__(self, opened: DeskState) -> None:
        self._opened = opened


@contextmanager
def refused() -> Iterator[None]:
    """Raise DeskError for what the store refuses to write."""
    try:
        yield
    except StoreError as error:
        raise refusal_of(error) from error
    except DatabaseError as error:
        raise DeskError(
            f"the store could not be written ({error})",
            "reviewer doctor says whether the store is intact",
        ) from error
