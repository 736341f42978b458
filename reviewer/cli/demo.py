"""`reviewer demo`: the ShopFlow example, run in a throw-away workspace."""

import argparse
import shutil
import tempfile
import threading
from pathlib import Path

from reviewer.cli.say import note, out
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError, expected_failure
from reviewer.desk.place import Workspace, make
from reviewer.desk.runs.api import RunOrder
from reviewer.desk.workspace.api import load_shipped
from reviewer.exit_codes import ExitCode

SUITE = "refund-eval-v5"
CANDIDATES = ("refund-agent-v7", "refund-agent-v8")
JOBS = 3
PACE = 0.25
"""Share of the recorded latency that an attempt takes, so that the grid is seen to fill."""


def _demo_arguments(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--headless", action="store_true", help="print both reports and exit")
    demo.add_argument("--keep", metavar="DIR", help="make the workspace in this folder and keep it")


ARGUMENTS = {
    "demo": _demo_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.keep:
        folder = Path(arguments.keep)
        if folder.exists() and any(folder.iterdir()):
            raise DeskError(
                f"{folder} is not empty",
                "--keep needs a new folder: name one that is not there yet",
                exit_code=ExitCode.USAGE,
            )
        return _show(arguments, make(folder, example=True))
    folder = Path(tempfile.mkdtemp(prefix="reviewer-demo-"))
    try:
        return _show(arguments, make(folder, example=True)._replace(keys=folder / "keys"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _show(arguments: argparse.Namespace, workspace: Workspace) -> int:
    desk = Desk(workspace, arguments.reviewer)
    try:
        if not arguments.headless:
            from reviewer.cli.workstation import open_on, settings_of

            # In a thread, so that the first frame need not wait for it.
            threading.Thread(target=_load, args=(workspace,), name="load", daemon=True).start()
            code = open_on(desk, settings_of(arguments), _orders(JOBS, PACE), tour=True)
            if code == ExitCode.DONE:
                _end(desk, arguments.keep)
            return code
        load_shipped(workspace)
        for order in _orders(jobs=JOBS, pace=0.0):
            ended = desk.runs.start(order).wait()
            if ended.state != "done":
                raise DeskError(
                    f"the shipped example did not run: {ended.problem}",
                    "reviewer init --example DIR makes a workspace that can be looked into",
                    exit_code=ExitCode.INTERNAL,
                )
        from reviewer.report.render.text import summary_text

        for number, candidate in enumerate(CANDIDATES):
            if number:
                out()
            out(summary_text(desk.reports.build(SUITE, candidate).report).rstrip("\n"))
        _end(desk, arguments.keep)
        return ExitCode.DONE
    finally:
        desk.close()


NEXT = (
    ("reviewer init", "makes a workspace of your own in this folder"),
    ("reviewer suite new", "makes a first suite out of how your agent's tools are described"),
    ("reviewer import FILE", "takes in traces that you have; reviewer formats lists them"),
)


def _end(desk: Desk, kept: str | None) -> None:
    """Say what the demo has made, whether it is kept, and what to do next."""
    note("this demo made:")
    for one in desk.workspace.candidates(SUITE):
        told = f"signed {one.decided}" if one.decided else "nothing signed"
        traces = f"{one.traces:,} attempt{'' if one.traces == 1 else 's'}"
        note(f"  {one.candidate_id} on {SUITE}: {traces}, report {one.recommendation}, {told}")
    if kept:
        note(f"the workspace is kept: reviewer --workspace {kept} opens it")
    else:
        note("its workspace is deleted now; reviewer demo --keep DIR keeps one")
    note("next:")
    for command, what in NEXT:
        note(f"  {command:<22}{what}")


def _load(workspace: Workspace) -> None:
    """Load the labels and judgments of the example. Ignore expected failures: the runs report a
    store that cannot be written, and the folder is gone if the user has quit."""
    try:
        load_shipped(workspace)
    except Exception as error:
        if expected_failure(error) is None and not isinstance(error, OSError):
            raise


def _orders(jobs: int, pace: float) -> list[RunOrder]:
    """Return the orders that run both candidates on every slot of the plan."""
    return [
        RunOrder(suite_id=SUITE, candidate_id=candidate, jobs=jobs, pace=pace)
        for candidate in CANDIDATES
    ]
