"""The command line: parse, dispatch, and turn every outcome into an exit code.

Only argparse is imported before a command is known. Exit codes: 0 promote or done, 10 not
promoted, 2 usage, 20 invalid input or signature, 30 policy of signatures not met, 40 internal.
"""

import argparse
import contextlib
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from reviewer.cli.decision_arguments import decision_commands

DONE, USAGE, INVALID, INTERNAL = 0, 2, 20, 40

DESCRIPTION = "The release desk for AI agents: from raw episode traces to a signed decision."
EPILOG = """\
without a command: the workstation on the workspace you stand in

export a report, without a screen:
  reviewer --export-report OUT --suite S --candidate C [--baseline B]
           [--format json,md,html,junit,sarif,github] [--sign KEY]

exit codes: 0 promote or done, 10 not promoted, 2 usage, 20 invalid input or
signature, 30 policy of signatures not met, 40 internal error
"""


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]
    Acts = argparse._SubParsersAction[argparse.ArgumentParser]


class Parser(argparse.ArgumentParser):
    """Usage errors leave with exit code 2 and name the way out."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        sys.stderr.write(f"reviewer: {message}\nreviewer --help lists the commands\n")
        sys.exit(USAGE)


class _Unclear(Exception):
    """Not what the quick parser knows."""


class _Quick(Parser):
    def error(self, message: str) -> NoReturn:
        raise _Unclear(message)


def parser() -> Parser:
    """The whole command line."""
    top = _top(Parser)
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    _workspace_commands(commands)
    _suite_commands(commands)
    _run_commands(commands)
    _evidence_commands(commands)
    _people_commands(commands)
    decision_commands(commands, _add, _release_options, _everywhere, _from_one)
    return top


def _parsed(argv: list[str] | None) -> argparse.Namespace:
    """A report is made in every pipeline, and building what it never needs, the commands, takes as
    long as starting Python: what names none is read without them. Whatever is not clear then, the
    whole command line says in its own words."""
    given = sys.argv[1:] if argv is None else argv
    if "--export-report" in given and not {"-h", "--help"}.intersection(given):
        try:
            found, rest = _top(_Quick).parse_known_args(given)
            if not rest:
                return found
        except _Unclear:
            pass
    return parser().parse_args(argv)


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
    _everywhere(top)
    top.add_argument("--no-mouse", action="store_true", help="leave selection to the terminal")
    top.add_argument(
        "--settings", default="", metavar="FILE",
        help="settings of the workstation (default: $REVIEWER_SETTINGS, else those of the person; "
        "docs/settings.md)",
    )  # fmt: skip
    report = top.add_argument_group("report")
    report.add_argument("--export-report", metavar="OUT", help="write the report to this folder")
    _release_options(report)
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


def _add(
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
    _everywhere(added, default=argparse.SUPPRESS)  # which keeps what stood before the command
    return added


def _from_one(text: str) -> int:
    """A whole number from 1."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _port(text: str) -> int:
    """A port to listen on; 0 for a free one."""
    port = _from_zero(text)
    if port > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: those end at 65535")
    return port


def _from_zero(text: str) -> int:
    """A whole number from 0."""
    return 0 if text == "0" else _from_one(text)


def _everywhere(to: argparse.ArgumentParser, **default: Any) -> None:
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


def _release_options(group: argparse._ActionsContainer) -> None:
    group.add_argument("--suite", metavar="S", help="suite id")
    group.add_argument("--candidate", metavar="C", help="candidate id")


def _workspace_commands(commands: "Commands") -> None:
    demo = _add(commands, "demo", "demo", "the built-in example in a throw-away workspace")
    demo.add_argument("--headless", action="store_true", help="print both reports and leave")
    demo.add_argument("--keep", metavar="DIR", help="make the workspace here and keep it")
    init = _add(commands, "init", "workspace", "make a workspace")
    init.add_argument("folder", nargs="?", default=".", help="where (default: here)")
    init.add_argument("--example", action="store_true", help="with the example suites in it")
    text = "the workstation in a browser on this machine (extra: serve)"
    serve = _add(commands, "serve", "serve", text)
    serve.add_argument("--port", type=_port, default=0, metavar="N", help="default: a free one")
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="ADDR",
        help="listen there (default: 127.0.0.1, which no other machine reaches)",
    )  # fmt: skip
    serve.add_argument(
        "--expose", action="store_true",
        help="with --host: let in whoever reaches that address and has the link, unencrypted, to "
        "read all traces, run candidates and sign as you",
    )  # fmt: skip
    _add(commands, "_page", "page", "the workstation behind a page of serve", hidden=True)
    text = "the workstation's settings in force, and which file says so"
    shown = _add(commands, "settings", "settings", text)
    shown.add_argument("--defaults", action="store_true", help="print a file with every default")
    _add(commands, "doctor", "workspace", "check the store: integrity, chain, version, permissions")
    backup = _add(commands, "backup", "workspace", "copy the store whole, while others write")
    backup.add_argument("file", help="a new file")
    text = "put a backup in the store's place, once it is proved to be as its journal says"
    restore = _add(commands, "restore", "workspace", text)
    restore.add_argument("file", help="a copy that backup made")
    restore.add_argument(
        "--replace", action="store_true", help="set aside the store that is there, if one is"
    )
    schema = _add(commands, "schema", "workspace", "print the JSON Schema of a kind of file")
    schema.add_argument(
        "kind", help="suite, episode, rubric, judge, candidate, policy, trace, label …"
    )


