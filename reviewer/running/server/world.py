"""A suite's MCP server as an attempt's world (docs/world-mcp.md).

Each attempt has a server of its own, in the sandbox of candidates, that is ended with all it
started. It gets the calls that the broker lets through, and reviewer's own requests: its tools at
the beginning and at the end, and its state after every call. A fault of the server ends the
attempt, which neither passes nor fails.
"""

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import reviewer
from reviewer.running.candidates.program import command_of
from reviewer.running.masking import Mask, secrets_of
from reviewer.running.model import Answer, Infrastructure, Task, ToolSpec, Unrunnable, WorldBroke
from reviewer.running.sandbox.room import Child, ChildExit, Order, OutputFlood, StartFailure, start
from reviewer.running.server.listing import (
    Listing,
    check_offered,
    check_same,
    first_difference,
    listed,
)
from reviewer.running.server.results import answer_of, state_in_answer, state_in_resource
from reviewer.running.server.rpc import VERSION, VERSIONS, Broken, Client, Ended, Failed
from reviewer.running.world import final_state_of
from reviewer.suite.errors import ContractError, json_path, shown
from reviewer.suite.json_values import same
from reviewer.suite.server import FILES, SERVER
from reviewer.suite.strict_json import start_state_digest
from reviewer.suite.values import TOOLSET_FILE

HARNESS = Path(__file__).with_name("server_child.py")

MOST_UNREAD = 20_000
"""Most lines that a server may write before they are read."""

