"""`reviewer labels`, `judgments` and `notes` (export, import) and `reviewer merge`: what several
people and judges said, brought together."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from reviewer.cli.opening import desk_of, workspace_of
from reviewer.cli.say import counted, fail, note, out, out_json
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.record_files import Taken
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import Problem
from reviewer.suite.folder import read_bytes

MOST_BYTES = 256 << 20
SHOWN = 20


def run(arguments: argparse.Namespace) -> int:
    if arguments.command == "merge":
        return _merge(arguments)
    return {"export": _export, "import": _import}[arguments.act](arguments)


def _export(arguments: argparse.Namespace) -> int:
    desk, noun = desk_of(arguments), _noun(arguments)
    export = {
        "label": desk.labels.export,
        "judgment": desk.judge.export,
        "note": desk.traces.export_notes,
    }
    data = export[noun](arguments.suite)
    count = data.count(b"\n")
    if arguments.file is None:
        # On a terminal nothing that others wrote may act: ASCII, with the same content.
        for line in data.splitlines():
            sys.stdout.write(json.dumps(json.loads(line), separators=(",", ":")) + "\n")
        return ExitCode.DONE
    target = Path(arguments.file)
    try:
        with target.open("xb") as handle:
            handle.write(data)
    except FileExistsError as error:
        raise DeskError(f"{target} exists: name a new file", exit_code=ExitCode.USAGE) from error
    note(f"wrote {target}, {counted(count, noun)}")
    return ExitCode.DONE


def _import(arguments: argparse.Namespace) -> int:
    from reviewer.desk.judge.files import import_judgments
    from reviewer.desk.labels.files import import_labels
    from reviewer.desk.traces.note_files import import_notes

    workspace, noun = workspace_of(arguments), _noun(arguments)
    takers = {"label": import_labels, "judgment": import_judgments, "note": import_notes}
    take = takers[noun]
    found: list[tuple[str, Taken]] = []
    code = 0
    for name in arguments.files:
        data = read_bytes(Path(name), MOST_BYTES)
        try:
            taken = take(workspace, data, name)
        except DeskError as error:  # one bad file costs that file only
            code = fail(error.text, *error.ways_out, exit_code=error.exit_code)
            continue
        found.append((name, taken))
        if not arguments.quiet:
            note(f"{name}: {_said(taken, noun)}")
        _told(taken.problems)
        code = ExitCode.INVALID if taken.refused else code
    if arguments.json:
        out_json([{"path": name, **_plain(taken)} for name, taken in found])
    return code


def _noun(arguments: argparse.Namespace) -> str:
    return str(arguments.command).removesuffix("s")


def _merge(arguments: argparse.Namespace) -> int:
    from reviewer.desk.imports.importing import index_behind
    from reviewer.desk.workspace.merge import merge_store

    workspace = workspace_of(arguments)
    merged = merge_store(workspace, Path(arguments.store))
    index_behind(workspace)
    if arguments.json:
        out_json(
            {
                "traces": {"added": merged.added, "known": merged.known, "refused": merged.refused},
                "labels": _plain(merged.labels),
                "judgments": _plain(merged.judgments),
                "notes": _plain(merged.notes),
                "costs": _plain(merged.costs),
                "leaks": _plain(merged.leaks),
                "decisions": list(merged.decisions),
                "problems": list(merged.problems),
            }
        )
    else:
        refused = f", {merged.refused} refused" if merged.refused else ""
        out(f"traces: {merged.added} added, {merged.known} already there{refused}")
        out(f"labels: {_said(merged.labels, '')}")
        out(f"judgments: {_said(merged.judgments, '')}")
        out(f"notes: {_said(merged.notes, '')}")
        out(f"costs: {_said(merged.costs, '')}")
        out(f"looks for leaks: {_said(merged.leaks, '')}")
    said = merged.labels, merged.judgments, merged.notes, merged.costs, merged.leaks
    _told(problem for one in said for problem in one.problems)
    for text in merged.problems:
        note(f"  {text}")
    if merged.decisions:
        note("signed decisions are files and stay where they were signed:")
        for text in merged.decisions:
            note(f"  {text}")
    left_out = merged.refused or merged.problems or any(one.refused for one in said)
    return ExitCode.INVALID if left_out else ExitCode.DONE


def _said(taken: Taken, noun: str) -> str:
    words = [f"{counted(taken.added, noun) if noun else taken.added} added"]
    words.append(f"{taken.known} already there")
    if taken.refused:
        words.append(f"{taken.refused} refused")
    return ", ".join(words)


def _told(problems: Iterable[Problem]) -> None:
    told = list(problems)
    for problem in told[:SHOWN]:
        note(f"  {problem}")
    if len(told) > SHOWN:
        note(f"  and {len(told) - SHOWN} more")


def _plain(taken: Taken) -> dict[str, object]:
    return {
        "added": taken.added,
        "known": taken.known,
        "refused": taken.refused,
        "problems": [
            {"place": one.file, "path": one.path, "reason": one.reason} for one in taken.problems
        ],
    }
