"""The digest that identifies a draft (a suite without a lock) by its present files. Pure."""

from collections.abc import Mapping

from reviewer.suite.strict_json import canonical_bytes, sha256_hex

DRAFT_SCHEMA = "reviewer/draft@1"


def draft_digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of a draft's files (path: content), including the manifests of its
    candidates. It never equals that of a lock, so nothing made under it can be taken for
    evidence."""
    listed = {path: sha256_hex(data) for path, data in sorted(files.items())}
    return sha256_hex(canonical_bytes({"schema": DRAFT_SCHEMA, "files": listed}, "draft"))
