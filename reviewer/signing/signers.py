"""The trust file `store/signers`: who may sign, in which role, with which key.

One line per key: `principal roles ssh-ed25519 AAAA… [comment]`; roles are comma separated, `#`
starts a comment line. One key belongs to one principal. A principal may have several keys, with
the same roles on each line. Principals are ASCII, so that none can look like another.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from reviewer.signing.errors import PublicKeyError, SignersError, plain
from reviewer.signing.ssh import PublicKey, public_from_fields
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.tool_names import look_alike


def is_one_of(principal: str, names: Iterable[str]) -> bool:
    """Return whether `principal` is one of `names`.

    Compared ignoring case, also as the address of `Name <address>`, by the part before the @ where
    one of them is no address, and with letters that look alike treated as equal. Deliberately
    generous: a person must not approve their own work by spelling their name differently.
    """
    whole = principal.casefold()
    short, at, _ = whole.partition("@")
    for name in names:
        address = name.rpartition("<")[2].partition(">")[0] if "<" in name else name
        for told in {_folded(name), _folded(address), *_looks_like(name), *_looks_like(address)}:
            if whole == told or short == told or (not at and short == told.partition("@")[0]):
                return True
    return False


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _looks_like(name: str) -> tuple[str, ...]:
    return () if name.isascii() else (look_alike(name).strip(),)


ROLES = frozenset({"runner", "labeler", "approver", "breakglass"})
MAX_SIGNERS_BYTES = 1024 * 1024
MAX_SIGNERS = 1000
_PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,254}")


class TrustedKey(Struct, frozen=True):
    """One line of the file; `line` counts from 1."""

    principal: str
    roles: frozenset[str]
    key: PublicKey
    line: int
    comment: str = ""


class Signers(Struct, frozen=True):
    """The parsed trust file; `sha256` is the digest of its bytes, to be pinned by a pipeline."""

    keys: tuple[TrustedKey, ...]
    sha256: str

    def find(self, key: PublicKey) -> TrustedKey | None:
        return next((one for one in self.keys if one.key == key), None)

    def by_keyid(self, keyid: str) -> TrustedKey | None:
        return next((one for one in self.keys if one.key.keyid == keyid), None)

    def with_role(self, role: str) -> tuple[TrustedKey, ...]:
        return tuple(one for one in self.keys if role in one.roles)


def parse_signers(text: str, name: str = "signers") -> Signers:
    """Read the trust file; SignersError names `name` and the invalid line."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_SIGNERS_BYTES:
        raise SignersError(f"{name}: {len(data)} bytes; the limit is {MAX_SIGNERS_BYTES}")
    keys: list[TrustedKey] = []
    by_key: dict[bytes, TrustedKey] = {}
    by_principal: dict[str, TrustedKey] = {}
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        one = _parse_line(line, number, f"{name}:{number}")
        if (twin := by_key.get(one.key.raw)) is not None:
            raise SignersError(
                f"{name}:{number}: this key is already on line {twin.line}"
                f" ({twin.principal}); one key is one line"
            )
        before = by_principal.get(one.principal.lower())
        if before is not None and (before.principal, before.roles) != (one.principal, one.roles):
            raise SignersError(
                f"{name}:{number}: {one.principal} conflicts with {before.principal} on line"
                f" {before.line}; use the same spelling and the same roles on both"
            )
        by_key[one.key.raw] = by_principal[one.principal.lower()] = one
        keys.append(one)
        if len(keys) > MAX_SIGNERS:
            raise SignersError(f"{name}:{number}: more than {MAX_SIGNERS} keys")
    return Signers(tuple(keys), sha256_hex(data))


def read_signers(path: Path) -> tuple[Signers, list[str]]:
    """Return (signers, warnings) from a file; SignersError when it is missing, unreadable or
    invalid."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_SIGNERS_BYTES + 1)
            mode = os.fstat(handle.fileno()).st_mode
    except FileNotFoundError:
        raise SignersError(
            f"{path}: no such file; write one line per key: principal roles ssh-ed25519 AAAA…"
        ) from None
    except (OSError, ValueError) as error:
        raise SignersError(f"{plain(path)}: {plain(error)}") from None
    try:
        signers = parse_signers(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise SignersError(f"{path}: not UTF-8 at byte {error.start}") from None
    warnings = []
    if mode & stat.S_IWOTH:
        warnings.append(f"{path}: anyone on this machine can write to it; run chmod o-w on it")
    return signers, warnings


def _parse_line(line: str, number: int, where: str) -> TrustedKey:
    fields = line.split(None, 4)
    if len(fields) < 4:
        raise SignersError(f"{where}: expected 'principal roles ssh-ed25519 AAAA… [comment]'")
    principal, roles_text, kind, encoded = fields[:4]
    if not _PRINCIPAL.fullmatch(principal):
        raise SignersError(
            f"{where}: principal {plain(principal)!r} may hold only A-Z a-z 0-9 . _ @ + -"
        )
    roles = roles_text.split(",")
    for role in roles:
        if role not in ROLES:
            raise SignersError(
                f"{where}: unknown role {plain(role)!r}; roles are {', '.join(sorted(ROLES))}"
            )
    try:
        key = public_from_fields(kind, encoded)
    except PublicKeyError as error:
        raise SignersError(f"{where}: {error}") from None
    comment = plain(fields[4]) if len(fields) > 4 else ""
    return TrustedKey(principal, frozenset(roles), key, number, comment)
