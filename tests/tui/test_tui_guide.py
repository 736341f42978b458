"""The way to a signature from a fresh machine: key, trust, signature, and each way it can fail."""

import hashlib
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import SUITE, V7, V8, Door, by_day
from template import Bent, StillDatetime, refusing
from test_tui_screens import running, shell
from textual.pilot import Pilot
from tui_probe import come, press, screen_text, settle, text_as_golden

from reviewer.desk.decisions import earlier, signing
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.signing.ssh import wire_string
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.decision.key import KeyScreen
from reviewer.tui.screens.decision.screen import DecisionScreen
from reviewer.tui.screens.decision.sign import SignScreen
from reviewer.tui.screens.decision.step import Step
from reviewer.tui.screens.decision.trust import TrustScreen

BOTH = by_day([(80, 24), (200, 50)], every=2)
SECRET = "open sesame"
PROMOTE = ("greater_than_sign", "D")
"""To the decision on the candidate that may be promoted."""
V7_AGAIN = ("less_than_sign", "D")
"""To that on the other one, which is not opened first once it is decided."""

needs_agent = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="no ssh-agent here")


@pytest.fixture(autouse=True)
def _a_fresh_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no agent, a clock that stands, keys that are the same each time, and an Enter that is
    never held down."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("SSH_AUTH_SOCK", "REVIEWER_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)
    for module in (earlier, signing):
        monkeypatch.setattr(module, "datetime", StillDatetime)
    made = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"guide").digest())
    monkeypatch.setattr(Ed25519PrivateKey, "generate", staticmethod(lambda: made))
    monkeypatch.setattr(Step, "clock", staticmethod(itertools.count(100).__next__))


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".ssh"


@pytest.fixture
def fresh(own: Door) -> Iterator[Desk]:
    """A desk on a copy of the template in which nobody may sign."""
    (own.root / "store" / "signers").unlink(missing_ok=True)
    found = Desk(at(own.root), reviewer="dana")
    yield found
    found.close()


@pytest.fixture
def demo(own: Door, tmp_path: Path) -> Iterator[Desk]:
    """The same, as `reviewer demo` makes it."""
    (own.root / "store" / "signers").unlink(missing_ok=True)
    found = Desk(at(own.root)._replace(keys=own.root / "keys-of-demo"))
    yield found
    found.close()


def write_key(path: Path, passphrase: str = "", seed: bytes = b"file") -> str:
    """A key file with its .pub; returns the line of the .pub."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed).digest())
    lock = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, lock))
    path.chmod(0o600)
    line = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    path.with_suffix(".pub").write_text(f"{line}\n")
    return line


def trust(desk: Desk, line: str, roles: str = "approver", name: str = "dana@shopflow") -> None:
    (desk.place.root / "store" / "signers").write_text(f"{name} {roles} {line}\n")


def decisions(desk: Desk) -> list[str]:
    folder = desk.place.root / "store" / "decisions"
    return sorted(each.name for each in folder.glob("*")) if folder.exists() else []


def signers(desk: Desk) -> str:
    path = desk.place.root / "store" / "signers"
    return path.read_text() if path.exists() else ""


def matches_golden(app: ReviewerApp, name: str, size: tuple[int, int]) -> None:
    """Compare the screen with its golden. The journal's head depends on versions, once signed."""
    text = re.sub(r"(journal )[0-9a-f]{8}(?= at (?!6\b))", r"\1········", screen_text(app))
    text_as_golden(text, f"guide-{name}-{size[0]}x{size[1]}")


async def to_decision(pilot: Pilot[None], keys: tuple[str, ...] = ("D",)) -> None:
    await settle(pilot)
    await press(pilot, *keys)
    await settle(pilot)


# the whole way