_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""For servers in Python: the same order of sets in all attempts, and nothing written beside the
code."""

_NAME = "the server of toolset.json"
_SECONDS = 60.0


class ServerWorld:
    """A server that is running for one attempt; created by `open`.

    `start_digest` is that of the state which the server itself reports, which must be the
    episode's; None where it reports none. Raises WorldBroke when the server breaks.
    """

    start_digest: str | None = None

    def __init__(self, task: Task, child: Child) -> None:
        simulator = task.episode.simulator or {}
        self._server: dict[str, Any] = simulator["server"]
        self._final: str | None = simulator.get("final_state")
        self._child = child
        self._client = Client(child)
        self._mask = Mask(task.redaction, secrets_of(task.candidate))
        self._specs = task.offer.tools
        self._seconds = float(self._server.get("call_s") or _SECONDS)
        self._source: dict[str, Any] = self._server.get("state") or {}
        self._listing: Listing = {}
        self._state: dict[str, Any] = {}

    @classmethod
    async def open(cls, task: Task) -> "ServerWorld":
        """Return a world reset for this attempt. Raises Unrunnable for a server that this run
        cannot start, Infrastructure for one that breaks."""
        folder = Path(task.folder)
        server: dict[str, Any] = (task.episode.simulator or {})["server"]
        where = f"{folder.name}/{TOOLSET_FILE}: $.server"
        argv = command_of(server["command"], folder / SERVER, f"{where}.command")
        network = bool(server.get("network"))
        if network and not task.network:
            raise Unrunnable(
                f"{where}.network: the server needs the network, which is not granted here: "
                "reviewer run --network"
            )
        own = (sys.executable, "-I", "-S", "-B", str(HARNESS))
        opened = ((folder / SERVER).resolve(), HARNESS)
        order = Order(
            own, folder, _ENVIRONMENT, opened, network, program=argv[0], unread=MOST_UNREAD
        )
        try:
            child = await start(order)
        except OSError as error:
            raise Infrastructure(f"no process can be started: {error.strerror}") from None
        world = cls(task, child)
        try:
            await world._begin(argv, folder, task.episode.initial_state)
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
        with self._held():
            answer = await self._called(tool, arguments)
        return answer._replace(read_state=self._changed) if self._source else answer

    async def state(self) -> dict[str, Any]:
        if self._source:
            with self._held():
                self._state = await self._read()
        return copy.deepcopy(self._state)

    async def final_state(self) -> Any:
        """Return the state at the end, None where none is measured. The server must be as it was
        when the attempt began."""
        with self._held():
            check_same(self._listing, await listed(self._asked, self._seconds))
        return final_state_of(self._state, self._final) if self._source else None

    async def close(self) -> None:
        await self._child.close()

    async def _begin(self, argv: tuple[str, ...], folder: Path, wanted: dict[str, Any]) -> None:
        seconds, self._seconds = self._seconds, float(self._server.get("start_s") or _SECONDS)
        files = folder / FILES
        copied = str(files.resolve()) if files.is_dir() else None
        with self._held():
            await self._child.ask({"argv": argv, "files": copied, "state": wanted}, self._seconds)
            await self._initialize()
            self._listing = await listed(self._asked, self._seconds)
            check_offered(self._listing, self._specs)
            if self._source:
                await self._read_first(wanted)
        self._seconds = seconds

    async def _initialize(self) -> None:
        told = await self._asked(
            "initialize",
            {
                "protocolVersion": VERSION,
                "capabilities": {},
                "clientInfo": {"name": "reviewer", "version": reviewer.__version__},
            },
        )
        version, able = told.get("protocolVersion"), told.get("capabilities")
        if version not in VERSIONS:
            spoken = ", ".join(VERSIONS)
            raise Broken(
                f"initialize: speaks version `{shown(str(version), 40)}` of the protocol; known "
                f"here: {spoken}"
            )
        if not isinstance(able, dict) or not isinstance(able.get("tools"), dict):
            raise Broken("initialize: $.result.capabilities names no tools")
        self._client.note("notifications/initialized")

    async def _read_first(self, wanted: dict[str, Any]) -> None:
        """Read the state twice: a state that changes without a call cannot be used for judging."""
        self._state = await self._read()
        place = first_difference(self._state, await self._read())
        if place is not None:
            raise Broken(
                f"its state differs at {json_path(place)} between two readings without a call: "
                "leave out of it what changes by itself"
            )
        place = first_difference(wanted, self._state)
        if place is not None:
            raise Broken(
                f"its state differs at {json_path(place)} from the episode's initial_state: write "
                "there what it starts with, or have it start with that"
            )
        try:
            self.start_digest = start_state_digest(self._state)
        except ContractError as error:
            raise Broken(f"its state {error.reason}") from None

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Answer:
        what = f"tools/call of {shown(tool)}"
        try:
            params = {"name": tool, "arguments": arguments}
            told = await self._client.ask("tools/call", params, self._seconds, what)
        except Failed as error:
            return Answer("error", {"error": error.message})
        return answer_of(told, self._listing[tool])

    async def _changed(self) -> dict[str, Any] | None:
        with self._held():
            before, self._state = self._state, await self._read()
        return None if same(before, self._state) else copy.deepcopy(self._state)

    async def _read(self) -> dict[str, Any]:
        uri = self._source.get("resource")
        if uri is not None:
            return state_in_resource(await self._asked("resources/read", {"uri": uri}), uri)
        tool: str = self._source["tool"]
        if tool not in self._listing:
            raise Broken(f"tools/list: does not list `{shown(tool)}`, which is to tell the state")
        params = {"name": tool, "arguments": self._source.get("arguments") or {}}
        what = f"tools/call of {shown(tool)}"
        return state_in_answer(await self._asked("tools/call", params, what), tool)

    async def _asked(self, method: str, params: dict[str, Any], what: str = "") -> dict[str, Any]:
        try:
            return await self._client.ask(method, params, self._seconds, what)
        except Failed as error:
            told = f"error {error.code}, {shown(error.message, 200)}"
            raise Broken(f"{what or method}: answers {told}") from None

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Turn every fault of the server into WorldBroke."""
        try:
            yield
        except StartFailure as error:
            raise Infrastructure(f"no sandbox can be made: {self._mask.line(str(error))}") from None
        except Ended as error:
            last = self._child.last_lines()
            raise self._broke(str(error) + (f": {last}" if last else "")) from None
        except Broken as error:
            raise self._broke(str(error)) from None
        except (OutputFlood, ChildExit, TimeoutError) as error:
            told = str(error) or f"did not start within {self._seconds:g} s"
            last = self._child.last_lines()
            raise self._broke(told + (f": {last}" if last else "")) from None

    def _broke(self, how: str) -> WorldBroke:
        return WorldBroke(f"{_NAME}: {self._mask.line(how)}")
