"""A suite whose policy puts an optional gate in force, on the scorecard."""

import json

import pytest
from doors import SUITE, V7, V8, Door, shipped
from template import Bent, opened
from test_tui_screens import running, shell
from tui_probe import SIZES, press, screen_text, settle

LOOPING = "refund-loops"


def with_loops(door: Door, candidate: str) -> Bent:
    """A desk that opens on a candidate of a suite with an eighth gate in force."""
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_text())
    body["policy"]["gates"] = {"loops": 3}
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", LOOPING)
    assert door.take("made.jsonl", shipped(candidate), "--suite", LOOPING).code == 0
    return Bent(opened(door.root)).bend("workspace.opening", lambda _: (LOOPING, candidate))


@pytest.mark.parametrize("size", SIZES)
async def test_first_rows_have_a_column_for_each_gate(door: Door, size: tuple[int, int]) -> None:
    app = shell(with_loops(door, V8))
    async with running(app, size) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "loops" in text
        assert text.count("✓✓✓") == 3
        await press(pilot, "numbersign")
        assert "loops" in screen_text(app)


async def test_eight_gates_fit_in_eighty_columns(door: Door) -> None:
    app = shell(with_loops(door, V7))
    async with running(app, (80, 24)) as pilot:
        await settle(pilot)
        grid = screen_text(app).splitlines()[6:16]
        assert not any("…" in line for line in grid)
        names = " ".join(grid[1:3]).split()
        assert {"complete", "authority", "process", "budget", "latency"} <= set(names)
        assert {"state", "redaction", "timeout", "loops", "pass^3", "cost", "p50"} <= set(names)
        assert " ".join(grid[3].replace("[", " ").replace("]", " ").split()) == (
            "›!attack-014 ✓ ✗ ▲ ✓ ✗ ✓ ✓ ✓ ▲✗✓ 0.000 0.041 1.94s"
        )
        await press(pilot, "l")
        assert app.here is not None
        assert app.here.grid.column == "redaction"  # type: ignore[attr-defined]
