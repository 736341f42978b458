"""Answers of the workspace's room as plain values."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reviewer.desk.views import SuiteInfo, View

MOST_LISTED = 5_000
"""Most episodes of a suite whose contracts are read at once; in a larger suite each is read when it
is shown."""


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


class ClauseText(View, frozen=True):
    """One clause of a contract: where it is in the file of its episode, and what it says."""

    place: str
    clause: str


class EpisodeContents(View, frozen=True):
    """One episode of a suite. `user` says who answers the agent, "" for nobody; `limits` are those
    of its budget, in words."""

    episode_id: str
    title: str
    category: str
    tags: tuple[str, ...]
    user_request: str
    user: str
    required: tuple[str, ...]
    forbidden: tuple[str, ...]
    limits: str
    clauses: tuple[ClauseText, ...]


class SuiteContents(View, frozen=True):
    """The content of a suite: its policy as (name, text), its tools, its own checks, its episodes
    in the order of display, and the clauses of its policy that apply to every episode."""

    info: SuiteInfo
    policy: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]
    checks: tuple[str, ...]
    episodes: Sequence[EpisodeContents]
    everywhere: tuple[ClauseText, ...]
