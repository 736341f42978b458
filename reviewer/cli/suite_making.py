"""`reviewer suite from-tau2|from-golden`."""

import argparse
from pathlib import Path

from reviewer.cli.opening import workspace_of
from reviewer.cli.say import fact, note, out_json
from reviewer.desk.workspace import suite_making
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
    """Make a suite; 20 when records were left out, though the others are in it."""
    place, file = workspace_of(arguments), Path(arguments.file)
    if arguments.act == "from-tau2":
        policy = Path(arguments.policy) if arguments.policy else None
        made = suite_making.from_tau2(
            place, file, arguments.new_id, arguments.domain, policy, arguments.require
        )
    else:
        made = suite_making.from_golden(place, file, arguments.new_id, arguments.match)
    if arguments.json:
        out_json(
            {
                "suite_id": made.suite_id,
                "folder": str(made.folder),
                "episodes": made.episodes,
                "left_out": [one._asdict() for one in made.left_out],
                "notes": [{"note": text, "episodes": times} for text, times in made.notes],
            }
        )
    else:
        _say(made)
    return ExitCode.INVALID if made.left_out else ExitCode.DONE


def _say(made: suite_making.Made) -> None:
    fact(f"{made.suite_id}: {made.episodes} episodes in {made.folder}")
    for one in made.left_out:
        fact(f"left out: {one.record}: {one.reason}")
    for text, times in made.notes:
        note(f"note: {text} ({times} episode{'s' if times != 1 else ''})")
    note(f"not frozen: read the contracts, then reviewer suite freeze {made.suite_id}")
