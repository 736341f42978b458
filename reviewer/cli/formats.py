"""`reviewer formats`: what can be imported, and which reader takes a file."""

from __future__ import annotations  # types are named without loading their modules

import argparse
from pathlib import Path

from msgspec import to_builtins

from reviewer.cli.say import note, out, out_json, table
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural
from reviewer.trace.safetext import visible_line


def _arguments(take: argparse.ArgumentParser) -> None:
    take.add_argument(
        "act",
        nargs="?",
        choices=("list", "show", "check"),
        default="list",
        help="show: all about one format; check: which reader takes a file, and why",
    )
    take.add_argument(
        "names", nargs="*", metavar="NAME|FILE", help="formats to show, files or folders to check"
    )


ARGUMENTS = {"formats": _arguments}


def run(arguments: argparse.Namespace) -> int:
    if arguments.act == "check":
        return _check(arguments)
    if arguments.act == "show":
        return _show(arguments)
    if arguments.names:
        raise DeskError(
            "formats list takes no name", "reviewer formats show NAME", exit_code=ExitCode.USAGE
        )
    return _list(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from reviewer.desk.imports.formats import formats, refused_by_name

    found, refused = formats(), refused_by_name()
    if arguments.json:
        out_json({"formats": to_builtins(found), "refused_by_name": refused})
        return ExitCode.DONE
    rows: list[tuple[str, ...]] = [
        (one.name, _bare(one.by), ", ".join(one.not_measured)) for one in found
    ]
    table(rows, ("format", "recognized by", "not measured"))
    out(f"{plural(len(found), 'format')}; {len(refused)} more are recognized and refused by name:")
    for name in refused:
        out(f"  {name}")
    return ExitCode.DONE


def _show(arguments: argparse.Namespace) -> int:
    from reviewer.desk.imports.formats import formats

    known = {one.name: one for one in formats()}
    if not arguments.names:
        raise DeskError("formats show needs a name", "reviewer formats", exit_code=ExitCode.USAGE)
    for name in arguments.names:
        if name not in known:
            raise DeskError(
                f"no format {visible_line(name)}",
                "reviewer formats lists them",
                exit_code=ExitCode.USAGE,
            )
    shown = [known[name] for name in arguments.names]
    if arguments.json:
        out_json(to_builtins(shown))
        return ExitCode.DONE
    for one in shown:
        out(f"{one.name}, version {one.version} of its reader")
        out(f"  recognized by: {_bare(one.by) or 'not stated'}")
        if one.beside:
            out(f"  read with it: {_bare(one.beside)}")
        for word, text in one.feeds.items():
            out(f"  {word}: {'not measured' if word in one.not_measured else _bare(text)}")
        whom = "a probe suite, which certifies no release" if one.probe else "any suite"
        out(f"  feeds {whom}")
    return ExitCode.DONE


def _check(arguments: argparse.Namespace) -> int:
    from reviewer.desk.imports.formats import claims

    if not arguments.names:
        raise DeskError(
            "formats check needs a file or folder",
            "reviewer formats check FILE",
            exit_code=ExitCode.USAGE,
        )
    found = claims(Path(name) for name in arguments.names)
    if arguments.json:
        out_json(to_builtins(found))
    else:
        for one in found.files:
            if not one.reader:
                out(f"{visible_line(one.path)}: refused: {visible_line(one.refusal)}")
                continue
            out(f"{visible_line(one.path)}: {one.reader}")
            out(f"  recognized by: {_bare(one.by) or 'not stated'}")
            if one.also:
                out(f"  also claimed by: {', '.join(one.also)}, asked later")
            if one.suite_id:
                out(f"  suite: {visible_line(one.suite_id)}")
            if one.candidate_id:
                out(f"  candidate, where the record names none: {visible_line(one.candidate_id)}")
            for path in one.beside[:20]:
                out(f"  read with it: {visible_line(path)}")
            if len(one.beside) > 20:
                out(f"  and {len(one.beside) - 20} more")
        for text in found.problems:
            note(text)
        if found.passed:
            note(f"{plural(found.passed, 'other file')} below these folders: no trace")
    refused = any(not one.reader for one in found.files)
    return ExitCode.INVALID if refused else ExitCode.DONE


def _bare(text: str) -> str:
    return text.replace("`", "")
