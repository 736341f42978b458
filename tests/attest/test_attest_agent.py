"""ssh-agent: a real one with an encrypted key, and false ones that misbehave."""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer.signing.agent import Agent, connect_agent
from reviewer.signing.dsse import sign_statement
from reviewer.signing.errors import (
    AgentError,
    AgentKeyMissing,
    AgentProtocolError,
    AgentRefused,
    AgentUnavailable,
)
from reviewer.signing.keys import load_signer
from reviewer.signing.ssh import wire_string
from reviewer.signing.statement import build_statement

ALICE = "alice@example.com"
needs_agent = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="no ssh-agent here")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A Unix socket's path must be short, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory(prefix="agt") as folder:
        yield Path(folder)


def askpass(folder: Path, name: str, body: str) -> str:
    script = folder / name
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


@pytest.fixture
def agent_env(short_folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a fresh agent that declines every confirmation; it ends with the test."""
    path = str(short_folder / "sock")
    env = {
        **os.environ,
        "SSH_AUTH_SOCK": path,
        "SSH_ASKPASS": askpass(short_folder, "no", "exit 1"),
        "SSH_ASKPASS_REQUIRE": "force",
        "DISPLAY": ":0",
    }
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", path], env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline()  # printed once the socket listens
        yield env
    finally:
        process.terminate()
        process.communicate(timeout=60)


def add_key(desk: Any, env: dict[str, str], folder: Path, *options: str) -> Path:
    """Alice's key on disk under a passphrase, added through an askpass script."""
    data = desk.signer(ALICE).private.private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, BestAvailableEncryption(b"open sesame")
    )
    key = folder / "alice"
    key.write_bytes(data)
    key.chmod(0o600)
    public = folder / "alice.pub"
    public.write_text(desk.signer(ALICE).public.line("alice") + "\n", encoding="utf-8")
    subprocess.run(
        ["ssh-add", "-q", *options, str(key)],
        env={**env, "SSH_ASKPASS": askpass(folder, "yes", "echo open sesame")},
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
    )
    return public


@needs_agent
def test_a_decision_is_signed_by_a_key_that_never_leaves_the_agent(
    desk: Any, agent_env: dict[str, str], short_folder: Path
) -> None:
    public = add_key(desk, agent_env, short_folder)
    payload = build_statement(desk.facts())
    by_file = sign_statement(payload, desk.signer(ALICE))
    for key in (str(public), desk.signer(ALICE).public.keyid):
        signed = sign_statement(payload, load_signer(key, environ=agent_env))
        assert signed == by_file
        assert desk.verify(signed).exit_code == 0
    held = connect_agent(agent_env).keys()
    assert [one.public for one in held] == [desk.signer(ALICE).public]


@needs_agent
def test_the_fingerprint_is_the_one_people_see(
    desk: Any, agent_env: dict[str, str], short_folder: Path
) -> None:
    add_key(desk, agent_env, short_folder)
    listing = subprocess.run(
        ["ssh-add", "-l"], env=agent_env, capture_output=True, text=True, check=True
    ).stdout
    assert desk.signer(ALICE).public.keyid in listing.split()


@needs_agent
def test_a_declined_confirmation_is_a_refusal(
    desk: Any, agent_env: dict[str, str], short_folder: Path
) -> None:
    public = add_key(desk, agent_env, short_folder, "-c")
    signer = load_signer(str(public), environ=agent_env)
    with pytest.raises(AgentRefused, match="refused"):
        sign_statement(build_statement(desk.facts()), signer)


@needs_agent
def test_a_key_the_agent_lacks_says_how_to_add_it(desk: Any, agent_env: dict[str, str]) -> None:
    with pytest.raises(AgentKeyMissing, match=r"holds 0 Ed25519 keys\); add it with ssh-add"):
        load_signer(desk.signer(ALICE).public.keyid, environ=agent_env)
    with pytest.raises(AgentRefused):
        connect_agent(agent_env).sign(desk.signer(ALICE).public, b"message")


def test_no_agent_at_all(desk: Any, short_folder: Path) -> None:
    with pytest.raises(AgentUnavailable, match="SSH_AUTH_SOCK is not set"):
        connect_agent({})
    for path in (str(short_folder / "none"), "/" + "x" * 300, "nul\0"):
        with pytest.raises(AgentUnavailable):
            Agent(path).keys()


