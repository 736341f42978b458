"""Every binding of every screen: it acts, it is explained, it can be found, and a test does it."""

import re
from pathlib import Path
from typing import Any

import pytest
from acts import bound, every_act, ledger
from doors import Door, by_day
from template import Bent
from test_tui_screens import running, shell
from textual import actions
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from tui_probe import press, screen_text, settle, strips

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.app.finding import Found
from reviewer.tui.screens.help import acts as helped
from reviewer.tui.screens.help import keys_of
from reviewer.tui.screens.scenes import bindings, screens
from reviewer.tui.screens.scorecard.screen import ScorecardScreen
from reviewer.tui.settings.keys import MOTIONS, VERBS
from reviewer.tui.widgets.chrome import LineBox

NAMES = [screen.__name__ for screen in screens()]
BY_NAME = dict(zip(NAMES, screens(), strict=True))


def does(kind: type[Any], action: str) -> bool:
    """Whether an action names something that there is."""
    place, name, _ = actions.parse(action)
    owners: tuple[type[Any], ...] = {
        "": (kind,), "app": (ReviewerApp,), "screen": (kind,), "focused": (object,)
    }[place]  # fmt: skip
    return owners == (object,) or any(
        callable(getattr(owner, f"{form}{name}", None))
        for owner in owners
        for form in ("action_", "_action_")
    )


def test_every_binding_acts_and_says_what_it_does() -> None:
    for kind, binding in bound():
        at = f"{kind.__name__} {binding.key}"
        assert does(kind, binding.action), at
        assert binding.id, at
        assert binding.description, at
        assert binding.tooltip, at
        assert binding.tooltip[-1] in ".?!", at


def test_one_key_has_one_verb_everywhere() -> None:
    known = {verb for verb, _, _ in VERBS.values()} | set(MOTIONS)
    verb_of = {key: verb for key, (verb, _, _) in VERBS.items()}
    for verb, motion in MOTIONS.items():
        verb_of |= dict.fromkeys((*motion.keys, *motion.fixed), verb)
    own = {("ReviewerApp", "ctrl+q")}
    own |= {(name, key) for name in ("ApproveScreen", "QuitScreen") for key in "yn"}
    for kind, binding in bound():
        for key in binding.key.split(","):
            if (kind.__name__, key) not in own:
                assert binding.id in known, (kind, binding)
                assert verb_of[key] == binding.id, (kind, binding)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_screen_has_every_key_of_it(name: str) -> None:
    screen = BY_NAME[name]
    shown = {key for keys, _ in helped(screen) for key in keys.split(" ")}
    for binding in bindings(screen):
        if not (binding.id or "").startswith("numbered."):
            assert set(keys_of(binding).split(" ")) <= shown, binding
    assert all(words for _, words in helped(screen))
    if not issubclass(screen, ModalScreen):
        assert len(" ".join(screen.ABOUT)) > 60, "what one is here for"  # type: ignore[attr-defined]


def hints_of(screen: type[Screen[Any]]) -> list[tuple[str, str, str]]:
    import sys

    module = sys.modules[screen.__module__]
    tables = [getattr(screen, "HINTS", ()), getattr(screen, "END_HINTS", ())]
    tables += [value for name, value in vars(module).items() if name.endswith("HINTS")]
    return [hint for table in tables for hint in table]


@pytest.mark.parametrize("name", NAMES)
def test_every_hint_is_a_button_that_works(name: str) -> None:
    screen = BY_NAME[name]
    for keys, words, action in hints_of(screen):
        assert words, keys
        assert does(screen, action), (keys, action)


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_does_what_its_key_does(name: str) -> None:
    screen = BY_NAME[name]
    by_key: dict[str, Binding] = {}
    for binding in (*bindings(ReviewerApp), *bindings(screen)):
        by_key |= dict.fromkeys(keys_of(binding).split(" "), binding)
    for keys, _, action in hints_of(screen):
        place, verb, _ = actions.parse(action)
        one = keys if keys in by_key or len(keys) > 3 or keys[1:2].isalpha() else keys[0]
        if one in by_key and place != "focused" and verb not in ("nothing", "simulate_key"):
            _, bound_to, _ = actions.parse(by_key[one].action)
            assert bound_to == verb or (bound_to, verb) in SAME, (keys, action, bound_to)


SAME = {("unfilter", "back"), ("leave", "back")}
"""A screen's own Esc, which goes back when nothing is left to drop."""


