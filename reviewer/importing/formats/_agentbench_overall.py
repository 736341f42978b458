"""overall.json of an AgentBench run: the verdicts of its task, joined to runs by their index."""

from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.importing.walking import EACH

_WORDS = (("Incorrect", False), ("Correct", True))
NOT_SCORED = "overall.json has no verdict for this run: not scored"
CUT_SHORT = "no overall.json: the run was cut short or never scored, so nothing has a verdict"


class Judged(NamedTuple):
    """A run's word there. `said` is whether it says so itself (`completedCorrect`)."""

    status: str
    passed: bool | None
    said: bool


class Overall:
    """Verdicts by index; those of an index that stands there several times go by position."""

    def __init__(self, there: bool) -> None:
        self.missing = NOT_SCORED if there else CUT_SHORT
        self.total: Any = None
        self.accuracy: Any = None
        self._found: dict[str, deque[Judged]] = defaultdict(deque)
        self._counts: Counter[str] = Counter()

    def add(self, index: Any, status: str) -> None:
        """Note one result."""
        passed = next((word for end, word in _WORDS if status.endswith(end)), None)
        self._counts["results"] += 1
        self._counts["correct"] += passed is True
        self._found[str(index)].append(Judged(status, passed, passed is not None))

    def take(self, index: int | str) -> Judged | None:
        """The verdict of a run, each once."""
        self._counts["runs"] += 1
        waiting = self._found.get(str(index))
        if not waiting:
            return None
        judged = waiting.popleft()
        uncounted = judged.passed is None and judged.status != "completed"
        return judged._replace(passed=False) if uncounted and self._rated() else judged

    def _rated(self) -> bool:
        return type(self.accuracy) in (int, float)

    def close(self, notes: set[str]) -> None:
        """What does not add up, once every run took its verdict."""
        runs, results = self._counts["runs"], self._counts["results"]
        left = sum(map(len, self._found.values()))
        if results and left:
            notes.add(f"overall.json judges {left} runs that are not in runs.jsonl")
        if type(self.total) is int and self.total != runs:
            notes.add(f"overall.json speaks of {self.total} runs, runs.jsonl has {runs}")
        if results and self._rated():
            counted = self._counts["correct"] / results
            if abs(counted - self.accuracy) > 1e-3:
                notes.add("overall.json states another accuracy than its results give")


def overall_of(source: Source, path: Path) -> Overall:
    """What stands there, read as a stream: it repeats every history. A broken one judges nothing,
    with a note."""
    if path not in source.companions:
        return Overall(there=False)
    overall = Overall(there=True)
    try:
        for part in source.walk(("custom", EACH), ("custom", "raw_results", EACH), path=path):
            if part.problem:
                source.notes.add(f"{path.name} could not be read to its end")
                break
            if part.path == ("total",):
                overall.total = parse(part.raw)
            elif part.path == ("custom", "accuracy"):
                overall.accuracy = parse(part.raw)
            elif part.path[:2] == ("custom", "raw_results") and len(part.path) == 3:
                one = parse(part.raw)
                if isinstance(one, dict) and isinstance(one.get("status"), str):
                    overall.add(one.get("index"), one["status"])
    except (NotJson, Unreadable, OSError):
        source.notes.add(f"{path.name} could not be read to its end")
    return overall
