"""`reviewer notes`: bookmarks and notes on events."""

import argparse

from msgspec import to_builtins

from reviewer.cli.labels import file_arguments, run_files
from reviewer.cli.opening import desk_of
from reviewer.cli.parser import act, acts_of, from_one, release_options
from reviewer.cli.say import fact, note, out_json
from reviewer.desk.traces.views import NoteKind, NoteView
from reviewer.exit_codes import ExitCode


def _notes_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    for name, text in (
        ("list", "list notes and bookmarks on a trace, or on all traces, one per line"),
        ("add", "write a note on an event; your next note there replaces it"),
        ("bookmark", "set a bookmark on an event"),
        ("remove", "remove your note or bookmark from an event"),
    ):
        one = act(acts, name, text)
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
            one.add_argument(
                "--bookmark", action="store_true", help="remove the bookmark, not the note"
            )
        if name == "add":
            one.add_argument(
                "text", metavar="TEXT", help="text of the note; identifiers are masked"
            )
    file_arguments(acts, "notes", "note")


ARGUMENTS = {
    "notes": _notes_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.act in ("export", "import"):
        return run_files(arguments)
    desk = desk_of(arguments)
    try:
        if arguments.act == "list":
            found = (
                desk.traces.notes(arguments.trace_id)
                if arguments.trace_id
                else desk.traces.all_notes(arguments.suite or "", arguments.candidate or "")
            )
            return _listed(found, arguments.json)
        removed = arguments.act == "remove"
        marked = arguments.act == "bookmark" or (removed and arguments.bookmark)
        kind: NoteKind = "bookmark" if marked else "note"
        text = arguments.text if arguments.act == "add" else ""
        stands = desk.traces.write_note(
            arguments.trace_id, arguments.seq, kind, text, removed=removed
        )
        return _listed([each for each in stands if each.seq == arguments.seq], arguments.json)
    finally:
        desk.close()


def _listed(found: list[NoteView], as_json: bool) -> int:
    if as_json:
        out_json(to_builtins(found))
        return ExitCode.DONE
    for each in found:
        words = f": {each.text}" if each.text else ""
        fact(f"{each.kind} {each.trace_id} event {each.seq} by {each.reviewer} {each.at}{words}")
    if not found:
        note("no bookmark and no note here: reviewer notes add TRACE_ID --seq N TEXT writes one")
    return ExitCode.DONE
