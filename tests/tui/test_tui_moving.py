"""Keys that move, in every kind of region; keys that leave a dialog; small acts of screens."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import SUITE, V7, by_day, copied
from label_desks import labels_of_kim, saved, showing
from template import Bent, many
from test_tui_screens import running, shell
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input
from tui_probe import come, press, screen_text, settle

from reviewer.desk.desk import Desk
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.help import HelpScreen
from reviewer.tui.screens.runs.dialogs import ImportReadScreen
from reviewer.tui.screens.settings import ThemesScreen
from reviewer.tui.widgets.chrome import Menu, Scroll
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.textview import Passage, TextView

PAGES = ("pagedown", "pageup", "ctrl+d", "ctrl+u", "G", "g", "end", "home", "j", "k", "down", "up")


async def moved(
    app: ReviewerApp, pilot: object, where: Callable[[], float], *keys: str
) -> list[float]:
    """Where the region stands after each key."""
    found = []
    for key in keys:
        await press(pilot, key)  # type: ignore[arg-type]
        found.append(where())
    return found


async def test_a_grid_moves_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(many(shop, 400))
    async with running(app) as pilot:
        await settle(pilot)
        grid = app.screen.query_one(Grid)
        page = grid.body
        half = page // 2
        assert await moved(app, pilot, lambda: grid.row, *PAGES) == [
            page, 0, half, 0, 399, 0, 399, 0, 1, 0, 1, 0,
        ]  # fmt: skip


async def test_a_menu_moves_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+t", "g")
        menu = app.screen.query_one(Menu)
        assert await moved(app, pilot, lambda: menu.cursor, *PAGES) == [
            6, 0, 3, 0, 6, 0, 6, 0, 1, 0, 1, 0,
        ]  # fmt: skip
        assert app.theme == "desk-dark"


async def test_a_text_moves_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark", "v")
        text = app.screen.query_one(TextView)
        page, last = text.body, text.last
        assert last > page
        assert await moved(app, pilot, lambda: text.scroll_offset.y, *PAGES) == [
            page, 0, page // 2, 0, last, 0, last, 0, 1, 0, 1, 0,
        ]  # fmt: skip
        assert await moved(app, pilot, lambda: text.scroll_offset.y, "l", "h") == [0, 0]


async def test_a_box_of_lines_moves_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        app.push_screen(ImportReadScreen("long", [[Span(f"line {n}")] for n in range(100)]))
        await settle(pilot)
        box = app.screen.query_one(Scroll)
        page, last = box.size.height, box.max_scroll_y
        assert await moved(app, pilot, lambda: box.scroll_offset.y, *PAGES) == [
            page, 0, page // 2, 0, last, 0, last, 0, 1, 0, 1, 0,
        ]  # fmt: skip
        await press(pilot, "escape")
        assert app.screen is app.here


DIALOGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "help": (("question_mark",), ("escape", "q", "question_mark")),
    "theme": (("ctrl+t",), ("escape", "q")),
    "settings": (("ctrl+p", *"settings", "enter"), ("escape", "q")),
    "choose": (("c",), ("escape",)),  # a letter is typed into the filter
    "views": (("v",), ("escape", "q")),
    "run": (("r",), ("escape", "q")),
    "export": (("x",), ("escape",)),
    "filter": (("slash",), ("escape",)),
    "import": (("i",), ("escape",)),
    "baseline": (("C", "c"), ("escape", "q")),
    "skip": (("L", "minus"), ("escape", "q")),
    "judge order": (("J", "r"), ("escape",)),
    "judge pair": (("J", "enter"), ("escape", "q", "enter")),
}


@pytest.mark.parametrize("name", by_day(DIALOGS, every=2))
async def test_a_dialog_is_left_as_all_are(name: str, labeled: Bent) -> None:
    ways, leaving = DIALOGS[name]
    app = shell(labeled)
    async with running(app) as pilot:
        await settle(pilot)
        for way in leaving:
            while "[Scorecard]" not in screen_text(app):
                await press(pilot, "escape")
            await press(pilot, *ways)
            assert app.screen is not app.here
            here = app.here
            await press(pilot, way)
            assert app.screen is here


async def test_q_on_the_first_screen_asks_and_two_letters_answer(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "escape")
        assert "top level, ctrl+q or q quits" in screen_text(app)
        for leaving in ("n", "escape"):
            await press(pilot, "q")
            assert "y quit" in screen_text(app)
            await press(pilot, leaving)
            assert app.screen is app.here
        await press(pilot, "D", "q")
        assert "[Scorecard]" in screen_text(app)
        await pilot.press("q", "y")
        await come(pilot, lambda: not app.is_running)


async def test_the_sign_dialog_is_left_unsigned_and_copies_the_digest(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "enter", "y")
        assert app.clipboard == mine.decisions.view(SUITE, V7).report_digest
        await press(pilot, "escape")
        assert app.screen is app.here
    assert mine.asked("decisions.sign") == []


async def test_the_help_leads_to_the_colors_and_to_the_tour(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark", "ctrl+t")
        assert isinstance(app.screen, ThemesScreen)
        await press(pilot, "escape", "question_mark", "space")
        assert "tour 1 of" in screen_text(app)


async def test_one_help_and_one_chooser_of_colors_at_a_time(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark")
        app.action_explain()
        await settle(pilot)
        assert sum(isinstance(each, HelpScreen) for each in app.screen_stack) == 1
        await press(pilot, "escape", "ctrl+t")
        app.action_theme()
        await settle(pilot)
        assert sum(isinstance(each, ThemesScreen) for each in app.screen_stack) == 1


def clipboard(app: App[None]) -> str:
    return app.clipboard


async def test_each_screen_copies_what_it_is_about(shop: Bent) -> None:
    app = shell(shop)
    copied: dict[str, str] = {}
    async with running(app) as pilot:
        await settle(pilot)
        for name, keys in (
            ("scorecard", ("y",)),
            ("compare", ("C", "y")),
            ("compare one", ("enter", "y")),
            ("decision", ("D", "y")),
            ("trends", ("E", "y")),
            ("runs", ("R", "y")),
            ("search", ("F", *"refund", "enter", "y")),
        ):
            await press(pilot, *keys)
            copied[name] = clipboard(app)
    assert copied["scorecard"] == "refund-eval-v5/refund-agent-v7/attack-014/1"
    assert "open_security_review" in copied["compare"]
    assert "open_security_review" in copied["compare one"]
    assert re.fullmatch(r"(sha256:)?[0-9a-f]{64}", copied["decision"])
    assert "refund-agent-v" in copied["trends"]
    assert copied["runs"].endswith(".jsonl")
    assert copied["search"].startswith("refund-eval-v5/")
    assert len(set(copied.values())) >= 6


async def test_steps_back_undo_steps_on(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)

        async def there_and_back(there: str, back: str, lines: int = 2) -> None:
            before = screen_text(app).splitlines()[:lines]
            await press(pilot, there)
            assert screen_text(app).splitlines()[:lines] != before, there
            await press(pilot, back)
            assert screen_text(app).splitlines()[:lines] == before, back

        await there_and_back("greater_than_sign", "less_than_sign")
        await press(pilot, "enter")
        await there_and_back("right_square_bracket", "left_square_bracket")
        await there_and_back("shift+right", "shift+left")
        await there_and_back("right_curly_bracket", "left_curly_bracket")
        await there_and_back("shift+down", "shift+up")
        await press(pilot, "C", "enter")
        await there_and_back("right_square_bracket", "left_square_bracket")
        await there_and_back("right_curly_bracket", "left_curly_bracket")


async def test_the_drawer_folds_and_a_digit_goes_to_the_evidence(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "z")
        assert "── attack-014 · authority" not in screen_text(app)
        await press(pilot, "z")
        assert "── attack-014 · authority" in screen_text(app)
        await press(pilot, "D", "1")
        assert "[Trajectory]" in screen_text(app)
        assert "{ attack-014 }" in screen_text(app)
        await press(pilot, "escape", "n", "escape", "N", "escape")
        assert "[Decision]" in screen_text(app)
        await press(pilot, "E", "c")
        assert isinstance(app.screen, Screen)
        assert "c: candidates" in screen_text(app)


# texts that a screen itself scrolls

LONG = "\n".join(f"line {number}" for number in range(1, 201))


async def test_both_messages_of_a_pair_move_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(showing(shop, left=LONG, right=LONG))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        left, right = (app.screen.query_one(f"#{name}", Passage) for name in ("left", "right"))
        page, last = left.body, left.last
        assert await moved(app, pilot, lambda: left.scroll_offset.y, *PAGES) == [
            page, 0, page // 2, 0, last, 0, last, 0, 1, 0, 1, 0,
        ]  # fmt: skip
        assert right.scroll_offset.y == 0


async def test_one_message_moves_by_rows_pages_and_ends(shop: Bent) -> None:
    app = shell(showing(shop, message=LONG))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "c", "tab")
        message = app.screen.query_one("#message", Passage)
        page, last = message.body, message.last
        assert await moved(app, pilot, lambda: message.scroll_offset.y, *PAGES) == [
            page, 0, page // 2, 0, last, 0, last, 0, 1, 0, 1, 0,
        ]  # fmt: skip


async def test_a_label_of_a_message_can_be_taken_back(mine: Bent) -> None:
    app = shell(mine)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "L", "c", "1", "4", "2", "enter")
        assert len(saved(mine)) == 1
        await press(pilot, "u")
        assert "taken back" in screen_text(app)
        assert saved(mine) == []


async def test_labels_leave_and_come_from_the_agreement_too(
    shopflow: Path, mine: Bent, tmp_path: Path
) -> None:
    app = shell(mine)
    source = tmp_path / "kim.jsonl"
    source.write_bytes(labels_of_kim(copied(shopflow, tmp_path / "kim"), 1))
    async with running(app, (140, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "L", "h", "enter", "A", "x")
        app.screen.query_one(Input).value = str(tmp_path / "labels.jsonl")
        await press(pilot, "enter")
        assert (tmp_path / "labels.jsonl").read_bytes() == mine.labels.export(SUITE)
        await press(pilot, "i")
        app.screen.query_one(Input).value = str(source)
        await press(pilot, "enter")
        assert len(saved(mine, "kim")) == 1


async def test_enter_labels_the_line_of_the_queue_from_any_region(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "Q", "tab", "enter")
        assert "[Label]" in screen_text(app)


# errors, and places


async def test_an_error_names_its_ways_out_by_number_and_copies_them(broken: Desk) -> None:
    app = shell(broken)
    async with running(app) as pilot:
        await settle(pilot)
        menu = app.screen.query_one(Menu)
        await press(pilot, "2")
        assert menu.cursor == 1
        await press(pilot, "1", "enter")
        assert app.clipboard.startswith("reviewer suite diff")
        await press(pilot, "y")
        assert "no longer matches its lock" in app.clipboard
        assert "Stopped on this suite" in app.clipboard
        assert "then reviewer suite check refund-eval-v5" in app.clipboard
        await press(pilot, "escape")
        assert app.screen is app.here


async def test_the_trace_looked_at_last_is_one_key_away(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "D", "T")
        assert "{ attack-014 } 1 of 3" in screen_text(app)


async def test_the_report_can_be_searched_and_its_reasons_walked(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D", "slash", *"frozen", "enter")
        assert "not found" not in screen_text(app)
        await press(pilot, "slash", *"nowhere", "enter")
        assert "not found in this view: v shows Markdown and bytes" in screen_text(app)
        await press(pilot, "o")
        assert "no pager can be opened here: v shows the Markdown" in screen_text(app)
        await press(pilot, "n")
        assert "[Trajectory]" in screen_text(app)
        await press(pilot, "escape", "N")
        assert "[Trajectory]" in screen_text(app)
        await press(pilot, "F", *"refund", "enter", "slash", *"lookup", "enter")
        assert "lookup" in screen_text(app)
