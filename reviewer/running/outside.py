"""The code of a program that lies outside the suite's `candidates/`: what its manifest names there.

Other files that a program reads outside (the system, packages installed for its interpreter, paths
constructed by its own code) are not searched.
"""

import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.interpreter import home_of, installed, sites
from reviewer.suite.candidate import Candidate

LOADED_FROM = (
    *("PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CLASSPATH"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONSTARTUP", "BASH_ENV", "NODE_OPTIONS"),
)
"""Variables by which a manifest can make its program load code from elsewhere."""


class Outside(NamedTuple):
    """A file or a folder outside `candidates/`, by the name that it has among the code. For an
    `installed` package the caches are its interpreter's."""

    name: str
    place: Path
    installed: bool = False


def outside(candidate: Candidate, base: Path) -> Iterator[Outside]:
    """Yield the paths outside `base` that the manifest names, all of which exist: an installed
    module, and what is installed beside it for an interpreter of its own; arguments with an
    absolute path, and the folder of the first, since it is the script; the folder of a script that
    is a link out of `base`, from which its interpreter imports; the places in the variables that
    name code; and a program that runs nothing of the suite."""
    runner = candidate.runner
    if runner.get("kind") == "python":
        home, entry = home_of(candidate), str(runner.get("entry") or "")
        yield from _installed(entry.partition(":")[0], base, search_path(candidate))
        if home is not None:
            yield from (Outside(name, place) for name, place in installed(candidate, home))
        return
    command = [str(word) for word in runner.get("command") or () if "\0" not in str(word)]
    arguments = command[1:]
    scripts = [word for word in arguments if word.startswith(("./", "/"))]
    loose = True
    for word in scripts:
        script = loose and not _starts_with(base / word, b"\x7fELF")
        loose = loose and not script
        yield from _argument(word, base, script)
    if command:
        yield from _program(command[0], base, alone=not scripts)
    for name in runner.get("environment") or ():
        if name in LOADED_FROM:
            yield from _paths(os.environ.get(name, ""))


def _argument(word: str, base: Path, script: bool) -> Iterator[Outside]:
    place = Path(word) if word.startswith("/") else base / word
    real = Path(os.path.realpath(place))
    if real.is_relative_to(os.path.realpath(base)):
        return
    if os.path.isfile(place):
        if word.startswith("/"):
            yield Outside(word, place)
        if script:
            yield Outside(str(real.parent), real.parent)
    elif script and os.path.isdir(place):
        yield Outside(str(real), real)


def _program(program: str, base: Path, alone: bool) -> Iterator[Outside]:
    """Yield the program when nothing else runs, and the folder of a program that is a script."""
    from reviewer.running.sandbox.room import found

    if "/" in program and not program.startswith("/"):
        real = Path(os.path.realpath(base / program))
        if not real.is_relative_to(os.path.realpath(base)) and _starts_with(real, b"#!"):
            yield Outside(str(real.parent), real.parent)
        return
    place = program if program.startswith("/") else found(program)
    if alone and place is not None and os.path.isfile(place):
        yield Outside(place, Path(place))


def _starts_with(place: Path, mark: bytes) -> bool:
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(len(mark)) == mark
    except (OSError, ValueError):
        return False


def _paths(value: str) -> Iterator[Outside]:
    for word in value.replace(" ", os.pathsep).split(os.pathsep):
        if word.startswith("/") and os.path.exists(word):
            yield Outside(word, Path(word))


def _installed(module: str, base: Path, search: Sequence[str]) -> Iterator[Outside]:
    """Yield the package of an entry that is not in `candidates/`."""
    top = module.partition(".")[0]
    if not top or (base / top).exists() or (base / f"{top}.py").exists():
        return
    spec: Any = importlib.machinery.PathFinder.find_spec(top, search)
    if spec is None:
        return
    if spec.submodule_search_locations:
        for place in spec.submodule_search_locations:
            root = Path(os.path.abspath(place))
            yield Outside(f"installed/{root.name}", root, True)
    elif spec.origin and os.path.isfile(spec.origin):
        yield Outside(f"installed/{os.path.basename(spec.origin)}", Path(spec.origin), True)


def search_path(candidate: Candidate) -> Sequence[str]:
    """Return the folders from which an installed module of a Python candidate is imported."""
    home = home_of(candidate)
    return [part for part in sys.path if part] if home is None else [str(x) for x in sites(home)]
