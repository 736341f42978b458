"""`reviewer episode`: an episode made of a trace, and its proof."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.opening import desk_of
from reviewer.cli.parser import act, acts_of
from reviewer.cli.say import fact, note, out_json
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural

if TYPE_CHECKING:
    from reviewer.desk.episodes.views import MadeFromTrace, Marks, Proof

_MARKS = (
    ("wrong", "CALL", "a call (the number of its event, or its tool) or a message that was wrong"),
    ("required", "TOOL[:JSON]", "a call that a good attempt makes, with its arguments"),
    ("forbidden", "TOOL", "a tool that must not be called"),
    ("irrelevant", "CALL", "a call that is neither wrong nor needed"),
    ("never-say", "TEXT", "a wording that no good final message has"),
    ("volatile", "ARG", "an argument (TOOL.ARG, or ARG of any tool) that changes no answer"),
    ("key", "ARG", "an argument that changes answers, although it looks volatile"),
    ("reads", "TOOL", "a tool that changes nothing"),
    ("writes", "TOOL", "a tool that changes something"),
    ("unknown", "CALL", "a call whose answer is not known"),
    ("mask", "TEXT[=WORD]", "a text that identifies a person, and the word that replaces it"),
    ("confirm", "WHAT", "turns: the user's turns are correct; faults: the failures are intended"),
)
"""Options of marks that may be given several times."""


def _episode_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    made = act(acts, "from-trace", "make an episode from a recorded attempt and its marks")
    made.add_argument("source", metavar="TRACE", help="a trace of the store, or a file")
    made.add_argument(
        "--trace",
        default="",
        metavar="NAME",
        help="the trace in a file with several: its number or name",
    )
    made.add_argument(
        "--with", dest="beside", action="append", default=[], metavar="TRACE",
        help="another trace of the same task, whose answers are used where this one has none: "
        "an id, a file, FILE#NAME, or a name in the same file",
    )  # fmt: skip
    for name, metavar, text in _MARKS:
        made.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=text)
    made.add_argument(
        "--request",
        default="",
        metavar="TEXT",
        help="the user's request, instead of the one in the trace",
    )
    made.add_argument(
        "--say", default="", metavar="TEXT", help="the final message the agent should have given"
    )
    made.add_argument(
        "--accept-nothing", default="", metavar="REASON",
        help="why an attempt that does nothing may pass: the contract is to refuse",
    )  # fmt: skip
    made.add_argument("--marks", default="", metavar="FILE", help="the same marks as a JSON file")
    made.add_argument(
        "--tools", default="", metavar="FILE", help="the tools that the agent was offered"
    )
    made.add_argument("--format", default="auto", metavar="F", help="the format of the files")
    made.add_argument("--id", default="", metavar="ID", help="the episode's id")
    made.add_argument("--into", default="", metavar="SUITE", help="the draft to add the episode to")
    made.add_argument("--out", default="", metavar="FOLDER", help="the folder of a new suite")
    made.add_argument(
        "--replace", action="store_true",
        help="overwrite the episode with that id, if it was made from this trace",
    )  # fmt: skip
    golden = act(
        acts, "from-golden",
        "make an episode from a golden record; its answers are kept for comparison, never required",
    )  # fmt: skip
    golden.add_argument("file", metavar="DATASET", help="golden records, JSON or JSON lines")
    golden.add_argument("--record", default="", metavar="NAME", help="the record: its number or id")
    golden.add_argument("--id", default="", metavar="ID", help="the episode's id")
    golden.add_argument(
        "--into", default="", metavar="SUITE", help="the draft to add the episode to"
    )
    golden.add_argument("--out", default="", metavar="FOLDER", help="the folder of a new suite")
    proof = act(
        acts, "prove",
        "play an episode's scripts: the recorded attempt must fail, the corrected one must pass",
    )  # fmt: skip
    proof.add_argument("suite", help="suite id or folder")
    proof.add_argument("episode", help="episode id")


ARGUMENTS = {
    "episode": _episode_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    acts = {"prove": _prove, "from-golden": _from_golden, "from-trace": _from_trace}
    return acts[arguments.act](arguments)


def _from_golden(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    try:
        made = desk.episodes.from_golden(
            Path(arguments.file), arguments.record, arguments.id, arguments.into, arguments.out
        )
    finally:
        desk.close()
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(made))
        return ExitCode.DONE
    fact(f"{made.episode_id}: made into {made.file}")
    for problem in made.problems:
        fact(f"open: {problem}")
    for one in made.notes:
        note(f"note: {one}")
    return ExitCode.DONE


def _from_trace(arguments: argparse.Namespace) -> int:
    from reviewer.desk.episodes.views import EpisodeOrder

    desk = desk_of(arguments)
    try:
        made = desk.episodes.from_trace(
            EpisodeOrder(
                source=arguments.source,
                trace=arguments.trace,
                beside=tuple(arguments.beside),
                marks=_marks(arguments),
                marks_file=arguments.marks,
                tools=arguments.tools,
                form=arguments.format,
                episode_id=arguments.id,
                into=arguments.into,
                out=arguments.out,
                replace=arguments.replace,
                request=arguments.request,
            )
        )
    finally:
        desk.close()
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(made))
    else:
        _say(made)
    return ExitCode.DONE


def _marks(arguments: argparse.Namespace) -> "Marks":
    from reviewer.desk.episodes.views import Marks

    return Marks(
        wrong=tuple(arguments.wrong),
        required=tuple(arguments.required),
        forbidden=tuple(arguments.forbidden),
        irrelevant=tuple(arguments.irrelevant),
        volatile=tuple(arguments.volatile),
        keys=tuple(arguments.key),
        reads=tuple(arguments.reads),
        writes=tuple(arguments.writes),
        unknown=tuple(arguments.unknown),
        mask=tuple(arguments.mask),
        say=arguments.say,
        never_say=tuple(arguments.never_say),
        confirm=tuple(arguments.confirm),
        accept_nothing=arguments.accept_nothing,
    )


def _say(made: "MadeFromTrace") -> None:
    fact(f"{made.episode_id}: {plural(made.calls, 'recorded call')} made into {made.file}")
    fact(f"scripts of its proof: {made.script}")
    for one in made.pooled:
        fact(f"from another trace: {one}")
    for one in made.volatile:
        fact(f"not compared: {one}")
    for one in made.inferred:
        fact(f"inferred from calls: the parameters of {one}")
    for gap in made.gaps:
        of = f" {gap['arguments']}" if "arguments" in gap else ""
        fact(f"gap: {gap['tool']}{of}: {gap['why']}")
    fact(
        f"{plural(made.masks, 'identifier')} masked, {plural(len(made.gaps), 'gap')}, "
        f"{plural(made.blanks, 'blank')}"
    )
    for problem in made.problems:
        fact(f"open: {problem}")
    for one in made.notes:
        note(f"note: {one}")
    note(f"then: reviewer episode prove {made.suite_id} {made.episode_id}")


def _prove(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    try:
        proof = desk.episodes.prove(arguments.suite, arguments.episode)
    finally:
        desk.close()
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(proof))
    else:
        _say_proof(proof)
    return ExitCode.DONE if proof.proven else ExitCode.INVALID


def _say_proof(proof: "Proof") -> None:
    for run in proof.runs:
        held = "as it must" if run.holds else "NOT as it must"
        times = f" ({run.runs} times)" if run.runs > 1 else ""
        fact(f"{run.plan}{times}: {run.why}: {held}")
    told = "proven" if proof.proven else "not proven"
    fact(f"{proof.suite_id}/{proof.episode_id}: {told}")
