"""The desk: the API that the terminal, the commands and other programs share. One object per room,
each created at first use."""

from __future__ import annotations  # names used only in annotations are not imported

from typing import TYPE_CHECKING

from reviewer.desk.opened import DeskState, late

if TYPE_CHECKING:
    from reviewer.desk.archives.api import ArchivesRoom
    from reviewer.desk.compare.api import CompareRoom
    from reviewer.desk.decisions.api import DecisionsRoom
    from reviewer.desk.episodes.api import EpisodesRoom
    from reviewer.desk.imports.api import ImportsRoom
    from reviewer.desk.judge.api import JudgeRoom
    from reviewer.desk.labels.api import LabelsRoom
    from reviewer.desk.patterns.api import PatternsRoom
    from reviewer.desk.place import Workspace
    from reviewer.desk.power.api import PowerRoom
    from reviewer.desk.presence.api import PresenceRoom
    from reviewer.desk.reports.api import ReportsRoom
    from reviewer.desk.review_sets.api import ReviewSetsRoom
    from reviewer.desk.roles import Role
    from reviewer.desk.runs.api import RunsRoom
    from reviewer.desk.scorecards.api import ScorecardsRoom
    from reviewer.desk.traces.api import TracesRoom
    from reviewer.desk.trends.api import TrendsRoom
    from reviewer.desk.trials.api import TrialsRoom
    from reviewer.desk.workspace.api import WorkspaceRoom


class Desk:
    """One workspace, for reading from any thread; each write opens its own writer.

    Methods of the rooms raise DeskError with the fact, the ways out and the exit code. A room is
    imported at first use, so that a command loads only what it needs.
    """

    role: Role | None = None
    """The role of the person of a served session; None: the user of this machine."""

    def __init__(
        self,
        workspace: Workspace,
        reviewer: str = "",
        embedding_model: str = "",
        principal: str = "",
    ) -> None:
        self.opened = DeskState(workspace, reviewer, embedding_model, principal)
        self.place, self.path = workspace, self.opened.path

    @late
    def scorecards(self) -> ScorecardsRoom:
        from reviewer.desk.scorecards.api import ScorecardsRoom

        return ScorecardsRoom(self.opened)

    @late
    def traces(self) -> TracesRoom:
        from reviewer.desk.traces.api import TracesRoom

        return TracesRoom(self.opened)

    @late
    def archives(self) -> ArchivesRoom:
        from reviewer.desk.archives.api import ArchivesRoom

        return ArchivesRoom(self.opened)

    @late
    def compare(self) -> CompareRoom:
        from reviewer.desk.compare.api import CompareRoom

        return CompareRoom(self.opened)

    @late
    def power(self) -> PowerRoom:
        from reviewer.desk.power.api import PowerRoom

        return PowerRoom(self.opened)

    @late
    def trends(self) -> TrendsRoom:
        from reviewer.desk.trends.api import TrendsRoom

        return TrendsRoom(self.opened)

    @late
    def patterns(self) -> PatternsRoom:
        from reviewer.desk.patterns.api import PatternsRoom

        return PatternsRoom(self.opened)

    @late
    def labels(self) -> LabelsRoom:
        from reviewer.desk.labels.api import LabelsRoom

        return LabelsRoom(self.opened)

    @late
    def review_sets(self) -> ReviewSetsRoom:
        from reviewer.desk.review_sets.api import ReviewSetsRoom

        return ReviewSetsRoom(self.opened)

    @late
    def judge(self) -> JudgeRoom:
        from reviewer.desk.judge.api import JudgeRoom

        return JudgeRoom(self.opened)

    @late
    def runs(self) -> RunsRoom:
        from reviewer.desk.runs.api import RunsRoom

        return RunsRoom(self.opened)

    @late
    def episodes(self) -> EpisodesRoom:
        from reviewer.desk.episodes.api import EpisodesRoom

        return EpisodesRoom(self.opened)

    @late
    def imports(self) -> ImportsRoom:
        from reviewer.desk.imports.api import ImportsRoom

        return ImportsRoom(self.opened)

    @late
    def reports(self) -> ReportsRoom:
        from reviewer.desk.reports.api import ReportsRoom

        return ReportsRoom(self.opened)

    @late
    def decisions(self) -> DecisionsRoom:
        from reviewer.desk.decisions.api import DecisionsRoom

        return DecisionsRoom(self.opened)

    @late
    def workspace(self) -> WorkspaceRoom:
        from reviewer.desk.workspace.api import WorkspaceRoom

        return WorkspaceRoom(self.opened)

    @late
    def presence(self) -> PresenceRoom:
        from reviewer.desk.presence.api import PresenceRoom

        return PresenceRoom(self.opened)

    @late
    def trials(self) -> TrialsRoom:
        from reviewer.desk.trials.api import TrialsRoom

        return TrialsRoom(self.opened)

    def allow(self, room: str, method: str) -> None:
        """Raise DeskError unless the person may call this method: for a door that looks at this
        machine's files before it calls it. The user of this machine may."""

    def version(self) -> int:
        """Return a number that changes when anything was committed, by any process."""
        return self.opened.readers.version()

    def close(self) -> None:
        """Abandon running jobs, interrupt every query and close the connections; for quitting."""
        for room in ("runs", "judge", "imports"):
            if room in vars(self):  # a room that was never used has no jobs
                getattr(self, room).close()
        self.opened.close()
