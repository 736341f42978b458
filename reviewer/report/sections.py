"""The sections of a report, each a plain JSON value built from evidence and its figures."""

import shlex
from collections import Counter
from typing import Any

from msgspec import to_builtins

from reviewer.report.amounts import NANO, stable_bits
from reviewer.report.bins import latency_bins
from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.judged import completion_judged
from reviewer.report.ledger import entered, ledger_section
from reviewer.report.lineage import lineage_section
from reviewer.report.missing import frozen_before_first_run
from reviewer.report.others_spent import others_section
from reviewer.report.rates import Rate
from reviewer.report.references import ordered_failures
from reviewer.report.regression import Regression
from reviewer.report.safety import red_team
from reviewer.report.slots import SlotFigures
from reviewer.report.text_scores import text_section
from reviewer.stats.repeat import pass_hat_k_interval
from reviewer.suite.gates import COVERS

NO_LEDGER = "no cost of this kind is recorded"


def suite_section(evidence: Evidence) -> dict[str, Any]:
    suite = evidence.suite
    return {
        "suite_id": suite.suite_id,
        "title": suite.title,
        "digest": suite.digest or None,
        "probe": suite.probe,
        "episodes": len(suite.episodes),
        "frozen_at": evidence.frozen_at,
        "frozen_before_first_run": frozen_before_first_run(evidence),
        "lineage": lineage_section(evidence.lineage),
        "source": dict(suite.source),
    }


def candidate_section(evidence: Evidence) -> dict[str, Any]:
    candidate = evidence.candidate
    if candidate is None:
        return {"candidate_id": evidence.candidate_id, "digest": None, "manifest": None}
    return {
        "candidate_id": evidence.candidate_id,
        "digest": candidate.digest or None,
        "agent": candidate.agent,
        "version": candidate.version,
        "authors": list(candidate.authors),
        "model": candidate.model,
        "prompts": [dict(prompt) for prompt in candidate.prompts],
        "tools": [dict(tool) for tool in candidate.tools],
        "manifest": evidence.manifest,
    }


def policy_section(evidence: Evidence) -> dict[str, Any]:
    policy: dict[str, Any] = to_builtins(evidence.suite.policy)
    return policy


def slots_section(evidence: Evidence, slots: SlotFigures) -> dict[str, Any]:
    return {
        "planned": slots.planned,
        "valid": slots.valid,
        "infrastructure": slots.infrastructure,
        "quarantined": slots.quarantined,
        "missing": slots.missing,
        "extra": slots.extra,
        "infrastructure_attempts": slots.infrastructure_attempts,
        "duplicates_refused": evidence.duplicates_refused,
        "quarantined_unplaced": evidence.quarantined_unplaced,
        "missing_in": _where(slots.missing_in),
        "infrastructure_in": _where(slots.infrastructure_in),
        "quarantined_in": _where(slots.quarantined_in),
    }


def _where(places: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"episode_id": name, "attempts": count} for name, count in places]


def gates_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    codes: dict[str, Counter[str]] = {g.gate: Counter() for g in shown.gates}
    for trace in evidence.failures:
        if not trace.infrastructure:
            for gate, code, _ in trace.evidence:
                codes.setdefault(gate, Counter())[code] += 1
    return {
        g.gate: {
            "pass": g.passed,
            "fail": g.failed,
            "not_measured": g.not_measured,
            "fail_counted": g.against,
            "not_measured_counted": g.open,
            "covers": COVERS[g.gate],
            "findings": [{"code": c, "count": n} for c, n in sorted(codes[g.gate].items())],
        }
        for g in shown.gates
    }


def rate_section(rate: Rate, policy: float | None) -> dict[str, Any]:
    return {
        "value": rate.value,
        "low": rate.low,
        "high": rate.high,
        "n": rate.n,
        "pass": rate.passes,
        "fail": rate.fails,
        "not_measured": rate.not_measured,
        "n_eff": rate.n_eff,
        "lower_bound": rate.lower,
        "upper_bound": rate.upper,
        "policy": policy,
        "why": rate.why or None,
        "known": to_builtins(rate.known),
    }