def _suite_commands(commands: "Commands") -> None:
    suite = _add(commands, "suite", "suite", "list, show, check, freeze, diff and make suites")
    acts = suite.add_subparsers(dest="act", metavar="ACT", required=True)
    for name, text in (
        ("list", "every suite, whether it stands frozen"),
        ("show", "one suite: episodes, policy, digest"),
        ("check", "recompute every digest and check every file"),
        ("freeze", "write the lock; --as NEW_ID keeps an edit as a new version"),
        ("diff", "what changed since the freeze"),
    ):
        act = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
        _everywhere(act, default=argparse.SUPPRESS)
        if name != "list":
            act.add_argument("suite", nargs="?" if name == "check" else None, help="suite id")
        if name == "freeze":
            act.add_argument("--as", dest="new_id", metavar="NEW_ID", help="the new version's id")
    _suite_leaks(acts)
    _suite_lineage(acts)
    _suite_makers(acts)


def _suite_leaks(acts: "Acts") -> None:
    text = "look for frozen episodes in training or feedback data; what is found holds a release"
    act = acts.add_parser("leaks", help=text, description=text, allow_abbrev=False)
    act.set_defaults(module="leaks")
    _everywhere(act, default=argparse.SUPPRESS)
    act.add_argument(
        "files", nargs="*", metavar="FILE", help="JSON lines, JSON or text, also compressed"
    )
    act.add_argument("--suite", default="", help="one suite (default: every frozen one)")
    act.add_argument("--candidate", default="", help="who learned from it (default: every one)")
    act.add_argument(
        "--threshold", type=float, default=0.7, metavar="J",
        help="how near is near: a Jaccard index of runs of three words, above 0 to 1 (0.7)",
    )  # fmt: skip
    act.add_argument("--dry-run", action="store_true", help="keep nothing of it")
    act.add_argument("--list", action="store_true", help="what was looked at before")
    act.add_argument("--withdraw", default="", metavar="ID", help="take back what a look found")
    act.add_argument("--reason", default="", metavar="TEXT", help="why it is taken back")


def _suite_lineage(acts: "Acts") -> None:
    text = "other suites that its candidates met; a reason for each, or no release"
    act = acts.add_parser("lineage", help=text, description=text, allow_abbrev=False)
    act.set_defaults(module="suite_lineage")
    _everywhere(act, default=argparse.SUPPRESS)
    act.add_argument("suite", help="suite id")
    act.add_argument("other", nargs="?", default="", help="another suite, to say why both")
    act.add_argument("--reason", default="", metavar="TEXT", help="why both were used")


def _suite_makers(acts: "Acts") -> None:
    """Acts that make a suite, not frozen yet, of what another tool expects."""
    for name, file, text in (
        ("from-tau2", "TASKS", "make a suite of tau2-bench tasks: what they expect, as contracts"),
        ("from-golden", "DATASET", "make a suite of golden records, JSON or JSON lines"),
    ):
        act = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
        act.set_defaults(module="suite_making")
        _everywhere(act, default=argparse.SUPPRESS)
        act.add_argument("file", metavar=file, help="a file, or one packed with gzip or Zstandard")
        act.add_argument("--as", dest="new_id", default="", metavar="ID", help="the suite's id")
        if name == "from-golden":
            act.add_argument(
                "--match", choices=("strict", "unordered", "subset", "superset"),
                default="superset", metavar="MODE",
                help="made calls against the expected ones, where a record does not say: superset "
                "(default: each of them, in any order), unordered, subset, strict",
            )  # fmt: skip
            continue
        act.add_argument(
            "--domain", default="", metavar="D",
            help="airline, retail, telecom, banking_knowledge, mock: which tools write "
            "(default: as the tasks say)",
        )  # fmt: skip
        act.add_argument("--policy", metavar="FILE", help="the agent's policy, kept in the suite")
        act.add_argument(
            "--require", choices=("all", "writes"), default="all", metavar="WHICH",
            help="all expected tools (default); writes: where reward_basis has no ACTION, those "
            "that write",
        )  # fmt: skip


