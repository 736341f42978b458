"""What a log says of its run as a whole, and how that agrees with the samples in it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from reviewer.importing.draft import amount, whole
from reviewer.importing.formats.inspect_ai.parts import mapping, plain, sequence, text
from reviewer.importing.formats.inspect_ai.spending import Sums
from reviewer.importing.formats.inspect_ai.verdicts import Decided, edited, orders, scores_of

SETTINGS = (
    *("temperature", "top_p", "top_k", "max_tokens"),
    *("reasoning_effort", "reasoning_tokens", "effort", "verbosity"),
)
"""Settings of generation that make another candidate; the others only say how a run was made."""
NO_HEADER = "the log has no header: its task and candidate are not known"
TOLERANCE = 1e-6
MOST_ALIKE = 20
"""Notes of one kind on one file."""


class Run:
    """The header of a log. `known` facts are kept with every trace of it."""

    def __init__(self, header: dict[str, Any], path: Path, candidate: str = "") -> None:
        self.header = header
        spec = mapping(header.get("eval"))
        self.model = text(spec.get("model"))
        self.suite = suite_of(text(spec.get("task")))
        self.candidate = candidate or self._candidate(spec) or path.stem
        self.order = orders(header)
        self.known = {
            name: spec[name]
            for name in ("task", "task_version", "task_args", "model", "revision", "packages")
            if spec.get(name)
        }

    def _candidate(self, spec: dict[str, Any]) -> str:
        """Scaffold, version, model and settings, as far as the header says."""
        if not self.model:
            return ""
        plan = mapping(self.header.get("plan"))
        steps = [text(mapping(step).get("solver")) for step in sequence(plan.get("steps"))]
        scaffold = text(spec.get("solver")) or "+".join(filter(None, steps))
        settings = {**mapping(spec.get("model_generate_config")), **mapping(plan.get("config"))}
        chosen = [
            f"{name}={settings[name]}"
            for name in SETTINGS
            if isinstance(settings.get(name), (str, int, float))
        ]
        parts = [scaffold[:160], _version(spec), self.model, *chosen]
        return " ".join(filter(None, parts))[:400]

    def planned(self) -> int | None:
        """How many samples there should be: those of the dataset times the epochs."""
        spec = mapping(self.header.get("eval"))
        data, config = mapping(spec.get("dataset")), mapping(spec.get("config"))
        ids = len(sequence(data.get("sample_ids"))) or whole(data.get("samples"))
        return None if not ids else ids * (whole(config.get("epochs")) or 1)

    def empty(self) -> str:
        """Why there is nothing to import in a log without samples."""
        status = plain(text(self.header.get("status")))
        if self.header.get("results") or self.header.get("reductions"):
            return (
                "the log has results but no samples: they were not logged (log_samples) or removed"
            )
        return f"the log has no samples (status {status or 'unknown'})"


def suite_of(task: str) -> str:
    """The probe suite of a task."""
    name = re.sub(r"[^a-z0-9_.-]+", "-", task.rpartition("/")[2].lower()).strip("-.")
    return f"inspect-{name[:80]}" if name else "inspect"


def _version(spec: dict[str, Any]) -> str:
    """The commit of the evaluation's code, else the version of Inspect."""
    revision = mapping(spec.get("revision"))
    commit = text(revision.get("commit"))[:12]
    if commit:
        return f"{commit}-dirty" if revision.get("dirty") else commit
    return text(mapping(spec.get("packages")).get("inspect_ai"))[:60]


class Tally:
    """What the samples of a log come to, counted while they are read."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._samples = self._errors = self._edited = self._invalid = 0
        self._several: dict[str, int] = {}
        self._sums = Sums()
        self._values: dict[str, list[float]] = defaultdict(list)

    def take(self, sample: dict[str, Any], decided: Decided) -> None:
        """One more sample."""
        scores = scores_of(sample)
        self._samples += 1
        self._errors += bool(sample.get("error")) and not scores
        self._edited += edited(scores)
        self._invalid += bool(sample.get("invalidation"))
        self._sums.take(mapping(sample.get("model_usage")))
        if decided.by is not None:
            if len(scores) > 1:
                self._several[f"`{plain(decided.by.scorer)}` ({decided.by.why})"] = len(scores)
            if decided.reward is not None:
                self._values[str(sample.get("id"))].append(decided.reward)

    def notes(self) -> Iterator[str]:
        """What the reader of the file should know of it."""
        header = self._run.header
        if not header.get("eval"):
            yield NO_HEADER
        yield from self._status(text(header.get("status")))
        for by, count in islice(self._several.items(), MOST_ALIKE):
            yield f"{count} scores a sample: {by} decides pass or fail, all are kept"
        for score in sequence(mapping(header.get("results")).get("scores"))[:MOST_ALIKE]:
            reducer = text(mapping(score).get("reducer"))
            if re.fullmatch(r"pass_at_\d{1,6}", reducer):
                k = reducer[8:]
                yield f"the header's {reducer} is at least one pass in {k} tries, not pass^{k}"
        if self._invalid:
            yield f"samples that a person marked invalid: {self._invalid} (kept as scored)"
        if self._edited:
            yield f"samples whose scores a person edited after the run: {self._edited}"
        if header.get("log_updates"):
            yield "tags or metadata of the log were edited after the run"
        if self._errors:
            yield (
                f"samples that ended with an error and have no score: {self._errors} "
                "(the header's figures leave them out)"
            )
        yield from self._against()

    def _status(self, status: str) -> Iterator[str]:
        planned = self._run.planned()
        of = f" ({self._samples} of {planned} planned samples are in it)" if planned else ""
        if status in ("", "started"):
            yield f"the run was killed or is still being written{of}"
        elif status in ("cancelled", "error"):
            yield f"the run ended as `{status}`{of}"
        elif planned and planned != self._samples and not self._declared():
            yield f"samples in the file: {self._samples} of {planned} planned"

    def _declared(self) -> int | None:
        return whole(mapping(self._run.header.get("results")).get("total_samples"))

    def _against(self) -> Iterator[str]:
        """Figures of the header that are not those of the samples."""
        header = self._run.header
        declared = self._declared()
        if declared and declared != self._samples:
            yield (
                f"the header counts {declared} samples, in the file are {self._samples}: "
                "its figures are not theirs"
            )
            return
        if self._sums.differ(mapping(header.get("stats")).get("model_usage")):
            yield "the header's token totals differ from those of the samples"
        stated, found = self._accuracy(), self._mean()
        if stated is not None and found is not None and abs(stated - found) > TOLERANCE:
            yield f"the header's accuracy is {stated:.6g}, that of the samples {found:.6g}"

    def _accuracy(self) -> float | None:
        """The header's accuracy of the deciding score, over the mean of its epochs."""
        first = self._run.order[0] if self._run.order else None
        for score in map(mapping, sequence(mapping(self._run.header.get("results")).get("scores"))):
            same = first and (score.get("scorer") or score.get("name"), score.get("name")) == (
                first.scorer,
                first.part,
            )
            if same and score.get("reducer") in (None, "mean"):
                metric = mapping(mapping(score.get("metrics")).get("accuracy"))
                return amount(metric.get("value"))
        return None

    def _mean(self) -> float | None:
        means = [sum(values) / len(values) for values in self._values.values()]
        return sum(means) / len(means) if means else None
