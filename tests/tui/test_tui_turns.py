"""A trajectory by turn, and by agent and turn: the cursor stays on its event, nothing found is
hidden, and every jump unfolds what it goes to."""

import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from doors import V7, Door
from hostile import SUITE as EVIL
from template import Bent, attack, trace_id, with_attack
from test_tui_screens import running, shell
from test_tui_trajectory import at, typed
from tui_probe import SIZES, come, press, same_as_golden, screen_text, settle

from reviewer.desk.traces.outline import Outline
from reviewer.tui.screens.trajectory.screen import TrajectoryScreen

ATTACK = trace_id(V7, "attack-014", 1)


def session() -> dict[str, Any]:
    """An attempt in which another agent works, one call fails, and something is forbidden."""

    def says(actor: str, words: Any) -> dict[str, Any]:
        return {"kind": "message", "actor": actor, "message": words}

    def call(own: str, tool: str, actor: str = "agent", **more: Any) -> dict[str, Any]:
        given = {"order_token": "ord_redacted_014"}
        return {
            "kind": "tool_call", "actor": actor, "tool": tool, "call_id": own,
            "arguments": given, **more,
        }  # fmt: skip

    def result(own: str, tool: str, **more: Any) -> dict[str, Any]:
        return {"kind": "tool_result", "tool": tool, "call_id": own, "observation": "seen", **more}

    events = [
        *(says("user", "Refund me."), says("agent", {"reasoning": "a private thought"})),
        *(says("agent", "I look for the order."), call("a", "lookup_order", latency_ms=250)),
        *(call("b", "verify_state", latency_ms=500), result("a", "lookup_order")),
        *(result("b", "verify_state"), call("c", "delegate"), says("checker", "Checking.")),
        *(call("d", "lookup_order", "checker"), result("d", "lookup_order", status="error")),
        *(result("c", "delegate"), says("agent", "I refund it."), call("e", "issue_refund")),
        *(result("e", "issue_refund"), says("agent", "Your refund is on its way.")),
    ]
    return {**attack(), "events": events}


def lines(screen: TrajectoryScreen) -> list[str]:
    """The words of every line of the list."""
    grid = screen.grid
    found = []
    for row in range(len(grid.keys)):
        cells = grid.sheet.cells(grid.at(row))
        found.append(" ".join("".join(span.text for span in cell).strip() for cell in cells))
    return found


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
async def test_turns_and_agents(door: Door, size: tuple[int, int]) -> None:
    async with at(TrajectoryScreen(ATTACK, 10), with_attack(door, session()), size) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "number_sign")
        assert (screen.seq, screen.grid.current.seq) == (10, 10)
        same_as_golden(app, f"turns-{size[0]}x{size[1]}")
        assert any("▾ 4  I refund it." in line for line in lines(screen))  # something is found
        await press(pilot, "number_sign")
        assert (screen.seq, screen.grid.current.seq) == (10, 10)
        same_as_golden(app, f"agents-{size[0]}x{size[1]}")
        await press(pilot, "number_sign")
        assert (screen.seq, screen.grid.row) == (10, 9)
        assert "plain, # groups" in screen_text(app)


async def test_a_fold_keeps_the_event_and_shows_what_was_found_in_it(door: Door) -> None:
    async with at(TrajectoryScreen(ATTACK, 14), with_attack(door, session())) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "number_sign", "z")
        shown = lines(screen)[screen.grid.row]
        assert "▸ 4  I refund it." in shown
        assert shown.startswith("▲")
        assert screen.seq == 14
        same_as_golden(app, "turn-whole-80x24")
        await press(pilot, "tab", "j", "j", "enter")
        assert screen.seq == 14
        await press(pilot, "escape", "tab", "tab")
        assert "━━ contract ━" in screen_text(app), "it has its place while it has the focus"
        await press(pilot, "escape", "k", "k")
        assert "▾ 4  I refund it." in lines(screen)[screen.grid.row]
        await press(pilot, "j")
        assert screen.seq == 13
        await press(pilot, "z", "k", "enter")  # the turn above is unfolded as Enter does it too
        assert screen.grid.current.kind == "turn"
        await press(pilot, "n")
        assert screen.seq == 14
        assert screen.grid.current.seq == 14


async def test_every_jump_unfolds_what_it_goes_to(door: Door) -> None:
    async with at(TrajectoryScreen(ATTACK, 1), with_attack(door, session())) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "number_sign", "number_sign")
        screen.reading.fold_all()
        await press(pilot, "d")
        assert screen.grid.current.seq == 11
        await press(pilot, "g", "colon")
        await typed(pilot, "12")
        assert screen.grid.current.seq == 12
        await press(pilot, "slash")
        await typed(pilot, "Checking")
        assert screen.grid.current.seq == 9
        await press(pilot, "escape", "m")
        screen.reading.fold_all()
        await press(pilot, "g", "apostrophe")
        assert screen.grid.current.seq == 9
        await press(pilot, "f")
        assert [key for key in screen.grid.keys if key >= 0] == [7, 8, 13]
        await press(pilot, "colon")
        await typed(pilot, "3")
        assert screen.reading.only is None
        assert screen.grid.current.seq == 3
        await press(pilot, "f")
        assert [key for key in screen.grid.keys if key >= 0] == [7, 8, 13]
        await press(pilot, "n", "f")
        assert screen.reading.only is None
        assert len([key for key in screen.grid.keys if key >= 0]) > 2


async def test_one_agent_is_grouped_by_turn_alone(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "number_sign")
        assert "turns 4, events 5" in screen_text(app)
        await press(pilot, "number_sign")
        assert "only one agent" in screen_text(app)
        assert "plain, # groups" in screen_text(app)


