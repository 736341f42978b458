"""Whose message people find the better one, and what the random part says of all messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import SUITE, at, choosing, label, messages, pairs, rubric, trace

from reviewer.review.items import Item, candidate_pairs
from reviewer.review.labels import Label
from reviewer.review.wins import random_rates, sign_test, wins
from reviewer.stats.figures import RandomRate, Wins


def mine(items: tuple[Item, ...], side: str = "new") -> set[tuple[str, str]]:
    return {
        (item.episode_id, message.digest)
        for item in items
        for message in item.messages
        if message.text.startswith(side)
    }


def against(items: tuple[Item, ...], labels: list[Label], name: str = "old") -> Wins:
    (found,) = wins(labels, mine(items), {item.item: {name} for item in items})
    return found


def chosen(items: tuple[Item, ...], written: str, **more: Any) -> list[Label]:
    """One label of each item by a letter: n(ew), o(ld), t(ie), z (both bad)."""
    names = {"n": "new", "o": "old", "t": "tie", "z": "both_bad"}
    return [choosing(item, names[w], **more) for item, w in zip(items, written, strict=True)]


# wins ---------------------------------------------------------------------------------------------


def test_wins_are_tested_with_the_ties_apart() -> None:
    items = pairs(12)
    found = against(items, chosen(items, "nnnnnnnnottz"))
    assert (found.against, found.both_bad, found.open) == (("old",), 1, 0)
    assert (found.pairs.wins.hits, found.pairs.wins.n, found.pairs.ties) == (8, 9, 3)
    assert found.pairs.p == pytest.approx(2 * (1 + 9) / 2**9)
    assert found.by_episode == found.pairs  # each pair is of an episode of its own


@pytest.mark.parametrize(("won", "lost", "p"), [(6, 0, 2 / 64), (3, 3, 1.0), (0, 6, 2 / 64)])
def test_the_exact_sign_test(won: int, lost: int, p: float) -> None:
    assert sign_test(won, lost, 4).p == pytest.approx(p)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 99))
def test_where_no_test_could_reach_it_no_p_is_printed(won: int, lost: int, ties: int) -> None:
    found = sign_test(won, lost, ties)
    if won + lost < 6:
        assert found.p is None
        assert f"{won + lost} decided" in (found.why or "")
    else:
        assert found.why is None


def test_pairs_of_one_episode_count_it_once() -> None:
    old = [trace("old", "e0", f"old {n}", n) for n in (1, 2, 3)]
    new = [trace("new", "e0", f"new {n}", n) for n in (1, 2, 3)]
    items = candidate_pairs(SUITE, old, new).items
    found = against(items, chosen(items, "nno"))
    assert (found.pairs.wins.hits, found.pairs.wins.n) == (2, 3)
    assert (found.by_episode.wins.hits, found.by_episode.wins.n) == (1, 1)


def test_people_who_differ_leave_a_pair_open_and_a_third_settles_it() -> None:
    items = pairs(1)
    said = [choosing(items[0], "new"), choosing(items[0], "old", reviewer="kim")]
    assert (against(items, said).open, against(items, said).pairs.wins.n) == (1, 0)
    third = choosing(items[0], "old", reviewer="lee", role="adjudicator", at=at(9))
    found = against(items, [*said, third])
    assert (found.open, found.pairs.wins.hits, found.pairs.wins.n) == (0, 0, 1)


def test_each_candidate_on_the_other_side_is_counted_apart() -> None:
    items = pairs(3)
    others = {items[0].item: ["v6"], items[1].item: ["v7"], items[2].item: ["v7"]}
    found = wins(chosen(items, "non"), mine(items), others)
    assert [(one.against, one.pairs.wins.n) for one in found] == [(("v6",), 1), (("v7",), 2)]


def test_a_pair_of_ones_own_messages_has_no_winner_to_speak_of() -> None:
    items = pairs(2)
    assert wins(chosen(items, "no"), mine(items) | mine(items, "old"), {}) == ()
    assert wins(chosen(items, "no"), set(), {}) == ()


# the random part ----------------------------------------------------------------------------------


def marked(items: tuple[Item, ...], levels: list[int], **more: Any) -> list[Label]:
    return [
        label(item, marks={"accurate": level}, **more)
        for item, level in zip(items, levels, strict=True)
    ]


def rates(labels: list[Label], scale: str = "binary") -> dict[str, RandomRate]:
    found = random_rates(labels, rubric(scale), set())
    return {one.criterion_id or one.question: one for one in found}


def test_each_label_stands_for_as_many_as_its_chance_says() -> None:
    items = messages(4)
    often = marked(items[:2], [1, 1], pi=0.5, stratum="high")
    seldom = marked(items[2:], [2, 1], pi=0.1, stratum="low")
    found = rates([*often, *seldom])["passes"]
    assert found.value == pytest.approx((2 + 2 + 10) / (2 + 2 + 10 + 10))
    assert (found.n, found.episodes, found.flagged, found.open) == (4, 4, 2, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert rates([*often, *seldom])["accurate"].value == found.value


def test_labels_outside_the_random_part_say_nothing_of_all() -> None:
    assert rates(marked(messages(2), [1, 1], stratum="high")) == {}


@pytest.mark.parametrize(
    ("scale", "level", "good"),
    [("binary", 1, 1), ("binary", 2, 0), ("five", 3, 0), ("five", 4, 1), ("levels", 2, 0),
     ("levels", 3, 1)],
)  # fmt: skip
def test_a_mark_passes_on_the_good_side_of_its_scale(scale: str, level: int, good: float) -> None:
    found = rates(marked(messages(1), [level], pi=0.2), scale)
    assert (found["passes"].value, found["accurate"].value) == (good, good)


def test_where_people_differ_the_item_is_open() -> None:
    items = messages(2)
    labels = [
        *marked(items, [1, 1], pi=0.2),
        *marked(items[:1], [2], pi=0.2, reviewer="kim"),
    ]
    found = rates(labels)["passes"]
    assert (found.n, found.open, found.value) == (1, 1, 1.0)
    alone = rates(labels[::2])["passes"]
    assert (alone.n, alone.open, alone.value, alone.low) == (0, 1, None, None)
    assert alone.why == "no item of the random part is settled"


def test_a_preference_counts_half_where_nobody_wins() -> None:
    items = pairs(4)
    found = random_rates(chosen(items, "notz", pi=0.25), rubric(), mine(items))
    assert [(one.question, one.value, one.n) for one in found] == [("preferred", 0.5, 4)]
    (theirs,) = random_rates(chosen(items, "nnot", pi=0.25), rubric(), mine(items, "old"))
    assert theirs.value == pytest.approx((1 + 0.5) / 4)
