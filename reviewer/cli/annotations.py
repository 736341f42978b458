"""`reviewer labels import --from TOOL`: what people said of attempts in other tools."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from reviewer.cli.labels import counts_words, plain_counts, say_problems
from reviewer.cli.opening import workspace_of
from reviewer.cli.say import counted, fail, note, out_json
from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.imports.importing import import_map
from reviewer.desk.labels.annotations import (
    AnnotationOrder,
    AnnotationsTaken,
    import_annotations,
)
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_bytes

MOST_BYTES = 64 << 20
SHOWN = 20


def import_from(arguments: argparse.Namespace) -> int:
    """Import files of annotations, each as one transaction; one bad file costs that file only."""
    if not arguments.suite:
        raise DeskError(
            "--from needs the --suite that the attempts belong to",
            "add --suite S",
            exit_code=ExitCode.USAGE,
        )
    named = import_map(Path(arguments.episode_map)).episodes if arguments.episode_map else ()
    order = AnnotationOrder(
        tool=arguments.tool,
        suite_id=arguments.suite,
        maps=tuple(arguments.map),
        candidates=tuple(arguments.candidate),
        episodes=named,
    )
    workspace = workspace_of(arguments)
    found: list[tuple[str, AnnotationsTaken]] = []
    code = 0
    for name in arguments.files:
        try:
            data = read_bytes(Path(name), MOST_BYTES)
            taken = import_annotations(workspace, order, data, name)
        except DeskError as error:
            code = fail(error.text, *error.ways_out, exit_code=error.exit_code)
            continue
        except ContractError as error:  # a file that cannot be read
            code = fail(str(error), *ways_out(error), exit_code=ExitCode.INVALID)
            continue
        found.append((name, taken))
        if not arguments.quiet:
            for line in _lines(name, taken):
                note(line)
        say_problems(taken.labels.problems)
        nothing = not taken.labels.added and not taken.labels.known
        code = ExitCode.INVALID if taken.labels.refused or nothing else code
    if arguments.json:
        out_json([_plain(name, taken) for name, taken in found])
    return code


def _lines(name: str, taken: AnnotationsTaken) -> Iterator[str]:
    """Yield what was imported, and what is not measured, by reason."""
    yield f"{name}: {counts_words(taken.labels, 'label')}"
    if taken.labels.added:
        people = f"{counted(taken.attempts, 'attempt')} by {', '.join(taken.annotators)}"
        yield f"  {people}; not blind: counted apart from labels given here"
    if taken.revised:
        yield f"  {taken.revised} of them in place of earlier ones"
    for one in taken.aside[:SHOWN]:
        rows = ", ".join(map(str, one.rows)) + (", …" if one.times > len(one.rows) else "")
        yield f"  not measured: {one.times} × {one.why} (row {rows})"
    if len(taken.aside) > SHOWN:
        yield f"  and {len(taken.aside) - SHOWN} more reasons (--json has all)"


def _plain(name: str, taken: AnnotationsTaken) -> dict[str, object]:
    return {
        "path": name,
        **plain_counts(taken.labels),
        "revised": taken.revised,
        "attempts": taken.attempts,
        "annotators": list(taken.annotators),
        "not_measured": [
            {"why": one.why, "count": one.times, "first_rows": list(one.rows)}
            for one in taken.aside
        ],
    }
