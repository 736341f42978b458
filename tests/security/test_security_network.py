"""Nothing reaches the network but what is asked to: a judge, an endpoint, `serve`."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from doors import PROGRAM, REPOSITORY, SUITE, V8, Door, Said, copied
from forbidden import Forbidden
from people import key_file

TAU_BENCH = REPOSITORY / "tests" / "data" / "tau_bench" / "gpt-4o-airline-excerpt.json"


@pytest.fixture
def guarded(tmp_path: Path) -> Forbidden:
    return Forbidden(tmp_path)


def ran(guarded: Forbidden, *argv: object, **options: Any) -> Said:
    done = subprocess.run(
        [*PROGRAM, *map(str, argv)],
        env=guarded.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        **options,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_hook_sees_what_it_forbids(guarded: Forbidden) -> None:
    for attempt in (
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.getaddrinfo('example.com', 80)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
        "__import__('httpx').get('http://127.0.0.1:9/')",
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-c", f"import socket; {attempt}"],
            env=guarded.environment,
            capture_output=True,
        )
        assert b"the network is forbidden here" in done.stderr, attempt
    assert len(guarded.reached.splitlines()) == 4
    assert guarded.hooked == 4


def test_from_the_demo_to_a_verified_decision(guarded: Forbidden, tmp_path: Path) -> None:
    desk, out = tmp_path / "desk", tmp_path / "out"
    key = key_file(tmp_path, "robin")
    here = ("--workspace", desk)
    release = ("--suite", SUITE, "--candidate", V8)
    manifest = desk / "suites" / SUITE / "candidates" / f"{V8}.json"
    said = ran(guarded, "demo", "--headless", "--keep", desk)
    assert said.code == 0, said
    for argv in (
        (*here, "keys", "trust", "robin@example.com", key.with_suffix(".pub")),
        (*here, "import", TAU_BENCH),
        (*here, "--export-report", out, *release),
        (*here, "sign", *release, "--key", key),
        (
            "verify", desk / "store" / "decisions", "--candidate-manifest", manifest,
            "--signers", desk / "store" / "signers",
        ),
        (*here, "doctor"),
        (*here, "run", SUITE, V8, "--attempts", "1"),
    ):  # fmt: skip
        said = ran(guarded, *argv)
        assert said.code == 0, (argv, said)
    assert guarded.reached == ""
    assert guarded.hooked >= 7


def test_the_workstation(guarded: Forbidden, full_template: Path, tmp_path: Path) -> None:
    """On a terminal of its own: it opens, shows a trajectory, and ends."""
    door = copied(full_template, tmp_path / "desk")
    painted = screened(guarded, door, (b"\r", b"?", b"\x1b", b"q", b"\x03", b"q"))
    assert SUITE.encode() in painted or V8.encode() in painted
    assert guarded.reached == ""
    assert guarded.hooked >= 1


def screened(guarded: Forbidden, door: Door, keys: tuple[bytes, ...]) -> bytes:
    """What the workstation paints while these keys are pressed, and then a while longer."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**guarded.environment, "TERM": "xterm-256color", "COLUMNS": "100"}
        os.execve(PROGRAM[0], [*PROGRAM, "--workspace", str(door.root)], environment)
    painted = b""
    try:
        for key in (None, *keys):
            if key is not None:
                try:
                    os.write(terminal, key)
                except OSError:
                    break
            until = time.monotonic() + (30 if key is None else 1)
            while time.monotonic() < until:
                if not select.select([terminal], [], [], 0.2)[0]:
                    if key is None and b"refund" in painted:
                        break
                    continue
                try:
                    painted += os.read(terminal, 65536)
                except OSError:  # it has ended
                    return painted
        return painted
    finally:
        os.close(terminal)
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
