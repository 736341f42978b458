"""What of the file system a child sees: nearly all of it to read, but no expectation, no evidence,
no secret of the person who runs it."""

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from reviewer.resources import data_folder

SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials"),
    *(".npmrc", ".pypirc", ".vault-token", ".password-store", ".config/gcloud", ".config/gh"),
    *(".config/op", ".local/share/keyrings", ".bash_history", ".zsh_history"),
)
"""Below the home folder: where keys and passwords commonly lie."""

SHARED = ("/tmp", "/run", "/dev/shm")
"""Folders through which processes meet; /run holds the sockets of the machine's services."""

RESOLVER = "/run/systemd/resolve"
"""What /etc/resolv.conf is often a link into."""


class Places(NamedTuple):
    """Absolute paths without links, all of them there.

    `shared` folders are empty for the child but for `kept`; `hidden` ones are empty wherever they
    lie, but for `opened`.
    """

    shared: tuple[str, ...]
    kept: tuple[str, ...]
    hidden: tuple[str, ...]
    opened: tuple[str, ...]


def places_for(suite: Path, program: Path, opened: Iterable[Path], network: bool) -> Places:
    """For a child that works on `suite`: it may see `opened`, not the rest of the workspace."""
    shared = _there((*SHARED, tempfile.gettempdir()))
    wanted: list[str | Path] = [sys.prefix, sys.base_prefix]
    if network:
        wanted.append(RESOLVER)
    beside = program.resolve().parent
    wanted.append(program if str(beside) in shared else beside)
    kept = [path for path in _there(wanted) if any(_within(path, place) for place in shared)]
    return Places(shared, tuple(kept), _there(_secret(suite.resolve())), _there(opened))


def _secret(suite: Path) -> list[str | Path]:
    """The workspace's suites and store (a suite elsewhere: itself), the shipped data, the home's
    secrets."""
    found: list[str | Path] = [suite]
    if suite.parent.name == "suites":
        found = [suite.parent, suite.parent.parent / "store"]
    for name in ("suites", "store"):
        try:
            found.append(data_folder(name))
        except FileNotFoundError:
            continue
    home = os.path.expanduser("~")
    return [*found, *(os.path.join(home, name) for name in SECRETS)]


def _there(paths: Iterable[str | Path]) -> tuple[str, ...]:
    resolved = (os.path.realpath(path) for path in paths)
    return tuple(dict.fromkeys(path for path in resolved if os.path.exists(path)))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