@pytest.mark.parametrize("size", BOTH)
async def test_from_no_key_to_a_verified_promotion_by_keys_alone(
    size: tuple[int, int], fresh: Desk, own: Door, ssh: Path
) -> None:
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot, PROMOTE)
        matches_golden(app, "nothing", size)
        await press(pilot, "enter")
        matches_golden(app, "no-key", size)
        await press(pilot, "enter", *SECRET, "enter", *SECRET)
        matches_golden(app, "make", size)
        await press(pilot, "enter")
        matches_golden(app, "trust", size)
        assert signers(fresh) == "", "nothing is trusted before the line is taken"
        await press(pilot, "enter")
        assert isinstance(app.screen, SignScreen)
        await press(pilot, *"PROMOTE", "tab", "tab", *SECRET)
        matches_golden(app, "sign", size)
        assert decisions(fresh) == []
        await press(pilot, "enter", "enter")
        matches_golden(app, "done", size)
        await press(pilot, "2")
        assert "copied: reviewer verify" in screen_text(app)
        command = app.clipboard.split()
        await press(pilot, "enter")
        matches_golden(app, "after", size)
        await press(pilot, "equals_sign")
        matches_golden(app, "verified", size)
    assert oct((ssh / "id_reviewer").stat().st_mode & 0o777) == "0o600"
    assert oct(ssh.stat().st_mode & 0o777) == "0o700"
    assert sorted(each.name for each in ssh.iterdir()) == ["id_reviewer", "id_reviewer.pub"]
    assert decisions(fresh) == [f"1-promote-{V8}.dsse.json"]
    for file in own.root.rglob("*"):  # the passphrase is in no file
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()
    now = ("--at", "2026-11-23T00:00:00Z")
    assert own.run(*command[1:], *now).code == 0, "as anybody checks it, offline"


async def test_the_screen_and_the_command_line_make_the_same_signed_bytes(
    fresh: Desk, own: Door, ssh: Path
) -> None:
    """One implementation: what the screen signs is what `reviewer sign` signs at that moment."""
    trust(fresh, write_key(ssh / "id_ed25519"))
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter", "enter")
        assert "✓ verified" in screen_text(app)
    made = fresh.place.root / "store" / "decisions" / f"1-block-{V7}.dsse.json"
    shown = fresh.decisions.statement(str(made))
    assert json.loads(shown)["predicate"]["decision"] == "BLOCK"
    said = own.run("verify", made, "--signers", own.root / "store" / "signers",
                   "--candidate-manifest", own.suite / "candidates" / f"{V7}.json",
                   "--at", "2026-11-23T00:00:00Z")  # fmt: skip
    assert said.code == 10


async def test_a_damaged_store_is_not_signed_from_the_screen_either(
    fresh: Desk, own: Door, ssh: Path
) -> None:
    trust(fresh, write_key(ssh / "id_ed25519"))
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        _break(own)
        await press(pilot, "enter")
        assert isinstance(app.screen, SignScreen)
        assert "✗" in screen_text(app)
        assert "restore a backup" in screen_text(app)
    assert decisions(fresh) == []


def _break(own: Door) -> None:
    """An index that nobody of ours made."""
    import sqlite3

    with sqlite3.connect(own.root / "store" / "review.db") as connection:
        connection.execute("CREATE TABLE strange (x)")


# leaving, and what is left


@pytest.mark.parametrize("keys", [
    ("enter",),
    ("enter", "1"),
    ("enter", "1", *"half"),
    ("enter", "2", *"~/.ssh/no"),
])  # fmt: skip
async def test_esc_before_a_key_is_made_leaves_nothing(
    keys: tuple[str, ...], fresh: Desk, ssh: Path
) -> None:
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, *keys)
        assert isinstance(app.screen, KeyScreen)
        await press(pilot, "escape")
        assert isinstance(app.screen, DecisionScreen)
        assert "nothing is signed yet" in screen_text(app)
    assert not ssh.exists()
    assert signers(fresh) == ""
    assert decisions(fresh) == []


async def test_esc_after_the_key_leaves_a_whole_key_that_may_not_sign(
    fresh: Desk, ssh: Path
) -> None:
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter", "1", *SECRET, "enter", *SECRET, "enter")
        assert isinstance(app.screen, TrustScreen)
        await press(pilot, "escape")
        assert signers(fresh) == ""
        await press(pilot, "enter")
        assert isinstance(app.screen, TrustScreen), "the way goes on where it was left"
        await press(pilot, "1")
        assert isinstance(app.screen, SignScreen)
        await press(pilot, "escape")
        assert "nothing is signed yet" in screen_text(app)
    assert signers(fresh).count("\ndana approver ssh-ed25519") == 1
    assert decisions(fresh) == []


