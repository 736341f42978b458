"""Write a waiver: why a draft is used though its trial does not stop an agent.

The waiver goes into suite.json, so freezing puts it under the lock and every report shows it.
"""

from pathlib import Path

from reviewer.desk.errors import DeskError
from reviewer.desk.place import write_private
from reviewer.desk.trials.views import Trial
from reviewer.suite.derived import encoded
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import has_lock, read_bytes
from reviewer.suite.model import TrialAgent
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import SUITE_FILE
from reviewer.trace.safetext import visible_line

MOST_REASON = 1000
"""Most characters of a reason."""


def waive(folder: Path, trial: Trial, agent: TrialAgent, reason: str) -> None:
    """Write the reason into the suite.json of a draft, durably. Raises DeskError for a frozen
    suite, an agent without a hole, a reason without words, and a suite.json that cannot be read."""
    name, words = folder.name, visible_line(" ".join(reason.split()))
    if has_lock(folder):
        raise DeskError(
            f"{name} is frozen: its lock includes its waivers",
            f"fix the contracts, then: reviewer suite freeze {name} --as NEW_ID",
        )
    if agent not in {one.agent for one in trial.unsound}:
        raise DeskError(
            f"{name}: {agent} needs no waiver: its outcome is the right one, or it has one already",
            "n goes to the next hole",
        )
    if not words or len(words) > MOST_REASON:
        raise DeskError(
            f"a waiver needs a reason of 1 to {MOST_REASON:,} characters",
            "say why the suite is used all the same: every report shows it",
        )
    path = folder / SUITE_FILE
    try:
        body = load_object(read_bytes(path), f"{name}/{SUITE_FILE}")
    except ContractError as error:
        raise DeskError(str(error), f"reviewer suite check {name}") from error
    waivers = [*(body.get("waivers") or []), {"agent": agent, "reason": words}]
    write_private(path, encoded({**body, "waivers": waivers}))
