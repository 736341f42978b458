"""Sessions of coding agents where their tools keep them: found, told in a line each, chosen.

Only the start of a file is read to tell a session, so that a home with hundreds of them is listed
at once; a file that cannot be read is listed with the reason, and costs only itself.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.views import View
from reviewer.exit_codes import ExitCode
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of

SHOWN = 256 * 1024
"""Bytes of a file in which its project and its first request are looked for."""
REQUEST = 120
"""Characters of a first request that are kept."""
_LEAST_PREFIX = 4


class SessionView(View, frozen=True):
    """One session. `project` is the folder it worked in, as far as its start says so; `request` is
    what was asked for first, without identifiers. `problem` says why it cannot be told."""

    tool: str
    id: str
    project: str
    path: str
    at: str
    """When its file was last written to, in UTC."""
    size: int
    request: str
    problem: str = ""


class _Told(NamedTuple):
    """Facts from the first lines of a session file."""

    project: str = ""
    request: str = ""
    sub_agent: bool = False


class _Tool(NamedTuple):
    """Where a tool keeps sessions: `home` finds its folder, `files` what is in it."""

    home: Callable[[Mapping[str, str], Path], list[Path]]
    files: Callable[[Path], Iterable[Path]]
    own: Callable[[Path], str]
    told: Callable[[Any, _Told], _Told]


def tools() -> tuple[str, ...]:
    """Return the tools whose sessions can be found, by name."""
    return tuple(_TOOLS)


def homes(tool: str, env: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders in which a tool keeps its sessions, whether they exist or not. Raises
    DeskError for a tool that is not known."""
    env = os.environ if env is None else env
    if tool not in _TOOLS:
        raise DeskError(
            f"--from {tool!r} is not one of: {', '.join(_TOOLS)}", exit_code=ExitCode.USAGE
        )
    return _TOOLS[tool].home(env, Path(env.get("HOME") or Path.home()))


def sessions(tool: str, env: Mapping[str, str] | None = None) -> list[SessionView]:
    """Return the sessions of a tool, by project, the newest first. Raises DeskError."""
    kept = _TOOLS.get(tool)
    found: list[SessionView] = []
    for home in homes(tool, env):
        if kept is not None and home.is_dir():
            found += [one for path in _safe(kept.files(home)) for one in _view(tool, kept, path)]
    newest: dict[str, str] = {}
    for one in found:
        newest[one.project] = max(newest.get(one.project, ""), one.at)
    found.sort(key=lambda one: one.at, reverse=True)
    return sorted(found, key=lambda one: (newest[one.project], one.project), reverse=True)


def chosen(
    found: list[SessionView], ids: Iterable[str], projects: Iterable[str], every: bool
) -> list[SessionView]:
    """Return the sessions that are meant: by id (or its start), by project (its folder, or the
    folder's name), or all. Raises DeskError for a name that means none, or several."""
    if every:
        return found
    taken: dict[str, SessionView] = {}
    for own in ids:
        same = [one for one in found if one.id == own]
        if not same and len(own) >= _LEAST_PREFIX:
            same = [one for one in found if one.id.startswith(own)]
        if len({one.id for one in same}) != 1:
            words = "no session begins with" if not same else f"{len(same)} sessions begin with"
            raise DeskError(f"{words} {own!r}", "--list shows their ids", exit_code=ExitCode.USAGE)
        taken |= {one.path: one for one in same}
    for project in projects:
        wanted = project.rstrip("/")
        same = [one for one in found if wanted in (one.project, Path(one.project).name)]
        if not same:
            raise DeskError(
                f"no session of a project {project!r}",
                "--list shows the projects",
                exit_code=ExitCode.USAGE,
            )
        taken |= {one.path: one for one in same}
    return [one for one in found if one.path in taken]


def _safe(files: Iterable[Path]) -> Iterator[Path]:
    """Yield files, each once; a folder that cannot be read has none."""
    seen: set[Path] = set()
    try:
        for path in files:
            if path not in seen:
                seen.add(path)
                yield path
    except OSError:
        return


