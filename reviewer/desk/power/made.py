"""The table of power.json, computed from a policy and a size by `stats.power`.

Probabilities are simulated once and cached: by this process, and under `store/cache`, in a file
named by everything that its figures depend on. The file is safe to delete, and no digest covers it.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace, write_private
from reviewer.stats import power as chance
from reviewer.suite.model import Policy, Suite
from reviewer.suite.power import (
    Power,
    PowerAsked,
    PowerGate,
    PowerRow,
    PowerSize,
    PowerWorse,
)
from reviewer.suite.strict_json import canonical_bytes, sha256_hex

Progress = Callable[[int, int], None]
"""Called with how many probabilities are known, and of how many."""

RATES = (1.0, 0.99, 0.97, 0.95, 0.90)
TRUE_RATE = 0.99
ICC, ICC_RANGE = 0.3, (0.1, 0.6)
WORSE_BY = (0.02, 0.05, 0.10)
EPISODES = (10, 20, 30, 40, 60, 100, 200)
MOST_LARGER = 4
MOST_EPISODES = 400
ENOUGH = 0.8


def asked_of(
    suite: Suite, true_rate: float = TRUE_RATE, icc: float = ICC, critical_rate: float = 0.0
) -> PowerAsked | None:
    """Return what the power of a suite's policy depends on; None for a suite whose policy certifies
    nothing, or that has more attempts than the model supports."""
    policy, episodes = suite.policy, len(suite.episodes)
    if suite.probe or not episodes or policy.attempts > chance.MOST_ATTEMPTS:
        return None
    return PowerAsked(
        formulas=chance.FORMULAS,
        seed=chance.SEED,
        draws=_draws(policy.attempts),
        episodes=episodes,
        attempts=policy.attempts,
        by_person=sum((one.user or {}).get("kind") == "person" for one in suite.episodes),
        mode=policy.mode,
        stopping=policy.stopping,
        hard_pass_rate=policy.hard_pass_rate,
        completion_min=policy.completion_min,
        k=policy.pass_hat.k,
        pass_hat_min=policy.pass_hat.min,
        margin=policy.regression.margin,
        true_rate=true_rate,
        icc=icc,
        icc_range=ICC_RANGE,
        critical_rate=critical_rate,
        worse_by=tuple(by for by in WORSE_BY if by <= true_rate),
    )


def _draws(attempts: int) -> int:
    """Return how many releases are simulated; there are (attempts + 1) squared pairs of counts."""
    return chance.DRAWS if attempts <= 10 else chance.DRAWS // 4


def not_modeled(policy: Policy) -> tuple[str, ...]:
    """Return the gates of a policy that the model assumes to pass."""
    asked = (
        ("D4 cost per success", policy.max_cpst_usd is not None),
        ("D5 p95 latency", policy.latency_p95_ms is not None),
        ("D8 human review", policy.labels.wanted),
    )
    return ("D0 evidence", *(gate for gate, wanted in asked if wanted))


def power_of(suite: Suite, asked: PowerAsked, progress: Progress | None = None) -> Power:
    """Return the power of the suite's policy by simulation, which takes some seconds for a large
    suite."""
    return _Table(asked, progress).made(not_modeled(suite.policy))


def power_bytes(power: Power) -> bytes:
    """Return power.json."""
    raw = {"schema": Power.SCHEMA, **msgspec.to_builtins(power)}
    return msgspec.json.format(msgspec.json.encode(raw), indent=2) + b"\n"


class _Table:
    """One table that is being computed."""

    def __init__(self, asked: PowerAsked, progress: Progress | None) -> None:
        self.asked, self._progress = asked, progress
        self._done = 0
        self._limits = chance.Limits(
            hard_pass=Fraction(str(asked.hard_pass_rate)),
            completion=None
            if asked.completion_min is None
            else Fraction(str(asked.completion_min)),
            k=asked.k,
            pass_hat=Fraction(str(asked.pass_hat_min)),
            margin=Fraction(str(asked.margin)),
            strict=asked.mode == "strict",
            live=asked.stopping == "live",
        )
        self._of = len(RATES) * (1 + len(asked.icc_range)) + len(asked.worse_by)
        self._of += (len(list(self._sizes())) - 1) * (1 + len(asked.worse_by)) + 12

    def made(self, left_out: tuple[str, ...]) -> Power:
        asked = self.asked
        at = chance.Design(
            asked.episodes,
            asked.attempts,
            asked.true_rate,
            asked.icc,
            critical_rate=asked.critical_rate,
            by_person=asked.by_person,
        )
        rows = tuple(self._row(at._replace(true_rate=rate)) for rate in RATES)
        stopped = 1.0 - self._chances(at).promote
        worse = tuple(self._worse(at, by) for by in asked.worse_by)
        first = PowerSize(
            episodes=asked.episodes,
            attempts=asked.attempts,
            stopped=_rounded(stopped),
            worse=tuple(one.promoted for one in worse),
        )
        others = (self._size(at, *size) for size in list(self._sizes())[1:])
        return Power(
            asked=asked,
            error=_rounded(1.96 * math.sqrt(0.25 / asked.draws)),
            stopped=first.stopped,
            rows=rows,
            worse=worse,
            sizes=(first, *others),
            enough=self._enough(at),
            not_modeled=left_out,
        )

    def _chances(self, design: chance.Design, draws: int = 0) -> chance.Chances:
        found = _remembered(design, self._limits, draws or self.asked.draws, self.asked.seed)
        self._done += 1
        if self._progress is not None:
            self._progress(min(self._done, self._of), self._of)
        return found

    def _row(self, at: chance.Design) -> PowerRow:
        found = self._chances(at)
        others = [self._chances(at._replace(icc=icc)).promote for icc in self.asked.icc_range]
        gates = _gates(found)
        least = min(gates, key=lambda name: gates[name], default=None)
        return PowerRow(
            true_rate=at.true_rate,
            promoted=_rounded(found.promote),
            lowest=_rounded(min(found.promote, *others)),
            highest=_rounded(max(found.promote, *others)),
            gates=gates,
            binds=least if least is not None and gates[least] < 1.0 else None,
        )

    def _worse(self, at: chance.Design, by: float) -> PowerWorse:
        found = self._chances(at._replace(worse_by=by))
        return PowerWorse(by=by, promoted=_rounded(found.promote), gates=_gates(found))

    def _sizes(self) -> Iterator[tuple[int, int]]:
        """Yield the present size, larger ones, and more attempts of the same episodes."""
        episodes, attempts = self.asked.episodes, self.asked.attempts
        yield episodes, attempts
        for more in [each for each in EPISODES if each > episodes][:MOST_LARGER]:
            yield more, attempts
        for more in [each for each in (5, 10) if each > attempts]:
            yield episodes, more

    def _size(self, at: chance.Design, episodes: int, attempts: int) -> PowerSize:
        there = at._replace(episodes=episodes, attempts=attempts)
        return PowerSize(
            episodes=episodes,
            attempts=attempts,
            stopped=_rounded(1.0 - self._chances(there).promote),
            worse=tuple(
                _rounded(self._chances(there._replace(worse_by=by)).promote)
                for by in self.asked.worse_by
            ),
        )

    def _enough(self, at: chance.Design) -> int | None:
        """Return the fewest episodes, from this size on, that promote an identical agent in
        `ENOUGH` of cases, by bisection between a size that does not and one that does."""
        few = max(1, self.asked.draws // 4)

        def promotes(episodes: int) -> bool:
            return self._chances(at._replace(episodes=episodes), few).promote >= ENOUGH

        low = high = at.episodes
        if promotes(low):
            return low
        for high in (each for each in (*EPISODES, MOST_EPISODES) if each > at.episodes):
            if promotes(high):
                break
            low = high
        else:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if promotes(middle) else (middle, high)
        return high


@lru_cache(4096)
def _remembered(
    design: chance.Design, limits: chance.Limits, draws: int, seed: int
) -> chance.Chances:
    return chance.chances(design, limits, draws, seed)


def _gates(found: chance.Chances) -> dict[PowerGate, float]:
    return {cast(PowerGate, name): _rounded(share) for name, share in found.gates.items()}


def _rounded(share: float) -> float:
    return round(share, 2) + 0.0


# the cache ----------------------------------------------------------------------------------------


def cached_power(
    workspace: Workspace, suite: Suite, asked: PowerAsked, progress: Progress | None = None
) -> Power:
    """Return the power from the cache, or compute and cache it. A cache that cannot be read or
    written is ignored."""
    path = _cache_file(workspace, suite, asked)
    with suppress(OSError, ValueError, msgspec.MsgspecError):
        return read_power(path.read_bytes())
    made = power_of(suite, asked, progress)
    with suppress(OSError, DeskError):
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            write_private(ignore, b"*\n")
        write_private(path, power_bytes(made))
    return made


def power_to_lock(suite: Suite, there: bytes | None) -> bytes | None:
    """Return the power.json that a freeze locks: the existing one where its inputs are the same,
    else a new one; None for a suite that has no power. The locked file never comes from a cache."""
    asked = asked_of(suite)
    if asked is None:
        return None
    if there is not None:
        with suppress(ValueError, msgspec.MsgspecError):
            if read_power(there).asked == asked:
                return there
    return power_bytes(power_of(suite, asked))


def read_power(data: bytes) -> Power:
    """Return the values of a power.json made by this program. Raises msgspec.MsgspecError."""
    raw: dict[str, Any] = msgspec.json.decode(data)
    raw.pop("schema", None)
    return msgspec.convert(raw, Power)


def _cache_file(workspace: Workspace, suite: Suite, asked: PowerAsked) -> Path:
    told = {**msgspec.to_builtins(asked), "not_modeled": not_modeled(suite.policy)}
    key = sha256_hex(canonical_bytes(told, "power"))
    return workspace.root / "store" / "cache" / f"power-{key[:32]}.json"
