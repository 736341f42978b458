"""Imports whose process is a stub: the test writes what an import's process would tell."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE

from reviewer.desk.imports import jobs


def filled(candidate: str, attempts: int = 9) -> dict[str, Any]:
    """The attempts of one candidate in a file."""
    return {
        "suite_id": SUITE, "candidate_id": candidate, "episodes": 3, "attempts": attempts,
        "passed": 6, "measured": attempts, "cost_usd": 0.333, "unpriced": 0,
    }  # fmt: skip


def result(*brought: dict[str, Any], refused: int = 0) -> dict[str, Any]:
    """The result of one file."""
    return {
        "path": "traces/v7-night.jsonl", "reader": "native", "state": "imported", "records": 11,
        "added": sum(one["attempts"] for one in brought), "known": 0, "refused": refused,
        "problem": "", "notes": ["identifiers were masked before storing (2 records)"],
        "filled": list(brought),
        "refusals": [
            {"record": number + 4, "reasons": ["missing:candidate_id"]} for number in range(refused)
        ],
    }  # fmt: skip


class Imports:
    """The imports begun while this is in place; the newest is the one that tells.

    `error` is what the next one writes to standard error before it reads anything.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._pipes = folder, list[int]()
        self.error = ""

    def command(self, _workspace: object, _order: object) -> list[str]:
        """A process that passes on what the test writes, until `end`."""
        pipe = self._folder / f"import-{len(self._pipes)}"
        os.mkfifo(pipe)
        self._pipes.append(os.open(pipe, os.O_RDWR))
        Path(f"{pipe}.error").write_text(f"reviewer: {self.error}\n", encoding="utf-8")
        self.tell("file", number=1, of=1, path="/traces/v7-night.jsonl", size=1000)
        self.tell("progress", done=300, size=1000, records=138, added=130, refused=0)
        return ["sh", "-c", 'cat "$0.error" >&2; exec cat "$0"', str(pipe)]

    def tell(self, event: str, **fields: Any) -> None:
        os.write(self._pipes[-1], json.dumps({"event": event, **fields}).encode() + b"\n")

    def end(self, *results: dict[str, Any]) -> None:
        """The import comes to its end, with these results."""
        for one in results:
            self.tell("result", result=one)
        self.tell("end", passed=0)
        self.break_off()

    def break_off(self) -> None:
        """The process ends without a word."""
        os.close(self._pipes[-1])


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Imports:
    """The imports of every desk of a test."""
    folder = tmp_path / "imports"
    folder.mkdir()
    found = Imports(folder)
    monkeypatch.setattr(jobs, "_command", found.command)
    return found
