"""Runs on an engine: whether a request may use it, the connection, and the files that are sent."""

from pathlib import Path
from typing import NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.runs.api import RunOrder
from reviewer.exit_codes import ExitCode
from reviewer.running.engines import Engine, EngineProblem, connect
from reviewer.running.engines.bundle import Bundle, packed
from reviewer.running.engines.fleet import FleetExecutor
from reviewer.running.model import Approver, Unrunnable
from reviewer.suite.candidate import Candidate


class Fleet(NamedTuple):
    """A connection to workers, and the suite that is sent to them."""

    engine: Engine
    bundle: Bundle
    programs: bool

    def executor(self, jobs: int, approver: Approver | None) -> FleetExecutor:
        return FleetExecutor(self.engine, self.bundle, self.programs, jobs, approver)


def fleet_for(
    workspace: Workspace, order: RunOrder, folder: Path, suite: str, candidate: Candidate,
    programs: bool,
) -> Fleet:  # fmt: skip
    """Pack the suite with lock digest `suite` and connect to the engine of a request. Raises
    DeskError."""
    if workspace.draft:
        raise DeskError(
            f"{order.suite_id} is a draft: workers identify a suite by the digest of its lock",
            "leave --executor out",
            f"reviewer suite freeze {order.suite_id}",
            exit_code=ExitCode.USAGE,
        )
    try:
        bundle = packed(folder, suite, candidate)
        return Fleet(connect(order.executor, order.workers), bundle, programs)
    except Unrunnable as error:
        raise DeskError(str(error)) from None
    except EngineProblem as error:
        code = ExitCode.USAGE if error.asked else ExitCode.INVALID
        raise DeskError(error.text, *error.ways_out, exit_code=code) from error
