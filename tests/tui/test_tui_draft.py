"""A draft in the workstation: named in the header, on hold, and with nothing to sign."""

from doors import SUITE, V8, Door
from template import Bent
from test_tui_screens import running, shell
from tui_probe import press, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.drafts import place_for
from reviewer.desk.place import at
from reviewer.tui.screens.dialogs.run_order import OrderScreen


async def test_a_draft_says_so_and_nothing_can_be_signed_on_it(door: Door) -> None:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    door.ok("run", SUITE, V8)
    desk = Desk(place_for(at(door.root), SUITE))
    app = shell(Bent(desk))
    async with running(app, (80, 24)) as pilot:
        await settle(pilot)
        await until(pilot, lambda: "no evidence" in screen_text(app))
        head = screen_text(app).splitlines()
        assert f"suite {SUITE} ○ draft" in head[1]
        assert "○ HOLD" in head[2]
        await press(pilot, "D")
        await until(pilot, lambda: "can be chosen" in screen_text(app))
        await settle(pilot)
        text = screen_text(app)
        assert "0 of 3 can be chosen" in text
        assert text.count("not possible: the suite is a draft") == 3
    desk.close()


async def test_the_first_thing_to_do_on_a_draft_without_runs_is_a_run(door: Door) -> None:
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    desk = Desk(place_for(at(door.root), SUITE))
    app = shell(Bent(desk))
    async with running(app, (80, 24)) as pilot:
        await settle(pilot)
        await until(pilot, lambda: "start here" in screen_text(app))
        text = screen_text(app)
        assert text.index("run one of its candidates") < text.index("import traces you already")
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(app.screen, OrderScreen))
    desk.close()
