"""When a request may go out: retries with backoff, and one gate per host for all attempts."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_CLOSE_ENOUGH_S = 0.001


class Pace(NamedTuple):
    """How patient a candidate's client is; seconds throughout.

    `total_s` bounds the tries of one request and the waiting between them, not the wait for a
    place under `requests_per_minute`. `longest_wait_s` is the most a provider may ask for.
    `sleep`, `draw` (uniform in [0, 1)), `now` and `wall` are the outside world.
    """

    tries: int = 6
    first_wait_s: float = 0.5
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0
    total_s: float = 600.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def backoff_s(self, tried: int) -> float:
        """How long to wait after that many tries: doubled each time, and between half and all of
        it, so that attempts which failed together do not come back together."""
        whole = min(self.longest_backoff_s, self.first_wait_s * 2.0 ** (tried - 1))
        return whole * (1 + self.draw()) / 2

    def asked_s(self, header: str | None) -> float | None:
        """Seconds from now that a `Retry-After` asks for (a number of them, or a date); None when
        there is none or it says nothing."""
        if header is None:
            return None
        try:
            seconds = float(header)
        except ValueError:
            try:
                date = parsedate_to_datetime(header)
                if date.tzinfo is None:
                    date = date.replace(tzinfo=UTC)
                seconds = (date - datetime.fromtimestamp(self.wall(), UTC)).total_seconds()
            except (ValueError, OverflowError):
                return None
            return max(0.0, seconds)
        return None if math.isnan(seconds) or seconds < 0 else seconds


class HostGate:
    """The one way to a host: requests leave in the order they came, as far apart as the manifest's
    `requests_per_minute` says, and none while the host has asked for quiet."""

    def __init__(self) -> None:
        self._order = asyncio.Lock()
        self._free = self._quiet_until = -math.inf

    async def enter(self, apart_s: float, pace: Pace) -> None:
        """Waits until a request may go."""
        async with self._order:
            while (wait := max(self._free, self._quiet_until) - pace.now()) > _CLOSE_ENOUGH_S:
                await pace.sleep(wait)
            self._free = pace.now() + apart_s

    def hold(self, seconds: float, pace: Pace) -> None:
        """Lets nothing out for so long."""
        self._quiet_until = max(self._quiet_until, pace.now() + seconds)
