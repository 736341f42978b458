"""The web server: one page, its files, and a workstation in a process of its own behind each page
that is open. `Session` is the one place that uses what textual-serve keeps to itself."""

import asyncio
import json
import shlex
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from reviewer.web.guard import Guard, Guest

PATIENCE = 10.0
"""Seconds that a program is given to end."""
CLOSING = 2.0
"""Seconds that a page is given to take what was sent to it, and to close."""
MOST_CELLS = 1000
MOST_UNREAD = 8 << 20
"""Bytes typed in a page that its program has not read yet, above which the page is closed."""
MOST_PAGES = 16
"""Pages that one person may have open: each is a process."""
_PASTE, _PASTED = b"\x1b[200~", b"\x1b[201~"


class Socket(web.WebSocketResponse):
    """The websocket of a page."""

    transport: asyncio.Transport | None = None

    async def leave(self, code: int = WSCloseCode.OK) -> None:
        """Close it, also where the page reads nothing of what was sent to it."""
        try:
            async with asyncio.timeout(CLOSING):
                await self.close(code=code)
        except TimeoutError:
            if self.transport is not None:
                self.transport.abort()


class Session(AppService):
    """A workstation that talks through a websocket."""

    def __init__(
        self, command: Sequence[str], websocket: "Socket", downloads: DownloadManager
    ) -> None:
        super().__init__(
            f"exec {shlex.join(command)}",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.leave,
            download_manager=downloads,
        )
        self._websocket = websocket
        self._last = b""
        self._pasting = -1
        """Bytes of the paste that is going on; -1 for none."""

    async def run(self) -> None:
        """Pass on what the program draws until it ends, then close the page, also when the program
        ended without a message."""
        try:
            await super().run()
        finally:
            await self._websocket.leave()

    async def stop(self) -> None:
        """Ask the program to end, kill it if it does not, and wait until it has ended."""
        with suppress(TimeoutError):
            await asyncio.wait_for(super().stop(), PATIENCE)
        if self._process is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), 1.0)
            if self._process.returncode is None:
                self._process.kill()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone(self._process), CLOSING)

    async def _gone(self, process: Process) -> None:
        """Wait until a program has ended, which asyncio sees once all it drew is read."""
        assert process.stdout is not None
        await process.stdout.read()
        await process.wait()

    async def send_bytes(self, data: bytes) -> bool:
        return self._wrote(self.encode_packet(b"D", data))

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        return self._wrote(self.encode_packet(b"M", json.dumps(data).encode()))

    def _wrote(self, packet: bytes) -> bool:
        """Hand a packet to the program, and do not wait until it was read: meanwhile the page
        could not be closed. Return False where the program is gone or too much waits for it."""
        stdin = self.stdin
        if stdin.transport.get_write_buffer_size() + len(packet) > MOST_UNREAD:
            return False
        try:
            stdin.write(packet)
        except RuntimeError:
            return False
        return not stdin.is_closing()

    def _is_long(self, keys: bytes) -> bool:
        """Return whether these keys belong to a paste that is longer than a page may send at once:
        the program keeps all of it in memory until it ends."""
        seen = self._last + keys
        self._last = seen[-len(_PASTED) + 1 :]
        begun, ended = seen.rfind(_PASTE), seen.rfind(_PASTED)
        if ended > begun:
            self._pasting = -1
        elif self._pasting >= 0 or begun >= 0:
            self._pasting = max(self._pasting, 0) + len(keys)
        return self._pasting > MOST_TYPED

    async def hear(self, text: str) -> None:
        """Pass on one message of the page; an invalid one is dropped."""
        match _parsed(text):
            case ["stdin", str(typed)]:
                # Half of a surrogate pair is no key; encoded as a question mark it would be one.
                keys = typed.encode("utf-8", "ignore")
                if keys and (self._is_long(keys) or not await self.send_bytes(keys)):
                    await self._websocket.leave(WSCloseCode.MESSAGE_TOO_BIG)
            case ["resize", {"width": int(width), "height": int(height)}]:
                await self.set_terminal_size(cells(width), cells(height))
            case ["ping", str(sent)]:
                await self._websocket.send_json(["pong", sent])
            case ["blur"]:
                await self.blur()
            case ["focus"]:
                await self.focus()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def cells(many: int) -> int:
    """Return a width or height that can be drawn."""
    return max(1, min(many, MOST_CELLS))


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOST_TYPED = 4 << 20
"""The most bytes of one message of a page: a pasted text."""
STATICS = Path(textual_serve.__file__).parent / "static"
REFUSED = "not here: open the address that the terminal shows\n"
MANY = f"no more than {MOST_PAGES} pages of one person at once: close one\n"
WRONG = "something went wrong here; the workspace is as it was\n"

GUEST = "guest"
"""Key of an admitted request: the person it is answered for."""
SOCKET = "socket"
"""Key of an admitted request: the address of its page's websocket, under the host name of the
request."""

