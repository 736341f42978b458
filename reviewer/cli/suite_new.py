"""`reviewer suite new`: a first suite made from the tools of an agent."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.opening import workspace_of
from reviewer.cli.parser import act
from reviewer.cli.say import fact, note, out_json, table
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural

if TYPE_CHECKING:
    from reviewer.cli.parser import Acts

SOURCES = (
    "an OpenAI tools array, MCP's tools/list as JSON, an OpenAPI document (JSON, YAML), a Python "
    "module (its typed functions; it is not imported), or a trace of any format"
)


def new_arguments(acts: "Acts") -> None:
    """Add the act that makes a draft from the tools of an agent."""
    made = act(acts, "new", "make a draft from the tools of an agent, ready to run")
    made.add_argument("name", nargs="?", default="", metavar="NAME", help="the suite's id")
    made.add_argument(
        "--tools", action="append", default=[], metavar="FILE",
        help=f"a file that describes the tools; may be repeated: {SOURCES}",
    )  # fmt: skip
    made.add_argument(
        "--reads", default="", metavar="NAMES", help="tools that only read, separated by commas"
    )
    made.add_argument(
        "--writes", default="", metavar="NAMES", help="tools that write, separated by commas"
    )


def draft_arguments(acts: "Acts") -> None:
    """Add the act that makes the draft of a next version."""
    made = act(acts, "draft", "copy a suite, frozen or not, as a draft to edit and freeze")
    made.add_argument("suite", help="suite id")
    made.add_argument("--as", dest="new_id", required=True, metavar="NEW_ID", help="the draft's id")


def run_draft(arguments: argparse.Namespace) -> int:
    from reviewer.desk.workspace.next_draft import draft_of

    made = draft_of(workspace_of(arguments), arguments.suite, arguments.new_id)
    if arguments.json:
        out_json({**made._asdict(), "folder": str(made.folder)})
        return ExitCode.DONE
    candidates = plural(len(made.candidates), "candidate")
    fact(f"{made.suite_id}: a draft of {made.of} with {candidates} in {made.folder}")
    for path in made.edited:
        note(f"note: {path} was edited after {made.of} was frozen; the draft has the edit")
    note(f"next: edit it, then reviewer suite check {made.suite_id}")
    note(f"reviewer suite freeze {made.suite_id} makes it a suite to decide on")
    return ExitCode.DONE


def run(arguments: argparse.Namespace) -> int:
    from reviewer.desk.workspace.scaffolding import new_suite

    place = workspace_of(arguments)
    name = arguments.name or _asked("name of the new suite", "NAME: reviewer suite new NAME")
    tools = arguments.tools or [_asked("file with the agent's tools", f"--tools FILE: {SOURCES}")]
    made = new_suite(
        place,
        name,
        [Path(each).expanduser() for each in tools],
        _names(arguments.reads),
        _names(arguments.writes),
    )
    if arguments.json:
        told = {**made._asdict(), "folder": str(made.folder)}
        out_json({**told, "tools": [tool._asdict() for tool in made.tools]})
        return ExitCode.DONE
    fact(f"{made.suite_id}: a draft with 3 episodes and 3 scripted candidates in {made.folder}")
    rows: list[tuple[str, ...]] = [
        (tool.name, "writes" if tool.writes else "reads", "blank" if tool.blank else "example")
        for tool in made.tools
    ]
    table(rows, ("tool", "proposed", "answer"))
    for text in made.notes:
        note(f"note: {text}")
    fact(made.power)
    blanks = sum(tool.blank for tool in made.tools)
    if blanks:
        note(f"{plural(blanks, 'blank')}: reviewer suite check {name} points at each")
    note(f"next: reviewer run {name} {made.candidates[0]}")
    note(f"{made.folder / 'README.md'} says what to edit")
    return ExitCode.DONE


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _asked(what: str, needed: str) -> str:
    """Ask on the terminal. Raises DeskError where there is none, or the answer is empty."""
    said = ""
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"{what}: ")
        sys.stderr.flush()
        said = sys.stdin.readline().strip()
    if not said:
        way = "reviewer suite new --help shows every option"
        raise DeskError(f"needed: {needed}", way, exit_code=ExitCode.USAGE)
    return said
