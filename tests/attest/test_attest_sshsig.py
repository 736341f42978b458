"""SSHSIG: what ssh-keygen signs we read, what we read ssh-keygen verifies, and nothing else."""

import hashlib
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from ssh_blobs import HardwareKey, plain_blob

from reviewer.signing.dsse import ExternalSignature, add_signature, parse_envelope, sign_statement
from reviewer.signing.errors import AttestError, PublicKeyError, SignerRefused, SignersError
from reviewer.signing.facts import ReviewerFact
from reviewer.signing.keys import KeygenSigner
from reviewer.signing.signers import parse_signers
from reviewer.signing.ssh import (
    NAMESPACE,
    PublicKey,
    armored,
    dearmored,
    holds,
    key_of,
    parse_public_line,
)
from reviewer.signing.statement import build_statement

ALICE, BOB = "alice@example.com", "bob@example.com"
needs_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")


def hardware(name: str = "token") -> HardwareKey:
    return HardwareKey(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


def keygen_verifies(
    folder: Path, key: PublicKey, blob: bytes, message: bytes, namespace: str = NAMESPACE
) -> bool:
    """What `ssh-keygen -Y verify` says."""
    (folder / "allowed").write_text(f"{ALICE} {key.line()}\n")
    (folder / "message.sig").write_text(armored(blob))
    done = subprocess.run(
        shlex.split(f"ssh-keygen -Y verify -f allowed -I {ALICE} -n {namespace} -s message.sig"),
        cwd=folder,
        input=message,
        capture_output=True,
    )
    return done.returncode == 0


@needs_keygen
@pytest.mark.parametrize("kind", ["plain", "hardware"])
@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_what_we_accept_ssh_keygen_accepts(
    desk: Any, tmp_path: Path, kind: str, algorithm: str
) -> None:
    message = b"a payload\n" * 100
    if kind == "plain":
        key, blob = desk.signer(ALICE).public, None
        blob = plain_blob(desk.signer(ALICE), message, algorithm=algorithm)
    else:
        key, blob = hardware().public, hardware().sign(message, algorithm=algorithm)
    assert holds(key, blob, message)
    assert keygen_verifies(tmp_path, key, blob, message)
    for other in (message + b"!", b""):
        assert not holds(key, blob, other)
        assert not keygen_verifies(tmp_path, key, blob, other)
    assert not keygen_verifies(tmp_path, key, blob, message, "file")


@needs_keygen
def test_what_ssh_keygen_signs_we_accept(desk: Any, tmp_path: Path) -> None:
    alice = desk.signer(ALICE)
    path = tmp_path / "alice"
    path.write_bytes(
        alice.private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    )
    path.chmod(0o600)
    blob = KeygenSigner(alice.public, path).sign(b"message")
    assert holds(alice.public, blob, b"message")
    assert key_of(blob) == alice.public
    assert dearmored(armored(blob).encode()) == blob
    for other in (desk.signer(BOB).public, hardware().public):
        assert not holds(other, blob, b"message")
    path.write_bytes(b"no key")
    with pytest.raises(SignerRefused, match="ssh-keygen: "):
        KeygenSigner(alice.public, path).sign(b"message")


def test_a_blob_made_for_anything_else_is_none_of_ours(desk: Any) -> None:
    alice, message = desk.signer(ALICE), b"message"
    assert holds(alice.public, plain_blob(alice, message), message)
    for spoilt in (
        {"namespace": "file"},
        {"namespace": NAMESPACE + "x"},
        {"reserved": b"x"},
        {"version": 2},
        {"algorithm": "sha384"},
        {"kind": "sk-ssh-ed25519@openssh.com"},
        {"key": desk.signer(BOB).public.blob},
        {"tail": b"x"},
    ):
        assert not holds(alice.public, plain_blob(alice, message, **spoilt), message), spoilt


def test_a_hardware_key_must_have_been_touched_and_signs_in_its_own_way_alone(desk: Any) -> None:
    token, message = hardware(), b"message"
    assert holds(token.public, token.sign(message), message)
    assert not holds(token.public, token.sign(message, flags=0), message)
    assert holds(token.public, token.sign(message, flags=0x05), message)  # and a PIN was given
    assert not holds(token.public, plain_blob(token_as_plain(), message), message)
    assert not holds(token.public, token_as_plain().sign(message), message)
    elsewhere = HardwareKey(token._private, "ssh:elsewhere")
    assert not holds(token.public, elsewhere.sign(message), message)
    with pytest.raises(PublicKeyError, match="no PEM form"):
        token.public.pem()


def token_as_plain() -> Any:
    """The token's secret used as if it were an ordinary key."""

    class Plain:
        public = PublicKey(hardware().public.raw)

        @staticmethod
        def sign(message: bytes) -> bytes:
            signature: bytes = hardware()._private.sign(message)
            return signature

    return Plain


@given(st.data())
def test_no_change_of_a_blob_is_accepted_or_crashes(desk: Any, data: Any) -> None:
    token, message = hardware(), b"message"
    key, good = data.draw(
        st.sampled_from(
            [
                (token.public, token.sign(message)),
                (desk.signer(ALICE).public, plain_blob(desk.signer(ALICE), message)),
            ]
        )
    )
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] + data.draw(st.binary(max_size=3)) + good[at + data.draw(st.integers(0, 3)) :]
    assert bad == good or not holds(key, bad, message)
    try:
        key_of(bad)
    except AttestError as error:
        assert str(error)  # noqa: PT017 - the allowed outcome


