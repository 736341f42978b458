"""A child's room: what it is given, what it sees, what it may do, and that nothing of it stays."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
import venv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_guests import KINDS, hold, running, up, workspace, written

import reviewer
from reviewer.running.sandbox import keeper, room
from reviewer.running.sandbox.keeper import remove
from reviewer.running.sandbox.protection import Protection, describe, protection
from reviewer.running.sandbox.room import (
    Child,
    ChildExit,
    Order,
    OutputFlood,
    Pipes,
    StartFailure,
    start,
    strays,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

WAIT_S = 60.0


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    hold(request.param, monkeypatch)
    return str(request.param)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


@pytest.fixture
def far() -> Iterator[Path]:
    """A folder that lies in no folder which children find empty anyway."""
    try:
        place = Path(tempfile.mkdtemp(prefix="reviewer-test-", dir="/var/tmp"))
    except OSError as error:
        pytest.skip(f"/var/tmp: {error}")
    yield place
    shutil.rmtree(place)


def order(suite: Path, program: str, **more: Any) -> Order:
    guest = written(suite / "candidates" / "guest.py", program)
    argv = (sys.executable, str(guest))
    return Order(argv, suite, opened=(suite / "candidates",), **more)


async def said(asked: Order) -> Any:
    """What a child that reports in one line of JSON says."""
    child = await start(asked)
    try:
        return json.loads(await first_line(child))
    finally:
        await child.close(1)


async def first_line(child: Child) -> bytes:
    """What a child says that does not wait until it is asked, as `ask` would have it do."""
    child.tell({})
    async with asyncio.timeout(WAIT_S):
        return await child.line()


# what it is given ---------------------------------------------------------------------------------


async def test_a_child_is_given_four_variables_and_what_its_order_names(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVIEWER_TEST_SECRET", "not for children")
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    found = await said(order(suite, program, environment={"GIVEN": "yes", "HOME": "/root"}))
    assert found.keys() - {"PWD", "LC_CTYPE"} == {"PATH", "LANG", "HOME", "TMPDIR", "GIVEN"}
    assert found["HOME"] == found["TMPDIR"] != "/root"


async def test_a_child_stands_in_an_empty_folder_of_its_own_that_is_gone_afterwards(
    kind: str, suite: Path
) -> None:
    program = """
        import json, os
        home = os.environ["HOME"]
        found = [os.getcwd() == home, oct(os.stat(home).st_mode & 0o777), os.listdir(home), home]
        open("left", "w").write("x")
        print(json.dumps(found))
    """
    same, mode, content, home = await said(order(suite, program))
    assert (same, mode, content) == (True, "0o700", [])
    assert not os.path.exists(home)


async def test_limits_are_set_before_the_child_begins(kind: str, suite: Path) -> None:
    program = """
        import json, resource as r
        names = ("CORE", "CPU", "FSIZE", "NOFILE")
        print(json.dumps([r.getrlimit(getattr(r, "RLIMIT_" + name))[1] for name in names]))
    """
    core, cpu, size, files = await said(order(suite, program))
    assert core == 0
    assert min(cpu, size, files) > 0  # not unlimited, which is -1
    assert (cpu, size, files) <= (4 * 3600, 1024**3, 4096)


async def test_signals_are_as_any_program_expects_them(kind: str, suite: Path) -> None:
    program = """
        import json, signal
        print(json.dumps(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))))
    """
    assert await said(order(suite, program)) == []


# what it sees and may do --------------------------------------------------------------------------


READER = """
    import json, os, sys
    def tried(path):
        try:
            return sorted(os.listdir(path)) if os.path.isdir(path) else open(path).read()
        except OSError as error:
            return "refused"
    print(json.dumps([tried(path) for path in {paths!r}]))
