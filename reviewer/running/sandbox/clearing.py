"""Removing a folder whatever was done inside it. Standard library only: the keeper runs it too."""

import os


def remove(folder: str) -> None:
    """Removes a folder and all below it: folders closed to us, links (never followed), trees
    deeper than a path may be long. Never raises; what cannot be removed stays.
    """
    # Every folder below is first moved up here under a name that nobody could have taken, so that
    # neither a path nor a recursion grows with the depth of the tree.
    token = os.urandom(8).hex()
    waiting, number = [folder], 0
    _open(folder)
    while waiting:
        here = waiting.pop()
        for entry in _entries(here):
            try:
                if entry.is_dir(follow_symlinks=False):
                    number += 1
                    up = f"{folder}/{token}-{number}"
                    _open(entry.path)
                    os.rename(entry.path, up)
                    waiting.append(up)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
        if here != folder:
            _drop(here)
    _drop(folder)


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _open(folder: str) -> None:
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return


def _drop(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return
