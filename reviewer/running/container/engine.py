"""The program of a container engine, docker or podman: whether one answers, and its commands.

The output of a command is read within a limit, like all foreign output. The program belongs to this
machine and is not isolated; what it starts is in the container.
"""

import asyncio
import contextlib
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reviewer.running.sandbox.room import found
from reviewer.suite.errors import shown

ENGINES = ("docker", "podman")
MOST_OUTPUT = 8 * 1024**2
"""Most bytes of standard output, and of standard error."""

_PROBE_S = 20
_ENDING_S = 5.0
_BLOCK = 1 << 16


class Flood(Exception):
    """A command printed more than it may."""


class Printed(NamedTuple):
    """The result of a command: its exit status and its output."""

    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return " / ".join(lines[-3:])


class Engine(NamedTuple):
    """The engine of this machine: the path of its program, or why there is none."""

    program: str = ""
    why_not: str = ""


def engine() -> Engine:
    """Return the engine that answers on this machine, docker before podman."""
    try:
        return Engine(answering())
    except _NoEngine as error:
        return Engine(why_not=str(error))


class _NoEngine(Exception):
    """No engine answers. Never cached: one may be started at any time."""


@lru_cache(1)
def answering() -> str:
    """Return the program of the engine that answers. Raises _NoEngine."""
    why = []
    for name in ENGINES:
        program = found(name)
        if program is None:
            why.append(f"{name} is not installed")
            continue
        try:
            done = subprocess.run(
                [program, "version"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_PROBE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why.append(f"{name} cannot be started ({type(error).__name__})")
            continue
        if done.returncode == 0:
            return program
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why.append(f"{name} does not answer ({shown(said[-1] if said else 'no word why', 150)})")
    raise _NoEngine(", ".join(why))


async def carried_out(
    program: str, arguments: Sequence[str], seconds: float, given: bytes = b""
) -> Printed:
    """Return the result of a command of the engine. Raises TimeoutError, Flood and OSError; the
    command is then ended. No argument may have a null character."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    streams = process.stdout, process.stderr
    reading = [asyncio.ensure_future(_read(stream)) for stream in streams]
    try:
        async with asyncio.timeout(seconds):
            await _write(process.stdin, given)
            out, err = await asyncio.gather(*reading)
            status = await process.wait()
    finally:
        for one in reading:
            one.cancel()
        await asyncio.wait(reading)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ENDING_S):
                    await asyncio.gather(*(_drained(stream) for stream in streams), process.wait())
    return Printed(status, out.decode(errors="replace"), err.decode(errors="replace"))


async def _write(stream: asyncio.StreamWriter, given: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # it need not read its input
        stream.write(given)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while more := await stream.read(_BLOCK):
        data += more
        if len(data) > MOST_OUTPUT:
            raise Flood(f"printed more than {MOST_OUTPUT // 1024**2} MiB")
    return bytes(data)


async def _drained(stream: asyncio.StreamReader) -> None:
    """Read the remaining output, so that the pipe of a killed process closes."""
    while await stream.read(_BLOCK):
        pass
