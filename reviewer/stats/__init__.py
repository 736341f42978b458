# ruff: noqa: F403  (the star imports are seen by type checkers only)
"""Floor 2: statistics and metrics as pure functions.

Names load on first use (PEP 562), so importing this package pulls in nothing, and a release
report that asks only for rates, repeatability, cost and latency never loads numpy or scipy. Those
are imported inside the few functions that need them: `power_paired_t`, `kendall_tau`,
`paired_bootstrap_percentile`, and `tool_call_metrics` when there is a choice of matches.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.stats.agreement import *
    from reviewer.stats.alignment import *
    from reviewer.stats.calls import *
    from reviewer.stats.checks import *
    from reviewer.stats.clusters import *
    from reviewer.stats.compare import *
    from reviewer.stats.cost import *
    from reviewer.stats.judge import *
    from reviewer.stats.judge_rates import *
    from reviewer.stats.latency import *
    from reviewer.stats.matching import *
    from reviewer.stats.paired import *
    from reviewer.stats.planning import *
    from reviewer.stats.planning_gates import *
    from reviewer.stats.ranking import *
    from reviewer.stats.rates import *
    from reviewer.stats.repeat import *
    from reviewer.stats.sampling import *
    from reviewer.stats.sequential import *
    from reviewer.stats.text import *
    from reviewer.stats.trajectory import *

_HOMES = {
    "agreement": (
        "Kappa",
        "cohen_kappa",
        "cohen_kappa_table",
        "fleiss_kappa",
        "gwet_ac1",
        "gwet_ac1_table",
        "krippendorff_alpha",
        "krippendorff_interval",
    ),
    "alignment": (
        "align",
        "beside",
        "common_subsequence",
    ),
    "calls": (
        "ToolCallMetrics",
        "tool_call_metrics",
    ),
    "checks": ("Interval",),
    "clusters": (
        "EffectiveRate",
        "clustered_se",
        "clustered_t_interval",
        "effective_attempts",
        "effective_bounds",
        "exact_bounds",
        "icc1",
        "korn_graubard_interval",
        "naive_se",
        "wilson_effective",
    ),
    "compare": (
        "MIN_CHANGED_EPISODES",
        "PairedT",
        "SignFlip",
        "adjusted_paired_interval",
        "benjamini_hochberg_adjust",
        "holm_adjust",
        "paired_bootstrap_percentile",
        "paired_signflip_exact",
        "paired_t",
    ),
    "cost": (
        "CostPerSuccess",
        "Summary",
        "cost_limits",
        "cost_per_success",
        "summarize",
    ),
    "judge": (
        "Calibration",
        "PositionBias",
        "WinRate",
        "calibrate_judge",
        "pairwise_winrate_conservative",
        "position_bias",
    ),
    "judge_rates": (
        "Allocation",
        "CorrectedRate",
        "PredictionPowered",
        "allocate_calibration",
        "correction_is_sound",
        "judge_corrected_rate",
        "ppi_mean",
    ),
    "latency": (
        "LatencySummary",
        "Quantile",
        "QuantileInterval",
        "clustered_upper_limit",
        "latency_quantile",
        "latency_summary",
        "quantile_interval",
    ),
    "matching": ("trajectory_match",),
    "paired": (
        "Difference",
        "bonett_price_paired",
        "mcnemar_exact",
        "mcnemar_midp",
        "newcombe_independent",
        "newcombe_paired",
        "tango_paired",
    ),
    "planning": (
        "episodes_needed",
        "labels_needed_for_accuracy",
        "power_paired_t",
        "power_two_proportions",
        "runs_needed_for_max_rate",
        "sample_size_half_width",
        "zero_failure_sample_size",
    ),
    "planning_gates": (
        "attempts_needed_for_quantile",
        "clean_episodes_needed",
        "episodes_needed_for_cost",
        "stable_episodes_needed",
        "unchanged_episodes_needed",
    ),
    "ranking": (
        "bradley_terry",
        "bradley_terry_log",
    ),
    "rates": (
        "bayes_uniform_interval",
        "clopper_pearson",
        "effective_runs",
        "failure_rate_upper_bound",
        "jeffreys_interval",
        "rate_lower_bound",
        "wilson_interval",
    ),
    "repeat": (
        "PassHatInterval",
        "pass_at_k",
        "pass_at_k_runs",
        "pass_at_k_suite",
        "pass_hat_k",
        "pass_hat_k_interval",
        "pass_hat_k_runs",
        "pass_hat_k_suite",
        "too_few_attempts",
    ),
    "sampling": (
        "WeightedRate",
        "stratified_review_rate",
        "vote_entropy",
        "weighted_rate",
    ),
    "sequential": ("confidence_sequence",),
    "text": (
        "exact_match",
        "indel_ratio",
        "squad_em",
        "squad_f1",
        "token_f1",
        "token_f1_set",
    ),
    "trajectory": (
        "ToolScores",
        "TrajectoryMetrics",
        "edit_similarity",
        "kendall_tau",
        "lcs_length",
        "step_efficiency",
        "tool_f1_multiset",
        "tool_prf_set",
        "trajectory_metrics",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
