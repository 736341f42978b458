"""goose's own database (`sessions.db`, since 1.10): the sessions and messages that `goose session
export` writes, one per row."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from reviewer.db.foreign import ForeignDatabase, as_text
from reviewer.importing.formats.databases import (
    DatabaseReader,
    Needs,
    bounded,
    families,
    value_in,
)
from reviewer.importing.formats.sessions.goose import GooseReader, Said, told
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_SESSION = (
    *("id", "name", "description", "created_at", "model_config_json", "session_type"),
    *("parent_session_id", "working_dir"),
    *("accumulated_input_tokens", "accumulated_output_tokens", "accumulated_total_tokens"),
    *("accumulated_cache_read_tokens", "accumulated_cost"),
)
_TEXTS = (
    *("id", "name", "description", "created_at", "session_type", "parent_session_id"),
    "working_dir",
)
_MESSAGE = ("role", "content_json", "created_timestamp", "metadata_json")


class GooseDatabaseReader(DatabaseReader):
    name = "goose-db"
    tool = "goose"
    facts = GooseReader.facts._replace(
        by="a SQLite database with the tables `sessions` and `messages`, with `content_json`",
        steps="yes, sub-agents' too; those whose session is missing leave it not measured",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {
        "sessions": ("id", "working_dir"),
        "messages": ("id", "session_id", "role", "content_json"),
    }

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        there = held.tables["sessions"]
        names = tuple(name for name in _SESSION if name in there)
        found: dict[str, dict[str, Any]] = {}
        for row in held.rows("sessions", names, ("id",)):
            value = dict(zip(names, row, strict=True))
            found[as_text(value["id"])] = value
        for top, family in families(
            {own: as_text(value.get("parent_session_id")) for own, value in found.items()}
        ):
            if not any(True for _ in held.rows("messages", ("id",), (), "session_id", top)):
                continue  # nothing was said
            if not source.wanted.takes(top, as_text(found[top].get("working_dir"))):
                continue
            rows = {own: found[own] for own in family}
            yield source.attempt(partial(self._attempt, source, held, rows), top)

    def _attempt(
        self, source: Source, held: ForeignDatabase, rows: dict[str, dict[str, Any]]
    ) -> Foreign:
        lost: list[str] = []
        said = {own: _said(source, held, own, row, lost) for own, row in rows.items()}
        top, *below = said
        return told(source, said[top], {own: said[own] for own in below}, self.name, lost)


def _said(
    source: Source, held: ForeignDatabase, own: str, row: dict[str, Any], lost: list[str]
) -> Said:
    """Return a session in the form of an export; places that cannot be read are added to `lost`."""
    there = held.tables["messages"]
    names = tuple(name for name in _MESSAGE if name in there)
    messages = []
    for one in bounded(held.rows("messages", names, ("id",), "session_id", own)):
        columns = dict(zip(names, one, strict=True))
        content = value_in(source, columns["content_json"])
        if not isinstance(content, list):
            lost.append("messages.content_json")
            continue
        about = columns.get("metadata_json")
        messages.append(
            {
                "role": as_text(columns["role"]),
                "created": columns.get("created_timestamp"),
                "content": content,
                "metadata": None if about is None else value_in(source, about),
            }
        )
    value = {name: as_text(one) if name in _TEXTS else one for name, one in row.items()}
    value["model_config"] = value_in(source, row.get("model_config_json"))
    return Said(value, messages)
