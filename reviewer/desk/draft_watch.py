"""Watch a draft: after each save, check it and run its candidates on it again."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from reviewer.desk.desk import Desk
from reviewer.desk.drafts import is_draft, place_for
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.runs.api import RunOrder
from reviewer.desk.views import RED, View
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import CANDIDATES, candidate_files, read_bytes, suite_problems
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import is_episode_file

STEP_S = 0.2
"""Seconds between two looks at the files. A save is complete when two consecutive looks agree."""
_SKIPPED = ("__pycache__", "node_modules")

Seen = dict[str, tuple[int, int, int]]
"""Path inside the suite's folder → the file's time, size and inode number."""


class WatchedCandidate(View, frozen=True):
    """How a candidate does on the draft: counted attempts, how many passed, the episodes that it
    fails with the gates, and why it was not run."""

    candidate_id: str
    passed: int = 0
    attempts: int = 0
    failing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    problem: str = ""


class WatchRound(View, frozen=True):
    """The result of one save: the files that changed (none: the first round), what is wrong with
    the suite, and the candidates that were run."""

    changed: tuple[str, ...]
    problems: tuple[str, ...]
    candidates: tuple[WatchedCandidate, ...]


class DraftWatch:
    """The files of one draft, and what to do when some of them are saved."""

    def __init__(self, workspace: Workspace, suite_id: str, candidates: Sequence[str] = ()) -> None:
        """Watch these candidates on a draft. Raises DeskError for a suite that is no draft."""
        self.folder = workspace.suite_folder(suite_id)
        if not is_draft(workspace, suite_id):
            raise DeskError(
                f"{suite_id} is not a draft: only a suite without a lock can be watched",
                f"reviewer suite check {suite_id}",
                exit_code=ExitCode.USAGE,
            )
        self._workspace, self._suite, self._named = workspace, suite_id, tuple(candidates)

    def rounds(self) -> Iterator[WatchRound]:
        """Yield the state of the draft now, and again after each save, until the caller stops.
        Raises DeskError when the suite is no longer a draft."""
        seen = self._settled()
        yield self._round(())
        while True:
            time.sleep(STEP_S)
            now = self._settled()
            if now == seen:
                continue
            if not is_draft(self._workspace, self._suite):
                raise DeskError(
                    f"{self._suite} is no longer a draft",
                    f"reviewer suite check {self._suite} checks the frozen suite",
                    exit_code=ExitCode.DONE,
                )
            changed = tuple(sorted({*(now.items() ^ seen.items())}))
            seen = now
            yield self._round(tuple(dict.fromkeys(path for path, _ in changed)))

    def _settled(self) -> Seen:
        """Return the files once they have stopped changing."""
        before = self._look()
        while True:
            time.sleep(STEP_S / 2)
            now = self._look()
            if now == before:
                return now
            before = now

    def _look(self) -> Seen:
        found: Seen = {}
        for root, folders, names in os.walk(self.folder):
            folders[:] = [n for n in folders if not n.startswith(".") and n not in _SKIPPED]
            for name in names:
                if name.startswith((".", "#")) or name.endswith("~"):
                    continue  # a file that editors put beside one that they save
                path = Path(root, name)
                try:
                    told = path.stat(follow_symlinks=False)
                except OSError:
                    continue  # deleted since it was listed
                key = path.relative_to(self.folder).as_posix()
                found[key] = (told.st_mtime_ns, told.st_size, told.st_ino)
        return found

    def _round(self, changed: tuple[str, ...]) -> WatchRound:
        problems = tuple(map(str, suite_problems(self.folder)))
        return WatchRound(
            changed=changed,
            problems=problems,
            candidates=tuple(self._ran(name, kind, changed) for name, kind in self._candidates()),
        )

    def _candidates(self) -> list[tuple[str, str]]:
        """Return the candidates to run with their kinds: the named ones, else every scripted one,
        since these cost nothing."""
        kinds = {path.stem: _kind(path) for path in candidate_files(self.folder)}
        if self._named:
            return [(name, kinds.get(name, "")) for name in self._named]
        return [(name, kind) for name, kind in kinds.items() if kind == "scripted"]

    def _ran(self, name: str, kind: str, changed: tuple[str, ...]) -> WatchedCandidate:
        """Run a candidate: a scripted one on every episode, any other on the episodes that changed,
        or on all where another file changed."""
        episodes: tuple[str, ...] = ()
        if kind != "scripted" and changed and all(map(is_episode_file, changed)):
            there = [path for path in changed if (self.folder / path).exists()]
            episodes = tuple(Path(path).stem for path in there)
        try:
            desk = Desk(place_for(self._workspace, self._suite))
            try:
                order = RunOrder(
                    suite_id=self._suite, candidate_id=name, resume=True, episodes=episodes
                )
                handle = desk.runs.start(order)
                while not handle.ended:
                    handle.wait(STEP_S)
                return self._result(desk, name, handle.view().problem)
            finally:
                desk.close()
        except (DeskError, ContractError) as error:
            return WatchedCandidate(candidate_id=name, problem=str(error))

    def _result(self, desk: Desk, name: str, problem: str) -> WatchedCandidate:
        card = desk.scorecards.card(self._suite, name)
        keys = desk.scorecards.order(self._suite, name, only_failing=True)
        return WatchedCandidate(
            candidate_id=name,
            passed=card.hard_pass.passes,
            attempts=card.hard_pass.n,
            failing=tuple(
                (
                    row.episode_id,
                    tuple(
                        gate
                        for gate, cell in zip(card.gates, row.cells, strict=True)
                        if cell.mark in RED
                    ),
                )
                for row in desk.scorecards.each_row(self._suite, name, keys)
            ),
            problem=problem,
        )


def _kind(path: Path) -> str:
    try:
        runner = load_object(read_bytes(path), f"{CANDIDATES}/{path.name}").get("runner")
    except ContractError:
        return ""
    return str(runner.get("kind") or "") if isinstance(runner, dict) else ""
