"""How the attempts of a candidate came into the store, and which shards of its plan are missing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import filled_slots
from reviewer.db.run_records import RunRecords, ShardOfPlan
from reviewer.report.episodes import Episodes
from reviewer.report.evidence import MissingShard
from reviewer.running.shards import owners
from reviewer.suite.model import Suite


class Arrivals(NamedTuple):
    """The sources (path, sha256) of a candidate's attempts, the shards that its runs made, and what
    the journal says of all runs."""

    sources: tuple[tuple[str, str], ...]
    shards: Sequence[ShardOfPlan]
    runs: RunRecords


def arrivals(
    connection: Connection,
    files: Iterable[tuple[int, str, str]],
    suite_id: str,
    candidate_id: str,
) -> Arrivals:
    """Return the sources as a report names them: merged shards of one run are listed as that
    run."""
    runs = RunRecords(connection)
    found: dict[tuple[str, str], None] = {}
    for source, path, sha256 in files:
        plans = runs.plan_sources(source, suite_id, candidate_id)
        found.update({(plan.path, plan.sha256): None for plan in plans})
        if not plans:
            found[path, sha256] = None
    return Arrivals(tuple(found), runs.shards.get((suite_id, candidate_id), ()), runs)


def shards_missing(
    connection: Connection,
    arrived: Arrivals,
    suite_key: int,
    candidate: registry.CandidateRow,
    suite: Suite,
    counts: Episodes,
) -> tuple[MissingShard, ...]:
    """Return the shards that the planned slots without a trace belong to; none where no run had
    shards. Shards are numbered as in the last run."""
    plan = registry.plan_of(suite, candidate.planned).attempts
    if not arrived.shards or suite.probe or not counts.total(lambda e: e.in_plan < plan):
        return ()
    of = arrived.shards[-1].of
    episodes = [episode.episode_id for episode in suite.episodes]
    owner = owners(episodes, of)
    filled = {row[:2] for row in filled_slots(connection, suite_key, candidate.id)}
    left = Counter(
        owner(episode, n)
        for episode in episodes
        for n in range(1, plan + 1)
        if (episode, n) not in filled
    )
    return tuple(MissingShard(number, of, slots) for number, slots in sorted(left.items()))
