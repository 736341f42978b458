"""Writing archives of a store."""

from __future__ import annotations  # what only types name is not loaded

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from reviewer.desk.archives.export import Exported, Progress


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
        """Write the store, or some suites of it, to a new folder of Parquet files.

        Raises DeskError where DuckDB is not installed, the folder is taken or a suite is unknown.
        """
        from reviewer.db.archive.engine import ArchiveError
        from reviewer.desk.archives.export import Wanted, export, needs_duckdb, suites_of

        needs_duckdb()
        if not self._opened.has_store():
            raise DeskError(f"{self._opened.place.store} is not there yet: nothing to export")
        wanted = Wanted(suites_of(suites), events, payloads)
        try:
            with self._opened.reading() as connection:
                return export(connection, Path(folder), wanted, progress)
        except ArchiveError as error:
            raise DeskError(str(error)) from error
