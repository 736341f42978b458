"""The draw of a review set: by lot within strata, the same for everybody, flags beside it."""

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.review.set_rules import (
    Facts,
    bands_of,
    cell_rule,
    flag_rule,
    instant_of,
    refuses,
)
from reviewer.review.sets import Drawn, Flag, Unit, cells_of, draw, share_of

SHARES = st.integers(1, 1000).map(lambda n: Fraction(n, 1000))


@st.composite
def populations(draw_: st.DrawFn) -> list[Unit]:
    """Attempts in some strata, some of them with a flag."""
    flags: list[tuple[Flag, ...]] = [(), (), (), ("refusals",), ("high-cost", "refusals")]
    return [
        Unit(
            traces=(f"s/c/e{n}/1",),
            episode_id=f"e{n}",
            cell=(draw_(st.sampled_from(["pass", "fail", "unknown"])),),
            flags=draw_(st.sampled_from(flags)),
        )
        for n in range(draw_(st.integers(1, 40)))
    ]


def lot(drawn: tuple[Drawn, ...]) -> set[str]:
    return {one.unit.name for one in drawn if one.place}


@given(populations(), SHARES, st.integers(0, 10**15), st.randoms())
def test_the_draw_follows_from_seed_and_attempts_alone(units, share, seed, chance) -> None:
    drawn = draw(units, share, seed)
    chance.shuffle(units)
    assert draw(units, share, seed) == drawn


@given(populations(), SHARES, st.integers(0, 99))
def test_of_each_stratum_the_share_is_drawn_rounded_up(units, share, seed) -> None:
    drawn = draw(units, share, seed)
    sizes = Counter(unit.cell for unit in units)
    for cell in cells_of(units, drawn):
        assert cell.size == sizes[cell.values]
        assert cell.drawn == math.ceil(cell.size * share)
        places = sorted(o.place for o in drawn if o.place and o.unit.cell == cell.values)
        assert places == list(range(1, cell.drawn + 1))


@given(populations(), SHARES, SHARES, st.integers(0, 99))
def test_a_larger_share_draws_the_same_and_more(units, one, other, seed) -> None:
    small, large = sorted((one, other))
    assert lot(draw(units, small, seed)) <= lot(draw(units, large, seed))


@given(populations(), SHARES, st.integers(0, 99))
def test_flags_take_all_and_move_nothing_in_the_lot(units, share, seed) -> None:
    drawn = draw(units, share, seed)
    names = {one.unit.name for one in drawn}
    assert {unit.name for unit in units if unit.flags} <= names
    assert all(one.place or one.unit.flags for one in drawn)
    bare = [Unit(traces=u.traces, episode_id=u.episode_id, cell=u.cell) for u in units]
    assert lot(draw(bare, share, seed)) == lot(drawn)


def test_every_attempt_has_the_same_chance() -> None:
    units = [Unit(traces=(f"s/c/e{n}/1",), episode_id=f"e{n}") for n in range(20)]
    drawn = Counter(name for seed in range(2000) for name in lot(draw(units, Fraction(1, 4), seed)))
    assert len(drawn) == 20
    assert all(abs(count - 500) < 100 for count in drawn.values())


@pytest.mark.parametrize(
    ("text", "share"), [("5%", Fraction(1, 20)), ("0.5 %", Fraction(1, 200)), ("100%", Fraction(1))]
)
def test_a_share_is_read(text: str, share: Fraction) -> None:
    assert share_of(text) == share


@pytest.mark.parametrize("text", ["5", "", "%", "0%", "0.0%", "101%", "nan%", "-1%", "1e1%", "٣%"])
def test_no_other_text_is_a_share(text: str) -> None:
    with pytest.raises(ValueError, match=r"percent|more than 0%"):
        share_of(text)


COSTS = st.lists(st.none() | st.floats(0, 1e6), min_size=1, max_size=60)


@given(COSTS)
def test_a_cost_is_in_one_band_and_an_unknown_one_in_none(costs: list[float | None]) -> None:
    facts = [Facts(None, cost, False, None) for cost in costs]
    bands = bands_of(costs)
    rule = cell_rule("cost", facts, bands)
    assert list(bands) == sorted(set(bands))
    assert {rule(one) == "unknown" for one in facts if one.cost is None} <= {True}
    assert "unknown" not in {rule(one) for one in facts if one.cost is not None}
    assert rule(Facts(None, 0.0, False, None)) != "unknown", "a cost of zero is known"


def test_the_bands_of_distinct_costs_hold_as_many_each() -> None:
    costs = [float(n) for n in range(40)]
    rule = cell_rule("cost", [], bands_of(costs))
    counts = Counter(rule(Facts(None, cost, False, None)) for cost in costs)
    assert sorted(counts.values()) == [10, 10, 10, 10]


def test_what_is_not_known_raises_no_flag_and_is_said() -> None:
    blank = Facts(None, None, False, None)
    for flag in ("high-cost", "new-tools", "repeated-calls"):
        assert flag_rule(flag, [blank], None).says(blank) is None
    assert flag_rule("high-cost", [blank], 1.0).says(blank) is None


def test_high_cost_is_above_the_limit_named_or_the_95th_percentile() -> None:
    facts = [Facts(None, float(n), False, None) for n in range(1, 101)]
    dear = flag_rule("high-cost", facts, None)
    assert [one.cost for one in facts if dear.says(one)] == [96.0, 97.0, 98.0, 99.0, 100.0]
    named = flag_rule("high-cost", facts, 98.0)
    assert [one.cost for one in facts if named.says(one)] == [99.0, 100.0]
    alike = [Facts(None, 1.0, False, None)] * 9
    assert not any(flag_rule("high-cost", alike, None).says(one) for one in alike)


def test_a_tool_is_new_that_nobody_called_before_the_last_week() -> None:
    def called(day: int, *tools: str) -> Facts:
        return Facts(None, None, False, None, tools, 1, instant_of(f"2026-11-{day:02}T12:00:00Z"))

    facts = [called(1, "find"), called(20, "find", "refund"), called(21, "find")]
    rule = flag_rule("new-tools", facts, None)
    assert [rule.says(one) for one in facts] == [False, True, False]
    week = facts[1:]
    assert flag_rule("new-tools", week, None).says(week[0]) is None, "there is no time before"
    undated = [*facts, Facts(None, None, False, None, ("refund",), 1, None)]
    assert flag_rule("new-tools", undated, None).says(facts[1]) is False


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("I’m sorry, but I can’t help with that.", True),
        ("I am\nunable to process it.", True),
        ("Your refund is on its way.", False),
        ("", False),
        (None, False),
    ],
)
def test_a_refusal_is_known_by_its_wording(text: str | None, is_one: bool) -> None:
    assert refuses(text) is is_one
