"""Runs on an engine: attempts in workers of Dask, Ray or another system, on many machines.

`connect` finds the engine by name; each is in a module that is imported when it is used. `bundle`
is the suite as it is sent, `crew` the worker's side, and `fleet` the executor that spreads attempts
over crews, whatever system transports the messages.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reviewer.running.engines.crew import FromCrew, ToCrew

GROUP = "reviewer.executors"
"""The entry points of other engines: name → a function like `connect` in `on_dask`."""

CONNECT_S = 10.0
"""Seconds within which an engine must answer, and then have its first worker."""

OURS = {"dask": "on_dask", "ray": "on_ray"}


class EngineProblem(Exception):
    """An engine that cannot be used, with the ways out. `asked` says that the order names it
    wrongly, or that its package is not installed."""

    def __init__(self, text: str, *ways_out: str, asked: bool = False) -> None:
        super().__init__(text)
        self.text, self.ways_out, self.asked = text, ways_out, asked


class WorkerUnfit(Exception):
    """A worker on which no crew can run, and why: reviewer is not installed there."""


class Station(Protocol):
    """A crew on a worker. Both calls block; they raise WorkerUnfit, or anything else when the
    worker is gone. `hear` returns once there are messages, or after a few seconds."""

    def tell(self, messages: "Sequence[ToCrew]") -> None: ...
    def hear(self) -> "list[FromCrew]": ...
    def close(self) -> None:
        """Remove its remains; never raises."""
        ...


class Engine(Protocol):
    """A connection to workers. `name` is the name that users know. All calls block, and may be made
    in any thread."""

    name: str

    def workers(self) -> list[str]:
        """Return the present workers, each by a name that no later one has. Raises anything when
        the connection is lost."""
        ...

    def station(self, worker: str) -> Station:
        """Place a crew on a worker."""
        ...

    def close(self) -> None:
        """Close the connection, and end workers that were started for it; never raises."""
        ...


Connect = Callable[[str, int], Engine]
"""Makes an engine from an address ("" where none was named: workers are started on this machine, as
many as the number says, 0: one for each processor). Raises EngineProblem, in time."""


def connect(asked: str, workers: int = 0) -> Engine:
    """Connect to the engine that `NAME` or `NAME:ADDRESS` names. Raises EngineProblem."""
    name, _, address = asked.partition(":")
    if address and workers:
        raise EngineProblem(
            f"--workers {workers}: {asked} already has its own workers",
            "leave --workers out",
            f"--executor {name} --workers {workers} starts some on this machine",
            asked=True,
        )
    if name in OURS:
        made: Connect = import_module(f"reviewer.running.engines.{OURS[name]}").connect
        return made(address, workers)
    return _installed(name)(address, workers)


def _installed(name: str) -> Connect:
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(sorted([*OURS, *found]))
        raise EngineProblem(
            f"--executor {name[:60]!r}: no such executor (there: {known})",
            "--executor dask or --executor dask:ADDRESS",
            f"install the package that provides it, as an entry point of {GROUP}",
            asked=True,
        )
    try:
        made: Connect = found[name].load()
    except Exception as error:  # another author's package
        raise EngineProblem(
            f"--executor {name}: it cannot be loaded ({type(error).__name__})",
            "fix or remove the package that provides it",
        ) from error
    return made


def not_installed(name: str) -> EngineProblem:
    return EngineProblem(
        f"--executor {name}: {name} is not installed",
        f"pip install 'release-reviewer[{name}]'",
        "--workers N spreads the attempts over processes of this machine",
        asked=True,
    )
