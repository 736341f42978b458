"""Sessions of coding agents where their tools keep them: find, list and choose them.

Only the start of a file is read, so that a home with hundreds of sessions is listed at once; a file
that cannot be read is listed with the reason, and costs only itself.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.session_facts import Held, Told, Tool, value_of
from reviewer.desk.imports.session_tools import TOOLS
from reviewer.desk.views import View
from reviewer.exit_codes import ExitCode
from reviewer.importing.head import first_value
from reviewer.importing.pipeline.opening import start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.source import EVERY, Wanted
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of

SHOWN = 256 * 1024
"""Bytes of a file in which its project and its first request are searched."""
REQUEST = 120
"""Characters of a first request that are kept."""
_LEAST_PREFIX = 4


class SessionView(View, frozen=True):
    """One session. `project` is the folder it worked in, if the start of the file says so;
    `request` is the first request, without identifiers. `problem` says why the session cannot be
    described."""

    tool: str
    id: str
    project: str
    path: str
    """Its file; with `#` and its id where the file holds several."""
    at: str
    """When its file was last written, in UTC."""
    size: int
    request: str
    problem: str = ""
    file: str = ""
    """The file, if it holds several sessions."""


def tools() -> tuple[str, ...]:
    """Return the tools whose sessions can be found, by name."""
    return tuple(TOOLS)


def homes(tool: str, env: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders in which a tool keeps its sessions, whether they exist or not. Raises
    DeskError for an unknown tool."""
    env = os.environ if env is None else env
    if tool not in TOOLS:
        raise DeskError(
            f"--from {tool!r} is not one of: {', '.join(TOOLS)}",
            "name one of these",
            exit_code=ExitCode.USAGE,
        )
    return TOOLS[tool].home(env, Path(env.get("HOME") or Path.home()))


def sessions(
    tool: str, env: Mapping[str, str] | None = None, known: Collection[str] = ()
) -> list[SessionView]:
    """Return the sessions of a tool, by project, the newest first, without those at the `known`
    paths. Raises DeskError."""
    kept = TOOLS.get(tool)
    found: list[SessionView] = []
    for home in homes(tool, env):
        if kept is not None and home.is_dir():
            found += [one for path in _safe(kept.files(home)) if str(path) not in known
                      for one in _view(tool, kept, path)]  # fmt: skip
    newest: dict[str, str] = {}
    for one in found:
        newest[one.project] = max(newest.get(one.project, ""), one.at)
    found.sort(key=lambda one: one.at, reverse=True)
    return sorted(found, key=lambda one: (newest[one.project], one.project), reverse=True)


def chosen(
    found: list[SessionView], ids: Iterable[str], projects: Iterable[str], every: bool
) -> list[SessionView]:
    """Return the chosen sessions: by id, the beginning of an id or their file, by project (its
    folder, or the folder's name), or all. Raises DeskError for a name that matches none or
    several."""
    if every:
        return found
    taken: dict[str, SessionView] = {}
    for own in ids:
        same = [one for one in found if one.id == own]
        same = same or [one for one in found if one.path == own]
        if not same and len(own) >= _LEAST_PREFIX:
            same = [one for one in found if one.id.startswith(own)]
        if len({one.id for one in same}) != 1:
            words = "no session begins with" if not same else f"{len(same)} sessions begin with"
            raise DeskError(f"{words} {own!r}", "--list shows their ids", exit_code=ExitCode.USAGE)
        taken |= {one.path: one for one in same}
    for project in projects:
        same = [one for one in found if of_project(one, project)]
        if not same:
            raise DeskError(
                f"no session of a project {project!r}",
                "--list shows the projects",
                exit_code=ExitCode.USAGE,
            )
        taken |= {one.path: one for one in same}
    return [one for one in found if one.path in taken]


def of_project(one: SessionView, name: str) -> bool:
    """Return whether a session belongs to a project, named by its folder or the folder's name."""
    return name.rstrip("/") in (one.project, Path(one.project).name)


def _safe(files: Iterable[Path]) -> Iterator[Path]:
    """Yield files, each once; a folder that cannot be read yields none."""
    seen: set[Path] = set()
    try:
        for path in files:
            if path not in seen:
                seen.add(path)
                yield path
    except OSError:
        return


def _view(tool: str, kept: Tool, path: Path) -> list[SessionView]:
    """Return the session in a file; none for the file of a sub-agent, which is read with the
    session that started it."""
    told, problem, size, at = Told(), "", 0, ""
    try:
        state = path.stat()
        size = state.st_size
        moment = datetime.fromtimestamp(state.st_mtime, UTC)
        at = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        regular = stat.S_ISREG(state.st_mode)
        several = kept.held(path) if regular else None
        if several is not None:
            return [_held(tool, path, one) for one in several]
        told = _start_of(path, kept) if regular else told  # reading a pipe would never end
        if not regular:
            problem = "not a regular file"
        elif not size:
            problem = "empty"
        elif told == Told():
            problem = "its start does not look like a session"
    except Unreadable as error:
        problem = str(error)
    except (OSError, OverflowError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        problem = f"cannot be read: {reason}"
    if told.sub_agent:
        return []
    return [
        SessionView(
            tool=tool,
            id=kept.own(path),
            project=told.project or path.parent.name,
            path=str(path),
            at=at,
            size=size,
            request=_shown(told.request),
            problem=problem,
        )
    ]


def _held(tool: str, path: Path, one: Held) -> SessionView:
    return SessionView(
        tool=tool,
        id=one.id,
        project=one.told.project or path.parent.name,
        path=f"{path}#{one.id}",
        at=one.at,
        size=one.size,
        request=_shown(one.told.request),
        file=str(path),
    )


def _shown(request: str) -> str:
    masked = redactor_of(RedactionRules()).masked
    return masked(" ".join(request.split())[: 4 * REQUEST])[:REQUEST]


def wanted(found: Iterable[SessionView], projects: Collection[str], every: bool) -> Wanted:
    """Return which sessions are read of files that hold several, of which these were chosen: new
    ones of a project, or of all, are read too when their file is followed."""
    ids: list[str] = []
    of: dict[str, None] = {}
    for one in found:
        if any(of_project(one, name) for name in projects):
            of[one.project] = None
        elif one.file:
            ids.append(one.id)
    return EVERY if every else Wanted(tuple(ids), tuple(of))


def files(found: Iterable[SessionView]) -> list[str]:
    """Return the files with these sessions, each once."""
    return list(dict.fromkeys(one.file or one.path for one in found))


def _start_of(path: Path, kept: Tool) -> Told:
    told = Told()
    try:
        start = start_of(path, SHOWN)
    except Unreadable:
        return told
    for value in _values(start):
        if isinstance(value, dict):
            told = kept.told(value, told)
        if told.sub_agent or (told.project and told.request):
            break
    return told


def _values(start: bytes) -> Iterable[Any]:
    """Return the values at the start of a file: one object, the elements of an array, or lines."""
    if start.lstrip()[:1] == b"[":
        listed = first_value(start.lstrip(), 0)
        return listed if isinstance(listed, list) else ()
    whole = value_of(start) if len(start) < SHOWN else None
    return [whole] if isinstance(whole, dict) else map(value_of, start.split(b"\n"))
