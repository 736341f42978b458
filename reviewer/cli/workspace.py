"""`reviewer init`, `doctor`, `backup` and `schema`."""

import argparse
from pathlib import Path

from reviewer.cli.opening import workspace_of
from reviewer.cli.say import note, out, out_json


def run(arguments: argparse.Namespace) -> int:
    return {"init": _init, "doctor": _doctor, "backup": _backup, "schema": _schema}[
        arguments.command
    ](arguments)


def _init(arguments: argparse.Namespace) -> int:
    from reviewer.desk.workspace import make

    made = make(Path(arguments.folder), arguments.example)
    note(f"workspace {made.root}: suites/ and store/ are there")
    if arguments.example:
        from reviewer.desk.shipped import load_shipped

        found = load_shipped(made)
        if found.labels or found.judgments:
            note(f"{found.labels} labels and {found.judgments} judgments of the examples are in")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from reviewer.desk.doctor import examine

    found = examine(workspace_of(arguments))
    if arguments.json:
        out_json([{"check": c.name, "ok": c.ok, "text": c.text} for c in found])
    else:
        for check in found:
            mark = {True: "✓ ok  ", False: "✗ FAIL", None: "~ note"}[check.ok]
            out(f"{mark}  {check.name}: {check.text}")
    return 20 if any(check.ok is False for check in found) else 0


def _backup(arguments: argparse.Namespace) -> int:
    from reviewer.desk.doctor import backup

    target = Path(arguments.file)
    size = backup(workspace_of(arguments), target)
    note(f"wrote {target}, {size:,} bytes")
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    from reviewer.desk.schemas import schema

    out_json(schema(arguments.kind))
    return 0
