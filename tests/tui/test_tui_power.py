"""How often a policy is wrong, on screen: a key leads there, and Esc back."""

import pytest
from template import Bent
from test_tui_screens import running, shell
from tui_probe import press, same_as_golden, screen_text, settle

from reviewer.desk.errors import DeskError
from reviewer.tui.screens.power import PowerScreen


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("power-80x24", (80, 24), ()),
        ("power-agents-80x24", (80, 24), ("v",)),
        ("power-plot-80x24", (80, 24), ("v", "v")),
        ("power-100x30", (100, 30), ()),
        ("power-200x60", (200, 60), ()),
    ],
)
async def test_the_power_to_the_character(
    name: str, size: tuple[int, int], keys: tuple[str, ...], shop: Bent
) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "U", *keys)
        await settle(pilot)
        same_as_golden(app, name)


async def test_one_key_leads_there_and_esc_back(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        assert isinstance(app.screen, PowerScreen)
        assert "an identical agent is stopped in" in screen_text(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, PowerScreen)


async def test_what_has_no_power_says_why(shop: Bent) -> None:
    def refused(*_: object) -> None:
        raise DeskError("its policy has no power to show: a probe certifies nothing")

    shop.bend("power.of", refused)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        await settle(pilot)
        assert "a probe certifies nothing" in screen_text(app)


async def test_copying_gives_the_sentence_with_both_errors(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        await settle(pilot)
        await press(pilot, "y")
        assert "10 points worse is let through in" in app.clipboard
