"""A desk on which a test makes imports go on, pause and end."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fake_runs import RunningDesk
from fake_shop import SUITE, V7
from msgspec.structs import replace

from reviewer.desk.imports.api import FileView, FilledView, ImportOrder, ImportView

BEGAN = 1_800_000_000.0


def filled(candidate: str, attempts: int = 9) -> FilledView:
    return FilledView(
        suite_id=SUITE, candidate_id=candidate, episodes=3, attempts=attempts, passed=6,
        measured=attempts, cost_usd=0.333, unpriced=0,
    )  # fmt: skip


def result(*brought: FilledView, refused: int = 0) -> FileView:
    return FileView(
        path="traces/v7-night.jsonl", reader="native", state="imported", records=11,
        added=sum(one.attempts for one in brought), known=0, refused=refused, problem="",
        notes=("identifiers were masked before storing (2 records)",), filled=brought,
        refusals=tuple((n + 4, ("missing:candidate_id",)) for n in range(refused)),
    )  # fmt: skip


class FakeImport:
    """One import. `go`, `rest` and `end` are the test's; the rest is a handle's."""

    def __init__(
        self, number: int, order: ImportOrder, on_change: Callable[["FakeImport"], None] | None
    ) -> None:
        self.log: list[str] = []
        self._on_change = on_change
        self._view = ImportView(
            number=number, order=order, state="reading", file=1, files=1, path=order.path,
            done=300, size=1000, records=138, added=130, refused=0, results=(), passed=0,
            problem="", began=BEGAN + number, seconds=3.0, eta_seconds=7.0,
        )  # fmt: skip

    def go(self, **changes: object) -> None:
        """Something happened."""
        self._view = replace(self._view, **changes)
        if self._on_change is not None:
            self._on_change(self)

    def end(self, *results: FileView, state: str = "done", problem: str = "") -> None:
        added, refused = (sum(getattr(r, n) for r in results) for n in ("added", "refused"))
        self.go(
            state=state, problem=problem, results=results, added=added, refused=refused,
            eta_seconds=None,
        )  # fmt: skip

    def view(self) -> ImportView:
        return self._view

    def pause(self) -> None:
        self.log.append("pause")
        self.go(state="pausing")

    def go_on(self) -> None:
        self.log.append("go on")
        self.go(state="reading")

    def stop(self) -> None:
        self.log.append("stop")
        self.go(state="stopped", eta_seconds=None)

    def wait(self, timeout: float | None = None) -> ImportView:
        return self._view


@dataclass
class ImportingDesk(RunningDesk):
    """Also imports."""

    imports_made: list[FakeImport] = field(default_factory=list)

    @classmethod
    def ready(cls) -> "ImportingDesk":
        desk = cls.with_traces(V7)
        assert isinstance(desk, ImportingDesk)
        return desk

    @property
    def importing(self) -> FakeImport:
        """The newest import."""
        return self.imports_made[-1]

    def start_import(
        self, order: ImportOrder, on_change: Callable[[FakeImport], None] | None = None
    ) -> FakeImport:
        self.imports_made.append(FakeImport(len(self.imports_made) + 1, order, on_change))
        return self.importing

    def import_views(self) -> list[ImportView]:
        return [one.view() for one in reversed(self.imports_made)]

    def import_handle(self, number: int) -> FakeImport:
        return self.imports_made[number - 1]
