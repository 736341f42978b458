"""The journal says which code judged."""

import json
from pathlib import Path

import pytest
from doors import Door, passing

from reviewer import __version__, judging


def test_a_batch_names_the_build_that_judged_it(door: Door) -> None:
    door.ok("import", door.file("t.jsonl", [passing()]))
    bodies = [json.loads(body) for (body,) in door.rows("SELECT body FROM journal")]
    (added,) = {body["code"] for body in bodies if body["type"] == "traces.added"}
    assert added == judging.judging_version()
    assert added.startswith(f"{__version__}+")


def test_other_code_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in judging.ROOMS:
        (tmp_path / room).mkdir(parents=True)
    gate = tmp_path / "gates" / "state.py"
    gate.write_text("passed = True\n")
    monkeypatch.setattr(judging, "__file__", str(tmp_path / "judging.py"))
    build = judging.judging_version.__wrapped__
    before = build()
    assert build() == before
    gate.write_text("passed = False\n")
    assert build() != before
    gate.unlink()
    assert build() == __version__