def _run_commands(commands: "Commands") -> None:
    make = _add(commands, "run", "runs", "make attempts of a candidate, judged as they come")
    make.add_argument("suite", help="suite id")
    make.add_argument("candidate", help="candidate id, of a manifest in the suite folder")
    make.add_argument(
        "--attempts", type=_from_one, metavar="N",
        help="per episode, numbered on from those made (default: as the policy plans)",
    )  # fmt: skip
    make.add_argument(
        "--resume", action="store_true",
        help="make only the attempts 1 to N without a trace, and one more for each lost to "
        "infrastructure",
    )  # fmt: skip
    make.add_argument("--jobs", type=_from_one, default=4, metavar="N", help="at a time (4)")
    make.add_argument(
        "--workers", type=_from_zero, default=0, metavar="N",
        help="processes to spread them over (default 0: in this one)",
    )  # fmt: skip
    make.add_argument("--seed", type=_from_zero, default=0, metavar="N", help="of what varies (0)")
    make.add_argument(
        "--approve", choices=("deny", "allow", "ask"), default="deny", metavar="RULE",
        help="calls that need an approval: deny (default), allow, ask on the terminal",
    )  # fmt: skip
    make.add_argument(
        "--network", action="store_true", help="let programs of a candidate reach the network"
    )
    make.add_argument("--traces", metavar="FILE", help="also write the records to a new file")


def _evidence_commands(commands: "Commands") -> None:
    take = _add(commands, "import", "imports", "read traces into the store")
    take.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, folders, patterns; - is stdin"
    )
    take.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="auto, or a reader's name (docs/formats.md)",
    )
    take.add_argument("--suite", default="", metavar="S", help="the suite they belong to")
    take.add_argument("--candidate", default="", metavar="C", help="for records that name none")
    take.add_argument(
        "--episode-map", metavar="FILE", help="how other tools call the episodes of --suite"
    )
    take.add_argument("--dry-run", action="store_true", help="say what would be done")
    take.add_argument("--watch", action="store_true", help="go on with what is new, until Ctrl-C")
    take.add_argument(
        "--progress", choices=("bar", "json", "steered"), default="bar",
        help="json: a line per step on stdout; steered: also `pause` and `go on` from stdin",
    )  # fmt: skip
    held = _add(commands, "quarantine", "imports", "refused records: where, why, what to do")
    held.add_argument(
        "act", nargs="?", choices=("list", "show"), default="list", help="show adds the way out"
    )
    held.add_argument("file", nargs="?", help="only records of this file")
    _add(commands, "sources", "imports", "imported files")
    _add(commands, "_index", "imports", "fill what is filled behind an import", hidden=True)
    score = _add(commands, "score", "score", "score stored traces again; say what changed")
    score.add_argument("--suite", metavar="S", help="only this suite")
    show = _add(commands, "show", "show", "one trace in words")
    show.add_argument("trace_id", metavar="TRACE_ID", help="suite/candidate/episode/attempt")
    show.add_argument("--event", type=int, metavar="SEQ", help="one event whole")
    look = _add(commands, "search", "search", "find words in the events of all traces")
    look.add_argument("words", nargs="+", metavar="WORD", help="each stands for its beginnings too")
    _release_options(look)
    card = _add(commands, "scorecard", "scorecard", "the scorecard in words, one fact a line")
    card.add_argument(
        "--filter",
        default="",
        metavar="F",
        help="only these episodes, e.g. 'gate:authority tool:issue_refund cost>0.05 -tag:vip'",
    )
    card.add_argument(
        "--sort", default="worst", metavar="BY", help="worst (default), a gate, or a column's name"
    )
    card.add_argument("--descending", action="store_true", help="the other way round")
    card.add_argument("--failing", action="store_true", help="only episodes that fail")
    card.add_argument("--group", choices=("tag", "category"), help="with a line for each group")
    _release_options(card)
    text = "the figures of a suite's reports, candidate after candidate, with their targets"
    trends = _add(commands, "trends", "trends", text)
    trends.add_argument("--suite", default="", metavar="S", help="suite id")
    text = "two candidates of one suite, or two attempts of one episode, side by side"
    compare = _add(commands, "compare", "compare", text)
    compare.add_argument(
        "episode", nargs="?", metavar="EPISODE",
        help="this one, event by event (default: every episode in a line)",
    )  # fmt: skip
    _release_options(compare)
    compare.add_argument(
        "--baseline", metavar="B", help="candidate to compare with (default: the one before)"
    )
    compare.add_argument(
        "--attempts", nargs=2, metavar="TRACE_ID",
        help="two attempts of one episode, the baseline first",
    )  # fmt: skip


