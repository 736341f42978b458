"""The attempts that are neither pass nor fail because infrastructure, the simulated user or the
environment ended them: how many, how they ended, and whether they are too many to be left out.

Both imported attempts and those of our own runner count: an imported record only claims how it
ended, and in our own runs the agent can influence what the environment or a user does. Making such
attempts again amounts to choosing among the agent's attempts, so a promotion allows only few.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from reviewer.gates.answers import PERSON
from reviewer.report.episodes import Episodes
from reviewer.report.evidence import Evidence, EvidenceRef, FailedTrace
from reviewer.report.formatting import plural
from reviewer.report.limits import MOST_DISCARDED

MOST_NAMED = 20
"""The number of traces that are named; `attempts` is their full number."""
_ENDED = "terminated"
UNKNOWN_END = "infrastructure"
"""The end of a lost attempt whose findings do not name one."""


class EndCount(Struct, frozen=True, kw_only=True):
    code: str
    count: int


class LostAttempts(Struct, frozen=True, kw_only=True):
    """Attempts that are neither pass nor fail, of all that were `made`: how they ended, and the
    first `traces`. If their share is above `most`, a promotion is `held`. The share leaves out
    those `unattended` attempts (ended by our runner because no one was there to answer a call) that
    were made again with a person. `needed` more attempts that pass or fail bring the share under
    the limit."""

    attempts: int
    unattended: int
    made: int
    ends: tuple[EndCount, ...]
    most: float
    held: bool
    needed: int
    traces: tuple[str, ...]


def lost_attempts(evidence: Evidence, again: int = 0) -> LostAttempts | UnsetType:
    """Return the report's member on lost attempts, unset if there are none. `again` attempts are
    still to be made in their place: they count as made, so that a loss that will be replaced is not
    named twice."""
    traces = _lost(evidence)
    episodes = Episodes.of(evidence.episodes)
    count = episodes.total(lambda e: e.infrastructure)
    if not count:
        return UNSET
    made = episodes.total(lambda e: e.attempts + e.infrastructure)
    unattended = sum(trace.trace_id in evidence.unattended for trace in traces)
    against = count - _made_with_a_person(evidence, traces, again)
    ends = Counter(_end(trace) for trace in traces)
    return LostAttempts(
        attempts=count,
        unattended=unattended,
        made=made,
        ends=tuple(EndCount(code=code, count=times) for code, times in sorted(ends.items())),
        most=float(MOST_DISCARDED),
        held=against > MOST_DISCARDED * (made + again),
        needed=max(0, -(-against // MOST_DISCARDED) - made),
        traces=tuple(trace.trace_id for trace in traces[:MOST_NAMED]),
    )


def _made_with_a_person(evidence: Evidence, traces: list[FailedTrace], again: int) -> int:
    """Return how many attempts that asked for a person were made again with one who answered, or
    still will be. Otherwise an agent that asks where it has failed, and passes without asking where
    it has not, would choose among its attempts."""
    asked = Counter(t.episode_id for t in traces if t.trace_id in evidence.unattended)
    if not asked:
        return 0
    answered: dict[str, int] = {}
    for one in evidence.approvals:
        if one.by.startswith(PERSON) and one.answer in ("granted", "refused"):
            answered[one.episode_id] = max(answered.get(one.episode_id, 0), one.attempts)
    made = sum(min(count, answered.get(episode, 0)) for episode, count in asked.items())
    return min(made + again, asked.total())


class LossyEpisode(NamedTuple):
    """An episode that lost more attempts than it has left."""

    episode_id: str
    lost: int
    left: int


def lossy_episodes(evidence: Evidence, again: Mapping[str, int]) -> list[LossyEpisode]:
    """Return the episodes of which more attempts were lost than pass or fail: an agent that loses
    attempts of its worst episode alone stays within a share of all. `again` attempts are still to
    be made in their place, and those that ended because nobody was there are left out."""
    nobody = Counter(t.episode_id for t in _lost(evidence) if t.trace_id in evidence.unattended)
    found = []
    rows = Episodes.of(evidence.episodes)
    for name, each in rows.where(lambda e: e.infrastructure > 0):
        lost = each.infrastructure - nobody[name]
        if lost > each.attempts + again.get(name, 0):
            found.append(LossyEpisode(name, lost, each.attempts))
    return found


def lost_places(
    evidence: Evidence, episodes: Collection[str] | None = None
) -> tuple[EvidenceRef, ...]:
    """Return the places at which the first lost attempts, of these episodes or of all, say how they
    ended."""
    of = [t for t in _lost(evidence) if episodes is None or t.episode_id in episodes]
    return tuple(
        EvidenceRef(
            trace_id=trace.trace_id,
            episode_id=trace.episode_id,
            attempt=trace.attempt,
            gate="timeout",
            code=f"{_ENDED}:{_end(trace)}",
            seq=next((seq for _, code, seq in trace.evidence if _is_end(code)), None),
            tool=None,
        )
        for trace in of[:MOST_NAMED]
    )


def lost_texts(lost: LostAttempts | UnsetType) -> list[str]:
    """Return the same as a sentence; none where no attempt was lost."""
    if lost is UNSET:
        return []
    made = plural(lost.made, "attempt")
    return [f"neither pass nor fail {lost.attempts} of {made} ({ends_text(lost)})"]


def ends_text(lost: LostAttempts) -> str:
    """Return how the lost attempts ended, with counts."""
    told = ", ".join(f"{one.code} {one.count}" for one in lost.ends)
    return f"{told}; {lost.unattended} for want of a person" if lost.unattended else told


def _lost(evidence: Evidence) -> list[FailedTrace]:
    return [trace for trace in evidence.failures if trace.infrastructure]


def _end(trace: FailedTrace) -> str:
    ends = (code.partition(":")[2] for code in trace.codes if _is_end(code))
    return next(ends, UNKNOWN_END)


def _is_end(code: str) -> bool:
    return code.startswith(f"{_ENDED}:")