async def test_giving_up_while_the_key_signs_writes_nothing(fresh: Desk, ssh: Path) -> None:
    """Esc while ssh-agent waits for a touch: the signature that comes later is not kept."""
    trust(fresh, write_key(ssh / "id_ed25519"))
    asked, go = threading.Event(), threading.Event()
    real: Callable[..., Any] = signing.sign_statement

    def slow(*args: Any) -> Any:
        asked.set()
        assert go.wait(30)
        return real(*args)

    app = shell(fresh)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "sign_statement", slow)
        async with running(app) as pilot:
            await to_decision(pilot)
            await press(pilot, "enter")
            await pilot.press("enter")
            await come(pilot, asked.is_set)
            await pilot.press("escape")
            await come(pilot, lambda: isinstance(app.screen, DecisionScreen))
            go.set()
            await settle(pilot)
            assert "nothing is signed yet" in screen_text(app)
    assert decisions(fresh) == []
    assert fresh.decisions.signed() == []


async def test_a_signature_that_is_being_kept_is_not_given_up(
    fresh: Desk, ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(fresh, write_key(ssh / "id_ed25519"))
    asked, go = threading.Event(), threading.Event()
    real: Callable[..., Any] = signing.decision_files.keep_decision

    def slow(*args: Any) -> Any:
        asked.set()
        assert go.wait(30)
        return real(*args)

    monkeypatch.setattr(signing.decision_files, "keep_decision", slow)
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        await pilot.press("enter")
        await come(pilot, asked.is_set)
        await pilot.press("escape")
        await come(pilot, lambda: "being written" in screen_text(app))
        go.set()
        await settle(pilot)
        assert "✓ verified" in screen_text(app)
    assert decisions(fresh) == [f"1-block-{V7}.dsse.json"]


async def test_a_held_enter_takes_one_step_alone(
    demo: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Step, "clock", staticmethod(lambda: 100.0))
    app = shell(demo)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, *["enter"] * 8)
        assert isinstance(app.screen, KeyScreen)
    assert demo.place.keys is not None
    assert not demo.place.keys.exists()


# what can fail, and what to do then


@pytest.mark.parametrize("size", BOTH)
async def test_a_wrong_passphrase_is_counted_and_writes_nothing(
    size: tuple[int, int], fresh: Desk, ssh: Path
) -> None:
    trust(fresh, write_key(ssh / "id_ed25519", SECRET))
    before = (ssh / "id_ed25519").read_bytes()
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot, PROMOTE)
        await press(pilot, "enter", *"PROMOTE", "enter", "enter", *"wrong", "enter", "enter")
        assert "wrong passphrase, 1 try so far" in screen_text(app)
        await press(pilot, *"worse", "enter", "enter")
        matches_golden(app, "wrong-passphrase", size)
        assert decisions(fresh) == []
        await press(pilot, *SECRET, "enter", "enter")
        assert "✓ verified" in screen_text(app), "the word and the comment were kept"
    assert (ssh / "id_ed25519").read_bytes() == before


@pytest.mark.parametrize("size", BOTH)
async def test_an_untrusted_key_says_which_line_is_missing(
    size: tuple[int, int], fresh: Desk, ssh: Path
) -> None:
    line = write_key(ssh / "id_ed25519")
    trust(fresh, write_key(ssh.parent / "other", seed=b"kim"), name="kim@shopflow")
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        matches_golden(app, "untrusted", size)
        await press(pilot, "y")
        assert app.clipboard == f"dana approver {line}"
        await press(pilot, "shift+tab", *["backspace"] * 4, "enter", "1")
        assert "type your name first" in screen_text(app)
        await press(pilot, *"a b", "enter", "1")
        assert "✗" in screen_text(app), "a name is one word"
        assert "kim@shopflow" in signers(fresh)
        assert line not in signers(fresh)
    assert decisions(fresh) == []


