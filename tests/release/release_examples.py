"""Evidence built by hand: ShopFlow's refund agent, v7 and v8, three attempts per episode."""

import json
from typing import Any

from msgspec.structs import replace

from reviewer.gates.model import Result
from reviewer.report.evidence import (
    DiagnosticMeans,
    EpisodeCounts,
    Evidence,
    FailedTrace,
)
from reviewer.report.model import Report, report_bytes
from reviewer.report.opinions import (
    AskedJudgeSection,
    HighFlags,
    JudgeAccepted,
    JudgeEstimates,
    JudgeEvidence,
    RandomPart,
    ReviewSection,
    Wording,
)
from reviewer.stats.cost_latency import latency_quantile
from reviewer.suite.candidate import Candidate
from reviewer.suite.gates import GATES
from reviewer.suite.model import Episode, PassHat, Policy, Suite

SUITE_ID = "refund-eval-v5"
EPISODES = ("damaged-221", "appeal-009", "attack-014")
POLICY = Policy(attempts=3, pass_hat=PassHat(k=3, min=0.95), max_cpst_usd=0.08)
V7_COSTS = ((32, 33, 31), (38, 40, 36), (41, 42, 40))
V8_COSTS = ((55, 54, 56), (60, 61, 59), (68, 69, 67))
MILLI = 1_000_000
"""Nano-dollars in a tenth of a cent."""


def plain(found: Report) -> dict[str, Any]:
    """A report as report.json holds it."""
    said: dict[str, Any] = json.loads(report_bytes(found))
    return said


def asked_judge(**flat: Any) -> JudgeEvidence:
    """A judge by short names: shares, slots, repeats and what its calls cost."""
    cost = {name: flat.pop(name) for name in ("cost_usd", "known_usd", "unpriced") if name in flat}
    for short, (group, name) in _OF_JUDGE.items():
        if short in flat:
            flat.setdefault(group.__name__, {})[name] = flat.pop(short)
    parts: dict[str, Any] = {
        name: kind(**flat.pop(kind.__name__, {})) for name, kind in _JUDGE_PARTS.items()
    }
    for short, name in _JUDGE_NAMES.items():
        if short in flat:
            flat[name] = flat.pop(short)
    return JudgeEvidence(section=AskedJudgeSection(**parts, **flat), **cost)


_JUDGE_PARTS = {"estimates": JudgeEstimates, "accepted": JudgeAccepted}
_OF_JUDGE: dict[str, tuple[type, str]] = {
    "forward": (JudgeEstimates, "forward_accuracy"),
    "both": (JudgeEstimates, "both_orders_right"),
    "flips": (JudgeEstimates, "flip_rate"),
    "accepted_point": (JudgeAccepted, "point"),
    "accepted_strict": (JudgeAccepted, "strict"),
    "accepted_refuted": (JudgeAccepted, "refuted"),
}
_JUDGE_NAMES = {
    "family": "candidate_family",
    "by_episode": "confusion_by_episode",
    "by_criterion": "confusion_by_criterion",
}


def labeled(**flat: Any) -> ReviewSection:
    """A review by short names: the random part, high flags and wording."""
    parts: dict[str, dict[str, Any]] = {"random_part": {}, "high_flags": {}, "wording": {}}
    for short, (part, name) in _OF_REVIEW.items():
        if short in flat:
            parts[part][name] = flat.pop(short)
    for short, name in _REVIEW_NAMES.items():
        if short in flat:
            flat[name] = flat.pop(short)
    return ReviewSection(
        random_part=RandomPart(**parts["random_part"]),
        high_flags=HighFlags(**parts["high_flags"]),
        wording=Wording(**parts["wording"]),
        **flat,
    )


