"""`reviewer suite check --watch`: a draft, checked and run again whenever a file is saved."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reviewer.cli.say import fact, note
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural

if TYPE_CHECKING:
    from reviewer.desk.draft_watch import WatchRound
    from reviewer.desk.place import Workspace

_NAMED = 3


def run(workspace: "Workspace", arguments: argparse.Namespace) -> int:
    """Report after each save, until Ctrl-C; then return 20 when the draft is not valid, else 0."""
    from reviewer.desk.draft_watch import DraftWatch

    if not arguments.suite:
        raise DeskError(
            "--watch needs a suite", "reviewer suite check SUITE --watch", exit_code=ExitCode.USAGE
        )
    watch = DraftWatch(workspace, arguments.suite, arguments.candidate)
    wrong = False
    try:
        for found in watch.rounds():
            wrong = bool(found.problems)
            if arguments.json:
                import msgspec

                sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
            else:
                for line in _lines(arguments.suite, found):
                    fact(line)
                note("watching: Ctrl-C ends it")
            sys.stdout.flush()
    except KeyboardInterrupt:
        note("ended")
    return ExitCode.INVALID if wrong else ExitCode.DONE


def _lines(suite_id: str, found: "WatchRound") -> Iterator[str]:
    if found.changed:
        more = len(found.changed) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        yield f"saved {', '.join(found.changed[:_NAMED])}{rest}"
    yield from found.problems
    many = plural(len(found.problems), "problem")
    yield f"{suite_id}: {many if found.problems else 'a valid draft'}"
    for one in found.candidates:
        if one.problem:
            why = "" if one.problem in found.problems else f": {one.problem}"
            yield f"{one.candidate_id}: not run{why}"
            continue
        failing = "; ".join(
            f"{episode} {', '.join(gates) or 'not measured'}" for episode, gates in one.failing
        )
        yield (
            f"{one.candidate_id}: {one.passed} of {one.attempts} passed"
            + (f": {failing}" if failing else "")
        )