def test_a_hardware_key_stands_in_the_trust_file_and_counts(desk: Any, tmp_path: Path) -> None:
    token = hardware()
    trust = desk.trust + f"tess@example.com approver {token.public.line()}\n"
    payload = build_statement(
        desk.facts(
            threshold=2,
            reviewers=(
                *desk.reviewers(ALICE),
                ReviewerFact("tess@example.com", token.public.keyid),
            ),
        )
    )
    first = sign_statement(payload, token)
    assert desk.verify(first, trust=trust).exit_code == 30
    both = add_signature(first, desk.signer(ALICE), expected_payload=payload)
    result = desk.verify(both, trust=trust)
    assert (result.exit_code, result.approvers) == (0, (ALICE, "tess@example.com"))
    blob = next(x.sig for x in parse_envelope(both).signatures if x.keyid == token.public.keyid)
    with pytest.raises(SignerRefused, match="already signed"):
        add_signature(both, ExternalSignature(blob), expected_payload=payload)
    if shutil.which("ssh-keygen"):
        assert keygen_verifies(tmp_path, token.public, blob, parse_envelope(both).signed_bytes)
        path = tmp_path / "token.pub"
        path.write_text(token.public.line("token") + "\n")
        shown = subprocess.run(["ssh-keygen", "-lf", path], capture_output=True, text=True)
        assert shown.stdout.split()[1] == token.public.keyid
    key, comment = parse_public_line(token.public.line("token"))
    assert (key, comment) == (token.public, "token")


def test_one_secret_is_one_key_whatever_it_is_called(desk: Any) -> None:
    token = hardware()
    plain = PublicKey(token.public.raw)
    text = f"tess approver {token.public.line()}\nrob approver {plain.line()}\n"
    with pytest.raises(SignersError, match="is already on line 1"):
        parse_signers(text)
    line = token.public.line().replace("sk-ssh-ed25519@openssh.com", "ssh-ed25519")
    with pytest.raises(SignersError, match="the line says ssh-ed25519"):
        parse_signers(f"tess approver {line}\n")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n",
        b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
        b"-----BEGIN SSH SIGNATURE-----\nA\n-----END SSH SIGNATURE-----\n",
        armored(b"SSHSIG" + bytes(80)).encode() + b"x",
        armored(b"SSHSIG" + bytes(100_000)).encode(),
    ],
)
def test_a_file_that_is_no_ssh_signature_is_said(data: bytes) -> None:
    with pytest.raises(AttestError, match="signature"):
        dearmored(data)
    with pytest.raises(AttestError, match="key cannot be used"):
        key_of(data)
