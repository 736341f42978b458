"""`reviewer init`, `doctor`, `vacuum`, `backup`, `restore` and `schema`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.opening import workspace_of
from reviewer.cli.parser import from_one
from reviewer.cli.say import counted, note, out, out_json, plain, table
from reviewer.exit_codes import ExitCode
from reviewer.trace.safetext import visible_line

if TYPE_CHECKING:
    from reviewer.desk.integrity.backups import Head
    from reviewer.desk.integrity.sizes import Sizes


def _init_arguments(init: argparse.ArgumentParser) -> None:
    init.add_argument(
        "folder", nargs="?", default=".", help="folder of the workspace (default: the current one)"
    )
    init.add_argument("--example", action="store_true", help="include the example suites")


def _doctor_arguments(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument(
        "--sizes", action="store_true",
        help="show what takes up space instead: by kind, suite and candidate",
    )  # fmt: skip
    doctor.add_argument(
        "--figures", action="store_true",
        help="also compute every cached scorecard, trend and comparison again, and compare",
    )  # fmt: skip


def _vacuum_arguments(vacuum: argparse.ArgumentParser) -> None:
    vacuum.add_argument(
        "--seconds", type=from_one, default=20, metavar="N",
        help="the longest that other writers may have to wait; if it would take longer, nothing "
        "changes (20)",
    )  # fmt: skip


def _backup_arguments(backup: argparse.ArgumentParser) -> None:
    backup.add_argument("file", help="the new file to write")


def _restore_arguments(restore: argparse.ArgumentParser) -> None:
    restore.add_argument("file", help="a copy made by reviewer backup")
    restore.add_argument(
        "--replace", action="store_true", help="set aside any store that is already there"
    )


def _schema_arguments(schema: argparse.ArgumentParser) -> None:
    schema.add_argument(
        "kind", help="suite, episode, rubric, judge, candidate, policy, trace, label …"
    )


ARGUMENTS = {
    "init": _init_arguments,
    "doctor": _doctor_arguments,
    "vacuum": _vacuum_arguments,
    "backup": _backup_arguments,
    "restore": _restore_arguments,
    "schema": _schema_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    return {
        "init": _init,
        "doctor": _doctor,
        "vacuum": _vacuum,
        "backup": _backup,
        "restore": _restore,
        "schema": _schema,
    }[arguments.command](arguments)


def _init(arguments: argparse.Namespace) -> int:
    from reviewer.desk.place import make

    made = make(Path(arguments.folder), arguments.example)
    note(f"workspace {made.root}: suites/ and store/ are there")
    if arguments.example:
        from reviewer.desk.workspace.api import load_shipped

        found = load_shipped(made)
        if found.labels or found.judgments:
            told = f"{counted(found.labels, 'label')} and {counted(found.judgments, 'judgment')}"
            note(f"{told} of the examples are in")
    return ExitCode.DONE


def _doctor(arguments: argparse.Namespace) -> int:
    if arguments.sizes:
        return _sizes(arguments)
    from reviewer.desk.integrity.doctor import examine

    place = workspace_of(arguments)
    found = examine(place, alone=True)
    if arguments.figures and all(check.ok is not False for check in found):
        from reviewer.desk.kept_check import kept_figures

        found += kept_figures(place)
    if arguments.json:
        out_json([{"check": c.name, "ok": c.ok, "text": c.text} for c in found])
    else:
        for check in found:
            words = {True: "✓ ok    ", False: "✗ FAIL  ", None: "~ note  "}[check.ok]
            how = f"{words.split()[1]} " if plain() else words
            out(f"{how}{check.name}: {check.text}")
    return ExitCode.INVALID if any(check.ok is False for check in found) else ExitCode.DONE


def _sizes(arguments: argparse.Namespace) -> int:
    from reviewer.desk.integrity.sizes import sizes

    found = sizes(workspace_of(arguments))
    if arguments.json:
        from msgspec import to_builtins

        out_json(to_builtins(found))
        return ExitCode.DONE
    out(
        f"{found.path}: {found.file_bytes:,} bytes, {found.free_bytes:,} of them free; "
        f"log {found.log_bytes:,} bytes"
    )
    for kind, count in (found.kinds or {}).items():
        out(f"{kind}: {count:,} bytes")
    if found.kinds is None:
        out("bytes by kind: not measured: this SQLite was built without dbstat")
    for path, count in found.archives.items():
        out(f"archived in {visible_line(path)}: {count:,} bytes")
    rows = []
    for suite in found.suites:
        rows.append((suite.suite_id, *_sized(suite.sizes)))
        for candidate_id, one in suite.candidates.items():
            rows.append((f"{suite.suite_id}/{candidate_id}", *_sized(one)))
    if rows:
        table(rows, ("of", "traces", "revisions", "payload bytes", "event bytes", "archived bytes"))
    return ExitCode.DONE


def _sized(one: "Sizes") -> tuple[str, ...]:
    counts = (
        one.traces, one.revisions, one.payload_bytes, one.event_bytes, one.archived_bytes,
    )  # fmt: skip
    return tuple(f"{count:,}" for count in counts)


def _vacuum(arguments: argparse.Namespace) -> int:
    from reviewer.desk.integrity.vacuuming import give_back

    workspace = workspace_of(arguments)
    done = give_back(workspace, arguments.seconds)
    before, after = (one.pages * one.size for one in (done.before, done.after))
    if arguments.json:
        out_json({"before_bytes": before, "after_bytes": after, "later": done.later})
    elif not done.before.free:
        out(f"{workspace.store}: no page is free, nothing to give back")
    else:
        out(f"{workspace.store}: {before:,} bytes before, {after:,} after")
    if done.later:
        note("another process still reads it as it was: the file gets smaller when that has ended")
    return ExitCode.DONE


def _backup(arguments: argparse.Namespace) -> int:
    from reviewer.desk.integrity.archiving import archived_files
    from reviewer.desk.integrity.backups import backup

    target = Path(arguments.file)
    made = backup(workspace_of(arguments), target)
    note(f"wrote {target}, {made.size:,} bytes, up to {_entry(made.head)}")
    for one in archived_files(workspace_of(arguments)):
        note(f"archived payloads are not in it: copy {visible_line(str(one.path))} too")
    return ExitCode.DONE


def _restore(arguments: argparse.Namespace) -> int:
    from reviewer.desk.integrity.backups import restore

    workspace = workspace_of(arguments)
    done = restore(workspace, Path(arguments.file), arguments.replace)
    note(f"{workspace.store} is {arguments.file} now, up to {_entry(done.head)}")
    if done.aside is not None:
        told = "another history" if done.later is None else f"{max(done.later, 0)} more entries"
        note(f"the store before it has {told} and is now {done.aside}")
    if (done.later or 0) > 0:
        note(f"every report says so; reviewer merge {done.aside} brings back what it holds")
    note("reviewer doctor checks the signed files next to it")
    return ExitCode.DONE


def _entry(head: "Head") -> str:
    return f"journal entry {head.seq}, head {head.hash.hex()[:16]}"


def _schema(arguments: argparse.Namespace) -> int:
    from reviewer.desk.workspace.api import schema

    out_json(schema(arguments.kind))
    return ExitCode.DONE
