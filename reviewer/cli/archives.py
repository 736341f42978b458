"""`reviewer export`: the store as Parquet files."""

import argparse

from reviewer.cli.opening import desk_of
from reviewer.cli.progress import Progress
from reviewer.cli.say import counted, fact, note, out_json
from reviewer.exit_codes import ExitCode


def _export_arguments(export: argparse.ArgumentParser) -> None:
    export.add_argument(
        "--parquet", required=True, metavar="DIR",
        help="a new folder for the archive; one that was cut off is continued",
    )  # fmt: skip
    export.add_argument(
        "--suite", action="append", default=[], metavar="S",
        help="only this suite's (several: give it again)",
    )  # fmt: skip
    export.add_argument(
        "--no-events", action="store_true", help="leave out the table of events, the largest"
    )
    export.add_argument(
        "--payloads", action="store_true", help="the records themselves too, masked as stored"
    )


ARGUMENTS = {
    "export": _export_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    progress = Progress(arguments.quiet or arguments.json, "export", soon=False)
    try:
        made = desk_of(arguments).archives.export(
            arguments.parquet,
            arguments.suite,
            events=not arguments.no_events,
            payloads=arguments.payloads,
            progress=lambda done, of: progress.show(done, of, "traces"),
        )
    finally:
        progress.stop()
    held = made.manifest
    if arguments.json:
        import msgspec

        out_json(
            {
                "folder": str(made.folder),
                "already": made.already,
                "bytes": held.size,
                **msgspec.to_builtins(held),
            }
        )
        return ExitCode.DONE
    if made.resumed:
        note("went on behind what an export that was cut off had written")
    for name, table in held.tables.items():
        fact(f"table {name}: {counted(table.rows, 'row')}")
    there = "was there already" if made.already else "written"
    fact(
        f"archive {made.folder} {there}: {counted(len(held.files), 'file')}, {held.size:,} bytes,"
        f" up to journal entry {held.made_of.journal_seq}"
    )
    return ExitCode.DONE
