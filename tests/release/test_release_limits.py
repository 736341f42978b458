"""Limits of a policy: inclusive, exact, and in strict mode on their bounds."""

from typing import Any

import pytest
from msgspec.structs import replace
from release_examples import (
    episode,
    evidence,
    gates,
    plain,
    stable_suite,
    v8,
    with_episode,
    with_policy,
    within,
)

from reviewer.api.stats import cost_per_success_upper_bound
from reviewer.report.assess import Assessment, assess
from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.suite.model import PassHat, Suite


def reasons(judged: Assessment) -> list[str]:
    return [reason.text for reason in judged.reasons]


def test_limits_are_on_the_good_side_of_themselves() -> None:
    # 19 of 20 stable is 0.95; 59 of 60 attempts; 60 × $0.08 over 59 passes.
    at_limit = stable_suite(20, 1, hard_pass_rate=59 / 60 - 1e-9, max_cpst_usd=4.8 / 59 + 1e-9)
    assert assess(at_limit).figures.pass_hat.value == 0.95
    assert reasons(assess(at_limit)) == []
    assert assess(at_limit).recommendation == "promote"
    assert reasons(assess(stable_suite(20, 2, hard_pass_rate=0.9, max_cpst_usd=None))) == [
        "repeatability below policy"
    ]


@pytest.mark.parametrize(
    ("budget", "verdict"), [(0.08, "promote"), (0.0799999999, "repair"), (0.0801, "promote")]
)
def test_cost_per_success_at_its_budget(budget: float, verdict: str) -> None:
    judged = assess(stable_suite(3, 0, max_cpst_usd=budget))
    assert judged.figures.cost.cpst_usd == 0.08
    assert judged.recommendation == verdict
    assert reasons(judged) == (["cost budget exceeded"] if verdict == "repair" else [])


def test_a_known_part_of_the_cost_can_exceed_the_budget_by_itself() -> None:
    judged = assess(
        with_policy(with_episode(v8(), "attack-014", cost_unknown=1), max_cpst_usd=0.05)
    )
    assert judged.recommendation == "repair"
    assert judged.reasons[0].observed == "at least $0.0610 per success"
    assert judged.figures.cost.total_usd is None
    assert judged.figures.cost.known_usd == 0.549
    assert judged.needs == ("cost of 1 attempt",)


def test_costs_are_not_needed_where_no_budget_is_set() -> None:
    free = with_policy(with_episode(v8(), "attack-014", cost_unknown=1), max_cpst_usd=None)
    assert assess(free).recommendation == "promote"


def test_p95_latency_at_its_limit() -> None:
    p95 = assess(v8()).figures.latency.p95
    assert p95 == pytest.approx(2260.0)
    assert assess(with_policy(v8(), latency_p95_ms=p95)).recommendation == "promote"
    over = assess(with_policy(v8(), latency_p95_ms=2259.0))
    assert (over.recommendation, reasons(over)) == ("repair", ["latency budget exceeded"])


@pytest.mark.parametrize(("passed", "fails"), [(42, False), (40, False), (39, True)])
def test_completion_at_its_limit(passed: int, fails: bool) -> None:
    row = episode("damaged-221", 50, passed, 100, fail={"state": 50 - passed})
    judged = assess(with_policy(evidence("x", (row,)), completion_min=0.8, hard_pass_rate=0.1))
    reason = ["completion below policy"] if fails else []
    assert [r for r in reasons(judged) if "completion" in r] == reason
    assert judged.recommendation in ({"repair"} if fails else {"repair", "hold", "promote"})


def test_strict_mode_holds_on_a_bound_and_says_how_many_episodes_it_takes() -> None:
    judged = assess(with_policy(v8(), mode="strict", max_cpst_usd=None))
    assert judged.recommendation == "hold"
    assert judged.needs == ("56 more stable episodes in the suite",)
    assert judged.reasons[0].text == "evidence missing: pass^3 1.000, at least 0.368"
    free = {"mode": "strict", "max_cpst_usd": None}
    assert assess(stable_suite(59, 0, **free)).recommendation == "promote"
    assert assess(stable_suite(58, 0, **free)).recommendation == "hold"
    assert assess(stable_suite(58, 0, **free)).needs == ("1 more stable episode in the suite",)


