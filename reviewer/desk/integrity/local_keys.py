"""The keys of the user of this machine: those in ssh-agent and in files, and creating one.

A throw-away workspace has a folder of its own for keys: the user's own keys are not looked for
there, and its key is deleted with the workspace.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.integrity.trust import signers_of
from reviewer.desk.place import Workspace
from reviewer.desk.views import KeyInfo
from reviewer.signing.agent import connect_agent
from reviewer.signing.errors import AgentError, AgentUnavailable, AttestError, plain
from reviewer.signing.key_files import encrypted, new_key, public_half, read_public_file
from reviewer.signing.keys import load_signer
from reviewer.signing.signers import Signers
from reviewer.signing.ssh import PublicKey

AGENT = "ssh-agent"


def key_folder(workspace: Workspace) -> Path:
    """Return the folder in which key files are looked for and created."""
    return workspace.keys or Path.home() / ".ssh"


def key_file(workspace: Workspace) -> Path:
    """Return the file of the key that `make_key` creates."""
    return key_folder(workspace) / ("id_demo" if workspace.keys else "id_reviewer")


def available_keys(workspace: Workspace) -> list[KeyInfo]:
    """Return the keys that could sign in this workspace: those in ssh-agent, then Ed25519 files."""
    signers = signers_of(workspace)
    found: dict[str, KeyInfo] = {}
    if workspace.keys is None:
        try:
            agent = connect_agent()
            for held in agent.keys():  # noqa: SIM118 (an agent, not a mapping)
                one = _info(held.public, held.comment, AGENT, signers)
                found.setdefault(one.fingerprint, one)
        except AgentError:
            pass  # no agent is a normal state: key files are offered
    for private in _private_files(workspace):
        try:
            key = _public_of(private)
        except AttestError:
            continue  # not an Ed25519 key: it cannot sign
        one = _info(key, private.name, shown(private), signers, _locked(private))
        found.setdefault(one.fingerprint, one)
    return list(found.values())


def looked_in(workspace: Workspace) -> list[tuple[str, str]]:
    """Return the places where keys are looked for, each with what was found."""
    places = []
    if workspace.keys is None:
        try:
            count = len(connect_agent().keys())
            says = f"{count} Ed25519 key{'' if count == 1 else 's'}"
            if not count:
                says = "no key: it is empty, or locked"
        except AgentUnavailable as error:
            says = "not running" if "not set" in str(error) else "does not answer"
        except AgentError:
            says = "does not answer like an ssh-agent"
        places.append((AGENT, says))
    count = len(_private_files(workspace))
    says = f"{count} key file{'' if count == 1 else 's'}" if count else "no key"
    places.append((shown(key_folder(workspace)), says))
    return places


def key_at(workspace: Workspace, path: str) -> KeyInfo:
    """Return the key in a private key file, or in ssh-agent for a .pub file. Raises DeskError."""
    place = Path(path).expanduser()
    try:
        if place.suffix == ".pub":
            key = load_signer(str(place)).public
            return _info(key, place.stem, shown(place), signers_of(workspace))
        locked = encrypted(place)
        # An unlocked key is decoded completely: a damaged one is refused here, not when it signs.
        key = _public_of(place) if locked else load_signer(str(place)).public
    except AttestError as error:
        raise DeskError(
            str(error).replace(str(place), shown(place)),
            "name a private key file, such as ~/.ssh/id_ed25519",
        ) from error
    return _info(key, place.name, shown(place), signers_of(workspace), locked)


def as_trusted(workspace: Workspace, key: KeyInfo) -> KeyInfo:
    """Return a key with the roles that the trust file currently gives it."""
    signers = signers_of(workspace)
    line = signers.by_keyid(key.fingerprint) if signers else None
    if line is None:
        return replace(key, principal=None, roles=())
    return replace(key, principal=line.principal, roles=tuple(sorted(line.roles)))


def make_key(workspace: Workspace, passphrase: str) -> KeyInfo:
    """Create an Ed25519 key with a passphrase, in OpenSSH's format, and return it. The
    passphrase may be empty only in a throw-away workspace. Raises DeskError; an existing file is
    not changed."""
    path = key_file(workspace)
    if not passphrase and not workspace.throw_away:
        raise DeskError(
            "a key without a passphrase signs for anyone who copies its file", "type a passphrase"
        )
    beside = _beside(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() or beside.exists():
            raise FileExistsError
        private, public = new_key(passphrase, path.name)
        _put(path, private, 0o600)
        _put(beside, public, 0o644)
    except FileExistsError:
        raise DeskError(
            f"{plain(path)} already exists and was not changed",
            "reload the list of keys: it may be there now",
            f"use it: type {plain(path)}",
        ) from None
    except OSError as error:
        raise DeskError(
            f"{plain(path)}: cannot be made ({error.strerror})", *ways_out(error)
        ) from error
    return key_at(workspace, str(path))


def _put(path: Path, data: bytes, mode: int) -> None:
    """Write a new file completely or not at all. Raises FileExistsError where one exists."""
    partial = path.with_name(f".{path.name}.new")
    partial.unlink(missing_ok=True)  # left by a program that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(partial, flags, mode), "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _beside(private: Path) -> Path:
    return private.with_name(f"{private.name}.pub")


def _private_files(workspace: Workspace) -> list[Path]:
    """Return the private files that have a .pub file beside them, and the one of `make_key`, whose
    .pub file is missing where the program was killed between writing the two."""
    folder = key_folder(workspace)
    named = {public.with_suffix("") for public in folder.glob("*.pub")}
    return sorted(path for path in {*named, key_file(workspace)} if path.is_file())


def _public_of(private: Path) -> PublicKey:
    """Return the public half of a private file: from the file itself where it contains it, rather
    than the .pub file beside it, which may belong to another key."""
    try:
        if (key := public_half(private)) is not None:
            return key
    except AttestError:
        pass  # the .pub file names the key; signing will report what is wrong with the private one
    return read_public_file(_beside(private))


def _locked(path: Path) -> bool:
    try:
        return encrypted(path)
    except AttestError:
        return False  # signing with it will report what is wrong


def shown(path: Path) -> str:
    """Return a path as a person writes it, with `~` for the home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _info(
    key: PublicKey, comment: str, where: str, signers: Signers | None, locked: bool = False
) -> KeyInfo:
    line = signers.by_keyid(key.keyid) if signers else None
    return KeyInfo(
        fingerprint=key.keyid,
        comment=comment,
        where=where,
        principal=line.principal if line else None,
        roles=tuple(sorted(line.roles)) if line else (),
        public=key.line(),
        locked=locked,
    )
