"""The interpreter of a Python candidate: reviewer's own, or the one that its manifest names, with
the distributions that are installed for it. None of its code is run here."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from reviewer.suite.candidate import Candidate


class NoInterpreter(Exception):
    """No interpreter can be used; the text says why, and the way out."""


def interpreter_of(candidate: Candidate) -> str:
    """Return the program that runs a Python candidate. Raises NoInterpreter."""
    named = candidate.runner.get("python")
    if named is None:
        return sys.executable
    place = Path(named)
    if not place.is_absolute() or "\0" in named:
        raise NoInterpreter("must be the absolute path of an interpreter or a virtual environment")
    if place.is_dir():
        place = place / "bin" / "python"
    if not place.is_file() or not os.access(place, os.X_OK):
        raise NoInterpreter(f"there is no interpreter at {place}: make the environment again")
    return str(place)


def home_of(candidate: Candidate) -> Path | None:
    """Return the folder of the environment that the manifest names, None where it names none."""
    named = candidate.runner.get("python")
    if named is None:
        return None
    place = Path(named)
    return place if place.is_dir() else place.parent.parent


def sites(home: Path) -> list[Path]:
    """Return the folders of packages that are installed in an environment."""
    return [path for path in sorted(home.glob("lib/python3*/*-packages")) if path.is_dir()]


def installed(candidate: Candidate, home: Path) -> Iterator[tuple[str, Path]]:
    """Yield, by name, the files that define what is installed in an environment: the record of each
    distribution, which has the digest of every file of it; added paths; modules beside them, one of
    which (`sitecustomize`) is run at every start; its Python version; and what is named as the
    interpreter, where that is a script."""
    if (home / "pyvenv.cfg").is_file():
        yield "python/pyvenv.cfg", home / "pyvenv.cfg"
    for site in sites(home):
        records = [*site.glob("*.dist-info/RECORD"), *site.glob("*.pth"), *site.glob("*.py")]
        for path in sorted(records):
            yield f"python/{path.relative_to(site).as_posix()}", path
    try:
        program = Path(interpreter_of(candidate))
        with program.open("rb") as handle:
            is_script = handle.read(2) == b"#!"
    except (NoInterpreter, OSError):
        return
    if is_script:
        yield "python/interpreter", program
