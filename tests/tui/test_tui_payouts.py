"""A call that a rule of its episode puts to a person: asked, answered and reported in the
workstation."""

import pytest
from doors import Door
from payouts import GOOD, PAYOUTS, with_payouts
from run_desks import app_of, newest, still, stored
from template import Bent, opened
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle, until

from reviewer.desk.runs.api import RunOrder
from reviewer.tui.screens.runs.dialogs import ApproveScreen


@pytest.mark.parametrize("size", SIZES)
async def test_a_rule_asks_whoever_is_there(
    size: tuple[int, int], door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(ApproveScreen, "clock", staticmethod(lambda: now[0]))
    desk = opened(with_payouts(door).root)
    app = shell(still(Bent(desk)))
    async with running(app, size) as pilot:
        await settle(pilot)
        order = RunOrder(suite_id=PAYOUTS, candidate_id=GOOD, person=True)
        app_of(pilot).live.begin([order])
        await until(pilot, lambda: newest(pilot).done == 2 and len(newest(pilot).approvals) == 1)
        await stored(pilot)
        await press(pilot, "a")
        assert '"amount_usd": 25' in screen_text(app)
        same_as_golden(app, f"run-payout-{size[0]}x{size[1]}")
        now[0] += 1
        await press(pilot, "y")
        await until(pilot, lambda: newest(pilot).state == "done")
        assert (newest(pilot).passed, newest(pilot).infrastructure) == (3, 0)
    found = desk.reports.build(PAYOUTS, GOOD).report
    assert found.recommendation == "promote"
    assert [one.by for one in found.approvals or ()][-1].startswith("a person")
    desk.close()
