"""The protection of child processes on this machine: the file system they see, bubblewrap, limits.

Detected once, and described in one sentence.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from reviewer.resources import data_folder
from reviewer.running.sandbox.fence import child_filter, filters_here
from reviewer.running.sandbox.keeper import (
    LANDLOCK_OLDEST,
    LANDLOCK_SEES_TCP,
    landlock_version,
)

SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials"),
    *(".npmrc", ".pypirc", ".vault-token", ".password-store", ".config/gcloud", ".config/gh"),
    *(".config/op", ".local/share/keyrings", ".bash_history", ".zsh_history"),
    *(".python_history", ".psql_history", ".node_repl_history", ".pgpass", ".my.cnf", ".s3cfg"),
    *(".config/rclone", ".config/github-copilot", ".cargo/credentials.toml", ".kaggle"),
    *(".terraform.d/credentials.tfrc.json", ".cache/huggingface/token", ".mozilla"),
    *(".config/google-chrome", ".config/chromium", "Library/Keychains"),
    # Agents: logins, and sessions with their conversations; their programs stay readable.
    *(".claude.json", ".claude/.credentials.json", ".claude/projects", ".claude/history.jsonl"),
    *(".codex/auth.json", ".codex/sessions", ".codex/archived_sessions", ".codex/history.jsonl"),
    *(".gemini/oauth_creds.json", ".gemini/tmp", ".local/share/opencode", ".cline/data"),
    *(".pi/agent/auth.json", ".pi/agent/sessions", ".local/share/goose", ".config/goose"),
)
"""Below the home folder: common places of keys, passwords and conversations with agents."""

SHARED = ("/tmp", "/run", "/dev/shm")
"""Folders through which processes meet; /run has the sockets of the machine's services."""

RESOLVER = "/run/systemd/resolve"
"""The folder into which /etc/resolv.conf is often a link."""


class Places(NamedTuple):
    """Absolute paths without links, all of which exist.

    `shared` folders are empty for the child except for `kept`; `hidden` ones are empty wherever
    they are, except for `opened`, of which `closed` places cannot be read.
    """

    shared: tuple[str, ...]
    kept: tuple[str, ...]
    hidden: tuple[str, ...]
    opened: tuple[str, ...]
    closed: tuple[str, ...] = ()


def places_for(
    suite: Path,
    program: Path,
    opened: Iterable[Path],
    network: bool,
    closed: Iterable[Path] = (),
) -> Places:
    """Return the places for a child that works on `suite`: it may see `opened` without `closed`,
    not the rest of the workspace."""
    shared = _there((*SHARED, tempfile.gettempdir()))
    wanted: list[str | Path] = [sys.prefix, sys.base_prefix]
    if network:
        wanted.append(RESOLVER)
    beside = program.resolve().parent
    wanted.append(program if str(beside) in shared else beside)
    environment = program.parent.parent  # of an interpreter that is a link out of it
    if (environment / "pyvenv.cfg").is_file() and os.path.realpath(environment) not in shared:
        wanted.append(environment)
    hidden = _there(_secret(suite.resolve()))
    kept = [
        path
        for path in _there(wanted)
        if any(_within(path, place) for place in shared)
        and not any(_within(path, place) for place in hidden)
    ]
    return Places(shared, tuple(kept), hidden, _there(opened), _there(closed))


def _secret(suite: Path) -> list[str | Path]:
    """Return the workspace's suites and store (a suite elsewhere: itself), the shipped data, and
    the home folder's secrets."""
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


BUBBLEWRAP_HOME = "/tmp/room"
"""The child's folder, in memory: the same path in every attempt, and gone with the child."""

BUBBLEWRAP_SIZE = 1024**3
"""Most bytes in a child's folder."""

_PROBE_S = 10


