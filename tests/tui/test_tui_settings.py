"""Settings in the workstation: keys elsewhere, and files that say what they may not."""

import json
from pathlib import Path

import pytest
from template import Bent, without_evidence
from test_tui_screens import running, shell
from tui_probe import press, screen_text, settle

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.settings import keys
from reviewer.tui.settings.keys import Keyboard
from reviewer.tui.settings.panes import Panes
from reviewer.tui.settings.settings import Settings, read_text


@pytest.fixture(autouse=True)
def _the_usual_keys_afterwards():
    yield
    keys.use(Keyboard())


def said(text: str) -> Settings:
    return read_text(text, Path("/home/dana/settings.toml"))


def toasts(app: ReviewerApp) -> str:
    """The words of the messages over the screen."""
    return " ".join(each.message for each in app._notifications)


MOVED = """\
[keys]
"next" = "x"
"export" = "ctrl+e"
"move.down" = "~"
"screen.decision" = ["X", "f5"]
"back.q" = "B"
"""


async def test_a_verb_acts_on_its_new_key_and_not_on_the_old_one(shop: Bent) -> None:
    app = shell(shop, settings=said(MOVED))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "tilde")
        assert "›" in screen_text(app).splitlines()[10], "~ moves down"
        await press(pilot, "up", "n")
        assert "[▲CRIT]" in screen_text(app), "n does nothing any more"
        await press(pilot, "x")
        assert "[✗FAIL]" in screen_text(app), "x goes to the next red cell"
        await press(pilot, "D")
        assert "[Decision]" not in screen_text(app)
        await press(pilot, "f5")
        assert "[Decision]" in screen_text(app)
        await press(pilot, "q")
        assert "[Decision]" in screen_text(app)
        await press(pilot, "B", "X")
        assert "[Decision]" in screen_text(app)
        await press(pilot, "escape", "j")
        assert "›" in screen_text(app).splitlines()[9], "j does nothing any more"


async def test_hints_help_and_palette_name_the_keys_as_they_are(shop: Bent) -> None:
    app = shell(without_evidence(shop), settings=said(MOVED))
    async with running(app, (100, 40)) as pilot:
        await settle(pilot)
        assert "x next red" in screen_text(app)
        assert "X decision" in screen_text(app)
        await press(pilot, "3")
        assert "reason 3 has no single event behind it: X shows it whole" in screen_text(app)
        await press(pilot, "question_mark")
        text = screen_text(app)
        assert "x N" in text
        assert "ctrl+e" in text
        assert "move; h ~ k l too" in text
        assert "STCLQJXRE" in text
        await press(pilot, "v")
        assert "X f5" in screen_text(app)
        await press(pilot, "escape", "ctrl+p", *"next", "space", *"red")
        lines = screen_text(app).splitlines()
        assert any("next red cell" in line and " x " in line for line in lines)


async def test_two_verbs_on_one_key_are_refused_by_name_and_nothing_moves(shop: Bent) -> None:
    app = shell(shop, settings=said('[keys]\n"next" = "f"\n"sort" = "Y"\n'))
    async with running(app, (120, 30)) as pilot:
        await settle(pilot)
        for _ in range(200):
            await pilot.pause(0.05)
            if app.settings.refused:
                break
        await settle(pilot)
        told = "keys: failing and next are both on f, on the screen compare; no key changes"
        assert told in app.settings.refused[-1]
        assert "failing and next are both on f" in toasts(app)
        await press(pilot, "f")
        assert "episodes 2 of 3" in screen_text(app), "f shows failing ones, as it always does"
        await press(pilot, "f", "s")
        assert "s sort" in screen_text(app)


async def test_keys_may_change_places(shop: Bent) -> None:
    app = shell(shop, settings=said('[keys]\n"next" = "f"\n"failing" = "n"\n'))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "n")
        assert "episodes 2 of 3" in screen_text(app)
        await press(pilot, "n", "f")
        assert "[✗FAIL]" in screen_text(app)
        assert not app.settings.refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("theme = \n", "not TOML"),
        ("theme = 'drak'\n", "line 1: theme: 'drak' is not one of"),
        ("muose = false\n", "muose: there is no such setting; mouse is near"),
        ("[keys]\nnexd = 'x'\n", "line 2: keys.nexd: there is no such verb; next is near"),
        ("[keys]\nback = 'x'\n", "keys.back: its keys stay as they are"),
        ("[keys]\nnext = 'enter'\n", "keys.next: Enter keeps its meaning"),
        ("[keys]\nnext = '\\u001b[2J'\n".replace("'", '"'), "is not a key"),
    ],
)
async def test_a_broken_file_is_told_and_stops_nothing(shop: Bent, text: str, words: str) -> None:
    settings = said(text)
    app = shell(shop, settings=settings)
    async with running(app, (140, 30)) as pilot:
        await settle(pilot)
        assert words in toasts(app)
        assert "▲ BLOCK" in screen_text(app)
        await press(pilot, "n")
        assert "[✗ FAIL" in screen_text(app)
    assert any(words in each for each in settings.refused)


