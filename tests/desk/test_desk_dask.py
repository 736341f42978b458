"""Runs on the workers of a Dask cluster on this machine: what they make is what a run here makes,
also when one of them is killed (nightly: its workers are processes)."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied, make_template
from played_runs import made, order, runs, slots, until
from test_desk_shards import began, reports, still_clock  # noqa: F401

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

pytestmark = pytest.mark.slow
ATTEMPTS = 5


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers that are threads of this process."""
    with local_cluster(processes=False) as found:
        yield found


def local_cluster(**more: Any) -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, **more
    )


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("dask") / "empty")


@pytest.fixture(scope="module")
def here(empty: Path) -> Door:
    """The store of the run on this machine."""
    door = copied(empty, empty.parent / "here")
    made(door, order(attempts=ATTEMPTS))
    return door


def test_a_run_on_dask_reports_what_one_here_reports(
    empty: Path, here: Door, cluster: Any, tmp_path: Path
) -> None:
    there, address = copied(empty, tmp_path / "there"), cluster.scheduler_address
    there.ok("run", SUITE, V8, "--attempts", ATTEMPTS, "--executor", f"dask:{address}")
    same(there, here)
    assert [entry["executor"] for entry in began(there)] == ["dask"]
    assert address.encode() not in there.store.read_bytes()


@pytest.mark.nightly
def test_attempts_of_a_killed_worker_are_made_again_and_once(
    empty: Path, here: Door, tmp_path: Path
) -> None:
    there = copied(empty, tmp_path / "there")
    with local_cluster() as found, runs(there) as all_runs:
        on = f"dask:{found.scheduler_address}"
        handle = all_runs.start(order(attempts=ATTEMPTS, executor=on, jobs=4, pace=0.5))
        until(lambda: handle.view().done > 0, "the first attempt")
        os.kill(found.workers[0].pid, signal.SIGKILL)
        view = handle.wait(120)
    assert (view.state, view.done, view.problem) == ("done", 3 * ATTEMPTS, "")
    assert view.lost > 0
    same(there, here)


def same(there: Door, here: Door) -> None:
    assert sorted(slots(there)) == sorted(slots(here))
    assert reports(there) == reports(here)
    there.healthy()


def test_a_command_that_is_stopped_leaves_a_run_to_resume(
    empty: Path, cluster: Any, tmp_path: Path
) -> None:
    door = copied(empty, tmp_path / "stopped")
    on = f"dask:{cluster.scheduler_address}"
    with runs(door) as all_runs:
        handle = all_runs.start(order(attempts=ATTEMPTS, executor=on, jobs=2, pace=5.0))
        until(lambda: len(handle.view().running) == 2, "attempts that run")
        handle.abandon()
        view = handle.wait(60)
    assert view.state == "stopped"
    done = door.run("run", SUITE, V8, "--resume", "--executor", on)
    assert done.code == 0, done
    assert len(slots(door)) == 3 * ATTEMPTS


def test_dask_that_does_not_answer_is_said(empty: Path, tmp_path: Path) -> None:
    from reviewer.running.engines import on_dask

    door: Door = copied(empty, tmp_path / "nobody")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_dask, "CONNECT_S", 0.5)
        said = door.run("run", SUITE, V8, "--executor", "dask:tcp://127.0.0.1:9")
    assert said.code == 20
    assert "no scheduler with a worker answers within" in said.err
    assert "--executor dask starts workers on this machine" in said.err
    assert not door.store.exists()
