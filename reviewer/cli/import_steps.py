"""An import reported to another program, step by step, and steered by that program."""

from __future__ import annotations  # types are named without loading their modules

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from reviewer.desk.errors import DeskError

if TYPE_CHECKING:
    from reviewer.desk.imports.importing import FileResult, OnProgress, Tally


class Steering:
    """Commands of the program that started the import, one a line: `pause` and `go on`. They take
    effect between two batches, when no transaction of the store is open."""

    def __init__(self, words: IO[bytes]) -> None:
        self._words = words
        self._open = threading.Event()
        self._open.set()
        self._left = False
        threading.Thread(target=self._listen, name="steering", daemon=True).start()

    def _listen(self) -> None:
        for line in self._words:
            if line.strip() == b"pause":
                self._open.clear()
            elif line.strip() == b"go on":
                self._open.set()
        self._left = True
        self._open.set()

    def wait(self, resting: Callable[[bool], None]) -> None:
        """Wait while paused, and tell `resting` so before and after. Raises DeskError when the
        program that paused it has ended."""
        if self._open.is_set():
            return
        resting(True)
        self._open.wait()
        if self._left:
            raise DeskError(
                "the program that paused this import has ended", "the same command continues it"
            )
        resting(False)


class Told:
    """Progress for programs: a line of JSON on stdout for each file, batch and result."""

    def __init__(self, steering: Steering | None = None) -> None:
        self._steering = steering

    def file(self, path: Path, number: int, of: int) -> OnProgress:
        """Announce one file, and return the callback for its progress."""
        size = path.stat().st_size if path.is_file() else 0
        self.say(event="file", path=str(path), number=number, of=of, size=size)

        def advance(done: int, size: int, tally: Tally) -> None:
            self.say(event="progress", done=done, size=size, **tally._asdict())
            self._rest()

        self._rest()
        return advance

    def _rest(self) -> None:
        if self._steering is not None:
            self._steering.wait(lambda resting: self.say(event="paused" if resting else "going on"))

    def result(self, result: FileResult) -> None:
        self.say(event="result", result=plain(result))

    @staticmethod
    def say(**event: object) -> None:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def plain(result: FileResult) -> dict[str, object]:
    """Return what came of one file, as JSON."""
    return {
        "path": result.path,
        "reader": result.reader,
        "sha256": result.sha256,
        "state": result.state,
        "records": result.records,
        "added": result.added,
        "known": result.known,
        "refused": result.refused,
        "problem": result.problem,
        "notes": list(result.notes),
        "filled": [
            {
                "suite_id": one.suite_id,
                "candidate_id": one.candidate_id,
                "episodes": one.episodes,
                "attempts": one.attempts,
                "passed": one.passed,
                "measured": one.measured,
                "not_measured": dict(one.unmeasured),
                "cost_usd": one.cost_usd if one.attempts > one.unpriced else None,
                "unpriced": one.unpriced,
            }
            for one in result.filled
        ],
        "flagged": [
            {"record": flagged.record, "reasons": list(flagged.reasons)}
            for flagged in result.flagged
        ],
        "beside": [
            {"record": beside.record, "reasons": list(beside.reasons)} for beside in result.beside
        ],
        "refusals": [
            {"record": refused.record, "reasons": list(refused.reasons)}
            for refused in result.refusals
        ],
    }
