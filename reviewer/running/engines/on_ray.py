"""Ray as an engine: a crew in an actor for each processor of the cluster, and its messages as calls
of that actor."""

import asyncio
import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from reviewer.running.engines import CONNECT_S, Engine, EngineProblem, WorkerUnfit, not_installed
from reviewer.running.engines.crew import HEAR_S, Crew, FromCrew, ToCrew

ANSWER_S = 60.0
"""Seconds after which an actor that does not answer is taken for lost."""


class CrewActor:
    """A crew in a process of Ray."""

    def __init__(self) -> None:
        self._crew = Crew()
        threading.Thread(target=self._crew.run, daemon=True).start()

    def tell(self, messages: Sequence[ToCrew]) -> None:
        self._crew.tell(messages)

    def hear(self) -> list[FromCrew]:
        return self._crew.hear()


class _Station:
    def __init__(self, ray: Any, node: str) -> None:
        self._ray = ray
        actor = ray.remote(CrewActor).options(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=3,  # sending and receiving, and one to spare
            scheduling_strategy=ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                node, soft=False
            ),
        )
        self._actor = actor.remote()

    def tell(self, messages: Sequence[ToCrew]) -> None:
        self._call(self._actor.tell.remote(list(messages)))

    def hear(self) -> list[FromCrew]:
        found: list[FromCrew] = self._call(self._actor.hear.remote())
        return found

    def _call(self, asked: Any) -> Any:
        try:
            return self._ray.get(asked, timeout=HEAR_S + ANSWER_S)
        except self._ray.exceptions.ActorDiedError as error:
            if "ModuleNotFoundError" in str(error) or "ImportError" in str(error):
                raise WorkerUnfit("cannot load reviewer: install it there") from None
            raise

    def close(self) -> None:
        with suppress(Exception):  # the connection may be gone
            self._ray.kill(self._actor)


class _Ray:
    name = "ray"

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def workers(self) -> list[str]:
        return [
            f"{node['NodeID']}/{place}"
            for node in self._ray.nodes()
            if node["Alive"]
            for place in range(1, int(node["Resources"].get("CPU", 0)) + 1)
        ]

    def station(self, worker: str) -> _Station:
        return _Station(self._ray, worker.partition("/")[0])

    def close(self) -> None:
        with suppress(Exception):
            self._ray.shutdown()


def connect(address: str, workers: int) -> Engine:
    """Connect to the cluster at an address (`HOST:PORT`, or `auto`); without an address start Ray
    on this machine. Raises EngineProblem."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage report about a run is sent
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise not_installed("ray") from None
    quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False, "configure_logging": True}
    try:
        if address:
            _answers(address)
            ray.init(address=address, **quiet)
        else:
            ray.init(
                address="local",
                num_cpus=workers or os.cpu_count() or 1,
                include_dashboard=False,
                **quiet,
            )
    except Exception as error:
        raise EngineProblem(
            f"--executor ray:{address}: no Ray cluster answers ({type(error).__name__})",
            "ray start --head starts one (docs/engines.md)",
            "where it asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as its nodes do",
            "--executor ray starts Ray on this machine",
        ) from error
    return _Ray(ray)


def _answers(address: str) -> None:
    """Raise OSError, in time, for an address where nothing listens: Ray would retry for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return

    async def ask() -> None:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.close()

    with ThreadPoolExecutor(1) as thread:  # the caller's thread may already have an event loop
        thread.submit(lambda: asyncio.run(ask())).result()
