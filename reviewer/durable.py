"""Make a rename or a new file last: a name is on the disk only when its folder was synced."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
