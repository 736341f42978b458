"""The identity of code: its files, as one digest.

The digest is sha256 of the RFC 8785 JSON of path, executable bit and sha256 of every file, sorted
by the bytes of the path, in the same way as the lock of a suite.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reviewer.suite.strict_json import canonical_bytes, sha256_hex

CODE_SCHEMA = "reviewer/code@1"

CACHES = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"),
        *(".git", ".hg", ".svn", ".DS_Store"),
    }
)
"""Names of files and folders that are not code: they change without anybody editing them."""


UNREADABLE = "unreadable"
REWRITTEN = "rewritten"
"""Recorded as the digest of an attempt's code at its end when the code could not be measured again,
and when it is the same, but its files were written or replaced in between."""


class CodeFile(NamedTuple):
    """One file of the code. `path` is relative to the suite's `candidates/`."""

    path: str
    executable: bool
    sha256: str


class RanCode(NamedTuple):
    """The digests of the code that ran, and the kinds of the runners that ran it."""

    codes: tuple[str, ...]
    kinds: tuple[str, ...]


def codes_differ(ran: Iterable[RanCode]) -> bool:
    """Return whether several suites ran different codes of one candidate. A scripted candidate is a
    recording for the episodes of one suite, so its code differs in each."""
    found = {one.codes for one in ran if one.codes and one.kinds != ("scripted",)}
    return len(found) > 1


def code_bytes(files: Iterable[CodeFile]) -> bytes:
    """Return the list of files in the form that is hashed."""
    listed = sorted(files, key=lambda file: file.path.encode())
    return canonical_bytes(
        {"schema": CODE_SCHEMA, "files": [file._asdict() for file in listed]}, "code"
    )


def code_digest(files: Iterable[CodeFile]) -> str:
    """Return the digest of the code: sha256 (hex) of `code_bytes`."""
    return sha256_hex(code_bytes(files))
