"""Who is meant by a name: principals of the trust file, authors of a manifest, people who label."""

import unicodedata
from collections.abc import Iterable


def is_one_of(principal: str, names: Iterable[str]) -> bool:
    """Whether `principal` is one of `names`.

    In any case, also as the address of `Name <address>`, and also by the part before the @ where
    the name is no address (labels carry no addresses). Deliberately generous: a person must not
    approve their own work by spelling it differently.
    """
    whole = _folded(principal)
    short = whole.partition("@")[0]
    for name in names:
        address = name.rpartition("<")[2].partition(">")[0] if "<" in name else name
        if whole in (_folded(name), _folded(address)) or short == _folded(name):
            return True
    return False


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()
