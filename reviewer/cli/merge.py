"""`reviewer merge`: join what another store holds."""

import argparse
from pathlib import Path

from reviewer.cli.labels import counts_words, plain_counts, say_problems
from reviewer.cli.opening import workspace_of
from reviewer.cli.progress import Progress
from reviewer.cli.say import note, out, out_json
from reviewer.exit_codes import ExitCode


def _merge_arguments(merge: argparse.ArgumentParser) -> None:
    merge.add_argument(
        "store", metavar="OTHER.db", help="another person's store, or a backup of it"
    )


ARGUMENTS = {"merge": _merge_arguments}


def run(arguments: argparse.Namespace) -> int:
    from reviewer.desk.imports.indexing import index_behind
    from reviewer.desk.workspace.merge import merge_store

    workspace = workspace_of(arguments)
    progress = Progress(arguments.quiet or arguments.json, "merge", soon=False)
    try:
        merged = merge_store(
            workspace,
            Path(arguments.store),
            lambda done, of: progress.show(done, of, "traces"),
        )
    finally:
        progress.stop()
    index_behind(workspace)
    if arguments.json:
        out_json(
            {
                "traces": {
                    "added": merged.added,
                    "known": merged.known,
                    "refused": merged.refused,
                    **({"moved": merged.moved} if merged.moved else {}),
                },
                "review_sets": plain_counts(merged.review_sets),
                "labels": plain_counts(merged.labels),
                "judgments": plain_counts(merged.judgments),
                "notes": plain_counts(merged.notes),
                "costs": plain_counts(merged.costs),
                "leaks": plain_counts(merged.leaks),
                "pattern_names": {
                    **plain_counts(merged.pattern_names),
                    "contested": list(merged.contested),
                },
                "decisions": list(merged.decisions),
                "problems": list(merged.problems),
            }
        )
    else:
        refused = f", {merged.refused} refused" if merged.refused else ""
        out(f"traces: {merged.added} added, {merged.known} already there{refused}")
        if merged.moved:
            out(
                f"  {merged.moved} under a new number, since another attempt has theirs here: "
                "a failure among them counts as in the plan"
            )
        if any(merged.review_sets[:3]):
            out(f"review sets: {counts_words(merged.review_sets, '')}")
        out(f"labels: {counts_words(merged.labels, '')}")
        out(f"judgments: {counts_words(merged.judgments, '')}")
        out(f"notes: {counts_words(merged.notes, '')}")
        out(f"costs: {counts_words(merged.costs, '')}")
        out(f"looks for leaks: {counts_words(merged.leaks, '')}")
        if any(merged.pattern_names[:3]):
            out(f"pattern names: {counts_words(merged.pattern_names, '')}")
    said = (
        *(merged.review_sets, merged.labels, merged.judgments),
        *(merged.notes, merged.costs, merged.leaks, merged.pattern_names),
    )
    say_problems(problem for one in said for problem in one.problems)
    for text in merged.problems:
        note(f"  {text}")
    if merged.contested:
        note("patterns with names that differ (reviewer patterns name settles it):")
        for text in merged.contested:
            note(f"  {text}")
    if merged.decisions:
        note("signed decisions are files and stay where they were signed:")
        for text in merged.decisions:
            note(f"  {text}")
    left_out = merged.refused or merged.problems or any(one.refused for one in said)
    return ExitCode.INVALID if left_out else ExitCode.DONE
