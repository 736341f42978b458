"""LangChain messages: `messages_to_dict`, and `dumps` of message objects. Never loaded as objects.

A thread is a list of messages; files hold one thread, several, or objects with `messages`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing import unsupported
from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, summed
from reviewer.importing.formats._named import episode_of
from reviewer.importing.formats._stated import stated
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller, tokens_of
from reviewer.importing.messages.chunks import whole_messages
from reviewer.importing.messages.turns import plain
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_TYPES = frozenset({"human", "ai", "tool", "system", "function", "chat", "remove"})
_NOTE = "LangChain messages have no time, cost or verdict: episodes are named by file and place"


class LangChainReader:
    name = "langchain"
    version = "2"
    probe = True

    def sniff(self, head: Head) -> bool:
        if unsupported.tool(head):
            return False  # messages of a tool that keeps more than messages
        value, first = head.value, head.first
        return is_thread(value) or is_thread(first) or is_thread(_inside(first))

    def suite_id(self, path: Path) -> str:
        return "langchain"

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        source.notes.add(_NOTE)
        loose: list[Any] = []
        number = 0
        for _, value in source.records():
            if isinstance(value, Broken):
                number += 1
                yield value
            elif _is_message(value):
                loose.append(value)
            else:
                number += 1
                thread = value if isinstance(value, list) else _inside(value)
                yield _thread(source, number, thread, value)
        if loose:
            yield _thread(source, number + 1, loose, None)


def _inside(value: Any) -> Any:
    """The messages of an object that holds a thread (a state, a run)."""
    if not isinstance(value, dict):
        return None
    return value.get("messages") or (value.get("values") or {}).get("messages")


def is_thread(value: Any) -> bool:
    """Whether this is a list of LangChain messages."""
    return isinstance(value, list) and bool(value) and _is_message(value[0])


def _is_message(value: Any) -> bool:
    """Return whether this is a message in LangChain's own dress, not in that of a chat API."""
    if not isinstance(value, dict) or "role" in value or "source" in value or "message" in value:
        return False
    found = plain(value, Account())
    return found is not None and found[0] in _TYPES


def _thread(source: Source, number: int, thread: Any, record: Any) -> Foreign | Broken:
    def make() -> Foreign:
        if not isinstance(thread, list):
            raise Rejected("missing:messages")
        draft = Draft("langchain")
        teller = Teller(draft)
        models, counts = say_thread(teller, thread)
        teller.finish()
        own = record if isinstance(record, dict) else {}
        teller.account.read(own, ("messages", "values"))
        teller.account.tell(thread if record is None else record, draft)
        said = stated(own, draft)
        return draft.foreign(
            episode_id=episode_of(source, number, own, draft),
            candidate_id=source.candidate or (models[-1] if models else source.home),
            attempt=said.attempt,
            final_message=draft.last_words(),
            cost_usd=said.cost_usd,
            latency_ms=said.latency_ms,
            started_at=said.started_at,
            usage=counts or None,
            verdict=said.verdict,
        )

    return source.attempt(make, f"thread {number}")


def say_thread(teller: Teller, thread: list[Any]) -> tuple[list[str], dict[str, Any]]:
    """Take messages; answers the models that spoke and the tokens they counted."""
    models: list[str] = []
    counted: list[dict[str, int] | None] = []
    teller.account.every(thread)
    for message in whole_messages(thread, teller.account):
        counts = None
        if isinstance(message, dict):
            held = message.get("kwargs", message.get("data", message))
            held = held if isinstance(held, dict) else message
            about, usage = held.get("response_metadata"), held.get("usage_metadata")
            if isinstance(about, dict) and about.get("model_name"):
                models.append(str(about["model_name"]))
            counts = tokens_of(usage) if usage else None
            if counts is not None or not _REPLIES.isdisjoint(_kinds(message, held)):
                counted.append(counts)
        teller.say(message, tokens=counts)
    return models, summed(counted) or {}


_REPLIES = frozenset(("ai", "AIMessage", "AIMessageChunk", "assistant"))


def _kinds(message: dict[str, Any], held: dict[str, Any]) -> set[str]:
    """Return what a message calls itself, in whichever of the forms it is written."""
    path = message.get("id")
    last = path[-1] if isinstance(path, list) and path else None
    named = (message.get("type"), message.get("role"), held.get("type"), held.get("role"), last)
    return {one for one in named if isinstance(one, str)}
