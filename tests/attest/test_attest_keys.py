"""Key arguments: private key files in every form people have them, and what is refused."""

import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer.signing.errors import (
    AgentUnavailable,
    AttestError,
    KeyFileError,
    PassphraseNeeded,
    WrongPassphrase,
)
from reviewer.signing.keys import load_signer


def written(path: Path, data: bytes, mode: int = 0o600) -> str:
    path.write_bytes(data)
    path.chmod(mode)
    return str(path)


def private_bytes(private: Any, form: PrivateFormat, passphrase: str | None = None) -> bytes:
    lock = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    data: bytes = private.private_bytes(Encoding.PEM, form, lock)
    return data


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_a_plain_key_file_signs_without_asking(
    desk: Any, tmp_path: Path, form: PrivateFormat
) -> None:
    alice = desk.signer("alice")
    key = written(tmp_path / "key", private_bytes(alice.private, form))
    signer = load_signer(key, ask_passphrase=lambda path: pytest.fail("asked"))
    assert signer.public == alice.public
    assert signer.public.verifies(signer.sign(b"message"), b"message")
    assert not signer.public.verifies(signer.sign(b"message"), b"massage")


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_an_encrypted_key_file_takes_its_passphrase_from_either_place(
    desk: Any, tmp_path: Path, form: PrivateFormat
) -> None:
    alice = desk.signer("alice")
    key = written(tmp_path / "key", private_bytes(alice.private, form, "pässword"))
    asked: list[str] = []

    def ask(path: str) -> str:
        asked.append(path)
        return "pässword"

    assert load_signer(key, ask_passphrase=ask).public == alice.public
    assert asked == [key]
    env = {"KEY_PASS": "pässword"}
    assert load_signer(key, passphrase_env="KEY_PASS", environ=env).public == alice.public
    with pytest.raises(WrongPassphrase, match="wrong passphrase"):
        load_signer(key, ask_passphrase=lambda path: "password")
    with pytest.raises(PassphraseNeeded, match="KEY_PASS is not set"):
        load_signer(key, passphrase_env="KEY_PASS", environ={})
    with pytest.raises(PassphraseNeeded, match="ssh-add"):
        load_signer(key)
    with pytest.raises(PassphraseNeeded, match="no passphrase was given"):
        load_signer(key, ask_passphrase=lambda path: None)
    with pytest.raises(KeyFileError):
        load_signer(key, ask_passphrase=lambda path: "")


def test_other_kinds_of_key_are_refused_by_name(desk: Any, tmp_path: Path) -> None:
    others = [
        private_bytes(ec.generate_private_key(ec.SECP256R1()), PrivateFormat.PKCS8),
        private_bytes(ec.generate_private_key(ec.SECP256R1()), PrivateFormat.OpenSSH),
        private_bytes(rsa.generate_private_key(65537, 2048), PrivateFormat.TraditionalOpenSSL),
    ]
    for number, data in enumerate(others):
        with pytest.raises(KeyFileError, match="not an Ed25519 key"):
            load_signer(written(tmp_path / f"key{number}", data))


def test_files_that_are_no_keys_say_so(desk: Any, tmp_path: Path) -> None:
    good = private_bytes(desk.signer("alice").private, PrivateFormat.OpenSSH)
    os.mkfifo(tmp_path / "pipe", 0o600)
    written(tmp_path / "text", b"hello")
    written(tmp_path / "cut", good[:150] + b"\n-----END OPENSSH PRIVATE KEY-----\n")
    written(tmp_path / "huge", good + b" " * 100_000)
    written(tmp_path / "open", good, 0o644)
    written(tmp_path / "bad.pub", b"ssh-rsa AAAA me", 0o644)
    for name, says in [
        ("none", "no such key file"),
        ("none.pub", "no such key file"),
        (".", "not a file"),
        ("pipe", "not a file"),
        ("text", "not an OpenSSH or PEM private key"),
        ("cut", "damaged"),
        ("huge", "larger"),
        ("open", "chmod 600"),
        ("bad.pub", "key type is 'ssh-rsa'"),
        ("nul\0", "null"),
        ("n" * 300, "(?i)name too long"),
    ]:
        with pytest.raises(KeyFileError, match=says):
            load_signer(str(tmp_path / name), environ={})


@pytest.mark.skipif(os.getuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_says_so(desk: Any, tmp_path: Path) -> None:
    key = written(tmp_path / "key", b"x", 0o000)
    with pytest.raises(KeyFileError, match="may not read it"):
        load_signer(key)


def test_a_fingerprint_or_a_pub_file_means_the_agent(desk: Any, tmp_path: Path) -> None:
    alice = desk.signer("alice").public
    pub = written(tmp_path / "alice.pub", alice.line("alice").encode(), 0o644)
    for key in (pub, alice.keyid):
        with pytest.raises(AgentUnavailable, match="SSH_AUTH_SOCK"):
            load_signer(key, environ={})
    with pytest.raises(KeyFileError, match="43 characters"):
        load_signer("SHA256:short", environ={})


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_to_a_key_file_crashes(desk: Any, tmp_path_factory: Any, data: Any) -> None:
    form = data.draw(st.sampled_from([PrivateFormat.OpenSSH, PrivateFormat.PKCS8]))
    good = bytearray(private_bytes(desk.signer("alice").private, form))
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    key = written(tmp_path_factory.getbasetemp() / "damaged", bytes(good))
    try:
        signer = load_signer(key, ask_passphrase=lambda path: "x")
    except AttestError:
        return
    assert signer.public.verifies(signer.sign(b"m"), b"m")
