"""LangChain messages, and the trajectories of its agentevals.

LangChain writes `messages_to_dict` and `dumps` of message objects, which are never loaded as
objects. A thread is a list of messages; files hold one thread, several, or objects with `messages`.
agentevals writes messages beside a reference, and LangGraph's node-name trajectories: calls and
results there often have no ids, so they pair in order. A graph trajectory names nodes only:
`__interrupt__` marks where a person was asked, and the answer is not in the file.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from reviewer.importing import unsupported
from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, summed
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    at_path,
    mapping,
    objects,
    sequence,
    tell_lost,
)
from reviewer.importing.formats.chat import are_messages, episode_of, stated
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript, tokens_of
from reviewer.importing.messages.streams import whole_messages
from reviewer.importing.messages.turns import plain
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

# LangChain ----------------------------------------------------------------------------------------

_TYPES = frozenset({"human", "ai", "tool", "system", "function", "chat", "remove"})
_NOTE = "LangChain messages have no time, cost or verdict: episodes are named by file and place"


class LangChainReader(Format):
    name = "langchain"
    facts = FormatFacts(by="messages with `type` and `data`, or `lc` and `kwargs`", tokens="yes")
    version = "2"

    def sniff(self, head: Head) -> bool:
        if unsupported.tool(head):
            return False  # messages of a tool that keeps more than messages
        value, first = head.value, head.first
        return is_thread(value) or is_thread(first) or is_thread(_inside(first))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        source.notes.add(_NOTE)
        loose: list[Any] = []  # the messages of a file that is one thread
        lost: list[str] = []
        number = 0
        for name, value in source.records():
            if isinstance(value, Broken):
                number += 1
                lost.append(name)
                yield value
            elif _is_message(value) or (loose and _inside(value) is None):
                loose.append(value)
            else:
                number += 1
                thread = value if isinstance(value, list) else _inside(value)
                yield _thread(source, number, thread, value)
        if loose:
            yield _thread(source, number + 1, loose, None, lost)


def _inside(value: Any) -> Any:
    """Return the messages of an object that contains a thread (a state, a run)."""
    if not isinstance(value, dict):
        return None
    return value.get("messages") or mapping(value.get("values")).get("messages")


def is_thread(value: Any) -> bool:
    """Return whether this is a list of LangChain messages."""
    return isinstance(value, list) and bool(value) and _is_message(value[0])


def _is_message(value: Any) -> bool:
    """Return whether this is a message in LangChain's own form, not in that of a chat API."""
    if not isinstance(value, dict) or "role" in value or "source" in value or "message" in value:
        return False
    found = plain(value, Account())
    return found is not None and found[0] in _TYPES


def _thread(
    source: Source, number: int, thread: Any, record: Any, lost: Sequence[str] = ()
) -> Foreign | Broken:
    def make() -> Foreign:
        if not isinstance(thread, list):
            raise Rejected("missing:messages")
        draft = Draft("langchain")
        transcript = Transcript(draft)
        models, counts = say_thread(transcript, thread)
        transcript.finish()
        own = mapping(record)
        transcript.account.read(own, ("messages", "values"))
        transcript.account.tell(thread if record is None else record, draft)
        tell_lost(draft, lost)
        said = stated(own, draft)
        return draft.foreign(
            episode_id=episode_of(source, number, own, draft),
            candidate_id=source.candidate or (models[-1] if models else source.home),
            final_message=draft.last_words(),
            usage=counts or None,
            **said._asdict(),
        )

    return source.attempt(make, f"thread {number}")


def say_thread(transcript: Transcript, thread: list[Any]) -> tuple[list[str], dict[str, Any]]:
    """Read messages; return the models that spoke and the tokens they stated."""
    models: list[str] = []
    counted: list[dict[str, int] | None] = []
    transcript.account.every(thread)
    for message in whole_messages(thread, transcript.account):
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
        transcript.say(message, tokens=counts)
    return models, summed(counted) or {}


_REPLIES = frozenset(("ai", "AIMessage", "AIMessageChunk", "assistant"))


def _kinds(message: dict[str, Any], held: dict[str, Any]) -> set[str]:
    """Return the kinds that a message states, in any of its written forms."""
    path = message.get("id")
    last = path[-1] if isinstance(path, list) and path else None
    named = (message.get("type"), message.get("role"), held.get("type"), held.get("role"), last)
    return {one for one in named if isinstance(one, str)}


# agentevals ---------------------------------------------------------------------------------------

_START, _STOP = "__start__", "__interrupt__"


class AgentEvalsReader(Format):
    name = "agentevals"
    facts = FormatFacts(
        by="`outputs` with `reference_outputs`, or with `steps`",
        steps="yes, or node names",
        tools="yes, or nodes",
        approvals="interrupts",
    )

    def sniff(self, head: Head) -> bool:
        return _is_messages(head.first) or _is_graph(head.first)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        for number, (name, value) in enumerate(source.records(), 1):
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(_trace, source, number, value), name)


def _is_messages(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "reference_outputs" in value
        and _speaks(_listed(value.get("outputs")))
    )


def _speaks(messages: Any) -> bool:
    return are_messages(messages) or is_thread(messages)


def _say(draft: Draft, messages: Any) -> Transcript:
    transcript = Transcript(draft)
    if is_thread(messages):
        say_thread(transcript, messages)
    else:
        transcript.say_all(messages)
    transcript.finish()
    return transcript


def _listed(value: Any) -> Any:
    return value.get("messages") if isinstance(value, dict) else value


def _is_graph(value: Any) -> bool:
    return isinstance(at_path(value, "outputs", "steps"), list)


def _trace(source: Source, number: int, value: Any) -> Foreign:
    draft = Draft("agentevals")
    draft.note("agentevals records have no time, cost or verdict")
    if _is_graph(value):
        _graph(draft, value)
        final = _last_result(value["outputs"].get("results"))
    elif _is_messages(value):
        account = _say(draft, _listed(value["outputs"])).account
        account.whole(value["reference_outputs"])  # expected, not done
        account.read(value, ("outputs", "reference_outputs"))
        account.tell(value, draft)
        reference = Draft("agentevals")
        _say(reference, _listed(value["reference_outputs"]))
        draft.source["reference_tools"] = [
            event["tool"] for event in reference.events if event["kind"] == "tool_call"
        ]
        final = draft.last_words()
    else:
        raise Rejected("missing:outputs")
    own = value.get("id")
    named = own or value.get("test") or value.get("name")
    return draft.foreign(
        episode_id=own if isinstance(own, str) and own else f"{source.place}-{number}",
        candidate_id=source.candidate or source.home,
        final_message=final,
        title=str(named or ""),
    )


def _graph(draft: Draft, value: dict[str, Any]) -> None:
    draft.note("graph trajectories name nodes only: no arguments, no words")
    for given in value.get("inputs") or []:
        messages = at_path(given, _START, "messages")
        if isinstance(messages, list):
            _say(draft, messages)
    steps = value["outputs"]["steps"]
    for place, nodes in enumerate(steps):
        for node in sequence(nodes):
            if node == _STOP:
                resumed = place + 1 < len(steps)
                decision = "resumed" if resumed else "pending"
                draft.approval({"decision": decision}, status=None if resumed else "pending")
                draft.note("a person was asked at an interrupt; the answer is not in the file")
            elif node != _START:
                draft.message("agent", {"node": node})


def _last_result(results: Any) -> str | None:
    messages = objects(at_path(results, -1, "messages"))
    words = [one.get("content") for one in messages if one.get("role") in ("assistant", "ai")]
    return words[-1] if words and isinstance(words[-1], str) else None
