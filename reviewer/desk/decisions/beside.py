"""Facts shown beside a report before its decision: how bad agents fare on its suite, and how often
its policy is wrong. They do not change the recommendation."""

from collections.abc import Iterator

from reviewer.desk.decisions.api import SuiteLine, SuiteStanding
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.power.views import PowerView
from reviewer.desk.trials.remembered import any_of, known, played_of, too_many, why_not_unasked
from reviewer.desk.trials.views import Trial, TriedAgent
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_suite
from reviewer.suite.gates import GATES


def standing_of(workspace: Workspace, suite_id: str, power: PowerView | None) -> SuiteStanding:
    """Return the lines about a suite. The trial is run here where it is quick and runs no code of
    the suite; else the lines name the command that runs it."""
    return SuiteStanding(
        trial=tuple(_trial(workspace, suite_id)), power=tuple(_power(suite_id, power))
    )


def _trial(workspace: Workspace, suite_id: str) -> Iterator[SuiteLine]:
    command = f"reviewer suite trial {suite_id} shows what bad agents do on it"
    folder = workspace.suite_folder(suite_id)
    if not folder.exists():  # a probe is made by an import, and has no folder
        told = "not run: no folder of this suite is here, and agents are tried on its files"
        yield SuiteLine("not_measured", "suite trial", told)
        return
    try:
        if (why := too_many(folder)) and not any_of(folder):
            yield SuiteLine("not_measured", "suite trial", f"not run here ({why}): {command}")
            return
        found = read_suite(folder)
        why = why or why_not_unasked(found)
        made = known(found, folder) if why else played_of(found, folder)
        if made is None:
            yield SuiteLine("not_measured", "suite trial", f"not run here ({why}): {command}")
            return
        yield from trial_lines(made.trial)
    except (DeskError, ContractError) as error:
        yield SuiteLine("not_measured", "suite trial", f"not run: {error}")


def trial_lines(trial: Trial) -> Iterator[SuiteLine]:
    """Yield a line on the whole trial, one on each agent, and one on what no agent tests."""
    bad = [one for one in trial.agents if one.agent != "oracle" and one.outcome != "not_tried"]
    if not trial.tried:
        yield SuiteLine("not_measured", "suite trial", trial.not_tried)
        return
    stopped = sum(one.outcome == "stopped" for one in bad)
    oracle = next((one for one in trial.agents if one.agent == "oracle"), None)
    good = oracle is not None and oracle.outcome == "passes"
    told = f"{stopped} of {len(bad)} bad agents are stopped; a correct one "
    told += "passes" if good else "does not pass"
    sound = good and stopped == len(bad)
    yield SuiteLine("pass" if sound else "fail", "suite trial", told)
    for one in trial.agents:
        yield _agent(trial, one)
    if trial.untested:
        count = f"{len(trial.untested):,} of {trial.clauses:,} clauses"
        yield SuiteLine(
            "not_measured",
            "untested",
            f"{count}: no agent's findings depend on them",
        )


def _agent(trial: Trial, one: TriedAgent) -> SuiteLine:
    cells = [e.cells[one.agent] for e in trial.episodes if one.agent in e.cells]
    if one.agent == "oracle":
        passed = sum(cell.outcome == "passed" for cell in cells)
        told = f"{one.does}: passes {passed} of {len(cells)} episodes"
        return SuiteLine("pass" if passed == len(cells) else "fail", one.agent, told)
    there = [cell for cell in cells if cell.outcome != "same"]
    caught = [cell for cell in there if cell.outcome == "caught"]
    by = {gate for cell in caught for gate in cell.gates}
    gates = ", ".join(gate for gate in GATES if gate in by)
    told = f"{one.does}: caught in {len(caught)} of {len(there)} episodes"
    mark = "pass" if one.outcome == "stopped" else "fail"
    mark = "not_measured" if one.outcome == "not_tried" else mark
    return SuiteLine(mark, one.agent, f"{told} by {gates}" if gates else told)


def _power(suite_id: str, view: PowerView | None) -> Iterator[SuiteLine]:
    if view is None:
        told = f"not simulated yet: reviewer suite power {suite_id} does it"
        yield SuiteLine("not_measured", "policy power", told)
        return
    yield SuiteLine(view.mark, "policy power", view.headline)
    for line in view.limits:
        yield SuiteLine("not_measured", "size", line)
