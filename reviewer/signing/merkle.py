"""The root of a Merkle tree over labels (RFC 6962 §2.1): one label can later be proved to be among
them without showing the others."""

import hashlib
from collections.abc import Sequence


def merkle_root(leaves: Sequence[bytes]) -> str:
    """The tree head over `leaves` in their order, hex; of none, the hash of nothing."""
    if not leaves:
        return hashlib.sha256(b"").hexdigest()
    level = [hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(level) > 1:
        # Splitting at the largest power of two is the same as pairing level by level, with the
        # last of an odd level carried up as it is.
        pairs = [
            hashlib.sha256(b"\1" + level[at] + level[at + 1]).digest()
            for at in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0].hex()
