"""`reviewer serve` over the wire: who is answered, with what, and how it ends."""

import asyncio
import os
import re
import signal
import socket
import sys
from pathlib import Path

import aiohttp
import pytest
from doors import PROGRAM, Door, environment
from served import PATIENCE, Served, alive, gone, served


@pytest.fixture
def page(full: Door):
    with served(full) as found:
        yield found


def test_it_says_where_it_is_and_listens_on_this_machine_alone(full: Door) -> None:
    with served(full) as at:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", at.address)
        outward = address_of_this_machine()
        if outward is not None:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((outward, at.port), timeout=PATIENCE)
        code, out, err = at.end()
    assert (code, out) == (0, "")
    assert str(full.root) in err
    assert "Ctrl-C ends it" in err
    assert "Traceback" not in err


def address_of_this_machine() -> str | None:
    """One that others could reach it by; nothing is sent to learn it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found: str = probe.getsockname()[0]
    return None if found.startswith("127.") else found


def test_the_port_can_be_chosen_and_one_that_is_taken_is_told(full: Door) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    with served(full, "--port", port) as at:
        assert at.port == port
        said = full.run("serve", "--port", port)
        assert said.code == 2
        assert f"port {port} of 127.0.0.1" in said.err
        assert "way out: another --port" in said.err
    assert full.run("serve", "--port", 70000).code == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_another_host_is_refused_with_what_it_would_expose(full: Door, host: str) -> None:
    said = full.run("serve", "--host", host)
    assert (said.code, said.out) == (2, "")
    for words in ("can read every trace", "sign with the keys", "nothing on the way is encrypted"):
        assert words in said.err
    assert "way out: --expose" in said.err


def test_exposing_it_says_what_that_means(full: Door) -> None:
    with served(full, "--host", "0.0.0.0", "--expose") as at:
        assert socket.gethostname().lower() in at.address.lower()
        here = at.get(at.path, Host=f"127.0.0.1:{at.port}") if at.host else None
        assert here is None or here.code == 200
        assert "nothing on the way is encrypted" in at.end()[2]


def test_without_the_extra_the_way_out_is_said(full: Door, tmp_path: Path) -> None:
    """As it is where only the program itself is installed."""
    blind = f"""
