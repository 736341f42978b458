"""`reviewer suite lineage`: the other suites its candidates met, and why."""

import argparse

from reviewer.cli.opening import desk_of
from reviewer.cli.say import note, out_json, table
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    if arguments.other or arguments.reason:
        if not (arguments.other and arguments.reason):
            raise DeskError("name the other suite, and --reason WHY", exit_code=ExitCode.USAGE)
        desk.workspace.explain_suite(arguments.suite, arguments.other, arguments.reason)
        note(f"{arguments.suite} beside {arguments.other}: {arguments.reason}")
        return ExitCode.DONE
    found = desk.workspace.suites_met(arguments.suite)
    if arguments.json:
        out_json([one._asdict() for one in found])
        return ExitCode.DONE
    table(
        [
            (
                one.suite_id,
                one.digest[:16],
                f"{one.passes} of {one.attempts}",
                one.reason or "no reason given: holds a promotion",
                one.reviewer or "-",
                one.at or "-",
            )
            for one in found
        ],
        ("suite", "digest", "passed there", "why", "by", "at"),
    )
    return ExitCode.DONE
