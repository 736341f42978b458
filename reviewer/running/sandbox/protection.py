"""What holds a child on this machine: found out once, and said in one sentence."""

from functools import cache
from typing import Literal, NamedTuple

from reviewer.running.sandbox import bubblewrap, landlock

LIMITS = {
    "CORE": 0,
    "CPU": 4 * 3600,
    "DATA": 8 * 1024**3,
    "FSIZE": 1024**3,
    "NOFILE": 4096,
}
"""Per process: seconds, bytes, bytes, files. Far beyond what an honest child needs."""

MORE_PROCESSES = 4096
"""How many processes and threads may come to those that run already (a superuser's are not
counted by the kernel)."""


class Protection(NamedTuple):
    """`bubblewrap` is the start of its command line; `landlock` the kernel's version; `why_not`
    says why a better kind is not in force."""

    kind: Literal["bubblewrap", "landlock", "none"]
    bubblewrap: tuple[str, ...] = ()
    landlock: int = 0
    why_not: str = ""


@cache
def protection() -> Protection:
    """The best there is here. Starts a process the first time."""
    start, why = bubblewrap.usable()
    if start:
        return Protection("bubblewrap", start)
    known = landlock.version()
    why = f"bubblewrap: {why}"
    if known >= landlock.OLDEST:
        return Protection("landlock", landlock=known, why_not=why)
    return Protection("none", why_not=why)


def describe(held: Protection | None = None) -> str:
    """Which protections are in force for commands, Python candidates and toolkits: a sentence."""
    held = held or protection()
    if held.kind == "bubblewrap":
        room = f"of {bubblewrap.SIZE // 1024**3} GiB " if "--size" in held.bubblewrap else ""
        return (
            f"bubblewrap: each child sees the file system read-only without suites, store, /tmp "
            f"and common secrets, writes to a folder in memory {room}only, has processes of its "
            "own and no network unless manifest and run both grant it; limits on CPU time, "
            "memory, file size and open files"
        )
    if held.kind == "landlock":
        tcp = "TCP is refused unless manifest and run both grant it, other network is not"
        if held.landlock < landlock.SEES_TCP:
            tcp = "the network is not cut off"
        return (
            "Landlock: each child reads neither suites, store, /tmp nor common secrets and writes "
            f"to a folder of its own only; {tcp}, and sockets of local services can be reached; "
            f"limits on CPU time, memory, file size and open files ({held.why_not})"
        )
    return (
        "no isolation: each child has a folder, an environment and limits of its own and is ended "
        "whole as far as it can be found, but can read the suite's expectations, write wherever "
        f"you can and reach the network ({held.why_not})"
    )
