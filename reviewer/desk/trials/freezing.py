"""The trial of a suite before it is frozen: an unsound suite is refused unless a waiver says why it
is used."""

from pathlib import Path

from reviewer.desk.errors import DeskError
from reviewer.desk.trials.trying import tried
from reviewer.desk.trials.views import Trial
from reviewer.suite.check import check_suite
from reviewer.suite.checks import CHECKS
from reviewer.suite.errors import Problem
from reviewer.suite.folder import read_suite, suite_problems, suite_state
from reviewer.suite.lock import LOCK_FILE
from reviewer.suite.model import Suite
from reviewer.suite.toolset import Toolset


def check_problems(folder: Path) -> list[Problem]:
    """Return what a trial finds wrong with a draft's own checks. Raises DeskError for a suite whose
    world cannot be created."""
    found = read_suite(folder)
    if not found.suite.own_checks:
        return []
    refused = tried(found.suite, found.toolset, folder).refused_checks
    return [Problem(f"{folder.name}/{CHECKS}{one.check}.py", "$", one.problem) for one in refused]


def to_be_frozen(folder: Path, again: bool) -> tuple[Suite, Toolset | None] | None:
    """Return the suite, and its toolset, as they would be frozen; `again` says that it is frozen
    under a new id. None where freezing itself will refuse: content that is not a valid suite, or
    that is already frozen."""
    state = suite_state(folder)
    if (state.state == "draft") == again:
        return None
    checked = check_suite({path: data for path, data in state.files.items() if path != LOCK_FILE})
    if checked.suite is None or (not again and suite_problems(folder)):
        return None
    return checked.suite, checked.toolset


def way_out_of(trial: Trial) -> str:
    """Return what to do about an unsound suite."""
    waiver = f'"waivers": [{{"agent": "{trial.unsound[0].agent}", "reason": "..."}}]'
    return f"fix the contracts, or state in suite.json why it is used anyway: {waiver}"


def trial_before_freeze(folder: Path, again: bool) -> Trial | None:
    """Return the trial of the suite as it would be frozen; `again` says that it is frozen under a
    new id. None where freezing itself will refuse.

    Raises DeskError for a suite that is unsound without a waiver, has a waiver that covers nothing,
    or has a check that breaks, is not deterministic, or was not shown to fail.
    """
    content = to_be_frozen(folder, again)
    if content is None:
        return None
    trial = tried(*content, folder)
    name = folder.name
    shown = f"reviewer suite trial {name} shows which gate stops what"
    if trial.refused_checks:
        told = "; ".join(f"checks/{one.check}.py {one.problem}" for one in trial.refused_checks)
        raise DeskError(
            f"{name}: not frozen: {told}", "fix the check, or remove its file from the suite"
        )
    if trial.unsound:
        told = "; ".join(f"{one.agent} {one.why}" for one in trial.unsound)
        raise DeskError(
            f"{name}: not frozen, because its trial found that it is not sound: {told}",
            shown,
            way_out_of(trial),
        )
    if trial.needless:
        named = ", ".join(one.agent for one in trial.needless)
        raise DeskError(
            f"{name}: not frozen: its waiver for {named} is not needed",
            shown,
            "remove it from suite.json",
        )
    return trial
