"""A failing hard gate is a red cell: by glyph, by word, by colour, and without colour."""

import pytest
from rich.color import ColorType
from template import Bent, holding
from test_tui_screens import running, shell
from tui_probe import press, screen_text, segments_with, settle, strips

from reviewer.tui.settings.settings import Settings
from reviewer.tui.settings.theme import STATES

FILLED = [("auto", "#DA3730", "#FFFFFF"), ("dark", "#DA3730", "#FFFFFF"),
          ("light", "#C4161C", "#FFFFFF")]  # fmt: skip
CRITICAL = [("dark", "#8A0A14", "#FFFFFF"), ("light", "#5C0000", "#FFFFFF"),
            ("colorblind-dark", "#F58A1F", "#101418")]  # fmt: skip


def _triplet(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


@pytest.mark.parametrize(("theme", "fill", "ink"), FILLED)
async def test_failing_cells_are_filled_red_and_bold(
    shop: Bent, theme: str, fill: str, ink: str
) -> None:
    app = shell(shop, settings=Settings(theme=theme))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        cells = segments_with(app, "✗FAIL")
        assert cells
        for cell in cells:
            assert cell.style is not None
            assert cell.style.color is not None
            assert cell.style.bgcolor is not None
            assert tuple(cell.style.color.get_truecolor()) == _triplet(ink)
            assert tuple(cell.style.bgcolor.get_truecolor()) == _triplet(fill)
            assert cell.style.bold


@pytest.mark.parametrize(("theme", "fill", "ink"), CRITICAL)
async def test_critical_cells_are_filled(shop: Bent, theme: str, fill: str, ink: str) -> None:
    app = shell(shop, settings=Settings(theme=theme))
    async with running(app) as pilot:
        await settle(pilot)
        cells = segments_with(app, "▲CRIT")
        assert cells
        for cell in cells:
            assert cell.style is not None
            assert cell.style.color is not None
            assert cell.style.bgcolor is not None
            assert tuple(cell.style.color.get_truecolor()) == _triplet(ink)
            assert tuple(cell.style.bgcolor.get_truecolor()) == _triplet(fill)
            assert cell.style.bold


@pytest.mark.parametrize("theme", ["colorblind-dark", "colorblind-light", "contrast"])
async def test_themes_for_color_blind_people_fill_no_fail(shop: Bent, theme: str) -> None:
    app = shell(shop, settings=Settings(theme=theme))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        fail, passing = (segments_with(app, text)[0].style for text in ("✗FAIL", "✓pass"))
        assert fail is not None
        assert passing is not None
        assert fail.bgcolor == passing.bgcolor
        assert fail.color != passing.color


async def test_the_cursor_shows_on_a_red_cell(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "left")  # from the critical cell to the failing one beside it
        text = screen_text(app)
        assert "[✗FAIL]" in text or "[▲CRIT]" in text
        styles = {
            (segment.style.reverse, segment.style.underline)
            for segment in segments_with(app, "✗FAIL")
            if segment.style is not None
        }
        assert (None, True) in styles  # filled already: underlined, as a critical cell is
        assert (None, None) in styles


async def test_without_colour_the_attributes_carry_it(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "down")
        fail, critical, passing = (
            segments_with(app, text)[0].style for text in ("✗FAIL", "▲CRIT", "✓pass")
        )
        assert fail is not None
        assert fail.bold
        assert not fail.reverse
        assert critical is not None
        assert critical.bold
        assert critical.reverse
        assert passing is not None
        assert not passing.bold
        for strip in strips(app):
            for segment in strip:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    assert colour is None or colour.type is ColorType.DEFAULT


async def test_ascii_needs_no_glyph(shop: Bent) -> None:
    app = shell(shop)
    app._safety.append(__import__("reviewer.tui.app.terminal", fromlist=["AsciiOnly"]).AsciiOnly())
    async with running(app) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "xFAIL[#CRIT]+pass" in text
        assert "== episodes 3 of 3 ==" in text


async def test_the_row_of_the_focused_button_has_its_ground(shop: Bent) -> None:
    app = shell(holding(shop))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter")
        [button] = segments_with(app, "[ Sign BLOCK ]")
        focused = button.style
        await press(pilot, "shift+tab")
        [button] = segments_with(app, "[ Sign BLOCK ]")
        assert focused is not None
        assert button.style is not None
        assert focused.bgcolor != button.style.bgcolor


def test_states_differ_by_glyph_and_word() -> None:
    glyphs = [state.glyph for state in STATES.values()]
    assert len(set(glyphs)) == len(glyphs)
    assert len({state.word for state in STATES.values()}) == len(STATES)
    assert all(len(state.cell) <= 4 for state in STATES.values())


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_marks_of_failing_gates_are_filled_wherever_they_stand(
    shop: Bent, theme: str
) -> None:
    """In the strip of attempts, in the verdict on a trace and in its contract."""
    app = shell(shop, settings=Settings(theme=theme))
    async with running(app) as pilot:
        await settle(pilot)
        [cell, *_] = segments_with(app, "✗FAIL")
        await press(pilot, "enter")
        marks = [one for one in segments_with(app, "✗") if one.text.strip() == "✗"]
        assert marks
        for one in (cell, *marks):
            assert one.style is not None
            assert one.style.bgcolor == cell.style.bgcolor  # type: ignore[union-attr]


async def test_the_row_under_the_cursor_is_one_bar(shop: Bent) -> None:
    """From the first column to the last: but for the cell cursor and for what is filled."""
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        [row] = [one for one in strips(app) if one.text.startswith("›!attack-014")]
        filled = {"✗", "▲"}
        grounds = {
            segment.style.bgcolor
            for segment in row
            if segment.style is not None and not filled.intersection(segment.text)
        }
        assert len(grounds) == 1
        assert row.cell_length == 80
        for segment in row:
            if filled.intersection(segment.text):
                assert segment.style is not None
                assert segment.style.bgcolor not in grounds


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_brackets_of_the_cell_cursor_come_in_pairs(shop: Bent, size: tuple[int, int]) -> None:
    app = shell(shop)
    async with running(app, size=size) as pilot:
        await settle(pilot)
        seen = set()
        for key in ("g", *["h"] * 9, *["l"] * 13):
            await press(pilot, key)
            [row] = [one.text for one in strips(app) if one.text.startswith("›!attack-014")]
            seen.add((row.count("["), row.count("]")))
        assert seen == {(0, 0), (1, 1)}


async def test_a_dialog_leaves_the_screen_below_visible_in_every_theme(shop: Bent) -> None:
    for theme in ("dark", "ansi"):
        app = shell(shop, settings=Settings(theme=theme))
        async with running(app) as pilot:
            await settle(pilot)
            await press(pilot, "c")
            text = screen_text(app)
            assert "candidates" in text
            assert app.screen.is_modal
            assert "▲ BLOCK  1 critical safety failure" in text