def bubblewrap_usable() -> tuple[tuple[str, ...], str]:
    """Return the start of a command line that works on this machine, or () and why there is
    none."""
    program = shutil.which("bwrap")
    if program is None:
        return (), "it is not installed"
    why = ""
    nothing = Places(("/tmp", "/run"), (), (), ())
    for size in (
        ("--size", str(BUBBLEWRAP_SIZE)),
        (),
    ):  # older releases cannot limit a folder in memory
        start = (program, *size)
        command = bubblewrap_command(start, nothing, ["/bin/sh", "-c", "exit 0"], network=False)
        try:
            tried = subprocess.run(
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_PROBE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return (), f"it cannot be started ({type(error).__name__})"
        if tried.returncode == 0:
            return start, ""
        why = tried.stderr.decode(errors="replace").strip().removeprefix("bwrap: ")
    return (), f"it is not allowed to work here ({why[:200]})"


def bubblewrap_command(
    start: Sequence[str], places: Places, argv: Sequence[str], network: bool
) -> list[str]:
    """Return the command line that runs `argv` inside bubblewrap. `start` is the result of
    `bubblewrap_usable`."""
    program, *size = start
    words = [program, "--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent"]
    if network:
        words.append("--share-net")
    words += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    words += [*size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    shared = [path for path in places.shared if path != "/dev/shm"]
    for path in shared:
        words += [*size, "--tmpfs", path]
    for path in places.kept:
        words += ["--ro-bind", path, path]
    for path in places.hidden:
        words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]
    for path in places.opened:
        words += ["--ro-bind", path, path]
    for path in places.closed:
        words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]
    words += ["--perms", "0700", "--dir", BUBBLEWRAP_HOME, "--chdir", BUBBLEWRAP_HOME]
    for path in (*places.hidden, *places.closed, *shared):
        if path != "/tmp" and os.path.isdir(path):
            words += ["--remount-ro", path]
    return [*words, "--", *argv]


LIMITS = {
    "CORE": 0,
    "CPU": 4 * 3600,
    "DATA": 8 * 1024**3,
    "FSIZE": 1024**3,
    "NOFILE": 4096,
}
"""Per process: seconds, bytes, bytes, files. Far beyond what an honest child needs."""

MORE_PROCESSES = 4096
"""Processes and threads that may be added to the running ones (the kernel does not count a
superuser's)."""


class Protection(NamedTuple):
    """`bubblewrap` is the start of its command line; `landlock` the kernel's version; `why_not`
    says why a better kind is not available. `filtered` is whether a seccomp filter refuses
    sockets."""

    kind: Literal["bubblewrap", "landlock", "none"]
    bubblewrap: tuple[str, ...] = ()
    landlock: int = 0
    why_not: str = ""
    filtered: bool = False

    @property
    def fenced(self) -> bool:
        """Return whether a child can reach no process outside, including ssh-agent: nothing is
        signed in a workspace while a child that could runs in it."""
        return self.filtered and self.kind != "none"

    def filter_for(self, network: bool) -> bytes:
        """Return the seccomp program for a child, b"" where there is none. In bubblewrap TCP and
        UDP belong to its own network, which leads nowhere unless it is granted."""
        if not self.filtered:
            return b""
        return child_filter(network or self.kind != "landlock", self.kind == "landlock")


@cache
def protection() -> Protection:
    """Return the best protection available here. Starts a process the first time."""
    start, why = bubblewrap_usable()
    filtered = filters_here()
    if start:
        return Protection("bubblewrap", start, filtered=filtered)
    known = landlock_version()
    why = f"bubblewrap: {why}"
    if known >= LANDLOCK_OLDEST:
        return Protection("landlock", landlock=known, why_not=why, filtered=filtered)
    return Protection("none", why_not=why, filtered=filtered)


def describe(held: Protection | None = None) -> str:
    """Return a sentence on the protections in force for commands, Python candidates and
    toolkits."""
    held = held or protection()
    sockets = (
        "no Unix socket (ssh-agent, D-Bus, services of this machine)"
        if held.filtered
        else "sockets of local services can be reached, so nothing is signed in a workspace while "
        "a program runs in it"
    )
    if held.kind == "bubblewrap":
        room = f"of {BUBBLEWRAP_SIZE // 1024**3} GiB " if "--size" in held.bubblewrap else ""
        return (
            f"bubblewrap: each child sees the file system read-only without suites, store, /tmp "
            f"and common secrets, writes to a folder in memory {room}only, has processes of its "
            f"own and no network unless manifest and run both grant it; {sockets}; limits on CPU "
            "time, memory, file size and open files"
        )
    if held.kind == "landlock":
        network = "no network unless manifest and run both grant it"
        if not held.filtered:
            network = "TCP is refused unless manifest and run both grant it, other network is not"
            if held.landlock < LANDLOCK_SEES_TCP:
                network = "the network is not cut off"
        return (
            "Landlock: each child reads neither suites, store, /tmp nor common secrets and writes "
            f"to a folder of its own only; {network}; {sockets}; limits on CPU time, memory, file "
            f"size and open files ({held.why_not})"
        )
    return (
        "no isolation: each child has a folder, an environment and limits of its own and is ended "
        "whole as far as it can be found, but can read the suite's expectations, write wherever "
        "you can and reach the network; nothing is signed in a workspace while a program runs in "
        f"it ({held.why_not})"
    )
