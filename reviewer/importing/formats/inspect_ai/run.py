"""The run of a log as a whole: its header, its scores, and the tokens of each model.

The evaluated model's tokens are the candidate's, a grader's are not. The figures of the header are
compared with the samples.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import added, amount, tokens, whole
from reviewer.importing.formats.base import at_path, mapping, present, sequence, text
from reviewer.importing.formats.inspect_ai import plain
from reviewer.trace.record import SourceVerdict

# Tokens and costs ---------------------------------------------------------------------------------

NAMES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "input_tokens_cache_read": "cached_tokens",
    "input_tokens_cache_write": "cache_write_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
"""Inspect's name of a count → the record's."""
OTHERS = "tokens of other models (graders, simulated users) are not the candidate's: kept apart"
SHARED = "the evaluated model also graded or played the user: those tokens were taken off"
UNEVEN = "token counts of the sample and of its model calls contradict each other"
UNPRICED = "only some model calls have a price: the cost is not known"


class Spend(NamedTuple):
    """One model call: who made it, and what it used. `agent` includes sub-agents; `whose` is
    `grader`, `simulated_user` or empty."""

    model: str
    agent: bool
    usage: dict[str, Any]
    whose: str = ""


class Bill(NamedTuple):
    """A sample's usage. `usage` (the record's names) and `cost_usd` are the candidate's, None when
    not known; `others` is by model, in the source's own names; `beside` is the usage and cost of
    graders and simulated users, by role, in the record's names."""

    usage: dict[str, int] | None
    cost_usd: float | None
    others: dict[str, Any]
    notes: tuple[str, ...]
    beside: dict[str, Any]


def counts(usage: Any) -> dict[str, int] | None:
    """Return the known token counts under the record's names."""
    named = mapping(usage)
    return tokens(**{ours: named.get(theirs) for theirs, ours in NAMES.items()})


def bill(model: str, declared: dict[str, Any], calls: list[Spend]) -> Bill:
    """Return what a sample spent: `declared` is its usage by model, over all model calls."""
    ours = [call for call in calls if call.agent and call.model == model]
    if model not in declared:
        ours = ours or [call for call in calls if call.agent]
    mine = {model} if model in declared else {call.model for call in ours}
    others = {name: usage for name, usage in declared.items() if name not in mine}
    notes = [OTHERS] if others else []
    total, cost = _sums([call.usage for call in ours])
    if model in declared:
        shared = [call.usage for call in calls if call.model == model and not call.agent]
        notes += [SHARED] if shared else []
        total, cost, fits = _less(declared[model], shared)
        if not fits:
            notes.append(UNEVEN)
            total, cost = _sums([call.usage for call in ours])
    priced = [amount(call.usage.get("total_cost")) is not None for call in ours if call.usage]
    if any(priced) and not all(priced):
        cost = None
        notes.append(UNPRICED)
    return Bill(total, cost, others, tuple(notes), _beside(calls))


def _beside(calls: list[Spend]) -> dict[str, Any]:
    """Return the usage of those who are not the candidate, one line each."""
    found: dict[str, Any] = {}
    for whose in ("grader", "simulated_user"):
        theirs = [call.usage for call in calls if call.whose == whose]
        if theirs:
            used, cost = _sums(theirs)
            found[whose] = present({"model_calls": len(theirs), "usage": used, "cost_usd": cost})
    return found


def _sums(usages: list[dict[str, Any]]) -> tuple[dict[str, int] | None, float | None]:
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(counts(usage) or {})
    cost = added([amount(usage.get("total_cost")) for usage in usages if usage])
    return dict(total) or None, cost


def _less(
    declared: Any, shared: list[dict[str, Any]]
) -> tuple[dict[str, int] | None, float | None, bool]:
    """Return (the declared usage of a model minus that of some calls, its cost, whether it covers
    those calls)."""
    named = mapping(declared)
    total, cost = counts(named), amount(named.get("total_cost"))
    if not shared:
        return total, cost, True
    used, price = _sums(shared)
    rest = Counter(total or {})
    rest.subtract(used or {})
    left = None if price is None or cost is None else max(cost - price, 0.0)
    fits = all(count >= 0 for count in rest.values())
    return {name: rest[name] for name in total or {}} or None, left, fits


