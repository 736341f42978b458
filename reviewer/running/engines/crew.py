"""A worker on an engine: the object that runs attempts there, whatever system transports its
messages.

An engine puts a `Crew` into a process of a worker, calls `run` in a thread of its own, and forwards
two calls: `tell` and `hear`. The suite comes once, in a bundle, and is checked there. Keys of
candidates are those of the worker's own environment: no message contains one.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace

import reviewer
from reviewer.running.attempt import run_attempt
from reviewer.running.candidates.openai_http import kept_connections
from reviewer.running.engines.bundle import Bundle, unpack
from reviewer.running.model import Unrunnable
from reviewer.running.sandbox.protection import protection
from reviewer.running.worker import (
    Attempt,
    EpisodeMessage,
    FromWorker,
    StopMessage,
    ToWorker,
    Worker,
)

HEAR_S = 5.0
"""Most seconds that `hear` waits for messages."""
TOGETHER_S = 0.01
"""Seconds within which ended attempts are reported together."""
SILENCE_S = 60.0
"""Seconds without a `hear` after which the other side is taken to be gone: everything is
stopped."""


class SuiteMessage(NamedTuple):
    """To a crew, first: the suite of the run, by the digests of its lock and of its bundle.
    `programs` says that attempts start programs that others wrote."""

    version: str
    suite_id: str
    suite: str
    bundle: str
    programs: bool


class BundleMessage(NamedTuple):
    """To a crew that asked for it: the suite."""

    bundle: Bundle


class WantedMessage(NamedTuple):
    """From a crew: its worker does not have that bundle."""

    bundle: str


class ReadyMessage(NamedTuple):
    """From a crew: it has the suite, and may be given attempts."""


class RefusedMessage(NamedTuple):
    """From a crew: nothing of this run can be run on its worker."""

    why: str


class EndedMessage(NamedTuple):
    """From a crew, last: it has stopped, and nothing that it started is left."""


ToCrew = ToWorker | SuiteMessage | BundleMessage
FromCrew = FromWorker | WantedMessage | ReadyMessage | RefusedMessage | EndedMessage

_held: dict[str, Bundle] = {}
"""The last bundle sent to this process: the next run of the same suite needs none."""


class Crew:
    """Runs the attempts of one run on one worker. `tell` and `hear` may be called in any thread,
    also before `run`."""

    def __init__(self, attempt: Attempt = run_attempt) -> None:
        self._attempt = attempt
        self._inbox: SimpleQueue[ToCrew] = SimpleQueue()
        self._outbox: SimpleQueue[FromCrew] = SimpleQueue()
        self._heard_at, self._hearing = time.monotonic(), 0
        self._lock = threading.Lock()

    def tell(self, messages: Sequence[ToCrew]) -> None:
        for message in messages:
            self._inbox.put(message)

    def hear(self) -> list[FromCrew]:
        """Return the waiting messages in their order; none when there were none for a while."""
        with self._lock:
            self._hearing += 1
        told: list[FromCrew] = []
        try:
            told.append(self._outbox.get(timeout=HEAR_S))
            until = time.monotonic() + TOGETHER_S
            while (left := until - time.monotonic()) > 0:
                told.append(self._outbox.get(timeout=left))
        except Empty:
            pass
        finally:
            with self._lock:
                self._hearing -= 1
                self._heard_at = time.monotonic()
        return told

    def run(self) -> None:
        """Process messages until one says to stop, or nobody listens any more."""
        try:
            with TemporaryDirectory(prefix="reviewer-crew-") as place:
                early: list[ToCrew] = []
                folder = self._suite(Path(place) / "suites", early)
                if folder is not None:
                    self._outbox.put(ReadyMessage())
                    asyncio.run(self._run(folder, early))
        except Unrunnable as error:
            self._outbox.put(RefusedMessage(str(error)))
        finally:
            self._outbox.put(EndedMessage())

    def _suite(self, suites: Path, early: list[ToCrew]) -> Path | None:
        """Return the folder of the suite, which is requested where this process does not have it;
        None when the run is over before. Other messages meanwhile go into `early`. Raises
        Unrunnable."""
        asked = self._next()
        if not isinstance(asked, SuiteMessage):
            return None
        _check_worker(asked)
        bundle = _held.get(asked.bundle)
        if bundle is None:
            self._outbox.put(WantedMessage(asked.bundle))
            while not isinstance(message := self._next(), BundleMessage):
                if isinstance(message, StopMessage):
                    return None
                early.append(message)
            bundle = message.bundle
        if (bundle.suite_id, bundle.suite, bundle.sha256) != (
            asked.suite_id, asked.suite, asked.bundle
        ):  # fmt: skip
            raise Unrunnable(f"the received bundle is not that of {asked.suite_id} {asked.suite}")
        folder = unpack(bundle, suites)
        _held.clear()
        _held[bundle.sha256] = bundle
        return folder

    async def _run(self, folder: Path, early: list[ToCrew]) -> None:
        inbox: asyncio.Queue[ToWorker] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        given = (loop, inbox, folder, early)
        threading.Thread(target=self._listen, args=given, daemon=True).start()
        async with kept_connections():
            await Worker(self._attempt, self._outbox.put).serve(inbox)

    def _listen(
        self,
        loop: asyncio.AbstractEventLoop,
        inbox: "asyncio.Queue[ToWorker]",
        folder: Path,
        early: list[ToCrew],
    ) -> None:
        """Pass on messages to the worker, with the suite's folder on this machine in its tasks."""
        while True:
            message = early.pop(0) if early else self._next()
            if isinstance(message, SuiteMessage | BundleMessage):
                continue
            if isinstance(message, EpisodeMessage):
                message = EpisodeMessage(replace(message.task, folder=str(folder)))
            loop.call_soon_threadsafe(inbox.put_nowait, message)
            if isinstance(message, StopMessage):
                return

    def _next(self) -> ToCrew:
        """Return the next message; one that says to stop when nobody has listened for long."""
        while True:
            try:
                return self._inbox.get(timeout=1.0)
            except Empty:
                with self._lock:
                    silent = not self._hearing and time.monotonic() - self._heard_at > SILENCE_S
                if silent:
                    return StopMessage()


def _check_worker(asked: SuiteMessage) -> None:
    """Raise Unrunnable where this worker may run nothing of the run."""
    if asked.version != reviewer.__version__:
        raise Unrunnable(
            f"has reviewer {reviewer.__version__}, the run was begun by {asked.version}: install "
            "the same on every worker"
        )
    if asked.programs and protection().kind == "none":
        raise Unrunnable(
            f"cannot isolate the programs that this run starts ({protection().why_not}): none is "
            "run there; install bubblewrap on every worker, or run it on this machine without "
            "--executor"
        )
