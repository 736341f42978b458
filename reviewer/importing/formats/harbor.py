"""Harbor jobs and trials: `<job>/<trial>/result.json` with the trial's folder around it.

A trial is an attempt; its steps stand in an ATIF trajectory beside the result, or in one for each
step of the trial. Trials have no number: they are read in the order they ran. A job's own
`result.json` only sums up its trials.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.formats._folder import files_below, shown, started_ms, trials, value_of
from reviewer.importing.formats._harbor import RESULTS, is_job, is_trial
from reviewer.importing.formats._harbor_trial import attempt
from reviewer.importing.formats._places import folder_names, slug
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.importing.walking import EACH

_MEMBERS = {"trial_name", "task_name"}
_SIGNS = ("config.json", "agent", "verifier", "steps", "trajectory.atif.json", "trajectory.json")


class HarborReader:
    name = "harbor"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        value = head.first
        if is_trial(value) or is_job(value):
            return True
        # A trial with token ids may show nothing else in its first part.
        near = isinstance(value, dict) and bool(_MEMBERS & set(value) or "agent_result" in value)
        return near and not head.whole and is_trial(dict.fromkeys(head.names))

    def suite_id(self, path: Path) -> str:
        return "harbor"

    def candidate_id(self, path: Path) -> str:
        return slug(*folder_names(path, 1))

    def companions(self, path: Path) -> tuple[Path, ...]:
        folder = _own_folder(path)
        return files_below(folder, path) if folder else ()

    def ran_at(self, path: Path) -> float:
        """When the trial started, in milliseconds since 1970; infinity when nobody knows."""
        value = shown(path)
        return started_ms(value.get("started_at") if isinstance(value, dict) else None)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        if is_job(shown(source.path)):
            yield from _job(source)
            return
        folder = _own_folder(source.path)
        yield from trials(source, lambda raw: attempt(source, raw, folder))


def _own_folder(path: Path) -> Path | None:
    """The folder of the one trial whose result a file holds; None when it is no trial's own."""
    if path.name not in RESULTS:
        return None
    try:
        value = Head(path).value
    except (Unreadable, OSError):
        return None
    if not is_trial(value):
        return None
    folder = path.parent
    own = folder.name == value["trial_name"] or any((folder / one).exists() for one in _SIGNS)
    return folder if own else None


def _job(source: Source) -> Iterator[Foreign | Broken]:
    """The trials a summary holds itself and that have no folder; notes on the others."""
    source.sums_up = True
    beside = set(_trial_folders(source.path.parent))
    stats: dict[str, Any] = {}
    held = 0
    for part in source.walk(("trial_results", EACH)):
        if part.path[:1] == ("trial_results",) and len(part.path) == 2:
            trial = value_of(source, part)
            if isinstance(trial, dict) and str(trial.get("trial_name")) in beside:
                continue
            held += 1
            name = f"trial_results[{part.path[1]}]"
            if part.problem:
                yield Broken((part.problem,), name)
            else:
                yield source.attempt(partial(attempt, source, part.raw, None), name)
        elif part.path == ("stats",):
            found = value_of(source, part)
            stats = found if isinstance(found, dict) else {}
    if not beside and not held:
        source.notes.add("a job's summary without its trials: import the folders of the trials")
        return
    source.notes.add("a job's summary: its trials are imported from their own results")
    declared = stats.get("n_completed_trials", stats.get("n_trials"))
    if isinstance(declared, int) and declared != len(beside) + held:
        source.notes.add("the job declares another number of trials than stand beside it")


def _trial_folders(folder: Path) -> Iterator[str]:
    for one in sorted(folder.iterdir()):
        if one.is_dir() and any((one / name).is_file() for name in RESULTS):
            yield one.name
