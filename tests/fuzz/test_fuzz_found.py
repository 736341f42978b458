"""Faults that mutants showed, each as the file that showed it."""

import json
import re
import shutil
from typing import Any

import pytest
from doors import REPOSITORY, SUITE, Door, every_byte, passing
from fuzz_samples import hal_run

from reviewer.importing import foreign_json
from reviewer.importing.draft import amount, clock, elapsed_ms, finite
from reviewer.testing.mutants import CANARIES

CARD = "4539578763621486"
AGENTBENCH = REPOSITORY / "tests/data/agentbench/Jan17v1/gpt-4o-mini/medagentbench-std"
TAU2 = REPOSITORY / "tests" / "data" / "tau2" / "mock_single.json"
SWE_BENCH = REPOSITORY / "tests" / "data" / "swe_bench" / "run_report.json"


def hal(**changes: Any) -> dict[str, Any]:
    run = hal_run()
    run["config"].update(changes)
    return run


@pytest.mark.parametrize("name", ["\x00", "a\x00b", "\x00a", "a\x00"])
def test_a_nul_in_the_name_of_an_episode_is_a_letter_like_others(door: Door, name: str) -> None:
    """SQLite's JSON functions end a text there: the episode was not found again, and the import of
    all files ended with an internal error."""
    text = json.dumps(hal()).replace('"t-1"', json.dumps(name))
    odd = door.file("gaia_hal_1_UPLOAD.json", text)
    good = door.file("good.jsonl", [passing()])
    said = door.run("import", odd, good)
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM traces WHERE suite_id = ?", SUITE) == 1
    names = {found for (found,) in door.rows("SELECT episode_id FROM traces WHERE suite_id='gaia'")}
    assert names == {name, "t-2"}
    again = door.run("import", door.file("again_UPLOAD.json", text + "\n"))
    assert again.code == 0, again
    assert door.one("SELECT count(*) FROM episode WHERE episode_id = ?", name) == 1
    door.healthy()


@pytest.mark.parametrize("words", ["{}", "write to {} now", "x-{}"])
@pytest.mark.parametrize("canary", [CARD, CANARIES[2]])
def test_an_identifier_in_the_name_of_a_suite_is_masked(
    door: Door, words: str, canary: str
) -> None:
    """Records were masked, and the name of the probe suite that a file gives itself was not."""
    said = door.take("gaia_hal_1_UPLOAD.json", hal(benchmark_name=words.format(canary)))
    assert said.code == 0, said
    assert canary.lower() not in said.both.lower()
    assert canary.lower().encode() not in every_byte(door.root / "store").lower()


def test_a_note_on_a_file_holds_no_identifier(door: Door) -> None:
    """What a run summary declares was quoted where it differs from what it lists."""
    summary = json.loads(SWE_BENCH.read_bytes())
    summary["resolved_instances"] = int(CARD)
    said = door.run("import", door.file("run_report.json", json.dumps(summary)), "--candidate", "m")
    assert said.code == 0, said
    assert "resolved and lists" in said.both
    assert CARD not in said.both
    assert CARD.encode() not in every_byte(door.root / "store")


def test_a_member_of_a_run_whose_name_is_no_utf8_costs_that_run(door: Door) -> None:
    """The quick look at each simulation did not foresee it: the whole file was refused."""
    simulation = b'"simulations": ['
    raw = TAU2.read_bytes()
    assert simulation in raw
    spoilt = raw.replace(simulation, simulation + b'{"\xc0": 1},', 1)
    said = door.take("mock_single.json", spoilt)
    assert "a fault of" not in said.both
    assert door.one("SELECT count(*) FROM trace") == raw.count(b'"reward_info"')


HUGE = 10**400
"""JSON may hold it, and a Python integer too; no double does, and asking whether it is finite is
an OverflowError."""


def test_a_number_of_four_hundred_digits_is_no_time_and_no_amount() -> None:
    """As the time of an event it was a fault of the reader: the whole file was refused."""
    for number in (HUGE, -HUGE):
        assert not finite(number)
        assert clock(number) == (None, "")
        assert elapsed_ms(number, 1e9) is None
        assert elapsed_ms("2025-01-01T00:00:00Z", number) is None
        assert amount(number) is None
    assert amount(2**63) == float(2**63)
    assert finite(10**300)


def test_such_a_number_is_null_wherever_it_stands_in_a_file() -> None:
    """Sums and rates broke over it (an accuracy in AgentBench's overall.json)."""
    notes: set[str] = set()
    text = f'{{"a": {HUGE}, "b": [-{HUGE}, {10**298}], "c": "{HUGE}", "d": {"9" * 5000}}}'
    found = foreign_json.parse(text.encode(), notes)
    assert found == {"a": None, "b": [None, 10**298], "c": str(HUGE), "d": None}
    assert notes == {foreign_json.HUGE}
    assert foreign_json.parse(b'{"a": 18446744073709551616}') == {"a": 2**64}


@pytest.mark.parametrize("number", [HUGE, -HUGE])
def test_a_rate_of_four_hundred_digits_costs_nothing_else(door: Door, number: int) -> None:
    shutil.copytree(AGENTBENCH, door.root / "run")
    path = door.root / "run" / "overall.json"
    path.write_text(re.sub(r'"accuracy": ?[0-9.]+', f'"accuracy": {number}', path.read_text()))
    assert str(number) in path.read_text()
    said = door.ok("import", door.root / "run")
    assert "a fault of" not in said.both
    assert door.one("SELECT count(*) FROM trace") > 0
