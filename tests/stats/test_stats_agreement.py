"""Agreement between people, rankings, and weighted review samples."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.api.stats import (
    bradley_terry,
    cohen_kappa,
    cohen_kappa_table,
    gwet_ac1,
    krippendorff_alpha,
    krippendorff_interval,
    stratified_review_rate,
    vote_entropy,
)

LABEL = st.integers(1, 4)
TWO = st.lists(st.tuples(LABEL, LABEL), min_size=2, max_size=30)
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@given(TWO)
def test_agreement_is_symmetric_and_at_most_one(pairs):
    a, b = (list(column) for column in zip(*pairs, strict=True))
    for weights in (None, "linear", "quadratic"):
        one, other = cohen_kappa(a, b, weights), cohen_kappa(b, a, weights)
        assert one == pytest.approx(other)
        assert one is None or one <= 1 + 1e-12
    for level in LEVELS:
        one, other = krippendorff_alpha([a, b], level), krippendorff_alpha([b, a], level)
        assert one == pytest.approx(other)
        assert one is None or one <= 1 + 1e-12
    assert gwet_ac1([a, b]) == pytest.approx(gwet_ac1([b, a]))


@given(st.lists(LABEL, min_size=2, max_size=20).filter(lambda x: len(set(x)) > 1))
def test_perfect_agreement_is_one(labels):
    assert cohen_kappa(labels, labels) == pytest.approx(1.0)
    assert gwet_ac1([labels, labels, labels]) == pytest.approx(1.0)
    for level in LEVELS:
        assert krippendorff_alpha([labels, labels], level) == pytest.approx(1.0)


@given(TWO)
def test_tables_and_lists_agree(pairs):
    a, b = (list(column) for column in zip(*pairs, strict=True))
    categories = sorted(set(a) | set(b))
    table = [[pairs.count((x, y)) for y in categories] for x in categories]
    by_table, by_list = cohen_kappa_table(table), cohen_kappa(a, b)
    if by_list is None:
        assert by_table is None
    else:
        assert by_table["kappa"] == pytest.approx(by_list)
        assert by_table["low"] <= by_table["kappa"] <= by_table["high"]


def test_the_prevalence_paradox_of_the_guide():
    table = [[45, 3], [1, 1]]
    kappa = cohen_kappa_table(table)
    assert kappa["kappa"] == pytest.approx(0.30, abs=5e-3)
    assert (kappa["low"], kappa["high"]) == pytest.approx((-0.20, 0.79), abs=6e-3)
    first, second = [1] * 48 + [2] * 2, [1] * 45 + [2] * 3 + [1, 2]
    assert gwet_ac1([first, second]) == pytest.approx(0.91, abs=5e-3)


def test_one_category_leaves_agreement_undefined():
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa_table([[5]]) is None
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None
    assert gwet_ac1([[1, 1], [1, 1]]) is None


def test_labels_nobody_else_gave_do_not_count():
    assert krippendorff_alpha([[1, 2, 1], [1, 2, None]]) == krippendorff_alpha([[1, 2], [1, 2]])
    assert krippendorff_alpha([[1, None], [None, 2]]) is None
    assert gwet_ac1([[1, None], [None, 2]]) is None


def test_the_bootstrap_of_alpha_draws_whole_items():
    """Of the items AA, BB and AB every resample's alpha is one of a few known by hand."""
    ratings = [["A", "B", "A"], ["A", "B", "B"]]
    columns = list(zip(*ratings, strict=True))
    possible = {
        krippendorff_alpha(list(zip(*drawn, strict=True)))
        for drawn in itertools.product(columns, repeat=3)
    }
    for seed in range(20):
        found = krippendorff_interval(ratings, resamples=5, seed=str(seed))
        assert found is None or set(found) <= possible
    wide = krippendorff_interval(ratings)
    assert wide.low <= krippendorff_alpha(ratings) <= wide.high == 1.0
    assert wide == krippendorff_interval(ratings[::-1])
    assert wide == krippendorff_interval([row[::-1] for row in ratings])
    many = krippendorff_interval([row * 30 for row in ratings])
    assert many.high - many.low < (wide.high - wide.low) / 2
    narrow = krippendorff_interval([row * 30 for row in ratings], confidence=0.5)
    assert many.low < narrow.low < narrow.high < many.high