class Sums:
    """Tokens by model over samples, for comparison with those that a header declares."""

    def __init__(self) -> None:
        self._totals: Counter[str] = Counter()

    def take(self, declared: dict[str, Any]) -> None:
        for model, usage in declared.items():
            self._totals[model] += whole(mapping(usage).get("total_tokens")) or 0

    def differ(self, declared: Any) -> bool:
        """Return whether a header's totals differ from these."""
        theirs = {
            model: whole(mapping(usage).get("total_tokens"))
            for model, usage in mapping(declared).items()
        }
        mine = {model: self._totals[model] for model in theirs}
        return bool(theirs) and any(self._totals.values()) and mine != theirs


# Scores -------------------------------------------------------------------------------------------

_WORDS = {"C": 1.0, "I": 0.0, "N": 0.0, "P": 0.5, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SHOWN = 1000
EDITED = "a person edited the scores of this attempt after the run: the edited ones count"
UNCLEAR = "the deciding score says neither pass nor fail (another number than 0 or 1, text, a list)"
PARTIAL = "partial credit counts as not passed"
UNSCORED = "the deciding scorer gave this attempt no value"


class DecidingScore(NamedTuple):
    """The deciding score: its scorer, the part of it when a scorer gives several values, whether
    the header computes an accuracy from it, and what makes it decide."""

    scorer: str
    part: str
    accuracy: bool
    why: str


class Decision(NamedTuple):
    """`reward` is the deciding value as a number; `note` says why nothing was decided."""

    passed: bool | None
    reward: float | None
    by: DecidingScore | None
    note: str


def orders(header: dict[str, Any]) -> list[DecidingScore]:
    """Return scores in their order of precedence: the header's headline, its results, its
    scorers."""
    results = mapping(header.get("results"))
    scores = [mapping(one) for one in sequence(results.get("scores"))] or [
        mapping(results.get("scorer"))  # before several scorers were possible
    ]
    head = mapping(results.get("headline"))
    found = [
        _deciding_score(one, "the header's headline")
        for one in scores
        if head and all(head.get(name) == one.get(mine) for name, mine in _HEAD if head.get(name))
    ]
    found += [_deciding_score(one, "first in the header's results") for one in scores]
    for one in map(mapping, sequence(at_path(header, "eval", "scorers"))):
        name = text(one.get("name"))
        metrics = [text(mapping(metric).get("name")) for metric in sequence(one.get("metrics"))]
        accuracy = any(metric.endswith("accuracy") for metric in metrics)
        found.append(DecidingScore(name, name, accuracy, "first of the header's scorers"))
    return [one for one in found if one.scorer]


_HEAD = (("scorer", "scorer"), ("score", "name"))


def _deciding_score(score: dict[str, Any], why: str) -> DecidingScore:
    name = text(score.get("name"))
    return DecidingScore(
        text(score.get("scorer")) or name, name, "accuracy" in mapping(score.get("metrics")), why
    )


def scores_of(sample: dict[str, Any]) -> dict[str, Any]:
    """Return the scores of a sample by name, in the file's order."""
    scores = mapping(sample.get("scores"))
    old = mapping(sample.get("score"))
    return scores or ({"score": old} if old else {})


def decide(scores: dict[str, Any], order: list[DecidingScore]) -> Decision:
    """Decide pass or fail by the first score of `order` that the sample has, else by its own first
    score. Only full credit is a pass."""
    if not scores:
        return Decision(None, None, None, "")
    first = next(iter(scores))
    by = next((one for one in order if one.scorer in scores), None)
    by = by or DecidingScore(first, first, False, "first of the sample's scores")
    value = mapping(scores[by.scorer]).get("value")
    if isinstance(value, dict):
        value = value.get(by.part)
    if value is None:
        return Decision(None, None, by, UNSCORED)
    reward = number_of(value)
    if reward in (0.0, 1.0):
        return Decision(reward == 1.0, reward, by, "")
    if value == "P" or (by.accuracy and reward is not None and 0 < reward < 1):
        return Decision(False, reward, by, PARTIAL)
    return Decision(None, reward, by, UNCLEAR)


def number_of(value: Any) -> float | None:
    """Return a score as a number, as Inspect's own metrics read it; None for lists, objects and
    words without a numeric meaning."""
    if isinstance(value, (bool, int, float)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        found = _WORDS.get(value, _WORDS.get(value.lower() if len(value) > 1 else value))
        return found if found is not None else _parsed(value)
    return None


def _parsed(value: str) -> float | None:
    try:
        number = float(value[:64])
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def verdict(
    sample: dict[str, Any], decided: Decision, exception: str | None, spent: Bill
) -> SourceVerdict:
    """Return the source's verdict with every score behind it (texts cut), and the usage of graders,
    simulated users and models that are not the candidate's."""
    detail: dict[str, Any] = {}
    if decided.by is not None:
        by = decided.by
        detail["decided_by"] = by.scorer if by.part == by.scorer else f"{by.scorer}/{by.part}"
    if scores := scores_of(sample):
        detail["scores"] = {name[:200]: _shown(mapping(one)) for name, one in scores.items()}
    if invalid := _who(mapping(sample.get("invalidation"))):
        detail["invalidation"] = invalid
    if spent.others:
        detail["other_models"] = spent.others
    detail.update(spent.beside)
    doubted = decided.passed is True and bool(sample.get("invalidation"))
    if doubted:
        detail["taken_back"] = "a person marked the attempt invalid"
    return SourceVerdict(
        passed=None if doubted else decided.passed,
        reward=decided.reward,
        exception=exception,
        detail=detail,
    )


def edited(scores: dict[str, Any]) -> bool:
    """Return whether a person changed or added one of the scores."""
    return any(
        mapping(edit).get("provenance")
        for score in scores.values()
        for edit in sequence(mapping(score).get("history"))
    )


def _shown(score: dict[str, Any]) -> dict[str, Any]:
    """Return one score: value, answer, explanation, reason and every edit with its author and
    reason."""
    shown = {"value": score.get("value")}
    for name in ("answer", "explanation", "reason"):
        if isinstance(score.get(name), str):
            shown[name] = score[name][:SHOWN]
    history = [_shown_edit(mapping(edit)) for edit in sequence(score.get("history"))]
    return {**shown, "history": history} if history else shown


def _shown_edit(edit: dict[str, Any]) -> dict[str, Any]:
    who = _who(mapping(edit.get("provenance")))
    return {"value": edit.get("value"), **({"provenance": who} if who else {})}


def _who(said: dict[str, Any]) -> dict[str, str]:
    """Return author, time and reason."""
    names = ("author", "timestamp", "reason")
    return {name: said[name][:SHOWN] for name in names if isinstance(said.get(name), str)}


# The run ------------------------------------------------------------------------------------------

SETTINGS = (
    *("temperature", "top_p", "top_k", "max_tokens"),
    *("reasoning_effort", "reasoning_tokens", "effort", "verbosity"),
)
"""Generation settings that define another candidate; others only describe how a run was made."""
NO_HEADER = "the log has no header: its task and candidate are not known"
TOLERANCE = 1e-6
MOST_ALIKE = 20
"""Most notes of one kind on one file."""


class Run:
    """The header of a log. `known` facts are stored with every trace of it."""

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
        """Return scaffold, version, model and settings, as far as the header states them."""
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
        """Return the expected number of samples: those of the dataset times the epochs."""
        spec = mapping(self.header.get("eval"))
        data, config = mapping(spec.get("dataset")), mapping(spec.get("config"))
        ids = len(sequence(data.get("sample_ids"))) or whole(data.get("samples"))
        return None if not ids else ids * (whole(config.get("epochs")) or 1)

    def empty(self) -> str:
        """Return why there is nothing to import in a log without samples."""
        status = plain(text(self.header.get("status")))
        if self.header.get("results") or self.header.get("reductions"):
            return (
                "the log has results but no samples: they were not logged (log_samples) or removed"
            )
        return f"the log has no samples (status {status or 'unknown'})"


def suite_of(task: str) -> str:
    """Return the probe suite of a task."""
    name = re.sub(r"[^a-z0-9_.-]+", "-", task.rpartition("/")[2].lower()).strip("-.")
    return f"inspect-{name[:80]}" if name else "inspect"


def _version(spec: dict[str, Any]) -> str:
    """Return the commit of the evaluation's code, else the version of Inspect."""
    revision = mapping(spec.get("revision"))
    commit = text(revision.get("commit"))[:12]
    if commit:
        return f"{commit}-dirty" if revision.get("dirty") else commit
    return text(at_path(spec, "packages", "inspect_ai"))[:60]


class Counted(NamedTuple):
    """The figures of one sample for the totals of the log."""

    name: str
    error: bool
    edited: bool
    invalid: bool
    usage: dict[str, Any]
    scores: int
    decided: Decision


def counted(sample: dict[str, Any], decided: Decision) -> Counted:
    """Return the figures of a sample for the totals of the log."""
    scores = scores_of(sample)
    return Counted(
        str(sample.get("id")),
        bool(sample.get("error")) and not scores,
        edited(scores),
        bool(sample.get("invalidation")),
        mapping(sample.get("model_usage")),
        len(scores),
        decided,
    )


class Last:
    """Keeps the figures of the last sample, where another process computes the totals."""

    counted: Counted | None = None

    def take(self, sample: dict[str, Any], decided: Decision) -> None:
        """Keep the figures of a sample."""
        self.counted = counted(sample, decided)


class Tally:
    """Totals of the samples of a log, counted while they are read."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._samples = self._errors = self._edited = self._invalid = 0
        self._several: dict[str, int] = {}
        self._sums = Sums()
        self._values: dict[str, list[float]] = defaultdict(list)

    def take(self, sample: dict[str, Any], decided: Decision) -> None:
        """Add one more sample."""
        self.add(counted(sample, decided))

    def add(self, sample: Counted) -> None:
        """Add one more sample by its figures."""
        self._samples += 1
        self._errors += sample.error
        self._edited += sample.edited
        self._invalid += sample.invalid
        self._sums.take(sample.usage)
        decided = sample.decided
        if decided.by is not None:
            if sample.scores > 1:
                self._several[f"`{plain(decided.by.scorer)}` ({decided.by.why})"] = sample.scores
            if decided.reward is not None:
                self._values[sample.name].append(decided.reward)

    def notes(self) -> Iterator[str]:
        """Yield notes on the file for its reader."""
        header = self._run.header
        if not header.get("eval"):
            yield NO_HEADER
        yield from self._status(text(header.get("status")))
        for by, count in islice(self._several.items(), MOST_ALIKE):
            yield f"{count} scores a sample: {by} decides pass or fail, all are kept"
        for score in sequence(at_path(header, "results", "scores"))[:MOST_ALIKE]:
            reducer = text(mapping(score).get("reducer"))
            if re.fullmatch(r"pass_at_\d{1,6}", reducer):
                k = reducer[8:]
                yield f"the header's {reducer} is at least one pass in {k} tries, not pass^{k}"
        if self._invalid:
            yield f"samples that a person marked invalid: {self._invalid} (no pass counts)"
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
        return whole(at_path(self._run.header, "results", "total_samples"))

    def _against(self) -> Iterator[str]:
        """Yield notes on figures of the header that contradict the samples."""
        header = self._run.header
        declared = self._declared()
        if declared and declared != self._samples:
            yield (
                f"the header counts {declared} samples, in the file are {self._samples}: "
                "its figures are not theirs"
            )
            return
        if self._sums.differ(at_path(header, "stats", "model_usage")):
            yield "the header's token totals differ from those of the samples"
        stated, found = self._accuracy(), self._mean()
        if stated is not None and found is not None and abs(stated - found) > TOLERANCE:
            yield f"the header's accuracy is {stated:.6g}, that of the samples {found:.6g}"

    def _accuracy(self) -> float | None:
        """Return the header's accuracy of the deciding score, by the mean of its epochs."""
        first = self._run.order[0] if self._run.order else None
        for score in map(mapping, sequence(at_path(self._run.header, "results", "scores"))):
            same = first and (score.get("scorer") or score.get("name"), score.get("name")) == (
                first.scorer,
                first.part,
            )
            if same and score.get("reducer") in (None, "mean"):
                return amount(at_path(score, "metrics", "accuracy", "value"))
        return None

    def _mean(self) -> float | None:
        means = [sum(values) / len(values) for values in self._values.values()]
        return sum(means) / len(means) if means else None
