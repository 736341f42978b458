"""A suite's container as an attempt's world (docs/world-container.md).

Each attempt has a container of its own, by the digest of its image, that is removed at the end. A
call that the broker lets through is a command in it; the exit status of the verifier, which no
agent can call, is the final state. A failure of the engine or the container ends the attempt, which
neither passes nor fails.
"""

import asyncio
import contextlib
import copy
import errno
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reviewer.running.container.engine import Flood, Printed, carried_out, engine
from reviewer.running.container.guard import changed, guarded
from reviewer.running.masking import Mask, secrets_of
from reviewer.running.model import Answer, Task, ToolSpec, Unrunnable, WorldBroke
from reviewer.running.world import final_state_of
from reviewer.suite.container import PLACE
from reviewer.suite.errors import shown
from reviewer.suite.values import TOOLSET_FILE

LONGEST_LIFE_S = 4 * 3600
"""Seconds after which a container ends by itself, should reviewer be killed before removing it."""

_REMOVAL_S = 60.0
_SECONDS = 60.0
_HELD = (
    *("--pull", "never", "--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--pids-limit", "1024", "--memory", "4g"),
)


class _TooLong(Exception):
    """A command is longer than this machine accepts."""


class ContainerWorld:
    """A container that is running for one attempt; created by `open`. Raises WorldBroke."""

    start_digest: str | None = None

    def __init__(self, task: Task, program: str) -> None:
        simulator = task.episode.simulator or {}
        self._told: dict[str, Any] = simulator["container"]
        self._final: str | None = simulator.get("final_state")
        self._specs = task.offer.tools
        self._mask = Mask(task.redaction, secrets_of(task.candidate))
        self._program = program
        self._name = f"reviewer-{secrets.token_hex(8)}"
        self._seconds = float(self._told.get("call_s") or _SECONDS)

    @classmethod
    async def open(cls, task: Task) -> "ContainerWorld":
        """Return a world reset for this attempt. Raises Unrunnable for a container that is not
        available here, WorldBroke for one that does not start."""
        told: dict[str, Any] = (task.episode.simulator or {})["container"]
        where = f"{Path(task.folder).name}/{TOOLSET_FILE}: $.container"
        if told.get("network") and not task.network:
            raise Unrunnable(
                f"{where}.network: the container needs the network, which is not granted here: "
                "reviewer run --network"
            )
        here = await asyncio.to_thread(engine)
        if not here.program:
            raise Unrunnable(f"{where}: not run: no container engine here: {here.why_not}")
        world = cls(task, here.program)
        image = await world._engine("image inspect", ["image", "inspect", told["image"]], _SECONDS)
        if image.status != 0:
            name = Path(here.program).name
            raise Unrunnable(
                f"{where}.image: {shown(told['image'], 200)} is not on this machine: pull it "
                f"first with {name} pull"
            )
        try:
            await world._start()
        except BaseException:
            await world.close()
            raise
        return world

    def specs(self) -> tuple[ToolSpec, ...]:
        specs = self._specs
        return tuple(spec._replace(parameters=copy.deepcopy(spec.parameters)) for spec in specs)

    def user_specs(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        command = self._told["exec"][tool]
        words = [_filled(word, arguments) for word in command]
        # Only to a command that must read it: podman loses the output of one that leaves it unread.
        given = b"" if any(map(PLACE.search, command)) else json.dumps(arguments).encode()
        if any("\0" in word for word in words):
            return Answer("error", {"error": "an argument holds a null character"})
        try:
            done = await self._exec(f"exec of {shown(tool)}", words, given)
        except _TooLong:
            return Answer("error", {"error": "the arguments are too long for a command"})
        content = {"exit_code": done.status, "stdout": done.out, "stderr": done.err}
        return Answer("ok" if done.status == 0 else "error", content)

    async def state(self) -> dict[str, Any]:
        return {}

    async def final_state(self) -> Any:
        """Return the exit status of the verifier as the state; None without a verifier. One that
        the agent has changed does not count: a text in place of the status says so."""
        verifier = self._told.get("verifier")
        if verifier is None:
            await self._must_run("the end")
            return None
        status: int | str
        paths = guarded(verifier, self._told.get("guarded") or ())
        if (place := changed(await self._diff(), paths)) is not None:
            status = f"not run: {self._mask.line(place)} was changed"
        else:
            status = (await self._exec("the verifier", verifier)).status
            # A process that the agent left running may have waited for this.
            if (place := changed(await self._diff(), paths, added=False)) is not None:
                status = f"not counted: {self._mask.line(place)} was changed meanwhile"
        return final_state_of({"exit_code": status}, self._final)

    async def close(self) -> None:
        with contextlib.suppress(WorldBroke):
            await self._engine("rm", ["rm", "--force", self._name], _REMOVAL_S)

    async def _start(self) -> None:
        network = [] if self._told.get("network") else ["--network", "none"]
        started = await self._engine(
            "run",
            [
                *("run", "--detach", "--rm", "--name", self._name, *_HELD, *network),
                *("--entrypoint", "sleep", self._told["image"], str(LONGEST_LIFE_S)),
            ],
            float(self._told.get("start_s") or _SECONDS),
        )
        if started.status != 0:
            raise self._broke(f"run: ended with exit status {started.status}: {started.last}")

    async def _diff(self) -> str:
        looked = await self._engine("diff", ["diff", self._name], _SECONDS)
        if looked.status != 0:
            await self._must_run("diff", looked.last)
            raise self._broke(f"diff: ended with exit status {looked.status}: {looked.last}")
        return looked.out

    async def _exec(self, what: str, words: Sequence[str], given: bytes = b"") -> Printed:
        command = ["exec", *(["--interactive"] if given else []), self._name, *words]
        done = await self._engine(what, command, self._seconds, given)
        if done.status != 0:  # of the command, or of an engine that could not execute it
            await self._must_run(what, done.last)
        return done

    async def _must_run(self, what: str, said: str = "") -> None:
        form = ["inspect", "--format", "{{.State.Running}}", self._name]
        looked = await self._engine("inspect", form, _SECONDS)
        if looked.status != 0 or looked.out.strip() != "true":
            raise self._broke(f"{what}: the container is gone" + (f": {said}" if said else ""))

    async def _engine(
        self, what: str, arguments: Sequence[str], seconds: float, given: bytes = b""
    ) -> Printed:
        try:
            return await carried_out(self._program, arguments, seconds, given)
        except TimeoutError:
            way_out = "raise the limit in toolset.json if it needs longer"
            raise self._broke(f"{what}: did not end within {seconds:g} s; {way_out}") from None
        except Flood as error:
            raise self._broke(f"{what}: {error}") from None
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise _TooLong from None
            raise self._broke(f"{what}: cannot be started: {error.strerror}") from None

    def _broke(self, how: str) -> WorldBroke:
        return WorldBroke(f"the container of toolset.json: {self._mask.line(how)}")


def _filled(word: str, arguments: dict[str, Any]) -> str:
    """Return a word with the arguments inserted: texts as they are, other values as JSON, and
    nothing for one that was not given."""

    def value(name: str) -> str:
        given = arguments.get(name, "")
        return given if isinstance(given, str) else json.dumps(given)

    return PLACE.sub(lambda place: value(place[1]), word)
