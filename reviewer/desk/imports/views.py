"""What the desk answers about imports at work: plain, immutable values."""

from typing import Literal

from msgspec import field

from reviewer.desk.views import View

ImportState = Literal["reading", "pausing", "paused", "done", "stopped", "failed"]


class ImportOrder(View, frozen=True):
    """What a person asks for. `dry` writes nothing; `path` may be a file, a folder, a pattern."""

    path: str
    format: str = "auto"
    suite_id: str = ""
    candidate_id: str = ""
    episode_map: str = ""
    dry: bool = False


class FilledView(View, frozen=True):
    """What a file brings for one candidate of one suite. `passed` of `measured` attempts passed, by
    our gates or, for a probe, by the source's word; `cost_usd` is None when none has a cost."""

    suite_id: str
    candidate_id: str
    episodes: int
    attempts: int
    passed: int
    measured: int
    cost_usd: float | None
    unpriced: int
    not_measured: dict[str, int] = field(default_factory=dict)
    """Attempts without a verdict, by the code that says why."""


class FileView(View, frozen=True):
    """What came of one file; `refusals` are (record, reasons), the first so many."""

    path: str
    reader: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    problem: str
    notes: tuple[str, ...]
    filled: tuple[FilledView, ...]
    refusals: tuple[tuple[int, tuple[str, ...]], ...]


class ImportView(View, frozen=True):
    """An import as it stands. `file` of `files` is being read, `done` of `size` bytes of it, with
    `records` read in all; `passed` files below the folder are no traces. One that is `pausing` ends
    its batch first. `problem` says why it failed.

    `began` is when, in seconds of Unix time; `seconds` how long it has been at it, `eta_seconds`
    what is left at this pace, None while nothing can be said.
    """

    number: int
    order: ImportOrder
    state: ImportState
    file: int
    files: int
    path: str
    done: int
    size: int
    records: int
    added: int
    refused: int
    results: tuple[FileView, ...]
    passed: int
    problem: str
    began: float
    seconds: float
    eta_seconds: float | None
