"""A real headless Chromium over its debugging pipe: what it fetches, logs, measures and prints."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
MISSING = "no chromium on this machine: a page cannot be opened in a browser"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


class Page:
    """One tab. `heard` holds every event of the protocol, in order."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._count = 0
        self._session = ""
        self.heard: list[dict[str, Any]] = []

    def open(self, file: Path) -> None:
        """Load a file whole, with everything listened to from the start."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=file.as_uri())
        self.await_event("Page.loadEventFired")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.heard.append(answer)

    def await_event(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.heard):
            self.heard.append(self._next())

    def events(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every event of this kind so far."""
        return [event["params"] for event in self.heard if event.get("method") == method]

    def value(self, expression: str) -> Any:
        """What an expression is worth in the page; the inspector may ask where no script runs."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def look(self, width: int, scheme: str = "light", media: str = "") -> None:
        """As seen at this width (CSS pixels), in this colour scheme, on a screen or in print."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def picture(self) -> bytes:
        """A PNG of the whole page as it is looked at."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The page as it prints, on the paper that its style asks for."""
        printed = self.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(printed["data"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            assert time.monotonic() < end, "the browser does not answer"
            chunk = os.read(self._read, 1 << 16)
            assert chunk, "the browser has gone"
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(raw)
        return found


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with a profile of its own in `folder`, ended when it is left."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", command, "bash", PROGRAM, *FLAGS, f"--user-data-dir={folder / 'profile'}"],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_in, ours_out)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours_in)
        os.close(ours_out)
