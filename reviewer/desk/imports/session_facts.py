"""What is known of a session from the start of its file, and how a tool's sessions are found."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.foreign_json import NotJson, parse


class Told(NamedTuple):
    """Facts from the first lines of a session file."""

    project: str = ""
    request: str = ""
    sub_agent: bool = False


class Held(NamedTuple):
    """A session in a file that holds several. `at` is when it was last written, in UTC."""

    id: str
    told: Told
    at: str
    size: int


class Tool(NamedTuple):
    """Where a tool keeps sessions: `home` finds its folder, `files` the session files in it."""

    home: Callable[[Mapping[str, str], Path], list[Path]]
    files: Callable[[Path], Iterable[Path]]
    own: Callable[[Path], str]
    told: Callable[[Any, Told], Told]
    held: Callable[[Path], Iterable[Held] | None] = lambda path: None
    """Returns the sessions of a file that holds several, None for any other file. Raises
    Unreadable, OSError."""


def value_of(raw: bytes) -> Any:
    """Return the JSON object in a text; None for anything else."""
    try:
        return parse(raw) if raw.lstrip()[:1] == b"{" else None
    except (NotJson, RecursionError):
        return None


def words_of(content: Any) -> str:
    """Return the text of a message; empty for one that holds results."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        return ""
    if any(one.get("type") == "tool_result" or "functionResponse" in one for one in content):
        return ""
    return "\n".join(str(one.get("text") or "") for one in content)


def member(value: Any, *path: str) -> Any:
    """Return the value at these names, None where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def asked(told: Told, words: str, project: Any, injected: tuple[str, ...]) -> Told:
    """Return the facts with a prompt added, unless they have one already or the prompt was not
    typed by a person."""
    words = words.strip()
    if words and not told.request and not words.startswith(injected):
        told = told._replace(request=words)
    if isinstance(project, str) and project and not told.project:
        told = told._replace(project=project)
    return told
