"""`reviewer --export-report`: the same report the workstation shows, without a screen."""

import argparse
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reviewer.cli.opening import desk_of, desk_on, release_of
from reviewer.cli.say import fact, note, out, out_json
from reviewer.desk.desk import Desk
from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError
from reviewer.desk.place import write_private
from reviewer.desk.reports import renderings
from reviewer.desk.reports.api import CandidateReport
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
    if arguments.release:
        return _run_release(arguments)
    desk = desk_on(arguments, arguments.suite)
    no_evidence(desk.place)
    suite, candidate = release_of(arguments, desk)
    formats = tuple(arguments.format.split(",")) if arguments.format else renderings.USUAL
    exported = desk.reports.export(
        suite, candidate, arguments.export_report, formats, arguments.baseline
    )
    built = exported.built
    annotated = "github" in formats and os.environ.get("GITHUB_ACTIONS") == "true"
    with _no_commands(annotated and not arguments.json):
        if arguments.json:
            from reviewer.report.model import plain_report

            out_json(plain_report(built.report))
        else:
            from reviewer.report.render.text import summary_text

            out(summary_text(built.report).rstrip("\n"))
    if annotated:
        shown = desk.reports.shown(suite, candidate, arguments.baseline, ("github",))
        for line in renderings.annotation_lines(shown):
            (note if arguments.json else fact)(line)
    _say_written(arguments, exported.files)
    left = exported.left
    try:
        if not arguments.sign:
            return exported.exit_code
        code = _sign(desk, arguments, suite, candidate, built)
        left = tuple(path for path in left if Path(path).name != renderings.DECISION)
        return code
    finally:
        _say_left(left)


def _say_written(arguments: argparse.Namespace, files: Iterable[tuple[str, str]]) -> None:
    for path, digest in files:
        if not arguments.quiet:
            note(f"wrote {path}  sha256 {digest}")


def _say_left(left: Iterable[str]) -> None:
    """Name files of another report, which a reader could take for this one's."""
    for path in left:
        note(f"{path} is of another report, left by an earlier export: delete it")


def _run_release(arguments: argparse.Namespace) -> int:
    """Report on several suites: the strictest of their recommendations decides the exit code."""
    from reviewer.cli.sign import refuse_options

    refuse_options(arguments)
    desk = desk_of(arguments)
    formats = tuple(arguments.format.split(",")) if arguments.format else renderings.USUAL
    exported = desk.reports.export_release(arguments.release, arguments.export_report, formats)
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(exported.built.report))
    else:
        from reviewer.report.release import release_text

        out(release_text(exported.built.report).rstrip("\n"))
    _say_written(arguments, exported.files)
    _say_left(exported.left)
    if not arguments.sign:
        return exported.built.exit_code
    from reviewer.cli.sign import exit_code, passphrase_for, said

    signed = desk.decisions.sign_release(
        arguments.release,
        None,
        arguments.sign,
        expect=exported.built.report.recommendation,
        passphrase=passphrase_for(arguments.sign),
    )
    target = Path(arguments.export_report) / renderings.DECISION
    write_private(target, Path(signed.path).read_bytes())
    said(signed)
    note(f"wrote {target}")
    return exit_code(signed)


@contextmanager
def _no_commands(wanted: bool) -> Iterator[None]:
    """Stop GitHub's runner from reading commands in what is printed within: names in a report may
    come from traces. The person who made a trace cannot know the token that starts commands
    again."""
    if not wanted:
        yield
        return
    token = os.urandom(16).hex()
    fact(f"::stop-commands::{token}")
    try:
        yield
    finally:
        fact(f"::{token}::")


def _sign(
    desk: Desk,
    arguments: argparse.Namespace,
    suite: str,
    candidate: str,
    built: CandidateReport,
) -> int:
    from reviewer.cli.sign import exit_code, passphrase_for, said
    from reviewer.desk.decisions.choices import preselected

    decision = preselected(built.assessment.recommendation)
    if decision is None:
        raise DeskError(
            "nothing was signed: the report recommends hold",
            "bring the missing evidence, or reviewer sign --decision BLOCK --comment WHY",
            exit_code=ExitCode.NOT_PROMOTED,
        )
    signed = desk.decisions.sign(
        suite,
        candidate,
        decision,
        arguments.sign,
        expect_report=built.digest,
        passphrase=passphrase_for(arguments.sign),
        baseline=arguments.baseline,
    )
    target = Path(arguments.export_report) / renderings.DECISION
    write_private(target, Path(signed.path).read_bytes())
    said(signed)
    note(f"wrote {target}")
    return exit_code(signed)
