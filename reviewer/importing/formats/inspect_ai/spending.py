"""Whose tokens a sample counts: the evaluated model's are the candidate's, a grader's are not."""

from collections import Counter
from typing import Any, NamedTuple

from reviewer.importing.draft import added, amount, tokens, whole
from reviewer.importing.formats.inspect_ai.parts import mapping

NAMES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "input_tokens_cache_read": "cached_tokens",
    "input_tokens_cache_write": "cache_write_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
"""Inspect's name of a count -> ours."""
OTHERS = "tokens of other models (graders, simulated users) are not the candidate's: kept apart"
SHARED = "the evaluated model also graded or played the user: those tokens were taken off"
UNEVEN = "token counts of the sample and of its model calls contradict each other"
UNPRICED = "only some model calls have a price: the cost is not known"


class Spend(NamedTuple):
    """One model call: whose it was, and what it used. `agent` covers sub-agents too; `whose` is
    `grader`, `simulated_user` or empty."""

    model: str
    agent: bool
    usage: dict[str, Any]
    whose: str = ""


class Spent(NamedTuple):
    """A sample's bill. `usage` (our names) and `cost_usd` are the candidate's, None when not
    known; `others` is by model, in the source's own names; `beside` is what graders and simulated
    users used and cost, by whom, in ours."""

    usage: dict[str, int] | None
    cost_usd: float | None
    others: dict[str, Any]
    notes: tuple[str, ...]
    beside: dict[str, Any]


def counts(usage: Any) -> dict[str, int] | None:
    """Token counts under our names, those that are known."""
    named = mapping(usage)
    return tokens(**{ours: named.get(theirs) for theirs, ours in NAMES.items()})


def bill(model: str, declared: dict[str, Any], calls: list[Spend]) -> Spent:
    """What a sample spent: `declared` is its usage by model, over everything that was called."""
    ours = [call for call in calls if call.agent and call.model == model]
    if model not in declared:
        ours = ours or [call for call in calls if call.agent]
    mine = {model} if model in declared else {call.model for call in ours}
    others = {name: usage for name, usage in declared.items() if name not in mine}
    notes = [OTHERS] if others else []
    total, cost = _sums([call.usage for call in ours])
    if model in declared:
        shared = [call.usage for call in calls if call.model == model and not call.agent]
        notes += [SHARED] if shared else []
        total, cost, fits = _less(declared[model], shared)
        if not fits:
            notes.append(UNEVEN)
            total, cost = _sums([call.usage for call in ours])
    priced = [amount(call.usage.get("total_cost")) is not None for call in ours if call.usage]
    if any(priced) and not all(priced):
        cost = None
        notes.append(UNPRICED)
    return Spent(total, cost, others, tuple(notes), _beside(calls))


def _beside(calls: list[Spend]) -> dict[str, Any]:
    """Lines of their own for those who are not the candidate."""
    found: dict[str, Any] = {}
    for whose in ("grader", "simulated_user"):
        theirs = [call.usage for call in calls if call.whose == whose]
        if theirs:
            used, cost = _sums(theirs)
            told = {"model_calls": len(theirs), "usage": used, "cost_usd": cost}
            found[whose] = {name: value for name, value in told.items() if value is not None}
    return found


def _sums(usages: list[dict[str, Any]]) -> tuple[dict[str, int] | None, float | None]:
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(counts(usage) or {})
    cost = added([amount(usage.get("total_cost")) for usage in usages if usage])
    return dict(total) or None, cost


def _less(
    declared: Any, shared: list[dict[str, Any]]
) -> tuple[dict[str, int] | None, float | None, bool]:
    """The declared usage of a model without that of some calls, and whether it covers them."""
    named = mapping(declared)
    total, cost = counts(named), amount(named.get("total_cost"))
    if not shared:
        return total, cost, True
    used, price = _sums(shared)
    rest = Counter(total or {})
    rest.subtract(used or {})
    left = None if price is None or cost is None else max(cost - price, 0.0)
    fits = all(count >= 0 for count in rest.values())
    return {name: rest[name] for name in total or {}} or None, left, fits


class Sums:
    """Tokens by model over samples, to be compared with what a header declares."""

    def __init__(self) -> None:
        self._totals: Counter[str] = Counter()

    def take(self, declared: dict[str, Any]) -> None:
        for model, usage in declared.items():
            self._totals[model] += whole(mapping(usage).get("total_tokens")) or 0

    def differ(self, declared: Any) -> bool:
        """Whether a header's totals are others than these."""
        theirs = {
            model: whole(mapping(usage).get("total_tokens"))
            for model, usage in mapping(declared).items()
        }
        mine = {model: self._totals[model] for model in theirs}
        return bool(theirs) and any(self._totals.values()) and mine != theirs