async def test_a_key_of_another_role_is_not_given_one_by_the_screen(fresh: Desk, ssh: Path) -> None:
    line = write_key(ssh / "id_ed25519")
    trust(fresh, line, "labeler")
    before, app = signers(fresh), shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        assert "by hand, make its line" in screen_text(app)
        await press(pilot, "1")
        assert "still has no role approver" in screen_text(app)
        assert signers(fresh) == before
        trust(fresh, line, "labeler,approver")
        await press(pilot, "1")
        assert isinstance(app.screen, SignScreen)


@pytest.mark.parametrize("size", BOTH)
async def test_another_key_is_named_by_its_file_or_found_again(
    size: tuple[int, int], fresh: Desk, ssh: Path, tmp_path: Path
) -> None:
    write_key(tmp_path / "home" / "usb" / "dana", SECRET)
    (tmp_path / "home" / "usb" / "dana.pub").unlink()
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter", "2", *"~/usb/none", "enter")
        matches_golden(app, "no-such-file", size)
        await press(pilot, "escape", "enter", "r")
        assert "still no key that can sign" in screen_text(app)
        await press(pilot, "2", *"~/usb/dana", "enter")
        assert isinstance(app.screen, TrustScreen), "the file itself says whose key it is"
        assert "~/usb/dana" in screen_text(app)
        await press(pilot, "3")
        assert isinstance(app.screen, KeyScreen)
        write_key(ssh / "id_ed25519", seed=b"new")
        await press(pilot, "r")
        assert isinstance(app.screen, TrustScreen)
        assert "~/.ssh/id_ed25519" in screen_text(app)


async def test_two_passphrases_that_differ_make_no_key(fresh: Desk, ssh: Path) -> None:
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter", "1", *"one", "enter", *"two", "enter")
        assert "the two passphrases differ" in screen_text(app)
        await press(pilot, "enter", "enter")
        assert "a key without a passphrase signs for anyone" in screen_text(app)
    assert not (ssh / "id_reviewer").exists()


