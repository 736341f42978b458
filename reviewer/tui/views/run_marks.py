"""What a run still owes, laid over the rows the store answers: pending, running, then the result.

The store has the last word: a slot shows as running until its trace has landed there, so no cell
falls back to "missing" between the end of an attempt and its record.
"""

from collections.abc import Iterable

from reviewer.desk.runs.views import RunView
from reviewer.desk.views import EpisodeRow

AT_WORK = frozenset({"running", "paused", "stopping"})
"""States of a run that has not ended."""


class Overlay:
    """The slots of one run: all it was ever seen to owe, and those that still wait."""

    def __init__(self) -> None:
        self._known: dict[str, set[int]] = {}
        self._waiting: dict[str, set[int]] = {}
        self.open = False

    def follow(self, view: RunView) -> None:
        """Take a newer snapshot of the run."""
        self.open = view.state in AT_WORK
        self._waiting = _by_episode(view.pending)
        fresh = [_by_episode(view.running)]
        if not self._known:
            fresh.append(self._waiting)  # what waits later waited then, or was at work since
        for owed in fresh:
            for episode_id, attempts in owed.items():
                self._known.setdefault(episode_id, set()).update(attempts)

    def marks(self, row: EpisodeRow) -> list[str]:
        """One mark per attempt of a row, in the order of their numbers."""
        marks: dict[int, str] = {each.attempt: each.mark for each in row.attempts}
        marks |= self.owed(row)
        return [marks[attempt] for attempt in sorted(marks)]

    def owed(self, row: EpisodeRow) -> dict[int, str]:
        """The attempts of a row that have not landed: `running`, or `missing` while they wait."""
        if not self.open:
            return {}
        landed = {each.attempt for each in row.attempts if each.mark != "missing"}
        waiting = self._waiting.get(row.episode_id, ())
        return {
            attempt: "missing" if attempt in waiting else "running"
            for attempt in sorted(self._known.get(row.episode_id, set()) - landed)
        }

    def cell(self, row: EpisodeRow) -> str | None:
        """What every cell of an episode without a trace shows; None where the store knows more."""
        if any(cell.attempts for cell in row.cells):
            return None
        owed = self.owed(row).values()
        return "running" if "running" in owed else "missing" if owed else None


def _by_episode(slots: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for episode_id, attempt in slots:
        found.setdefault(episode_id, set()).add(attempt)
    return found
