"""Opening what a command works on."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError, meant
from reviewer.desk.place import Workspace, at, find
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk


def workspace_of(arguments: argparse.Namespace) -> Workspace:
    """Return the workspace that is named, or the one that holds the current folder."""
    return at(Path(arguments.workspace)) if arguments.workspace else find()


def desk_of(arguments: argparse.Namespace) -> "Desk":
    from reviewer.desk.desk import Desk  # imports of traces do without it

    return Desk(workspace_of(arguments), arguments.reviewer, arguments.embedding_model)


def desk_on(arguments: argparse.Namespace, suite_id: str | None) -> "Desk":
    """Open the desk that has the runs of a suite: those of a draft are kept apart. Without a suite,
    open that of the workspace, or of the only draft that was run where nothing else was."""
    from reviewer.desk.desk import Desk
    from reviewer.desk.drafts import only_draft, place_for

    workspace = workspace_of(arguments)
    place = place_for(workspace, suite_id or only_draft(workspace))
    return Desk(place, arguments.reviewer, arguments.embedding_model)


def release_of(arguments: argparse.Namespace, desk: "Desk") -> tuple[str, str]:
    """Return (suite, candidate) as asked; fill in what is left out if the traces leave one
    choice."""
    suite, candidate = arguments.suite, arguments.candidate
    if suite and candidate:
        return suite, candidate
    made = desk.workspace.releases()
    if not suite:
        known = sorted({s for s, c in made if candidate in ("", None, c)} or {s for s, _ in made})
        known = known or [info.suite_id for info in desk.workspace.suites()]
        if len(known) != 1:
            raise DeskError(
                f"--suite is needed, one of: {', '.join(known) or 'none'}",
                "reviewer suite list",
                exit_code=ExitCode.USAGE,
            )
        suite = known[0]
    if not candidate:
        names = [c for s, c in made if s == suite]
        if not names and desk.place.draft:
            raise DeskError(
                f"no candidate has run on the draft {suite} since its last edit",
                f"reviewer run {suite} CANDIDATE",
            )
        here = {info.suite_id for info in desk.workspace.suites()}
        if not names and suite not in here:
            near = meant(suite, sorted(here))
            raise DeskError(f"no suite {suite} in {desk.path}{near}", "reviewer suite list")
        if len(names) != 1:
            raise DeskError(
                f"--candidate is needed, one of: {', '.join(names) or 'none imported yet'}",
                f"reviewer suite show {suite}",
                exit_code=ExitCode.USAGE,
            )
        candidate = names[0]
    return suite, candidate


def only_suite(desk: "Desk") -> str:
    """Return the only suite with traces, or else the only suite of the workspace."""
    known = sorted({suite for suite, _ in desk.workspace.releases()})
    known = known or [info.suite_id for info in desk.workspace.suites()]
    if len(known) != 1:
        raise DeskError(
            f"--suite is needed, one of: {', '.join(known) or 'none'}",
            "reviewer suite list",
            exit_code=ExitCode.USAGE,
        )
    return known[0]
