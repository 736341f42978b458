"""What one page may take of the server and of its program, however much is sent to it."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from served import PATIENCE
from textual.app import App
from textual.events import Key, Resize
from textual.geometry import Size

from reviewer.web import server
from reviewer.web.driver import MOST_WAITING, PageDriver
from reviewer.web.guard import Guest, guard_for

pytestmark = pytest.mark.filterwarnings("ignore::aiohttp.web.NotAppKeyWarning")

KIM, DANA = Guest("kim", "view", "kim"), Guest("dana", "decide", "dana")
ENDS_WHEN_SPOKEN_TO = "sys.stdin.buffer.read(1)"
READS_ALL = "while sys.stdin.buffer.read(1 << 16): pass"
READS_NOTHING = "time.sleep(3600)"
DRAWS_MUCH = "out = sys.stdout.buffer; while out.write(b'D\\0\\1\\0\\0' + bytes(1 << 16)): pass"


class Pages:
    """Pages of a server whose program is a few words."""

    def __init__(self, at: TestServer, session: aiohttp.ClientSession) -> None:
        self._at, self._session = at, session

    async def close(self) -> None:
        """End the server, as Ctrl-C does."""
        await self._at.close()

    async def open(self, name: str) -> aiohttp.ClientWebSocketResponse:
        origin = str(self._at.make_url("/")).rstrip("/")
        return await self._session.ws_connect(
            self._at.make_url(f"/{name}/ws"), headers={"Origin": origin}
        )


async def typed(page: aiohttp.ClientWebSocketResponse, keys: str) -> None:
    await page.send_str(json.dumps(["stdin", keys]))


async def ended(page: aiohttp.ClientWebSocketResponse) -> int | None:
    async with asyncio.timeout(PATIENCE):
        async for _ in page:
            pass
    return page.close_code


@pytest.fixture
async def pages(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Pages]:
    monkeypatch.setattr(server, "PATIENCE", 0.1)
    program = f"import sys, time; print('__GANGLION__', flush=True); {request.param}"
    program = program.replace("; while", "\nwhile")  # which stands on a line of its own
    guard = guard_for({"kim": KIM, "dana": DANA}, loopback=True)
    door = server.Door(guard, lambda guest: [sys.executable, "-S", "-c", program])
    async with TestServer(door.application()) as at, aiohttp.ClientSession() as session:
        yield Pages(at, session)


@pytest.mark.parametrize("pages", [ENDS_WHEN_SPOKEN_TO], indirect=True)
async def test_a_person_has_so_many_pages_and_no_more(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a process: anyone with an address could fill the machine with them."""
    monkeypatch.setattr(server, "MOST_PAGES", 1)
    first = await pages.open("kim")
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await pages.open("kim")
    assert refused.value.status == 503
    await pages.open("dana")
    await typed(first, "q")
    await ended(first)
    for _ in range(1000):  # until its program has ended too
        try:
            await pages.open("kim")
            break
        except aiohttp.WSServerHandshakeError:
            await asyncio.sleep(0.01)
    else:
        pytest.fail("a page that was closed counts for ever")


@pytest.mark.parametrize("pages", [READS_ALL], indirect=True)
@pytest.mark.parametrize("begin", [["\x1b[200~"], ["\x1b[20", "0~"], ["\x1b[20\ud800", "0~"]])
async def test_a_paste_that_never_ends_ends_the_page(
    pages: Pages, begin: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program keeps a paste in memory until it ends."""
    monkeypatch.setattr(server, "MOST_TYPED", 100_000)
    page = await pages.open("kim")
    for _ in range(3):
        await typed(page, "a" * 60_000)  # typed, and pasted as a whole: both go on
        await typed(page, "\x1b[200~" + "a" * 60_000 + "\x1b[201~")
    for part in begin:
        await typed(page, part)
    for _ in range(2):
        await typed(page, "a" * 60_000)
    assert await ended(page) == aiohttp.WSCloseCode.MESSAGE_TOO_BIG


@pytest.mark.parametrize("pages", [READS_NOTHING], indirect=True)
async def test_a_program_that_is_typed_to_faster_than_it_reads_is_left(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for it, the server could not be ended."""
    monkeypatch.setattr(server, "MOST_UNREAD", 1 << 20)
    page = await pages.open("kim")
    for _ in range(4):
        await typed(page, "j" * (1 << 19))
    assert await ended(page) == aiohttp.WSCloseCode.MESSAGE_TOO_BIG


@pytest.mark.parametrize("pages", [DRAWS_MUCH], indirect=True)
async def test_a_page_that_takes_nothing_does_not_keep_the_server_from_ending(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CLOSING", 0.1)
    page = await pages.open("kim")
    await page.receive()
    await asyncio.sleep(0.5)  # what it draws stands in front of what is said at the end
    async with asyncio.timeout(PATIENCE):
        await pages.close()


# the program ---------------------------------------------------------------------------------


@pytest.fixture
def nothing_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.drivers.web_driver.InputReader", list)


@pytest.mark.usefixtures("nothing_to_read")
async def test_a_size_is_not_typed() -> None:
    """The server limits the sizes that a page sets; a terminal's report of its size is typed."""
    app = App[None]()
    driver = PageDriver(app)
    driver.process_message(Resize(Size(60_000, 60_000), Size(60_000, 60_000)))
    await asyncio.sleep(0)
    assert app.message_queue_size == 0


@pytest.mark.usefixtures("nothing_to_read")
async def test_keys_wait_until_the_program_has_taken_those_before() -> None:
    app = App[None]()
    driver = PageDriver(app)

    def type_many() -> None:
        for _ in range(3 * MOST_WAITING):
            driver.process_message(Key("j", "j"))

    typing = threading.Thread(target=type_many)
    typing.start()
    while typing.is_alive() and app.message_queue_size <= MOST_WAITING:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    waiting = app.message_queue_size
    driver.exit_event.set()
    typing.join()
    assert MOST_WAITING < waiting < 2 * MOST_WAITING
