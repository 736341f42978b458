"""A private key opens where it stands and is never copied: not its seed, in any spelling."""

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import PROGRAM, SUITE, V7, V8, Door, environment, every_byte

PASSPHRASE = "correct-horse-zq7"


class Key:
    """A key in a folder outside of the workspace."""

    def __init__(self, folder: Path, name: str, passphrase: str = "") -> None:
        private = Ed25519PrivateKey.generate()
        how: KeySerializationEncryption = NoEncryption()
        if passphrase:
            how = BestAvailableEncryption(passphrase.encode())
        folder.mkdir(exist_ok=True)
        self.path = folder / name
        self.path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, how))
        self.path.chmod(0o600)
        public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        self.public = self.path.with_suffix(".pub")
        self.public.write_bytes(public + b"\n")
        self.seed = private.private_bytes_raw()

    def spellings(self) -> Iterator[bytes]:
        """The seed as it might stand in a file, and the lines of the key file that hold it."""
        yield self.seed
        yield self.seed.hex().encode()
        yield self.seed.hex().upper().encode()
        # Base64 of bytes around a seed depends on where in a group of three it starts.
        for shift in range(3):
            text = base64.b64encode(b"\0" * shift + self.seed)
            yield text[4:-4]
            yield base64.urlsafe_b64encode(b"\0" * shift + self.seed)[4:-4]
        yield from self.path.read_bytes().splitlines()[2:-2]


def test_spellings_are_found_in_the_key_file_itself(tmp_path: Path) -> None:
    key = Key(tmp_path / "keys", "robin")
    held = key.path.read_bytes()
    assert any(one in held for one in key.spellings())
    assert any(
        one in base64.b64decode(b"".join(held.split(b"\n")[1:-2])) for one in key.spellings()
    )


def test_nothing_that_is_written_or_said_holds_a_key(full: Door, tmp_path: Path) -> None:
    """Trusted, signed with, counter-signed, refused, broken glass, exported; then every file that
    was made is looked through, and every word that was said."""
    plain, locked = Key(tmp_path / "keys", "robin"), Key(tmp_path / "keys", "sam", PASSPHRASE)
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    said = b""
    release = ("--suite", SUITE, "--candidate")

    def run(*argv: object) -> int:
        nonlocal said
        done = subprocess.run(
            [*PROGRAM, "--workspace", str(full.root), *map(str, argv)],
            env=environment(
                HOME=str(home),
                TMPDIR=str(temporary),
                XDG_STATE_HOME=str(home / "state"),
                XDG_CONFIG_HOME=str(home / "config"),
                REVIEWER_DEBUG="1",
                REVIEWER_PASSPHRASE=PASSPHRASE,
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )
        said += done.stdout + done.stderr
        return done.returncode

    assert run("keys", "trust", "robin@example.com", plain.public) == 0
    assert run("sign", *release, V7, "--key", locked.path) == 30  # nobody trusts it yet
    assert run("keys", "trust", "sam@example.com", locked.public) == 0
    assert run("sign", *release, V8, "--key", plain.path) == 0
    assert run("sign", *release, V7, "--key", locked.path) == 10
    assert run("sign", *release, V8, "--key", tmp_path / "keys" / "nobody") != 0
    assert run("--export-report", tmp_path / "out", *release, V8, "--sign", plain.path) == 0
    assert run("decisions", "export", "1", tmp_path / "exported") == 0
    assert run("backup", tmp_path / "copy.db") == 0
    assert run("doctor") == 0

    signed = list((full.root / "store" / "decisions").glob("*.dsse.json"))
    assert len(signed) == 3
    made = b"\n".join(
        (
            every_byte(full.root),
            every_byte(full.root / "store"),
            *map(every_byte, (home, temporary, tmp_path / "out", tmp_path / "exported")),
            (tmp_path / "copy.db").read_bytes(),
            said,
        )
    )
    assert base64.b64encode(plain.seed) not in made
    for key in (plain, locked):
        assert key.public.read_bytes().split()[1] in made  # what may be copied is
        assert [one for one in key.spellings() if one in made] == []
    assert PASSPHRASE.encode() not in made


def test_the_key_file_is_only_read(full: Door, tmp_path: Path) -> None:
    key = Key(tmp_path / "keys", "robin")
    before = key.path.read_bytes(), key.path.stat().st_mtime_ns, key.path.stat().st_mode
    full.ok("keys", "trust", "robin@example.com", key.public)
    full.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", key.path)
    assert (key.path.read_bytes(), key.path.stat().st_mtime_ns, key.path.stat().st_mode) == before
    assert sorted(one.name for one in key.path.parent.iterdir()) == ["robin", "robin.pub"]
