"""`reviewer suite power` and power.json: written by a freeze, kept while it holds, in reports."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, make_template
from strict_suite import make_candidate, make_suite, names

SUITE = "power-v1"
LENIENT: dict[str, Any] = {
    "mode": "point", "hard_pass_rate": 0.8, "pass_hat": {"k": 3, "min": 0.5}, "max_cpst_usd": None,
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Door:
    return Door(make_template(tmp_path / "desk"))


def power(door: Door, *more: object) -> Any:
    return json.loads(door.ok("suite", "power", SUITE, "--json", *more).out)


def locked(door: Door, suite: str = SUITE) -> Any:
    return json.loads((door.root / "suites" / suite / "power.json").read_bytes())


def test_a_freeze_locks_it_and_the_command_shows_what_is_locked(desk: Door) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    file = locked(desk)
    assert file["schema"] == "reviewer/power@1"
    asked = file["asked"]
    assert (asked["episodes"], asked["attempts"], asked["true_rate"]) == (3, 3, 0.99)
    assert min(asked["seed"], asked["formulas"], asked["draws"]) > 0
    lock = json.loads((desk.root / "suites" / SUITE / "suite.lock").read_bytes())
    assert "power.json" in [entry["path"] for entry in lock["files"]]
    desk.ok("suite", "check", SUITE)
    told = power(desk)
    assert told.pop("locked") is True
    assert told.pop("suite_id") == SUITE
    assert {**told, "schema": file["schema"]} == file
    shares = [row["promoted"] for row in file["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert all(round(share, 2) == share for share in shares)
    assert file["stopped"] == pytest.approx(1 - file["rows"][1]["promoted"], abs=1e-9)
    assert file["sizes"][0]["worse"] == [one["promoted"] for one in file["worse"]]


def test_another_assumption_is_simulated_and_cached_outside_the_suite(desk: Door) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    state = desk.ok("suite", "check", SUITE).out
    told = power(desk, "--rate", 0.95, "--critical", 0.01)
    assert told["locked"] is False
    assert told["asked"]["true_rate"] == 0.95
    assert told["rows"][0]["gates"]["critical"] == pytest.approx(0.99**9, abs=0.005)
    assert desk.ok("suite", "check", SUITE).out == state
    (file,) = [
        path for path in (desk.root / "store" / "cache").glob("power-*")
        if b'"true_rate": 0.95,\n    "icc"' in path.read_bytes()
    ]  # fmt: skip
    file.write_bytes(file.read_bytes()[:-20])
    assert power(desk, "--rate", 0.95, "--critical", 0.01) == told  # unreadable: made again
    file.unlink()
    assert power(desk, "--rate", 0.95, "--critical", 0.01) == told


@pytest.mark.parametrize(
    "more", [("--rate", 1.5), ("--rate", 0), ("--icc", 0), ("--icc", 1), ("--critical", -0.1)]
)
def test_what_is_no_rate_is_refused_by_name(desk: Door, more: tuple[object, ...]) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    said = desk.run("suite", "power", SUITE, *more)
    assert (said.code, str(more[0]) in said.err) == (2, True)


def test_a_new_version_keeps_it_while_its_inputs_match(desk: Door) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    folder = desk.root / "suites" / SUITE
    before = (folder / "power.json").read_bytes()
    path = folder / "episodes" / f"{names(3)[0]}.json"
    path.write_bytes(path.read_bytes().replace(b'"title": "', b'"title": "Again: ', 1) + b"\n")
    desk.ok("suite", "freeze", SUITE, "--as", "power-v2")
    assert (desk.root / "suites" / "power-v2" / "power.json").read_bytes() == before
    suite = json.loads((desk.root / "suites" / "power-v2" / "suite.json").read_bytes())
    suite["policy"]["hard_pass_rate"] = 1.0
    (desk.root / "suites" / "power-v2" / "suite.json").write_text(json.dumps(suite))
    desk.ok("suite", "freeze", "power-v2", "--as", "power-v3")
    assert locked(desk, "power-v3")["asked"]["hard_pass_rate"] == 1.0
    assert locked(desk, "power-v3")["stopped"] > locked(desk)["stopped"]
    assert locked(desk, "power-v2") == locked(desk)


def test_a_power_file_of_another_shape_is_refused_with_its_place(desk: Door) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    folder = desk.root / "suites" / SUITE
    file = locked(desk)
    file["stopped"] = 1.5
    file["alpha"] = 0.05
    (folder / "power.json").write_text(json.dumps(file))
    said = desk.run("suite", "check", SUITE)
    assert said.code == 20
    assert "power.json: $.stopped" in said.both
    assert "power.json: $.alpha" in said.both


def test_a_report_shows_what_was_locked_and_never_simulates(
    desk: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_suite(desk, SUITE, 3, **LENIENT)
    make_candidate(desk, SUITE, "one")
    desk.run("run", SUITE, "one", "--quiet")

    def simulated(*_: object) -> None:
        raise AssertionError("a report simulates nothing")

    monkeypatch.setattr("reviewer.stats.power.chances", simulated)
    out = desk.root / "out"
    desk.run("--export-report", out, "--suite", SUITE, "--candidate", "one", "--format", "json,md")
    report = json.loads((out / "report.json").read_bytes())
    file = locked(desk)
    del file["schema"]
    assert report["power"] == file
    (said,) = [one for one in report["what_this_does_not_show"] if "identical" in one]
    assert said.startswith("By this policy an agent identical to its baseline")
    words = (out / "report.md").read_text(encoding="utf-8")
    assert "## How often this policy is wrong" in words
    assert "### What other sizes would give" in words
    assert "3 × 3, as it is" in words


def test_the_shipped_suites_stop_few_or_say_that_their_size_cannot(desk: Door) -> None:
    for suite in sorted(path.name for path in (desk.root / "suites").iterdir() if path.is_dir()):
        told = json.loads(desk.ok("suite", "power", suite, "--json").out)
        said = desk.ok("suite", "power", suite).out
        assert told["asked"]["true_rate"] == 0.99
        assert (told["stopped"] <= 0.10) is ("cannot stop fewer" not in said)
        # A policy that often lets the worst agent through is not shown as a good one.
        misses = told["worse"][-1]["promoted"] > 0.10
        mark = "✗" if told["stopped"] > 0.10 else "~" if misses else "✓"
        assert f"\n{mark} an agent identical" in said
        assert misses is ("agents that are 10 points worse pass" in said)
