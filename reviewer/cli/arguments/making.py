"""What commands are made of: the parser, options that stand everywhere, kinds of numbers."""

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]
    Acts = argparse._SubParsersAction[argparse.ArgumentParser]


class Parser(argparse.ArgumentParser):
    """Usage errors leave with exit code 2 and name the way out."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        sys.stderr.write(f"reviewer: {message}\nreviewer --help lists the commands\n")
        sys.exit(ExitCode.USAGE)


def command(
    commands: "Commands",
    name: str,
    module: str,
    text: str,
    hidden: bool = False,
) -> argparse.ArgumentParser:
    """One command; `module` is imported only when it is chosen. A hidden one is not listed."""
    # argparse lists a command that has a help text, even when that is SUPPRESS.
    listed: dict[str, Any] = {} if hidden else {"help": text}
    added = commands.add_parser(name, description=text, allow_abbrev=False, **listed)
    added.set_defaults(module=module)
    everywhere(added, default=argparse.SUPPRESS)  # which keeps what stood before the command
    return added


def acts_of(added: argparse.ArgumentParser) -> "Acts":
    """The acts of a command, one of which must be named."""
    return added.add_subparsers(dest="act", metavar="ACT", required=True)


def act(acts: "Acts", name: str, text: str, module: str = "") -> argparse.ArgumentParser:
    """One act of a command; `module` when it is not the command's own."""
    added = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
    if module:
        added.set_defaults(module=module)
    everywhere(added, default=argparse.SUPPRESS)
    return added


def everywhere(to: argparse.ArgumentParser, **default: Any) -> None:
    """Options that may stand before a command and behind it."""
    shown = "a folder with suites/ and store/"
    to.add_argument("--workspace", metavar="DIR", help=shown, **default)
    to.add_argument("--quiet", action="store_true", help="no progress on stderr", **default)
    to.add_argument("--json", action="store_true", help="data as JSON on stdout", **default)
    to.add_argument(
        "--plain", action="store_true", help="one fact a line, nothing that moves", **default
    )
    who = "who labels (default: $REVIEWER_NAME, git's user.name, the login)"
    to.add_argument("--reviewer", metavar="NAME", help=who, **({"default": ""} | default))


def release_options(group: argparse._ActionsContainer) -> None:
    """Which release it is about."""
    group.add_argument("--suite", metavar="S", help="suite id")
    group.add_argument("--candidate", metavar="C", help="candidate id")


def from_one(text: str) -> int:
    """A whole number from 1."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def from_zero(text: str) -> int:
    """A whole number from 0."""
    return 0 if text == "0" else from_one(text)


def port(text: str) -> int:
    """A port to listen on; 0 for a free one."""
    number = from_zero(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: those end at 65535")
    return number


def amount(text: str) -> float:
    """A number, zero or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value
