"""Slices by category and tag: bounds for looking at all of them, and claims that are corrected."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import episode, evidence, plain, stable_suite, suite, v8

from reviewer.api.stats import (
    adjusted_paired_interval,
    effective_attempts,
    holm_adjust,
    paired_signflip_exact,
    wilson_interval,
)
from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.figures import figures
from reviewer.report.page import page
from reviewer.report.slices import MOST_SLICES, Slice, slices
from reviewer.suite.model import Episode


def tagged(
    counts: dict[str, tuple[int, tuple[str, ...]]], before: dict[str, int] | None = None
) -> Evidence:
    """Episodes of three attempts: passes and tags of each; `before` are the baseline's passes."""
    rows = tuple(episode(name, 3, passed, 30) for name, (passed, _) in counts.items())
    named = tuple(
        Episode(episode_id=name, tags=tags, category="golden" if "gold" in tags else "task")
        for name, (_, tags) in counts.items()
    )
    subject = evidence("x", rows, suite=replace(suite(), episodes=named))
    if before is None:
        return subject
    baseline = tuple(episode(name, 3, passed, 30) for name, passed in before.items())
    return replace(subject, baseline_id="base", baseline=baseline)


def found(subject: Evidence) -> dict[str, Slice]:
    return {f"{one.kind} {one.name}": one for one in slices(subject, figures(subject))}


def test_slices_are_categories_and_tags_that_do_not_hold_every_episode() -> None:
    subject = tagged({
        "a": (3, ("all", "gold", "vip")), "b": (3, ("all", "vip")), "c": (1, ("all",)),
    })  # fmt: skip
    got = found(subject)
    assert list(got) == ["category golden", "category task", "tag gold", "tag vip"]
    vip = got["tag vip"]
    assert (vip.episodes, vip.attempts, vip.passes, vip.pass_hat) == (2, 6, 6, 1.0)
    # Two episodes that always pass, looked at among four slices: 1 - 0.05/4.
    low, high = wilson_interval(2, 2, 1 - 0.05 / 4)
    assert (vip.low, vip.high) == pytest.approx((low, high))


def test_a_suite_of_one_kind_has_no_slices() -> None:
    assert plain(report(v8()))["slices"]["rows"] == []
    assert not [block for block in page(report(v8())) if block.title == "Slices" and block.rows]


def fallen(hurt: int, steady: int, lost: int = 3) -> Evidence:
    """`hurt` episodes of the tag `new` lost `lost` of their attempts, `steady` others none."""
    counts: dict[str, tuple[int, tuple[str, ...]]] = {}
    for i in range(hurt):
        counts[f"n{i}"] = (3 - lost, ("new",))
    for i in range(steady):
        counts[f"s{i}"] = (3, ("steady",))
    return tagged(counts, dict.fromkeys(counts, 3))


def test_a_slice_that_became_worse_is_named_and_corrected() -> None:
    got = found(fallen(8, 8))
    new, steady = got["tag new"], got["tag steady"]
    p = paired_signflip_exact([0.0] * 8, [1.0] * 8)["p"]
    assert new.p == pytest.approx(p) == pytest.approx(2 / 2**8)
    assert new.p_holm == pytest.approx(holm_adjust([p, 1.0])[0])
    assert (new.worse, new.look) == (True, True)
    assert steady.p is None
    assert (steady.changed, steady.worse) == (0, False)
    bounds = adjusted_paired_interval([0.0] * 8, [1.0] * 8, 1 - 2 * 0.05 / 2)
    assert (new.at_least, new.at_most) == pytest.approx((bounds["low"], bounds["high"]))


def test_under_six_changed_episodes_there_is_no_p() -> None:
    five = found(fallen(5, 8))["tag new"]
    assert (five.changed, five.p, five.p_holm, five.worse) == (5, None, None, False)


def test_what_would_be_a_claim_alone_is_none_among_many() -> None:
    alone = {f"n{i}": (0, ("new",)) for i in range(6)} | {"s": (3, ("s",))}
    few = found(tagged(alone, dict.fromkeys(alone, 3)))["tag new"]
    assert few.p == pytest.approx(2 / 2**6)
    assert few.p_holm == pytest.approx(2 * 2 / 2**6)
    assert few.worse is False
    many = alone | {f"t{i}": (3, (f"tag{i}",)) for i in range(10)}
    one = found(tagged(many, dict.fromkeys(many, 3)))["tag new"]
    assert one.p == few.p
    assert one.p_holm == pytest.approx(12 * 2 / 2**6)


def test_unmeasured_verdicts_leave_a_slice_unknown() -> None:
    subject = tagged({"a": (3, ("vip",)), "b": (3, ())})
    rows = (replace(subject.episodes[0], measured=2), subject.episodes[1])
    one = found(replace(subject, episodes=rows))["tag vip"]
    assert (one.value, one.low, one.pass_hat) == (None, None, None)


def test_of_very_many_tags_the_largest_are_looked_at() -> None:
    names = {f"e{i}": (3, (f"t{i}", "even" if i % 2 else "odd")) for i in range(MOST_SLICES + 50)}
    got = slices(tagged(names), figures(tagged(names)))
    assert len(got) == MOST_SLICES
    assert {"even", "odd"} <= {one.name for one in got}


def test_none_of_it_gates() -> None:
    document = report(replace(fallen(8, 60), baseline_id=None, baseline=()))
    again = plain(report(replace(stable_suite(3, 0), baseline_id=None)))
    assert plain(document)["slices"]["family"] == 2
    assert again["recommendation"] == "promote"
    (block,) = [b for b in page(document) if b.title == "Slices"]
    assert [row[0] for row in block.rows] == ["tag new", "tag steady"]
    assert "None of it gates" in block.lines[0]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.sets(st.sampled_from("abcd"), max_size=3)
        ),
        min_size=1,
        max_size=15,
    )
)
def test_corrected_limits_hold_what_uncorrected_ones_do(rows: list[Any]) -> None:
    counts = {f"e{i}": (now, tuple(sorted(tags))) for i, (now, _, tags) in enumerate(rows)}
    subject = tagged(counts, {f"e{i}": then for i, (_, then, _) in enumerate(rows)})
    got = slices(subject, figures(subject))
    for one in got:
        assert one.passes <= one.attempts == 3 * one.episodes
        members = [c for c, tags in counts.values() if one.kind == "tag" and one.name in tags]
        if members:
            worth = effective_attempts([(3, c) for c in members])
            low, high = wilson_interval(sum(members) / len(members) / 3 * worth, worth)
            assert one.low is not None
            assert one.high is not None
            assert one.low <= low + 1e-9
            assert one.high >= high - 1e-9
        if one.p_holm is not None:
            assert one.p is not None
            assert one.p_holm >= one.p
        if one.worse:
            assert one.look
            assert one.difference is not None
            assert one.difference < 0
