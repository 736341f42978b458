"""CrewAI's own database of checkpoints (`SqliteProvider`): a checkpoint per row, in JSONB."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from reviewer.db.foreign import ROWID, ForeignDatabase, as_text
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.crewai import CrewAIReader, checkpoint
from reviewer.importing.formats.databases import DatabaseReader, Needs
from reviewer.importing.jsonb import as_json
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source


class CrewAIDatabaseReader(DatabaseReader):
    name = "crewai-db"
    tool = "crewai"
    facts: FormatFacts = CrewAIReader.facts._replace(
        by="a SQLite database with the table `checkpoints`, with `branch` and `data`",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {"checkpoints": ("id", "parent_id", "branch", "data")}

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        rows = held.rows("checkpoints", ("id", "data"), (ROWID,))
        for number, (own, data) in enumerate(rows, 1):
            make = partial(_checkpoint, source, number, data)
            yield source.attempt(make, f"checkpoint {as_text(own)}")


def _checkpoint(source: Source, number: int, data: Any) -> Foreign:
    if not isinstance(data, bytes):
        raise Rejected("type:data")
    # Other databases than SQLite's own functions write text.
    raw = data if data[:1] == b"{" else as_json(data)
    return checkpoint(source, number, source.value(raw), CrewAIDatabaseReader.name)
