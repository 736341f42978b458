"""OpenCode's own database (`opencode.db`): the sessions, messages and parts that `opencode export`
writes, one per row. Sub-agents are sessions that name the session that started them."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from reviewer.db.foreign import ForeignDatabase, as_text
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.databases import (
    DatabaseReader,
    Needs,
    bounded,
    families,
    value_in,
)
from reviewer.importing.formats.sessions.opencode import Exported, told
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_SESSION = ("id", "parent_id", "title", "version", "cost", "time_created", "directory")
_NEWER = ("session_message", "session_input")
"""Tables in which later versions keep the conversation; they were empty in the version that this
reader was written for."""


class OpenCodeDatabaseReader(DatabaseReader):
    name = "opencode-db"
    tool = "opencode"
    facts = FormatFacts(
        by="a SQLite database with the tables `session`, `message` and `part`",
        steps="yes, sub-agents' too",
        times="yes",
        cost="the session's own; 0 is null",
        tokens="the session's own",
        attempt="no: one for each session",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {
        "session": ("id", "parent_id", "version"),
        "message": ("id", "session_id", "data"),
        "part": ("id", "message_id", "data"),
    }

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        rows = held.rows("session", _SESSION, ("time_created", "id"))
        infos = {as_text(row[0]): row for row in rows}
        for top, family in families({own: as_text(row[1]) for own, row in infos.items()}):
            if source.wanted.takes(top, as_text(infos[top][-1])):
                yield source.attempt(partial(self._attempt, source, held, infos, family), top)

    def _attempt(
        self, source: Source, held: ForeignDatabase, infos: dict[str, Any], family: list[str]
    ) -> Foreign:
        lost: list[str] = []
        first, *others = (_exported(source, held, infos[own], lost) for own in family)
        children = {str(one.info["id"]): one for one in others}
        return told(source, first, children, self.name, lost)


def _exported(source: Source, held: ForeignDatabase, row: Any, lost: list[str]) -> Exported:
    """Return a session in the form of an export; places that cannot be read are added to `lost`."""
    own, above, title, version, cost, created, _ = row
    parts: dict[str, list[dict[str, Any]]] = {}
    order = ("time_created", "id")
    for _, message, data in _rows(held, "part", ("id", "message_id", "data"), own):
        part = value_in(source, data)
        if isinstance(part, dict):
            parts.setdefault(as_text(message), []).append(part)
        else:
            lost.append("part.data")
    messages = []
    for name, data in _rows(held, "message", ("id", "data"), own, order):
        info = value_in(source, data)
        if isinstance(info, dict):
            messages.append({"info": info, "parts": parts.pop(as_text(name), [])})
        else:
            lost.append("message.data")
    lost += ["part.message_id"] if parts else []
    lost += [name for name in _NEWER if _holds_any(held, name, own)]
    info = {
        "id": as_text(own),
        "parentID": as_text(above) or None,
        "title": as_text(title),
        "version": as_text(version),
        "cost": cost,
        "time": {"created": created},
    }
    return Exported(info, messages)


def _rows(
    held: ForeignDatabase,
    table: str,
    columns: tuple[str, ...],
    own: Any,
    order: tuple[str, ...] = ("id",),
) -> Iterator[Any]:
    return bounded(held.rows(table, columns, order, "session_id", as_text(own)))


def _holds_any(held: ForeignDatabase, table: str, own: Any) -> bool:
    if "session_id" not in held.tables.get(table, ()):
        return False
    return any(True for _ in held.rows(table, ("session_id",), (), "session_id", as_text(own)))
