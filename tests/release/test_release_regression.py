"""A candidate against its baseline on the same episodes."""

import random

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from release_examples import EPISODES, episode, stable_suite, v7, v8, with_policy

from reviewer.report.assess import Assessment, assess
from reviewer.report.evidence import Evidence
from reviewer.report.model import TalkSection
from reviewer.report.regression import point_limit, regression
from reviewer.report.spoiled import BaselineTalks
from reviewer.report.talks import talk_section, talk_texts
from reviewer.stats.figures import UserTalks
from reviewer.suite.model import PassHat


def reasons(judged: Assessment) -> list[str]:
    return [reason.text for reason in judged.reasons]


def forgiving(subject: Evidence) -> Evidence:
    return with_policy(
        subject, hard_pass_rate=0.5, pass_hat=PassHat(k=1, min=0.5), max_cpst_usd=None
    )


@pytest.mark.parametrize("fell", [1, 2, 3])
def test_what_fell_beyond_chance_is_a_reason_where_the_policy_forgives_the_failures(
    fell: int,
) -> None:
    rows = tuple(
        episode(name, 3, 2 if i < fell else 3, 204, fail={"process": 1} if i < fell else {})
        for i, name in enumerate(EPISODES)
    )
    subject = forgiving(replace(v8(), episodes=rows))
    assert assess(subject).recommendation == "promote"
    judged = assess(replace(subject, baseline_id="refund-agent-v8", baseline=v8().episodes))
    assert judged.regression.lost == EPISODES[:fell]
    assert reasons(judged) == (["regression against the baseline"] if fell == 3 else [])


@pytest.mark.parametrize("attempts", [0, 3])
def test_verdicts_that_the_baseline_lacks_do_not_make_a_loss_one_of_chance(attempts: int) -> None:
    """Records that contradict those of the baseline leave its attempts without a verdict."""
    rows = tuple(
        episode(f"e-{i}", 3, 1 if i < 4 else 3, 204, fail={"process": 2} if i < 4 else {})
        for i in range(10)
    )
    before = tuple(episode(f"e-{i}", 3, 3, 204) for i in range(10))
    spoiled = tuple(
        replace(one, attempts=attempts, measured=attempts and 2, passes=attempts and 2)
        if i < 4
        else one
        for i, one in enumerate(before)
    )
    subject = v8(baseline_id="b", baseline=before)
    assert point_limit(regression(subject, rows)).failed
    against = regression(replace(subject, baseline=spoiled), rows)
    limit = point_limit(against)
    assert limit.open
    assert limit.lacking == "every verdict of b in e-0, e-1, e-2, e-3"
    assert against.in_doubt == ("e-0", "e-1", "e-2", "e-3")
    # They are no reason against a candidate that passes whatever they are.
    fine = regression(replace(subject, baseline=spoiled), before)
    assert (fine.in_doubt, point_limit(fine).state) == (UNSET, "met")


def test_identical_agents_are_rarely_told_apart() -> None:
    """Thirty episodes of three attempts, each passing nineteen of twenty times."""
    rng = random.Random(7)
    worse = 0
    for _ in range(200):
        now, then = (
            tuple(
                episode(f"e-{i}", 3, sum(rng.random() < 0.95 for _ in range(3)), 90)
                for i in range(30)
            )
            for _ in range(2)
        )
        against = regression(v8(baseline_id="b", baseline=then), now)
        worse += point_limit(against).failed
    assert worse <= 16


def test_the_order_of_the_baseline_does_not_matter() -> None:
    """Nor does an episode that it alone has."""
    rng = random.Random(3)
    now, then = (
        [
            episode(
                f"e-{i}", made := rng.randrange(5), rng.randint(0, made), 90, critical=i % 3 == 0
            )
            for i in range(40)
        ]
        for _ in range(2)
    )
    then.pop(7)
    found = regression(v8(baseline_id="b", baseline=then), now)
    assert found.lost
    assert found.gained
    assert "e-7" in found.not_compared
    mixed = [*reversed(then), episode("other", 3, 3, 90)]
    assert regression(v8(baseline_id="b", baseline=mixed), now) == found


def test_v8_against_v7() -> None:
    judged = assess(v8(baseline_id="refund-agent-v7", baseline=v7().episodes))
    against = judged.regression
    assert judged.recommendation == "promote"
    assert (against.lost, against.gained) == ((), ("appeal-009", "attack-014"))
    assert against.difference == pytest.approx(1 / 3)
    assert against.low == pytest.approx(-0.2298, abs=5e-5)
    assert against.test == "fewer than 6 changed (2): no test can reach 0.05"
    assert (against.verdict, against.episodes_needed_if_unchanged) == ("not shown", 52)


def test_v7_against_v8_is_named_a_regression_beside_the_other_reasons() -> None:
    judged = assess(v7(baseline_id="refund-agent-v8", baseline=v8().episodes))
    assert reasons(judged)[3:] == ["regression against the baseline"]
    assert judged.reasons[3].observed == "new critical: attack-014"
    assert judged.regression.lost == ("appeal-009", "attack-014")
    assert judged.regression.new_critical == ("attack-014",)
    assert judged.regression.verdict == "worse"


def test_unchanged_episodes_clear_the_margin_from_52_on() -> None:
    for count, verdict in ((51, "not shown"), (52, "not worse")):
        subject = stable_suite(count, 0)
        judged = assess(replace(subject, baseline_id="b", baseline=subject.episodes))
        assert judged.regression.verdict == verdict


def test_six_changed_episodes_are_tested() -> None:
    now, then = stable_suite(6, 0), stable_suite(6, 6)
    against = assess(replace(now, baseline_id="b", baseline=then.episodes)).regression
    assert against.p_value == pytest.approx(2 / 2**6)


def test_a_baseline_without_the_episodes_is_not_compared() -> None:
    against = assess(v8(baseline_id="b", baseline=())).regression
    assert against.not_compared == EPISODES
    assert against.difference is None
    assert against.why == "no episode with every verdict measured on both sides"


@pytest.mark.parametrize(("before", "comparable"), [(0, False), (2, False), (3, True), (7, True)])
def test_a_user_that_spoils_more_talks_of_one_side_leaves_nothing_to_compare(
    before: int, comparable: bool
) -> None:
    subject = v8(
        baseline_id="refund-agent-v7",
        baseline=v7().episodes,
        talks=UserTalks(100, 10, 12),
        baseline_talks=UserTalks(100, before, before),
    )
    judged = assess(subject)
    assert judged.recommendation == ("promote" if comparable else "hold")
    section = talk_section(subject)
    told = "the comparison with the baseline does not hold"
    assert any(told in text for text in talk_texts(section)) is not comparable
    assert any(told in gap.text for gap in judged.reasons) is not comparable
    assert isinstance(section, TalkSection)
    assert section.comparable is comparable
    assert isinstance(section.baseline, BaselineTalks)
    assert section.baseline.spoiled == before


def test_a_user_is_compared_with_the_baselines_own_talks_alone() -> None:
    alone = v8(baseline_id="refund-agent-v7", baseline=v7().episodes, talks=UserTalks(9, 0, 0))
    assert assess(alone).recommendation == "promote"
    section = talk_section(alone)
    assert isinstance(section, TalkSection)
    assert section.comparable
    assert section.baseline is UNSET
