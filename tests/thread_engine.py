"""An engine whose workers are threads of this process: what travels is seen, and each can be lost.

Messages are pickled on their way, as every real engine does it.
"""

import pickle
import threading
from collections.abc import Sequence

from reviewer.running.attempt import run_attempt
from reviewer.running.engines import WorkerUnfit
from reviewer.running.engines.crew import Crew, FromCrew, ToCrew
from reviewer.running.worker import Attempt


class Lost(Exception):
    """The worker is gone."""


class ThreadStation:
    def __init__(self, engine: "ThreadEngine", worker: str) -> None:
        self._engine, self._worker = engine, worker
        self._crew = Crew(engine.attempt)
        self.thread = threading.Thread(target=self._crew.run, daemon=True)
        self.thread.start()

    def tell(self, messages: Sequence[ToCrew]) -> None:
        self._there()
        sent = pickle.dumps(list(messages))
        self._engine.sent.append(sent)
        self._crew.tell(pickle.loads(sent))

    def hear(self) -> list[FromCrew]:
        self._there()
        told = pickle.dumps(self._crew.hear())
        self._there()  # what a worker said as it went is never heard
        found: list[FromCrew] = pickle.loads(told)
        self._engine.heard += found
        return found

    def _there(self) -> None:
        if self._engine.unfit:
            raise WorkerUnfit(self._engine.unfit)
        if self._worker not in self._engine.there:
            raise Lost(self._worker)

    def close(self) -> None:
        self._engine.closed.append(self._worker)


class ThreadEngine:
    name = "threads"

    def __init__(self, *workers: str, attempt: Attempt = run_attempt) -> None:
        self.there, self.attempt, self.unfit = list(workers), attempt, ""
        self.sent: list[bytes] = []
        self.heard: list[FromCrew] = []
        self.closed: list[str] = []
        self.stations: dict[str, ThreadStation] = {}
        self.ended = False

    def workers(self) -> list[str]:
        if self.ended:
            raise Lost("the scheduler")
        return list(self.there)

    def station(self, worker: str) -> ThreadStation:
        self.stations[worker] = ThreadStation(self, worker)
        return self.stations[worker]

    def lose(self, worker: str) -> None:
        self.there.remove(worker)

    def close(self) -> None:
        self.ended = True
