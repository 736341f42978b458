"""goose's own database (`sessions.db`, since 1.10): the sessions and messages that `goose session
export` writes, one per row."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from reviewer.db.foreign import ForeignDatabase, as_text
from reviewer.importing.formats.databases import DatabaseReader, Needs, bounded, value_in
from reviewer.importing.formats.sessions.goose import GooseReader, told
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_SESSION = (
    *("id", "name", "description", "created_at", "model_config_json", "session_type"),
    *("accumulated_input_tokens", "accumulated_output_tokens", "accumulated_total_tokens"),
    *("accumulated_cache_read_tokens", "accumulated_cost"),
)
_TEXTS = ("id", "name", "description", "created_at", "session_type")
_MESSAGE = ("role", "content_json", "created_timestamp", "metadata_json")


class GooseDatabaseReader(DatabaseReader):
    name = "goose-db"
    tool = "goose"
    facts = GooseReader.facts._replace(
        by="a SQLite database with the tables `sessions` and `messages`, with `content_json`",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {
        "sessions": ("id", "working_dir"),
        "messages": ("id", "session_id", "role", "content_json"),
    }

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        there = held.tables["sessions"]
        names = tuple(name for name in _SESSION if name in there)
        for row in held.rows("sessions", names, ("id",)):
            value = dict(zip(names, row, strict=True))
            own = as_text(value["id"])
            if not any(True for _ in held.rows("messages", ("id",), (), "session_id", own)):
                continue  # nothing was said
            yield source.attempt(partial(self._attempt, source, held, own, value), own)

    def _attempt(
        self, source: Source, held: ForeignDatabase, own: str, row: dict[str, Any]
    ) -> Foreign:
        there = held.tables["messages"]
        names = tuple(name for name in _MESSAGE if name in there)
        lost: list[str] = []
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
        return told(source, value, messages, self.name, lost)
