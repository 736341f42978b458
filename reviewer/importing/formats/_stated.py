"""What a record of messages says of itself beside them: who it is, how it was scored, what it cost.

Tools write these members in many spellings and none defines them. A number without its unit is
taken as its name is commonly used, and a note says so. A reward is kept as it is: only a member
that says yes or no is a pass or a failure.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, whole
from reviewer.importing.formats import _named
from reviewer.trace.record import SourceVerdict

_PASSED = ("passed", "success", "resolved", "is_correct", "correct", "is_resolved")
_REWARDS = ("reward", "score", "final_reward", "total_reward")
_USD = ("cost_usd", "total_cost_usd", "cost", "total_cost")
_MS = ("latency_ms", "duration_ms", "elapsed_ms")
_SECONDS = ("duration_s", "duration_seconds", "latency_s", "elapsed_s", "elapsed_seconds")
_BARE = ("duration", "latency", "elapsed")
_STARTED = ("started_at", "start_time")
MEMBERS = frozenset({
    *_named.MEMBERS, *_PASSED, *_REWARDS, *_USD, *_MS, *_SECONDS, *_BARE, *_STARTED, "attempt",
})  # fmt: skip
USD = "cost in the record names no currency: it was read as US dollars"
SECONDS = "duration in the record names no unit: it was read as seconds"


class Stated(NamedTuple):
    """The facts of one record; None and empty where it says nothing."""

    attempt: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    started_at: Any = None
    verdict: SourceVerdict | None = None


def stated(value: dict[str, Any], draft: Draft) -> Stated:
    """Return what a record says of its attempt, itself before its metadata. What is no number of
    its kind is left, and noted."""
    about = value.get("metadata")
    if isinstance(about, dict):
        said = {name: one for name, one in value.items() if one is not None}
        value = {**{name: about[name] for name in about if name in MEMBERS}, **said}
    cost = _number(value, _USD, draft)
    if cost is not None and not any(amount(value.get(name)) is not None for name in _USD[:2]):
        draft.note(USD)
    took = _number(value, _MS, draft)
    if took is None and (seconds := _number(value, (*_SECONDS, *_BARE), draft)) is not None:
        took = seconds * 1000
        if not any(name in value for name in _SECONDS):
            draft.note(SECONDS)
    attempt = whole(value.get("attempt")) or None
    started = next((value[name] for name in _STARTED if value.get(name)), None)
    return Stated(attempt, cost, took, draft.at(started), _verdict(value, draft))


def stated_of_all(values: Sequence[dict[str, Any]], draft: Draft) -> Stated:
    """Return what several records say of the one attempt that they are of: what each took and cost,
    summed where all of them say it, and the last verdict."""
    found = [stated(value, draft) for value in values]
    costs = [one.cost_usd for one in found if one.cost_usd is not None]
    took = [one.latency_ms for one in found if one.latency_ms is not None]
    return Stated(
        next((one.attempt for one in found if one.attempt), None),
        sum(costs) if costs and len(costs) == len(found) else None,
        sum(took) if took and len(took) == len(found) else None,
        next((one.started_at for one in found if one.started_at), None),
        next((one.verdict for one in reversed(found) if one.verdict), None),
    )


def _number(value: dict[str, Any], names: tuple[str, ...], draft: Draft) -> float | None:
    for name in names:
        if value.get(name) is not None:
            found = amount(value[name])
            if found is not None:
                return found
            draft.note(f"{name} in the record is no number from 0: not measured")
    return None


def _verdict(value: dict[str, Any], draft: Draft) -> SourceVerdict | None:
    passed = {value[name] for name in _PASSED if isinstance(value.get(name), bool)}
    rewards = [float(value[name]) for name in _REWARDS if _finite(value.get(name))]
    if not passed and not rewards:
        return None
    if len(passed) > 1:
        draft.note("the record says both that it passed and that it did not: no verdict was taken")
    return SourceVerdict(
        passed=passed.pop() if len(passed) == 1 else None,
        reward=rewards[0] if rewards else None,
    )


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and -1e9 < value < 1e9
