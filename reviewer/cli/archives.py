"""`reviewer export`: the store as Parquet files. `reviewer query`: stores and archives in SQL."""

import argparse
import datetime
import decimal
import json
import math
from typing import TYPE_CHECKING, Any

from reviewer.cli.opening import desk_of
from reviewer.cli.parser import from_zero
from reviewer.cli.progress import Progress
from reviewer.cli.say import counted, fact, note, out_json, plain, table
from reviewer.exit_codes import ExitCode
from reviewer.trace.safetext import cap, visible_line

if TYPE_CHECKING:
    from reviewer.desk.archives.views import QueryAnswer

FIRST_ROWS = 1_000
_WIDEST = 200


def _export_arguments(export: argparse.ArgumentParser) -> None:
    export.add_argument(
        "--parquet", required=True, metavar="DIR",
        help="a new folder for the archive; an interrupted export is continued",
    )  # fmt: skip
    export.add_argument(
        "--suite", action="append", default=[], metavar="S",
        help="export only this suite; may be repeated",
    )  # fmt: skip
    export.add_argument(
        "--no-events", action="store_true", help="leave out the table of events, the largest"
    )
    export.add_argument(
        "--payloads", action="store_true", help="include the records themselves, masked as stored"
    )


def _query_arguments(query: argparse.ArgumentParser) -> None:
    query.add_argument("sql", metavar="SQL", help="one SELECT over the tables and ready-made views")
    query.add_argument(
        "sources", nargs="*", metavar="STORE|ARCHIVE",
        help="workspaces, files of stores and archives (default: this workspace's store)",
    )  # fmt: skip
    query.add_argument(
        "--limit", type=from_zero, default=FIRST_ROWS, metavar="N",
        help=f"print at most N rows (default: {FIRST_ROWS:,}; 0: all)",
    )  # fmt: skip


ARGUMENTS = {
    "export": _export_arguments,
    "query": _query_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    return {"export": _export, "query": _query}[arguments.command](arguments)


def _export(arguments: argparse.Namespace) -> int:
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
    for name, listed in held.tables.items():
        fact(f"table {name}: {counted(listed.rows, 'row')}")
    there = "was there already" if made.already else "written"
    fact(
        f"archive {made.folder} {there}: {counted(len(held.files), 'file')}, {held.size:,} bytes,"
        f" up to journal entry {held.made_of.journal_seq}"
    )
    return ExitCode.DONE


def _query(arguments: argparse.Namespace) -> int:
    from reviewer.desk.archives.api import ask_elsewhere

    progress = Progress(arguments.quiet or arguments.json, "reading the store", soon=False)
    told: dict[str, Any] = {
        "limit": arguments.limit,
        "progress": lambda done, of: progress.show(done, of, "traces"),
    }
    try:
        if arguments.sources:
            found = ask_elsewhere(arguments.sql, arguments.sources, **told)
        else:
            found = desk_of(arguments).archives.ask(arguments.sql, **told)
    finally:
        progress.stop()
    _answer(found, arguments.json)
    if found.more:
        note(f"the first {counted(len(found.rows), 'row')}; --limit 0 prints all")
    return ExitCode.DONE


def _answer(found: "QueryAnswer", as_json: bool) -> None:
    if as_json:
        columns = [{"name": one.name, "type": one.type} for one in found.columns]
        rows = [[_value(cell) for cell in row] for row in found.rows]
        out_json({"columns": columns, "rows": rows, "more": found.more})
        return
    header = tuple(visible_line(one.name) for one in found.columns)
    widest = None if plain() else _WIDEST
    table([tuple(_cell(cell, widest) for cell in row) for row in found.rows], header)
    if not found.rows:
        note("no rows")


def _cell(value: Any, widest: int | None) -> str:
    shown = _value(value)
    if not isinstance(shown, str):
        shown = "null" if shown is None else json.dumps(shown, ensure_ascii=False)
    return shown if widest is None else cap(shown, widest)


def _value(value: Any) -> Any:
    """Return a value of an answer as JSON can hold it; NaN and infinity become their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_value(one) for one in value]
    if isinstance(value, dict):
        return {str(_value(name)): _value(one) for name, one in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)
