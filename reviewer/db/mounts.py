"""The kind of file system that a store is on.

SQLite's write-ahead log is coordinated through memory that the processes of one machine share. Over
a network each machine has its own such memory, and two machines that write at once damage the file
without noticing.
"""

import os
from functools import lru_cache
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
"""Linux's list of mounted file systems; on other systems the kind is not known."""
NETWORK = frozenset((
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "glusterfs", "gpfs"),
    *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb", "smb3", "smbfs"),
))  # fmt: skip
"""Kinds that several machines can mount at once."""
_FUSE = frozenset((
    *("blobfuse", "blobfuse2", "ceph", "davfs2", "gcsfuse", "glusterfs", "goofys", "juicefs"),
    *("lustre", "moosefs", "mountpoint-s3", "nfs", "rclone", "s3fs", "smbnetfs", "sshfs"),
))  # fmt: skip


def network_kind(folder: Path) -> str | None:
    """Return the kind of the network file system that a folder is on; None on any other, and where
    the kind is not known."""
    try:
        return _kind(os.stat(folder).st_dev, MOUNTS)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _kind(device: int, mounts: Path) -> str | None:
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        mount, _, system = line.partition(" - ")
        where, kind = mount.split(" "), system.partition(" ")[0]
        if len(where) > 4 and where[2] == number and _shared(kind, where[4]):
            return kind
    return None


def _shared(kind: str, place: str) -> bool:
    if kind == "9p" and place == "/":
        return False  # the disk of a sandboxed container
    name, _, program = kind.partition(".")
    return kind in NETWORK or (name in ("fuse", "fuseblk") and program in _FUSE)
