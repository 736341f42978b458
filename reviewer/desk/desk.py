"""The desk: the one thing both doors call. Every answer is a value of `views`."""

import json
from pathlib import Path
from typing import Any

from reviewer.db import registry
from reviewer.desk.compare.api import Comparing
from reviewer.desk.decisions.api import Deciding
from reviewer.desk.judge.api import JudgesDesk
from reviewer.desk.labels.api import People
from reviewer.desk.reports import renderings, reports
from reviewer.desk.reports.api import CostsDesk
from reviewer.desk.runs.api import Beginning
from reviewer.desk.scorecards.api import GridDesk
from reviewer.desk.traces.api import Tracing
from reviewer.desk.trends.api import Trending
from reviewer.desk.views import Exported, Refusal, SourceInfo


class Desk(
    Tracing, GridDesk, Comparing, Trending, Beginning, People, JudgesDesk, CostsDesk, Deciding
):
    """One workspace, for reading from any thread; what writes opens a writer for that act.

    Methods raise DeskError with the fact, the ways out and the exit code.
    """

    def build(self, suite_id: str, candidate_id: str, baseline: str | None = None) -> reports.Built:
        """The report itself; what every other answer about a release is drawn from."""
        with self._reading() as connection:
            return self._reports.build(connection, suite_id, candidate_id, baseline)

    def shown(
        self,
        suite_id: str,
        candidate_id: str,
        baseline: str | None = None,
        formats: tuple[str, ...] = renderings.USUAL,
    ) -> reports.Shown:
        """The report with what its renderings show beside it."""
        with self._reading() as connection:
            return self._reports.shown(connection, suite_id, candidate_id, baseline, formats)

    def export(
        self,
        suite_id: str,
        candidate_id: str,
        out: str,
        formats: tuple[str, ...] = renderings.USUAL,
        baseline: str | None = None,
    ) -> Exported:
        """Write the report, and the newest signed decision on it, into a folder."""
        formats = renderings.known(formats)
        shown = self.shown(suite_id, candidate_id, baseline, formats)
        built, folder = shown.built, Path(out).expanduser()
        files = renderings.write(shown, folder, formats)
        with self._reading() as connection:
            key = self._candidate(connection, suite_id, candidate_id)[1]
            signed = connection.execute(
                "SELECT envelope FROM decision WHERE candidate=? AND report_sha256=?"
                " ORDER BY number DESC LIMIT 1",
                (key, built.digest),
            ).fetchone()
        if signed is not None:
            files += renderings.put(folder, {"decision.dsse.json": signed[0]})
        return Exported(files=tuple(files), exit_code=built.exit_code)

    def sources(self) -> list[SourceInfo]:
        """Imported files, newest first."""
        if not self._has_store():
            return []
        with self._reading() as connection:
            return [
                SourceInfo(
                    path=row.path,
                    sha256=row.sha256,
                    reader=row.reader,
                    state=row.state,
                    records=row.records,
                    added=row.added,
                    known=row.known,
                    refused=row.refused,
                    at=row.at,
                    notes=tuple(json.loads(row.notes)),
                    suite_id=row.suite,
                    candidate_id=row.candidate,
                )
                for row in reversed(registry.sources(connection))
            ]

    def refusals(self) -> list[Refusal]:
        """Quarantined records, newest first."""
        from reviewer.desk.imports.quarantine import refusals

        if not self._has_store():
            return []
        with self._reading() as connection:
            return refusals(connection)

    def schema(self, kind: str) -> dict[str, Any]:
        """JSON Schema of one of our file kinds. Raises DeskError for an unknown kind."""
        from reviewer.desk.workspace.schemas import schema

        return schema(kind)
