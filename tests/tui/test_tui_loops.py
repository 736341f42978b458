"""A suite whose policy puts an optional gate in force, on the scorecard."""

import json

import pytest
from doors import SUITE, V8, Door, shipped
from template import Bent, opened
from test_tui_screens import running, shell
from tui_probe import SIZES, press, screen_text, settle

LOOPING = "refund-loops"


@pytest.mark.parametrize("size", SIZES)
async def test_first_rows_have_a_column_for_each_gate(door: Door, size: tuple[int, int]) -> None:
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_text())
    body["policy"]["gates"] = {"loops": 3}
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", LOOPING)
    assert door.take("v8.jsonl", shipped(V8), "--suite", LOOPING).code == 0
    desk = Bent(opened(door.root)).bend("workspace.opening", lambda _: (LOOPING, V8))
    app = shell(desk)
    async with running(app, size) as pilot:
        await settle(pilot)
        text = screen_text(app)
        assert "loops" in text
        assert text.count("✓✓✓") == 3
        await press(pilot, "numbersign")
        assert "loops" in screen_text(app)