def test_a_failure_more_never_turns_a_hold_into_a_promotion() -> None:
    """Twenty episodes of ten attempts: all of them pass, or all but one."""
    limit = {"mode": "strict", "max_cpst_usd": None, "hard_pass_rate": 0.9,
             "pass_hat": PassHat(k=1, min=0.5)}  # fmt: skip
    found = []
    for fails in (0, 1, 2):
        subject = stable_suite(20, 0, attempts=10, **limit)
        rows = tuple(
            episode(e.episode_id, 10, 10 - fails * (i == 0), 90, in_plan=10,
                    fail={"process": fails} if fails and i == 0 else {})
            for i, e in enumerate(subject.episodes)
        )  # fmt: skip
        judged = assess(replace(subject, episodes=rows))
        assert judged.recommendation == "hold"
        assert judged.figures.hard_pass.lower is not None
        found.append(judged.figures.hard_pass.lower)
    assert found == pytest.approx([0.86089, 0.85637, 0.85134], abs=1e-5)


def strict_59(times: tuple[float, ...], **policy: Any) -> Evidence:
    """Fifty-nine stable episodes of three attempts, with latencies dealt out in turn."""
    subject = stable_suite(59, 0, mode="strict", max_cpst_usd=None, **policy)
    return replace(subject, latencies_ms=times, latency_within=within(times, [3] * 59))


def test_strict_mode_bounds_the_cost() -> None:
    subject = stable_suite(59, 0, mode="strict", max_cpst_usd=0.09)
    uneven = tuple(
        replace(e, cost_nano=e.cost_nano * (2 if i % 2 else 0))
        for i, e in enumerate(subject.episodes)
    )
    judged = assess(replace(subject, episodes=uneven))
    assert judged.recommendation == "hold"
    low, high = judged.figures.cost.cpst_limits
    assert low is not None
    assert high is not None
    assert low < 0.0787 < 0.09 < high
    (need,) = judged.needs
    more = int(need.split()[0])
    assert need == f"{more} more episodes that cost as these do"
    dearer = tuple(replace(e, cost_nano=e.cost_nano * 2) for e in uneven)
    over = assess(replace(subject, episodes=dearer))
    assert (over.recommendation, reasons(over)) == ("repair", ["cost budget exceeded"])
    assert over.reasons[0].observed == "$0.1573 per success, at least $0.1149"


def test_strict_mode_bounds_the_latency_with_episodes_as_clusters() -> None:
    together = tuple(1000.0 + i for i in range(177))
    spread = tuple(1000.0 + 37 * i % 177 for i in range(177))
    judged = assess(strict_59(spread, latency_p95_ms=1173.0))
    assert judged.figures.latency.p95 == pytest.approx(1167.2)
    assert judged.figures.latency.p95_limits == (1161.0, 1173.0)
    assert judged.figures.latency.p95_upper == 1173.0
    assert judged.recommendation == "promote"
    # The slow attempts stand together in three episodes: they are worth fewer than they are.
    alike = assess(strict_59(together, latency_p95_ms=1173.0))
    assert alike.figures.latency.p95_limits == (1161.0, 1173.0)
    assert alike.figures.latency.p95_upper is None
    assert alike.recommendation == "hold"
    assert alike.needs == ("more episodes: the attempts of an episode are too much alike",)
    assert reasons(alike)[0].startswith("evidence missing: p95 latency: p95 1167.2 ms, without")
    slow = assess(strict_59(spread, latency_p95_ms=1100.0))
    assert (slow.recommendation, reasons(slow)) == ("repair", ["latency budget exceeded"])


def test_few_attempts_have_no_upper_limit_of_their_latency() -> None:
    nine = with_policy(v8(), mode="strict", latency_p95_ms=9000.0)
    assert "63 more attempts at least, none above the limit" in assess(nine).needs