# The page loads nothing from other sites, sends nothing to them, and cannot be framed. The terminal
# widget sets styles of its own.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self';"
        " img-src 'self' data:; connect-src 'self' {socket}; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "reviewer",
}


class Door:
    """Serves workstations to the persons that `guard` admits; `command_of` gives the program that
    runs behind a person's page."""

    def __init__(self, guard: Guard, command_of: Callable[[Guest], Sequence[str]]) -> None:
        self._guard, self._command_of = guard, command_of
        # One for each person: a file handed to one person is not served to another.
        self._downloads = {guest: DownloadManager() for guest in guard.tokens.values()}
        self._open: dict[Socket, asyncio.Task[None]] = {}
        self._pages = Counter[Guest]()

    def application(self) -> web.Application:
        made = web.Application(middlewares=[self._admitted])
        for token in self._guard.tokens:
            top = f"/{token}"
            made.add_routes(
                [
                    web.get(f"{top}/", self._page),
                    web.get(f"{top}/page.js", self._script),
                    web.get(f"{top}/ws", self._socket),
                    web.get(f"{top}/download/{{key}}", self._download),
                    web.static(f"{top}/static", STATICS),
                ]
            )
        made.on_response_prepare.append(_with_headers)
        made.on_shutdown.append(self._close)
        return made

    @web.middleware
    async def _admitted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse every request that is not admitted with the same words, and report no details of
        errors."""
        headers = request.headers
        guest = self._guard.admits(
            request.path,
            headers.get("Host"),
            headers.get("Origin"),
            drives="Upgrade" in headers or request.method not in ("GET", "HEAD"),
        )
        if guest is None:
            return web.Response(status=403, text=REFUSED)
        request[GUEST] = guest
        request[SOCKET] = f"ws://{request.host}"
        try:
            return await handler(request)
        except web.HTTPException as told:
            return web.Response(status=told.status, text=REFUSED)
        except ConnectionError:
            raise  # the page was closed
        except Exception as error:
            from reviewer.cli.say import note

            note(f"a page could not be served: {type(error).__name__}: {error}")
            return web.Response(status=500, text=WRONG)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        page = Template(_resource("page.html")).substitute(
            socket=f"{request[SOCKET]}{request.path}ws"
        )
        return web.Response(text=page, content_type="text/html")

    async def _script(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text=_resource("page.js"), content_type="text/javascript")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        guest: Guest = request[GUEST]
        if self._pages[guest] >= MOST_PAGES:
            return web.Response(status=503, text=MANY)
        self._pages[guest] += 1
        websocket = Socket(heartbeat=15, compress=False, max_msg_size=MOST_TYPED)
        try:
            await websocket.prepare(request)
            websocket.transport = request.transport  # a request that is done has none
        except BaseException:
            self._pages[guest] -= 1
            raise
        # A task of its own: a request whose page was closed is canceled before the program ends.
        size = _size(request, "width", 80), _size(request, "height", 24)
        session = asyncio.create_task(self._session(guest, websocket, *size))
        self._open[websocket] = session

        def ended(_: object) -> None:
            self._pages[guest] -= 1
            del self._open[websocket]

        session.add_done_callback(ended)
        await asyncio.shield(session)
        return websocket

    async def _session(self, guest: Guest, websocket: Socket, width: int, height: int) -> None:
        """Serve one page from its opening to the end of its program."""
        session = Session(self._command_of(guest), websocket, self._downloads[guest])
        try:
            await session.start(width, height)
            async for message in websocket:
                if message.type == WSMsgType.TEXT:
                    await session.hear(message.data)
        finally:
            await session.stop()

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Send a file that the workstation hands to its user, such as a picture of the screen."""
        key, downloads = request.match_info["key"], self._downloads[request[GUEST]]
        try:
            about = await downloads.get_download_metadata(key)
        except KeyError:
            raise web.HTTPNotFound from None
        name = "".join(
            c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in about.file_name
        )
        response = web.StreamResponse()
        response.content_type = "application/octet-stream"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        await response.prepare(request)
        async for chunk in downloads.download(key):
            await response.write(chunk)
        await response.write_eof()
        return response

    async def _close(self, application: web.Application) -> None:
        """Close every page, and wait until the program behind it has ended."""
        ending = dict(self._open)
        await asyncio.gather(*(websocket.leave(WSCloseCode.GOING_AWAY) for websocket in ending))
        if ending:
            await asyncio.wait(ending.values())


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers[name] = value.format(socket=request.get(SOCKET, ""))


def _size(request: web.Request, name: str, otherwise: int) -> int:
    given = request.query.get(name, "")
    return (
        cells(int(given)) if given.isascii() and given.isdigit() and len(given) < 6 else otherwise
    )


def _resource(name: str) -> str:
    return (files("reviewer.web") / name).read_text(encoding="utf-8")
