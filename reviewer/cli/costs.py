"""`reviewer costs add|list`: money spent on people and incidents, entered and listed."""

import argparse
from typing import TYPE_CHECKING

from msgspec import to_builtins

from reviewer.cli.opening import desk_of
from reviewer.cli.parser import act, acts_of, release_options
from reviewer.cli.say import fact, note, out_json
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.report.evidence import CostEntry


def _costs_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    add = act(acts, "add", "enter an amount; entering the same again adds nothing")
    shown = act(acts, "list", "list every entry, one per line")
    release_options(shown)
    add.add_argument("--suite", required=True, metavar="S", help="suite id")
    add.add_argument("--candidate", required=True, metavar="C", help="candidate id")
    add.add_argument(
        "--kind", choices=("human", "incident"), metavar="KIND",
        help="human (handling by people) or incident (default: of the entry it corrects)",
    )  # fmt: skip
    add.add_argument(
        "--amount", required=True, metavar="USD", help="amount, such as 12.50; never negative"
    )
    add.add_argument("--currency", choices=("USD",), default="USD", help="only USD")
    add.add_argument(
        "--note", default="", metavar="TEXT", help="what the cost is for; identifiers are masked"
    )
    add.add_argument(
        "--id", default="", metavar="ID",
        help="id of the entry, such as an invoice number (default: a digest of its content)",
    )  # fmt: skip
    add.add_argument(
        "--corrects", default="", metavar="ID", help="id of the entry that this one replaces"
    )


ARGUMENTS = {
    "costs": _costs_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    try:
        return {"add": _add, "list": _list}[arguments.act](desk, arguments)
    finally:
        desk.close()


def _add(desk: "Desk", arguments: argparse.Namespace) -> int:
    from reviewer.desk.reports.costs import NewCost

    entered = desk.reports.enter_cost(
        NewCost(
            suite_id=arguments.suite,
            candidate_id=arguments.candidate,
            kind=arguments.kind,
            amount=arguments.amount,
            note=arguments.note,
            entry_id=arguments.id,
            corrects=arguments.corrects,
        )
    )
    if arguments.json:
        out_json(to_builtins(entered))
        return ExitCode.DONE
    place = f"{entered.candidate_id} on {entered.suite_id}"
    fact(f"{entered.entry.entry_id}  {_told(entered.entry)}  {place}")
    if not entered.added:
        note("this entry exists already: nothing was added; --id NAME enters the same amount again")
    return ExitCode.DONE


def _list(desk: "Desk", arguments: argparse.Namespace) -> int:
    found = desk.reports.costs(arguments.suite or "", arguments.candidate or "")
    if arguments.json:
        out_json(
            [
                {"suite_id": suite, "candidate_id": candidate, **to_builtins(entry)}
                for suite, candidate, entry in found
            ]
        )
        return ExitCode.DONE
    for suite, candidate, entry in found:
        counts = "" if entry.counts else "  corrected, does not count"
        words = f"  {entry.note}" if entry.note else ""
        fact(
            f"{entry.entry_id}  {_told(entry)}  {candidate} on {suite}  by {entry.reviewer} "
            f"{entry.at}{counts}{words}"
        )
    if not found:
        note("no cost is entered: reviewer costs add enters one")
    return ExitCode.DONE


def _told(entry: "CostEntry") -> str:
    after = f" corrects {entry.corrects}" if entry.corrects else ""
    return f"{entry.kind} {entry.amount_usd:.2f} USD{after}"
