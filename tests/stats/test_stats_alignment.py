"""Alignment: what is paired agrees and rises, nothing longer exists, and sides may be swapped."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.stats.trajectory import align, beside, common_subsequence

TEXTS = st.lists(st.sampled_from("abcd"), max_size=12)
CALLS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("12")), max_size=10)


def longest(a: list[str], b: list[str]) -> int:
    """The textbook table."""
    row = [0] * (len(b) + 1)
    for one in a:
        row = [0, *row]
        fresh = [0]
        for j, other in enumerate(b):
            best = row[j + 1] + 1 if one == other else max(row[j + 2], fresh[j])
            fresh.append(best)
        row = fresh
    return row[-1]


def keyed(calls: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Tool and argument, then the tool alone."""
    return [(tool + argument, tool) for tool, argument in calls]


@given(TEXTS, TEXTS)
def test_a_common_subsequence_rises_agrees_and_none_is_longer(a: list[str], b: list[str]) -> None:
    found = common_subsequence(a, b)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))
    assert all(a[i] == b[j] for i, j in found)
    assert len(found) == longest(a, b)


@given(TEXTS, TEXTS)
def test_swapping_the_sides_swaps_the_positions(a: list[str], b: list[str]) -> None:
    assert common_subsequence(b, a) == [(j, i) for i, j in common_subsequence(a, b)]


@given(TEXTS)
def test_a_sequence_is_wholly_in_common_with_itself(a: list[str]) -> None:
    assert common_subsequence(a, a) == [(n, n) for n in range(len(a))]


@given(CALLS, CALLS)
def test_what_is_the_same_is_paired_before_what_is_only_alike(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    first, second = keyed(a), keyed(b)
    pairs = align(first, second)
    assert all(p.a < q.a and p.b < q.b for p, q in pairwise(pairs))
    assert all(first[p.a][p.level] == second[p.b][p.level] for p in pairs)
    same = [p for p in pairs if p.level == 0]
    assert len(same) == longest([k[0] for k in first], [k[0] for k in second])
    # Nothing alike is left over in the same gap: it would have been paired.
    for old, new in unpaired(pairs, len(a), len(b)):
        assert not {first[i][1] for i in old} & {second[j][1] for j in new}


@given(CALLS, CALLS)
def test_alignment_has_no_preferred_side(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    pairs = align(keyed(a), keyed(b))
    mirrored = [(p.b, p.a, p.level) for p in align(keyed(b), keyed(a))]
    assert [tuple(p) for p in pairs] == mirrored


@given(CALLS, CALLS)
def test_every_item_stands_once_and_in_order(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    pairs = align(keyed(a), keyed(b))
    rows = list(beside(pairs, len(a), len(b)))
    assert [i for i, _ in rows if i is not None] == list(range(len(a)))
    assert [j for _, j in rows if j is not None] == list(range(len(b)))
    assert {(p.a, p.b) for p in pairs} <= set(rows)


def test_an_item_without_a_key_at_a_level_is_left_out_of_it() -> None:
    a: list[tuple[str | None, str]] = [(None, "said"), ("pay", "call")]
    b: list[tuple[str | None, str]] = [("pay", "call"), (None, "said")]
    assert [(p.a, p.b, p.level) for p in align(a, b)] == [(1, 0, 0)]


def test_items_of_other_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="every item needs 2 keys"):
        align([("a", "b")], [("a",)])


def unpaired(pairs, a: int, b: int):
    """The leftovers between neighbouring pairs, as positions of either side."""
    i = j = 0
    for end_a, end_b in [*((p.a, p.b) for p in pairs), (a, b)]:
        yield range(i, end_a), range(j, end_b)
        i, j = end_a + 1, end_b + 1
