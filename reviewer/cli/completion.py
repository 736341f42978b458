"""Completion in the shell: of commands and options by the parser, of ids by the workspace.

The script that `reviewer completion` prints has the shell ask this program at each press of tab
(argcomplete's protocol), so that suites and candidates are those that are there now.
"""

import argparse
import os
import shlex
from pathlib import Path
from typing import Any, NoReturn

from reviewer.cli import parser as cli
from reviewer.cli.say import out
from reviewer.exit_codes import ExitCode

SHELLS = ("bash", "zsh", "fish")


def _completion_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, help="the shell to complete in")


ARGUMENTS = {"completion": _completion_arguments}


def run(arguments: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    out(shellcode(["reviewer"], True, arguments.shell).strip())
    return ExitCode.DONE


def complete() -> NoReturn:
    """Answer a shell that asks for completions of what was typed, and exit."""
    import argcomplete

    try:
        typed = shlex.split(os.environ.get("COMP_LINE", ""))
    except ValueError:  # a quote that is still open
        typed = os.environ.get("COMP_LINE", "").split()
    top = cli._parser(cli.COMMANDS, typed)
    _name(top)
    argcomplete.autocomplete(top, exclude=list(cli.HIDDEN))
    raise SystemExit(ExitCode.INTERNAL)  # only where the shell's variables are missing


def _name(parser: argparse.ArgumentParser) -> None:
    """Tell argcomplete, for every argument that takes an id, where the ids are found."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _name(below)
        elif (found := IDS.get(action.dest)) is not None and action.nargs != 0:
            vars(action)["completer"] = found


def _suites(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    return sorted(path.parent.name for path in _place(parsed_args).glob("*/suite.json"))


def _candidates(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    suite = getattr(parsed_args, "suite", None) or "*"
    found = _place(parsed_args).glob(f"{suite}/candidates/*.json")
    return sorted({path.stem for path in found})


def _episodes(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    suite = getattr(parsed_args, "suite", None) or "*"
    return sorted({path.stem for path in _place(parsed_args).glob(f"{suite}/episodes/*.json")})


def _kinds(**_: Any) -> list[str]:
    from reviewer.desk.workspace.api import kinds

    return sorted(kinds())


IDS = {
    "kind": _kinds,
    "suite": _suites,
    "draft": _suites,
    "into": _suites,
    "candidate": _candidates,
    "baseline": _candidates,
    "episode": _episodes,
}


def _place(parsed_args: argparse.Namespace) -> Path:
    return Path(getattr(parsed_args, "workspace", None) or ".") / "suites"
