"""The fence: no child reaches a socket of this machine, or reads what another candidate is."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_guests import KINDS, hold, workspace, written

from reviewer.running.candidates.belongings import of_others
from reviewer.running.sandbox import fence, protection
from reviewer.running.sandbox.protection import Protection, describe
from reviewer.running.sandbox.room import Order, start
from reviewer.suite.candidate import Candidate, candidate_value

WAIT_S = 60.0


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    hold(request.param, monkeypatch)
    return str(request.param)


@pytest.fixture
def filtered() -> None:
    if not fence.filters_here():
        pytest.skip("this kernel takes no such filter")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


@pytest.fixture
def plain() -> Iterator[Path]:
    """A folder that no protection hides: a socket in it can be named."""
    place = Path(tempfile.mkdtemp(prefix="reviewer-test-", dir="/var/tmp"))
    yield place
    shutil.rmtree(place)


async def said(suite: Path, program: str, *words: str, **more: Any) -> Any:
    guest = written(suite / "candidates" / "guest.py", program)
    argv = (sys.executable, str(guest), *words)
    child = await start(Order(argv, suite, opened=(suite / "candidates",), **more))
    try:
        child.tell({})  # not `ask`: these programs do not wait, and may have said it before
        async with asyncio.timeout(WAIT_S):
            return json.loads(await child.line())
    finally:
        await child.close(1)


SIGNS = """
    import json, os, socket, struct, sys
    tries = {}
    def tried(name, work):
        try:
            tries[name] = work()
        except OSError as error:
            tries[name] = error.errno
    def ask(connection):
        connection.sendall(struct.pack(">IB", 1, 11))
        return connection.recv(5)[4]
    def by_path():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(sys.argv[1])
            return ask(one)
    def by_pair():
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        one.connect(sys.argv[1])
        return 12
    def by_stream_pair():
        one, other = socket.socketpair()
        one.connect(sys.argv[1])
        return ask(one)
    def by_input():
        one = socket.socket(fileno=os.dup(0))
        one.connect(sys.argv[1])
        return ask(one)
    for work in (by_path, by_pair, by_stream_pair, by_input):
        tried(work.__name__, work)
    print(json.dumps(tries))
"""


async def test_no_child_has_an_agent_sign(
    kind: str, filtered: None, suite: Path, plain: Path
) -> None:
    """The agent lies where every protection lets a child look: only the filter is in the way."""
    path = str(plain / "agent")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(path):
            assert agent.poll() is None
        found = await said(suite, SIGNS, path)
    finally:
        agent.kill()
        agent.wait()
    assert set(found) == {"by_path", "by_pair", "by_stream_pair", "by_input"}
    assert 12 not in found.values(), "the agent answered with its list of keys"


async def test_without_the_filter_the_agent_answers(suite: Path, plain: Path, monkeypatch) -> None:
    """The attempt above is one that succeeds: else the test could not fail."""
    hold("none", monkeypatch)
    from reviewer.running.sandbox import room

    monkeypatch.setattr(room, "protection", lambda: Protection("none", why_not="a test"))
    path = str(plain / "agent")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(path):
            assert agent.poll() is None
        found = await said(suite, SIGNS, path)
    finally:
        agent.kill()
        agent.wait()
    assert found["by_path"] == 12


@pytest.mark.parametrize("granted", [False, True])
async def test_only_sockets_of_a_granted_network_can_be_made(
    kind: str, filtered: None, granted: bool, suite: Path
) -> None:
    program = """
        import ctypes, json, os, socket
        made = {}
        for family in range(45):
            for sort in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
                try:
                    socket.socket(family, sort).close()
                    made.setdefault(family, []).append(sort)
                except OSError:
                    pass
        library = ctypes.CDLL(None, use_errno=True)
        ring = library.syscall(425, 4, ctypes.create_string_buffer(120))
        pair = [one.close() for one in socket.socketpair()]
        print(json.dumps([sorted(map(int, made)), ring, ctypes.get_errno(), len(pair)]))
    """
    families, ring, error, pair = await said(suite, program, network=granted)
    open_here = {socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    if kind == "landlock" and not granted:
        open_here = set()
    assert set(families) <= open_here
    assert (ring, error) == (-1, 38)
    assert pair == 2, "a pair of stream sockets is a pipe, and programs need it"


LEAVES = """
    import ctypes, json, os, resource, sys
    library = ctypes.CDLL(None, use_errno=True)
    done = {}
    def tried(name, number, *given):
        ctypes.set_errno(0)
        done[name] = [library.syscall(number, *given), ctypes.get_errno()]
    if os.uname().machine == "x86_64":
        memory, semaphores, messages, key = 29, 64, 68, 248
    else:
        memory, semaphores, messages, key = 194, 190, 186, 217
    tried("memory", memory, 0x5EED5EED, 4096, 0o1600)
    tried("semaphores", semaphores, 0x5EED5EED, 1, 0o1600)
    tried("messages", messages, 0x5EED5EED, 0o1600)
    tried("key", key, b"user", b"reviewer-test", b"x", 1, ctypes.c_int(-4))
    print(json.dumps(done))
