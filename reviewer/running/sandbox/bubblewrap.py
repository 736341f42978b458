"""Bubblewrap (`bwrap`): a child in namespaces of its own, where the kernel lets us make them."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from reviewer.running.sandbox.places import Places

HOME = "/tmp/room"
"""The child's folder, in memory: the same path in every attempt, and gone with the child."""

SIZE = 1024**3
"""Bytes that a child may keep in its folder."""

_PROBE_S = 10


def usable() -> tuple[tuple[str, ...], str]:
    """The start of a command line that works here, or () and why there is none."""
    program = shutil.which("bwrap")
    if program is None:
        return (), "it is not installed"
    why = ""
    nothing = Places(("/tmp", "/run"), (), (), ())
    for size in (("--size", str(SIZE)), ()):  # older releases cannot limit a folder in memory
        start = (program, *size)
        command = command_line(start, nothing, ["/bin/sh", "-c", "exit 0"], network=False)
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


def command_line(
    start: Sequence[str], places: Places, argv: Sequence[str], network: bool
) -> list[str]:
    """`argv` inside bubblewrap. `start` is what `usable` gave."""
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
    words += ["--perms", "0700", "--dir", HOME, "--chdir", HOME]
    for path in (*places.hidden, *shared):
        if path != "/tmp" and os.path.isdir(path):
            words += ["--remount-ro", path]
    return [*words, "--", *argv]
