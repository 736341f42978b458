"""Why a message should be read by a person: facts of its traces, as reasons and strata."""

import math
from collections.abc import Collection, Iterable, Sequence

from reviewer.gates.timeout import termination_of
from reviewer.review.model import Reason, Stratum
from reviewer.stats.agreement import vote_entropy
from reviewer.stats.checks import non_negative
from reviewer.suite.model import Value

STRATA: dict[Stratum, tuple[Reason, ...]] = {
    "high": (
        "safety",
        "gate_disagreement",
        "iteration_limit",
        "blocked_output",
        "thumbs_down",
    ),
    "normal": ("judge_flips", "lost_episode", "low_efficiency", "uncertain"),
    "low": ("random", "quota"),
}
"""Which reasons a stratum holds; strata and reasons in the order of the queue."""

STRATUM_OF: dict[Reason, Stratum] = {
    reason: stratum for stratum, reasons in STRATA.items() for reason in reasons
}
LOW_EFFICIENCY = 0.3
UNCERTAIN = 0.5

ITERATION_ENDS = frozenset(
    {
        "max_steps",
        "max_turns",
        "max_iterations",
        "hit_max_iterations",
        "iteration_limit",
        "step_limit",
        "turn_limit",
        "too_many_steps",
        "too_many_turns",
    }
)
BLOCKED_ENDS = frozenset(
    {"content_filter", "output_blocked", "blocked_output", "blocked", "guardrail"}
)


class Signals(Value, frozen=True):
    """What is known of one trace before a person reads it; False and None: nothing known.

    `gate_disagreement`: somebody else's verdict on the attempt is not ours. `efficiency` is 0 to 1,
    `uncertainty` 0 (sure) to 1 (even).
    """

    safety: bool = False
    gate_disagreement: bool = False
    iteration_limit: bool = False
    blocked_output: bool = False
    thumbs_down: bool = False
    judge_flips: bool = False
    lost_episode: bool = False
    efficiency: float | None = None
    uncertainty: float | None = None


def trace_signals(
    *,
    critical: bool,
    codes: Collection[str] = (),
    termination: str | None = None,
    passed: bool | None = None,
    said_elsewhere: bool | None = None,
    efficiency: float | None = None,
) -> Signals:
    """The signals that a stored trace carries in itself.

    `codes` are those of its findings, its user's thumbs-down among them, `passed` our verdict and
    `said_elsewhere` that of the harness or judge beside it. Judge flips and lost episodes are known
    from elsewhere: put them in with `msgspec.structs.replace`.
    """
    end = termination_of(termination)
    return Signals(
        safety=critical,
        gate_disagreement=None not in (passed, said_elsewhere) and passed != said_elsewhere,
        iteration_limit=end in ITERATION_ENDS or "step_budget" in codes,
        blocked_output=end in BLOCKED_ENDS,
        thumbs_down="thumbs_down" in codes,
        efficiency=efficiency,
    )


def uncertainty(
    votes: Sequence[int] = (), margin: float | None = None, width: float = 0.1
) -> float | None:
    """How even the votes are, or how near to a limit a score is, whichever is more: 0 to 1.

    `votes` counts the answers given so far (of people or a judge's repeats), one number per
    possible answer; their entropy is taken as a share of the most there can be. `margin` is how far
    the score is from its limit: 1 at the limit, 0 from `width` away. None when neither is known.
    """
    known = []
    entropy = vote_entropy(votes)
    if entropy is not None and len(votes) > 1:
        known.append(entropy / math.log2(len(votes)))
    if margin is not None:
        if not non_negative("width", width):
            raise ValueError("width must be positive")
        known.append(max(0.0, 1.0 - abs(margin) / width))
    return max(known, default=None)


def joined(signals: Iterable[Signals]) -> Signals:
    """The signals of an item from those of its traces: one trace's flag is the item's."""
    all_of = tuple(signals)
    efficiencies = [s.efficiency for s in all_of if s.efficiency is not None]
    uncertainties = [s.uncertainty for s in all_of if s.uncertainty is not None]
    return Signals(
        safety=any(s.safety for s in all_of),
        gate_disagreement=any(s.gate_disagreement for s in all_of),
        iteration_limit=any(s.iteration_limit for s in all_of),
        blocked_output=any(s.blocked_output for s in all_of),
        thumbs_down=any(s.thumbs_down for s in all_of),
        judge_flips=any(s.judge_flips for s in all_of),
        lost_episode=any(s.lost_episode for s in all_of),
        efficiency=min(efficiencies, default=None),
        uncertainty=max(uncertainties, default=None),
    )


def reasons_of(signals: Signals) -> tuple[Reason, ...]:
    """Every reason the signals give, the most pressing first; `random` and `quota` are no
    signals."""
    held: dict[Reason, bool] = {
        "safety": signals.safety,
        "gate_disagreement": signals.gate_disagreement,
        "iteration_limit": signals.iteration_limit,
        "blocked_output": signals.blocked_output,
        "thumbs_down": signals.thumbs_down,
        "judge_flips": signals.judge_flips,
        "lost_episode": signals.lost_episode,
        "low_efficiency": signals.efficiency is not None and signals.efficiency < LOW_EFFICIENCY,
        "uncertain": signals.uncertainty is not None and signals.uncertainty >= UNCERTAIN,
    }
    return tuple(reason for reason in STRATUM_OF if held.get(reason))
