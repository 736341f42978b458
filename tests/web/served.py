"""`reviewer serve` as a person starts it, and what is asked of it."""

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from doors import Door

PATIENCE = 60.0


class Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    body: str


class Served:
    """A server at work: its `address`, and its process."""

    def __init__(self, process: "subprocess.Popen[bytes]", address: str) -> None:
        self.process, self.address = process, address
        parts = urlsplit(address)
        self.host, self.port, self.path = parts.hostname or "", parts.port or 0, parts.path

    def get(self, path: str, **headers: str) -> Answer:
        """A request for a path below the address, with these headers (`_` for `-`)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET", path, headers=named)
            told = connection.getresponse()
            return Answer(
                told.status, dict(told.getheaders()), told.read().decode("utf-8", "replace")
            )
        finally:
            connection.close()

    def programs(self) -> list[int]:
        """The processes behind its pages."""
        told = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True)
        pairs = (map(int, line.split()) for line in told.stdout.splitlines())
        return [pid for pid, parent in pairs if parent == self.process.pid]

    def until_programs(self, count: int) -> list[int]:
        end = time.monotonic() + PATIENCE
        while len(found := self.programs()) != count:
            assert time.monotonic() < end, f"{found} and not {count}"
            time.sleep(0.05)
        return found

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """Exit code, stdout and stderr, once it has ended by itself."""
        os.kill(self.process.pid, number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.decode(), err.decode()


@contextmanager
def served(door: Door, *options: object) -> Iterator[Served]:
    process = door.start("serve", *options)
    try:
        assert process.stdout is not None
        yield Served(process, process.stdout.readline().decode().strip())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pids: list[int]) -> bool:
    """Whether all of these end by themselves."""
    end = time.monotonic() + PATIENCE
    while any(alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
