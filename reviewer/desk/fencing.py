"""Signing and programs that could reach the signer: never both at once in a workspace.

Where the machine cannot isolate a candidate's program from ssh-agent and from reviewer's processes,
its run holds a lock of the workspace, shared with other such runs; a signer takes the lock
exclusively. So a candidate cannot replace the text that a person is shown and confirms.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode


def hold_unfenced(workspace: Workspace) -> int:
    """Return the lock of a run whose programs are not isolated; the caller closes it when the run
    has ended. Raises DeskError while somebody signs."""
    return _taken(
        workspace,
        fcntl.LOCK_SH,
        DeskError(
            "a decision is being signed in this workspace, and this machine cannot isolate a "
            "candidate's program from the signer",
            "start the run after the signing",
        ),
    )


@contextmanager
def nothing_unfenced(workspace: Workspace) -> Iterator[None]:
    """Keep programs that are not isolated from running in the workspace. Raises DeskError when one
    is running."""
    lock = _taken(
        workspace,
        fcntl.LOCK_EX,
        DeskError(
            "cannot sign while a candidate's program runs in this workspace: this machine "
            "cannot isolate it from the signer (or somebody else is signing)",
            "wait until the run has ended, or stop it",
            "install bubblewrap, or use a machine with Landlock and seccomp: then both can "
            "happen at once",
            exit_code=ExitCode.NOT_PROMOTED,
        ),
    )
    try:
        yield
    finally:
        os.close(lock)


def _taken(workspace: Workspace, how: int, busy: DeskError) -> int:
    path = workspace.store.with_name("unfenced.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(path, flags, 0o600)
    except OSError as error:
        raise DeskError(f"{path}: cannot be opened ({error.strerror})", *ways_out(error)) from error
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise busy from error
    return lock