def _people_commands(commands: "Commands") -> None:
    for name, one, of in (
        ("labels", "label", "what is to be labeled, and labels as files to join those of several"),
        ("judgments", "judgment", "answers of a judge as files"),
        ("notes", "note", "bookmarks and notes on events: list, write, and as files"),
    ):
        acts = _add(commands, name, "labels", of).add_subparsers(
            dest="act", metavar="ACT", required=True
        )
        if name == "notes":
            _note_acts(acts)
        if name == "labels":
            _queue_act(acts)
        text = f"write every {one}, a line of JSON each"
        export = acts.add_parser("export", help=text, description=text, allow_abbrev=False)
        export.add_argument("file", nargs="?", help="a new file (default: standard output)")
        export.add_argument("--suite", default="", metavar="S", help="only this suite's")
        text = f"take in {name} of others, each once"
        take = acts.add_parser("import", help=text, description=text, allow_abbrev=False)
        take.add_argument("files", nargs="+", metavar="FILE", help="files that export wrote")
        for act in (export, take):
            _everywhere(act, default=argparse.SUPPRESS)
    _judge_command(commands)
    _cost_command(commands)
    text = "join the traces, labels, judgments, notes and costs of another store, by content"
    merge = _add(commands, "merge", "labels", text)
    merge.add_argument(
        "store", metavar="OTHER.db", help="another person's store, or a backup of it"
    )


def _queue_act(acts: "Acts") -> None:
    text = "what is to be labeled, by you and by all, and how far the reviewers agree"
    act = acts.add_parser("queue", help=text, description=text, allow_abbrev=False)
    act.set_defaults(module="label_queue")
    _everywhere(act, default=argparse.SUPPRESS)
    _release_options(act)
    act.add_argument("--baseline", metavar="B", help="pairs with it (default: the only other)")
    act.add_argument("--messages", action="store_true", help="single messages in place of pairs")


def _note_acts(acts: "Acts") -> None:
    """What is done with notes beyond files."""
    for name, text in (
        ("list", "what stands on the events of a trace, or of all traces, one a line"),
        ("add", "write a note on an event; a second one of yours takes its place"),
        ("bookmark", "set a bookmark on an event"),
        ("remove", "take your note off an event, or your bookmark"),
    ):
        act = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
        act.set_defaults(module="notes")
        _everywhere(act, default=argparse.SUPPRESS)
        act.add_argument(
            "trace_id", metavar="TRACE_ID", nargs="?" if name == "list" else None,
            help="suite/candidate/episode/attempt",
        )  # fmt: skip
        if name == "list":
            _release_options(act)
            continue
        act.add_argument(
            "--seq", type=_from_one, required=True, metavar="N", help="the event's number"
        )
        if name == "remove":
            act.add_argument("--bookmark", action="store_true", help="the bookmark, not the note")
        if name == "add":
            act.add_argument("text", metavar="TEXT", help="its words; identifiers are masked")


def _cost_command(commands: "Commands") -> None:
    text = "what people and incidents cost, beside what attempts cost: enter, list"
    acts = _add(commands, "costs", "costs", text).add_subparsers(
        dest="act", metavar="ACT", required=True
    )
    text = "enter an amount; the same entry again adds nothing"
    add = acts.add_parser("add", help=text, description=text, allow_abbrev=False)
    text = "every entry, one a line"
    shown = acts.add_parser("list", help=text, description=text, allow_abbrev=False)
    for act in (add, shown):
        _everywhere(act, default=argparse.SUPPRESS)
    _release_options(shown)
    add.add_argument("--suite", required=True, metavar="S", help="suite id")
    add.add_argument("--candidate", required=True, metavar="C", help="candidate id")
    add.add_argument(
        "--kind", choices=("human", "incident"), metavar="KIND",
        help="human (handling by people) or incident (default: of the entry it corrects)",
    )  # fmt: skip
    add.add_argument("--amount", required=True, metavar="USD", help="such as 12.50; never negative")
    add.add_argument("--currency", choices=("USD",), default="USD", help="USD, and no other")
    add.add_argument("--note", default="", metavar="TEXT", help="what for; identifiers are masked")
    add.add_argument(
        "--id", default="", metavar="ID",
        help="the entry's own, such as an invoice's (default: a digest of what it says)",
    )  # fmt: skip
    add.add_argument("--corrects", default="", metavar="ID", help="stands in place of that entry")


