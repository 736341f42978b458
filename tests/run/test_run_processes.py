"""Worker processes: what is lost with one is run again, and none outlives its parent."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import run_fakes
from doors import environment
from msgspec.structs import replace
from run_fakes import tasks
from test_run_engine import Heard

from reviewer.running.engine import MOST_AGAIN, Control, carry_out
from reviewer.running.executors import ProcessExecutor
from reviewer.running.model import Approval, ApprovalRequest, Unrunnable
from reviewer.running.worker import Attempt

pytestmark = pytest.mark.slow


async def carried(
    count: int, attempt: Attempt, folder: Path, workers: int = 2, jobs: int = 4
) -> Heard:
    heard = Heard()
    executor = ProcessExecutor(workers, jobs, attempt=attempt)
    async with asyncio.timeout(60):
        await carry_out(tasks(count, folder=str(folder)), executor, Control(), heard.events)
    return heard


async def test_attempts_are_spread_over_processes(tmp_path: Path) -> None:
    heard = await carried(12, run_fakes.at_once, tmp_path)
    assert sorted(heard.ended) == list(range(1, 13))
    pids = {json.loads(finished.raw)["pid"] for finished in heard.finished}
    assert len(pids) == 2
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_what_a_killed_worker_ran_is_run_again_by_a_new_one(tmp_path: Path) -> None:
    heard = await carried(6, run_fakes.killed_at_first, tmp_path, workers=1, jobs=2)
    assert sorted(heard.ended) == [1, 2, 3, 4, 5, 6]
    assert 2 in heard.lost
    assert all("termination" not in json.loads(finished.raw) for finished in heard.finished)


async def test_an_attempt_that_kills_every_worker_ends_as_infrastructure(tmp_path: Path) -> None:
    heard = await carried(2, run_fakes.always_killed, tmp_path, workers=1, jobs=1)
    assert heard.lost == [1] * (MOST_AGAIN + 1)
    made = {f.slot.attempt: json.loads(f.raw) for f in heard.finished}
    assert made[1]["termination"] == "infrastructure_error"
    assert "signal 9" in made[1]["events"][0]["message"]
    assert "pid" in made[2]


async def test_an_abandoned_worker_lets_its_environments_go(tmp_path: Path) -> None:
    heard, control = Heard(), Control()
    executor = ProcessExecutor(1, 2, attempt=run_fakes.for_ever)
    run = asyncio.create_task(
        carry_out(tasks(2, folder=str(tmp_path)), executor, control, heard.events)
    )
    async with asyncio.timeout(60):
        while len(list(tmp_path.glob("pid-*"))) < 2:
            await asyncio.sleep(0.02)
        control.abandon()
        await run
    assert len(list(tmp_path.glob("gone-*"))) == 2
    assert heard.ended == []


async def test_what_had_acted_in_an_abandoned_worker_is_told(tmp_path: Path) -> None:
    heard, control = Heard(), Control()
    executor = ProcessExecutor(1, 2, attempt=run_fakes.seen_acting_for_ever)
    run = asyncio.create_task(
        carry_out(tasks(2, folder=str(tmp_path)), executor, control, heard.events)
    )
    async with asyncio.timeout(60):
        while len(list(tmp_path.glob("acting-*"))) < 2:
            await asyncio.sleep(0.02)
        control.abandon()
        await run
    assert sorted((one.slot.attempt, one.cut) for one in heard.finished) == [(1, True), (2, True)]


async def test_a_worker_asks_its_parent(tmp_path: Path) -> None:
    class Person:
        async def ask(self, request: ApprovalRequest) -> Approval:
            return Approval(request.arguments["n"] == 2, "person")

    heard = Heard()
    executor = ProcessExecutor(1, 3, Person(), run_fakes.asking)
    async with asyncio.timeout(60):
        await carry_out(tasks(3), executor, Control(), heard.events)
    said = {f.slot.attempt: json.loads(f.raw) for f in heard.finished}
    assert [(said[n]["granted"], said[n]["by"]) for n in (1, 2, 3)] == [
        (False, "person"), (True, "person"), (False, "person"),
    ]  # fmt: skip


async def test_what_cannot_be_run_is_said_by_the_parent(tmp_path: Path) -> None:
    with pytest.raises(Unrunnable, match="OPENAI_API_KEY"):
        await carried(4, run_fakes.unrunnable, tmp_path, workers=1, jobs=1)


PARENT = """
import asyncio, sys
sys.path[:0] = {path!r}
import run_fakes
from reviewer.running.executors import ProcessExecutor
async def main():
    executor = ProcessExecutor(1, 1, attempt=run_fakes.for_ever)
    executor.submit_many([run_fakes.task(1, folder={folder!r})])
    await executor.collect()
asyncio.run(main())
"""


def test_a_killed_parent_takes_its_workers_with_it(tmp_path: Path) -> None:
    here = Path(__file__).parent
    path = [str(here), str(here.parent)]
    script = PARENT.format(path=path, folder=str(tmp_path))
    parent = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(PYTHONPATH=":".join([*path, *sys.path]))
    )
    try:
        until = time.monotonic() + 60
        told = ""  # a file is there before what is written into it
        while not told and time.monotonic() < until:
            time.sleep(0.02)
            told = "".join(one.read_text() for one in tmp_path.glob("pid-*"))
        pid = int(told)
        assert pid != parent.pid
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(pid)
    assert (tmp_path / "gone-1").exists()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_worker_runs_each_attempt_as_it_was_ordered(tmp_path: Path) -> None:
    """A worker is sent an episode once; a task that differs in anything else is sent whole."""
    first, second = tasks(2, folder=str(tmp_path))
    heard = Heard()
    ordered = [first, replace(second, seed=7), replace(first, slot=second.slot._replace(attempt=3))]
    async with asyncio.timeout(60):
        executor = ProcessExecutor(1, 1, attempt=run_fakes.seed_of)
        await carry_out(ordered, executor, Control(), heard.events)
    seeds = {f.slot.attempt: json.loads(f.raw)["seed"] for f in heard.finished}
    assert seeds == {1: 0, 2: 7, 3: 0}
