"""Words and figures that need more room than others leave: whole, or short, and never wrong."""

import pytest

from reviewer.desk.views import Rate, Reason
from reviewer.tui.screens.scorecard.sheet import known_passes
from reviewer.tui.views.verdict import reason_line
from reviewer.tui.widgets.lines import plain

COMMAND = "reviewer suite start-digest refund-eval-v5 prints each start_state_digest"


def test_a_way_out_at_the_end_of_a_reason_is_shown_where_there_is_room() -> None:
    text = f"9 attempts not measured: no_start_digest; {COMMAND}"
    reason = Reason(1, text, "9 of 9 not measured", "all measured", ())
    for width in (160, 200):
        shown = plain([reason_line(reason, width)])
        assert COMMAND in shown
        assert "9 of 9 not measured" in shown
        assert "policy all measured" in shown
    narrow = plain([reason_line(reason, 80)])
    assert "9 attempts not measured" in narrow
    assert "9 of 9 not measured" in narrow


@pytest.mark.parametrize(
    ("passes", "unknown", "n", "room", "shown"),
    [
        (58, 1, 72, 12, "58 to 59/72"),
        (58, 1, 72, 8, "58-59/72"),
        (58, 1, 72, 6, "58+/72"),
        (58, 1, 72, 5, "n/m"),
        (6, 0, 9, 5, "6/9"),
        (166, 0, 200, 5, "83%"),
        (0, 0, 0, 5, "0/0"),
    ],
)
def test_passes_that_are_not_all_known_are_never_cut(
    passes: int, unknown: int, n: int, room: int, shown: str
) -> None:
    rate = Rate(None, None, None, n, passes, None, unknown=unknown)
    assert known_passes(rate, room) == shown
