"""A decision as programs that know nothing of us see it."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fail_made import FOLDER

from reviewer.signing.dsse import PAYLOAD_TYPE, add_signature, pae, parse_envelope, sign_statement
from reviewer.signing.statement import build_statement

ALICE, BOB = "alice@example.com", "bob@example.com"


def openssl_can_verify_raw() -> bool:
    openssl = shutil.which("openssl")
    if openssl is None:
        return False
    shown = subprocess.run([openssl, "pkeyutl", "-help"], capture_output=True, text=True)
    return "-rawin" in shown.stdout + shown.stderr


def openssl_verifies(folder: Path, pem: str, message: bytes, signature: bytes) -> bool:
    (folder / "key.pem").write_text(pem, encoding="ascii")
    (folder / "pae.bin").write_bytes(message)
    (folder / "sig.bin").write_bytes(signature)
    done = subprocess.run(
        [
            "openssl",
            "pkeyutl",
            "-verify",
            "-pubin",
            "-inkey",
            "key.pem",
            "-rawin",
            "-in",
            "pae.bin",
            "-sigfile",
            "sig.bin",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    verdict = done.returncode == 0
    assert ("Signature Verified Successfully" in done.stdout) is verdict
    return verdict


@pytest.mark.skipif(not openssl_can_verify_raw(), reason="no openssl with pkeyutl -rawin here")
def test_openssl_accepts_each_signature_and_refuses_its_twin(desk: Any, tmp_path: Path) -> None:
    payload = build_statement(desk.facts(threshold=2))
    envelope = add_signature(
        sign_statement(payload, desk.signer(ALICE)), desk.signer(BOB), expected_payload=payload
    )
    parsed = parse_envelope(envelope)
    people = {desk.signer(name).public.keyid: desk.signer(name).public for name in (ALICE, BOB)}
    assert {one.keyid for one in parsed.signatures} == people.keys()
    message = b"DSSEv1 28 " + PAYLOAD_TYPE.encode() + b" %d " % len(payload) + payload
    for one in parsed.signatures:
        assert one.keyid is not None
        pem = people[one.keyid].pem()
        assert openssl_verifies(tmp_path, pem, message, one.sig)
        twin = pae(payload.replace(b'"PROMOTE"', b'"PROMOTF"'))
        assert not openssl_verifies(tmp_path, pem, twin, one.sig)
        assert not openssl_verifies(tmp_path, desk.signer("mallory").public.pem(), message, one.sig)


FORGED = ("payload_changed_after_signing", "signed_as_another_type", "signed_the_bare_payload",
          "signed_by_a_stranger", "ssh_signature_of_a_file")  # fmt: skip


@pytest.mark.skipif(not openssl_can_verify_raw(), reason="no openssl with pkeyutl -rawin here")
@pytest.mark.parametrize("name", FORGED)
def test_openssl_refuses_what_we_refuse_for_its_signature(
    desk: Any, tmp_path: Path, name: str
) -> None:
    envelope = parse_envelope((FOLDER / f"{name}_fail" / "decision.dsse.json").read_bytes())
    for one in envelope.signatures:
        for who in (ALICE, BOB):
            pem = desk.signer(who).public.pem()
            assert not openssl_verifies(tmp_path, pem, envelope.signed_bytes, one.sig)
    good = parse_envelope((FOLDER / "good_pass" / "decision.dsse.json").read_bytes())
    pem = desk.signer(ALICE).public.pem()
    assert openssl_verifies(tmp_path, pem, good.signed_bytes, good.signatures[0].sig)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")
def test_ssh_keygen_prints_the_same_fingerprint(desk: Any, tmp_path: Path) -> None:
    path = tmp_path / "alice.pub"
    path.write_text(desk.signer(ALICE).public.line("alice") + "\n", encoding="utf-8")
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(path)], capture_output=True, text=True, check=True
    ).stdout
    assert shown.split()[1] == desk.signer(ALICE).public.keyid


def test_the_package_imports_neither_terminal_nor_network_nor_cryptography() -> None:
    program = (
        "import sys, pkgutil, importlib, reviewer.signing as a\n"
        "for module in pkgutil.iter_modules(a.__path__):\n"
        "    importlib.import_module(f'{a.__name__}.{module.name}')\n"
        "heavy = {'textual', 'rich', 'httpx', 'numpy', 'scipy', 'cryptography', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "[]"