"""


@pytest.mark.parametrize("where", ["below /tmp", "elsewhere"])
async def test_of_the_workspace_a_child_sees_only_what_is_opened_to_it(
    kind: str, where: str, request: pytest.FixtureRequest
) -> None:
    root = request.getfixturevalue("tmp_path" if where == "below /tmp" else "far")
    suite = workspace(root / "desk")
    episode, store = suite / "episodes" / "e-1.json", root / "desk" / "store" / "review.db"
    mine = written(suite / "candidates" / "mine.txt", "mine")
    paths = [str(path) for path in (episode, store, mine)]
    found = await said(order(suite, READER.format(paths=paths)))
    if kind == "none":
        assert found == ["the expectation", "evidence", "mine"]
    else:
        assert found == ["refused", "refused", "mine"]


async def test_an_environment_below_tmp_is_seen_with_its_interpreter_and_nothing_beside_it(
    kind: str, suite: Path, tmp_path: Path
) -> None:
    home = tmp_path / "agent"
    venv.create(home, symlinks=True)
    beside = written(tmp_path / "beside.txt", "of another process")
    module = written(next(home.glob("lib/python3*/site-packages")) / "mine.py", "mine = 1")
    paths = [str(path) for path in (module, beside)]
    guest = written(suite / "candidates" / "guest.py", READER.format(paths=paths))
    argv = (str(home / "bin" / "python"), str(guest))
    found = await said(Order(argv, suite, opened=(suite / "candidates",)))
    assert found == ["mine = 1", "of another process" if kind == "none" else "refused"]


async def test_an_environment_around_a_workspace_opens_nothing_of_it(
    kind: str, suite: Path, tmp_path: Path
) -> None:
    if kind == "none":
        pytest.skip("nothing hides it, as `describe` says")
    home = tmp_path / "desk"
    venv.create(home, symlinks=True)
    store, episode = home / "store" / "review.db", suite / "episodes" / "e-1.json"
    paths = [str(store), str(episode)]
    guest = written(suite / "candidates" / "guest.py", READER.format(paths=paths))
    argv = (str(home / "bin" / "python"), str(guest))
    found = await said(Order(argv, suite, opened=(suite / "candidates",)))
    assert found == ["refused", "refused"]


async def test_keys_in_the_home_folder_are_hidden_and_the_rest_of_it_is_not(
    kind: str, far: Path, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "none":
        pytest.skip("nothing hides them, as `describe` says")
    written(far / ".ssh" / "id_ed25519", "a key")
    written(far / ".netrc", "a password")
    written(far / ".codex" / "auth.json", "a login")
    written(far / ".claude" / "projects" / "lamps" / "s.jsonl", "what was said")
    written(far / ".claude" / "local" / "claude", "a program")
    written(far / "agent.txt", "harmless")
    monkeypatch.setenv("HOME", str(far))
    names = (
        *(".ssh/id_ed25519", ".netrc", ".codex/auth.json", ".claude/projects/lamps/s.jsonl"),
        *(".claude/local/claude", "agent.txt"),
    )
    paths = [str(far / name) for name in names]
    key, password, login, session, *rest = await said(order(suite, READER.format(paths=paths)))
    assert key == session == "refused"
    assert {password, login} <= {"", "refused"}
    assert rest == ["a program", "harmless"]


async def test_a_child_writes_in_its_own_folder_only(kind: str, far: Path, suite: Path) -> None:
    program = f"""
        import json, os
        def tried(path):
            try:
                open(path, "w").write("x")
                return True
            except OSError:
                return False
        print(json.dumps([tried(path) for path in ("here", {str(far / "there")!r},
                          {str(suite / "candidates" / "there")!r}, {str(suite / "there")!r})]))
    """
    here, *elsewhere = await said(order(suite, program))
    assert here
    if kind != "none":  # which cannot hold it back, as `describe` says
        assert elsewhere == [False] * 3
        assert not (far / "there").exists()
        assert not (suite / "candidates" / "there").exists()


@linux
async def test_a_child_cannot_read_what_we_keep_in_our_environment(kind: str, suite: Path) -> None:
    if kind == "none":
        pytest.skip("nothing holds it back, as `describe` says")
    program = READER.format(paths=[f"/proc/{os.getpid()}/environ"])
    assert await said(order(suite, program)) == ["refused"]


@pytest.mark.parametrize("granted", [False, True])
async def test_the_network_is_reached_only_when_it_is_granted(
    kind: str, granted: bool, suite: Path
) -> None:
    if kind == "none" or (
        kind == "landlock" and keeper.landlock_version() < keeper.LANDLOCK_SEES_TCP
    ):
        pytest.skip("nothing holds it back, as `describe` says")
    program = """
        import json, socket, sys
        try:
            socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
            print(json.dumps(True))
        except OSError:
            print(json.dumps(False))
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = order(suite, program, network=granted)
        asked = asked._replace(argv=(*asked.argv, str(server.getsockname()[1])))
        assert await said(asked) is granted


