"""Showings: each pair once in each order, far apart, and the same again after a break."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import messages, pairs

from reviewer.review.items import (
    FAR,
    Item,
    PastShowing,
    Showing,
    coming_pairs,
    distance,
    remaining,
    schedule,
    showing,
)

COUNT = st.integers(0, 70)
SEED = st.text(max_size=5)


def places(order: Sequence[Showing]) -> dict[tuple[str, int], int]:
    return {(shown.item, shown.number): place for place, shown in enumerate(order)}


def nearest(order: Sequence[tuple[str, int]]) -> int | None:
    """The fewest places between the two showings of any pair."""
    last: dict[str, int] = {}
    gaps = []
    for place, (item, _) in enumerate(order):
        if item in last:
            gaps.append(place - last[item])
        last[item] = place
    return min(gaps, default=None)


def keys(order: Sequence[Showing]) -> list[tuple[str, int]]:
    return [(shown.item, shown.number) for shown in order]


@given(COUNT, SEED)
def test_each_pair_comes_once_in_each_order_and_far_apart(count: int, seed: str) -> None:
    items = pairs(count)
    order = schedule(items, seed)
    assert sorted(keys(order)) == sorted((item.item, n) for item in items for n in (1, 2))
    assert distance(count) == min(FAR, len(order) // 2)
    if count:
        assert (nearest(keys(order)) or 0) >= distance(count)
    at = places(order)
    for item in items:
        first, second = order[at[item.item, 1]], order[at[item.item, 2]]
        assert at[item.item, 1] < at[item.item, 2]
        assert {first.left, first.right} == {message.digest for message in item.messages}
        assert (first.left, first.right) == (second.right, second.left)
    assert [shown.item for shown in order if shown.number == 1] == [item.item for item in items]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_pairs_are_shown_one_way_and_then_the_other(count: int) -> None:
    order = schedule(pairs(count), "seed")
    assert [shown.number for shown in order] == [1] * count + [2] * count
    assert nearest(keys(order)) == count


def test_the_slot_of_a_message_is_a_matter_of_the_seed() -> None:
    items = pairs(200)
    left = [showing(item, 1, "a").left == item.messages[0].digest for item in items]
    assert 60 < sum(left) < 140
    assert left != [showing(item, 1, "b").left == item.messages[0].digest for item in items]
    alone = showing(items[7], 1, "a")
    assert alone in schedule(items[5:9], "a")


def test_a_repeat_cannot_be_told_by_its_place() -> None:
    numbers = [shown.number for shown in schedule(pairs(100), "seed")]
    middle = numbers[FAR : 2 * 100 - 2 * FAR]
    runs = {len(run) for run in "".join(map(str, middle)).replace("2", " ").split()}
    assert len(runs) > 2
    assert schedule(pairs(100), "other") != schedule(pairs(100), "seed")


@given(COUNT, SEED, st.data())
def test_after_a_break_the_rest_keeps_its_order(count: int, seed: str, data: st.DataObject) -> None:
    items = pairs(count)
    order = schedule(items, seed)
    made = data.draw(st.integers(0, len(order)))
    seen = [PastShowing(shown.item, shown.number) for shown in order[:made]]
    assert remaining(items, seed, seen) == order[made:]


@given(st.integers(1, 45), SEED, st.data())
def test_a_showing_handed_back_comes_later_and_stays_far_from_its_other(
    count: int, seed: str, data: st.DataObject
) -> None:
    items = pairs(count)
    order = schedule(items, seed)
    made = data.draw(st.integers(0, len(order) - 1))
    given_back = (order[made].item, order[made].number)
    seen = [
        *(PastShowing(*key) for key in keys(order[:made])),
        PastShowing(*given_back, labeled=False),
    ]
    rest = remaining(items, seed, seen)
    assert sorted(keys(rest)) == sorted(keys(order[made:]))
    others = [key for key in keys(rest) if key != given_back]
    assert [k for k in others if k[0] != given_back[0]] == [
        k for k in keys(order[made + 1 :]) if k[0] != given_back[0]
    ]
    # It waits as long as its other order, if that is still to come, leaves room for.
    partner = (given_back[0], 3 - given_back[1]) in others
    room = len(rest) - 1 - (distance(count) if partner else 0)
    assert keys(rest).index(given_back) >= max(0, min(distance(count), room))
    said = [*keys(order[:made]), *keys(rest)]
    at = {key: place for place, key in enumerate(said)}
    other = (given_back[0], 3 - given_back[1])
    assert abs(at[given_back] - at[other]) >= distance(count)


@given(st.integers(1, 45), SEED, st.data())
def test_labels_out_of_order_and_new_items_bring_no_pair_too_near(
    count: int, seed: str, data: st.DataObject
) -> None:
    """Whatever was labeled in whatever order, a pair comes too near only when nothing else is
    left."""
    items = pairs(count)
    chosen = data.draw(st.lists(st.sampled_from(items), unique_by=lambda item: item.item))
    seen = [PastShowing(item.item, 1) for item in chosen]
    rest = remaining(items, seed, seen)
    labeled = {(one.item, one.number) for one in seen}
    assert sorted(keys(rest)) == sorted(set(keys(schedule(items, seed))) - labeled)
    told = [*((one.item, one.number) for one in seen), *keys(rest)]
    last: dict[str, int] = {}
    for place, (item, _) in enumerate(told):
        if item in last and place - last[item] < distance(count):
            assert all(i in last and place - last[i] < distance(count) for i, _ in told[place:])
        last[item] = place


def test_an_item_that_left_the_queue_only_counts_as_a_place() -> None:
    items = pairs(4)
    gone = [PastShowing("0" * 64, 1), PastShowing("0" * 64, 2)]
    assert remaining(items, "s", gone) == schedule(items, "s")


def test_nothing_is_left_when_all_is_labeled() -> None:
    items = pairs(3)
    assert remaining(items, "s", [PastShowing(*key) for key in keys(schedule(items, "s"))]) == ()


def test_what_is_no_pair_is_not_shown_in_two_orders() -> None:
    (item,) = messages(1)
    with pytest.raises(ValueError, match="showing 1 of a message"):
        schedule([item], "s")
    with pytest.raises(ValueError, match="showing 3 of a pair"):
        showing(pairs(1)[0], 3, "s")
    with pytest.raises(ValueError, match="in the queue twice"):
        schedule(pairs(1) * 2, "s")


@given(st.integers(1, 45), SEED, st.data())
def test_the_first_showing_takes_no_more_items_than_it_needs(
    count: int, seed: str, data: st.DataObject
) -> None:
    items, taken = pairs(count), 0

    def counted() -> Iterator[Item]:
        nonlocal taken
        for item in items:
            taken += 1
            yield item

    made = data.draw(st.integers(0, count - 1))
    seen = [PastShowing(shown.item, shown.number) for shown in schedule(items, seed)[:made]]
    names = {item.item for item in items}
    first = next(coming_pairs(counted(), names, seed, seen))
    assert first == remaining(items, seed, seen)[0]
    assert taken <= made + 1
