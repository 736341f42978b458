"""Programs started where reaching the network is an error that is written down."""

import os
from pathlib import Path

from doors import REPOSITORY

HOOK = """
import os, socket, sys

def _forbid(event, values):
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"}:
        if values[0].family == socket.AF_UNIX:
            return
    elif event not in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        return
    with open(os.environ["REVIEWER_TEST_REACHED"], "a") as told:
        told.write(f"{event} {values[1:]!r}\\n")
    raise RuntimeError(f"{event}: the network is forbidden here")

sys.addaudithook(_forbid)
with open(os.environ["REVIEWER_TEST_REACHED"] + ".hooked", "a") as told:
    told.write(f"{os.getpid()}\\n")
"""
"""Run by `site` in every Python process before anything else."""


class Forbidden:
    """An environment for child processes, and what they reached for in it."""

    def __init__(self, folder: Path) -> None:
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(HOOK)
        self._told = folder / "reached"
        self.environment = {
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "PYTHONPATH": f"{folder / 'hook'}{os.pathsep}{REPOSITORY}",
            "REVIEWER_TEST_REACHED": str(self._told),
        }

    @property
    def reached(self) -> str:
        return self._told.read_text() if self._told.exists() else ""

    @property
    def hooked(self) -> int:
        """How many processes ran under the hook by now."""
        told = Path(f"{self._told}.hooked")
        return len(told.read_text().splitlines()) if told.exists() else 0
