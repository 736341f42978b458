"""People with keys at a desk, for tests of what several of them sign."""

import json
import shutil
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import SUITE, V7, V8, Door, Said

from reviewer.signing.dsse import Envelope, Signature, parse_envelope, serialise_envelope
from reviewer.signing.keys import load_signer

TWO = "refund-two"
ROLES = {
    "alice": "approver",
    "bob": "approver",
    "carol": "approver",
    "fire": "breakglass",
    "robot": "runner",
}


def key_file(folder: Path, name: str) -> Path:
    """A new private key, with its .pub beside it."""
    private = Ed25519PrivateKey.generate()
    path = folder / name
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" " + name.encode() + b"\n")
    return path


class People:
    """A workspace whose suite wants two approvers, with v7 and v8 imported."""

    def __init__(self, door: Door) -> None:
        self.door = door
        suite = door.suite / "suite.json"
        body = json.loads(suite.read_bytes())
        body["policy"]["approvals"]["promote"] = 2
        suite.write_text(json.dumps(body))
        door.ok("suite", "freeze", SUITE, "--as", TWO)
        door.ok("import", door.suite / "traces", "--suite", TWO)
        for name, roles in ROLES.items():
            self.join(name, roles)

    @property
    def decisions(self) -> Path:
        return self.door.root / "store" / "decisions"

    def key(self, name: str) -> Path:
        return self.door.root / name

    def join(self, name: str, roles: str, principal: str = "") -> None:
        public = key_file(self.door.root, name).with_suffix(".pub")
        self.door.ok("keys", "trust", principal or name, public, "--roles", roles)

    def release(self, candidate: str = V8) -> tuple[str, ...]:
        return ("--suite", TWO, "--candidate", candidate)

    def sign(self, name: str, *more: object, candidate: str = V8) -> Said:
        return self.door.run("sign", *self.release(candidate), "--key", self.key(name), *more)

    def add(self, name: str, decision: object = 1) -> Said:
        return self.door.run("sign", "--add", decision, "--key", self.key(name))

    def verify(self, what: object = "", *more: object, candidate: str = V8) -> Said:
        """Offline: a decision file, or the folder of them."""
        manifest = self.door.root / "suites" / TWO / "candidates" / f"{candidate}.json"
        return self.door.run(
            "verify", what or self.decisions, "--candidate-manifest", manifest,
            "--signers", self.door.root / "store" / "signers", *more,
        )  # fmt: skip

    def file(self, number: int) -> Path:
        (found,) = self.decisions.glob(f"{number}-*.dsse.json")
        return found

    def payload(self, number: int) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(parse_envelope(self.file(number).read_bytes()).payload)
        return body

    def forged(self, body: dict[str, Any], *names: str) -> bytes:
        """An envelope with signatures of a tool that derives nothing."""
        envelope = Envelope(json.dumps(body).encode(), ())
        for name in names:
            signer = load_signer(str(self.key(name)))
            signature = Signature(signer.sign(envelope.signed_bytes), signer.public.keyid)
            envelope = envelope.with_signature(signature)
        return serialise_envelope(envelope)

    def copied(self, folder: Path) -> "People":
        """The same desk elsewhere, as a colleague's backup of it would be."""
        shutil.copytree(self.door.root, folder)
        other = object.__new__(People)
        other.door = Door(folder)
        return other


__all__ = ["TWO", "V7", "V8", "People", "key_file"]
