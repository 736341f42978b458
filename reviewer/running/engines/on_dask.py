"""Dask as an engine: a crew in a task on each worker, and its messages as calls that the scheduler
forwards to the worker's process."""

import asyncio
import logging
import os
import secrets
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reviewer.running.engines import CONNECT_S, Engine, EngineProblem, WorkerUnfit, not_installed
from reviewer.running.engines.crew import Crew, EndedMessage, FromCrew, ToCrew

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_crews: dict[str, Crew] = {}
"""The crews of this process, which is a worker's."""


def _crew(name: str) -> Crew:
    return _crews.setdefault(name, Crew())


def _work(name: str) -> None:
    """Run a crew, as a task: the scheduler knows that a thread of the worker is in use."""
    _crew(name).run()


async def _told(name: str, messages: Sequence[ToCrew]) -> None:
    _crew(name).tell(messages)


async def _heard(name: str) -> list[FromCrew]:
    told = await asyncio.to_thread(_crew(name).hear)
    if told and isinstance(told[-1], EndedMessage):
        del _crews[name]
    return told


async def _let_the_run_decide() -> None:
    """Ignore SIGINT: Ctrl-C in a terminal reaches all its processes, and the run decides what it
    means."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Station:
    def __init__(self, client: "Client", worker: str) -> None:
        self._client, self._worker = client, worker
        self._name = f"reviewer-{secrets.token_hex(8)}"
        self._task = client.submit(
            _work, self._name, key=self._name, workers=[worker], pure=False, retries=0
        )

    def tell(self, messages: Sequence[ToCrew]) -> None:
        self._call(_told, self._name, list(messages))

    def hear(self) -> list[FromCrew]:
        found: list[FromCrew] = self._call(_heard, self._name)
        return found

    def _call(self, function: Any, *args: Any) -> Any:
        try:
            return self._client.run(function, *args, workers=[self._worker])[self._worker]
        except (ImportError, AttributeError) as error:
            raise WorkerUnfit(f"cannot load reviewer ({error}): install it there") from error

    def close(self) -> None:
        try:
            self._task.cancel()
        except Exception:  # the connection may be gone
            return


class _Dask:
    name = "dask"

    def __init__(self, client: "Client", cluster: "LocalCluster | None") -> None:
        self._client, self._cluster = client, cluster

    def workers(self) -> list[str]:
        return list(self._client.nthreads())

    def station(self, worker: str) -> _Station:
        if self._cluster is not None:
            self._client.run(_let_the_run_decide, workers=[worker])
        return _Station(self._client, worker)

    def close(self) -> None:
        for each in (self._client, self._cluster):
            try:
                if each is not None:
                    each.close(timeout=5)
            except Exception:  # nothing of the run depends on it
                continue


def connect(address: str, workers: int) -> Engine:
    """Connect to the scheduler at an address, or the one that a scheduler file names (`….json`);
    without an address start workers on this machine. Raises EngineProblem."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise not_installed("dask") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said by the run
    cluster = None
    try:
        if address.endswith(".json") and not os.path.exists(address):
            raise FileNotFoundError(address)
        if not address:
            cluster = LocalCluster(
                n_workers=workers or os.cpu_count() or 1,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        client = Client(**({"address": cluster} if cluster else where), timeout=CONNECT_S)
        client.wait_for_workers(1, timeout=CONNECT_S)
    except Exception as error:
        if cluster is not None:
            cluster.close(timeout=5)
        raise EngineProblem(
            f"--executor dask:{address}: no scheduler with a worker answers within "
            f"{CONNECT_S:g} s ({type(error).__name__})",
            "dask scheduler and dask worker ADDRESS start them (docs/engines.md)",
            "--executor dask starts workers on this machine",
        ) from error
    return _Dask(client, cluster)
