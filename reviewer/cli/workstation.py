"""`reviewer`: the workstation on the workspace of the current folder."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from reviewer.cli.head_start import MISSING, begin
from reviewer.cli.opening import workspace_of
from reviewer.cli.say import fail, plain
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.place import Workspace
    from reviewer.desk.roles import Role
    from reviewer.desk.runs.api import RunOrder
    from reviewer.tui.settings.settings import Settings
    from reviewer.tui.shell.places import Place


class LaterDesk:
    """A desk that is loaded by the first question put to it, so that the first frame need not wait
    for it; a second process answers the first screen's questions. Safe from any thread.

    With a `role`, a question that the person of a served session may not ask is refused. `release`
    are the suite and candidate that the first screen shows, where they are named.
    """

    def __init__(
        self,
        workspace: "Workspace",
        reviewer: str = "",
        embedding_model: str = "",
        role: "Role | None" = None,
        principal: str = "",
        release: tuple[str, str] = ("", ""),
    ) -> None:
        self.place, self.path, self.role = workspace, str(workspace.root), role
        self._asked = workspace, reviewer, embedding_model, principal
        self._desk: Desk | None = None
        self._loading = Lock()
        # The second process asks as the person who owns this machine.
        self._ahead = self._asking = begin(self._made, workspace, release) if role is None else None

    def _made(self) -> "Desk":
        from reviewer.desk.desk import Desk

        return Desk(*self._asked)

    def _loaded(self) -> "Desk":
        with self._loading:
            if self._desk is None:
                self._desk = self._made()
        return self._desk

    def __getattr__(self, name: str) -> "_LaterRoom":
        """Return a room of the desk; the desk is loaded when a method of the room is called."""
        return _LaterRoom(self, name)

    def ask(self, room: str, method: str, *arguments: Any, **named: Any) -> Any:
        """Return a room's answer: from the second process while it has any, else from our desk."""
        if self.role is not None:
            from reviewer.desk.roles import ANSWERS, require, shaped

            if (room, method) in ANSWERS:
                return ANSWERS[room, method]
            require(self.role, room, method)
            answer = getattr(getattr(self._loaded(), room), method)(*arguments, **named)
            return shaped(self.role, room, method, answer)
        ahead = self._asking
        if ahead is not None and not named:
            answer = ahead.answer(f"{room}.{method}", *arguments)
            if answer is not MISSING:
                return answer
        return getattr(getattr(self._loaded(), room), method)(*arguments, **named)

    def allow(self, room: str, method: str) -> None:
        """Raise DeskError unless the person may call this method: for a door that looks at this
        machine's files before it calls it."""
        if self.role is not None:
            from reviewer.desk.roles import require

            require(self.role, room, method)

    def version(self) -> int:
        """Return a number that changes with the store. From now on the store itself answers every
        question; a caller that already waits for the second process still gets its answer, and
        reads again when the number changes."""
        if self._asking is not None:
            self._asking.forget()
            self._asking = None
        return self._loaded().version()

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.end()
        if self._desk is not None:
            self._desk.close()


class _LaterRoom:
    """A room of a `LaterDesk`."""

    def __init__(self, desk: LaterDesk, room: str) -> None:
        self._desk, self._room = desk, room

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._desk.ask, self._room, method)


def run(arguments: argparse.Namespace) -> int:
    named = getattr(arguments, "suite", None) or "", getattr(arguments, "candidate", None) or ""
    desk = LaterDesk(
        _place(arguments),
        arguments.reviewer,
        arguments.embedding_model,
        release=named if all(named) else ("", ""),
    )
    try:
        first = _first(arguments, cast("Desk", desk))
        return open_on(cast("Desk", desk), settings_of(arguments), first=first)
    finally:
        desk.close()


def _first(arguments: argparse.Namespace, desk: "Desk") -> "Sequence[Place]":
    """Return the places that the command line names: a scorecard, and a comparison on top of it
    where a baseline is named. Empty where it names nothing."""
    asked = tuple(
        getattr(arguments, name, None) or "" for name in ("suite", "candidate", "baseline")
    )
    if not any(asked):
        return ()
    from reviewer.tui.shell.places import ToCompare, ToScorecard

    baseline = arguments.baseline or ""
    found = desk.workspace.asked_for(arguments.suite or "", arguments.candidate or "", baseline)
    card = ToScorecard(*found)
    return (card, ToCompare(*found, baseline)) if baseline else (card,)


def _place(arguments: argparse.Namespace) -> "Workspace":
    """Return the workspace, or the place of a draft: of the draft that is named, or of the only one
    that was run if nothing else was."""
    from reviewer.desk.drafts import draft_place, only_draft, place_for

    workspace = workspace_of(arguments)
    if arguments.draft:
        return draft_place(workspace, arguments.draft)
    return place_for(workspace, only_draft(workspace))


def settings_of(arguments: argparse.Namespace) -> "Settings":
    """Return the settings of the person at this terminal, with what the command line overrides."""
    from reviewer.tui.settings.settings import read

    settings = read(arguments.settings)
    return settings.without_mouse("--no-mouse") if arguments.no_mouse else settings


def open_on(
    desk: "Desk",
    settings: "Settings",
    runs: "Sequence[RunOrder]" = (),
    tour: bool = False,
    first: "Sequence[Place]" = (),
) -> int:
    """Open the screens; needs a terminal to draw on. `runs` are started one after another, once the
    screens are open; `tour` shows the screens to someone who may see them for the first time;
    `first` are the places to open, one on top of the other."""
    import sys

    if plain() or not sys.stdin.isatty():
        return fail(
            "the workstation needs a terminal to draw on",
            "reviewer --export-report OUT writes the report without a screen",
            "reviewer scorecard prints the scorecard, one fact a line",
            exit_code=ExitCode.USAGE,
        )
    from reviewer.tui.app.app import run as run_app

    return run_app(desk, settings=settings, runs=runs, tour=tour, first=first)
