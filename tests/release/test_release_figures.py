"""Figures from counts agree with the statistics they stand for."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from release_examples import MILLI, episode

from reviewer.report.episodes import Episodes
from reviewer.report.evidence import EpisodeCounts
from reviewer.report.figures import cost
from reviewer.report.formatting import exact, named, stable_bits
from reviewer.report.rates import exact_pass_hat, hard_pass
from reviewer.stats.cost_latency import cost_per_success
from reviewer.stats.rates import pass_hat_k_suite, wilson_effective
from reviewer.suite.gates import GATES

groups = st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=8)


@given(groups)
def test_hard_pass_limits_are_wilson_on_the_effective_n(runs: list[list[bool]]) -> None:
    rows = [episode(str(i), len(g), sum(g), 0) for i, g in enumerate(runs)]
    ours, theirs = hard_pass(Episodes(rows)), wilson_effective(runs)
    assert ours.value == pytest.approx(theirs.value)
    assert ours.n_eff == pytest.approx(theirs.n_eff)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@given(groups)
def test_pass_hat_is_the_mean_over_episodes(runs: list[list[bool]]) -> None:
    counts = [(len(g), sum(g)) for g in runs]
    expected = pass_hat_k_suite(runs)
    for k in range(1, 7):
        value = exact_pass_hat(counts, k)
        assert (value is None) == (k not in expected)
        if value is not None:
            assert float(value) == pytest.approx(expected[k])


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 5), max_size=12))
def test_episodes_with_equal_counts_count_as_often_as_they_occur(
    made: list[tuple[int, int, int, int, int]],
) -> None:
    rows = Episodes(
        EpisodeCounts(
            episode_id=str(i),
            attempts=attempts,
            critical=critical,
            quarantined=refused,
            gate_fail=(failed,) * len(GATES),
            cost_nano=i,
            steps=i,
            first=EpisodeCounts(episode_id=str(i), attempts=1) if beyond == 2 else None,
        )
        for i, (attempts, critical, refused, failed, beyond) in enumerate(made)
    )
    assert rows.total(lambda e: e.attempts * e.quarantined) == sum(a * r for a, _, r, _, _ in made)
    kinds = rows.tally(lambda e: (e.attempts, e.critical, e.quarantined, e.gate_fail[2]))
    assert list(kinds.items()) == list(Counter(one[:4] for one in made).items())
    assert rows.counted.total(lambda e: e.attempts) == sum(
        1 if beyond == 2 else attempts for attempts, *_, beyond in made
    )


COUNTED = st.lists(
    st.builds(
        EpisodeCounts,
        episode_id=st.just(""),
        attempts=st.integers(0, 2),
        passes=st.integers(0, 1),
        cost_nano=st.integers(0, 3),
        steps=st.integers(0, 3),
        passed=st.sampled_from([(), (1,)]),
        first=st.none() | st.builds(EpisodeCounts, episode_id=st.just("x"), steps=st.just(7)),
    ),
    max_size=8,
)


@given(COUNTED, st.dictionaries(st.integers(0, 7), st.integers(0, 2)), st.data())
def test_columns_hold_what_the_rows_hold(
    rows: list[EpisodeCounts], changes: dict[int, int], data: st.DataObject
) -> None:
    rows = [structs.replace(row, episode_id=str(at)) for at, row in enumerate(rows)]
    changed = {at: n for at, n in changes.items() if at < len(rows)}
    wanted = [structs.replace(r, attempts=changed.get(at, r.attempts)) for at, r in enumerate(rows)]
    found = Episodes(rows).with_rows({at: wanted[at] for at in changed})
    assert list(Episodes(rows)) == rows, "they are as they were"
    assert found == wanted
    assert found.names == [row.episode_id for row in rows]
    assert found[1:] == wanted[1:]
    assert list(found.counted) == [row.counted for row in wanted]
    assert found.column(lambda e: e.attempts) == [row.attempts for row in wanted]
    assert [
        (name, kind.attempts, kind.passes) for name, kind in found.where(lambda e: e.passes > 0)
    ] == [(row.episode_id, row.attempts, row.passes) for row in wanted if row.passes]
    assert list(found.chosen("024".__contains__)) == wanted[::2][:3]
    assert sum(found.costs) == sum(row.cost_nano for row in wanted)
    assert found.total(lambda e: e.attempts) == sum(row.attempts for row in wanted)
    if wanted:
        at = data.draw(st.integers(-len(wanted), len(wanted) - 1))
        assert found[at] == wanted[at]


def test_pass_hat_of_no_episodes_is_undefined() -> None:
    assert exact_pass_hat([], 1) is None


@given(groups, st.integers(1, 500))
def test_cost_per_success_and_its_error(runs: list[list[bool]], milli: int) -> None:
    rows = [episode(str(i), len(g), sum(g), milli * (i + 1) * len(g)) for i, g in enumerate(runs)]
    theirs = cost_per_success(
        runs, [[milli * (i + 1) * MILLI / 1e9] * len(g) for i, g in enumerate(runs)]
    )
    ours = cost(Episodes(rows))
    assert ours.cpst_usd == pytest.approx(theirs["cpst"])
    assert (ours.cpst_se is None) == (theirs["se"] is None)
    assert (ours.cpst_se or 0.0) == pytest.approx(theirs["se"] or 0.0, abs=1e-9)


def test_costs_of_attempts_lost_to_infrastructure_count() -> None:
    rows = [episode("a", 1, 1, 50), episode("b", 0, 0, 30, infrastructure=1)]
    assert cost(Episodes(rows)).cpst_usd == 0.08


def test_a_cost_without_an_attempt_counts_too() -> None:
    rows = [episode("a", 1, 1, 50), episode("b", 0, 0, 30)]
    assert cost(Episodes(rows)).cpst_usd == 0.08


def test_a_limit_is_read_as_it_was_written() -> None:
    assert exact(0.95) == Fraction(95, 100)
    assert exact(1e-7) == Fraction(1, 10**7)
    assert exact(1) == 1


def test_estimates_keep_twelve_digits() -> None:
    assert stable_bits(1 / 3) == 0.333333333333
    assert stable_bits(None) is None


def test_at_most_five_names_are_written_out() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named(list("abcdefg")) == "a, b, c, d, e and 2 more"
