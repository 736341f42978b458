"""The Merkle tree head, against the vectors of certificate transparency."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from reviewer.signing.facts import merkle_root

LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"]
LEAVES += ["606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def test_the_eight_reference_vectors() -> None:
    leaves = [bytes.fromhex(leaf) for leaf in LEAVES]
    assert [merkle_root(leaves[:n]) for n in range(1, 9)] == ROOTS
    assert merkle_root([]) == hashlib.sha256(b"").hexdigest()


def recursive(leaves: list[bytes]) -> bytes:
    """RFC 6962 §2.1 as it is written."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + recursive(leaves[:k]) + recursive(leaves[k:])).digest()


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=70))
def test_it_is_the_definition(leaves: list[bytes]) -> None:
    assert merkle_root(leaves) == recursive(leaves).hex()
