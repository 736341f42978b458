"""Tokens of a model, and what they cost."""

import math
from typing import NamedTuple

_MILLION = 1_000_000


class Usage(NamedTuple):
    """Tokens of one turn; None where the provider did not say. Cached input is part of input."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


class Prices(NamedTuple):
    """US dollars per million tokens; None where the manifest states none. Cached input without a
    price of its own costs what input costs."""

    input: float | None = None
    output: float | None = None
    cached_input: float | None = None


def cost_usd(usage: Usage | None, prices: Prices) -> float | None:
    """Return US dollars; None when a needed count or price is not known."""
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
