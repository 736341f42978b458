"""Time as an attempt lives it, and what the attempt has used so far: time, money, tokens.

What is not known stays unknown.
"""

import asyncio
import math
import time
from datetime import UTC, datetime
from typing import Any

from reviewer.running.model import Clock, Turn, Usage


class WallClock:
    """Real time, from the moment it is made."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC)
        self._zero = time.monotonic()

    def now_ms(self) -> float:
        return (time.monotonic() - self._zero) * 1000

    def started_at(self) -> str | None:
        return self._started.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def let_pass(self, ms: float) -> None:
        if ms > 0:
            await asyncio.sleep(ms / 1000)


class OwnClock:
    """Time that passes only when it is told to, so that a script gives the same record each time.

    `pace` is how much of it is also waited for: 0 not at all, 1 as long as it says.
    """

    def __init__(self, pace: float = 0.0) -> None:
        self._now = 0.0
        self._pace = pace

    def now_ms(self) -> float:
        return self._now

    def started_at(self) -> str | None:
        return None

    async def let_pass(self, ms: float) -> None:
        self._now += ms
        # Also without a pace the loop gets its turn: a thousand attempts must not starve it.
        await asyncio.sleep(ms * self._pace / 1000)


class Meter:
    """Counts one attempt from the moment it is made. Time spent waiting for a person or
    for a busy provider is not the candidate's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._zero = clock.now_ms()
        self._costs: list[float | None] = []
        self._usages: list[Usage | None] = []

    def elapsed_ms(self) -> float:
        return round(self.clock.now_ms() - self._zero, 3)

    def leave_out(self, ms: float) -> None:
        """Take so much of the time that has passed for nobody's."""
        self._zero += ms

    def add(self, turn: Turn | None) -> None:
        """Count a turn; None is one that never came back, whose cost nobody knows."""
        self._costs.append(None if turn is None else known_cost(turn))
        if turn is not None:
            self._usages.append(turn.usage)

    def known_cost_usd(self) -> float:
        """At least this much was spent."""
        return round(math.fsum(cost for cost in self._costs if cost is not None), 9)

    def cost_usd(self) -> float | None:
        """USD of all turns, None as soon as that of one is not known. A candidate that was never
        asked has cost nothing."""
        return None if None in self._costs else self.known_cost_usd()

    def usage(self) -> dict[str, int | None] | None:
        """Tokens of all turns; each sum is None as soon as one turn did not say."""
        if not any(usage is not None for usage in self._usages):
            return None
        turns = [usage or Usage() for usage in self._usages]
        return {name: _sum([getattr(t, name) for t in turns]) for name in Usage._fields}


def known_cost(turn: Turn) -> float | None:
    """The turn's cost in USD when it is an amount at all."""
    cost = turn.cost_usd
    return cost if cost is not None and math.isfinite(cost) and cost >= 0 else None


def number(amount: float | None) -> Any:
    """An amount as it is written: a whole number without a point."""
    return int(amount) if isinstance(amount, float) and amount.is_integer() else amount


def _sum(parts: list[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
