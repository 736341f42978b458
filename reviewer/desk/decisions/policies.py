"""The digest under which a decision names its policy."""

import msgspec

from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.model import Policy


def policy_digest(policy: Policy) -> str:
    """sha256 of a policy's RFC 8785 bytes, with every default written out."""
    return sha256_hex(canonical_bytes(msgspec.to_builtins(policy), "policy"))
