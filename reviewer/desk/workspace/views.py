"""Answers of the workspace's room as plain values."""

from typing import Literal, NamedTuple


class FoundPlace(NamedTuple):
    """A candidate, suite, episode or trace by its name, and where it is. `candidate_id` is empty
    for a suite without traces. `mark` is the verdict of a trace."""

    kind: Literal["candidate", "suite", "episode", "trace"]
    name: str
    where: str
    suite_id: str
    candidate_id: str
    episode_id: str = ""
    trace_id: str = ""
    mark: Literal["", "pass", "fail", "critical", "not_measured"] = ""
