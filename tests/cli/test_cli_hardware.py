"""Signing with a hardware key, from end to end through ssh-keygen: the token alone is software."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doors import Door
from people import People

from reviewer.signing.dsse import parse_envelope
from reviewer.signing.ssh import is_blob

TOKEN = Path(__file__).resolve().parents[1] / "attest"
HELPERS = ("/usr/lib/openssh/ssh-sk-helper", "/usr/libexec/ssh-sk-helper")
pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("ssh-keygen") and any(map(os.path.exists, HELPERS))),
    reason="needs a C compiler, ssh-keygen and its helper for hardware keys",
)


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hardware key's handle, as `ssh-keygen -t ed25519-sk` writes it."""
    provider = tmp_path / "token.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", provider, TOKEN / "hardware_token.c"], check=True
    )
    monkeypatch.setenv("SSH_SK_PROVIDER", str(provider))
    monkeypatch.setenv("REVIEWER_TOKEN", f"{sys.executable} {TOKEN / 'hardware_token.py'}")
    path = tmp_path / "id_ed25519_sk"
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519-sk", "-N", "", "-f", path],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        pytest.skip(f"this ssh-keygen takes no token of ours: {made.stderr.strip()[-200:]}")
    return path


@pytest.mark.parametrize("first", [True, False])
def test_a_hardware_key_signs_first_or_second(door: Door, token: Path, first: bool) -> None:
    people = People(door)
    door.ok("keys", "trust", "tess", f"{token}.pub")
    sign = ("sign", *people.release(), "--key", token)
    if first:
        assert door.run(*sign).code == 30
        said = people.add("alice")
    else:
        people.sign("alice")
        said = door.run("sign", "--add", 1, "--key", token)
    assert said.code == 0, said
    said = people.verify()
    assert (said.code, said.out.splitlines()[-1]) == (0, "PROMOTE"), said
    assert "approved by tess" in said.out
    signatures = parse_envelope(people.file(1).read_bytes()).signatures
    assert sorted(is_blob(one.sig) for one in signatures) == [False, True]
    out = door.root / "out"
    door.ok("decisions", "export", 1, out)
    command = "ssh-keygen -Y verify -f allowed_signers -I tess -s tess.pae.sig"
    done = subprocess.run(
        [*command.split(), "-n", "agent-release-decision@reviewer.dev"],
        cwd=out,
        input=(out / "payload.pae").read_bytes(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    door.healthy()


def test_a_token_that_is_not_there_is_told(
    door: Door, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = People(door)
    door.ok("keys", "trust", "tess", f"{token}.pub")
    monkeypatch.setenv("SSH_SK_PROVIDER", "/nowhere.so")
    said = door.run("sign", *people.release(), "--key", token)
    assert said.code == 20, said
    assert "ssh-keygen: " in said.err
    assert not list(people.decisions.glob("*.json"))
