"""How often a policy is wrong: the chance that a release passes its gates, from a model of agents.

An episode's pass rate is drawn from a Beta distribution with mean `true_rate` and intraclass
correlation `icc`; the attempts of an episode pass or fail independently at its rate. A candidate
and the baseline that it is compared with share the rates of episodes; a worse candidate has each
rate multiplied by an independent Beta variable whose mean lowers the average by `worse_by`.

No attempt is simulated. The chance of each pair of counts (candidate, baseline) of one episode is
exact (`_cells`, by Gauss-Jacobi quadrature), and a release is a multinomial draw of its episodes
over those pairs, so its cost does not grow with the episodes. All gates see the same draws: a
release that fails one tends to fail another, so the product of their chances would be wrong. No
bound is solved for: "the lower bound reaches r" is one value of a distribution function
(`_reaches`).

numpy is loaded when a chance is asked for.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.stats.checks import non_negative, open_unit, whole
from reviewer.stats.paired import tango_limits
from reviewer.stats.rates import confidence_sequence

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]
    Counts = np.ndarray[Any, np.dtype[np.int64]]
    Truths = np.ndarray[Any, np.dtype[np.bool_]]

FORMULAS = 1
"""The version of these formulas: a different version gives different figures for the same seed."""
SEED = 20261125
DRAWS = 4_000
MOST_ATTEMPTS = 50
"""The most attempts per episode for which pairs of counts are enumerated."""
_Z = 1.6448536269514722
_ALPHA = 0.05
_DEAD_FROM = 5
"""Attempts per episode from which passing all before and none now is a regression."""


class Limits(NamedTuple):
    """The part of a policy that the model knows. None: not required; `margin` is required where
    there is a baseline. `strict` compares bounds, `live` those that hold at every look."""

    hard_pass: Fraction | None = None
    completion: Fraction | None = None
    k: int = 1
    pass_hat: Fraction | None = None
    margin: Fraction | None = None
    strict: bool = False
    live: bool = False


class Design(NamedTuple):
    """A release: its size, its agent and its baseline. `worse_by` is how far the candidate's mean
    rate is below `true_rate`, which is the baseline's; `critical_rate` is the chance that an
    attempt fails critically. A person plays the user of `by_person` episodes: those are not
    repetitions, so pass^k is computed from the other episodes and can only be lowered by them."""

    episodes: int
    attempts: int
    true_rate: float
    icc: float
    worse_by: float = 0.0
    baseline: bool = True
    critical_rate: float = 0.0
    by_person: int = 0


class Chances(NamedTuple):
    """The chance to pass each gate that is required, by name, and all of them together."""

    gates: dict[str, float]
    promote: float


GATES = ("critical", "hard_pass", "completion", "pass_hat", "regression")


def power_exact_all_pass(
    episodes: int, attempts: int, true_rate: float, icc: float
) -> dict[str, float]:
    """Return the chances that one episode passes every attempt, and that all episodes do.

    For one episode: the product over i < attempts of (α + i)/(α + β + i), with α and β of the
    episodes' Beta; for all: its power. Closed form. Raises ValueError for an impossible design.
    """
    design = _checked(Design(episodes, attempts, true_rate, icc))
    if design.true_rate in (0.0, 1.0):
        one = design.true_rate
    else:
        a, b = _shape(design.true_rate, design.icc)
        one = math.prod((a + i) / (a + b + i) for i in range(design.attempts))
    return {"one_episode_stable": one, "every_attempt_passes": one**design.episodes}


def power_row(
    episodes: int,
    attempts: int,
    true_rate: float,
    icc: float,
    policy: Mapping[str, Any],
    mode: str = "point",
    baseline: str | None = "same agent",
    worse_by: float = 0.0,
    critical_rate: float = 0.0,
    draws: int = DRAWS,
    seed: int = SEED,
) -> dict[str, float]:
    """Return the chance to pass each gate that `policy` requires, and all together (`promote`).

    `policy` holds members of a suite's policy (`hard_pass_rate`, `completion_min`, `pass_hat`,
    `regression`); a member that is absent is not required. With `baseline` "same agent" the
    candidate is compared with an agent of `true_rate` on the same episodes; its own rate is lower
    by `worse_by`. With None there is no comparison. Computed from `draws` simulated releases: a
    chance is off by at most 1.96·sqrt(p(1 - p)/draws) in 95 of 100 cases.
    """
    if mode not in ("point", "strict"):
        raise ValueError(f"mode must be point or strict, not {mode!r}")
    if baseline not in ("same agent", None):
        raise ValueError(f"baseline must be 'same agent' or None, not {baseline!r}")
    design = Design(
        episodes, attempts, true_rate, icc, worse_by, baseline is not None, critical_rate
    )
    found = chances(design, limits_of(policy, mode, str(policy.get("stopping"))), draws, seed)
    return {**found.gates, "promote": found.promote}


def limits_of(policy: Mapping[str, Any], mode: str, stopping: str) -> Limits:
    """Return the limits in these members of a policy."""
    hat, against = policy.get("pass_hat"), policy.get("regression")
    return Limits(
        hard_pass=_fraction(policy.get("hard_pass_rate")),
        completion=_fraction(policy.get("completion_min")),
        k=1 if hat is None else whole("pass_hat.k", hat["k"], 1),
        pass_hat=None if hat is None else _fraction(hat["min"]),
        margin=None if against is None else _fraction(against["margin"]),
        strict=mode == "strict",
        live=stopping == "live",
    )


def _fraction(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(str(value))


def chances(design: Design, limits: Limits, draws: int = DRAWS, seed: int = SEED) -> Chances:
    """Return the chance to pass each gate and all together, by `draws` releases from `seed`; the
    same arguments give the same figures. Raises ValueError for an impossible design."""
    import numpy as np

    design = _checked(design)
    size = whole("draws", draws, 1)
    # One stream for each size of release: rows of one table share random numbers.
    stream = np.random.default_rng([whole("seed", seed), design.episodes, design.attempts])
    cells = _cells(design)
    drawn = stream.multinomial(design.episodes - design.by_person, cells.ravel(), size=size)
    if design.by_person:
        played = stream.multinomial(design.by_person, cells.ravel(), size=size)
        drawn = np.hstack([drawn, played])
    first, times = _alike(drawn)
    parts = drawn[first].reshape(len(first), -1, *cells.shape)
    repeated = parts[:, 0] if design.by_person else None
    held = _held(design, limits, parts.sum(axis=1), repeated)
    all_of_them: Truths = np.ones(len(first), bool)
    gates = {}
    clean = (1.0 - design.critical_rate) ** (design.episodes * design.attempts)
    if design.critical_rate:
        gates["critical"] = clean
    for name, passed in held.items():
        gates[name] = float(times[passed].sum()) / size
        all_of_them &= passed
    return Chances(gates, clean * float(times[all_of_them].sum()) / size)


def _alike(rows: "Counts") -> "tuple[Counts, Counts]":
    """Return the first row of each kind and how often the kind occurs: equal releases pass alike.
    Rows are distinguished by a sum with fixed odd weights, modulo 2^64: they collide once in 10^12
    pairs of tables."""
    import numpy as np

    _, first, times = np.unique(_keys(rows), return_index=True, return_counts=True)
    return first, times


def _keys(rows: "Counts") -> "Counts":
    import numpy as np

    weights = np.random.default_rng(1).integers(1, 2**62, rows.shape[1]) * 2 + 1
    keys: Counts = rows @ weights
    return keys


def _checked(design: Design) -> Design:
    whole("episodes", design.episodes, 1)
    if whole("by_person", design.by_person, 0) > design.episodes:
        raise ValueError(f"by_person must be at most {design.episodes}, not {design.by_person}")
    if whole("attempts", design.attempts, 1) > MOST_ATTEMPTS:
        raise ValueError(f"attempts must be at most {MOST_ATTEMPTS}, not {design.attempts}")
    if not 0.0 <= design.true_rate <= 1.0:
        raise ValueError(f"true_rate must be between 0 and 1, not {design.true_rate}")
    open_unit("icc", design.icc)
    if not 0.0 <= non_negative("worse_by", design.worse_by) <= design.true_rate:
        raise ValueError(f"worse_by must be between 0 and true_rate, not {design.worse_by}")
    if not 0.0 <= design.critical_rate <= 1.0:
        raise ValueError(f"critical_rate must be between 0 and 1, not {design.critical_rate}")
    return design


# chances of counts --------------------------------------------------------------------------------


def _shape(mean: float, icc: float) -> tuple[float, float]:
    """Return α and β of the Beta with this mean and intraclass correlation `icc`."""
    total = 1.0 / icc - 1.0
    return mean * total, (1.0 - mean) * total


def _cells(design: Design) -> "Floats":
    """Return the chance that an episode has c passes of the candidate and b of the baseline, at [c,
    b]. Exact: both counts' probabilities are polynomials in the rates, of a degree that the
    quadrature integrates exactly."""
    import numpy as np

    m = design.attempts
    rates, weights = _rates(design.true_rate, design.icc, m + 1)
    kept = 1.0 - design.worse_by / design.true_rate if design.true_rate else 1.0
    factors, shares = _rates(kept, design.icc, m + 1)
    baseline = _binomial(rates, m)
    candidate = np.einsum("ijc,j->ic", _binomial(np.outer(rates, factors), m), shares)
    cells = np.einsum("ic,ib,i->cb", candidate, baseline, weights)
    cells = np.clip(cells, 0.0, None)
    found: Floats = cells / cells.sum()
    return found


def _binomial(rates: "Floats", m: int) -> "Floats":
    """Return the chance of each number of passes of m attempts, as a further dimension."""
    import numpy as np

    passes = np.arange(m + 1)
    ways = np.array([math.comb(m, c) for c in range(m + 1)], float)
    p = rates[..., None]
    found: Floats = ways * p**passes * (1.0 - p) ** (m - passes)
    return found


def _rates(mean: float, icc: float, nodes: int) -> "tuple[Floats, Floats]":
    """Return rates and weights that integrate polynomials of degree 2·nodes - 1 over the Beta of
    this mean: Gauss-Jacobi, by the eigenvalues of its recurrence (Golub and Welsch 1969)."""
    import numpy as np

    if not 0.0 < mean < 1.0:
        return np.array([mean]), np.array([1.0])
    a, b = _shape(mean, icc)
    alpha, beta = b - 1.0, a - 1.0
    n = np.arange(1.0, nodes)
    total = 2.0 * n + alpha + beta
    middle = np.empty(nodes)
    middle[0] = (beta - alpha) / (alpha + beta + 2.0)
    middle[1:] = (beta**2 - alpha**2) / (total * (total + 2.0))
    aside = np.empty(max(0, nodes - 1))
    if nodes > 1:
        first = 4.0 * (1.0 + alpha) * (1.0 + beta)
        aside[0] = first / ((alpha + beta + 2.0) ** 2 * (alpha + beta + 3.0))
        n, total = n[1:], total[1:]
        aside[1:] = (4.0 * n * (n + alpha) * (n + beta) * (n + alpha + beta)) / (
            total**2 * (total + 1.0) * (total - 1.0)
        )
    off = np.sqrt(aside)
    values, vectors = np.linalg.eigh(np.diag(middle) + np.diag(off, 1) + np.diag(off, -1))
    return np.clip(0.5 * (values + 1.0), 0.0, 1.0), vectors[0] ** 2


# gates --------------------------------------------------------------------------------------------


def _held(
    design: Design, limits: Limits, pairs: "Counts", repeated: "Counts | None" = None
) -> "dict[str, Truths]":
    """Return which of these releases pass each gate that is required. `repeated` are the pairs
    without the episodes whose user is a person; None where there are none."""
    import numpy as np

    m, k = design.attempts, limits.k
    by_passes: Counts = pairs.sum(axis=2)
    found: dict[str, Truths] = {}
    of_attempts = np.arange(m + 1)
    for name, least in (("hard_pass", limits.hard_pass), ("completion", limits.completion)):
        if least is not None:
            found[name] = _rate_holds(by_passes, of_attempts, m, least, limits)
    if limits.pass_hat is not None:
        if k > m or design.by_person == design.episodes:
            found["pass_hat"] = np.zeros(len(pairs), bool)
        else:
            ways = np.array([math.comb(c, k) for c in range(m + 1)])
            most, least = math.comb(m, k), limits.pass_hat
            if repeated is None:
                found["pass_hat"] = _mean_holds(by_passes, ways, most, least, limits)
            else:
                held = _mean_holds(repeated.sum(axis=2), ways, most, least, limits)
                held &= _mean_holds(by_passes, ways, most, least, limits._replace(strict=False))
                found["pass_hat"] = held
    if limits.margin is not None and design.baseline:
        found["regression"] = _not_worse(pairs, m, limits)
    return found


def _rate_holds(
    by_passes: "Counts", ways: "Counts", m: int, least: Fraction, limits: Limits
) -> "Truths":
    """Return where the hard pass rate reaches `least`. A rate of 1 is required of the attempts
    themselves, in either mode."""
    point = limits if least < 1 else limits._replace(strict=False)
    return _mean_holds(by_passes, ways, m, least, point)


def _mean_holds(
    by_passes: "Counts", ways: "Counts", most: int, least: Fraction, limits: Limits
) -> "Truths":
    """Return where the mean over episodes of ways/most, by number of passes, reaches `least`: the
    mean itself, or its lower bound in strict mode."""
    import numpy as np

    episodes = int(by_passes[0].sum())
    total = by_passes @ ways
    above: Truths = total >= math.ceil(least * episodes * most)
    if not limits.strict or not above.any():
        return above
    found: Truths = np.zeros(len(by_passes), bool)
    if limits.live:
        reached = {
            int(hits): confidence_sequence(Fraction(int(hits), most), episodes).low >= least
            for hits in np.unique(total[above])
        }
        found[above] = [reached[int(hits)] for hits in total[above]]
        return found
    found[above] = _reaches(by_passes[above], ways / most, float(least))
    return found


_BLOCK = 500


def _reaches(by_score: "Counts", scores: "Floats", least: float) -> "Truths":
    """Return where the Dirichlet lower bound (`dirichlet`) of these scores is `least` or more.

    That is where P(Σ (score - least)·V <= 0) <= 0.05, with one more episode of score 0. That
    probability is 1/2 - (1/π) ∫ Im φ(u)/u du over u > 0, φ the characteristic function (Gil-Pelaez
    1951), in v = ln u by trapezoids.
    """
    import numpy as np

    if least <= 0.0:
        return np.ones(len(by_score), bool)
    weights = scores - least
    moved = np.abs(weights) > 1e-12
    first, _ = _alike(by_score)
    kinds = by_score[first]
    fewest = int((kinds @ moved).min())
    # From where φ(u) is 1 + iu·mean to where its modulus is negligible.
    lowest, step = -11.0, 0.1
    slowest = min(np.abs(weights[moved]).min(), least)
    highest = 2.0 - math.log(slowest) + 22.0 / (fewest + 1)
    u = np.exp(np.arange(lowest, highest, step))
    logs = -np.log(1.0 - 1j * np.outer(weights, u))
    worst = -np.log(1.0 + 1j * least * u)
    below = np.empty(len(kinds))
    for at in range(0, len(kinds), _BLOCK):
        phi = np.exp(kinds[at : at + _BLOCK] @ logs + worst)
        below[at : at + _BLOCK] = phi.imag.sum(axis=1) * step
    # The part below the first node: ∫ mean·u dv = mean·u at half a step before it.
    below += (kinds @ weights - least) * math.exp(lowest - 0.5 * step)
    held = 0.5 - below / math.pi <= _ALPHA + 1e-9
    keys = dict(zip(_keys(kinds).tolist(), held.tolist(), strict=True))
    found: Truths = np.array([keys[key] for key in _keys(by_score).tolist()], bool)
    return found


def _not_worse(pairs: "Counts", m: int, limits: Limits) -> "Truths":
    """Return where the regression gate holds: in strict mode where the generalized Tango limit is
    above minus the margin; in point mode where the score test at 0 finds no drop and, from five
    attempts on, no episode goes from all passes to none."""
    import numpy as np

    episodes = int(pairs[0].sum())
    change = np.subtract.outer(np.arange(m + 1), np.arange(m + 1)) / m
    flat = pairs.reshape(len(pairs), -1).astype(float)
    total, squares = flat @ change.ravel(), flat @ (change**2).ravel()
    assert limits.margin is not None
    if limits.strict:
        return _tango_above(total, squares, episodes, -float(limits.margin))
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(squares > 0, total / np.sqrt(squares), 0.0)
    found: Truths = score >= -_Z
    if m >= _DEAD_FROM:
        found &= pairs[:, 0, m] == 0
    return found


def _tango_above(total: "Floats", squares: "Floats", n: int, at: float) -> "Truths":
    """Return where the lower limit of the mean difference is above `at`, which is below 0: where
    the score there is beyond the normal quantile. `total` and `squares` are Σd and Σd²."""
    import numpy as np

    if at >= 0.0:
        return np.zeros(len(total), bool)
    gained, lost = (squares + total) / 2.0, (squares - total) / 2.0
    middle = (2.0 * n - gained + lost) * at - gained - lost
    inner = np.sqrt(np.maximum(middle**2 + 8.0 * n * lost * at * (1.0 - at), 0.0))
    p21 = (inner - middle) / (4.0 * n)
    spread = np.sqrt(np.maximum(n * (2.0 * p21 + at * (1.0 - at)), 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(spread > 0, (gained - lost - n * at) / spread, np.inf)
    found: Truths = score > _Z
    # Small gains alone make `lost` negative. The score may then rise and fall: what counts is the
    # limit that the gate finds.
    for row in np.flatnonzero(lost < 0.0):
        found[row] = tango_limits(n, float(gained[row]), float(lost[row]), _Z).low > at
    return found
