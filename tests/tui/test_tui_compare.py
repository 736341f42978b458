"""Compare: what was lost and gained, and two attempts side by side, on a real workspace."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, passing, shipped
from template import HOSTILE
from tui_probe import SIZES, press, same_as_golden, screen_text, segments_with, settle, strips

from reviewer.desk.desk import Desk
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.compare.episode import CompareEpisodeScreen


@pytest.fixture
def desk(full: Door) -> Iterator[Desk]:
    made = full.desk()
    yield made
    made.close()


def shell(desk: Desk) -> ReviewerApp:
    return ReviewerApp(desk, watch=False, ascii_only=False)


def running(app: ReviewerApp, size: tuple[int, int] = (80, 24)) -> Any:
    return app.run_test(size=size, notifications=True, tooltips=True)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "keys"), [("compare", ("C",)), ("compare-both", ("C", "enter"))])
async def test_both_screens_to_the_character(
    desk: Desk, size: tuple[int, int], name: str, keys: tuple[str, ...]
) -> None:
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, *keys)
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_the_screen_says_the_reports_figures(desk: Desk) -> None:
    against = json.loads(desk.decisions.view(SUITE, V8, V7).report_json)["regression"]
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        text = screen_text(app)
        assert f"baseline {V7} → < {V8} >" in text
        counts = len(against["lost"]), len(against["gained"])
        assert "lost {}, new critical 0, gained {}".format(*counts) in text
        assert f"bounds {against['low']:+.3f} and {against['high']:+.3f}" in text
        assert "so no p is shown" in text
        assert text.index("attack-014  ") < text.index("damaged-221  ")


@pytest.mark.parametrize("way", [(), ("enter",), ("D",), ("R",), ("Q",)])
async def test_one_key_leads_there_from_anywhere_and_esc_back(
    desk: Desk, way: tuple[str, ...]
) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, *way)
        before = screen_text(app).splitlines()[0]
        await press(pilot, "C")
        assert screen_text(app).startswith(" Scorecard Trajectory[Compare]Label")
        await press(pilot, "enter")
        assert "difference 1 of 4" in screen_text(app)
        await press(pilot, "escape", "escape")
        assert screen_text(app).splitlines()[0] == before


async def test_angle_brackets_choose_the_candidate(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        assert f"baseline {V7} → < {V8} >" in screen_text(app)
        await press(pilot, "less_than_sign")
        assert "no more candidates that way" in screen_text(app)
        await press(pilot, "greater_than_sign")
        assert "no more candidates that way" in screen_text(app)


async def test_n_goes_to_the_next_change_and_f_shows_only_those(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "n")
        assert "› appeal-009" in screen_text(app)
        assert "lookup_policy at event 1 got ok where the baseline got timeout" in screen_text(app)
        await press(pilot, "n")
        assert "no more changed episodes that way" in screen_text(app)
        await press(pilot, "f")
        text = screen_text(app)
        assert "episodes 2 of 3" in text
        assert "damaged-221" not in text
        assert "› appeal-009" in text
        await press(pilot, "f", "N")
        assert "› attack-014" in screen_text(app)
        assert "episodes 3 of 3" in screen_text(app)


async def test_swapped_the_losses_stand_first(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "c", "enter")
        text = screen_text(app)
        assert f"baseline {V8} → < {V7} >" in text
        assert "▲ lost 2, new critical 1, gained 0" in text
        assert "worse: new critical failure in attack-014" in text
        assert "›▲attack-014" in text
        assert app.candidate_id == V7


async def test_differences_attempts_and_episodes_are_stepped_through(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "enter")
        assert "›»- ▲   2 → issue_refund" in screen_text(app)
        await press(pilot, "n")
        assert "difference 2 of 4" in screen_text(app)
        await press(pilot, "N", "N")
        assert "no more differences that way" in screen_text(app)
        await press(pilot, "right_square_bracket")
        assert f"{V7} [2]" in screen_text(app)
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert "no more attempts that way" in screen_text(app)
        await press(pilot, "right_curly_bracket")
        assert "{ appeal-009 } 2 of 3" in screen_text(app)
        await press(pilot, "right_curly_bracket", "right_curly_bracket")
        assert "no more episodes that way" in screen_text(app)


async def test_v_shows_event_state_and_message(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "enter", "v")
        assert '+ open_security_review  {"order_token": "ord_redacted_014"' in screen_text(app)
        await press(pilot, "v")
        assert '~ changed recorded.security_case  "none" → "opened"' in screen_text(app)
        await press(pilot, "v")
        assert "[-baseline alone-]  {+candidate alone+}" in screen_text(app)
        assert "┊ [-Your-] {+I cannot+} refund [-of $89.00-]" in screen_text(app)
        gone, new = (segments_with(app, word)[0].style for word in ("-Your-", "+I cannot+"))
        assert gone != new
        assert {gone, new}.isdisjoint({segments_with(app, " refund ")[0].style})
        await press(pilot, "v")
        assert "authority now passes (was forbidden:issue_refund)" in screen_text(app)
        await press(pilot, "y")
        assert "authority now passes (was forbidden:issue_refund)" in app.clipboard


async def test_two_attempts_of_one_candidate_can_be_chosen(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "enter", "c", "j", "j", "enter")
        text = screen_text(app)
        assert f"{V8} [2] ✓✓✓ → {V8} [1] ✓✓✓" in text
        assert "- attempt 2  + attempt 1" in text


async def test_enter_opens_the_trace_at_the_event(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "enter", "enter")
        assert "[Trajectory]" in screen_text(app)
        assert app.trace_id == f"{SUITE}/{V7}/attack-014/1"
        assert "event 2 · tool call" in screen_text(app)
        await press(pilot, "escape", "j", "enter")
        assert app.trace_id == f"{SUITE}/{V8}/attack-014/1"


async def test_one_candidate_alone_says_what_to_do(door: Door) -> None:
    door.take("v7.jsonl", shipped(V7))
    desk = door.desk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        text = screen_text(app)
        assert f"there is only one candidate, {V7}" in text
        assert "reviewer import" in text
        await press(pilot, "enter", "n", "f", "c", "greater_than_sign", "y", "escape")
        assert "[Scorecard]" in screen_text(app)
    desk.close()


async def test_without_a_trace_there_is_nothing_to_compare(door: Door) -> None:
    desk = door.desk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        assert "no candidate to compare yet: import traces first" in screen_text(app)
    desk.close()


async def test_an_attempt_that_was_not_made_is_not_compared(door: Door) -> None:
    door.take("a.jsonl", [passing(candidate_id="cand-a"), passing("attack-014", "cand-a")])
    door.take("b.jsonl", [passing(candidate_id="cand-b", nonce=1)])
    desk = door.desk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "j")
        text = screen_text(app)
        assert text.count("○ not compared") == 2
        assert "made no attempt" in text
        await press(pilot, "enter")
        assert "nothing to open here" in screen_text(app)
    desk.close()


async def test_what_others_write_moves_no_row(door: Door) -> None:
    both = ("damaged-221", "appeal-009")
    for name in ("cand-a", "cand-b"):
        made = [passing(one, name, nonce=ord(name[-1])) for one in both]
        door.take(f"{name}.jsonl", made)
    desk = door.desk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C")
        assert [line[2:13] for line in screen_text(app).splitlines()[9:11]] == [
            "damaged-221", "appeal-009 ",
        ]  # fmt: skip
        door.take("b2.jsonl", [passing("appeal-009", "cand-b", 2, 7, final_state="appeal_open")])
        assert app.here is not None
        app.here.store_changed()
        await settle(pilot)
        lines = screen_text(app).splitlines()
        assert lines[9].startswith("› damaged-221")
        assert "✗ LOST" in lines[10]
        assert "lost 1, " in lines[2]
        await press(pilot, "S", "C")
        assert "appeal-009" in screen_text(app).splitlines()[9]
    desk.close()


async def test_equal_stretches_are_folded_and_z_unfolds_them(door: Door) -> None:
    calls = [{"kind": "tool_call", "tool": f"t{n}", "status": "ok"} for n in range(40)]
    other = [*calls, {"kind": "tool_call", "tool": "pay", "status": "ok"}]
    for name, events in (("cand-a", calls), ("cand-b", other)):
        record = {**passing(candidate_id=name, nonce=ord(name[-1])), "events": events}
        door.take(f"{name}.jsonl", [record])
    desk = door.desk()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "enter")
        text = screen_text(app)
        assert "= 40 equal events, z unfolds" in " ".join(text.split())
        assert "→ pay" in text
        await press(pilot, "z")
        assert "→ t39" in screen_text(app)
        await press(pilot, "g")
        assert "→ t0" in screen_text(app)
    desk.close()


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (133, 31), (200, 50)])
async def test_hostile_text_is_shown_and_every_line_fills_its_width(
    door: Door, size: tuple[int, int]
) -> None:
    evil = {"kind": "tool_call", "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "status": "ok"}
    said = {"kind": "message", "message": HOSTILE}
    for name, events in (("cand-a", [said]), ("cand-b", [evil, said])):
        record = passing(candidate_id=name, nonce=ord(name[-1]))
        record.update(events=events, final_state={HOSTILE: name}, final_message=HOSTILE + name)
        assert "1 added" in door.take(f"{name}.jsonl", [record]).both
    desk = door.desk()
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        for key in ("C", "enter", "v", "v", "v", "c"):
            await press(pilot, key)
            assert {strip.cell_length for strip in strips(app)} == {size[0]}
            text = screen_text(app)
            assert not any(sign in text for sign in "\x1b\x07\u202e\x9b")
        assert "[/foo]" in text
    desk.close()


async def test_a_line_of_evidence_leads_to_the_step_that_shows_it(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "C", "tab", "j")
        assert "›→ state now passes" in screen_text(app)
        await press(pilot, "enter")
        assert "› - ✗   4 ◊ state snapshot" in screen_text(app)
        await press(pilot, "tab", "enter")
        assert "›»- ▲   2 → issue_refund" in screen_text(app)
        assert isinstance(app.screen, CompareEpisodeScreen)
        assert app.screen.grid.has_focus


async def test_two_attempts_are_compared_from_the_trace(desk: Desk) -> None:
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "ctrl+p", *"attempt", "space", *"with", "enter")
        text = screen_text(app)
        assert f"{V7} attempt 1 against" in text
        assert text.index(f"{V7} attempt 2") < text.index(f"{V8} attempt 1")
        await press(pilot, "enter")
        assert f"{V7} [2] ▲✗✓ → {V7} [1] ▲✗✓" in screen_text(app)
        await press(pilot, "right_curly_bracket")
        assert "only these two attempts are compared" in screen_text(app)
        await press(pilot, "escape")
        assert "[Trajectory]" in screen_text(app)
        await press(pilot, "ctrl+p", *"attempt", "space", *"with", "enter", "G", "enter")
        assert "baseline refund-agent-v7" in screen_text(app)


async def test_help_and_palette_name_what_acts_here(desk: Desk) -> None:
    app = shell(desk)
    async with running(app, (100, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "question_mark")
        await press(pilot, "escape", "C", "question_mark")
        text = screen_text(app)
        assert "what did this candidate lose and gain" in text
        assert "next changed episode" in text
        await press(pilot, "escape", "ctrl+p", *"baseline")
        lines = screen_text(app).splitlines()
        assert any("choose the baseline" in line and " c " in line for line in lines)
