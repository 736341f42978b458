"""The scorecard of a large suite, kept beside the store until anything it was made of changes.

Every row that a recommendation depends on is written together with an entry of the journal, whose
head is a digest over all entries: as long as it is the same, so are the rows. With it are bound the
suite, which must be proved untouched, the candidate's manifest, the signed files that lie outside
the store, and the code that made the figures. Anything else means that they are made again. What is
kept is of this machine alone and no evidence: reports, signing and `verify` do not ask it, and
`reviewer doctor` makes it again and compares.
"""

import hashlib
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

import reviewer
from reviewer.desk.made_of import MadeOf
from reviewer.desk.place import Workspace
from reviewer.desk.views import Scorecard

MOST = 16 << 20
"""Bytes of a file of this kind."""
_SUFFIX = ".card"


class _Kept(msgspec.Struct, frozen=True):
    stamp: str
    card: Scorecard


_decoder = msgspec.msgpack.Decoder(_Kept)


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of every module of the package: any of them may decide a figure."""
    here = Path(reviewer.__file__).resolve().parent
    found = hashlib.sha256(reviewer.__version__.encode())
    for path in sorted(here.rglob("*.py")):
        found.update(f"{path.relative_to(here).as_posix()}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def has_card(workspace: Workspace, suite_id: str, candidate_id: str) -> bool:
    """Return whether a scorecard is kept, of now or of earlier."""
    return _file(workspace, suite_id, candidate_id).exists()


def kept_card(
    workspace: Workspace, suite_id: str, candidate_id: str, made_of: MadeOf | None
) -> Scorecard | None:
    """Return the scorecard that is kept, if it was made of the same."""
    found = _read(_file(workspace, suite_id, candidate_id))
    if found is None or made_of is None or found.stamp != _stamp(made_of):
        return None
    mine = (found.card.suite.suite_id, found.card.candidate_id) == (suite_id, candidate_id)
    return found.card if mine else None


def keep(workspace: Workspace, card: Scorecard, made_of: MadeOf | None) -> None:
    """Keep a scorecard, where the store can be written: it spares work, and nothing depends on
    it."""
    if made_of is None or made_of.head.seq != card.rev or not workspace.keeps:
        return  # something came in while it was made
    place = _file(workspace, card.suite.suite_id, card.candidate_id)
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        ignore = place.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")  # true on this machine alone
        partial.write_bytes(msgspec.msgpack.encode(_Kept(_stamp(made_of), card)))
        partial.chmod(0o600)
        partial.replace(place)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def kept_cards(workspace: Workspace) -> list[Scorecard]:
    """Return every scorecard that is kept where it would be looked for, of now or of earlier."""
    found = []
    for file in sorted(workspace.figures.glob(f"*{_SUFFIX}")):
        one = _read(file)
        if one is not None:
            card = one.card
            if file == _file(workspace, card.suite.suite_id, card.candidate_id):
                found.append(card)
    return found


def _stamp(made_of: MadeOf) -> str:
    return hashlib.sha256(msgspec.json.encode((_code(), made_of))).hexdigest()


def _file(workspace: Workspace, suite_id: str, candidate_id: str) -> Path:
    """Return the file of a candidate: an id may be longer than a name, or none."""
    name = hashlib.sha256(f"{suite_id}\0{candidate_id}".encode()).hexdigest()[:32]
    return workspace.figures / f"{name}{_SUFFIX}"


def _read(place: Path) -> _Kept | None:
    try:
        with place.open("rb") as file:
            return _decoder.decode(file.read(MOST))
    except (OSError, msgspec.DecodeError):
        return None
