"""The attempts of this store that the annotations of other tools name."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries import imports
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.importing.annotations import Annotation
from reviewer.importing.pipeline.scoring import permanent_name
from reviewer.suite.errors import shown

_TRACE = "trace:"


class Attempt(NamedTuple):
    """One attempt: its trace, the digest of the judged record, and those of all its records."""

    trace_id: str
    candidate_id: str
    episode_id: str
    record: str
    records: frozenset[str]


class Attempts:
    """The attempts of one suite, by the id of a trace or by task and model. `candidates` are texts
    MODEL=CANDIDATE, or one candidate for annotations that name no model."""

    def __init__(
        self,
        connection: Connection,
        suite_id: str,
        candidates: Iterable[str],
        episodes: Iterable[tuple[str, str]],
        masked: Callable[[str], str],
    ) -> None:
        self._connection, self._suite_id, self._masked = connection, suite_id, masked
        self._suite = registry.suite_row(connection, suite_id)
        self._called = dict(episodes)
        self._episodes = registry.episode_ids(connection, self._suite.id) if self._suite else {}
        self._candidates = self._of_models(candidates)
        self._found: dict[tuple[str, str, str], Attempt | str] = {}

    def _of_models(self, given: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in given:
            model, equals, candidate = text.partition("=")
            model, candidate = (model, candidate) if equals else ("", text)
            if not candidate or found.setdefault(model, candidate) != candidate:
                raise DeskError(
                    f"--candidate {shown(text)}: one candidate for each model",
                    "--candidate MODEL=CANDIDATE",
                    exit_code=ExitCode.USAGE,
                )
        return found

    def of(self, one: Annotation) -> Attempt | str:
        """Return the attempt that an annotation names, or why there is none."""
        named = one.trace, one.task, one.model
        if named not in self._found:
            self._found[named] = (
                self._traced(one.trace) if one.trace else self._planned(one.task, one.model)
            )
        return self._found[named]

    def _traced(self, trace: str) -> Attempt | str:
        names = dict.fromkeys((trace, trace.lower(), trace.replace("-", "").lower()))
        found: dict[int, imports.StoredAttempt] = {}
        for name in names:
            kept = permanent_name(_TRACE + name, self._masked)
            for stored in imports.attempts_named(self._connection, kept):
                if imports.names_of(self._connection, stored.trace).suite_id == self._suite_id:
                    found[stored.trace] = stored
        if not found:
            return f"its trace is not in this store as an attempt of {shown(self._suite_id)}"
        if len(found) > 1:
            return "its trace is in several attempts: it is unclear which one is meant"
        (stored,) = found.values()
        called = imports.names_of_trace(self._connection, stored.trace)
        parts = sum(name.startswith(_TRACE) for name in called)
        if parts > 1:
            return "its trace is one of several that make up an attempt"
        return self._attempt(stored)

    def _planned(self, task: str, model: str) -> Attempt | str:
        candidate = self._candidates.get(model)
        if candidate is None:
            named = f" for the model {shown(self._masked(model))}" if model else ""
            return f"no --candidate names a candidate{named}"
        row = self._suite and registry.candidate_row(self._connection, self._suite.id, candidate)
        if not row:
            return f"candidate {shown(candidate)} has no attempt here on {shown(self._suite_id)}"
        episode = self._episodes.get(self._called.get(task, task))
        if episode is None:
            return (
                f"its task is not an episode of {shown(self._suite_id)} (--episode-map names them)"
            )
        stored = imports.attempts_at(self._connection, (row.id, episode))
        if not stored:
            return f"candidate {shown(candidate)} has no attempt of its task"
        if len(stored) > 1:
            return f"candidate {shown(candidate)} has several attempts of its task"
        return self._attempt(stored[0])

    def _attempt(self, stored: imports.StoredAttempt) -> Attempt:
        names = imports.names_of(self._connection, stored.trace)
        records = imports.records_of(self._connection, stored.trace)
        return Attempt(
            trace_id=names.trace_id,
            candidate_id=names.candidate_id,
            episode_id=names.episode_id,
            record=stored.sha256.hex(),
            records=frozenset(digest.hex() for digest in records),
        )
