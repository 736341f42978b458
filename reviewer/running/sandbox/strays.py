"""Processes that got away from their keeper, found by what they carry."""

import contextlib
import os
import signal
import sys
import time

_PATIENCE_S = 2.0


def kill_strays(home: str) -> None:
    """Kills every process of ours that was started with `home` as its HOME, or stands in it.

    One that changed both its environment's memory and its folder is not found; only Linux tells.
    """
    until = time.monotonic() + _PATIENCE_S
    while (found := strays(home)) and time.monotonic() < until:
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)


def strays(home: str) -> list[int]:
    """Process ids, without our own and without those that only wait to be reaped."""
    if sys.platform != "linux":
        return []
    mark = f"HOME={home}".encode()
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [n for n in numbers if n != os.getpid() and _carries(n, mark, home)]


def _carries(process: int, mark: bytes, home: str) -> bool:
    try:
        with open(f"/proc/{process}/environ", "rb") as environment:
            if mark in environment.read().split(b"\0"):
                return True
        return (os.readlink(f"/proc/{process}/cwd") + "/").startswith(home + "/")
    except OSError:
        return False