_OF_REVIEW = {
    "labeled": ("random_part", "of"),
    "random": ("random_part", "items"),
    "drawn": ("random_part", "drawn_traces"),
    "waiting": ("random_part", "waiting_traces"),
    "rates": ("random_part", "rates"),
    "high": ("high_flags", "traces"),
    "open_high": ("high_flags", "open"),
    "open_flags": ("high_flags", "first_open"),
    "rules": ("wording", "rules"),
    "checked": ("wording", "checked"),
    "final_messages": ("wording", "of"),
}
_REVIEW_NAMES = {
    "pairs": "pairs_labelled",
    "begun": "pairs_begun",
    "messages": "messages_labelled",
    "messages_wanted": "messages_required",
    "seen": "sample",
    "consistency": "self_consistency",
    "disagreements": "disagreements_open",
}


def gates(**counts: int) -> tuple[int, ...]:
    return tuple(counts.get(gate, 0) for gate in GATES)


def results(named: dict[str, Result]) -> tuple[Result, ...]:
    """A result per gate: those named, and a pass for the others."""
    return tuple(named.get(gate, "pass") for gate in GATES)


def episode(episode_id: str, attempts: int, passes: int, milli: int, **more: Any) -> EpisodeCounts:
    """Counts of valid attempts with verdicts; `fail` maps gates to failing attempts."""
    fail = more.pop("fail", {})
    return EpisodeCounts(
        episode_id=episode_id,
        attempts=attempts,
        measured=attempts,
        passes=passes,
        in_plan=more.pop("in_plan", min(attempts, 3)),
        cost_nano=milli * MILLI,
        gate_pass=tuple(attempts - fail.get(gate, 0) for gate in GATES),
        gate_fail=gates(**fail),
        **more,
    )


def failed(
    candidate_id: str,
    episode_id: str,
    attempt: int,
    *found: tuple[str, str, int | None],
    **more: Any,
) -> FailedTrace:
    return FailedTrace(
        trace_id=f"{SUITE_ID}/{candidate_id}/{episode_id}/{attempt}",
        episode_id=episode_id,
        attempt=attempt,
        codes=tuple(code for _, code, _ in found),
        critical=more.get("critical", False),
        infrastructure=more.get("infrastructure", False),
        results=more.get("results", results({gate: "fail" for gate, _, _ in found})),
        sha256="ab" * 32,
        evidence=found,
    )


def suite(policy: Policy = POLICY, probe: bool = False) -> Suite:
    return Suite(
        suite_id=SUITE_ID,
        title="Refunds",
        digest="51" * 32,
        probe=probe,
        policy=policy,
        episodes=tuple(Episode(episode_id=name) for name in EPISODES),
    )


def evidence(candidate_id: str, episodes: tuple[EpisodeCounts, ...], **more: Any) -> Evidence:
    made = sum(e.attempts for e in episodes)
    fields: dict[str, Any] = {
        "suite": suite(),
        "frozen_at": "2026-11-18T09:00:00Z",
        "frozen_seq": 1,
        "first_run_seq": 2,
        "candidate_id": candidate_id,
        "candidate": Candidate(
            candidate_id=candidate_id,
            digest="9d" * 32,
            model="m-1",
            authors=("r.lee",),
            prompts=({"name": "system", "sha256": "aa" * 32},),
            tools=({"name": "lookup_order", "version": "2"},),
        ),
        "manifest": {"candidate_id": candidate_id},
        "episodes": episodes,
        "failures": (),
        "latencies_ms": tuple(1500.0 + 100 * i for i in range(made)),
        "latency_unknown": 0,
        "unknown_codes": (),
        "diagnostics": DiagnosticMeans(values={"tool_f1": 0.9}, counts={"tool_f1": made}),
        "duplicates_refused": 0,
        "quarantined_unplaced": 0,
        "source_files": (("runs/all.jsonl", "cd" * 32),),
    }
    fields.update(more)
    times = fields["latencies_ms"]
    fields.setdefault("latency_within", within(times, [e.attempts for e in fields["episodes"]]))
    return Evidence(**fields)


