"""Write what the documentation takes from the program: docs/cli.md, the man page docs/reviewer.1,
docs/glossary.md, docs/settings.md, docs/screens.md, docs/importable.md, the tables of
docs/parquet.md and docs/schemas/*.json; and the script for new stores, store/schema/new/store.sql.

Run `python docs/make.py` after a change of the command line, of a file's shape or of the store's
schema; a test says when it is due.
"""

import argparse
import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

from reviewer.cli.examples import EXAMPLES
from reviewer.cli.glossary import GLOSSARY
from reviewer.cli.parser import parser
from reviewer.db.archive.tables import TABLES
from reviewer.db.archive.views import VIEWS
from reviewer.db.schema import new_store_file, new_store_script
from reviewer.desk.imports.formats import formats, refused_by_name
from reviewer.desk.workspace.api import kinds, schema

DOCS = Path(__file__).resolve().parent
HEAD = """\
# Command line

Written by `python docs/make.py` from the parser itself.

Data goes to standard output, progress and messages to standard error. If the output is not a
terminal, if `TERM` is `dumb`, or with `--plain`, there are no columns and no bars, and each fact
is on a separate line ([plain.md](plain.md)). `NO_COLOR` is honored.

| exit code | meaning |
|---|---|
| 0 | promote, or done |
| 10 | not promoted: block, repair or hold |
| 2 | usage |
| 20 | invalid input or signature |
| 30 | signature policy not met |
| 40 | internal error |
| 130 | interrupted by Ctrl-C: what was written is kept; repeat the command (a run: `--resume`) |
"""
EVERYWHERE = {"--workspace", "--quiet", "--json", "--plain", "--reviewer"}


def commands(of: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every listed command below a parser, as (its words, its parser), in the parser's order."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            listed = [choice.dest for choice in action._choices_actions]
            for name in listed:
                below = action.choices[name]
                yield name, below
                yield from ((f"{name} {words}", inner) for words, inner in commands(below))


def arguments(of: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a parser takes itself, without its commands and without --help."""
    return [
        action
        for action in of._actions
        if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
    ]


def cli() -> str:
    """docs/cli.md."""
    top = parser()
    parts = [HEAD, "## reviewer\n", "Without a command: open the workstation on this workspace.\n"]
    parts.append(_table(arguments(top)))
    shown = "`--workspace`, `--quiet`, `--json`, `--plain` and `--reviewer`"
    parts.append(f"{shown} can also follow a command.\n")
    for words, command in commands(top):
        own = [a for a in arguments(command) if not EVERYWHERE.intersection(a.option_strings)]
        parts += [f"## reviewer {words}\n", f"{_sentence(command.description or '')}\n"]
        if own:
            parts.append(_table(own))
        if words in EXAMPLES:
            parts.append("\n".join(["```sh", *EXAMPLES[words], "```"]) + "\n")
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _table(actions: list[argparse.Action]) -> str:
    rows = [f"| {_written(action)} | {_cell(action.help or '')} |" for action in actions]
    return "\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"


def _written(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.metavar is None and action.choices:
        name = "{" + ",".join(map(str, action.choices)) + "}"  # as --help has it
    if not action.option_strings:
        text = f"{name}…" if action.nargs == "+" else name
        return f"`[{text}]`" if action.nargs == "?" else f"`{text}`"
    option = action.option_strings[-1]
    return f"`{option}`" if action.nargs == 0 else f"`{option} {name}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def schemas() -> dict[str, str]:
    """File name → content of docs/schemas/."""
    return {f"{kind}.json": json.dumps(schema(kind), indent=2) + "\n" for kind in kinds()}


def pages() -> dict[str, Callable[[], str]]:
    """The pages about the workstation: file name → what writes it."""
    made = runpy.run_path(str(DOCS / "workstation_pages.py"))
    return {"settings.md": made["settings_page"], "screens.md": made["screens_page"]}


def man() -> str:
    """Return docs/reviewer.1."""
    return str(runpy.run_path(str(DOCS / "man_page.py"))["page"]())


def glossary() -> str:
    """Return docs/glossary.md."""
    parts = [
        "# Glossary\n",
        "Written by `python docs/make.py` from `reviewer/cli/glossary.py`; `reviewer glossary "
        "TERM` prints one term.\n",
    ]
    for title, terms in GLOSSARY.items():
        parts += [f"## {title}\n", "| term | meaning | in the code |", "|---|---|---|"]
        for term in terms:
            code = f"`{term.code}`" if term.code else ""
            parts.append(f"| {term.word} | {_cell(term.meaning)} | {code} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def importable() -> str:
    """Return docs/importable.md."""
    found, refused = formats(), refused_by_name()
    fed = list(found[0].feeds)
    parts = [
        "# Formats that can be imported\n",
        "Written by `python docs/make.py` from the readers. `reviewer formats` prints the same "
        "tables, `reviewer formats check FILE` says which reader takes a file, and "
        "[formats.md](formats.md#files-of-other-tools) describes how files are read.\n",
        f"`reviewer import` reads {len(found)} formats: our own trace records (`native`) and "
        f"{len(found) - 1} formats of other tools. It recognizes {len(refused)} more and refuses "
        "them by name.\n",
        "## What each format can feed\n",
        "“no” means that a format does not have this information, which is then shown as not "
        "measured. “joined” verdicts are in other files: import them together with the "
        "trajectories, in one command.\n",
        f"| reader | {' | '.join(fed)} |",
        f"|---|{'---|' * len(fed)}",
    ]
    for one in found:
        cells = " | ".join(_cell(one.feeds[word]) for word in fed)
        parts.append(f"| `{one.name}` | {cells} |")
    parts += ["", "| reader | recognized by | read with it |", "|---|---|---|"]
    parts += [f"| `{one.name}` | {_cell(one.by)} | {_cell(one.beside) or '–'} |" for one in found]
    parts += ["", "## Refused by name\n", *(f"- {name}" for name in refused)]
    return "\n".join(parts) + "\n"


TABLES_FOLLOW = "## Tables"


def parquet() -> str:
    """Return docs/parquet.md: the tables of an archive behind what is written by hand."""
    head = (DOCS / "parquet.md").read_text(encoding="utf-8").partition(TABLES_FOLLOW)[0]
    parts = [
        f"{head.rstrip()}\n\n{TABLES_FOLLOW}\n",
        "The rest of this page is written by `python docs/make.py` from "
        "`reviewer/db/archive/tables.py` and `views.py`.\n",
    ]
    parts += ["### Ready views\n", "| view | rows and content |", "|---|---|"]
    parts += [f"| `{view.name}` | {_cell(view.text)} |" for view in VIEWS]
    parts.append("")
    for table in TABLES.values():
        first = " ".join(("(with `--payloads`)",) if table.name == "payloads" else ())
        parts += [f"### {table.name}\n", f"{_capital(table.text)} {first}".rstrip() + ".\n"]
        parts += ["| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{one.name}` | {one.type} | {_cell(one.text)} |" for one in table.columns]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def main() -> None:
    (DOCS / "parquet.md").write_text(parquet(), encoding="utf-8")
    (DOCS / "importable.md").write_text(importable(), encoding="utf-8")
    (DOCS / "cli.md").write_text(cli(), encoding="utf-8")
    (DOCS / "reviewer.1").write_text(man(), encoding="utf-8")
    (DOCS / "glossary.md").write_text(glossary(), encoding="utf-8")
    new_store_file().write_text(new_store_script(), encoding="utf-8")
    for name, page in pages().items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    (DOCS / "schemas").mkdir(exist_ok=True)
    for name, text in schemas().items():
        (DOCS / "schemas" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
