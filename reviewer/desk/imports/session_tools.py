"""Where coding agents keep their sessions, and the facts at the start of a session's file."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.db.foreign import as_text
from reviewer.desk.imports.session_facts import Held, Told, Tool, asked, member, value_of, words_of
from reviewer.importing.database import database
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.pipeline.split import Unreadable

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


def _claude_told(value: Any, told: Told) -> Told:
    typed = (
        value.get("type") == "user"
        and value.get("isMeta") is not True
        and value.get("isSidechain") is not True
        and value.get("isCompactSummary") is not True
    )
    words = words_of(member(value, "message", "content")) if typed else ""
    return asked(told, words, value.get("cwd"), ("<local-command-",))


# Codex CLI ----------------------------------------------------------------------------------------


def _codex_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("CODEX_HOME") or home / ".codex")
    return [root / "sessions", root / "archived_sessions"]


def _codex_files(home: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(home):
        folders.sort()
        for name in sorted(names):
            if name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl.zst")):
                yield Path(folder, name)


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def _codex_id(path: Path) -> str:
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")  # old files are compressed
    found = _UUID.search(stem)
    return found.group() if found else stem


def _codex_told(value: Any, told: Told) -> Told:
    payload = value.get("payload", value)
    if member(payload, "source", "subagent") or member(payload, "parent_thread_id"):
        return told._replace(sub_agent=True)
    typed = member(payload, "type") == "message" and member(payload, "role") == "user"
    words = words_of(member(payload, "content")) if typed else ""
    return asked(told, words, member(payload, "cwd"), ("<", "# AGENTS.md"))


# Gemini CLI ---------------------------------------------------------------------------------------


def _gemini_home(env: Mapping[str, str], home: Path) -> list[Path]:
    return [Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"]


def _gemini_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        for one in _listed(folder / "chats", ".jsonl", ".json"):
            if one.name.startswith("session-"):
                yield one


def _gemini_told(value: Any, told: Told) -> Told:
    folders = value.get("directories")
    project = folders[0] if isinstance(folders, list) and folders else value.get("projectHash")
    told = asked(told, "", project, ())
    held = member(value, "$set", "messages") or value.get("messages")
    for one in [value, *(held if isinstance(held, list) else ())]:
        if member(one, "type") == "user":
            told = asked(told, words_of(one.get("content")), None, ("<session_context>",))
    return told


# OpenCode -----------------------------------------------------------------------------------------


def _opencode_home(name: str, env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [root / name]


def _opencode_files(home: Path) -> Iterator[Path]:
    """Yield the databases, and the files of older versions that are not in them."""
    known: set[str] = set()
    for path in _listed(home, ".db"):
        yield path
        try:
            known |= {one.id for one in _opencode_held(path) or ()}
        except (Unreadable, OSError):
            continue
    stored = home / "storage" / "session"
    for folder in sorted(stored.iterdir()) if stored.is_dir() else ():
        files = _listed(folder, ".json") if folder.is_dir() else ()
        yield from (one for one in files if one.name.startswith("ses_") and one.stem not in known)


def _opencode_held(path: Path) -> list[Held] | None:
    if path.suffix != ".db":
        return None
    with database(path) as held:
        if not {"session", "message", "part"} <= held.tables.keys():
            raise Unreadable("a SQLite database without sessions of OpenCode")
        told: dict[str, Told] = {}
        sizes: Counter[str] = Counter()
        for own, data in held.rows("part", ("session_id", "data"), ("time_created", "id")):
            name = as_text(own)
            sizes[name] += len(data or b"")
            if not told.setdefault(name, Told()).request:
                part = value_of(data or b"")
                words = member(part, "text") if member(part, "type") == "text" else ""
                told[name] = asked(told[name], words_of(words), None, ())
        columns = ("id", "parent_id", "directory", "title", "time_updated")
        rows = list(held.rows("session", columns, ("id",)))
    there = {as_text(row[0]) for row in rows}
    found = []
    for own, above, project, title, at in rows:
        name = as_text(own)
        if name in told and as_text(above) not in there:
            words = told[name].request or as_text(title)
            found.append(Held(name, Told(as_text(project), words), _moment(at), sizes[name]))
    return found


def _moment(at: Any) -> str:
    """Return a time in milliseconds since 1970 as text; empty for any other value."""
    try:
        moment = datetime.fromtimestamp(at / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _opencode_told(value: Any, told: Told) -> Told:
    if value.get("parentID"):
        return told._replace(sub_agent=True)
    return asked(told, str(value.get("title") or ""), value.get("directory"), ())


# Cline --------------------------------------------------------------------------------------------


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")
"""Cline's own, and Roo Code's."""
_TASK_FILE = "api_conversation_history.json"
_TYPED = re.compile(r"</?user_input[^<>]*>")
_TASK = re.compile(r"<task>(.*?)</task>", re.DOTALL)
_FOLDER = re.compile(r"# Current Working Directory \(([^)\n]+)\)")


def _cline_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("CLINE_DIR") or home / ".cline")
    own = Path(env.get("CLINE_DATA_DIR") or root / "data") / "sessions"
    settings = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    users = [settings / one / "User" for one in _EDITORS]
    users += [home / "Library" / "Application Support" / one / "User" for one in _EDITORS]
    users.append(home / ".vscode-server" / "data" / "User")
    return [own, *(one / "globalStorage" / ext / "tasks" for one in users for ext in _EXTENSIONS)]


def _cline_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        named = (folder / f"{folder.name}.messages.json", folder / _TASK_FILE)
        yield from (file for file in named if file.is_file())


def _cline_told(value: Any, told: Told) -> Told:
    told = asked(told, "", member(value, "workspace_root"), ())
    messages = value.get("messages")
    for one in messages if isinstance(messages, list) else [value]:
        if member(one, "role") == "user":
            words = words_of(one.get("content"))
            task, folder = _TASK.search(words), _FOLDER.search(words)
            words = task.group(1) if task else _TYPED.sub("", words)
            told = asked(told, words, folder.group(1) if folder else None, ())
    return told


# pi -----------------------------------------------------------------------------------------------


def _pi_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = Path(env.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    return [root / "sessions"]


def _pi_files(home: Path) -> Iterator[Path]:
    for folder in sorted(one for one in home.iterdir() if one.is_dir()):
        yield from _listed(folder, ".jsonl")


def _pi_told(value: Any, told: Told) -> Told:
    typed = value.get("type") == "message" and member(value, "message", "role") == "user"
    words = words_of(member(value, "message", "content")) if typed else ""
    return asked(told, words, value.get("cwd"), ())


# goose --------------------------------------------------------------------------------------------

_GOOSE_DB = "sessions.db"
_MAC = ("Library", "Application Support", "Block", "goose", "sessions")


def _goose_home(env: Mapping[str, str], home: Path) -> list[Path]:
    root = env.get("GOOSE_PATH_ROOT", "")
    if os.path.isabs(root):
        return [Path(root) / "data" / "sessions"]
    data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [data / "goose" / "sessions", home.joinpath(*_MAC)]


def _goose_files(home: Path) -> Iterator[Path]:
    """Yield the database, and the files of before 1.10 that are not in it."""
    known: set[str] = set()
    if (path := home / _GOOSE_DB).is_file():
        yield path
        try:
            known = {one.id for one in _goose_held(path) or ()}
        except (Unreadable, OSError):
            known = set()
    yield from (one for one in _listed(home, ".jsonl") if one.stem not in known)


def _goose_told(value: Any, told: Told) -> Told:
    typed = value.get("role") == "user" and member(value, "metadata", "userVisible") is not False
    words = words_of(value.get("content")) if typed else ""
    return asked(told, words, value.get("working_dir"), ())


def _goose_held(path: Path) -> list[Held] | None:
    if path.name != _GOOSE_DB:
        return None
    with database(path) as held:
        if not {"sessions", "messages"} <= held.tables.keys():
            raise Unreadable("a SQLite database without sessions of goose")
        told: dict[str, Told] = {}
        sizes: Counter[str] = Counter()
        columns = ("session_id", "role", "content_json", "metadata_json")
        for own, role, content, about in held.rows("messages", columns, ("id",)):
            name = as_text(own)
            sizes[name] += len(content or b"")
            if not told.setdefault(name, Told()).request and role == b"user":
                told[name] = _goose_told(_message(content, about), told[name])
        columns = ("id", "parent_session_id", "working_dir", "updated_at")
        rows = [tuple(map(as_text, row)) for row in held.rows("sessions", columns, ("id",))]
    there = {own for own, *_ in rows}
    return [
        Held(own, told[own]._replace(project=project), moment, sizes[own])
        for own, above, project, at in rows
        if own in told and above not in there
        for moment in [at.replace(" ", "T").removesuffix("Z") + "Z"]
    ]


def _message(content: Any, about: Any) -> dict[str, Any]:
    try:
        found = {"content": parse(content or b""), "metadata": parse(about or b"{}")}
    except (NotJson, RecursionError):
        found = {}
    return {"role": "user", **found}


def _listed(folder: Path, *ends: str) -> list[Path]:
    """Return the files of a folder with these suffixes; none for a folder that cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(ends)]


def _opencode(name: str) -> Tool:
    """Return OpenCode, or a tool that is made of it, which keeps sessions in a folder of its
    name."""
    home = partial(_opencode_home, name)
    return Tool(home, _opencode_files, lambda path: path.stem, _opencode_told, _opencode_held)


TOOLS: dict[str, Tool] = {
    "claude-code": Tool(_claude_home, _claude_files, lambda path: path.stem, _claude_told),
    "codex": Tool(_codex_home, _codex_files, _codex_id, _codex_told),
    "gemini-cli": Tool(_gemini_home, _gemini_files, lambda path: path.stem, _gemini_told),
    "opencode": _opencode("opencode"),
    "kilo": _opencode("kilo"),
    "cline": Tool(_cline_home, _cline_files, lambda path: path.parent.name, _cline_told),
    "goose": Tool(_goose_home, _goose_files, lambda path: path.stem, _goose_told, _goose_held),
    "pi": Tool(_pi_home, _pi_files, lambda path: path.stem.rpartition("_")[2], _pi_told),
}
