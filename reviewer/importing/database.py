"""Open SQLite databases of unknown origin.

The file is never written. Where a journal beside it contains the last writes (`-wal`), or writes to
be rolled back (`-journal`), both files are copied and read there; otherwise rows would be missing
without notice. A compressed database is unpacked.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from reviewer.db.foreign import DAMAGED, ForeignDatabase, said
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import kind_of, opened
from reviewer.importing.pipeline.split import Unreadable

MAGIC = b"SQLite format 3\x00"
JOURNALS = ("-wal", "-journal")
MOST_COPIED = 4 << 30


Tables = Mapping[str, tuple[str, ...]]


def tables_in(head: Head) -> Tables:
    """Return the columns of each table of a database that starts like this; none for any other
    file, or one that cannot be opened."""
    return _tables(head) or {}


def is_damaged(head: Head) -> bool:
    """Return whether a file that starts like this is a database that cannot be opened."""
    return head.start.startswith(MAGIC) and _tables(head) is None


def _tables(head: Head) -> Tables | None:
    """Return the tables, None where none can be read. The file is opened once, since several
    readers ask."""
    if not head.start.startswith(MAGIC):
        return None
    return head.once("tables", lambda: _tables_of(head.path))


def _tables_of(path: Path) -> Tables | None:
    try:
        with database(path) as held:
            return held.tables
    except (Unreadable, OSError):
        return None


def journals(path: Path) -> tuple[Path, ...]:
    """Return the files beside a database that belong to its content."""
    path = path.resolve()
    found = (path.with_name(path.name + ending) for ending in JOURNALS)
    return tuple(one for one in found if _holds_anything(one))


def _holds_anything(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


@contextmanager
def database(path: Path) -> Iterator[ForeignDatabase]:
    """Open a database. Raises Unreadable, also for errors of reading it inside the context;
    OSError."""
    with ExitStack() as stack:
        try:
            yield _opened(path, stack)
        except DAMAGED as error:
            raise Unreadable(f"a damaged SQLite database: {said(error)}") from None


def _opened(path: Path, stack: ExitStack) -> ForeignDatabase:
    path = path.resolve()
    with path.open("rb") as handle:
        packed = kind_of(handle.read(32)) != "plain"
    beside = () if packed else journals(path)
    if packed or beside:
        copy = _copied(path, beside, stack)
        return stack.enter_context(closing(ForeignDatabase(copy, copy=True)))
    return stack.enter_context(closing(ForeignDatabase(path)))


def _copied(path: Path, beside: Sequence[Path], stack: ExitStack) -> Path:
    """Return a copy of a database with its journals, or of a compressed one, in a folder of its
    own."""
    if sum(os.path.getsize(one) for one in (path, *beside)) > MOST_COPIED:
        raise Unreadable(f"a database with a journal of over {MOST_COPIED >> 30} GiB")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reviewer-")))
    copy = folder / "database"
    with opened(path) as handle, copy.open("wb") as target:
        shutil.copyfileobj(handle, target)
    for one in beside:
        shutil.copyfile(one, f"{copy}{one.name.removeprefix(path.name)}")
    return copy
