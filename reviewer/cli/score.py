"""`reviewer score`: judge stored traces again against their frozen suites; say what changed."""

import argparse

from reviewer.cli.opening import workspace_of
from reviewer.cli.progress import Progress
from reviewer.cli.say import counted, note, out, out_json
from reviewer.exit_codes import ExitCode


def _score_arguments(score: argparse.ArgumentParser) -> None:
    score.add_argument("--suite", metavar="S", help="only this suite")


ARGUMENTS = {
    "score": _score_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    from reviewer.desk.workspace.rescore import rescore

    progress = Progress(arguments.quiet or arguments.json, "score", soon=False)
    try:
        changed, scored = rescore(
            workspace_of(arguments),
            arguments.suite or "",
            lambda done, of: progress.show(done, of, "traces"),
        )
    finally:
        progress.stop()
    if arguments.json:
        out_json({"scored": scored, "changed": [change._asdict() for change in changed]})
        return ExitCode.DONE
    for change in changed:
        before, after = ", ".join(change.before), ", ".join(change.after)
        judged = f"{change.code_before or 'an unknown version'} → {change.code_after}"
        out(f"{change.trace_id}: {before or 'pass'} → {after or 'pass'} (reviewer {judged})")
    note(f"{counted(scored, 'trace')} scored again, {len(changed)} changed")
    return ExitCode.DONE
