"""A suite's Python toolkit as an attempt's world: one fresh child process per attempt, so that
nothing of it remains after the attempt (docs/candidates-command.md)."""

import copy
import sys
from pathlib import Path
from typing import Any

from reviewer.running.candidates.program import HARNESS, has_module
from reviewer.running.masking import Mask
from reviewer.running.model import Answer, Infrastructure, Task, ToolSpec, Unrunnable, WorldBroke
from reviewer.running.sandbox.room import Child, ChildExit, Order, OutputFlood, StartFailure, start
from reviewer.running.world import episode_file, final_state_of
from reviewer.suite.errors import ContractError, name_problem, shown
from reviewer.suite.json_values import same
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import loads, start_state_digest, type_name

TOOLKITS = "toolkits"
"""The folder of the suite, under its lock, with the toolkits."""

ANSWER_S = 60.0
"""Most seconds for creating a toolkit, and for an answer of it."""


class ToolkitWorld:
    """An instance of the toolkit's class in a process of its own; created by `open`.

    `start_digest` is that of the state which the toolkit itself reports after its creation, so that
    a start from another state than the episode's is noticed. Raises Infrastructure when the toolkit
    breaks; an exception of one call is that call's answer.
    """

    start_digest: str | None

    def __init__(self, task: Task, child: Child) -> None:
        self._child = child
        self._mask = Mask(task.redaction)
        simulator = task.episode.simulator or {}
        self._name = f"the toolkit {simulator['toolkit']}"
        self._final: str | None = simulator.get("final_state")
        self._state: dict[str, Any] = {}
        self._specs: tuple[ToolSpec, ...] = ()

    @classmethod
    async def open(cls, task: Task) -> "ToolkitWorld":
        """Return a world reset for this attempt. Raises Unrunnable for a toolkit that cannot be
        used at all, Infrastructure for one that breaks."""
        folder = Path(task.folder)
        check(task.episode, folder)
        simulator = task.episode.simulator or {}
        place = (folder / TOOLKITS).resolve()
        argv = (
            # No -I, which would ignore the hash seed: sets must have the same order in all
            # attempts.
            *(sys.executable, "-s", "-P", "-B", str(HARNESS)),
            *("toolkit", str(place), simulator["toolkit"]),
        )
        order = Order(argv, folder, {"PYTHONHASHSEED": "0"}, (place, HARNESS))
        try:
            child = await start(order)
        except OSError as error:
            raise Infrastructure(f"no process can be started: {error.strerror}") from None
        world = cls(task, child)
        try:
            await world._begin(task.episode, episode_file(task.episode, folder))
        except BaseException:
            await world.close()
            raise
        return world

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    def user_specs(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        said = await self._ask({"tool": tool, "arguments": arguments}, "answer")
        status = said.get("status")
        if status not in ("ok", "error", "timeout") or "content" not in said:
            raise self._broke("gave an invalid answer")
        before, self._state = self._state, self._object(said, "state")
        changed = not same(before, self._state)
        state = copy.deepcopy(self._state) if changed else None
        return Answer(status, said["content"], 0.0, state)

    async def state(self) -> dict[str, Any]:
        return copy.deepcopy(self._state)

    async def final_state(self) -> Any:
        return final_state_of(self._state, self._final)

    async def close(self) -> None:
        await self._child.close()

    async def _begin(self, episode: Episode, file: str) -> None:
        options = (episode.simulator or {}).get("options") or {}
        message = {"state": episode.initial_state, "options": options}
        said = await self._ask(message, "ready", "unloadable")
        where = f"{file}: $.simulator.toolkit"
        if said["type"] == "unloadable":
            reason = self._mask.line(str(said.get("text")))
            raise Unrunnable(f"{where}: cannot be loaded: {reason}")
        self._specs = _specs(self._object(said, "tools"), where)
        self._state = self._object(said, "state")
        try:
            self.start_digest = start_state_digest(self._state)
        except ContractError as error:
            raise self._broke(f"reports a state that {error.reason}") from None

    async def _ask(self, message: dict[str, Any], *kinds: str) -> dict[str, Any]:
        try:
            line = await self._child.ask(message, ANSWER_S)
            said = loads(line, "")
        except StartFailure as error:
            raise Infrastructure(f"no sandbox can be made: {self._mask.line(str(error))}") from None
        except (OutputFlood, ChildExit) as error:
            said_last = self._mask.line(self._child.last_lines())
            raise self._broke(f"{error}" + (f": {said_last}" if said_last else "")) from None
        except TimeoutError:
            raise self._broke(f"gave no answer within {ANSWER_S:g} s") from None
        except ContractError as error:
            raise self._broke(f"gave an answer that cannot be read: {error.reason}") from None
        if not isinstance(said, dict) or said.get("type") not in ("broken", *kinds):
            raise self._broke("gave an invalid answer")
        if said["type"] == "broken":
            raise self._broke(f"failed: {self._mask.line(str(said.get('text')))}")
        return said

    def _object(self, said: dict[str, Any], name: str) -> dict[str, Any]:
        value = said.get(name)
        if not isinstance(value, dict):
            raise self._broke(f"`{name}` must be a dict, not {type_name(value)}")
        return value

    def _broke(self, how: str) -> WorldBroke:
        return WorldBroke(f"{self._name} {how}" if how[0] != "`" else f"{self._name}: {how}")


def check(episode: Episode, folder: Path) -> None:
    """Raise Unrunnable unless the toolkit's module is in the suite's `toolkits/`; none of its code
    is run."""
    entry = (episode.simulator or {}).get("toolkit")
    where = f"{episode_file(episode, folder)}: $.simulator.toolkit"
    if not entry:
        raise Unrunnable(f"{where}: is missing: name the class as `module:Class`")
    if not has_module(entry, folder / TOOLKITS, installed=False):
        module = shown(entry.partition(":")[0], 200)
        raise Unrunnable(f"{where}: there is no module `{module}` in {folder.name}/{TOOLKITS}/")


def _specs(tools: dict[str, Any], where: str) -> tuple[ToolSpec, ...]:
    if not tools:
        raise Unrunnable(f"{where}: its `tools` is empty")
    return tuple(
        _spec(name, told, f"{where}: its tool `{shown(name)}`") for name, told in tools.items()
    )


def _spec(name: str, told: Any, where: str) -> ToolSpec:
    if (reason := name_problem(name)) is not None:
        raise Unrunnable(f"{where}: {reason}")
    if not isinstance(told, dict):
        raise Unrunnable(f"{where} must be a dict of description and parameters")
    for member in told.keys() - {"description", "parameters"}:
        raise Unrunnable(f"{where}: `{shown(member)}` is unknown")
    description = told.get("description", "")
    parameters = told.get("parameters", {"type": "object"})
    if not isinstance(description, str):
        raise Unrunnable(f"{where}: `description` must be a text")
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise Unrunnable(f"{where}: `parameters` must be a JSON Schema of an object")
    return ToolSpec(name, description, parameters)