def _view(tool: str, kept: _Tool, path: Path) -> list[SessionView]:
    """Return the session in a file; none for the file of a sub-agent, which is read with the
    session that started it."""
    told, problem, size, at = _Told(), "", 0, ""
    try:
        state = path.stat()
        size = state.st_size
        moment = datetime.fromtimestamp(state.st_mtime, UTC)
        at = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        told = _start_of(path, kept)
        if not size:
            problem = "empty"
        elif told == _Told():
            problem = "its start says nothing of a session"
    except (OSError, OverflowError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        problem = f"cannot be read: {reason}"
    if told.sub_agent:
        return []
    masked = redactor_of(RedactionRules()).masked
    return [
        SessionView(
            tool=tool,
            id=kept.own(path),
            project=told.project or path.parent.name,
            path=str(path),
            at=at,
            size=size,
            request=masked(" ".join(told.request.split())[: 4 * REQUEST])[:REQUEST],
            problem=problem,
        )
    ]


def _start_of(path: Path, kept: _Tool) -> _Told:
    told = _Told()
    with path.open("rb") as handle:
        start = handle.read(SHOWN)
    lines = start.split(b"\n")
    whole = _value(start) if len(start) < SHOWN else None
    for value in [whole] if isinstance(whole, dict) else map(_value, lines):
        if isinstance(value, dict):
            told = kept.told(value, told)
        if told.sub_agent or (told.project and told.request):
            break
    return told


def _value(raw: bytes) -> Any:
    try:
        return parse(raw) if raw.lstrip()[:1] == b"{" else None
    except (NotJson, RecursionError):
        return None


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        return ""
    if any(one.get("type") == "tool_result" or "functionResponse" in one for one in content):
        return ""
    return "\n".join(str(one.get("text") or "") for one in content)


def _member(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _asked(told: _Told, words: str, project: Any, injected: tuple[str, ...]) -> _Told:
    """Return what is told with a prompt, unless there was one or nobody typed it."""
    words = words.strip()
    if words and not told.request and not words.startswith(injected):
        told = told._replace(request=words)
    if isinstance(project, str) and project and not told.project:
        told = told._replace(project=project)
    return told


# Claude Code --------------------------------------------------------------------------------------


def _claude_home(env: Mapping[str, str], home: Path) -> list[Path]:
    if given := env.get("CLAUDE_CONFIG_DIR"):
        return [Path(given) / "projects"]
    return [home / ".claude" / "projects", home / ".config" / "claude" / "projects"]


def _claude_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        yield from sorted(
            one for one in _listed(folder, ".jsonl") if not one.name.startswith("agent-")
        )


def _claude_told(value: Any, told: _Told) -> _Told:
    typed = (
        value.get("type") == "user"
        and value.get("isMeta") is not True
        and value.get("isSidechain") is not True
        and value.get("isCompactSummary") is not True
    )
    words = _words(_member(value, "message", "content")) if typed else ""
    return _asked(told, words, value.get("cwd"), ("<local-command-",))


# Codex CLI ----------------------------------------------------------------------------------------


def _codex_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("CODEX_HOME") or home / ".codex")
    return [root / "sessions", root / "archived_sessions"]


def _codex_files(home: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(home):
        folders.sort()
        for name in sorted(names):
            if name.startswith("rollout-") and name.endswith(".jsonl"):
                yield Path(folder, name)


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def _codex_id(path: Path) -> str:
    found = _UUID.search(path.stem)
    return found.group() if found else path.stem


def _codex_told(value: Any, told: _Told) -> _Told:
    payload = value.get("payload", value)
    if _member(payload, "source", "subagent") or _member(payload, "parent_thread_id"):
        return told._replace(sub_agent=True)
    typed = _member(payload, "type") == "message" and _member(payload, "role") == "user"
    words = _words(_member(payload, "content")) if typed else ""
    return _asked(told, words, _member(payload, "cwd"), ("<", "# AGENTS.md"))


# Gemini CLI ---------------------------------------------------------------------------------------


def _gemini_home(env: Mapping[str, str], home: Path) -> list[Path]:
    return [Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"]


def _gemini_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        for one in _listed(folder / "chats", ".jsonl", ".json"):
            if one.name.startswith("session-"):
                yield one


def _gemini_told(value: Any, told: _Told) -> _Told:
    folders = value.get("directories")
    project = folders[0] if isinstance(folders, list) and folders else value.get("projectHash")
    told = _asked(told, "", project, ())
    held = _member(value, "$set", "messages") or value.get("messages")
    for one in [value, *(held if isinstance(held, list) else ())]:
        if _member(one, "type") == "user":
            told = _asked(told, _words(one.get("content")), None, ("<session_context>",))
    return told


# OpenCode -----------------------------------------------------------------------------------------


def _opencode_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [root / "opencode" / "storage" / "session"]


def _opencode_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        yield from (one for one in _listed(folder, ".json") if one.name.startswith("ses_"))


def _opencode_told(value: Any, told: _Told) -> _Told:
    if value.get("parentID"):
        return told._replace(sub_agent=True)
    return _asked(told, str(value.get("title") or ""), value.get("directory"), ())


# Cline --------------------------------------------------------------------------------------------


def _cline_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("CLINE_DIR") or home / ".cline")
    return [Path(env.get("CLINE_DATA_DIR") or root / "data") / "sessions"]


def _cline_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        file = folder / f"{folder.name}.messages.json"
        if file.is_file():
            yield file


_TYPED = re.compile(r"</?user_input[^<>]*>")


def _cline_told(value: Any, told: _Told) -> _Told:
    told = _asked(told, "", _member(value, "workspace_root"), ())
    messages = value.get("messages")
    for one in messages if isinstance(messages, list) else ():
        if _member(one, "role") == "user":
            told = _asked(told, _TYPED.sub("", _words(one.get("content"))), None, ())
    return told


def _listed(folder: Path, *ends: str) -> list[Path]:
    """Return the files of a folder with these endings; none of one that cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(ends)]


_TOOLS: dict[str, _Tool] = {
    "claude-code": _Tool(_claude_home, _claude_files, lambda path: path.stem, _claude_told),
    "codex": _Tool(_codex_home, _codex_files, _codex_id, _codex_told),
    "gemini-cli": _Tool(_gemini_home, _gemini_files, lambda path: path.stem, _gemini_told),
    "opencode": _Tool(_opencode_home, _opencode_files, lambda path: path.stem, _opencode_told),
    "cline": _Tool(_cline_home, _cline_files, lambda path: path.parent.name, _cline_told),
}