async def test_the_grouping_stays_with_the_next_attempt(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK), shop) as (app, pilot):
        await press(pilot, "number_sign", "right_square_bracket")
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        assert screen.trace_id != ATTACK
        assert "turns, # groups" in screen_text(app)
        assert screen.grid.current.seq == screen.seq


async def test_a_grouped_trace_has_a_line_of_its_times(shop: Bent) -> None:
    async with at(TrajectoryScreen(ATTACK, 2), shop, (120, 40)) as (app, pilot):
        assert "timeline" not in screen_text(app)
        await press(pilot, "number_sign")
        told = screen_text(app).splitlines()
        rule = next(n for n, line in enumerate(told) if "timeline by" in line)
        assert "no times recorded" in told[rule]
        assert told[rule + 1] == "  ▫▲▫✗▪"
        assert told[rule + 2] == "   ^ here"
        await press(pilot, "Z")
        assert "timeline" not in screen_text(app)


async def test_hostile_turns_are_seen_and_not_obeyed(hostile: Bent) -> None:
    traces = hostile.traces.search("refund", EVIL).hits
    assert traces
    trace = traces[0].trace_id
    async with at(TrajectoryScreen(trace), hostile, (200, 50)) as (app, pilot):
        await press(pilot, "number_sign")
        text = screen_text(app)
        assert "turns, # groups" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


def repeated() -> dict[str, Any]:
    """An attempt that does what is forbidden again and again."""
    five = attack()["events"]
    return {**attack(), "events": [five[0], *(five[1] for _ in range(12)), *five[2:]]}


@pytest.mark.parametrize("size", SIZES)
async def test_equal_findings_are_one_line_and_walked_first(
    door: Door, size: tuple[int, int]
) -> None:
    records = repeated()
    records["events"] = [{**event, "seq": n} for n, event in enumerate(records["events"], 1)]
    async with at(TrajectoryScreen(ATTACK, 2), with_attack(door, records), size) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        assert screen.seq == 2
        told = [line for line in screen_text(app).splitlines() if "event" in line]
        assert sum("authority issue_refund is forbidden" in line for line in told) == 1
        assert any("×12" in line for line in told)
        assert "kind 1 of" in screen_text(app)
        await press(pilot, "n", "n")
        assert screen.seq == 4
        assert ", 3 of 12" in screen_text(app)
        same_as_golden(app, f"kinds-{size[0]}x{size[1]}")
        await press(pilot, *"nnnnnnnnn", "n")
        assert screen.seq == 15
        assert "kind 1 of" not in screen_text(app)
        await press(pilot, "N")
        assert screen.seq == 13  # the last one of the kind before
        await press(pilot, "tab", "tab", "g", "enter")
        assert screen.seq == 13


async def test_a_kind_lists_its_findings_a_part_at_a_time(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewer.tui.screens.trajectory.screen.MEMBERS", 7)
    records = repeated()
    records["events"] = [{**event, "seq": n} for n, event in enumerate(records["events"], 1)]
    async with at(TrajectoryScreen(ATTACK, 2), with_attack(door, records), (120, 50)) as found:
        app, pilot = found
        screen = app.screen
        assert isinstance(screen, TrajectoryScreen)
        await press(pilot, "tab", "tab", "g", "z")
        text = screen_text(app)
        assert text.count("\n      event ") == 7
        assert "… 5 more: Enter lists the next of them" in text
        same_as_golden(app, "kind-members-120x50")
        await press(pilot, *"jjjjjjjj", "enter")
        assert "more: Enter" not in screen_text(app)
        await press(pilot, "enter")
        assert screen.seq == 9  # the eighth of them
        await press(pilot, "tab", "tab", "z")
        assert "     event 9" not in screen_text(app)
        assert screen.contract.cursor == 0
        await press(pilot, "j", "z")  # one finding alone: the region is folded
        assert "─ contract ─" not in screen_text(app)


def test_equal_findings_are_one_line_of_show_and_each_is_in_its_json(door: Door) -> None:
    record = attack(again="verify_state")
    five = record["events"]
    events = [five[0], *(five[1] for _ in range(12)), *five[2:]]
    record["events"] = [{**event, "seq": n} for n, event in enumerate(events, 1)]
    with_attack(door, record).close()
    trace = "refund-eval-v5/refund-agent-v7/attack-014/1"
    told = door.ok("show", trace).out.splitlines()
    found = [line for line in told if line.startswith("finding forbidden:issue_refund")]
    assert found == [
        "finding forbidden:issue_refund (authority, critical) x12 events 2 to 13, at first"
        " issue_refund is forbidden"
    ]
    clause = [line for line in told if line.startswith("clause") and "is forbidden" in line]
    assert [line.endswith("x12 (events 2 to 13)") for line in clause] == [True]
    each = json.loads(door.ok("show", trace, "--json").out)["findings"]
    assert sum(one["code"] == "forbidden:issue_refund" for one in each) == 12


async def test_a_long_trace_says_at_once_that_its_turns_are_being_found(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviewer.tui.screens.trajectory.controller.LONG", 4)
    found = Event()

    def outline(real: Callable[[str], Outline], trace_id: str) -> Outline:
        found.wait(30)
        return real(trace_id)

    app = shell(shop.bend("traces.outline", outline))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        await pilot.press("number_sign")
        await come(pilot, lambda: "putting 5 events together…" in screen_text(app))
        found.set()
        await settle(pilot)
        assert "putting" not in screen_text(app)
        assert "turns" in screen_text(app)