async def test_what_is_set_can_be_seen_in_the_workstation(shop: Bent) -> None:
    app = shell(shop, settings=said('mouse = false\nglyph = "ascii"\n' + MOVED))
    async with running(app, (100, 34)) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"settings", "enter")
        text = screen_text(app)
        assert "mouse" in text
        assert "/home/dana/settings.toml line 1" in text
        assert "x (was n)" in text
        assert "glyph: there is" in text
        await press(pilot, "y")
        assert app.clipboard == "/home/dana/settings.toml"
        await press(pilot, "ctrl+t")
        assert "colorblind-light" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert app.screen is app.here


async def test_ascii_and_the_bell_are_settings(shop: Bent, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[ReviewerApp] = []
    monkeypatch.setattr("textual.app.App.bell", lambda self: rung.append(self))
    app = ReviewerApp(shop, watch=False, settings=Settings(glyphs="ascii", bell=False))  # type: ignore[arg-type]
    async with running(app) as pilot:
        await settle(pilot)
        assert "xFAIL[#CRIT]+pass" in screen_text(app)
        app.bell()
        assert rung == []
        app.preferences.settings = Settings(glyphs="ascii")
        app.bell()
        assert rung == [app]


@pytest.mark.parametrize("broken", ["", "{", '{"folded": 7}', "[" * 90_000, "x" * 200_000])
async def test_folded_panes_are_remembered_and_a_broken_file_costs_only_that(
    shop: Bent, tmp_path: Path, broken: str
) -> None:
    file = tmp_path / "state" / "panes.json"

    async def folded(*keys: str) -> list[bool]:
        app = shell(shop, panes=Panes(file))
        async with running(app) as pilot:
            await settle(pilot)
            await press(pilot, *keys)
            told = ["── attack-014 · authority" not in screen_text(app)]
            await press(pilot, "enter")
            return [*told, "─ contract ─" not in screen_text(app)]

    assert await folded() == [False, False]
    assert await folded("z") == [True, False]
    assert await folded() == [True, False]
    assert json.loads(file.read_text("utf-8")) == {"folded": ["scorecard drawer"]}
    file.write_text(broken, encoding="utf-8")
    assert await folded() == [False, False]
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder", encoding="utf-8")
    assert await folded("z") == [True, False]


@pytest.mark.parametrize(
    ("keys", "size", "region"),
    [
        (("tab",), (80, 24), "drawer"),
        (("tab",), (200, 60), "lower"),
        (("enter", "tab", "tab"), (80, 24), "contract"),
        (("enter", "tab", "tab"), (200, 60), "contract"),
        (("R", "tab", "tab"), (80, 24), "said"),
        (("U", "tab"), (80, 24), "said"),
        (("C", "tab"), (80, 24), "evidence"),
    ],
)
async def test_the_lines_of_a_region_are_given_and_remembered(
    shop: Bent, tmp_path: Path, keys: tuple[str, ...], size: tuple[int, int], region: str
) -> None:
    file = tmp_path / "panes.json"

    async def lines(*more: str) -> int:
        app = shell(shop, panes=Panes(file))
        async with running(app, size) as pilot:
            await settle(pilot)
            await press(pilot, *keys, *more)
            return app.screen.query_one(f"#{region}").size.height

    before = await lines()
    grown = await lines("K")
    assert grown == before + 2
    assert await lines() == grown, "it is remembered"
    assert await lines("underscore", "underscore") == max(3, before - 2)
    assert await lines("Z", "K", "Z") == max(3, before - 2), (
        "what fills the screen has no lines to give"
    )


async def test_a_region_never_takes_all_lines_and_a_file_of_nonsense_costs_nothing(
    shop: Bent, tmp_path: Path
) -> None:
    file = tmp_path / "panes.json"
    file.write_text('{"lines": {"runs said": 400, "suite said": "x", "queue reasons": true}}')
    app = shell(shop, panes=Panes(file))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "R")
        assert app.screen.query_one("#said").size.height == 14
        await press(pilot, "underscore")
        assert "no larger" in screen_text(app), "the main list gives its lines to nobody here"
        await press(pilot, "K")
        assert app.screen.query_one("#said").size.height == 12, "the list in focus grows"
        await press(pilot, "U")
        assert app.screen.query_one("#said").size.height == 9
        await press(pilot, "E", "K")
        assert "this region cannot grow" in screen_text(app)
