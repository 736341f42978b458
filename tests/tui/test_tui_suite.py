"""The suite on screen: its contents, what bad agents do on it, its power, its clauses."""

from collections.abc import Callable
from threading import Event
from typing import NoReturn

import pytest
from doors import SUITE
from msgspec.structs import replace
from template import Bent
from test_tui_screens import running, shell
from tui_probe import SIZES, come, press, same_as_golden, screen_text, segments_with, settle

from reviewer.desk.errors import DeskError
from reviewer.desk.power.views import PowerView
from reviewer.desk.trials.views import Cell, ShownTrial
from reviewer.desk.workspace.views import EpisodeContents, SuiteContents
from reviewer.tui.screens.suite.screen import SuiteScreen

Shows = Callable[..., ShownTrial]
VIEWS = {
    "suite": (),
    "suite-done": ("right", "right", "right", "right", "e"),
    "suite-power": ("v",),
    "suite-clauses": ("v", "v"),
    "suite-contents": ("v", "v", "v"),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", VIEWS)
async def test_the_suite_to_the_character(name: str, size: tuple[int, int], shop: Bent) -> None:
    app = shell(shop)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "U", *VIEWS[name])
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_a_small_terminal_keeps_three_episodes_and_the_verdict(shop: Bent) -> None:
    app = shell(shop)
    async with running(app, (60, 15)) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        text = screen_text(app)
        assert "7 of 7 bad agents are stopped" in text
        assert all(name in text for name in ("damaged-221", "appeal-009", "attack-014"))


async def test_one_key_leads_there_and_esc_back(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        assert isinstance(app.screen, SuiteScreen)
        await press(pilot, "escape")
        assert not isinstance(app.screen, SuiteScreen)


def holed(real: Shows, suite: str) -> ShownTrial:
    """The trial with one agent that passes an episode and should not."""
    shown = real(suite)
    trial = shown.trial
    assert trial is not None
    *first, last = trial.episodes
    cells = {**last.cells, "liar": Cell(outcome="passed")}
    agents = [
        replace(one, outcome="not_stopped", why="passes all 3 episodes")
        if one.agent == "liar"
        else one
        for one in trial.agents
    ]
    episodes = (*first, replace(last, cells=cells))
    bent = replace(trial, episodes=episodes, agents=tuple(agents), sound=False)
    return ShownTrial(suite_id=suite, trial=bent, way_out="fix the contracts")


async def test_a_hole_is_filled_red_comes_first_and_has_a_way_out(shop: Bent) -> None:
    app = shell(shop.bend("trials.shown", holed))
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        text = screen_text(app)
        assert "liar: freeze refuses this suite; 6 of 7 bad agents are stopped" in text
        (filled,) = segments_with(app, "! PASSES")
        assert filled.style is not None
        assert filled.style.bgcolor is not None
        await press(pilot, "G", "n")
        text = screen_text(app)
        assert "way out    fix the contracts" in text
        assert text.index("attack-014") < text.index("damaged-221")
        await press(pilot, "f")
        assert "damaged-221" not in screen_text(app)
        await press(pilot, "N")
        await press(pilot, "f")
        assert "damaged-221" in screen_text(app)


async def test_a_hole_is_waived_with_a_reason_from_its_cell(shop: Bent) -> None:
    """The cell of the hole says so afterwards, and no key leads to it any more."""
    waived: list[ShownTrial] = []

    def shown(real: Shows, suite: str) -> ShownTrial:
        found = holed(real, suite)
        assert found.trial is not None
        agents = tuple(
            replace(one, waiver="only ends count") if one.agent == "liar" else one
            for one in found.trial.agents
        )
        waived.append(ShownTrial(suite_id=suite, trial=replace(found.trial, agents=agents)))
        return found

    app = shell(shop.bend("trials.shown", shown).bend("trials.waive", lambda *_: waived[-1]))
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "U", "w")
        assert "this agent needs no waiver: n goes to the next hole" in screen_text(app)
        await press(pilot, "n", "w")
        assert "waive liar, because: " in screen_text(app)
        await press(pilot, "escape")
        assert not shop.asked("trials.waive")
        await press(pilot, "w", *"only", "enter")
        assert shop.asked("trials.waive") == [(SUITE, "liar", "only")]
        text = screen_text(app)
        assert "~ waived" in text
        assert "! PASSES" not in text
        assert "waived with a reason, in every report" in text
        await press(pilot, "n")
        assert "nothing to go to: no holes" in screen_text(app)
        await press(pilot, "v", "w")
        assert "a waiver is for a hole of the trial" in screen_text(app)


