"""Comparing the tool names of a trajectory with those its contract expects: diagnostics."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

from reviewer.stats.checks import non_negative


class ToolScores(TypedDict):
    precision: float
    recall: float
    f1: float


class TrajectoryMetrics(TypedDict):
    """Diagnostics of a trajectory; null where undefined."""

    precision: float | None
    recall: float | None
    f1: float | None
    order: float | None
    efficiency: float | None


def tool_prf_set(actual: Sequence[str], expected: Sequence[str]) -> ToolScores:
    """Precision, recall and F1 over distinct tool names; 0 where a side is empty (scikit-learn).

    Two empty sides agree: all 1.
    """
    made, wanted = set(actual), set(expected)
    if not made and not wanted:
        return ToolScores(precision=1.0, recall=1.0, f1=1.0)
    shared = len(made & wanted)
    return ToolScores(
        precision=shared / len(made) if made else 0.0,
        recall=shared / len(wanted) if wanted else 0.0,
        f1=2 * shared / (len(made) + len(wanted)),
    )


def tool_f1_multiset(actual: Sequence[str], expected: Sequence[str]) -> float:
    """F1 over tool names with counts: a repeat counts at most as often as it is expected."""
    if not actual and not expected:
        return 1.0
    return 2 * _shared(actual, expected) / (len(actual) + len(expected))


def _shared(actual: Sequence[str], expected: Sequence[str]) -> int:
    return (Counter(actual) & Counter(expected)).total()


def edit_similarity(actual: Sequence[str], expected: Sequence[str]) -> float:
    """1 - Levenshtein distance / longer length, over tool names; 1 for two empty lists."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(list(actual), list(expected))


def lcs_length(actual: Sequence[str], expected: Sequence[str]) -> int:
    """Length of the longest common subsequence of tool names."""
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(list(actual), list(expected))


def step_efficiency(
    steps_used: float, optimal_steps: float, successful: bool = True
) -> float | None:
    """min(1, optimal/used): 0 when work was due and none was done, 1 when none was due or done.

    None for a run that did not succeed: a short failure is not efficient.
    """
    used = non_negative("steps_used", steps_used)
    optimal = non_negative("optimal_steps", optimal_steps)
    if not successful:
        return None
    if used == 0:
        return 1.0 if optimal == 0 else 0.0
    return min(1.0, optimal / used)


def trajectory_metrics(
    actual_tools: Sequence[str], expected_tools: Sequence[str], successful: bool = True
) -> TrajectoryMetrics:
    """Precision, recall and F1 with counts, order = LCS/len(expected), step efficiency.

    Each is null where undefined: precision without a call, recall and order without an expected
    call, F1 without either, efficiency of a failed run.
    """
    shared = _shared(actual_tools, expected_tools)
    made, wanted = len(actual_tools), len(expected_tools)
    return TrajectoryMetrics(
        precision=shared / made if made else None,
        recall=shared / wanted if wanted else None,
        f1=2 * shared / (made + wanted) if made + wanted else None,
        order=lcs_length(actual_tools, expected_tools) / wanted if wanted else None,
        efficiency=step_efficiency(made, wanted, successful),
    )


def kendall_tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings; None with fewer than two items or all tied. Uses scipy."""
    from scipy.stats import kendalltau

    if len(x) != len(y):
        raise ValueError(f"x and y must be equally long, not {len(x)} and {len(y)}")
    if any(not math.isfinite(v) for v in (*x, *y)):
        raise ValueError("x and y must be finite")
    tau = float(kendalltau(list(x), list(y)).statistic) if len(x) > 1 else math.nan
    return None if math.isnan(tau) else tau
