"""What the commands about people's work take: labels, judgments, notes, the judge, costs, merge."""

from typing import TYPE_CHECKING

from reviewer.cli.arguments.making import (
    act,
    acts_of,
    amount,
    command,
    from_one,
    release_options,
)

if TYPE_CHECKING:
    from reviewer.cli.arguments.making import Acts, Commands


def _labels(commands: "Commands") -> None:
    text = "what is to be labeled, and labels as files to join those of several"
    acts = acts_of(command(commands, "labels", "labels", text))
    text = "what is to be labeled, by you and by all, and how far the reviewers agree"
    queue = act(acts, "queue", text, "label_queue")
    release_options(queue)
    queue.add_argument("--baseline", metavar="B", help="pairs with it (default: the only other)")
    queue.add_argument("--messages", action="store_true", help="single messages in place of pairs")
    _files(acts, "labels", "label")


def _judgments(commands: "Commands") -> None:
    acts = acts_of(command(commands, "judgments", "labels", "answers of a judge as files"))
    _files(acts, "judgments", "judgment")


def _notes(commands: "Commands") -> None:
    text = "bookmarks and notes on events: list, write, and as files"
    acts = acts_of(command(commands, "notes", "labels", text))
    for name, text in (
        ("list", "what stands on the events of a trace, or of all traces, one a line"),
        ("add", "write a note on an event; a second one of yours takes its place"),
        ("bookmark", "set a bookmark on an event"),
        ("remove", "take your note off an event, or your bookmark"),
    ):
        one = act(acts, name, text, "notes")
        one.add_argument(
            "trace_id", metavar="TRACE_ID", nargs="?" if name == "list" else None,
            help="suite/candidate/episode/attempt",
        )  # fmt: skip
        if name == "list":
            release_options(one)
            continue
        one.add_argument(
            "--seq", type=from_one, required=True, metavar="N", help="the event's number"
        )
        if name == "remove":
            one.add_argument("--bookmark", action="store_true", help="the bookmark, not the note")
        if name == "add":
            one.add_argument("text", metavar="TEXT", help="its words; identifiers are masked")
    _files(acts, "notes", "note")


def _files(acts: "Acts", name: str, one: str) -> None:
    """What is said, as files."""
    export = act(acts, "export", f"write every {one}, a line of JSON each")
    export.add_argument("file", nargs="?", help="a new file (default: standard output)")
    export.add_argument("--suite", default="", metavar="S", help="only this suite's")
    take = act(acts, "import", f"take in {name} of others, each once")
    take.add_argument("files", nargs="+", metavar="FILE", help="files that export wrote")


def _judge(commands: "Commands") -> None:
    text = "ask the suite's judge about final messages, and say what it has earned"
    ask = command(commands, "judge", "judge", text)
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
        "--repeats", type=from_one, default=1, metavar="N", help="times to ask each question (1)"
    )
    ask.add_argument("--jobs", type=from_one, default=4, metavar="N", help="calls at a time (4)")
    ask.add_argument(
        "--timeout", type=amount, default=120.0, metavar="S", help="seconds to wait for one (120)"
    )
    ask.add_argument("--dry-run", action="store_true", help="say what it would take; send nothing")
    for side in ("input", "output"):
        ask.add_argument(
            f"--{side}-price", type=amount, metavar="USD", help=f"per million {side} tokens"
        )


def _costs(commands: "Commands") -> None:
    text = "what people and incidents cost, beside what attempts cost: enter, list"
    acts = acts_of(command(commands, "costs", "costs", text))
    add = act(acts, "add", "enter an amount; the same entry again adds nothing")
    shown = act(acts, "list", "every entry, one a line")
    release_options(shown)
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


def _merge(commands: "Commands") -> None:
    text = "join the traces, labels, judgments, notes and costs of another store, by content"
    merge = command(commands, "merge", "labels", text)
    merge.add_argument(
        "store", metavar="OTHER.db", help="another person's store, or a backup of it"
    )


COMMANDS = {
    "labels": _labels,
    "judgments": _judgments,
    "notes": _notes,
    "judge": _judge,
    "costs": _costs,
    "merge": _merge,
}