class RealAgent:
    """An ssh-agent, spoken to in its own protocol."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ask(self, body: bytes) -> int:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.path))
            connection.sendall(wire_string(body))
            return connection.recv(4096)[4]

    def add(self, seed: bytes = b"file") -> None:
        private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed).digest())
        raw = private.public_key().public_bytes_raw()
        parts = (b"ssh-ed25519", raw, private.private_bytes_raw() + raw, b"dana@laptop")
        assert self.ask(bytes([17]) + b"".join(map(wire_string, parts))) == 6

    def lock(self) -> None:
        assert self.ask(bytes([22]) + wire_string(b"locked")) == 6

    def unlock(self) -> None:
        assert self.ask(bytes([23]) + wire_string(b"locked")) == 6


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[RealAgent]:
    with tempfile.TemporaryDirectory(prefix="agt") as folder:
        path = Path(folder) / "sock"
        process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline()  # printed once the socket listens
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            yield RealAgent(path)
        finally:
            process.terminate()
            process.communicate(timeout=60)


@needs_agent
@pytest.mark.parametrize("size", BOTH)
async def test_an_agent_that_is_locked_says_how_to_unlock_it(
    size: tuple[int, int], fresh: Desk, ssh: Path, tmp_path: Path, agent: RealAgent
) -> None:
    trust(fresh, write_key(tmp_path / "elsewhere"))
    agent.add()
    agent.lock()
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        matches_golden(app, "agent-locked", size)
        agent.unlock()
        await press(pilot, "r")
        assert isinstance(app.screen, SignScreen)
        agent.lock()
        await press(pilot, "enter")
        matches_golden(app, "agent-refused", size)
        assert decisions(fresh) == []
        agent.unlock()
        await press(pilot, "enter")
        assert "✓ verified" in screen_text(app)


@needs_agent
async def test_a_key_that_the_agent_gets_meanwhile_is_found_again(
    fresh: Desk, ssh: Path, agent: RealAgent
) -> None:
    """It is unlocked there, so no passphrase is asked for any more."""
    trust(fresh, write_key(ssh / "id_ed25519", SECRET))
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        assert "locked" in screen_text(app)
        agent.add()
        await press(pilot, "r")
        assert "in ssh-agent" in screen_text(app)
        await press(pilot, "enter")
        assert "✓ verified" in screen_text(app)


async def test_an_agent_that_is_gone_says_what_to_do(
    fresh: Desk, ssh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    app = shell(fresh)
    async with running(app, (200, 50)) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter")
        assert "ssh-agent: does not answer" in screen_text(app)
        assert "make one now" in screen_text(app)


# signing twice, and the earlier decisions


@pytest.mark.parametrize("size", BOTH)
async def test_signing_twice_is_noticed_before_and_after(
    size: tuple[int, int], fresh: Desk, ssh: Path
) -> None:
    trust(fresh, write_key(ssh / "id_ed25519"))
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot)
        await press(pilot, "enter", "enter", "3")
        assert "decision 1 stands" in screen_text(app)
        assert "you signed BLOCK on this report at 10:20Z" in screen_text(app)
        await press(pilot, "enter")
        matches_golden(app, "again", size)
        await press(pilot, "enter", "3", "equals_sign")
        matches_golden(app, "two-earlier", size)
        await press(pilot, "v", "shift+tab", "enter")
        assert "decision 2, what was signed" in screen_text(app)
        assert '"_type": "https://in-toto.io/Statement/v1"' in screen_text(app)


def test_the_command_line_notices_a_second_signature_too(own: Door) -> None:
    key = own.root / "keys" / "dana"
    first = own.run("sign", "--suite", SUITE, "--candidate", V7, "--key", key)
    assert "on this very report" not in first.err
    again = own.run("sign", "--suite", SUITE, "--candidate", V7, "--key", key)
    assert "dana@shopflow signed BLOCK on this very report at" in again.err
    assert "as decision 1; decision 2 supersedes it" in again.err
    other = own.run("sign", "--suite", SUITE, "--candidate", V7, "--key", key, "--decision",
                    "REPAIR", "--comment", "can be mended")  # fmt: skip
    assert "on this very report" not in other.err


@pytest.mark.parametrize("size", BOTH)
async def test_an_expired_decision_and_one_nobody_may_have_signed_are_told_apart(
    size: tuple[int, int], fresh: Desk, ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kim, dana = write_key(ssh / "kim", seed=b"kim"), write_key(ssh / "id_ed25519")
    list_ = fresh.place.root / "store" / "signers"
    list_.write_text(f"kim approver {kim}\ndana approver {dana}\n")
    for word, name in (("BLOCK", "kim"), ("REPAIR", "id_ed25519")):
        fresh.decisions.sign(SUITE, V7, word, str(ssh / name), "why not")
    list_.write_text(f"dana approver {dana}\n")

    class Later(StillDatetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(StillDatetime.now(tz).timestamp() + 30 * 86_400, tz)

    monkeypatch.setattr(earlier, "datetime", Later)
    app = shell(fresh)
    async with running(app, size) as pilot:
        await to_decision(pilot, V7_AGAIN)
        assert "expired" in screen_text(app)
        await press(pilot, "equals_sign")
        matches_golden(app, "expired", size)
        assert "1 expired, 1 refused" in screen_text(app)


async def test_nothing_signed_is_nothing_to_verify(fresh: Desk) -> None:
    app = shell(fresh)
    async with running(app) as pilot:
        await to_decision(pilot)
        await press(pilot, "equals_sign")
        assert "nothing is signed yet: there is nothing to verify" in screen_text(app)


async def test_a_decision_that_cannot_be_read_says_so(fresh: Desk, ssh: Path) -> None:
    trust(fresh, write_key(ssh / "id_ed25519"))
    fresh.decisions.sign(SUITE, V7, "BLOCK", str(ssh / "id_ed25519"))
    error = DeskError("store/decisions/1: cannot be read (Input/output error)")
    app = shell(Bent(fresh).bend("decisions.statement", refusing(error)))
    async with running(app) as pilot:
        await to_decision(pilot, V7_AGAIN)
        await press(pilot, "shift+tab", "enter")
        assert "cannot be read" in screen_text(app)


# the demo


async def test_the_demo_goes_the_whole_way_with_a_key_that_is_good_nowhere_else(
    demo: Desk, own: Door, ssh: Path, tmp_path: Path
) -> None:
    write_key(ssh / "id_ed25519")
    app = shell(demo)
    async with running(app) as pilot:
        await to_decision(pilot, PROMOTE)
        assert "makes one for this demo" in screen_text(app)
        await press(pilot, "enter", "enter", "enter", "enter")
        assert "you@demo.invalid approver" in screen_text(app)
        await press(pilot, "enter", *"PROMOTE", "enter", "enter", "enter")
        assert "✓ verified" in screen_text(app)
    assert sorted(each.name for each in ssh.iterdir()) == ["id_ed25519", "id_ed25519.pub"]
    keys = demo.place.keys
    assert keys is not None
    assert oct(keys.stat().st_mode & 0o777) == "0o700"
    assert oct((keys / "id_demo").stat().st_mode & 0o777) == "0o600"
    (made,) = (own.root / "store" / "decisions").glob("1-*")
    elsewhere = tmp_path / "signers"
    elsewhere.write_text(f"dana approver {(ssh / 'id_ed25519.pub').read_text()}")
    manifest = own.suite / "candidates" / f"{V8}.json"
    said = own.run(
        "verify", made, "--signers", elsewhere, "--candidate-manifest", manifest,
        "--at", "2026-11-23T00:00:00Z",
    )  # fmt: skip
    assert said.code in (20, 30)
    assert "PROMOTE" not in said.out


def test_a_name_of_a_throw_away_key_is_taken_by_no_other_workspace(
    demo: Desk, fresh: Desk, own: Door
) -> None:
    line = write_key(own.root / "keys" / "demo", seed=b"demo")
    with pytest.raises(DeskError, match=r"a temporary key signs as NAME@demo.invalid"):
        demo.decisions.trust("dana@shopflow", line)
    with pytest.raises(
        DeskError, match=r"a name ending in @demo.invalid is reserved for a temporary"
    ):
        fresh.decisions.trust("You@DEMO.invalid", line)
    said = own.run("keys", "trust", "you@demo.invalid", own.root / "keys" / "demo.pub")
    assert said.code != 0
    assert "temporary" in said.err


def test_a_name_cannot_smuggle_another_key_into_the_list(fresh: Desk, tmp_path: Path) -> None:
    mallory = write_key(tmp_path / "mallory", seed=b"mallory")
    dana = write_key(tmp_path / "dana", seed=b"dana")
    for name in (f"mallory approver {mallory}", f"x approver {mallory}\ndana", "#", "a b", ""):
        with pytest.raises(DeskError):
            fresh.decisions.trust(name, dana)
        assert signers(fresh) == ""


# a program that is killed between steps

KILLED = """
import os, signal, sys
from pathlib import Path
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
left = [int(sys.argv[2])]
def dying(real):
    def call(*args, **more):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **more)
    return call
