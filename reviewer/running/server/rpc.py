"""The client side of JSON-RPC with an MCP server: one request at a time, each answer checked
against the protocol.

Everything that a server sends is hostile input. It is read line by line within the limits of the
sandbox's pipes; a line that is not a JSON-RPC 2.0 message, an answer to no request, and silence are
faults of the server, reported with their place.
"""

import asyncio
from typing import Any, NamedTuple, NoReturn, Protocol

from reviewer.running.sandbox.room import ChildExit, OutputFlood
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.strict_json import loads, type_name

VERSION = "2025-11-25"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", VERSION)
"""The supported versions of the protocol, the last of which is offered."""

MOST_BETWEEN = 10_000
"""Most notifications and requests that a server may send before it answers."""

RAISE_LIMIT = "raise the limit in toolset.json if it needs longer"

_NO_METHOD = -32601
_QUOTED = 60
_LONGEST_ID = 200


class Broken(Exception):
    """The server violated the protocol, ended, or stayed silent. The text begins with the place."""


class Ended(Broken):
    """The server ended, or wrote more than it may: nothing more can be read from it."""


class Failed(Exception):
    """The server answered a request with an error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Wire(Protocol):
    """The lines to and from the server."""

    def tell(self, message: object, asks: bool = False) -> None: ...
    async def line(self) -> bytes: ...


class Message(NamedTuple):
    """One message of a server. A request has `method` and `id`, a notification `method`, an answer
    `id` and either `result` or `error`."""

    method: str | None = None
    id: Any = None
    result: Any = None
    error: Failed | None = None


class Client:
    """The one client of a server. Raises Broken."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._requests = 0

    async def ask(
        self, method: str, params: dict[str, Any], seconds: float, what: str = ""
    ) -> dict[str, Any]:
        """Return the result of a request. Raises Failed for an error. `what` names the request in
        messages, if not by its method."""
        self._requests += 1
        number, place = self._requests, what or method
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._wire.tell(request, asks=True)
        try:
            async with asyncio.timeout(seconds):
                return await self._answer(number, place)
        except TimeoutError:
            raise Broken(f"{place}: no answer within {seconds:g} s; {RAISE_LIMIT}") from None
        except (ChildExit, OutputFlood) as error:
            raise Ended(f"{place}: it {error}") from None

    def note(self, method: str) -> None:
        """Send a notification."""
        self._wire.tell({"jsonrpc": "2.0", "method": method})

    async def _answer(self, number: int, place: str) -> dict[str, Any]:
        for _ in range(MOST_BETWEEN):
            message = read(await self._wire.line(), place)
            await asyncio.sleep(0)  # a server that never pauses must not hold the time still
            if message.method is not None:
                if message.id is not None:
                    self._refuse(message)
                continue
            if message.error is not None and message.id is None:
                told = shown(message.error.message, _QUOTED)
                raise Broken(f"{place}: could not read our message: {told}")
            if type(message.id) is not int or message.id != number:
                told = shown(str(message.id), 60)
                raise Broken(f"{place}: answers request `{told}`, which nobody made")
            if message.error is not None:
                raise message.error
            if not isinstance(message.result, dict):
                told = type_name(message.result)
                raise Broken(f"{place}: $.result must be an object, not {told}")
            return message.result
        raise Broken(f"{place}: sent {MOST_BETWEEN:,} messages instead of an answer")

    def _refuse(self, message: Message) -> None:
        """Answer a request of the server: only pings are supported."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.id}
        if message.method == "ping":
            self._wire.tell({**answer, "result": {}})
            return
        error = {"code": _NO_METHOD, "message": "this client offers nothing to its server"}
        self._wire.tell({**answer, "error": error})


def read(line: bytes, place: str) -> Message:
    """Return the message in a line. Raises Broken for an invalid one."""
    try:
        value = loads(line, "")
    except ContractError as error:
        quoted = shown(line[:_QUOTED].decode(errors="replace"), _QUOTED)
        reason = f"{error.path}: {error.reason}"
        raise Broken(
            f"{place}: a line is no message ({reason}): `{quoted}`; logs belong on standard error"
        ) from None

    def refuse(where: str, reason: str) -> NoReturn:
        raise Broken(f"{place}: {where} {reason}")

    if not isinstance(value, dict):
        refuse("$", f"must be an object, not {type_name(value)}")
    if value.get("jsonrpc") != "2.0":
        refuse("$.jsonrpc", 'must be "2.0"')
    number = value.get("id")
    if "id" in value and type(number) not in (str, int) and not ("error" in value and not number):
        refuse("$.id", f"must be a text or a whole number, not {type_name(number)}")
    if isinstance(number, str) and len(number) > _LONGEST_ID:
        refuse("$.id", f"must not be longer than {_LONGEST_ID} characters")
    if "method" in value:
        method = value["method"]
        if not isinstance(method, str):
            refuse("$.method", f"must be a text, not {type_name(method)}")
        if "result" in value or "error" in value:
            refuse("$", "must be a request or an answer, not both")
        return Message(method, number)
    if ("result" in value) == ("error" in value):
        refuse("$", "must have exactly one of result, error")
    if "result" in value:
        return Message(None, number, value["result"])
    told = value["error"]
    if not isinstance(told, dict) or type(told.get("code")) is not int:
        refuse("$.error.code", "must be a whole number")
    if not isinstance(told.get("message"), str):
        refuse("$.error.message", "must be a text")
    return Message(None, number, None, Failed(told["code"], told["message"]))