"""


async def test_nothing_that_the_kernel_keeps_is_left_for_the_next_attempt(
    kind: str, filtered: None, suite: Path
) -> None:
    found = await said(suite, LEAVES)
    assert found == {key: [-1, 38] for key in ("memory", "semaphores", "messages", "key")}


CHANGES = """
    import fcntl, json, os, resource, struct, sys
    refused = {}
    def tried(name, work):
        try:
            work()
            refused[name] = False
        except OSError:
            refused[name] = True
    path, ours = sys.argv[1], int(sys.argv[2])
    reading = os.open(path, os.O_RDONLY)
    tried("attribute", lambda: os.setxattr(path, "user.reviewer", b"1"))
    flags = struct.pack("l", 0x80)
    tried("flags", lambda: fcntl.ioctl(reading, 0x40086602, flags))
    for work in (
        lambda: os.chmod(path, 0o644), lambda: os.fchmod(reading, 0o644),
        lambda: os.utime(path, (5, 5)), lambda: os.utime(reading, (5, 5)),
        lambda: os.chown(path, os.getuid(), os.getgid()),
    ):
        tried("ignored", work)
    tried("limits", lambda: resource.prlimit(ours, resource.RLIMIT_CPU, (1, 1)))
    resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
    tried("terminals", lambda: os.listdir("/dev/pts"))
    with open("own", "w") as own:
        own.write("x")
    os.chmod("own", 0o600)
    print(json.dumps(refused))
"""


async def test_a_file_outside_keeps_its_mode_its_times_and_its_attributes(
    filtered: None, suite: Path, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Landlock looks at none of these, nor at the limits of another process of the same user."""
    hold("landlock", monkeypatch)
    file = written(plain / "key", "not for others")
    file.chmod(0o600)
    before = file.stat()
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        found = await said(suite, CHANGES, str(file), str(other.pid))
    finally:
        other.kill()
        other.communicate()
    after = file.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert os.listxattr(file) == []
    assert found == {
        "attribute": True, "flags": True, "ignored": False, "limits": True, "terminals": True,
    }  # fmt: skip


async def test_calls_by_another_convention_end_the_child(
    kind: str, filtered: None, suite: Path
) -> None:
    """x32 numbers its calls otherwise, so that no number of ours would be recognized."""
    if os.uname().machine != "x86_64":
        pytest.skip("only this machine has such a convention")
    program = """
        import ctypes, json, os
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).syscall(0x40000000 + 41, 1, 1, 0)
            os._exit(7)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    """
    assert await said(suite, program) == -31  # SIGSYS


async def test_a_name_can_be_looked_up_where_the_network_is_granted(
    kind: str, filtered: None, suite: Path
) -> None:
    program = """
        import json, socket
        print(json.dumps(sorted({one[4][0] for one in socket.getaddrinfo("localhost", 80)})))
    """
    assert set(await said(suite, program, network=True)) & {"127.0.0.1", "::1"}


def test_a_machine_without_the_filter_is_said_to_hold_nothing_back() -> None:
    closed, open_ = (
        [
            Protection("bubblewrap", ("bwrap",), filtered=filtered),
            Protection("landlock", landlock=7, filtered=filtered),
            Protection("none", filtered=filtered),
        ]
        for filtered in (True, False)
    )
    assert [held.fenced for held in closed] == [True, True, False]
    assert [held.fenced for held in open_] == [False, False, False]
    for held in (*closed, *open_):
        assert ("nothing is signed" in describe(held)) is not held.fenced
        assert ("no Unix socket" in describe(held)) is held.fenced
    assert all(held.filter_for(True) == b"" for held in open_)


