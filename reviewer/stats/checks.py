"""Checks of the arguments of a measure: every refusal is a ValueError that names the argument.

Missing evidence must never become a number, so NaN, infinities, negative costs and values outside
their range are refused here, before any formula uses them.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple, SupportsFloat, SupportsIndex


class Interval(NamedTuple):
    """Confidence limits, low <= high, in the unit of the estimate they belong to."""

    low: float
    high: float


def finite(name: str, value: SupportsFloat) -> float:
    """Return the value as a float; refuse NaN, infinities and values that are not numbers."""
    if type(value) is float and math.isfinite(value):
        return value  # the common case: a protocol check costs 30 times as much
    if isinstance(value, str | bytes) or not isinstance(value, SupportsFloat):
        raise ValueError(f"{name} must be a number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"{name} is too large") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def non_negative(name: str, value: SupportsFloat) -> float:
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, not {number}")
    return number


def proportion(name: str, value: SupportsFloat) -> float:
    """Return a number in [0, 1]."""
    number = finite(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be between 0 and 1, not {number}")
    return number


def open_unit(name: str, value: SupportsFloat) -> float:
    """Return a number strictly between 0 and 1: a confidence, a power, a limit on a rate."""
    number = finite(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be strictly between 0 and 1, not {number}")
    return number


def integer(name: str, value: SupportsIndex) -> int:
    """Return an integer. Booleans and fractional numbers are refused."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return operator.index(value)


def whole(name: str, value: SupportsIndex, least: int = 0) -> int:
    """Return an integer of at least `least`."""
    number = integer(name, value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def finites(name: str, values: Iterable[SupportsFloat]) -> list[float]:
    return [
        value if type(value) is float and math.isfinite(value) else finite(f"{name}[{i}]", value)
        for i, value in enumerate(values)
    ]


def zero_one(name: str, value: SupportsFloat) -> int:
    """Return 1 for a pass, 0 for a failure; refuse anything else (None, 0.5), which is never
    false."""
    number = finite(name, value)
    if number not in (0.0, 1.0):
        raise ValueError(f"{name} must be 0 or 1, not {number}")
    return int(number)


def float_groups(name: str, groups: Sequence[Sequence[SupportsFloat]]) -> list[list[float]]:
    """Return one non-empty list of finite numbers per episode; refuse an empty suite or episode."""
    if not len(groups):
        raise ValueError(f"{name} must not be empty")
    for i, group in enumerate(groups):
        if not len(group):
            raise ValueError(f"{name}[{i}] must hold at least one attempt")
    return [finites(f"{name}[{i}]", group) for i, group in enumerate(groups)]


def same_length(first: str, a: Sequence[object], second: str, b: Sequence[object]) -> int:
    if len(a) != len(b):
        raise ValueError(f"{first} and {second} must be equally long, not {len(a)} and {len(b)}")
    return len(a)


def clip(value: float, low: float, high: float) -> float:
    return max(low, min(high, value))


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, summed exactly; the caller guarantees at least one value."""
    return math.fsum(values) / len(values)
