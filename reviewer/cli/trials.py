"""`reviewer suite trial`: what built-in agents make of a suite, as a table."""

import argparse
from typing import TYPE_CHECKING

from reviewer.cli.opening import desk_of
from reviewer.cli.say import fact, note, out_json, plain, table
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural

if TYPE_CHECKING:
    from reviewer.desk.trials.views import Cell, Trial, TriedAgent

MOST_UNTESTED = 50
"""Untested clauses that are listed; `--json` has them all."""

_WORDS = {"not_stopped": "NOT STOPPED", "not_tried": "not tried"}


def run(arguments: argparse.Namespace) -> int:
    """Try a suite: return 0 if it is sound or was not tried, 20 if neither sound nor waived."""
    trial = desk_of(arguments).trials.trial(arguments.suite)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(trial))
    else:
        _say(trial)
    bad = trial.unsound or trial.refused_checks
    return ExitCode.INVALID if bad else ExitCode.DONE


def _say(trial: "Trial") -> None:
    if not trial.tried:
        fact(f"{trial.suite_id}: {trial.not_tried}")
        _say_checks(trial)
        return
    agents = [one.agent for one in trial.agents]
    rows = [
        (row.episode_id, *(_cell(row.cells[a]) if row.cells else row.not_tried for a in agents))
        for row in trial.episodes
    ]
    table(rows, ("episode", *agents))
    if not plain():
        fact("")
    for one in trial.agents:
        fact(f"{one.agent} ({one.does}): {_outcome(one)}: {one.why}")
        if one.waiver is not None:
            fact(f"{one.agent} is waived: {one.waiver}")
    _say_checks(trial)
    untested = trial.untested
    fact(
        f"{plural(trial.clauses, 'clause')} dropped in turn, {len(untested)} untested: no agent's "
        "findings change without them (limits of cost and time are not tried)"
    )
    for clause in untested[:MOST_UNTESTED]:
        where = clause.episode_id or "suite.json"
        fact(f"untested {where} {clause.place}: {clause.clause}")
    if len(untested) > MOST_UNTESTED:
        note(f"{len(untested) - MOST_UNTESTED} more untested clauses: --json lists them all")
    for one in trial.needless:
        note(f"the waiver for {one.agent} covers nothing: take it out of suite.json")
    _conclude(trial)


def _say_checks(trial: "Trial") -> None:
    for one in trial.tried_checks:
        found = f"finds something in {plural(one.found_in, 'attempt')}"
        fact(f"check {one.check}: {one.problem or found}")


def _conclude(trial: "Trial") -> None:
    from reviewer.desk.trials.freezing import way_out_of

    if trial.refused_checks and not trial.unsound:
        names = ", ".join(one.check for one in trial.refused_checks)
        fact(f"{trial.suite_id}: not sound: its own {names}")
    elif trial.sound:
        fact(f"{trial.suite_id}: sound: the oracle passes, and every bad agent is stopped")
    elif not trial.unsound:
        fact(f"{trial.suite_id}: not sound, and waived with a reason")
    else:
        names = ", ".join(one.agent for one in trial.unsound)
        fact(f"{trial.suite_id}: not sound: {names}")
        note(f"way out: {way_out_of(trial)}")


def _outcome(one: "TriedAgent") -> str:
    return _WORDS.get(one.outcome, one.outcome)


def _cell(cell: "Cell") -> str:
    gates = ", ".join(cell.gates)
    if cell.outcome == "caught":
        return gates
    if cell.outcome == "not_measured":
        return f"not measured: {gates}"
    return "as oracle" if cell.outcome == "same" else cell.outcome
