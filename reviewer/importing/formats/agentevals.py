"""agentevals trajectories: messages beside a reference, and LangGraph's node-name trajectories.

Calls and results there often have no ids, so they pair in order. A graph trajectory names nodes
only: `__interrupt__` is where a person was asked, and what was answered is not in the file.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft
from reviewer.importing.formats._envelopes import are_messages
from reviewer.importing.formats.langchain import is_thread, say_thread
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_START, _STOP = "__start__", "__interrupt__"


class AgentEvalsReader:
    name = "agentevals"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        return _is_messages(head.first) or _is_graph(head.first)

    def suite_id(self, path: Path) -> str:
        return "agentevals"

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()

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


def _say(draft: Draft, messages: Any) -> Teller:
    teller = Teller(draft)
    if is_thread(messages):
        say_thread(teller, messages)
    else:
        teller.say_all(messages)
    teller.finish()
    return teller


def _listed(value: Any) -> Any:
    return value.get("messages") if isinstance(value, dict) else value


def _is_graph(value: Any) -> bool:
    outputs = value.get("outputs") if isinstance(value, dict) else None
    return isinstance(outputs, dict) and isinstance(outputs.get("steps"), list)


def _trace(source: Source, number: int, value: Any) -> Foreign:
    draft = Draft("agentevals")
    draft.note("agentevals records have no time, cost or verdict")
    if _is_graph(value):
        _graph(draft, value)
        final = _last_result(value["outputs"].get("results"))
    elif _is_messages(value):
        account = _say(draft, _listed(value["outputs"])).account
        account.whole(value["reference_outputs"])  # what is expected, done by nobody
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
        start = given.get(_START) if isinstance(given, dict) else None
        messages = start.get("messages") if isinstance(start, dict) else None
        if isinstance(messages, list):
            _say(draft, messages)
    steps = value["outputs"]["steps"]
    for place, nodes in enumerate(steps):
        for node in nodes if isinstance(nodes, list) else []:
            if node == _STOP:
                resumed = place + 1 < len(steps)
                decision = "resumed" if resumed else "pending"
                draft.approval({"decision": decision}, status=None if resumed else "pending")
                draft.note("a person was asked at an interrupt; the answer is not in the file")
            elif node != _START:
                draft.message("agent", {"node": node})


def _last_result(results: Any) -> str | None:
    last = results[-1] if isinstance(results, list) and results else None
    messages = last.get("messages") if isinstance(last, dict) else None
    words = [
        message.get("content")
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and message.get("role") in ("assistant", "ai")
    ]
    return words[-1] if words and isinstance(words[-1], str) else None
