"""The program behind one page: the workstation in a process of its own, for as long as the page is
open. The one place that leans on what textual-serve keeps to itself."""

import asyncio
import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

PATIENCE = 10.0
"""Seconds that a program is given to end."""
MOST_CELLS = 1000


class Session(AppService):
    """A workstation that talks through a websocket."""

    def __init__(
        self, command: Sequence[str], websocket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        super().__init__(
            f"exec {shlex.join(command)}",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.close,  # type: ignore[arg-type]  # answers whether it was open
            download_manager=downloads,
        )
        self._websocket = websocket

    async def run(self) -> None:
        """Hand on what the program draws until it ends, and then close the page, also when it ended
        without a word."""
        try:
            await super().run()
        finally:
            await self._websocket.close()

    async def stop(self) -> None:
        """Ask the program to end, end it when it does not, and wait until it has."""
        with suppress(TimeoutError):
            await asyncio.wait_for(super().stop(), PATIENCE)
        if self._process is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), 1.0)
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    async def hear(self, text: str) -> None:
        """Pass on one message of the page; what is none is dropped."""
        match _parsed(text):
            case ["stdin", str(typed)]:
                # Half of a surrogate pair is no key; replaced by a question mark it would be one.
                if keys := typed.encode("utf-8", "ignore"):
                    await self.send_bytes(keys)
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
    """A width or height that can be drawn."""
    return max(1, min(many, MOST_CELLS))
