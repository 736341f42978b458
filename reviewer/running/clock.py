"""Time as an attempt lives it: the wall's, or a scripted candidate's own."""

import asyncio
import time
from datetime import UTC, datetime


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
