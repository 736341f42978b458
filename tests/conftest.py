"""What every test shares: property tests that are never timed, and more of them by night."""

import contextlib
import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SHIPPED, Door, copied, make_template
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

REPOSITORY = Path(__file__).resolve().parent.parent

# A slow machine is not a wrong answer: neither an example nor its making is ever timed.
settings.register_profile(
    "day", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", parent=settings.get_profile("day"), max_examples=5)
settings.register_profile("night", parent=settings.get_profile("day"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "day"))
if settings.default is not None and settings.default.max_examples < 1_000:
    # Hypothesis parses every module of ours for constants to try, 5 CPU seconds in each worker, for
    # one value in forty of few examples. Where it cannot be told not to, it does so.
    providers.is_local_module_file = lambda path: False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests that
    # press Ctrl-C in this process or in a child would wait forever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


gc.disable()  # until everything is collected: there is nothing yet that could be garbage


IN_MEMORY, NEEDED = Path("/dev/shm"), 8 << 30
"""Where the tests' folders are made if that many bytes are free there: a quarter of the time of the
suite on a disk is waiting until it has written what the store makes durable."""


@pytest.hookimpl(tryfirst=True)  # before pytest itself chooses a folder
def pytest_configure(config: pytest.Config) -> None:
    if config.option.basetemp or hasattr(config, "workerinput") or not _roomy():
        return
    for left in IN_MEMORY.glob("reviewer-tests-*"):  # by a run that was killed
        if not Path("/proc", left.name.split("-")[2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"reviewer-tests-{os.getpid()}-", dir=IN_MEMORY))
    config.option.basetemp = made / "tests"
    config.add_cleanup(lambda: shutil.rmtree(made, ignore_errors=True))


def _roomy() -> bool:
    """Return whether there is a file system in memory with room for every test's files."""
    try:
        free = shutil.disk_usage(IN_MEMORY).free
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        return min(free, int(told.split("MemAvailable:")[1].split()[0]) << 10) >= NEEDED
    except (OSError, LookupError):
        return False


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three more than there are processors: tests of screens wait for half of their time until a
    screen rests, and with two more a tenth of what two processors could do was left."""
    return (os.cpu_count() or 1) + 3


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each worker an equal part of the slow tests, then of those that wait for screens and
    other processes, then of the others: all workers but one would wait for a slow test that began
    last, and processors have nothing to do where only tests that wait are left."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    kinds: tuple[list[pytest.Item], ...] = ([], [], [])
    for item in items:
        waits = item.path.parent.name in WAITING
        slow = item.get_closest_marker("slow") is not None
        kinds[0 if slow else 1 if waits else 2].append(item)
    items[:] = [
        item
        for n in range(count)
        for kind in kinds
        for item in kind[n * len(kind) // count : (n + 1) * len(kind) // count]
    ]


WAITING = ("tui", "web", "run", "faults")


def pytest_collection_finish() -> None:
    """Collect garbage of the tests alone, and less often.

    13,000 collected items are walked by each full collection, and a screen makes so many objects
    that looking for garbage took a quarter of the time of its tests.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Share among the workers what pytest makes of each test module when it is first imported.

    All of them import every module, and in a new checkout each would rewrite every assertion: four
    fifths of what collecting costs. So each imports a share first and leaves it compiled.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    places = [session.config.rootpath / arg for arg in session.config.args if "::" not in arg]
    files = sorted(file for place in places for file in place.rglob("test_*.py"))
    if count == 1 or len(files) < 10 * count or sys.dont_write_bytecode:
        return
    mine = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) % count
    for file in files[mine::count]:
        if (file.parent / "__init__.py").exists():
            continue
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        with contextlib.suppress(Exception, pytest.skip.Exception):  # which collecting will tell
            importlib.import_module(file.stem)


@pytest.fixture(autouse=True, scope="session")
def _nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the person who runs the tests has set for the workstation is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable.lower())))
        patch.delenv("REVIEWER_SETTINGS", raising=False)
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout the tests stand in."""
    return REPOSITORY


@pytest.fixture(scope="session")
def empty_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("empty") / "desk")


@pytest.fixture(scope="session")
def full_template(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    door = copied(empty_template, tmp_path_factory.mktemp("full") / "desk")
    door.ok("import", SHIPPED / "traces")
    return door.root


@pytest.fixture
def door(tmp_path: Path, empty_template: Path) -> Door:
    """A workspace with the shipped suite and nothing imported."""
    return copied(empty_template, tmp_path / "desk")


@pytest.fixture
def full(tmp_path: Path, full_template: Path) -> Door:
    """A workspace with v7 and v8 imported."""
    return copied(full_template, tmp_path / "full")
