"""`reviewer notes list|add|bookmark|remove`: bookmarks and notes on events, one a line."""

import argparse

from msgspec import to_builtins

from reviewer.cli.opening import desk_of
from reviewer.cli.say import fact, note, out_json
from reviewer.desk.traces.views import NoteKind, NoteView
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
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
