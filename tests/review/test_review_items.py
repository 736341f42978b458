"""Items: named by content, identical messages left out, nothing that tells who wrote what."""

import hashlib
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import SUITE, digest, trace

from reviewer.review.items import (
    attempt_pairs,
    candidate_pairs,
    item_name,
    message_digest,
    message_items,
)

TEXT = st.sampled_from([None, "", "a", "b", "c"])


def test_the_name_of_an_item_can_be_computed_by_anyone() -> None:
    built = candidate_pairs(SUITE, [trace("old", "e1", "ä")], [trace("new", "e1", "b")])
    digests = sorted(hashlib.sha256(text.encode()).hexdigest() for text in ("ä", "b"))
    content = {"episode": "e1", "kind": "pair", "messages": digests, "suite": SUITE}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    (item,) = built.items
    assert item.item == hashlib.sha256(text.encode()).hexdigest()
    assert [message.digest for message in item.messages] == digests
    assert item_name("pair", SUITE, "e1", digests[::-1]) == item.item
    single = {"episode": "e1", "kind": "message", "message": digests[0], "suite": SUITE}
    text = json.dumps(single, sort_keys=True, separators=(",", ":"))
    named = item_name("message", SUITE, "e1", digests[:1])
    assert named == hashlib.sha256(text.encode()).hexdigest()


def test_who_is_the_candidate_does_not_show_in_the_item() -> None:
    one, other = [trace("old", "e1", "x")], [trace("new", "e1", "y")]
    assert candidate_pairs(SUITE, one, other).items == candidate_pairs(SUITE, other, one).items


def test_the_same_texts_of_other_attempts_are_the_same_item() -> None:
    old = [trace("old", "e1", "x", n) for n in (1, 2)]
    new = [trace("new", "e1", "y", n) for n in (1, 2)]
    built = candidate_pairs(SUITE, old, new)
    (item,) = built.items
    assert (built.merged, built.identical, built.unpaired) == (1, 0, 0)
    assert item.traces == (
        "suite-v1/new/e1/1",
        "suite-v1/new/e1/2",
        "suite-v1/old/e1/1",
        "suite-v1/old/e1/2",
    )
    assert item.message(digest("y")).traces == ("suite-v1/new/e1/1", "suite-v1/new/e1/2")
    with pytest.raises(KeyError):
        item.message(digest("z"))


def test_the_same_texts_of_another_episode_or_suite_are_another_item() -> None:
    here = candidate_pairs(SUITE, [trace("old", "e1", "x")], [trace("new", "e1", "y")]).items[0]
    there = candidate_pairs(SUITE, [trace("old", "e2", "x")], [trace("new", "e2", "y")]).items[0]
    later = candidate_pairs("7" * 64, [trace("old", "e1", "x")], [trace("new", "e1", "y")]).items[0]
    assert len({here.item, there.item, later.item}) == 3


def test_identical_messages_make_no_pair_and_are_counted() -> None:
    old = [trace("old", "e1", "x"), trace("old", "e2", None), trace("old", "e3", "x")]
    new = [trace("new", "e1", "x"), trace("new", "e2", ""), trace("new", "e4", "x")]
    built = candidate_pairs(SUITE, old, new)
    assert (built.items, built.identical, built.unpaired) == ((), 2, 2)


def test_a_missing_message_is_a_side_like_any_other() -> None:
    built = candidate_pairs(SUITE, [trace("old", "e1", None)], [trace("new", "e1", "y")])
    side = built.items[0].message(message_digest(None))
    assert (side.missing, side.text, side.digest) == (True, "", hashlib.sha256(b"").hexdigest())
    assert not built.items[0].message(digest("y")).missing


def test_a_slot_is_filled_once() -> None:
    with pytest.raises(ValueError, match="attempt 1 of e1 is there twice"):
        candidate_pairs(SUITE, [trace("old", "e1", "x"), trace("older", "e1", "y")], [])


@given(st.lists(TEXT, max_size=8), st.lists(TEXT, max_size=8))
def test_every_pair_of_traces_is_accounted_for(
    old: list[str | None], new: list[str | None]
) -> None:
    a = [trace("old", "e1", text, n) for n, text in enumerate(old, 1)]
    b = [trace("new", "e1", text, n) for n, text in enumerate(new, 1)]
    built = candidate_pairs(SUITE, a, b)
    both = list(zip(old, new, strict=False))
    assert built.identical == sum((x or "") == (y or "") for x, y in both)
    assert len(built.items) + built.identical + built.merged == len(both)
    assert built.unpaired == abs(len(old) - len(new))
    different = {frozenset((x or "", y or "")) for x, y in both if (x or "") != (y or "")}
    assert {frozenset(m.text for m in item.messages) for item in built.items} == different


@given(st.lists(TEXT, max_size=8))
def test_attempts_are_paired_each_with_each(texts: list[str | None]) -> None:
    built = attempt_pairs(SUITE, [trace("new", "e1", t, n) for n, t in enumerate(texts, 1)])
    different = {text or "" for text in texts}
    assert len(built.items) == len(different) * (len(different) - 1) // 2
    considered = len(texts) * (len(texts) - 1) // 2
    assert len(built.items) + built.identical + built.merged == considered
    assert built.unpaired == (len(texts) == 1)


@given(st.lists(st.tuples(st.sampled_from(["e1", "e2"]), TEXT), max_size=10), st.randoms())
def test_messages_are_items_of_their_own_in_whatever_order_they_come(
    texts: list[tuple[str, str | None]], random: Random
) -> None:
    traces = [trace("new", episode, text, n) for n, (episode, text) in enumerate(texts, 1)]
    built = message_items(SUITE, traces)
    assert len(built.items) == len({(episode, text or "") for episode, text in texts})
    assert len(built.items) + built.merged == len(texts)
    random.shuffle(traces)
    assert message_items(SUITE, traces) == built