async def test_a_child_in_bubblewrap_cannot_take_the_covers_off(
    suite: Path, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("bubblewrap", monkeypatch)
    suite = workspace(far / "desk")
    program = f"""
        import ctypes, json, os
        library = ctypes.CDLL(None, use_errno=True)
        covers = ({str(suite.parent)!r}, "/tmp")
        done = [library.umount2(path.encode(), 2) for path in covers]
        library.unshare(0x10000000 | 0x00020000)  # a user and a mount namespace
        done += [library.umount2(path.encode(), 2) for path in covers]
        print(json.dumps([done, os.listdir(covers[0])]))
    """
    done, seen = await said(order(suite, program))
    assert done == [-1] * 4
    assert seen == [suite.name]
    assert (suite / "episodes" / "e-1.json").exists()


names = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map(tuple)


@given(files=st.sets(names, max_size=8), hidden=st.sets(names, max_size=3))
def test_what_landlock_allows_is_all_that_is_not_hidden(
    files: set[tuple[str, ...]], hidden: set[tuple[str, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        for parts in files:
            Path(root, *parts, "file").parent.mkdir(parents=True, exist_ok=True)
            Path(root, *parts, "file").touch()
        covers = [str(Path(root, *parts)) for parts in hidden]
        allowed = [Path(path) for path in keeper.visible_around(root, covers)]
        for file in Path(root).rglob("file"):
            open_to_it = any(file.is_relative_to(path) for path in allowed)
            assert open_to_it is not any(file.is_relative_to(path) for path in covers)


def test_a_link_to_a_hidden_place_is_not_allowed(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "way").symlink_to("hidden")
    assert list(keeper.visible_around(str(tmp_path), [str(tmp_path / "hidden")])) == []


def test_what_holds_children_here_is_said_in_one_line() -> None:
    kinds = [Protection("bubblewrap", ("bwrap",)), Protection("landlock", landlock=7)]
    sentences = [describe(held) for held in (*kinds, Protection("none"), protection())]
    assert sentences[3] in {describe(protection())}
    assert [text.split(":")[0] for text in sentences[:3]] == [
        "bubblewrap",
        "Landlock",
        "no isolation",
    ]
    assert "can read the suite's expectations" in sentences[2]
    assert not any("\n" in text for text in sentences)


# how it ends --------------------------------------------------------------------------------------


LEAVES = """
    import os, subprocess, sys
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)", {token!r}]
    subprocess.Popen(sleeper, start_new_session=True, env={{}}, cwd="/",
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, sleeper)
        os._exit(0)
    os.wait()
    subprocess.Popen(sleeper)
    print("[1]", flush=True)
    {then}
"""


@linux
@pytest.mark.parametrize("then", ["sys.stdin.read()", "sys.exit()", "while True: pass"])
async def test_all_that_a_child_started_ends_with_it(kind: str, then: str, suite: Path) -> None:
    token = uuid.uuid4().hex
    child = await start(order(suite, LEAVES.format(token=token, then=then)))
    try:
        await first_line(child)
        if then != "sys.exit()":
            await up(token, 3)
    finally:
        await child.close()
    assert running(token) == []


@linux
async def test_a_child_that_kills_its_keeper_gains_nothing(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("none", monkeypatch)
    token = uuid.uuid4().hex
    program = f"""
        import os, signal, subprocess, sys, time
        sys.stdin.readline()
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", {token!r}],
                         start_new_session=True, stdout=subprocess.DEVNULL)
        open("left", "w").write("x")
        print('"' + os.environ["HOME"] + '"', flush=True)
        sys.stdin.readline()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    """
    child = await start(order(suite, program))
    home = json.loads(await first_line(child))
    await up(token, 1)
    with pytest.raises(ChildExit):
        await child.ask({}, WAIT_S)
    await child.close()
    assert running(token) == []
    assert strays(home) == []
    assert not os.path.exists(home)


async def test_landlock_keeps_a_child_from_its_keeper(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("landlock", monkeypatch)
    if keeper.landlock_version() < keeper.LANDLOCK_SEES_SIGNALS:
        pytest.skip("the kernel's Landlock does not hold signals back")
    program = """
        import json, os, signal
        try:
            os.kill(os.getppid(), signal.SIGKILL)
            print(json.dumps("sent"))
        except PermissionError:
            print(json.dumps("refused"))
    """
    assert await said(order(suite, program)) == "refused"


@linux
@pytest.mark.parametrize("held", KINDS)
def test_children_do_not_outlive_us(
    held: str, suite: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hold(held, monkeypatch)
    token = uuid.uuid4().hex
    written(
        suite / "candidates" / "guest.py",
        LEAVES.format(token=token, then="__import__('signal').pause()"),
    )
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    starter = f"""
        import asyncio, sys
        from pathlib import Path
        from reviewer.running.sandbox import room
        from reviewer.running.sandbox.protection import Protection
        room.protection = lambda: {room.protection()!r}
        async def main():
            suite = Path({str(suite)!r})
            argv = (sys.executable, str(suite / "candidates" / "guest.py"))
            child = await room.start(room.Order(argv, suite, opened=(suite / "candidates",)))
            child.tell({{}})
            await child.line()
            print("up", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    script = written(tmp_path / "starter.py", starter)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(reviewer.__file__).parents[1]),
        "TMPDIR": str(rooms),
    }
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    asyncio.run(up(token, 3))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 30
    while (running(token) or list(rooms.iterdir())) and time.monotonic() < until:
        time.sleep(0.02)
    assert running(token) == []
    assert list(rooms.iterdir()) == []


async def test_a_start_that_is_given_up_leaves_nothing(
    kind: str, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    starting = asyncio.ensure_future(start(order(suite, "input()")))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("reviewer")] == []


async def test_a_start_that_is_given_up_once_the_child_is_at_work_ends_it(
    kind: str, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop does something else until the child runs: it has not heard of its pipes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    token = uuid.uuid4().hex
    again = f"os.execv(sys.executable, [sys.executable, '-c', 'input()', {token!r}])"
    starting = asyncio.ensure_future(start(order(suite, f"import os, sys; {again}")))
    for _ in range(2):
        await asyncio.sleep(0)
    begun = time.monotonic()
    while not running(token) and time.monotonic() - begun < WAIT_S:
        time.sleep(0.02)
    assert running(token)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert running(token) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("reviewer")] == []


@linux
def test_a_child_whose_keeper_is_killed_at_once_never_begins(tmp_path: Path) -> None:
    killed = f"""
        import os, signal, sys, time
        sys.path.insert(0, {str(Path(keeper.__file__).parent)!r})
        import keeper
        fork = os.fork
        def slowly():
            me = os.getpid()
            if fork():
                os.kill(me, signal.SIGKILL)
            while os.getppid() == me:
                time.sleep(0.01)
            return 0
        os.fork = slowly
        keeper.main()
    """
    asked = {
        "argv": [sys.executable, "-c", "print('ran')"],
        "bubblewrap": False, "filter": "", "parent": os.getpid(), "room": str(tmp_path),
        "limits": {}, "landlock": None,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(written(tmp_path / "killed.py", killed)), json.dumps(asked)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == b""


async def test_a_program_that_cannot_be_run_never_was_a_child(kind: str, suite: Path) -> None:
    program = written(suite / "candidates" / "guest", "#!/nowhere/at/all\n", executable=True)
    child = await start(Order((str(program),), suite, opened=(suite / "candidates",)))
    try:
        with pytest.raises(StartFailure) as caught:
            await child.ask({}, WAIT_S)
    finally:
        await child.close()
    assert not caught.value.sandbox
    assert "guest" in str(caught.value)


async def test_a_room_that_cannot_be_made_is_told_from_a_program_that_ends(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("bubblewrap", monkeypatch)
    held = room.protection()
    broken = held._replace(bubblewrap=(*held.bubblewrap, "--bind", "/nowhere/at/all", "/tmp"))
    monkeypatch.setattr(room, "protection", lambda: broken)
    child = await start(order(suite, "print('[]')"))
    try:
        with pytest.raises(StartFailure) as caught:
            await child.ask({}, WAIT_S)
    finally:
        await child.close()
    assert caught.value.sandbox


@pytest.mark.parametrize("status", [0, 1, 77])
async def test_the_exit_status_is_the_childs_own(kind: str, status: int, suite: Path) -> None:
    child = await start(order(suite, f"raise SystemExit({status})"))
    try:
        with pytest.raises(ChildExit) as caught:
            await child.ask({}, WAIT_S)
    finally:
        await child.close()
    assert caught.value.status == status


# the folder, whatever was done in it --------------------------------------------------------------


def test_a_folder_is_removed_whatever_was_done_in_it(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside" / "kept.txt", "kept")
    outside.parent.chmod(0o711)
    home = tmp_path / "home"
    home.mkdir()
    (home / "to-folder").symlink_to(outside.parent)
    (home / "to-file").symlink_to(outside)
    (home / "to-nothing").symlink_to("nowhere")
    os.mkfifo(home / "fifo")
    written(home / "closed" / "deeper" / "file", "x")
    (home / "closed" / "deeper").chmod(0o000)
    (home / "closed").chmod(0o500)
    home.chmod(0o000)
    remove(str(home))
    assert not os.path.lexists(home)
    assert outside.read_text() == "kept"
    assert outside.parent.stat().st_mode & 0o777 == 0o711


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    here = os.open(home, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep" * 10, dir_fd=here)
        below = os.open("deep" * 10, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        remove(str(home))
        assert not home.exists()
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=False)  # pytest itself could not


# its lines ----------------------------------------------------------------------------------------


@given(
    line=st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"")),
    cuts=st.lists(st.integers(0, 200), max_size=5),
)
def test_a_line_is_the_same_however_it_is_cut(line: bytes, cuts: list[int]) -> None:
    pipes, data = Pipes(), line + b"\n"
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in pairwise(edges):
        pipes.pipe_data_received(1, data[begin:end])
    assert list(pipes.lines) == [line]
    assert not pipes.flood


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.stdout.write('x' * (9 << 20)); sys.stdout.flush(); input()", "a line of"),
        ("import sys\nwhile True: sys.stderr.write('x' * 65536)", "more than 64 MiB"),
        ("print('{}'); print('{}'); input()", "before it was asked"),
        ("while True: print()", "before it was asked"),
    ],
)
async def test_a_flood_is_not_swallowed(
    program: str, told: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("none", monkeypatch)
    child: Child = await start(order(suite, program))
    try:
        with pytest.raises(OutputFlood, match=told):
            await asked_twice(child)
    finally:
        await child.close()


async def asked_twice(child: Child) -> None:
    for _ in range(2):
        await child.ask({}, WAIT_S)


async def test_a_line_written_too_early_is_no_answer(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("none", monkeypatch)
    program = """
        import sys
        print("{}", flush=True)
        print("it is out", flush=True, file=sys.stderr)
        sys.stdin.readline()
    """
    child = await start(order(suite, program))
    try:
        async with asyncio.timeout(WAIT_S):
            while not child.last_lines():
                await asyncio.sleep(0.01)
        with pytest.raises(OutputFlood, match="before it was asked"):
            await child.ask({}, WAIT_S)
    finally:
        await child.close()
