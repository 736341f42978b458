"""Fill event rows and full text after an import, by one process at a time.

Every batch of an import, a live listener or a watcher may ask for indexing. Two processes that
index at once would read the same traces, and one would waste its work. So a second process waits
for the first to end, and while one waits no third is started: the waiting process reads the store
after that.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reviewer.db.connection import close_writer, reader
from reviewer.db.schema import open_writer
from reviewer.db.search import catch_up, more_pending
from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.place import Workspace

_WORKS, _WAITS = "index.lock", "index-next.lock"


def index_behind(workspace: Workspace) -> None:
    """Start a process that indexes what is pending, unless another is about to begin; index the
    runs of a draft in this process."""
    if workspace.draft:
        index_now(workspace)
        return
    connection = reader(workspace.store)
    try:
        if not more_pending(connection) or _one_waits(workspace):
            return
    finally:
        connection.close()
    subprocess.Popen(
        [sys.executable, "-P", "-m", "reviewer", "--workspace", str(workspace.root), "_index"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=workspace.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


def index_now(workspace: Workspace) -> int:
    """Fill event rows and full text up to the last trace; return how many traces were done.

    Waits while another process does the same. Raises DeskError where no file can be created in the
    store's folder.
    """
    with _turn(workspace):
        connection = open_writer(workspace.store)
        try:
            return catch_up(connection, workspace.store)
        finally:
            close_writer(connection, workspace.store)


@contextmanager
def _turn(workspace: Workspace) -> Iterator[None]:
    """Hold the right to index: wait as the only waiting process, then work as the only working
    one."""
    waits = _opened(workspace, _WAITS)
    try:
        fcntl.flock(waits, fcntl.LOCK_EX)
        works = _opened(workspace, _WORKS)
        try:
            fcntl.flock(works, fcntl.LOCK_EX)
            fcntl.flock(waits, fcntl.LOCK_UN)
            yield
        finally:
            os.close(works)
    finally:
        os.close(waits)


def _one_waits(workspace: Workspace) -> bool:
    """Return whether a process is about to index: it has not read the store yet. The lock is
    shared, so that two processes asking at once do not mistake each other for that process."""
    waits = _opened(workspace, _WAITS)
    try:
        fcntl.flock(waits, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(waits)
    return False


def _opened(workspace: Workspace, name: str) -> int:
    path = workspace.store.with_name(name)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise DeskError(f"{path}: cannot be opened ({error.strerror})", *ways_out(error)) from error
