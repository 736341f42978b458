"""`reviewer candidate`: the manifest of a new candidate, and the digests in one."""

import argparse
import shlex
from pathlib import Path

from reviewer.cli.opening import workspace_of
from reviewer.cli.parser import act, acts_of
from reviewer.cli.say import fact, note, out_json
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode

KINDS = ("scripted", "openai-chat", "openai-responses", "command", "python", "mcp")


def _candidate_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    new = act(acts, "new", "write the manifest of a candidate, its digests filled in")
    new.add_argument("suite", help="suite id")
    new.add_argument("candidate", help="id of the new candidate")
    new.add_argument(
        "--kind", choices=KINDS, default="", metavar="KIND",
        help=f"{', '.join(KINDS)} (default: as the other options say)",
    )  # fmt: skip
    new.add_argument("--model", default="", metavar="M", help="the model that is asked")
    new.add_argument(
        "--base-url", default="https://api.openai.com/v1", metavar="URL",
        help="its OpenAI-compatible endpoint (default: OpenAI's)",
    )  # fmt: skip
    new.add_argument(
        "--api-key-env", default="", metavar="NAME",
        help="the environment variable that holds the key, never the key itself",
    )  # fmt: skip
    new.add_argument(
        "--prompt", action="append", default=[], metavar="FILE",
        help="a system prompt, copied beside the manifest; may be given again",
    )  # fmt: skip
    new.add_argument(
        "--command", dest="program", default="", metavar="LINE",
        help="the program and its arguments; a file of candidates/ begins with ./",
    )  # fmt: skip
    new.add_argument("--entry", default="", metavar="MODULE:FUNCTION", help="a Python callable")
    pin = act(acts, "pin", "fill in the digests of a manifest: prompts, script, code, tools")
    pin.add_argument("suite", help="suite id")
    pin.add_argument("candidate", help="candidate id")


ARGUMENTS = {"candidate": _candidate_arguments}


def run(arguments: argparse.Namespace) -> int:
    from reviewer.desk import candidates

    workspace, suite, name = workspace_of(arguments), arguments.suite, arguments.candidate
    if arguments.act == "pin":
        done = candidates.pin(workspace, suite, name)
    else:
        asked = candidates.NewCandidate(
            name, _kind(arguments), arguments.model, arguments.base_url, arguments.api_key_env,
            [Path(each).expanduser() for each in arguments.prompt],
            shlex.split(arguments.program), arguments.entry,
        )  # fmt: skip
        done = candidates.new_candidate(workspace, suite, asked)
    if arguments.json:
        out_json(
            {
                "path": str(done.path),
                "filled": dict(done.filled),
                "files": [str(path) for path in done.files],
            }
        )
        return ExitCode.DONE
    for path in done.files:
        fact(f"wrote {path}")
    if arguments.act == "new":
        fact(f"wrote {done.path}")
    for place, digest in done.filled:
        fact(f"{name}: {place} {digest}")
    if not done.filled:
        fact(f"{name}: every digest is as its files are")
    if arguments.act == "new":
        note(f"after an edit: reviewer candidate pin {suite} {name}")
        note(f"next: reviewer run {suite} {name}")
    return ExitCode.DONE


def _kind(arguments: argparse.Namespace) -> str:
    """Return the kind that was named, or that the other options imply. Raises DeskError."""
    if arguments.kind:
        return str(arguments.kind)
    for given, kind in (
        (arguments.program, "command"),
        (arguments.entry, "python"),
        (arguments.model, "openai-chat"),
    ):
        if given:
            return kind
    raise DeskError(
        "what kind of candidate is it?",
        *(f"--kind {kind}" for kind in KINDS),
        exit_code=ExitCode.USAGE,
    )