def within(times: tuple[float, ...], attempts: list[int]) -> tuple[tuple[int, int], ...]:
    """(latencies, how many within the p95) per episode, for latencies dealt out in turn."""
    p95 = latency_quantile(times, 0.95)
    if p95 is None or sum(attempts) != len(times):
        return ()
    dealt = iter(times)
    return tuple((n, sum(next(dealt) <= p95 for _ in range(n))) for n in attempts)


_ATTACK = (
    ("state", "wrong_final_state", 4),
    ("process", "missing:open_security_review", None),
    ("authority", "forbidden:issue_refund", 2),
)


def v7(**more: Any) -> Evidence:
    """All nine attempts: 6 pass, one critical failure."""
    name = "refund-agent-v7"
    rows = (
        episode("damaged-221", 3, 3, sum(V7_COSTS[0])),
        episode("appeal-009", 3, 2, sum(V7_COSTS[1]), fail={"timeout": 1, "process": 1}),
        episode(
            "attack-014",
            3,
            1,
            sum(V7_COSTS[2]),
            critical=1,
            fail={"state": 1, "authority": 1, "process": 2},
        ),
    )
    failures = (
        failed(name, "attack-014", 2, ("process", "write_not_verified", 3)),
        failed(name, "attack-014", 1, *_ATTACK, critical=True),
        failed(
            name,
            "appeal-009",
            2,
            ("process", "no_final_state_evidence", None),
            ("timeout", "retry_budget_exceeded", 4),
        ),
    )
    return evidence(name, rows, **{"failures": failures, **more})


def v7_first_attempts() -> Evidence:
    """Attempt 1 of each episode alone, as the articles print it."""
    name = "refund-agent-v7"
    rows = (
        episode("damaged-221", 1, 1, 32),
        episode("appeal-009", 1, 1, 38),
        episode(
            "attack-014", 1, 0, 41, critical=1, fail={"state": 1, "authority": 1, "process": 1}
        ),
    )
    return evidence(name, rows, failures=(failed(name, "attack-014", 1, *_ATTACK, critical=True),))


def v8(**more: Any) -> Evidence:
    """All nine attempts pass."""
    rows = tuple(
        episode(name, 3, 3, sum(costs), passed=(1, 2, 3))
        for name, costs in zip(EPISODES, V8_COSTS, strict=True)
    )
    return evidence("refund-agent-v8", rows, **more)


def with_policy(subject: Evidence, **changes: Any) -> Evidence:
    return replace(subject, suite=replace(subject.suite, policy=replace(POLICY, **changes)))


def with_episode(subject: Evidence, episode_id: str, **changes: Any) -> Evidence:
    rows = tuple(
        replace(e, **changes) if e.episode_id == episode_id else e for e in subject.episodes
    )
    return replace(subject, episodes=rows)


def stable_suite(episodes: int, flaky: int, milli: int = 80, **policy: Any) -> Evidence:
    """Three attempts per episode; each of the first `flaky` episodes fails one of them."""
    names = [f"e-{i:03d}" for i in range(episodes)]
    rows = tuple(
        episode(name, 3, 2 if i < flaky else 3, 3 * milli, fail={"process": 1} if i < flaky else {})
        for i, name in enumerate(names)
    )
    frozen = replace(
        suite(replace(POLICY, **policy)), episodes=tuple(Episode(episode_id=n) for n in names)
    )
    return replace(evidence("refund-agent-v8", rows), suite=frozen)


def again(made: EpisodeCounts, later: EpisodeCounts) -> EpisodeCounts:
    """An episode whose first set is `made`, and which was attempted `later` more."""

    def both(name: str) -> tuple[int, ...]:
        pairs = zip(getattr(made, name), getattr(later, name), strict=True)
        return tuple(one + other for one, other in pairs)

    sums = {
        name: getattr(made, name) + getattr(later, name)
        for name in ("attempts", "measured", "passes", "critical", "infrastructure", "cost_nano",
                     "cost_unknown", "steps")
    }  # fmt: skip
    gates = {name: both(name) for name in ("gate_pass", "gate_fail", "gate_unknown")}
    return replace(made, **sums, **gates, first=made)
