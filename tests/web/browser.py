"""A real browser without a window, driven through its debugging protocol."""

import asyncio
import base64
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0

# The page keeps its terminal to itself. What first gives an object a `fitAddon` is what holds it,
# and the terminal is asked for the characters that it has drawn.
REACH = """
Object.defineProperty(Object.prototype, "fitAddon", {configurable: true, set(value) {
  window.held = this;
  Object.defineProperty(this, "fitAddon", {value, writable: true, configurable: true});
}});
"""
SCREEN = """
(() => {
  if (!window.held) return "";
  const buffer = window.held.terminal.buffer.active;
  const lines = [];
  for (let y = 0; y < buffer.length; y++) lines.push(buffer.getLine(y).translateToString(true));
  return lines.join("\\n");
})()
"""


def found() -> str | None:
    """The program of a browser that speaks the protocol, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. `requests` are the addresses it asked for, `said` what its console printed."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.requests: list[str] = []
        self.said: list[str] = []
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            told = message.json()
            if (number := told.get("id")) in self._waiting:
                self._waiting.pop(number).set_result(told)
                continue
            method, about = told.get("method"), told.get("params", {})
            if method == "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            elif method == "Network.webSocketCreated":
                self.requests.append(about["url"])
            elif method == "Runtime.consoleAPICalled":
                self.said += [str(each.get("value")) for each in about["args"]]
            elif method == "Log.entryAdded":
                self.said.append(about["entry"]["text"])
            elif method == "Runtime.exceptionThrown":
                self.said.append(str(about["exceptionDetails"]))

    async def ask(self, method: str, **about: Any) -> dict[str, Any]:
        """What the browser answers to one command."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": about})
        told = await asyncio.wait_for(answer, PATIENCE)
        assert "error" not in told, (method, told)
        result: dict[str, Any] = told["result"]
        return result

    async def evaluate(self, script: str) -> Any:
        told = await self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def open(self, address: str) -> None:
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.ask(f"{domain}.enable")
        await self.ask("Page.addScriptToEvaluateOnNewDocument", source=REACH)
        await self.ask("Page.navigate", url=address)

    async def screen(self) -> str:
        """The characters that the page's terminal shows."""
        return str(await self.evaluate(SCREEN))

    async def until(self, *words: str) -> str:
        """The screen, once all of this is on it."""
        return await self.when(lambda shown: all(word in shown for word in words), str(words))

    async def when(self, true: Callable[[str], bool], what: str) -> str:
        """The screen, once it is as it should be."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = await self.screen()
            if true(shown):
                return shown
            assert time.monotonic() < end, f"never came: {what}\n{shown}\n{self.said}"
            await asyncio.sleep(0.05)

    async def found(self, script: str) -> Any:
        """What a script answers, once it answers something."""
        end = time.monotonic() + PATIENCE
        while not (answer := await self.evaluate(script)):
            assert time.monotonic() < end, f"never true: {script}\n{self.said}"
            await asyncio.sleep(0.05)
        return answer

    async def press(self, key: str, text: str = "", code: int = 0) -> None:
        """One key, down and up."""
        about = {"key": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        down = "keyDown" if text else "rawKeyDown"
        await self.ask("Input.dispatchKeyEvent", type=down, text=text, **about)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    async def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def picture(self, path: Path) -> None:
        told = await self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(told["data"]))


@asynccontextmanager
async def browser(folder: Path, width: int = 1280, height: int = 800) -> AsyncIterator[Page]:
    """A tab of a browser of its own, which ends with it."""
    program = found()
    assert program is not None
    words = [
        program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}",
        f"--window-size={width},{height}", "--no-first-run", "--disable-gpu",
        "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        port = await _port(folder / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                tabs = await answer.json(content_type=None)
            (address,) = [t["webSocketDebuggerUrl"] for t in tabs if t["type"] == "page"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        process.wait()


async def _port(path: Path, process: "subprocess.Popen[bytes]") -> int:
    end = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_text().strip()):
        assert process.poll() is None, "the browser did not start"
        assert time.monotonic() < end, "the browser does not say where it listens"
        await asyncio.sleep(0.05)
    return int(path.read_text().split()[0])
