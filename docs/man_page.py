"""The man page, from the parser: `docs/make.py` writes it as docs/reviewer.1.

argparse-manpage was looked at: it prints every option of every act, 30 pages, and knows no groups.
"""

import argparse
import re
from collections.abc import Iterator

from reviewer.cli.examples import EXAMPLES
from reviewer.cli.parser import DESCRIPTION, GROUPS, parser

ABOUT = (
    "It runs agents on frozen suites of episodes, or imports recorded traces. Deterministic hard "
    "gates check each trajectory; people label and a calibrated judge advises; the report "
    "recommends PROMOTE, BLOCK, REPAIR or HOLD with its reasons, and people sign the decision.",
    "Without a command, the workstation opens on the workspace of the current folder.",
)
EXITS = (
    ("0", "promote, or done"),
    ("10", "not promoted: block, repair or hold"),
    ("2", "usage"),
    ("20", "invalid input or signature"),
    ("30", "signature policy not met"),
    ("40", "internal error"),
    ("130", "interrupted: what was written is kept"),
)
FILES = (
    ("suites/ID/", "a suite: contracts of episodes, policy, rubric, lock"),
    ("store/review.db", "the traces, verdicts, labels and decisions of a workspace"),
    ("store/signers", "the people whose signatures count"),
)


def page() -> str:
    """Return the man page in roff's man macros."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield r".\" Written by `python docs/make.py` from the parser."
    yield '.TH REVIEWER 1 "" "" "User Commands"'
    yield ".SH NAME"
    yield f"reviewer \\- {_roff(DESCRIPTION[0].lower() + DESCRIPTION[1:].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield ".B reviewer\n[\\fIOPTION\\fR]... [\\fICOMMAND\\fR [\\fIARGUMENT\\fR]...]"
    yield ".SH DESCRIPTION"
    for number, text in enumerate(ABOUT):
        yield from ([".PP"] if number else [])
        yield _roff(text)
    yield ".SH COMMANDS"
    for title, group in GROUPS.items():
        yield f".SS {_roff(title[0].upper() + title[1:])}"
        for name, command in group.items():
            yield from (".TP", f".B {_roff(name)}", _roff(command.summary))
    yield "Every command explains itself with \\fB\\-\\-help\\fR, with examples."
    yield ".SH OPTIONS"
    for action in parser()._actions:
        if not isinstance(action, argparse._SubParsersAction):
            yield from (".TP", _option(action), _roff(action.help or ""))
    yield ".SH EXIT STATUS"
    yield from _terms(EXITS)
    yield ".SH FILES"
    yield from _terms(FILES)
    yield ".SH EXAMPLES"
    yield ".nf"
    for example in EXAMPLES[""]:
        yield _roff(re.sub(r"\s*#.*", "", example))
    yield ".fi"


def _terms(pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, text in pairs:
        yield from (".TP", f".B {_roff(name)}", _roff(text))


def _option(action: argparse.Action) -> str:
    names = ", ".join(rf"\fB{_roff(name)}\fR" for name in action.option_strings)
    metavar = "" if action.nargs == 0 else rf" \fI{_roff(str(action.metavar or action.dest))}\fR"
    return names + metavar


def _roff(text: str) -> str:
    """Return a text that roff prints as it stands, whatever it begins with."""
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace("’", "'")
    return rf"\&{safe}" if safe[:1] in ".'" else safe
