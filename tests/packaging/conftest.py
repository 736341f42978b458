"""A wheel built once, a clean environment made once, a demo workspace: shared by all workers."""

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging_commands import ran


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One worker at a time, across processes."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """`once(name, make)`: a folder that `make` fills in one worker and all workers read."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], None]) -> Path:
        folder, done = shared / name, shared / f"{name}.done"
        with _alone(shared / f"{name}.lock"):
            if not done.exists():
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def built(once: Callable[[str, Callable[[Path], None]], Path], repository: Path) -> Path:
    """The folder with the sdist and, built from the unpacked sdist, the wheel."""

    def make(folder: Path) -> None:
        # -P: a `build/` folder of an older build must not stand in for the build tool.
        ran(
            sys.executable, "-P", "-m", "build", "--no-isolation", "-o", folder, repository,
            cwd=folder,
        )  # fmt: skip

    return once("built", make)


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def clean(once: Callable[[str, Callable[[Path], None]], Path], wheel: Path) -> Path:
    """The bin folder of a new environment: the wheel, and its dependencies from the index."""

    def make(folder: Path) -> None:
        ran(sys.executable, "-m", "venv", folder / "env", cwd=folder)
        # The few modules that these tests import are compiled when they are first imported.
        install = ("install", "-q", "--no-compile", wheel)
        ran(folder / "env/bin/python", "-m", "pip", *install, cwd=folder)

    return once("clean", make) / "env" / "bin"


@pytest.fixture(scope="session")
def demo(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A workspace with the example suite and both candidates' traces in its store."""

    def make(folder: Path) -> None:
        keep = ("demo", "--headless", "--keep", folder / "workspace")
        ran(sys.executable, "-P", "-m", "reviewer", *keep, cwd=folder)

    return once("demo", make) / "workspace"
