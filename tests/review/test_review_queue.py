"""The queue: high flags first, one in five random, chances kept, high flags open until closed."""

import hashlib
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import SUITE, messages, pairs, trace

from reviewer.review.items import Item, message_items
from reviewer.review.queue import (
    STRATA,
    Queue,
    Signals,
    build_queue,
    inclusion_probability,
    joined,
    open_high,
    order,
    reason_counts,
    reasons_of,
    sampled,
    trace_signals,
    uncertainty,
)

FLAGS = st.builds(
    Signals,
    safety=st.booleans(),
    thumbs_down=st.booleans(),
    judge_flips=st.booleans(),
    efficiency=st.none() | st.floats(0, 1),
    uncertainty=st.none() | st.floats(0, 1),
)


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    items = messages(draw(st.integers(0, 60)))
    signals = {item.traces[0]: draw(FLAGS) for item in items if draw(st.booleans())}
    rate = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    return build_queue(items, signals, salt=draw(st.text(max_size=3)), rate=rate, least=5)


def one(signals: Signals, rate: float = 0.0, least: int = 0) -> Queue:
    items = messages(1)
    return build_queue(items, {items[0].traces[0]: signals}, salt="s", rate=rate, least=least)


@pytest.mark.parametrize(
    ("signals", "reason", "stratum"),
    [
        (Signals(safety=True), "safety", "high"),
        (Signals(gate_disagreement=True), "gate_disagreement", "high"),
        (Signals(iteration_limit=True), "iteration_limit", "high"),
        (Signals(blocked_output=True), "blocked_output", "high"),
        (Signals(thumbs_down=True), "thumbs_down", "high"),
        (Signals(judge_flips=True), "judge_flips", "normal"),
        (Signals(lost_episode=True), "lost_episode", "normal"),
        (Signals(efficiency=0.29), "low_efficiency", "normal"),
        (Signals(uncertainty=0.5), "uncertain", "normal"),
    ],
)
def test_each_signal_is_a_reason_of_its_stratum(
    signals: Signals, reason: str, stratum: str
) -> None:
    (entry,) = one(signals).entries
    assert (entry.reasons, entry.stratum, entry.pi) == ((reason,), stratum, None)
    assert reason in STRATA[entry.stratum]


@pytest.mark.parametrize(
    "signals", [Signals(), Signals(efficiency=0.3), Signals(efficiency=1.0, uncertainty=0.49)]
)
def test_without_a_reason_an_item_is_not_in_the_queue_unless_items_are_wanted(
    signals: Signals,
) -> None:
    assert one(signals).entries == ()
    (entry,) = one(signals, least=1).entries
    assert (entry.reasons, entry.stratum, entry.pi) == (("quota",), "low", None)


def test_an_item_has_the_flags_of_all_its_traces_and_leads_with_the_most_pressing() -> None:
    both = [trace("new", "e1", "x", 1), trace("new", "e1", "x", 2)]
    (item,) = message_items(SUITE, both).items
    signals = {both[0].trace_id: Signals(efficiency=0.1), both[1].trace_id: Signals(safety=True)}
    (entry,) = build_queue([item], signals, salt="s", rate=1.0).entries
    assert entry.reasons == ("safety", "low_efficiency", "random")
    assert (entry.stratum, entry.pi) == ("high", 1.0)


def test_signals_of_a_stored_trace() -> None:
    assert trace_signals(critical=True).safety
    assert trace_signals(critical=False, termination="Max-Turns").iteration_limit
    assert trace_signals(critical=False, codes=["step_budget"]).iteration_limit
    assert trace_signals(critical=False, termination="content_filter").blocked_output
    assert trace_signals(critical=False, passed=True, said_elsewhere=False).gate_disagreement
    agreed = trace_signals(critical=False, passed=True, said_elsewhere=True, efficiency=0.2)
    assert reasons_of(agreed) == ("low_efficiency",)
    for unknown in ({"passed": True}, {"said_elsewhere": False}):
        assert trace_signals(critical=False, termination="completed", **unknown) == Signals()


def test_uncertainty_is_from_sure_to_even() -> None:
    assert uncertainty() is None
    assert uncertainty([0, 0]) is None
    assert uncertainty([4, 0]) == 0.0
    assert uncertainty([3, 3, 3]) == pytest.approx(1.0)
    assert uncertainty([3, 1]) == pytest.approx(-(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)))
    assert uncertainty(margin=0.0) == 1.0
    assert uncertainty([4, 0], margin=-0.05) == pytest.approx(0.5)
    assert uncertainty(margin=3.0) == 0.0
    with pytest.raises(ValueError, match="width must be positive"):
        uncertainty(margin=0.0, width=0.0)
    with pytest.raises(ValueError, match="width must be finite"):
        uncertainty(margin=0.0, width=math.nan)


@given(st.lists(FLAGS, max_size=5))
def test_one_traces_reason_is_the_items(found: list[Signals]) -> None:
    assert set(reasons_of(joined(found))) == {r for signals in found for r in reasons_of(signals)}