@pytest.mark.parametrize(
    ("passes", "verdict", "observed"),
    [
        (180, "promote", None),
        (172, "hold", "172 of 180, at least 0.901"),
        (150, "repair", "150 of 180, at most 0.871"),
    ],
)
def test_a_rate_below_one_stands_on_its_bound(
    passes: int, verdict: str, observed: str | None
) -> None:
    """Block when the upper bound is below the limit, hold while the interval straddles it."""
    failing = 180 - passes
    subject = stable_suite(
        60, failing, mode="strict", hard_pass_rate=0.93, pass_hat=PassHat(k=1, min=0.5)
    )
    judged = assess(replace(subject, suite=with_policy_of(subject, max_cpst_usd=None)))
    assert judged.recommendation == verdict
    if observed is None:
        return
    assert judged.reasons[0].observed == observed
    if verdict == "hold":
        (need,) = judged.needs
        assert need.endswith("more episodes that pass every attempt")


def with_policy_of(subject: Evidence, **changes: Any) -> Suite:
    return replace(subject.suite, policy=replace(subject.suite.policy, **changes))


def test_a_limit_of_one_is_one_on_the_frozen_attempts_in_either_mode() -> None:
    for mode in ("point", "strict"):
        one_failed = assess(stable_suite(100, 1, mode=mode, max_cpst_usd=None))
        assert one_failed.recommendation == "repair"
        assert reasons(one_failed)[0] == "not every frozen episode passed"


def test_a_pass_hat_of_one_is_shown_by_no_number_of_episodes() -> None:
    judged = assess(stable_suite(
        100, 0, mode="strict", pass_hat=PassHat(k=3, min=1.0), max_cpst_usd=None
    ))  # fmt: skip
    assert judged.needs == ("no number of episodes gives a lower bound of 1",)


def test_live_stopping_has_its_price() -> None:
    at_a_look = {"mode": "strict", "stopping": "live", "max_cpst_usd": None}
    judged = assess(stable_suite(59, 0, **at_a_look))
    assert judged.recommendation == "hold"
    assert judged.needs == ("99 more stable episodes in the suite",)
    assert assess(stable_suite(158, 0, **at_a_look)).recommendation == "promote"
    assert assess(stable_suite(157, 0, **at_a_look)).recommendation == "hold"


def test_an_attempt_that_is_no_evidence_holds_in_strict_mode() -> None:
    rows = list(stable_suite(60, 0).episodes)
    rows[7] = replace(
        rows[7], passes=2, gate_fail=gates(completeness=1), gate_pass=(2, *rows[7].gate_pass[1:])
    )
    lenient = {"hard_pass_rate": 0.5, "pass_hat": PassHat(k=1, min=0.5), "max_cpst_usd": None}
    subject = replace(stable_suite(60, 0, mode="strict", **lenient), episodes=tuple(rows))
    judged = assess(subject)
    assert judged.recommendation == "hold"
    assert judged.needs == ("1 valid trace (e-007)",)
    forgiven = replace(stable_suite(60, 0, **lenient), episodes=tuple(rows))
    assert assess(forgiven).recommendation == "promote"


def test_a_cap_per_attempt_bounds_the_cost_and_its_absence_is_said() -> None:
    free = with_policy(stable_suite(30, 0, mode="strict"), max_cpst_usd=0.1)
    capped = replace(free, attempt_cap_usd=0.09)
    found = [assess(one).figures.cost for one in (free, capped)]
    assert [one.most for one in found] == [None, pytest.approx(0.27)]
    assert found[1].cpst_limits[1] == pytest.approx(
        cost_per_success_upper_bound([3] * 30, [0.24] * 30, most=0.27)
    )
    assert found[1].cpst_limits[1] < found[0].cpst_limits[1]
    said = [plain(report(one)) for one in (free, capped)]
    assert [one["cost"]["capped_usd"] for one in said] == [None, pytest.approx(0.27)]
    rows = [{row["gate"]: row for row in one["decision_set"]["gates"]}["D4"] for one in said]
    assert [row["bounds"].rpartition(", ")[2] for row in rows] == [
        "no cap per attempt", "capped per attempt",
    ]  # fmt: skip
    warned = [[s for s in one["what_this_does_not_show"] if "stopped" in s] for one in said]
    assert warned == [
        [
            "No attempt is stopped at a cost, so no limit of the cost per success is certain: "
            "where one episode in ten is ten times dearer, 30 episodes may not show it, 40 do."
        ],
        [],
    ]
    # A stop that an attempt went over is none.
    assert assess(replace(free, attempt_cap_usd=0.07)).figures.cost.most is None
