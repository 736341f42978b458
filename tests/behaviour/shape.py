"""The command line as it is declared: the same on every version of Python, unlike its help."""

import argparse
from collections.abc import Iterator

from reviewer.cli.parser import parser


def commands(
    top: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command and the commands under it, as typed."""
    yield path, top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, under in action.choices.items():
                yield from commands(under, (*path, name))


def _arguments(of: argparse.ArgumentParser) -> list[argparse.Action]:
    kinds = argparse._SubParsersAction, argparse._HelpAction
    return [action for action in of._actions if not isinstance(action, kinds)]


def options(of: argparse.ArgumentParser) -> list[str]:
    """The long name of each option."""
    return [a.option_strings[-1] for a in _arguments(of) if a.option_strings]


def command_line() -> str:
    """All commands with what they take and say of themselves, as text."""
    lines = []
    for path, of in commands(parser()):
        lines.append(
            f"{' '.join(('reviewer', *path))}: {of.description}\n{of.epilog or ''}".rstrip()
        )
        for a in _arguments(of):
            name = "/".join(a.option_strings) or a.dest
            facts = f"nargs={a.nargs} default={a.default!r} choices={a.choices} metavar={a.metavar}"
            lines.append(f"  {name} {facts} required={a.required}: {a.help}")
    return "\n".join(lines)
