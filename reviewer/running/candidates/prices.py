"""What a turn cost: the tokens the provider says it used, at the manifest's prices."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.running.model import Unrunnable, Usage
from reviewer.suite.errors import shown

INPUT = "input_usd_per_million_tokens"
OUTPUT = "output_usd_per_million_tokens"
CACHED = "cached_input_usd_per_million_tokens"

_MILLION = 1_000_000
_MOST_TOKENS = 10**12
"""More than any provider sells in one answer: a larger count is no measurement."""


class Prices(NamedTuple):
    """US dollars per million tokens; None where the manifest is silent. Cached input without a
    price of its own costs what input costs."""

    input: float | None = None
    output: float | None = None
    cached_input: float | None = None


class UsageNames(NamedTuple):
    """How one API calls its counts; `details` is the member that holds `cached_tokens`."""

    input: str
    output: str
    details: str


def read_prices(prices: Mapping[str, Any], where: str) -> Prices:
    """The manifest's `prices`; `where` names it. Raises Unrunnable for a member that no token can
    be priced by."""
    for name, amount in prices.items():
        if name not in (INPUT, OUTPUT, CACHED):
            known = f"write `{INPUT}`, `{OUTPUT}` or `{CACHED}`"
            raise Unrunnable(f"{where}.{shown(name)}: prices no token: {known}")
        if type(amount) not in (int, float) or not 0 <= amount < math.inf:
            raise Unrunnable(f"{where}.{name}: must be a number of US dollars, zero or more")
    return Prices(prices.get(INPUT), prices.get(OUTPUT), prices.get(CACHED))


def usage_of(said: Any, names: UsageNames) -> Usage | None:
    """The `usage` member of an answer; None when it is not an object.

    A count that is negative, not an integer or beyond belief is unknown, and so is an input of
    which more was cached than there was.
    """
    if not isinstance(said, dict):
        return None
    given, details = _count(said.get(names.input)), said.get(names.details)
    stated = details.get("cached_tokens") if isinstance(details, dict) else None
    if stated is None:
        return Usage(given, _count(said.get(names.output)))
    cached = _count(stated)
    if cached is None or given is None or cached > given:
        given = cached = None
    return Usage(given, _count(said.get(names.output)), cached)


def cost_usd(usage: Usage | None, prices: Prices) -> float | None:
    """US dollars; None when a count or a price that is needed is not known."""
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    if prices.input is None or prices.output is None:
        return None
    cached = usage.cached_input_tokens or 0
    at_cached = prices.input if prices.cached_input is None else prices.cached_input
    parts = (
        (usage.input_tokens - cached) * prices.input,
        cached * at_cached,
        usage.output_tokens * prices.output,
    )
    return math.fsum(parts) / _MILLION


def metered(
    said: Sequence[Any], names: UsageNames, prices: Prices
) -> tuple[Usage | None, float | None]:
    """Usage and cost of one turn from the `usage` members of its answers, the good one last.

    An answer that was not usable but says what it used was paid for, so it counts; one that says
    nothing is no measurement and is left out. Without a usage of the good one nothing is known.
    """
    if not said or not isinstance(said[-1], dict):
        return None, None
    counted = [usage for item in said if (usage := usage_of(item, names)) is not None]
    costs = [cost_usd(usage, prices) for usage in counted]
    known = [cost for cost in costs if cost is not None]
    cached = [u.cached_input_tokens for u in counted if u.cached_input_tokens is not None]
    total = Usage(
        _sum([usage.input_tokens for usage in counted]),
        _sum([usage.output_tokens for usage in counted]),
        sum(cached) if cached else None,
    )
    return total, math.fsum(known) if len(known) == len(costs) else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
