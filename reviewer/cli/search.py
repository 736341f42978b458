"""`reviewer search`: words across the traces of the store, one event a line."""

import argparse

from reviewer.cli.opening import desk_on
from reviewer.cli.parser import release_options
from reviewer.cli.say import counted, fact, out_json
from reviewer.exit_codes import ExitCode


def _search_arguments(look: argparse.ArgumentParser) -> None:
    look.add_argument("words", nargs="+", metavar="WORD", help="a word, or the beginning of one")
    release_options(look)


ARGUMENTS = {
    "search": _search_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    text = " ".join(arguments.words)
    suite, candidate = arguments.suite or "", arguments.candidate or ""
    found = desk_on(arguments, suite).traces.search(text, suite, candidate)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for hit in found.hits:
        more = f" (+{counted(hit.more, 'more event')})" if hit.more else ""
        fact(f"{hit.trace_id} event {hit.seq} {hit.kind}: {hit.text}{more}")
    count = counted(found.traces, "trace") if found.traces <= 10_000 else "more than 10,000 traces"
    hits = counted(len(found.hits), "event")
    fact(f"{hits} of {found.shown:,} in {count}: {' '.join(found.words)}")
    if found.waiting:
        waiting = counted(found.waiting, "event") + (" is" if found.waiting == 1 else " are")
        fact(f"not searched: {waiting} not indexed yet, try again")
    if found.partial:
        fact(f"searched in their first megabyte only: {counted(found.partial, 'large trace')}")
    return ExitCode.DONE
