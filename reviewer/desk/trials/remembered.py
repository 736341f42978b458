"""Trials run by this process, by the content of their suite: played once, and inspected later."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from reviewer.desk import stopping
from reviewer.desk.errors import DeskError
from reviewer.desk.trials.trying import Played, played_trial
from reviewer.suite.folder import LoadedSuite, read_suite, suite_state
from reviewer.suite.toolset import equipped

MOST_EPISODES = 30
"""Most episodes of a suite that is tried without being asked for: a trial plays each with eight
agents."""
MOST = 4
"""Most trials that are cached."""
_PROGRAMS = ("toolkit", "server", "container")
_kept: dict[tuple[str, Path], Played] = {}
_lock = Lock()


def too_many(folder: Path) -> str:
    """Return why a suite is not even read before somebody asks for its trial; "" for one that
    is."""
    episodes = folder / "episodes"
    count = len(os.listdir(episodes)) if episodes.is_dir() else 0
    return f"{count:,} episodes take a while" if count > MOST_EPISODES else ""


def why_not_unasked(found: LoadedSuite) -> str:
    """Return why a suite is not tried before somebody asks for it; "" for one that is."""
    suite = found.suite
    worlds = [equipped(one, found.toolset).simulator or {} for one in suite.episodes]
    if suite.own_checks or any(world.get(kind) for world in worlds for kind in _PROGRAMS):
        return "it would run programs of the suite"
    return ""


def known(found: LoadedSuite, folder: Path) -> Played | None:
    """Return the trial of exactly this content, if one was run; plays nothing."""
    return _kept.get(_key(found, folder))


def any_of(folder: Path) -> bool:
    """Return whether a trial of this suite was run by this process, of its present or an earlier
    content."""
    return any(place == folder for _, place in _kept)


def played_of(found: LoadedSuite, folder: Path) -> Played:
    """Return the trial of this content, running it if needed. Raises DeskError for a world that
    cannot be created, and for files that were changed meanwhile."""
    key = _key(found, folder)
    with _lock:  # two screens that ask at once share one trial
        if key in _kept:
            return _kept[key]
        made = played_trial(found.suite, found.toolset, folder)
        if _key(read_suite(folder), folder) != key:
            raise DeskError(
                "the suite changed during its trial",
                "start again: the next trial uses the suite as it is now",
            )
        for oldest in list(_kept)[: len(_kept) - MOST + 1]:
            del _kept[oldest]
        _kept[key] = made
        return made


def _key(found: LoadedSuite, folder: Path) -> tuple[str, Path]:
    """Return what identifies the content of a suite: its lock, or without one every byte of its
    files."""
    return found.suite.digest or _digest_of(folder), folder


def _digest_of(folder: Path) -> str:
    def parts() -> Iterator[bytes]:
        for path, data in sorted(suite_state(folder, stopping.check).files.items()):
            yield f"{path} {len(data)} ".encode()
            yield data

    found = hashlib.sha256()
    for part in parts():
        found.update(part)
    return found.hexdigest()
