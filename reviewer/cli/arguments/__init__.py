"""The command line as it is read: options that stand before a command, and every command's own.

Building all of it takes longer than starting Python, so what was typed is read by as much of it as
that names; whatever is not clear then, the whole command line says in its own words.
"""

import argparse
import importlib
import sys
from collections.abc import Collection
from typing import NoReturn

from reviewer.cli.arguments.making import Parser, everywhere, release_options

DESCRIPTION = "The release desk for AI agents: from raw episode traces to a signed decision."
EPILOG = """\
without a command: the workstation on the workspace you stand in

export a report, without a screen:
  reviewer --export-report OUT --suite S --candidate C [--baseline B]
           [--format json,md,html,junit,sarif,github] [--sign KEY]

exit codes: 0 promote or done, 10 not promoted, 2 usage, 20 invalid input or
signature, 30 policy of signatures not met, 40 internal error
"""

GROUPS = {
    "workspace": (
        *("demo", "init", "serve", "_page", "settings"),
        *("doctor", "backup", "restore", "schema"),
    ),
    "suites": ("suite",),
    "evidence": (
        *("run", "import", "quarantine", "sources", "_index", "score", "show", "search"),
        *("scorecard", "trends", "compare"),
    ),
    "people": ("labels", "judgments", "notes", "judge", "costs", "merge"),
    "decisions": (
        *("sign", "verify", "decisions", "break-glass", "loss", "witness"),
        *("attest", "keys"),
    ),
}
"""Commands as --help lists them, by the module here that says what each takes."""

_HELP = {"-h", "--help"}


class _Unclear(Exception):
    """Not what the quick parser knows."""


class _Quick(Parser):
    def error(self, message: str) -> NoReturn:
        raise _Unclear(message)


def parser() -> Parser:
    """The whole command line."""
    return _with(Parser, [name for names in GROUPS.values() for name in names])


def parsed(argv: list[str] | None) -> argparse.Namespace:
    """What was typed (None: to this program). Leaves with exit code 2 for what is no command."""
    given = sys.argv[1:] if argv is None else argv
    if _HELP.isdisjoint(given):
        try:
            return _with(_Quick, given).parse_args(given)
        except _Unclear:
            pass
    return parser().parse_args(given)


def _with(kind: type[Parser], names: Collection[str]) -> Parser:
    """The command line with those of the commands that are among `names`."""
    top = _top(kind)
    top.set_defaults(command=None)
    commands = None
    for group, held in GROUPS.items():
        for name in held:
            if name in names:
                if commands is None:
                    commands = top.add_subparsers(dest="command", metavar="COMMAND")
                module = importlib.import_module(f"reviewer.cli.arguments.{group}")
                module.COMMANDS[name](commands)
    return top


def _top(kind: type[Parser]) -> Parser:
    """The options that stand before a command."""
    top = kind(
        prog="reviewer",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    everywhere(top)
    top.add_argument("--no-mouse", action="store_true", help="leave selection to the terminal")
    top.add_argument(
        "--settings", default="", metavar="FILE",
        help="settings of the workstation (default: $REVIEWER_SETTINGS, else those of the person; "
        "docs/settings.md)",
    )  # fmt: skip
    report = top.add_argument_group("report")
    report.add_argument("--export-report", metavar="OUT", help="write the report to this folder")
    release_options(report)
    report.add_argument(
        "--baseline", metavar="B", help="candidate to compare with (default: the last promoted)"
    )
    report.add_argument(
        "--format", metavar="LIST",
        help="of json,md,html,junit (default: these four), sarif and github (a step's summary, and "
        "annotations under GitHub Actions)",
    )  # fmt: skip
    report.add_argument("--sign", metavar="KEY", help="sign what the report recommends")
    report.add_argument(
        "--embedding-model", default="", metavar="DIR",
        help="compare final messages with their references by the static model in this folder",
    )  # fmt: skip
    return top