def completion_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    """By the state gate; `judged` is a judge's opinion of the same, which never replaces it."""
    section = rate_section(shown.completion, evidence.suite.policy.completion_min)
    return {**section, "judged": completion_judged(evidence.judge)}


def critical_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    critical = shown.critical
    return {
        "count": critical.count,
        "n": critical.n,
        "upper": critical.upper,
        "episodes": critical.episodes,
        "upper_episodes": critical.upper_episodes,
        "policy": evidence.suite.policy.max_critical_failures,
        "traces": [t.trace_id for t in ordered_failures(evidence, shown) if t.critical],
    }


def safety_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    tagged, rate = red_team(evidence), shown.safety
    return {
        "value": rate.value,
        "low": rate.low,
        "high": rate.high,
        "n": rate.n,
        "blocked": rate.passes,
        "not_blocked": rate.fails,
        "not_measured": rate.not_measured,
        "n_eff": rate.n_eff,
        "episodes": [e.episode_id for e in shown.episodes if e.episode_id in tagged],
        "why": rate.why or None,
        "known": to_builtins(rate.known),
    }


def repeatability_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    made = [e.attempts for e in shown.episodes]
    return {
        "attempts_per_episode": evidence.plan,
        "episodes": len(shown.episodes),
        "attempts_made": sum(made),
        "attempts_counted": sum(e.attempts for e in shown.counted),
        "attempts_measured": sum(e.measured for e in shown.episodes),
        "least_attempts": min(made, default=0),
        "most_attempts": max(made, default=0),
        "k": evidence.suite.policy.pass_hat.k,
        "formula": "pass^k = mean over episodes of C(passes, k) / C(attempts, k)",
        "pass_at": None,
        "pass_at_why": "shown only where a verifier picks among attempts",
    }


def pass_hat_section(shown: Figures) -> dict[str, float | None]:
    return {str(k): value for k, value in shown.pass_hat.values}


def pass_hat_interval_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    hat = shown.pass_hat
    return {
        "k": hat.k,
        "value": hat.value,
        "low": hat.low,
        "high": hat.high,
        "n_eff": hat.n_eff,
        "lower_bound": hat.lower,
        "upper_bound": hat.upper,
        "limits_by_k": _limits_by_k(shown),
        "episodes": len(shown.episodes),
        "policy": evidence.suite.policy.pass_hat.min,
        "why": hat.why or None,
        "known": {
            str(one.k): {
                "value": one.value,
                "episodes": one.episodes,
                "low_possible": one.low,
                "high_possible": one.high,
            }
            for one in hat.possible
        },
    }


def _limits_by_k(shown: Figures) -> dict[str, list[float | None]]:
    """95% limits of every pass^k that is known."""
    hat, counts = shown.pass_hat, [(e.measured, e.passes) for e in shown.counted]
    found: dict[str, list[float | None]] = {}
    for k, value in hat.values:
        if k == hat.k and hat.low is not None:
            found[str(k)] = [hat.low, hat.high]
        elif value is not None and (made := pass_hat_k_interval(counts, k)) is not None:
            found[str(k)] = [stable_bits(made.low), stable_bits(made.high)]
    return found


def cost_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    cost = shown.cost
    return {
        "total_usd": cost.total_usd,
        "known_usd": cost.known_usd,
        "unknown_attempts": cost.unknown,
        "cpst_usd": cost.cpst_usd,
        "cpst_se": cost.cpst_se,
        "cpst_low": cost.cpst_limits[0],
        "cpst_high": cost.cpst_limits[1],
        "cpst_low_possible": cost.possible[0],
        "cpst_high_possible": cost.possible[1],
        "cpst_budget_usd": evidence.suite.policy.max_cpst_usd,
        "extra_usd": _beyond_usd(shown),
        "judge_usd": evidence.judge.cost_usd if evidence.judge else None,
        "judge_known_usd": evidence.judge.known_usd if evidence.judge else None,
        "judge_unpriced_calls": evidence.judge.unpriced if evidence.judge else 0,
        "human_usd": entered(evidence.ledger, "human"),
        "incident_usd": entered(evidence.ledger, "incident"),
        # Only where there are any: most candidates are judged by gates alone.
        **others_section(evidence.others),
        "entries": ledger_section(evidence.ledger),
        "why": cost.why or None,
    }


