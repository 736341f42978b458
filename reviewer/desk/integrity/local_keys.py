"""The keys of whoever sits here: those in ssh-agent and in files, and making one.

A throw-away workspace has a folder of its own for keys: nothing of the person's is looked at there,
and its key goes when the workspace goes.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.trust import signers_of
from reviewer.desk.place import Workspace
from reviewer.desk.views import KeyInfo
from reviewer.signing.errors import AgentError, AgentUnavailable, AttestError, plain
from reviewer.signing.keys import connect_agent, encrypted, load_signer, new_key, read_public_file
from reviewer.signing.signers import Signers
from reviewer.signing.ssh import PublicKey

AGENT = "ssh-agent"


def key_folder(workspace: Workspace) -> Path:
    """Return the folder in which key files are looked for, and made."""
    return workspace.keys or Path.home() / ".ssh"


def key_file(workspace: Workspace) -> Path:
    """Return the file of the key that `make_key` makes."""
    return key_folder(workspace) / ("id_demo" if workspace.keys else "id_reviewer")


def available_keys(workspace: Workspace) -> list[KeyInfo]:
    """Return the keys that could sign here: those in ssh-agent, then Ed25519 files."""
    signers = signers_of(workspace)
    found: dict[str, KeyInfo] = {}
    if workspace.keys is None:
        try:
            agent = connect_agent()
            for held in agent.keys():  # noqa: SIM118 (an agent, not a mapping)
                one = _info(held.public, held.comment, AGENT, signers)
                found.setdefault(one.fingerprint, one)
        except AgentError:
            pass  # no agent is a normal state: key files are offered instead
    for public in sorted(key_folder(workspace).glob("*.pub")):
        private = public.with_suffix("")
        if private.exists():
            try:
                key = read_public_file(public)
            except AttestError:
                continue  # not an Ed25519 key: it cannot sign here
            one = _info(key, public.stem, str(private), signers, _locked(private))
            found.setdefault(one.fingerprint, one)
    return list(found.values())


def looked_in(workspace: Workspace) -> list[tuple[str, str]]:
    """Return the places where keys are looked for, each with what is there."""
    places = []
    if workspace.keys is None:
        try:
            count = len(connect_agent().keys())
            says = f"{count} Ed25519 keys" if count else "running, no key: empty, or locked"
        except AgentUnavailable as error:
            says = "not running" if "not set" in str(error) else "does not answer"
        except AgentError:
            says = "does not answer as an agent does"
        places.append((AGENT, says))
    folder = key_folder(workspace)
    files = [public for public in folder.glob("*.pub") if public.with_suffix("").exists()]
    places.append((shown(folder), f"{len(files)} key files" if files else "no key"))
    return places


def key_at(workspace: Workspace, path: str) -> KeyInfo:
    """Return the key in a private key file, or in ssh-agent for a .pub file. Raises DeskError."""
    place = Path(path).expanduser()
    try:
        if place.suffix == ".pub":
            key = load_signer(str(place)).public
            return _info(key, place.stem, str(place), signers_of(workspace))
        beside = place.with_name(f"{place.name}.pub")
        locked = encrypted(place)
        if not locked:
            key = load_signer(str(place)).public
        elif beside.exists():
            key = read_public_file(beside)
        else:
            raise DeskError(
                f"{plain(place)}: its passphrase hides which key it is, and there is no "
                f"{beside.name} beside it",
                f"ssh-keygen -y -f {plain(place)} > {plain(beside)} makes it",
            )
    except AttestError as error:
        raise DeskError(str(error)) from error
    return _info(key, place.name, str(place), signers_of(workspace), locked)


def as_trusted(workspace: Workspace, key: KeyInfo) -> KeyInfo:
    """Return a key with the roles that the trust file gives it now."""
    signers = signers_of(workspace)
    line = signers.by_keyid(key.fingerprint) if signers else None
    if line is None:
        return replace(key, principal=None, roles=())
    return replace(key, principal=line.principal, roles=tuple(sorted(line.roles)))


def make_key(workspace: Workspace, passphrase: str) -> KeyInfo:
    """Make an Ed25519 key with a passphrase, as OpenSSH keeps them, and return it. Only in a
    throw-away workspace it may be empty. Raises DeskError; a file that is there stays as it is."""
    path = key_file(workspace)
    if not passphrase and workspace.keys is None:
        raise DeskError(
            "a key without a passphrase signs for anyone who copies its file", "type a passphrase"
        )
    private, public = new_key(passphrase, path.name)
    beside = path.with_name(f"{path.name}.pub")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place, data, mode in ((path, private, 0o600), (beside, public, 0o644)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(place, flags, mode), "wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
    except FileExistsError:
        raise DeskError(
            f"{plain(path)} is there already, and is left as it is", f"use it: type {plain(path)}"
        ) from None
    except OSError as error:
        raise DeskError(f"{plain(path)}: cannot be made ({error.strerror})") from error
    return key_at(workspace, str(path))


def _locked(path: Path) -> bool:
    try:
        return encrypted(path)
    except AttestError:
        return False  # signing with it says what is wrong


def shown(path: Path) -> str:
    """Return a path as a person writes it, `~` for the home folder."""
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