def test_a_decision_too_large_for_an_agent_is_not_sent(desk: Any) -> None:
    with pytest.raises(AgentError, match="private key file"):
        Agent("/nowhere").sign(desk.signer(ALICE).public, b"x" * 300_000)


@contextlib.contextmanager
def false_agent(folder: Path, *answers: bytes | None) -> Iterator[Agent]:
    """Gives each caller the next answer; None keeps the line open and silent."""
    path = folder / "false"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        done = threading.Event()

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 20)
                    if answer is None:
                        done.wait(10)
                    else:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Agent(str(path), list_seconds=0.2 if None in answers else 5, sign_seconds=5)
        finally:
            done.set()
            thread.join(10)
    path.unlink()


def test_a_silent_agent_is_given_up(short_folder: Path) -> None:
    with (
        false_agent(short_folder, None) as agent,
        pytest.raises(AgentUnavailable, match="no answer within"),
    ):
        agent.keys()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0\0\0",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        wire_string(b"\x0e"),
        wire_string(b"\x0c"),
        wire_string(b"\x0c\0\0\0\1"),
        wire_string(b"\x0c\xff\xff\xff\xff"),
        wire_string(b"\x0c\0\0\0\0more"),
        wire_string(b"\x0c\0\0\0\1" + wire_string(b"k") + b"\xff\xff\xff\xff"),
    ],
)
def test_a_damaged_list_is_a_typed_error(short_folder: Path, answer: bytes) -> None:
    with false_agent(short_folder, answer) as agent, pytest.raises(AgentProtocolError):
        agent.keys()


def test_keys_of_other_kinds_are_passed_over(desk: Any, short_folder: Path) -> None:
    key = desk.signer(ALICE).public
    body = struct.pack(">BI", 12, 3)
    for blob, comment in [(wire_string(b"ssh-rsa"), b"r"), (b"", b""), (key.blob, b"a\x1b[2J")]:
        body += wire_string(blob) + wire_string(comment)
    with false_agent(short_folder, wire_string(body)) as agent:
        held = agent.keys()
    assert [one.public for one in held] == [key]
    assert held[0].comment.isprintable()


@pytest.mark.parametrize(
    "inner",
    [
        wire_string(b"ssh-rsa") + wire_string(b"s" * 64),
        wire_string(b"ssh-ed25519") + wire_string(b"s" * 63),
        wire_string(b"ssh-ed25519"),
        wire_string(b"ssh-ed25519") + wire_string(b"s" * 64) + b"x",
    ],
)
def test_a_damaged_signature_is_a_typed_error(desk: Any, short_folder: Path, inner: bytes) -> None:
    answer = wire_string(b"\x0e" + wire_string(inner))
    with false_agent(short_folder, answer) as agent, pytest.raises(AgentProtocolError):
        agent.sign(desk.signer(ALICE).public, b"message")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([11, 12, 14, 5]))
def test_no_answer_crashes_the_client(body: bytes, kind: int) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="agt") as folder,
        false_agent(Path(folder), wire_string(bytes([kind]) + body)) as agent,
        contextlib.suppress(AgentError),
    ):
        assert isinstance(agent.keys(), list)


def test_a_signature_that_does_not_verify_is_not_put_into_a_decision(
    desk: Any, short_folder: Path
) -> None:
    key = desk.signer(ALICE).public
    listing = wire_string(struct.pack(">BI", 12, 1) + wire_string(key.blob) + wire_string(b""))
    wrong = wire_string(b"\x0e" + wire_string(wire_string(b"ssh-ed25519") + wire_string(b"s" * 64)))
    with false_agent(short_folder, listing, wrong) as agent:
        signer = load_signer(key.keyid, environ={"SSH_AUTH_SOCK": agent.path})
        with pytest.raises(ValueError, match="does not verify"):
            sign_statement(build_statement(desk.facts()), signer)


def test_an_unencrypted_key_file_and_an_agent_give_the_same_bytes_format(
    desk: Any, tmp_path: Path
) -> None:
    path = tmp_path / "alice"
    path.write_bytes(
        desk.signer(ALICE).private.private_bytes(
            Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
        )
    )
    path.chmod(0o600)
    payload = build_statement(desk.facts())
    assert sign_statement(payload, load_signer(str(path))) == sign_statement(
        payload, desk.signer(ALICE)
    )