def _beyond_usd(shown: Figures) -> float | None:
    """What the attempts beyond the first complete set cost; None when one of them is unknown."""
    if sum(e.cost_unknown - e.counted.cost_unknown for e in shown.episodes):
        return None
    return sum(e.cost_nano - e.counted.cost_nano for e in shown.episodes) / NANO


def latency_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    latency = shown.latency
    return {
        "p50": latency.p50,
        "p90": latency.p90,
        "p95": latency.p95,
        "max": latency.max,
        "p50_limits": list(latency.p50_limits),
        "p90_limits": list(latency.p90_limits),
        "p95_limits": list(latency.p95_limits),
        "p95_upper": latency.p95_upper,
        "n": latency.n,
        "unknown": latency.unknown,
        "p95_policy": evidence.suite.policy.latency_p95_ms,
        "bins": latency_bins(evidence.latencies_ms, latency.p95),
        "why": latency.why or None,
    }


def diagnostics_section(evidence: Evidence) -> dict[str, Any]:
    means = evidence.diagnostics
    shares = {
        name: {"mean": value, "n": means.counts.get(name, 0)}
        for name, value in means.values.items()
    }
    return {**shares, **text_section(evidence.text)}


def regression_section(against: Regression) -> dict[str, Any]:
    return {
        "baseline": against.baseline_id,
        "last_promoted": None if against.promoted is None else to_builtins(against.promoted),
        "why": against.why or None,
        "compared": against.compared,
        "not_compared": list(against.not_compared),
        "lost": list(against.lost),
        "gained": list(against.gained),
        "new_critical": list(against.new_critical),
        "changed": against.changed,
        "difference": against.difference,
        "low": against.low,
        "high": against.high,
        "margin": against.margin,
        "dropped": against.dropped if against.difference is not None else None,
        "verdict": against.verdict if against.baseline_id is not None else None,
        "test": against.test or None,
        "p_value": against.p_value,
        "episodes_needed_if_unchanged": against.episodes_needed,
        "more_unchanged_needed": against.more_unchanged,
    }


def failures_section(evidence: Evidence, shown: Figures) -> list[dict[str, Any]]:
    return [
        {
            "trace_id": t.trace_id,
            "codes": list(t.codes),
            "episode_id": t.episode_id,
            "attempt": t.attempt,
            "critical": t.critical,
            "infrastructure": t.infrastructure,
            "extra": t.extra,
            "sha256": t.sha256,
            "evidence": [{"gate": g, "code": c, "seq": seq} for g, c, seq in t.evidence],
        }
        for t in ordered_failures(evidence, shown)
    ]


def episodes_section(shown: Figures) -> list[dict[str, Any]]:
    return [
        {
            "episode_id": e.episode_id,
            "attempts": e.attempts,
            "pass": e.passes,
            "fail": e.measured - e.passes,
            "not_measured": e.attempts - e.measured,
            "critical": e.critical,
            "infrastructure": e.infrastructure,
            "quarantined": e.quarantined,
            "cost_usd": None if e.cost_unknown else e.cost_nano / NANO,
            "counted_attempts": e.counted.attempts,
            "counted_pass": e.counted.passes,
            "passed_attempts": list(e.passed),
            "unmeasured_attempts": list(e.unmeasured),
        }
        for e in shown.episodes
    ]


def reproduce_section(evidence: Evidence) -> dict[str, Any]:
    command = ["reviewer", "--export-report", "OUT", "--suite", evidence.suite.suite_id]
    command += ["--candidate", evidence.candidate_id]
    if evidence.baseline_id is not None:
        command += ["--baseline", evidence.baseline_id]
    if evidence.text is not None and evidence.text.model is not None:
        command += ["--embedding-model", evidence.text.model]
    return {
        "commands": [shlex.join(command)],
        "sources": [{"path": path, "sha256": digest} for path, digest in evidence.source_files],
    }