def test_the_kernel_is_asked_and_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    fence.filters_here.cache_clear()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "s390x")))
    assert not fence.filters_here()
    fence.filters_here.cache_clear()
    assert protection.protection().filtered in (True, False)


# other candidates ---------------------------------------------------------------------------------


def furnished(suite: Path) -> None:
    """Two candidates, each with a script, a folder and a prompt; helpers of both and of nobody."""
    for name in ("a", "b"):
        runner = {"kind": "command", "command": ["python3", f"./{name}/agent.py", "./both/x.py"]}
        written(suite / "candidates" / f"{name}.json", json.dumps({"runner": runner}))
        written(suite / "candidates" / name / "agent.py", f"# {name}")
        written(suite / "candidates" / name / "notes" / "prompt.txt", name)
        written(suite / "candidates" / "scripts" / f"{name}.json", "{}")
    module = {"runner": {"kind": "python", "entry": "deep.code:run"}, "more": ["scripts/b.json"]}
    written(suite / "candidates" / "c.json", json.dumps(module))
    written(suite / "candidates" / "deep" / "code.py", "# c")
    written(suite / "candidates" / "both" / "x.py", "# of a and b")
    written(suite / "candidates" / "shared.py", "# of nobody")
    written(suite / "candidates" / "proofs" / "golden.json", "the corrected calls")


def named(candidate_id: str) -> Candidate:
    return candidate_value({"candidate_id": candidate_id}, "")


def test_what_belongs_to_others_is_found_by_their_manifests(suite: Path) -> None:
    furnished(suite)

    def hidden(name: str) -> set[str]:
        base = suite / "candidates"
        return {str(path.relative_to(base)) for path in of_others(suite, named(name))}

    assert hidden("a") == {"b", "b.json", "c.json", "deep", "proofs", "scripts"}
    assert hidden("b") == {"a", "a.json", "c.json", "deep", "proofs", "scripts"}
    assert hidden("c") == {"a", "a.json", "b", "b.json", "both", "proofs"}


def test_nobody_is_shown_the_proofs_of_episodes(suite: Path) -> None:
    """A candidate of their folder's name is not, and no more one whose manifest names a file."""
    proof = suite / "candidates" / "proofs" / "golden.json"
    written(proof, "the corrected calls")
    written(suite / "candidates" / "proofs.json", "{}")
    named_it = candidate_value({"candidate_id": "b", "config": {"a": "proofs/golden.json"}}, "")
    for one in (named("proofs"), named("new"), named_it):
        assert proof.parent in of_others(suite, one)


@pytest.mark.parametrize("broken", ["{", '"text"', '{"runner": {"script": "../../.."}}', "[" * 999])
def test_a_manifest_of_another_hides_nothing_outside_and_breaks_nothing(
    broken: str, suite: Path
) -> None:
    written(suite / "candidates" / "me.json", "{}")
    written(suite / "candidates" / "other.json", broken)
    assert of_others(suite, named("me")) == (suite / "candidates" / "other.json",)


async def test_what_other_candidates_are_cannot_be_read(kind: str, suite: Path) -> None:
    furnished(suite)
    program = """
        import json, os, sys
        def tried(path):
            try:
                return open(path).read()
            except OSError:
                return ""
        sys.path.insert(0, os.path.join(sys.argv[1], ""))
        import shared
        paths = ["b.json", "b/agent.py", "b/notes/prompt.txt", "deep/code.py", "scripts/b.json"]
        paths.append("proofs/golden.json")
        seen = [tried(os.path.join(sys.argv[1], path)) for path in paths]
        own = [tried(os.path.join(sys.argv[1], p)) for p in ("a/agent.py", "both/x.py", "a.json")]
        print(json.dumps([seen, all(own)]))
    """
    base = str(suite / "candidates")
    seen, own = await said(suite, program, base, closed=of_others(suite, named("a")))
    assert own
    if kind == "none":
        pytest.skip("nothing hides them, as `describe` says")
    assert seen == [""] * 6
