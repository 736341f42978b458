"""The workstation in a real browser: opened, read, driven by keys and mouse, and left alone by
other pages."""

import asyncio
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import browser, found
from doors import SUITE, V7, Door, passing
from served import Served, served

pytestmark = pytest.mark.skipif(found() is None, reason="no chromium on this machine's PATH")

CURSOR = re.compile(r"^›[ !]?([\w-]+)", re.MULTILINE)


@pytest.fixture
def page(full: Door) -> Iterator[Served]:
    with served(full) as at:
        yield at


async def test_the_scorecard_shows_a_key_moves_and_enter_opens_the_trajectory(
    page: Served, tmp_path: Path
) -> None:
    async with browser(tmp_path / "profile") as tab:
        await tab.open(page.address)
        shown = await tab.until("▲ BLOCK", "attack-014", "damaged-221", f"suite {SUITE}", V7)
        assert CURSOR.findall(shown)[0] == "attack-014"
        await tab.press("ArrowDown", code=40)
        await tab.when(lambda shown: CURSOR.findall(shown)[:1] == ["appeal-009"], "the row below")
        await tab.press("k", text="k")
        await tab.when(lambda shown: CURSOR.findall(shown)[:1] == ["attack-014"], "the row above")
        await tab.press("Enter", text="\r", code=13)
        await tab.until("[Trajectory]", "issue_refund", "attempt 1")
        await tab.press("Escape", code=27)
        await tab.until("[Scorecard]")
        assert (await tab.evaluate("document.title")) == "reviewer"
        # Everything came from here, nothing was refused by the page's own rules, nothing failed.
        ours = (f"http://127.0.0.1:{page.port}/", f"ws://127.0.0.1:{page.port}/", "data:")
        assert [url for url in tab.requests if not url.startswith(ours)] == []
        assert [text for text in tab.said if not text.startswith("ping=")] == []
        family = "document.fonts.check('16px \"Roboto Mono\"')"
        assert await tab.evaluate(family), "the font came from here too"


async def test_the_mouse_chooses_a_row_and_a_screen(page: Served, tmp_path: Path) -> None:
    async with browser(tmp_path / "profile") as tab:
        await tab.open(page.address)
        shown = (await tab.until("▲ BLOCK", "damaged-221")).split("\n")
        high = await tab.evaluate(
            "document.querySelector('.xterm-screen').clientHeight / window.held.terminal.rows"
        )
        row = next(y for y, line in enumerate(shown) if "damaged-221" in line)
        await tab.click(40, (row + 0.5) * high)
        await tab.when(lambda shown: CURSOR.findall(shown)[:1] == ["damaged-221"], "the row")
        wide = await tab.evaluate(
            "document.querySelector('.xterm-screen').clientWidth / window.held.terminal.cols"
        )
        await tab.click((shown[0].index("Decision") + 2) * wide, high / 2)
        await tab.until("[Decision]")


async def test_quitting_ends_the_session_and_it_opens_again(page: Served, tmp_path: Path) -> None:
    async with browser(tmp_path / "profile") as tab:
        await tab.open(page.address)
        await tab.until("▲ BLOCK")
        await tab.ask(
            "Input.dispatchKeyEvent", type="rawKeyDown", key="q", modifiers=2,
            windowsVirtualKeyCode=81,
        )  # fmt: skip
        await tab.found("getComputedStyle(document.getElementById('ended')).display !== 'none'")
        page.until_programs(0)
        await tab.press("Enter", text="\r", code=13)
        await tab.until("▲ BLOCK")


async def test_an_address_in_a_trace_is_text_and_no_way_out(full: Door, tmp_path: Path) -> None:
    """A terminal in a browser makes links of what looks like one."""
    record = passing(candidate_id="cand-a", final_state="http://evil.example/x")
    full.take("a.jsonl", [record])
    with served(full) as at:
        async with browser(tmp_path / "profile") as tab:
            await tab.open(at.address)
            await tab.until("▲ BLOCK")
            for key in ("c",):
                await tab.press(key, text=key)
            await tab.until("cand-a")
            assert await tab.evaluate("window.open('http://evil.example/') === null")
            assert await tab.evaluate("window.open() === null")
            assert not any("evil.example" in url for url in tab.requests)


class _Evil(http.server.BaseHTTPRequestHandler):
    """A site of somebody else's, that knows even the address."""

    page = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: object) -> None:
        pass


async def test_a_page_of_another_site_cannot_drive_it(page: Served, tmp_path: Path) -> None:
    script = f"""
<script>
window.told = [];
const socket = new WebSocket("{page.address.replace("http:", "ws:")}ws?width=80&height=24");
socket.onopen = () => window.told.push("open");
socket.onmessage = () => window.told.push("message");
socket.onerror = () => window.told.push("refused");
fetch("{page.address}").then(a => a.text()).then(t => window.told.push("read " + t))
  .catch(() => window.told.push("unread"));
</script>
<iframe src="{page.address}"></iframe>
"""
    _Evil.page = script.encode()
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        async with browser(tmp_path / "profile") as tab:
            await tab.open(f"http://localhost:{site.server_port}/")
            told = await tab.found("(window.told || []).length > 1 && window.told")
            assert sorted(told) == ["refused", "unread"]
            await asyncio.sleep(0.5)
            assert page.programs() == [], "not even the frame started one"
    finally:
        site.shutdown()
        site.server_close()
