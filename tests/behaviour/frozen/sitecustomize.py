"""A world that stands still, for the program under test: Python imports this file at its start
because its folder is on PYTHONPATH.

The wall clock gives the moment that BEHAVIOUR_NOW names (seconds since 1970), and what differs
between two equal runs is replaced, in the places that `PLACES` names.
"""

import datetime
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import time
import types
from collections.abc import Callable, Sequence
from typing import Any


class StillClock:
    """The one function of `time` that a measured duration is made of, always at zero."""

    @staticmethod
    def monotonic() -> float:
        return 0.0


class WholeRun:
    """`asyncio` for the writer of a run, whose queue gives nothing before the run has ended: how
    many attempts come while a commit is under way would otherwise be the machine's."""

    def __getattr__(self, name: str) -> Any:
        import asyncio

        if name != "Queue":
            return getattr(asyncio, name)

        class Queue(asyncio.Queue[Any]):
            def __init__(self, maxsize: int = 0) -> None:
                super().__init__()
                self._ended = asyncio.Event()

            async def put(self, item: Any) -> None:
                await super().put(item)
                if item is None:
                    self._ended.set()

            async def get(self) -> Any:
                await self._ended.wait()
                return await super().get()

        return Queue


PLACES: dict[str, dict[str, Any]] = {
    # The digest of the package's own source is part of the journal: it changes with each commit.
    "reviewer.judging": {"judging_version": lambda: "0.1.0+behaviour"},
    # How long this machine takes for a run and for its attempts.
    "reviewer.desk.jobs": {"time": StillClock},
    "reviewer.running.record": {"time": StillClock},
    "reviewer.desk.runs.start": {"chance_name": lambda: "0" * 16},
    "reviewer.desk.runs.jobs": {"asyncio": WholeRun()},
}
"""What is replaced, by module and name: a name that a module lacks is an error."""


HERE = "/proc/self/cwd"


def _now() -> float:
    return float(os.environ["BEHAVIOUR_NOW"])


class _IsDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _DATETIME)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _DATETIME)


_DATETIME = datetime.datetime


class StillDatetime(datetime.datetime, metaclass=_IsDatetime):
    """`datetime` whose present is the world's."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _DATETIME.fromtimestamp(_now(), tz)


class _Replacing(importlib.abc.MetaPathFinder):
    """Finds the modules of `PLACES` as Python does, and replaces names in them once they ran."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in PLACES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        run: Callable[[types.ModuleType], None] = loader.exec_module

        def replaced(module: types.ModuleType) -> None:
            run(module)
            for attribute, value in PLACES[name].items():
                getattr(module, attribute)
                setattr(module, attribute, value)

        loader.exec_module = replaced
        return spec


def stop() -> None:
    """Make the world stand still."""
    # Evidence of some formats names the folder it was found in, by its absolute path: this name of
    # the folder at work is the same in every one.
    if os.path.isdir(HERE):
        os.getcwd = lambda: HERE
    datetime.datetime = StillDatetime  # type: ignore[misc]
    time.time = _now
    time.time_ns = lambda: int(_now() * 1e9)
    sys.meta_path.insert(0, _Replacing())


if "BEHAVIOUR_NOW" in os.environ:
    stop()
