"""Databases of the OpenAI Agents SDK's sessions (`SQLiteSession` and its relatives): the items of
each session, one per row, as the Responses API takes them. They name no agent and no model, and
state no tokens."""

from collections.abc import Iterator
from typing import Any, ClassVar

from reviewer.db.foreign import ForeignDatabase, as_text
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.chat.openai import conversation
from reviewer.importing.formats.databases import DatabaseReader, Needs, grouped, value_in
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_MAIN = "main"
_BRANCHES = "message_structure"


class OpenAIAgentsDatabaseReader(DatabaseReader):
    name = "openai-agents-db"
    tool = "openai-agents"
    facts = FormatFacts(
        by="a SQLite database with the tables `agent_sessions` and `agent_messages`",
        approvals="MCP approvals",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {
        "agent_sessions": ("session_id",),
        "agent_messages": ("session_id", "message_data"),
    }

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        branched = _branched(held)
        rows = held.rows("agent_messages", ("session_id", "message_data"), ("session_id", "id"))
        for number, (key, group) in enumerate(grouped(rows, 1), 1):
            own, items = as_text(key[0]), []
            lost = ["message_structure.branch_id"] if own in branched else []
            for _, data in group:
                item = value_in(source, data)
                if isinstance(item, dict):
                    items.append(item)
                else:
                    lost.append("message_data")
            pair: dict[str, Any] = {
                "request": {"input": items},
                "response": None,
                "session_id": own,
            }
            # A session has what a turn did only once it is answered or waits for an approval.
            unanswered = not items or items[-1].get("role") != "assistant"
            yield conversation(source, number, [pair], lost, self.name, unanswered)


def _branched(held: ForeignDatabase) -> set[str]:
    """Return sessions whose items belong to several branches, so that they are not one sequence of
    events."""
    if "branch_id" not in held.tables.get(_BRANCHES, ()):
        return set()
    rows = held.rows(_BRANCHES, ("session_id", "branch_id"))
    return {as_text(own) for own, branch in rows if as_text(branch) not in ("", _MAIN)}
