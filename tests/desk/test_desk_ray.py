"""Runs on a Ray of two workers on this machine, one of which is killed: what they make is what a
run here makes. Nightly: Ray takes seconds to start, and its package is large."""

import os
import signal
from pathlib import Path

import pytest
from doors import SUITE, V8, Door, copied, make_template
from played_runs import made, order, runs, until
from test_desk_dask import same
from test_desk_shards import began, still_clock  # noqa: F401

pytest.importorskip("ray", reason="the extra ray is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
ATTEMPTS = 5


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("ray") / "empty")


def crews(mark: str) -> list[int]:
    """Processes of crews that were started with this mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (
                b"CrewActor" in (place / "cmdline").read_bytes()
                and mark.encode() in (place / "environ").read_bytes()
            ):
                found.append(int(place.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds the workers in /proc")
def test_a_run_on_ray_reports_what_one_here_reports_also_when_a_worker_is_killed(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = copied(empty, tmp_path / "here"), copied(empty, tmp_path / "there")
    made(here, order(attempts=ATTEMPTS))
    mark = f"reviewer-test-{os.getpid()}"
    monkeypatch.setenv("REVIEWER_TEST_MARK", mark)
    with runs(there) as all_runs:
        handle = all_runs.start(
            order(attempts=ATTEMPTS, executor="ray", workers=2, jobs=4, pace=0.5)
        )
        until(lambda: handle.view().done > 0 and len(crews(mark)) == 2, "the first attempt")
        os.kill(crews(mark)[0], signal.SIGKILL)
        view = handle.wait(120)
    assert (view.state, view.done, view.problem) == ("done", 3 * ATTEMPTS, "")
    assert view.lost > 0
    same(there, here)
    assert [entry["executor"] for entry in began(there)] == ["ray"]
    until(lambda: not crews(mark), "the workers' end")


def test_ray_that_does_not_answer_is_said(empty: Path, tmp_path: Path) -> None:
    door: Door = copied(empty, tmp_path / "nobody")
    said = door.run("run", SUITE, V8, "--executor", "ray:127.0.0.1:9")
    assert said.code == 20
    assert "no Ray cluster answers" in said.err
    assert "--executor ray starts Ray on this machine" in said.err
    assert not door.store.exists()