desk = Desk(at(Path(sys.argv[1])), "dana")
for name in ("open", "fsync", "link", "unlink", "mkdir", "replace"):
    setattr(os, name, dying(getattr(os, name)))
key = desk.decisions.make_key("open sesame")
desk.decisions.trust("dana", key.public)
"""


@pytest.mark.nightly
def test_killed_at_any_step_nothing_is_half_done(fresh: Desk, ssh: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, os.sys.path))}  # type: ignore[attr-defined]
    codes = []
    for step in itertools.count(1):
        if ssh.exists():
            shutil.rmtree(ssh)
        (fresh.place.root / "store" / "signers").unlink(missing_ok=True)
        done = subprocess.run(
            [os.sys.executable, "-c", KILLED, str(fresh.place.root), str(step)],  # type: ignore[attr-defined]
            env=environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        codes.append(done.returncode)
        known = fresh.decisions.keys()
        if (ssh / "id_reviewer").exists():
            assert [key.where for key in known] == ["~/.ssh/id_reviewer"], "a key that is whole"
        else:
            assert known == [], "or none, which can be made"
            known = [fresh.decisions.make_key(SECRET)]
        line = signers(fresh)
        assert line == "" or line.endswith(f"dana approver {known[0].public}\n")
        if not line:
            fresh.decisions.trust("dana", known[0].public)
        assert fresh.decisions.as_trusted(known[0]).roles == ("approver",)
        if done.returncode == 0:
            break
    assert codes.count(-9) >= 8, codes
    assert set(codes) == {-9, 0}, done.stderr
