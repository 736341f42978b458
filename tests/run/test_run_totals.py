"""Tokens that are stated once, of the whole attempt; and an interpreter of the candidate's own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from run_guests import BRIEF, KINDS, PRICES, answers, closing, hold, task, workspace, written

from reviewer.running.candidates import check_runnable
from reviewer.running.candidates.program import Lines, PythonCandidate
from reviewer.running.code import measured_code
from reviewer.running.model import CandidateFault, Task, Turn, Unrunnable
from reviewer.running.prices import Usage
from reviewer.running.record import Meter, OwnClock


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


def guest(suite: Path, text: str, **runner: Any) -> Task:
    written(suite / "candidates" / "guest.py", text)
    return task(suite, {"kind": "python", "entry": "guest:run", **runner}, prices=PRICES)


async def turns(work: Task) -> list[Turn]:
    made = []
    async with closing(PythonCandidate(work)) as candidate:
        made.append(await candidate.begin(BRIEF))
        while made[-1].calls:
            made.append(await candidate.proceed(answers(made[-1])))
    return made


def metered(made: list[Turn]) -> Meter:
    meter = Meter(OwnClock())
    for turn in made:
        meter.add(turn)
    return meter


@pytest.mark.parametrize("how", ["def", "async def"])
async def test_tokens_told_at_the_end_are_those_of_the_attempt(how: str, suite: Path) -> None:
    wait = "await " if how == "async def" else ""
    text = f"""
        {how} run(user_request, tools, call):
            {wait}call("look", at="table")
            call.total(input_tokens=1000, output_tokens=100)
            return "done"
    """
    meter = metered(await turns(guest(suite, text)))
    assert meter.cost_usd() == 0.003
    assert meter.usage() == Usage(1000, 100)._asdict()


async def test_without_a_total_a_silent_turn_leaves_the_cost_unknown(suite: Path) -> None:
    text = """
        def run(user_request, tools, call):
            call("look", at="table")
            call.used(input_tokens=1000, output_tokens=100)
            return "done"
    """
    assert metered(await turns(guest(suite, text))).cost_usd() is None


async def test_a_total_costs_no_less_than_its_turns(suite: Path) -> None:
    text = """
        def run(user_request, tools, call):
            call.used(input_tokens=1000, output_tokens=100)
            call("look", at="table")
            call.total(input_tokens=1000, cached_input_tokens=1000, output_tokens=100)
            return "done"
    """
    written(suite / "candidates" / "guest.py", text)
    prices = {**PRICES, "cached_input_usd_per_million_tokens": 0.2}
    work = task(suite, {"kind": "python", "entry": "guest:run"}, prices=prices)
    assert metered(await turns(work)).cost_usd() == 0.003


async def test_no_token_in_all_turns_is_no_measurement(suite: Path) -> None:
    for said in ("call.total", "call.used"):
        text = f"""
            def run(user_request, tools, call):
                {said}(input_tokens=0, output_tokens=0)
                return "done"
        """
        assert metered(await turns(guest(suite, text))).cost_usd() is None


def line(**members: Any) -> bytes:
    return json.dumps(members).encode()


FIRST = line(type="call", call_id="a", tool="look", usage={"input_tokens": 9, "output_tokens": 2})


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"type": "final", "message": "x", "total": {"input_tokens": 8}}, "$.total.input_tokens"),
        ({"type": "final", "message": "x", "total": {"tokens": 9}}, "$.total.tokens: is not known"),
        ({"type": "final", "message": "x", "total": 7}, "$.total: must be an object"),
        ({"type": "say", "message": "x", "total": {"input_tokens": 9}}, "$.total: is not known"),
    ],
)
def test_a_total_that_cannot_be_is_refused(members: dict[str, Any], why: str) -> None:
    lines = Lines()
    lines.read(FIRST)
    with pytest.raises(CandidateFault) as fault:
        lines.read(line(**members))
    assert why in fault.value.text


# an interpreter of its own ------------------------------------------------------------------------

MINE = """
    import lamps
    def run(user_request, tools, call):
        import sys
        return f"{lamps.LIT} {sys.prefix}"
"""


def environment(folder: Path) -> Path:
    """A virtual environment with one distribution that is not installed here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [site] = folder.glob("lib/python3*/site-packages")
    (site / "lamps.py").write_text("LIT = 'lit'\n")
    (site / "lamps-1.dist-info").mkdir()
    (site / "lamps-1.dist-info" / "RECORD").write_text("lamps.py,sha256=one,12\n")
    return folder


@pytest.mark.parametrize("kind", KINDS)
async def test_a_candidate_runs_in_an_environment_of_its_own(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    place = environment(suite.parents[1] / "venv")
    for python in (place, place / "bin" / "python"):
        [last] = await turns(guest(suite, MINE, python=str(python)))
        assert last.message == f"lit {place}"


def test_what_is_installed_there_is_part_of_its_code(suite: Path, tmp_path: Path) -> None:
    place = environment(tmp_path / "venv")
    work = guest(suite, MINE, python=str(place))
    before = measured_code(work.candidate, suite)
    assert "python/lamps-1.dist-info/RECORD" in [file.path for file in before.files]
    assert measured_code(work.candidate, suite).sha256 == before.sha256
    [record] = place.glob("lib/python3*/site-packages/*.dist-info/RECORD")
    record.write_text("lamps.py,sha256=two,12\n")
    changed = measured_code(work.candidate, suite)
    assert changed.sha256 != before.sha256
    (record.parents[1] / "sitecustomize.py").write_text("import sys\n")
    assert measured_code(work.candidate, suite).sha256 != changed.sha256


def test_an_interpreter_that_is_a_script_is_part_of_its_code(suite: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "venv" / "bin" / "python"
    found = set()
    for more in ("", "export HELP=1\n"):
        written(wrapper, f'#!/bin/sh\n{more}exec {sys.executable} "$@"\n')
        wrapper.chmod(0o755)
        found.add(measured_code(guest(suite, MINE, python=str(wrapper)).candidate, suite).sha256)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("python", "why"), [("venv", "the absolute path"), ("/nowhere/venv", "no interpreter at")]
)
def test_an_interpreter_that_is_none_is_refused(suite: Path, python: str, why: str) -> None:
    work = guest(suite, MINE, python=python)
    with pytest.raises(Unrunnable, match=why):
        check_runnable(work.candidate, suite)


def test_a_module_is_looked_for_in_that_environment(suite: Path, tmp_path: Path) -> None:
    place = environment(tmp_path / "venv")
    check_runnable(guest(suite, MINE, python=str(place), entry="lamps:run").candidate, suite)
    with pytest.raises(Unrunnable, match="there is no module `pytest`"):
        check_runnable(guest(suite, MINE, python=str(place), entry="pytest:run").candidate, suite)