@given(st.text(max_size=5), st.text(max_size=20), st.floats(0, 1))
def test_the_sample_can_be_drawn_again_by_anyone(salt: str, name: str, rate: float) -> None:
    number = int(hashlib.sha256((salt + name).encode()).hexdigest(), 16)
    assert sampled(salt, name, rate) is (number / 2**256 < rate)
    assert sampled(salt, name, 1.0)
    assert not sampled(salt, name, 0.0)
    assert not sampled(salt, name, rate) or sampled(salt, name, min(1.0, rate * 1.5))


def test_the_sample_is_as_large_as_its_rate() -> None:
    drawn = sum(sampled("salt", f"trace {i}", 0.05) for i in range(4000))
    assert 150 < drawn < 250
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="rate must be"):
            sampled("salt", "trace", wrong)


def test_the_chance_of_an_item_is_that_of_any_of_its_traces() -> None:
    assert inclusion_probability(0.05, 1) == pytest.approx(0.05)
    assert inclusion_probability(0.05, 3) == pytest.approx(1 - 0.95**3)
    with pytest.raises(ValueError, match="traces must be at least 1"):
        inclusion_probability(0.05, 0)
    for item in pairs(40):
        (entry,) = build_queue([item], {}, salt="s", rate=0.4, least=1).entries
        drawn = any(sampled("s", name, 0.4) for name in item.traces)
        assert entry.pi == (pytest.approx(1 - 0.6**2) if drawn else None)


@given(queues(), st.data())
def test_of_the_labels_made_one_in_five_is_random_while_random_ones_are_left(
    queue: Queue, data: st.DataObject
) -> None:
    started = data.draw(st.lists(st.sampled_from(queue.entries or (None,)), max_size=4))
    names = [entry.item.item for entry in started if entry is not None]
    for begun in ((), names):
        entries = order(queue, begun)
        assert sorted(e.item.item for e in entries) == [e.item.item for e in queue.entries]
        left, drawn = sum(entry.random for entry in entries), 0
        for made, entry in enumerate(entries, 1):
            drawn += entry.random
            left -= entry.random
            if begun and drawn * 5 < made:
                assert entry.random or not left or made <= len(set(begun))
            if not begun:
                assert drawn * 5 >= made or not left


@given(queues())
def test_high_comes_before_normal_and_the_uncertain_first(queue: Queue) -> None:
    targeted = [entry for entry in order(queue) if not entry.random]
    rank = {"high": 0, "normal": 1, "low": 2}
    keys = [(rank[entry.stratum], -entry.uncertainty) for entry in targeted]
    assert keys == sorted(keys)


@given(queues(), st.data())
def test_the_order_goes_on_where_it_was_left(queue: Queue, data: st.DataObject) -> None:
    entries = order(queue)
    made = data.draw(st.integers(0, len(entries)))
    begun = [entry.item.item for entry in entries[:made]]
    assert order(queue, begun) == entries
    assert order(queue, [*begun, "no longer here", *begun]) == entries


def test_a_place_does_not_tell_the_random_ones() -> None:
    items = messages(300)
    signals = {item.traces[0]: Signals(safety=True) for item in items[:200]}
    entries = order(build_queue(items, signals, salt="s", rate=0.3))
    places = [i for i, entry in enumerate(entries[:180]) if entry.random]
    assert len({b - a for a, b in pairwise(places)}) > 3


@given(queues())
def test_every_showing_is_counted_once_under_one_reason(queue: Queue) -> None:
    done = {(entry.item.item, 1) for entry in queue.entries[::2]}
    counts = reason_counts(queue, done)
    assert [count.reason for count in counts] == [r for rs in STRATA.values() for r in rs]
    assert sum(count.done for count in counts) == len(done)
    assert sum(count.left for count in counts) == len(queue.entries) - len(done)


def test_a_pair_counts_twice() -> None:
    items = pairs(3)
    queue = build_queue(items, {}, salt="s", rate=1.0)
    counts = {c.reason: (c.left, c.done) for c in reason_counts(queue, {(items[0].item, 2)})}
    assert counts["random"] == (5, 1)
    assert counts["safety"] == (0, 0)


def test_a_high_flag_stays_open_until_a_person_has_labeled_what_shows_it() -> None:
    items = messages(2)
    seen, other = (item.traces[0] for item in items)
    signals = {
        seen: Signals(safety=True, efficiency=0.1),
        other: Signals(judge_flips=True),
        "suite-v1/new/none/1": Signals(blocked_output=True),
    }
    flags = open_high(items, signals, ())
    assert [(f.trace_id, f.reasons, f.items) for f in flags] == [
        (seen, ("safety",), (items[0].item,)),
        ("suite-v1/new/none/1", ("blocked_output",), ()),
    ]
    assert [f.trace_id for f in open_high(items, signals, {items[1].item})] == [
        seen,
        "suite-v1/new/none/1",
    ]
    closed = open_high(items, signals, {items[0].item})
    assert [flag.trace_id for flag in closed] == ["suite-v1/new/none/1"]


def test_an_item_stands_once_in_the_queue() -> None:
    items: tuple[Item, ...] = messages(1) * 2
    with pytest.raises(ValueError, match="twice"):
        build_queue(items, {}, salt="s", rate=0.5)