import sys
sys.modules["textual_serve"] = None
from reviewer.cli.main import main
sys.exit(main(["--workspace", {str(full.root)!r}, "serve"]))
"""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-P", "-c", blind], env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs the extra `serve`" in done.stderr
    assert "pip install 'release-reviewer[serve]'" in done.stderr


def test_a_folder_that_is_no_workspace_is_told_before_anything_listens(tmp_path: Path) -> None:
    said = Door(tmp_path / "nothing").run("serve")
    assert said.code != 0
    assert said.out == ""


# who is answered ----------------------------------------------------------------------------------


def test_the_page_is_made_of_what_is_here_and_tells_nothing_of_the_workspace(page: Served) -> None:
    whole = page.get(page.path)
    assert whole.code == 200
    assert set(re.findall(r"(?:src|href)=\"([^\"]+)\"", whole.body)) == {
        "data:,", "static/css/xterm.css", "page.js", "static/js/textual.js"
    }  # fmt: skip
    for url in re.findall(r"(?:https?:)?//[^\s\"')]+", whole.body):
        assert url.startswith(f"//127.0.0.1:{page.port}/")
    for word in ("refund", "attack-014", str(os.getpid()), "/store"):
        assert word not in whole.body
    policy = whole.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self';" in policy
    assert whole.headers["Referrer-Policy"] == "no-referrer"
    assert whole.headers["Cache-Control"] == "no-store"
    for part in re.findall(r"(?:src|href|url\()=?\"([^\"]+)\"", whole.body):
        if not part.startswith("data:"):
            assert page.get(page.path + part).code == 200, part


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:{port}"},
        {"Host": "localhost:{port}", "Origin": "http://127.0.0.1:{port}"},
    ],
)
def test_another_name_and_another_site_get_nothing(page: Served, headers: dict[str, str]) -> None:
    told = {name: value.format(port=page.port) for name, value in headers.items()}
    for path in ("", "page.js", "static/js/textual.js", "ws"):
        found = page.get(page.path + path, **told)
        assert found.code == 403
        assert found.body == "not here: open the address that the terminal shows\n"
    assert page.programs() == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/ws",
        "/static/js/textual.js",
        "/x" * 20,
        "/download/x",
        "/../../etc/passwd",
        "//",
        "/%00",
    ],
)
def test_without_the_token_there_is_nothing(page: Served, path: str) -> None:
    assert page.get(path).code == 403
    wrong = page.path[:-2] + ("A" if page.path[-2] != "A" else "B") + "/"
    assert page.get(wrong).code == 403


@pytest.mark.parametrize(
    "path", ["static/", "static/../page.html", "static/%2e%2e/server.py", "nothing", "download/x"]
)
def test_below_it_there_is_only_what_the_page_needs(page: Served, path: str) -> None:
    found = page.get(page.path + path)
    assert found.code in (403, 404)
    assert "Traceback" not in found.body
    assert "textual_serve" not in found.body


# the websocket ------------------------------------------------------------------------------------


def joined(page: Served, origin: str | None, host: str | None = None):
    headers = {} if origin is None else {"Origin": origin}
    if host is not None:
        headers["Host"] = host
    at = f"{page.address}ws?width=80&height=24".replace("http:", "ws:")
    return aiohttp.ClientSession().ws_connect(at, headers=headers)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, None),
        ("http://evil.example", None),
        ("http://localhost:{port}", None),
        ("https://127.0.0.1:{port}", None),
        ("null", None),
        ("http://evil.example:{port}", "evil.example:{port}"),
    ],
)
async def test_no_other_site_drives_it(page: Served, origin: str | None, host: str | None) -> None:
    """Even with the token: where a page is from is what its browser says, not what it says."""
    told = (text and text.format(port=page.port) for text in (origin, host))
    async with aiohttp.ClientSession() as session:
        asked, name = told
        headers = {k: v for k, v in (("Origin", asked), ("Host", name)) if v is not None}
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{page.address}ws".replace("http:", "ws:"), headers=headers)
    assert refused.value.status == 403
    assert page.programs() == []


async def drawn(socket: aiohttp.ClientWebSocketResponse, words: bytes) -> bytes:
    """All that was drawn until these words were."""
    found = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while words not in found:
                message = await socket.receive()
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), (
                    message,
                    found,
                )
                if message.type == aiohttp.WSMsgType.BINARY:
                    found += message.data
    except TimeoutError:
        pytest.fail(f"{words!r} was never drawn; what was: {found[-4000:]!r}")
    return found


async def test_a_page_has_a_program_of_its_own_that_ends_with_it(page: Served) -> None:
    ours = page.address.rstrip("/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session:
        at = f"{page.address}ws?width=100&height=30".replace("http:", "ws:")
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
            first = page.until_programs(1)
            async with session.ws_connect(at, headers={"Origin": ours}) as other:
                await drawn(other, b"attack-014")
                page.until_programs(2)
            page.until_programs(1)
            # What no page of ours says is dropped, and costs nobody his session.
            for odd in ("", "{", "[]", "[1]", '["stdin"]', '["stdin", 3]', '["resize", {}]',
                        "[" * 9999, '["resize", {"width": -5, "height": 99999999}]',
                        '["quit"]', '["meta", {}]', '["stdin", "\\ud800"]'):  # fmt: skip
                await socket.send_str(odd)
            await socket.send_bytes(b"\x00\xff")
            await socket.send_str('["resize", {"width": 90, "height": 28}]')
            await socket.send_str('["stdin", "?"]')
            await drawn(socket, b"keys")
    assert gone(first)
    assert page.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_ends_cleanly_with_pages_open(page: Served, number: int) -> None:
    ours = page.address.rstrip("/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session:
        at = f"{page.address}ws".replace("http:", "ws:")
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
            programs = page.until_programs(1)
            ending = asyncio.create_task(asyncio.to_thread(page.end, number))
            async for message in socket:
                assert message.type == aiohttp.WSMsgType.BINARY
            code, out, err = await ending
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert not any(alive(pid) for pid in programs)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
async def test_no_program_outlives_a_server_that_dies(page: Served, number: int) -> None:
    ours = page.address.rstrip("/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session:
        at = f"{page.address}ws".replace("http:", "ws:")
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
            programs = page.until_programs(1)
            os.kill(page.process.pid, number)
            assert await asyncio.to_thread(gone, programs)


@pytest.mark.nightly
async def test_a_program_that_does_not_end_is_ended(page: Served) -> None:
    """Nobody waits for it longer than a while."""
    ours = page.address.rstrip("/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session:
        at = f"{page.address}ws".replace("http:", "ws:")
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
            (program,) = page.until_programs(1)
            os.kill(program, signal.SIGSTOP)
    assert await asyncio.to_thread(gone, [program])
    assert page.end()[0] == 0


async def test_a_program_that_dies_closes_its_page_and_no_other(page: Served) -> None:
    ours = page.address.rstrip("/").rpartition("/")[0]
    async with aiohttp.ClientSession() as session:
        at = f"{page.address}ws".replace("http:", "ws:")
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
            (program,) = page.until_programs(1)
            os.kill(program, signal.SIGKILL)
            async with asyncio.timeout(PATIENCE):
                async for _ in socket:
                    pass
        async with session.ws_connect(at, headers={"Origin": ours}) as socket:
            await drawn(socket, b"attack-014")
    assert page.end()[0] == 0


def test_the_program_behind_a_page_tells_the_terminal_one_line_of_its_crash(full: Door) -> None:
    """A traceback holds what the program was looking at."""
    import subprocess

    crash = f"""
import sys
import reviewer.tui.app.app as app
def run(desk, settings):
    secret = "text of a trace"
    sys.__stderr__.write("Traceback, local variables: " + secret + "\\n")
    sys.__stderr__.write("KeyError: \\x1b[31m x\\n")
    return 40
app.run = run
from reviewer.cli.main import main
sys.exit(main(["--workspace", {str(full.root)!r}, "_page"]))
"""
    words = [PROGRAM[0], "-P", "-c", crash]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.stderr == "a page: KeyError: ␛[31m x\n"