def _judge_command(commands: "Commands") -> None:
    text = "ask the suite's judge about final messages, and say what it has earned"
    ask = _add(commands, "judge", "judge", text)
    ask.add_argument("suite", help="suite id")
    ask.add_argument("--candidate", metavar="C", help="candidate id")
    ask.add_argument(
        "--baseline", metavar="B", help="candidate to pair it with (default: the other)"
    )
    ask.add_argument("--pairs", action="store_true", help="pairs, each in both orders")
    ask.add_argument("--messages", action="store_true", help="single messages (default: all asked)")
    ask.add_argument("--base-url", default="", metavar="URL", help="an OpenAI-compatible endpoint")
    ask.add_argument("--model", default="", metavar="M", help="when judge.json names none")
    ask.add_argument(
        "--api-key-env", default="", metavar="NAME", help="environment variable that holds the key"
    )
    ask.add_argument(
        "--repeats", type=_from_one, default=1, metavar="N", help="times to ask each question (1)"
    )
    ask.add_argument("--jobs", type=_from_one, default=4, metavar="N", help="calls at a time (4)")
    ask.add_argument(
        "--timeout", type=_amount, default=120.0, metavar="S", help="seconds to wait for one (120)"
    )
    ask.add_argument("--dry-run", action="store_true", help="say what it would take; send nothing")
    for side in ("input", "output"):
        ask.add_argument(
            f"--{side}-price", type=_amount, metavar="USD", help=f"per million {side} tokens"
        )


def _amount(text: str) -> float:
    """A number, zero or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


def program() -> int:
    """The program itself: run the command that was typed, and leave.

    Threads that answer questions may still be at one. Python ends them where they are, and code of
    libraries that is ended so takes the process down with it; leaving without Python's own tidying
    up does not.
    """
    code = main()
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        import atexit

        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    # The folder we stand in may be a stranger's: no Python we start (workers) may import from it.
    os.environ["PYTHONSAFEPATH"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know few characters
    arguments = _parsed(argv)
    if arguments.version:
        from reviewer import __version__

        sys.stdout.write(f"reviewer {__version__}\n")
        return DONE
    name = getattr(arguments, "module", None)
    if arguments.export_report and name is None:
        name = "report"
    from reviewer.cli.say import speak

    speak(arguments.plain)
    module = importlib.import_module(f"reviewer.cli.{name or 'workstation'}")
    try:
        return int(module.run(arguments))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was committed stands, the same command goes on\n")
        return 130
    except BrokenPipeError:
        # The reader of our stdout has gone: not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _told(error, arguments)


def _told(error: Exception, arguments: argparse.Namespace) -> int:
    """Say an expected failure in words; anything else is ours, with exit code 40."""
    from reviewer.cli.say import fail
    from reviewer.contract.errors import ContractError
    from reviewer.db.connection import DAMAGE, StoreError
    from reviewer.desk.errors import DeskError

    if isinstance(error, DeskError):
        return fail(error.text, *error.ways_out, exit_code=error.exit_code)
    if isinstance(error, (ContractError, StoreError)):
        return fail(str(error), exit_code=INVALID)
    if isinstance(error, OSError) and error.filename is not None:
        return fail(f"{error.filename}: {error.strerror}", exit_code=INVALID)
    if isinstance(error, DAMAGE) and (found := _damage(arguments)):
        return fail(f"the store is damaged ({found})", "restore a backup", exit_code=INVALID)
    if os.environ.get("REVIEWER_DEBUG"):
        raise error
    return fail(
        f"internal error: {type(error).__name__}: {error}",
        "nothing was left half written; REVIEWER_DEBUG=1 shows where",
        exit_code=INTERNAL,
    )


def _damage(arguments: argparse.Namespace) -> str | None:
    """What is wrong with the store of the workspace at work, if there is one."""
    from reviewer.cli.opening import workspace_of
    from reviewer.desk.doctor import damage
    from reviewer.desk.errors import DeskError

    try:
        return damage(workspace_of(arguments))
    except DeskError:
        return None
