"""Traffic between an MCP client and its server, one JSON-RPC message per line: which tools were
called, with which arguments, and their results. There is no model in it, and no user message."""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.draft import Status
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import mapping, text
from reviewer.importing.formats.sessions import Session, SessionFormat, by_number, lines_of, rows
from reviewer.importing.formats.sessions.rpc import Requests, messages_in, messages_of
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

METHODS = (
    *("tools/", "initialize", "notifications/", "resources/", "prompts/", "sampling/"),
    *("elicitation/", "completion/", "roots/", "logging/", "ping"),
)
_KNOWN = (*METHODS, "tasks/")
_OF_TOOLS = ("tools/call", "tools/list")
NO_MODEL = "traffic of a tool server has no model: what was said and tokens are not measured"


class McpReader(SessionFormat):
    name = "mcp-traffic"
    tool = "mcp"
    facts = FormatFacts(
        by="JSON-RPC of `tools/…`, bare or as a logger wrote it",
        steps="tool calls alone",
        times="where the log has them",
        attempt="no: one for each file",
    )

    def sniff(self, head: Head) -> bool:
        return any(
            text(one.get("method")).startswith(METHODS) and not _of_acp(one)
            for row in rows(head)
            for one in messages_in(row)
        )

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(lambda: _attempt(source))


def _of_acp(value: dict[str, Any]) -> bool:
    return value.get("method") == "initialize" and isinstance(
        mapping(value.get("params")).get("protocolVersion"), int
    )


def _attempt(source: Source) -> Foreign:
    found = lines_of(source)
    session = Session("mcp-traffic")
    draft, account = session.draft, session.account
    requests = Requests()
    client = ""
    calls = 0
    ids: dict[int, str] = {}
    for message in messages_of(found.lines):
        session.clocked(message.at)
        value = message.value
        if message.method == "tools/call":
            calls += 1
            ids[id(value)] = _own_id(value.get("id"), calls)
            account.read(value, ("jsonrpc", "id", "method", "params"))
            account.read(message.params, ("name", "arguments", "_meta", "task"), strict=True)
            account.whole(message.params.get("arguments"), message.params.get("_meta"))
            given = message.params.get("arguments", {})  # may be left out
            session.call("agent", message.params.get("name"), given, ids[id(value)], message.at)
        elif message.method == "initialize":
            client = text(mapping(message.params.get("clientInfo")).get("name")) or client
        known = message.method.startswith(_KNOWN) and (
            message.method in _OF_TOOLS or not message.method.startswith("tools/")
        )
        if known and message.method != "tools/call":
            account.read(value, ("jsonrpc", "id", "method", "params"))
            account.whole(message.params)
        elif message.method and not known:
            session.odd(message.method)
        if message.method and "id" in value:
            requests.asked(message)
        elif message.answers:
            asked = requests.answered(message)
            if asked is None:
                draft.unread(f"lines[{message.number}]")
                continue
            account.read(value, ("jsonrpc", "id", "result", "error"))
            account.whole(value.get("result"), value.get("error"))
            if asked.method == "tools/call":
                result, error = value.get("result"), value.get("error")
                failed = error is not None or mapping(result).get("isError") is True
                seen = error if error is not None else result
                status: Status = "error" if failed else "ok"
                session.result(seen, ids[id(asked.value)], "", status, message.at)
    session.write()
    for name in found.broken:
        draft.unread(name)
    account.tell(by_number(found.lines), draft, "lines")
    draft.note(NO_MODEL)
    return draft.foreign(
        episode_id=source.place,
        candidate_id=source.candidate or client or source.home,
        started_at=draft.at(session.began),
    )


def _own_id(theirs: Any, number: int) -> str:
    """Return the id of a call: both sides number theirs from the start, so the id also contains its
    place. A long one may be an identifier, and what follows it would be hidden."""
    plain = type(theirs) is int and 0 <= theirs < 10**6
    return f"{theirs}-{number}" if plain else f"call-{number}"