async def test_the_palette_has_every_act_and_each_once(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        for way in ((), ("enter",), ("D",), ("R",), ("escape", "escape", "escape", "c")):
            await press(pilot, *way)
            screen = app.screen
            offered = [
                f"{one.name} ({one.aside})" if one.aside else one.name
                for one in Found(app, screen).acts()
            ]
            assert len(set(offered)) == len(offered)
            for active in screen.active_bindings.values():
                verb = active.binding.id or "move."
                if active.enabled and not verb.startswith("move."):
                    assert any(each.startswith(active.binding.description) for each in offered)
            for common in ("Tour", "Settings", "Theme light"):
                assert common in offered


async def test_an_act_of_the_palette_is_done_on_the_screen_it_was_called_from(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"choose", "space", *"suite")
        await press(pilot, "enter")
        assert type(app.screen).__name__ == "FinderScreen"


WAYS: dict[str, tuple[str, ...]] = {
    "scorecard": (),
    "choose": ("c",),
    "views": ("v",),
    "filter": ("slash",),
    "export": ("x",),
    "run": ("r",),
    "import": ("i",),
    "trajectory": ("enter",),
    "search": ("F",),
    "compare": ("C",),
    "compare one": ("C", "enter"),
    "baseline": ("C", "c"),
    "label": ("L",),
    "label message": ("L", "c"),
    "skip": ("L", "minus"),
    "queue": ("Q",),
    "agreement": ("A",),
    "judge": ("J",),
    "judge order": ("J", "r"),
    "decision": ("D",),
    "runs": ("R",),
    "trends": ("E",),
    "theme": ("ctrl+t",),
    "help": ("question_mark",),
}
"""Keys that lead to a screen of the example."""


# the ledger


def test_every_act_has_a_test_that_does_it() -> None:
    kept = ledger()
    assert sorted(set(every_act()) - set(kept)) == [], "no test does these: write one, see acts.py"
    assert sorted(set(kept) - set(every_act())) == [], "acts that there are no longer"


def test_the_tests_of_the_ledger_exist() -> None:
    folder = Path(__file__).parent
    defined = {
        f"{path.name}::{name}"
        for path in folder.glob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    assert {test.partition("[")[0] for test in ledger().values()} <= defined


# the mouse


@pytest.mark.parametrize("name", WAYS)
async def test_whatever_can_be_clicked_does_something(name: str, full: Door) -> None:
    desk = full.desk()
    desk.opened.reviewer = "robin"
    app = shell(desk)  # type: ignore[arg-type]
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *WAYS[name])
        clickable = {
            span.action
            for box in app.screen.query(LineBox)
            for line in box.lines
            for span in line
            if span.action
        }
        assert clickable
        for action in clickable:
            assert does(type(app.screen), action), action
    desk.close()


@pytest.mark.parametrize("name", by_day(["tour", *WAYS], every=2))
async def test_no_screen_breaks_however_small_the_terminal_is(name: str, full: Door) -> None:
    desk = full.desk()
    desk.opened.reviewer = "robin"
    app = shell(desk)  # type: ignore[arg-type]
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *WAYS.get(name, ("question_mark", "space")))
        whole = screen_text(app)
        for width, height in ((1, 1), (7, 3), (300, 2), (80, 24)):
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            assert {strip.cell_length for strip in strips(app)} == {width}
        if not isinstance(app.screen, ModalScreen):  # and the last lines may count seconds
            assert screen_text(app).splitlines()[:-4] == whole.splitlines()[:-4]
    desk.close()


async def test_every_hint_of_the_last_line_is_pressed_by_a_click(full: Door) -> None:
    desk = full.desk()
    desk.opened.reviewer = "robin"
    app = shell(desk)  # type: ignore[arg-type]
    async with running(app, (200, 40)) as pilot:
        await settle(pilot)
        for keys, words, action in ScorecardScreen.HINTS:
            if action in ("screen.enter", "app.go('decision')"):
                continue
            ran: list[str] = []
            run = app.run_action

            async def noted(action: Any, *rest: Any, run: Any = run, ran: Any = ran) -> bool:
                ran.append(action)
                return await run(action, *rest)

            app.run_action = noted  # type: ignore[method-assign]
            shown = strips(app)[-1].text
            await pilot.click(offset=(shown.index(f"{keys} {words}") + 1, 39))
            app.run_action = run  # type: ignore[method-assign]
            await settle(pilot)
            assert ran == [action]
            while app.screen is not app.here:
                await press(pilot, "escape")
    desk.close()
