"""Hostile text and large things: shown, never obeyed, and open at once."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from rich.segment import Segment
from template import HOSTILE, Bent, attack, many, with_attack
from test_tui_screens import running, shell
from textual.color import Color
from tui_probe import press, screen_text, settle, strips

from reviewer.desk.views import EpisodeRow
from reviewer.trace.safetext import visible
from reviewer.tui.app.terminal import AsciiOnly, SafeText
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import (
    Block,
    Document,
    Span,
    fit,
    middle,
    plain,
    rule,
    spread,
    width_of,
)
from reviewer.tui.widgets.shorten import apart
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import tally

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


async def test_hostile_text_is_seen_on_every_screen_and_obeyed_on_none(hostile: Bent) -> None:
    app = shell(hostile)
    async with running(app, (140, 40)) as pilot:
        await settle(pilot)
        for keys in ((), ("enter",), ("v",), ("v",), ("D",), ("R",)):
            await press(pilot, *keys)
            for strip in strips(app):
                assert not CONTROL.search(strip.text)
            shown = "[/foo] ␛" if keys != ("R",) else "[|foo] ␛"  # a file's name has no slash
            assert shown in screen_text(app)


async def test_rtl_override_shows_as_its_code_point(hostile: Bent) -> None:
    app = shell(hostile)
    async with running(app, (200, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "N")
        assert "⟨U+202E⟩gnp.exe" in screen_text(app)


def test_the_filter_stops_what_a_widget_let_through() -> None:
    [segment] = SafeText().apply([Segment(HOSTILE)], Color(0, 0, 0))
    assert not CONTROL.search(segment.text)
    assert "[/foo]" in segment.text


@given(st.text())
def test_ascii_only_is_ascii(text: str) -> None:
    for segment in AsciiOnly().apply([Segment(text)], Color(0, 0, 0)):
        assert segment.text.isascii()


async def test_a_hundred_thousand_episodes_open_and_their_end_is_one_key_away(shop: Bent) -> None:
    app = shell(many(shop, 100_000))
    async with running(app) as pilot:
        await settle(pilot)
        assert "episodes 100,000 of 100,000" in screen_text(app)
        await press(pilot, "G")
        assert "to 100,000, worst first" in screen_text(app)
        assert "attack-014-99999 · authority" in screen_text(app)
        await press(pilot, "g")
        assert "1 to 7" in screen_text(app)


async def test_red_cells_beyond_the_rows_at_hand_are_found(shop: Bent) -> None:
    desk = many(shop, 5_000)

    def rows(real: Callable[..., list[EpisodeRow]], *args: Any) -> list[EpisodeRow]:
        suite, candidate, keys = args
        found = real(suite, candidate, [0 if key == 4_321 else 2 for key in keys])
        return [structs.replace(row, key=key) for row, key in zip(found, keys, strict=True)]

    app = shell(Bent(desk, {"scorecards.rows": rows}))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "g", "n")
        assert app.screen.query_one(Grid).row == 4_321


async def test_ten_megabytes_in_one_line_open_and_are_searched(door: Door) -> None:
    text = "x" * 6_000_000 + "needle" + "y" * 4_000_000
    app = shell(with_attack(door, attack(_2={"observation": text, "state": None})))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "tab", "G")
        assert "yyyyyyyy" in screen_text(app)
        await press(pilot, "g", "slash", *"needle", "enter")
        assert "needle" in screen_text(app)
        pane = app.screen.query_one(TextView)
        assert 0 < pane.scroll_offset.y < pane.virtual_size.height


def test_a_large_document_is_not_wrapped_before_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = []
    from reviewer.tui.widgets import lines as wrap

    real = wrap._wrap
    monkeypatch.setattr(
        wrap, "_wrap", lambda text, room: wrapped.append(len(text)) or real(text, room)
    )
    document = Document([Block("é" * 10_000_000)], 80)
    document.settle(0, 24)
    for y in range(24):
        assert document.row(y) is not None
    assert sum(wrapped) <= 2 * wrap.PIECE
    document.settle(document.height - 24, 24)
    assert sum(wrapped) <= 6 * wrap.PIECE


TEXTS = st.text(
    st.characters(codec="utf-8") | st.sampled_from("ab \n\t\x1b\u202eé漢👍"), max_size=300
)


@settings(max_examples=60)
@given(TEXTS, st.integers(8, 40))
def test_wrapping_keeps_every_visible_character(text: str, width: int) -> None:
    document = Document([Block(text)], width)
    document.settle(0, 10_000)
    rows = [document.row(y) for y in range(document.height)]
    shown = "".join(row[1].text for row in rows if row is not None)
    wanted = visible(text).expandtabs(4)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", wanted)


@settings(max_examples=40)
@given(TEXTS.filter(bool), st.integers(8, 40), st.data())
def test_a_position_is_found_on_the_row_that_shows_it(
    text: str, width: int, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(text) - 1))
    document = Document([Block(text)], width)
    y = document.find(0, position)
    document.settle(0, 10_000)
    found = document.row(document.find(0, position))
    assert found is not None
    assert y >= 0
    piece, row, _ = found
    shown = len(visible(text[piece.start : position]).expandtabs(4))
    assert row.offset <= shown


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=30)


@given(st.lists(WORDS, max_size=5), st.integers(1, 60))
def test_a_line_has_exactly_its_width(words: list[str], width: int) -> None:
    line = [Span(word) for word in words]
    assert width_of(fit(line, width)) == width
    assert width_of(spread(line, [Span("end")], max(width, 4))) == max(width, 4)
    assert width_of(rule(width, line)) == width


@given(st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True), st.integers(5, 30))
def test_a_long_name_keeps_its_ends(name: str, width: int) -> None:
    shown = middle(name, width)
    assert len(shown) <= width
    assert shown == name or (shown[0] == name[0] and shown[-1] == name[-1] and "…" in shown)


def test_plain_drops_styles_and_trailing_blanks() -> None:
    assert plain([[Span("a", "fail"), Span("  ")], [Span("b")]]) == "a\nb"


def test_long_names_of_one_column_stay_different() -> None:
    cases = ("airplane_mode_on", "bad_network_preference", "roaming_disabled_off", "roaming_off")
    names = [
        f"[mobile_data_issue]user_abroad_{case}[PERSONA:{kind}]"
        for case in cases
        for kind in ("None", "Easy", "Hard")
    ]
    for width in (24, 31, 48):
        short = apart(["short", *names], width)
        assert "short" not in short, "a name that fits stays as it is"
        one_kind = [short[name] for name in names if name.endswith("[PERSONA:Easy]")]
        assert len(set(one_kind)) == len(cases), (width, one_kind)
        assert all(len(text) <= width for text in short.values())
    assert len(apart(["-" * 40, "-" * 41], 24)) == 2, (
        "one that another begins with has no difference"
    )


@given(
    st.text("ab_[:", max_size=40),
    st.text("ab_[:", max_size=40),
    st.lists(st.integers(0, 10**6), min_size=2, max_size=30, unique=True),
    st.integers(13, 60),
)
def test_names_that_differ_in_one_number_are_told_apart(
    before: str, after: str, numbers: list[int], width: int
) -> None:
    names = [f"{before}{number:07}{after}" for number in numbers]
    long = {name for name in names if len(name) > width}
    short = apart(names, width)
    assert set(short) == long
    if width >= 24:
        assert len(set(short.values())) == len(long)
    assert all(len(text) <= width for text in short.values())


def test_a_count_is_never_cut_to_a_smaller_one() -> None:
    """Digits that fall off at the right would read as another count."""
    assert [tally(1_747, width) for width in (5, 4, 3)] == ["1,747", "1747", "1k"]
    assert [tally(999_999, width) for width in (7, 6, 4)] == ["999,999", "999999", "999k"]
    assert tally(9_999_999, 3) == "9M"
    for count in (0, 7, 999, 1_000, 12_345, 999_999, 31_000_000):
        assert len(tally(count, 3)) <= 3 or count > 99_000
        text = tally(count, 4).replace(",", "")
        scale = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
        shown = int(text.rstrip("kM")) * scale
        assert shown <= count < shown + scale
