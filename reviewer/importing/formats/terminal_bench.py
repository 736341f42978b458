"""Terminal-Bench 0.x (`tb run`): `<run>/<task>/<trial>/results.json`, and a run's own results.

A trial has a verdict, the tests' results, times of its phases, what the terminal showed before,
between and after, and a recording of it; there is no trace of the agent's steps. The run's
`results.json` holds every trial again: it gives those that have no folder beside it.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.formats._folder import files_below, shown, started_ms, trials, value_of
from reviewer.importing.formats._places import slug, within
from reviewer.importing.formats._tb_trial import RESULTS, attempt, is_trial, run_of
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.importing.walking import EACH

UNEQUAL = "the run's results and a trial's own results disagree: the trial's own are taken"


class TerminalBenchReader:
    name = "terminal-bench"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        return is_trial(head.first) or _is_run(head.first)

    def suite_id(self, path: Path) -> str:
        return run_of(path).suite

    def candidate_id(self, path: Path) -> str:
        return slug(run_of(path).candidate)

    def companions(self, path: Path) -> tuple[Path, ...]:
        folder = _own_folder(path)
        return files_below(folder, path) if folder else ()

    def ran_at(self, path: Path) -> float:
        """When the trial started, in milliseconds since 1970; infinity when nobody knows."""
        value = shown(path)
        return started_ms(value.get("trial_started_at") if isinstance(value, dict) else None)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        if _is_run(shown(source.path)):
            yield from _run(source)
            return
        folder = _own_folder(source.path)
        yield from trials(source, lambda raw: attempt(source, raw, folder))


def _own_folder(path: Path) -> Path | None:
    """The folder of the one trial whose results a file holds; None when it is no trial's own."""
    if path.name != RESULTS:
        return None
    try:
        value = Head(path).value
    except (Unreadable, OSError):
        return None
    folder = path.parent
    own = is_trial(value) and folder.name == value["trial_name"]
    signs = any((folder / one).is_dir() for one in ("panes", "sessions"))
    return folder if own or (is_trial(value) and signs) else None


def _is_run(value: Any) -> bool:
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list):
        return False
    totals = isinstance(value, dict) and {"n_resolved", "accuracy", "pass_at_k"} <= set(value)
    return is_trial(results[0]) if results else totals


def _run(source: Source) -> Iterator[Foreign | Broken]:
    """The trials of a run that stand only in its own results; notes on totals that differ."""
    counted = {True: 0, False: 0}
    totals: dict[str, Any] = {}
    beside = False
    for part in source.walk(("results", EACH)):
        if len(part.path) == 1 and part.path[0] in ("n_resolved", "n_unresolved"):
            totals[str(part.path[0])] = value_of(source, part)
        if part.path[:1] != ("results",) or len(part.path) != 2:
            continue
        name = f"results[{part.path[1]}]"
        if part.problem:
            yield Broken((part.problem,), name)
            continue
        trial = value_of(source, part)
        resolved = trial.get("is_resolved") if isinstance(trial, dict) else None
        counted[resolved is True] += 1
        own = _own_result(source.path.parent, trial)
        if own is None:
            yield source.attempt(partial(attempt, source, part.raw, None), name)
            continue
        beside = source.sums_up = True
        its_own = shown(own)
        if is_trial(its_own) and its_own.get("is_resolved") is not resolved:
            source.notes.add(UNEQUAL)
    if beside:
        source.notes.add("trials of the run are imported from their own results")
    for name, found in (("n_resolved", counted[True]), ("n_unresolved", counted[False])):
        if isinstance(totals.get(name), int) and totals[name] != found:
            source.notes.add("the run's declared totals differ from the trials it holds")


def _own_result(folder: Path, trial: Any) -> Path | None:
    """The trial's own results below the run's folder."""
    if not isinstance(trial, dict):
        return None
    task, name = trial.get("task_id"), trial.get("trial_name")
    place = f"{task}/{name}/{RESULTS}"
    return folder / place if within(folder, place) else None
