"""What `run`, `import` and the commands that look at evidence take."""

from typing import TYPE_CHECKING

from reviewer.cli.arguments.making import command, from_one, from_zero, release_options

if TYPE_CHECKING:
    from reviewer.cli.arguments.making import Commands


def _run(commands: "Commands") -> None:
    make = command(commands, "run", "runs", "make attempts of a candidate, judged as they come")
    make.add_argument("suite", help="suite id")
    make.add_argument("candidate", help="candidate id, of a manifest in the suite folder")
    make.add_argument(
        "--attempts", type=from_one, metavar="N",
        help="per episode, numbered on from those made (default: as the policy plans)",
    )  # fmt: skip
    make.add_argument(
        "--resume", action="store_true",
        help="make only the attempts 1 to N without a trace, and one more for each lost to "
        "infrastructure",
    )  # fmt: skip
    make.add_argument("--jobs", type=from_one, default=4, metavar="N", help="at a time (4)")
    make.add_argument(
        "--workers", type=from_zero, default=0, metavar="N",
        help="processes to spread them over (default 0: in this one)",
    )  # fmt: skip
    make.add_argument("--seed", type=from_zero, default=0, metavar="N", help="of what varies (0)")
    make.add_argument(
        "--approve", choices=("deny", "allow", "ask"), default="deny", metavar="RULE",
        help="calls that need an approval: deny (default), allow, ask on the terminal",
    )  # fmt: skip
    make.add_argument(
        "--network", action="store_true", help="let programs of a candidate reach the network"
    )
    make.add_argument("--traces", metavar="FILE", help="also write the records to a new file")


def _import(commands: "Commands") -> None:
    take = command(commands, "import", "imports", "read traces into the store")
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
        "--episode-map",
        metavar="FILE",
        help="how other tools call the episodes and the tools of --suite",
    )
    take.add_argument("--dry-run", action="store_true", help="say what would be done")
    take.add_argument("--watch", action="store_true", help="go on with what is new, until Ctrl-C")
    take.add_argument(
        "--progress", choices=("bar", "json", "steered"), default="bar",
        help="json: a line per step on stdout; steered: also `pause` and `go on` from stdin",
    )  # fmt: skip


def _quarantine(commands: "Commands") -> None:
    held = command(commands, "quarantine", "imports", "refused records: where, why, what to do")
    held.add_argument(
        "act", nargs="?", choices=("list", "show"), default="list", help="show adds the way out"
    )
    held.add_argument("file", nargs="?", help="only records of this file")


def _sources(commands: "Commands") -> None:
    command(commands, "sources", "imports", "imported files")


def _index(commands: "Commands") -> None:
    command(commands, "_index", "imports", "fill what is filled behind an import", hidden=True)


def _score(commands: "Commands") -> None:
    score = command(commands, "score", "score", "score stored traces again; say what changed")
    score.add_argument("--suite", metavar="S", help="only this suite")


def _show(commands: "Commands") -> None:
    show = command(commands, "show", "show", "one trace in words")
    show.add_argument("trace_id", metavar="TRACE_ID", help="suite/candidate/episode/attempt")
    show.add_argument("--event", type=int, metavar="SEQ", help="one event whole")


def _search(commands: "Commands") -> None:
    look = command(commands, "search", "search", "find words in the events of all traces")
    look.add_argument("words", nargs="+", metavar="WORD", help="each stands for its beginnings too")
    release_options(look)


def _scorecard(commands: "Commands") -> None:
    card = command(commands, "scorecard", "scorecard", "the scorecard in words, one fact a line")
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
    release_options(card)


def _trends(commands: "Commands") -> None:
    text = "the figures of a suite's reports, candidate after candidate, with their targets"
    trends = command(commands, "trends", "trends", text)
    trends.add_argument("--suite", default="", metavar="S", help="suite id")


def _compare(commands: "Commands") -> None:
    text = "two candidates of one suite, or two attempts of one episode, side by side"
    compare = command(commands, "compare", "compare", text)
    compare.add_argument(
        "episode", nargs="?", metavar="EPISODE",
        help="this one, event by event (default: every episode in a line)",
    )  # fmt: skip
    release_options(compare)
    compare.add_argument(
        "--baseline", metavar="B", help="candidate to compare with (default: the one before)"
    )
    compare.add_argument(
        "--attempts", nargs=2, metavar="TRACE_ID",
        help="two attempts of one episode, the baseline first",
    )  # fmt: skip


COMMANDS = {
    "run": _run,
    "import": _import,
    "quarantine": _quarantine,
    "sources": _sources,
    "_index": _index,
    "score": _score,
    "show": _show,
    "search": _search,
    "scorecard": _scorecard,
    "trends": _trends,
    "compare": _compare,
}
