"""Write archives of a store, and query stores and archives in SQL."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from reviewer.desk.archives.export import Exported, Progress
    from reviewer.desk.archives.views import QueryAnswer
    from reviewer.desk.compare.views import Comparison
    from reviewer.desk.trends.views import Trends


class ArchivesRoom(Room):
    """The API of `desk.archives`."""

    def export(
        self,
        folder: str | Path,
        suites: Sequence[str] = (),
        *,
        events: bool = True,
        payloads: bool = False,
        progress: Progress = lambda _, __: None,
    ) -> Exported:
        """Write the store, or some of its suites, to a new folder of Parquet files.

        Raises DeskError if DuckDB is not installed, the folder exists or a suite is unknown.
        """
        from reviewer.db.archive.engine import ArchiveError
        from reviewer.desk.archives.export import Wanted, export, needs_duckdb, suites_of

        needs_duckdb()
        if not self._opened.has_store():
            raise DeskError(
                f"{self._opened.place.store} does not exist yet: nothing to export",
                "reviewer import or reviewer run makes it",
            )
        wanted = Wanted(suites_of(suites), events, payloads)
        try:
            with self._opened.reading() as connection:
                return export(connection, Path(folder), wanted, progress)
        except ArchiveError as error:
            raise DeskError(str(error), "reviewer export --parquet DIR writes one") from error

    def ask(
        self,
        sql: str,
        sources: Sequence[str] = (),
        limit: int = 0,
        progress: Progress = lambda _, __: None,
    ) -> QueryAnswer:
        """Return the answer to one SQL query over stores and archives, by their paths (default:
        this store), with at most so many rows (0: all).

        Raises DeskError if DuckDB is not installed, a path is neither, or the query could do more
        than read or fails.
        """
        from reviewer.desk.archives.ask import Source, ask

        if sources:
            return ask_elsewhere(sql, sources, limit, progress)
        if not self._opened.has_store():
            raise DeskError(
                f"{self._opened.place.store} does not exist yet: nothing to query",
                "reviewer import or reviewer run makes it",
            )
        own = Source(self._opened.place.root.name, self._opened.place.store, self._opened.reading)
        return ask([own], sql, limit, progress)


def ask_elsewhere(
    sql: str,
    sources: Sequence[str],
    limit: int = 0,
    progress: Progress = lambda _, __: None,
) -> QueryAnswer:
    """Return the answer of `ask` for named sources: no workspace is needed."""
    from reviewer.desk.archives.ask import ask, source_of

    return ask([source_of(one) for one in sources], sql, limit, progress)


def archived_trends(folder: str, suite_id: str = "") -> Trends:
    """Return the trends of a suite in an archive (by default its only suite): no workspace is
    needed. Raises DeskError."""
    from reviewer.desk.archives.ask import archive_at, asked
    from reviewer.desk.archives.export import Wanted
    from reviewer.desk.archives.figures import ArchivedSuite

    with asked([archive_at(folder)], Wanted(events=False)) as opened:
        return ArchivedSuite(opened, suite_id).trends()


def archived_comparison(
    folder: str, suite_id: str, candidate_id: str, baseline_id: str | None = None
) -> Comparison:
    """Return a comparison of two candidates in an archive, by episode. Raises DeskError."""
    from reviewer.desk.archives.ask import archive_at, asked
    from reviewer.desk.archives.export import Wanted
    from reviewer.desk.archives.figures import ArchivedSuite

    with asked([archive_at(folder)], Wanted(events=False)) as opened:
        return ArchivedSuite(opened, suite_id).comparison(candidate_id, baseline_id)
