"""Plots are drawn where the numbers are: rows, gaps, targets, and never past the width."""

from hypothesis import given
from hypothesis import strategies as st

from reviewer.tui.app.terminal import AsciiOnly
from reviewer.tui.widgets import plot
from reviewer.tui.widgets.lines import Line, Span, action_at, plain, width_of
from reviewer.tui.widgets.plot import GUTTER, Mark, Scale, columns_of, draw, nice, row_of

SHARES = st.floats(0.0, 1.0)
HEIGHTS = st.integers(2, 30)


@st.composite
def marks(draw_: st.DrawFn) -> list[Mark]:
    found = []
    for _ in range(draw_(st.integers(0, 60))):
        value = draw_(st.none() | SHARES)
        ends = sorted(draw_(st.tuples(SHARES, SHARES)))
        limits = draw_(st.booleans())
        low = min(ends[0], value) if value is not None and limits else None
        high = max(ends[1], value) if value is not None and limits else None
        found.append(Mark(value, low, high))
    return found


def cells(lines: list[list[Span]], column: int) -> str:
    """What stands in one column of the body, from the top."""
    return "".join(plain([line]).ljust(400)[GUTTER + column] for line in lines)


@given(SHARES, st.floats(0.001, 1000.0), HEIGHTS)
def test_every_value_lies_within_the_band_of_its_row(share: float, top: float, height: int) -> None:
    row = row_of(share * top, top, height)
    assert 0 <= row < height
    band = top / (height - 1)
    middle = top * (height - 1 - row) / (height - 1)
    assert abs(share * top - middle) <= band / 2 + 1e-9 * top


@given(SHARES, st.floats(0.01, 1.0), st.integers(3, 30), st.sampled_from((-1, 1)))
def test_a_point_that_misses_the_target_is_not_drawn_on_it(
    value: float, target: float, height: int, side: int
) -> None:
    at = row_of(target, 1.0, height)
    if at in (0, height - 1):
        return  # there is no row on one of its sides
    lines = draw(
        [Mark(value, side=side)], Scale(1.0, "{:.2f}"), height, 40, target=target, cursor=0
    )
    column = cells(lines, columns_of(1, 40 - GUTTER)[0])
    assert column.index("●") != at
    assert (column.index("●") < at) == (side > 0) or row_of(value, 1.0, height) != at


@given(st.floats(-10, 10, allow_nan=False), HEIGHTS)
def test_a_value_outside_the_scale_stays_inside_the_plot(value: float, height: int) -> None:
    assert 0 <= row_of(value, 1.0, height) < height


@given(marks(), HEIGHTS, st.integers(GUTTER + 1, 200), st.none() | SHARES)
def test_every_line_has_exactly_the_width(
    found: list[Mark], height: int, width: int, target: float | None
) -> None:
    lines = draw(
        found, Scale(1.0, "{:.2f}"), height, width, target=target, words="at least 0.95", cursor=0
    )
    assert len(lines) == height
    assert {width_of(line) for line in lines} == {width}


@given(marks(), HEIGHTS, st.integers(GUTTER + 1, 200))
def test_a_point_stands_in_its_row_and_an_unknown_one_nowhere(
    found: list[Mark], height: int, width: int
) -> None:
    lines = draw(found, Scale(1.0, "{:.2f}"), height, width)
    shown = found[-(width - GUTTER) :]
    for mark, column in zip(shown, columns_of(len(shown), width - GUTTER), strict=True):
        drawn = cells(lines, column)
        if mark.value is None:
            assert drawn.strip() == ""
        else:
            assert drawn.index("●") == row_of(mark.value, 1.0, height)
            assert drawn.count("●") == 1


@given(marks(), HEIGHTS)
def test_whiskers_reach_from_limit_to_limit_and_no_further(found: list[Mark], height: int) -> None:
    lines = draw(found, Scale(1.0, "{:.2f}"), height, 300)
    for mark, column in zip(found, columns_of(len(found), 300 - GUTTER), strict=True):
        if mark.low is None or mark.high is None:
            continue
        filled = [n for n, char in enumerate(cells(lines, column)) if char != " "]
        first, last = row_of(mark.high, 1.0, height), row_of(mark.low, 1.0, height)
        assert filled == list(range(first, last + 1))


@given(st.integers(0, 200), st.integers(1, 300))
def test_points_stand_apart_and_within_the_width(count: int, width: int) -> None:
    if count > width:
        return
    found = columns_of(count, width)
    assert found == sorted(set(found))
    assert all(0 <= column < width for column in found)