@given(TWO, st.sampled_from(LEVELS))
def test_the_interval_of_alpha_is_ordered_and_at_most_one(pairs, level):
    ratings = [list(column) for column in zip(*pairs, strict=True)]
    found = krippendorff_interval(ratings, level, resamples=20)
    if found is None:
        assert all(a == b for a, b in pairs) or len({tuple(sorted(p)) for p in pairs}) <= 2
    else:
        assert found.low <= found.high <= 1 + 1e-12


def test_resampling_what_never_differs_says_nothing():
    assert krippendorff_interval([[1, 2, 1], [1, 2, 1]]) is None
    assert krippendorff_interval([[1, None], [2, None]]) is None
    assert krippendorff_interval([[], []]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: krippendorff_interval([[1], [2]], resamples=0), "resamples must be at least 1"),
        (lambda: krippendorff_interval([[1], [2]], confidence=1), "confidence must be strictly"),
        (lambda: cohen_kappa([], []), "must not be empty"),
        (lambda: cohen_kappa([1], [1], "cubic"), "weights must be"),
        (lambda: cohen_kappa_table([[1, 2]]), "table must be square"),
        (lambda: cohen_kappa_table([[0]]), "at least one rated item"),
        (lambda: krippendorff_alpha([[1, 2], [1]]), "a row of the same length"),
        (lambda: krippendorff_alpha([["x", "y"], ["y", "x"]], "interval"), "ratings must be"),
        (lambda: krippendorff_alpha([[1, 2], [1, 2]], "cosine"), "level must be"),
        (lambda: krippendorff_alpha([[math.nan], [1]]), "must not be NaN"),
    ],
)
def test_ratings_that_do_not_line_up_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_two_candidates_are_rated_by_their_odds():
    battles = [["old", "new", "model_b"]] * 3 + [["old", "new", "model_a"]]
    expected = 400 * math.log10(3)
    assert bradley_terry(battles) == {"new_minus_old": pytest.approx(expected, abs=1e-6)}
    tied = [["old", "new", "tie"]] * 4
    assert bradley_terry(tied) == {"new_minus_old": pytest.approx(0.0, abs=1e-9)}


def test_a_candidate_that_never_lost_has_no_finite_rating():
    assert bradley_terry([["a", "b", "model_a"]] * 5) is None
    assert bradley_terry([["a", "b", "tie"], ["c", "d", "tie"]]) is None


def test_battles_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"battles\[0\] must be two different candidates"):
        bradley_terry([["a", "a", "model_a"]])
    with pytest.raises(ValueError, match="battles must not be empty"):
        bradley_terry([])


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0.1, 100)), min_size=1, max_size=30))
def test_equal_weights_are_the_plain_share(labels):
    ok, weight = zip(*labels, strict=True)
    assert stratified_review_rate(ok, [2.5] * len(ok)) == pytest.approx(sum(ok) / len(ok))
    assert 0 <= stratified_review_rate(ok, weight) <= 1 + 1e-12


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_entropy_is_between_none_and_even(counts):
    got = vote_entropy(counts)
    if not sum(counts):
        assert got is None
    else:
        assert -1e-12 <= got <= math.log2(len(counts)) + 1e-12
        assert (got < 1e-12) is (sum(c > 0 for c in counts) == 1)


def test_labels_without_weight_say_nothing():
    assert stratified_review_rate([], []) is None
    assert stratified_review_rate([1], [0]) is None
    with pytest.raises(ValueError, match=r"weight\[0\] must not be negative"):
        stratified_review_rate([1], [-1])
    with pytest.raises(ValueError, match=r"ok\[0\] must be between 0 and 1"):
        stratified_review_rate([2], [1])
