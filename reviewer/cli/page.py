"""`reviewer _page`: the workstation behind one page of `reviewer serve`. Not for people."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from reviewer.cli.opening import workspace_of
from reviewer.cli.say import note
from reviewer.cli.workstation import LaterDesk, settings_of
from reviewer.desk.roles import known_role

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk

DRIVER = "reviewer.web.driver:PageDriver"


def _page_arguments(page: argparse.ArgumentParser) -> None:
    page.add_argument("--role", default="", help="what the page's person may do")
    page.add_argument("--principal", default="", help="whose keys sign for them")


ARGUMENTS = {"_page": _page_arguments}


def run(arguments: argparse.Namespace) -> int:
    # The page shows the same, whatever terminal the server was started in.
    os.environ.update(TEXTUAL_DRIVER=DRIVER, TERM="xterm-256color")
    with _quietly(), ExitStack() as ending:
        role = None
        if arguments.role:
            role = known_role(arguments.role, "--role")
            # Settings of a served person last as long as their page and are not this account's.
            own = ending.enter_context(tempfile.TemporaryDirectory())
            os.environ.update(XDG_CONFIG_HOME=own, XDG_STATE_HOME=own)
            os.environ.pop("REVIEWER_SETTINGS", None)
        desk = LaterDesk(
            workspace_of(arguments), arguments.reviewer, arguments.embedding_model, role,
            arguments.principal,
        )  # fmt: skip
        try:
            from reviewer.tui.app.app import run as run_app

            settings = settings_of(arguments)
            if role is not None:
                settings = settings._replace(file=None)  # --settings is a file of this account
            return run_app(cast("Desk", desk), settings=settings)
        finally:
            desk.close()


@contextmanager
def _quietly() -> Iterator[None]:
    """Hold back stderr, where a crash may print local variables with texts of traces in them: the
    server's terminal gets its last line, made safe, and all of it under REVIEWER_DEBUG."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            said.seek(0)
            lines = [
                line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()
            ]
            shown = lines if os.environ.get("REVIEWER_DEBUG") else lines[-1:]
            for line in shown:
                note(f"a page: {line[:1000]}")