@given(st.floats(1e-9, 1e12))
def test_a_round_scale_holds_its_greatest_value_without_wasting_half(most: float) -> None:
    assert most <= nice(most) * (1 + 1e-12)
    assert nice(most) < 2 * most * (1 + 1e-9)


def test_a_scale_of_nothing_is_one() -> None:
    assert nice(0.0) == nice(float("nan")) == nice(float("inf")) == 1.0


@given(st.lists(st.text(max_size=30), min_size=1, max_size=60), st.integers(20, 200), st.data())
def test_names_never_leave_the_width_nor_hide_the_one_with_the_cursor(
    names: list[str], width: int, data: st.DataObject
) -> None:
    names = [name.encode("ascii", "ignore").decode() for name in names]
    names = ["".join(filter(str.isprintable, name)) for name in names]
    cursor = data.draw(st.integers(max(0, len(names) - (width - GUTTER)), len(names) - 1))
    line = plot.names_under(names, width, cursor)
    assert width_of(line) == width
    here = next(span.text for span in line if span.style == "strong")
    start, cut_off, end = here.removeprefix("[").removesuffix("]").partition("…")
    assert f"[{names[cursor]}]" == here if not cut_off else names[cursor].startswith(start)
    assert names[cursor].endswith(end)


@given(st.integers(1, 30), st.integers(20, 200), st.data())
def test_every_point_with_room_for_a_name_has_one(
    count: int, width: int, data: st.DataObject
) -> None:
    names = [f"{'a' * data.draw(st.integers(0, 40))}-v{number}" for number in range(count)]
    if plot.slot_of(count, width - GUTTER, plot.widest_of(names)) < plot.LEGIBLE:
        return
    cursor = data.draw(st.integers(0, count - 1))
    words = plain([plot.names_under(names, width, cursor)]).split()
    assert len(words) == count
    for number, (word, name) in enumerate(zip(words, names, strict=True)):
        assert (word.startswith("[") and word.endswith("]")) == (number == cursor)
        assert word.strip("[]").endswith(name[-1])


def test_the_target_line_says_its_words_where_nothing_stands() -> None:
    few = [Mark(0.95), Mark(0.95)]
    lines = draw(few, Scale(1.0, "{:.2f}"), 11, 60, target=0.95, words="at least 0.95")
    row = plain([lines[row_of(0.95, 1.0, 11)]])
    assert row.count("●") == 2
    assert " at least 0.95 " in row
    crowd = draw([Mark(0.95)] * 52, Scale(1.0, "{:.2f}"), 11, 60, target=0.95, words="at least")
    assert "at least" not in plain(crowd)
    assert plain(crowd).count("●") == 52


def test_the_targets_own_figure_stands_at_the_axis() -> None:
    lines = draw([], Scale(0.2, "${:.2f}"), 15, 40, target=0.08)
    assert plain([lines[row_of(0.08, 0.2, 15)]]).startswith(" $0.08 ┼─")


def test_every_glyph_has_one_in_ascii() -> None:
    from rich.segment import Segment
    from textual.color import Color

    found: list[Line] = [
        *draw([Mark(0.5, 0.1, 0.9)], Scale(1.0, "{:.2f}"), 9, 40, target=0.6, words="x", cursor=0),
        plot.axis(40),
        plot.glyphs_under([Span("✓", "pass")], 40, "target"),
        *plot.beside([[Span("a")]], [[Span("b")]], 5, 1),
    ]
    segments = [Segment(span.text) for line in found for span in line]
    text = "".join(one.text for one in AsciiOnly().apply(segments, Color(0, 0, 0)))
    assert text.isascii()
    assert "?" not in text


@given(marks().filter(bool), HEIGHTS, st.integers(GUTTER + 1, 200))
def test_a_click_on_the_columns_of_a_point_reaches_it(
    found: list[Mark], height: int, width: int
) -> None:
    lines = draw(found, Scale(1.0, "{:.2f}"), height, width)
    shown = found[-(width - GUTTER) :]
    hidden = len(found) - len(shown)
    for line in lines:
        acting = plot.reached(line, len(found), width, lambda n: f"pick({n})")
        assert plain([acting]) == plain([line])
        for number, column in enumerate(columns_of(len(shown), width - GUTTER)):
            assert action_at(acting, GUTTER + column) == f"pick({number + hidden})"
        assert action_at(acting, 0) == ""