async def test_a_trial_that_runs_programs_waits_to_be_asked_for(shop: Bent) -> None:
    asked: list[str] = []

    def shown(real: Shows, suite: str) -> ShownTrial:
        if asked:
            return real(suite)
        return ShownTrial(suite_id=suite, trial=None, why_not="it would run programs of the suite")

    def trial(real: Callable[[str], object], suite: str) -> object:
        asked.append(suite)
        return real(suite)

    app = shell(shop.bend("trials.shown", shown).bend("trials.trial", trial))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U")
        assert "not tried here: it would run programs of the suite. r tries it" in screen_text(app)
        await press(pilot, "v", "v")
        assert "28 clauses: no trial says which of them work" in screen_text(app)
        await press(pilot, "v", "v", "r")
        assert asked == [SUITE]
        assert "7 of 7 bad agents are stopped" in screen_text(app)


async def test_what_has_no_power_says_why(shop: Bent) -> None:
    def refused(*_: object) -> None:
        raise DeskError("its policy has no power to estimate: a probe certifies no release")

    shop.bend("power.of", refused)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "v")
        assert "a probe certifies no release" in screen_text(app)


async def test_copying_gives_what_is_said(shop: Bent) -> None:
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "y")
        assert "makes the required calls" in app.clipboard
        await press(pilot, "v", "y")
        assert "10 points worse is let through in" in app.clipboard


async def test_while_the_suite_is_tried_nothing_is_said_of_it(shop: Bent) -> None:
    tried = Event()

    def shown(real: Shows, suite: str) -> ShownTrial:
        tried.wait(30)
        return real(suite)

    app = shell(shop.bend("trials.shown", shown))
    async with running(app) as pilot:
        await settle(pilot)
        await pilot.press("U")
        await come(pilot, lambda: "trying the suite with eight agents" in screen_text(app))
        text = screen_text(app)
        assert "no trial here" not in text
        assert "nothing here" not in text
        tried.set()
        await settle(pilot)
        assert "7 of 7 bad agents are stopped" in screen_text(app)


async def test_the_file_of_a_row_is_opened(shop: Bent, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def keep(app: object, text: str) -> bool:
        opened.append(text)
        return len(opened) == 1

    monkeypatch.setattr("reviewer.tui.widgets.textview.open_in_pager", keep)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "o")
        assert '"episode_id": "damaged-221"' in opened[0]
        await press(pilot, "o")
        assert "no pager can be opened here" in screen_text(app)
        await press(pilot, "v", "o")
        assert len(opened) == 2, "the power has no file"


async def test_a_rate_may_be_assumed_of_an_agent(shop: Bent) -> None:
    asked: list[object] = []

    def power(real: Callable[..., PowerView], suite: str, rate: float | None) -> PowerView:
        asked.append(rate)
        return real(suite)

    app = shell(shop.bend("power.of", power))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "c")
        assert asked == [], "it is the power that assumes one"
        await press(pilot, "v", "c")
        assert "what if an agent passes 0.95" in screen_text(app)
        await press(pilot, "c", "c", "c")
        assert asked == [None, 0.95, 0.9, 0.8, None]
        assert "as it was frozen" in screen_text(app)


async def test_clauses_of_a_large_suite_are_listed_in_parts(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewer.tui.screens.suite.screen.MOST_LISTED", 1)
    monkeypatch.setattr("reviewer.tui.screens.suite.screen.PART", 2)
    app = shell(shop)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "v", "v")
        assert "clauses of episodes 1 to 2 " in screen_text(app)
        await press(pilot, "v", "G", "v", "v", "v")
        assert "clauses of episodes 3 to 3 " in screen_text(app)
        assert "damaged-221" not in screen_text(app)


async def test_an_edited_contract_of_a_large_suite_is_not_shown(shop: Bent) -> None:
    class Edited(list[EpisodeContents]):
        def __getitem__(self, index: object) -> NoReturn:
            raise DeskError("episodes/damaged-221.json is not as it was frozen")

    def contents(real: Callable[..., SuiteContents], suite: str) -> SuiteContents:
        found = real(suite)
        return replace(found, episodes=Edited(found.episodes))

    app = shell(shop.bend("workspace.contents", contents))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "U", "v", "v")
        assert "is not as it was frozen" in screen_text(app)
        await press(pilot, "v")
        assert "is not as it was frozen" in screen_text(app)
