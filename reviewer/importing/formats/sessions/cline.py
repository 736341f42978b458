"""Cline 3: a session's messages in Anthropic's blocks, with failures stated in the results
themselves, and the messages of its sub-agents and teammates in files beside them
(`agent_….messages.json`, `<teammate>__….messages.json`)."""

import os
from pathlib import Path
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import ABSENT, CUT, Draft, summed, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, shown, small_value, text
from reviewer.importing.formats.chat.dialects import DialectReader
from reviewer.importing.formats.sessions import NO_END, SUB_AGENTS, is_json_failure, known_as
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.messages.blocks import parts_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source

_MESSAGES = ".messages.json"
_STARTING = ("spawn_agent", "team_run_task")
"""Tools that start another agent, in a session of its own."""
_MOST_FACTS = 1 << 20
_ENDS = {
    "failed": "error",
    "error": "error",
    "cancelled": "interrupted by the user",
    "aborted": "interrupted by the user",
}


class ClineReader(DialectReader):
    name = "cline"
    facts = FormatFacts(
        by="`sessionId, origin, agent, messages`",
        steps="yes, sub-agents' too; those whose file is missing leave it not measured",
        times="yes",
        tokens="the main agent's",
        beside="`….messages.json` of sub-agents and teammates, and its facts (`<session>.json`)",
    )
    plain = False

    def sniff(self, head: Head) -> bool:
        told = [name for name in ("sessionId", "origin", "agent") if head.has(name, "messages")]
        return len(told) > 1 and super().sniff(head)

    def companions(self, path: Path) -> tuple[Path, ...]:
        first = shown(path)
        own = first.get("sessionId") if isinstance(first, dict) else None
        if not isinstance(own, str) or at_path(first, "origin", "subagent"):
            return ()
        try:
            names = sorted(os.listdir(path.parent))
        except OSError:
            return ()
        agents = [
            path.parent / name for name in names if name.endswith(_MESSAGES) and name != path.name
        ]
        found, above = list[Path](), {own}
        while new := [one for one in agents if one not in found and _origin(one)[0] in above]:
            found += new  # those that they start in turn come next
            above |= {_origin(one)[1] for one in new}
        facts = _facts_beside(path)
        return (*found, *((facts,) if facts.is_file() else ()))

    def tell(self, transcript: Transcript, message: Any) -> None:
        held = mapping(message)
        spent_here = held.get("metrics")
        counts = _metrics(spent_here) if isinstance(spent_here, dict) else None
        at, about = transcript.draft.at(held.get("ts")), mapping(held.get("metadata"))
        words = _words(held)
        shown_only = about.get("displayOnly") is True and about.get("displayRole") == "error"
        between = about.get("userRunSpan") == 0 and held.get("role") == "user"
        if words and (shown_only or between):
            transcript.account.read(held, ("role", "content", "id", "ts", "metadata", "modelInfo"))
            transcript.account.whole(held["content"])
        if words and shown_only:
            transcript.wrong(words, started_at=at)  # not a model's words
            return
        if words and between:  # Cline's own words, between the answers to one request
            message = {"role": "system", "content": words}
        transcript.say(message, tokens=counts, started_at=at)
        transcript.failed_where(is_json_failure)

    def usage(self, value: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
        held = [one.get("metrics") for one in objects(messages)]
        return summed([_metrics(one) for one in objects(held)])

    def foreign(
        self, source: Source, number: int, value: dict[str, Any], draft: Draft, messages: list[Any]
    ) -> Foreign:
        final = draft.last_words()
        _join(source, draft)
        about = objects([one.get("modelInfo") for one in objects(messages)])
        models = [one["id"] for one in about if one.get("id")]
        first = next((one for one in objects(messages) if one.get("ts")), {})
        draft.identity = known_as("session", text(value.get("sessionId")))
        return draft.foreign(
            episode_id=value.get("sessionId"),
            candidate_id=source.candidate or (models[-1] if models else source.path.stem),
            final_message=final,
            usage=self.usage(value, messages),
            termination=_ended(source, draft),
            started_at=draft.at(first.get("ts")),
        )


def _words(message: dict[str, Any]) -> str:
    """Return the text of a message that consists only of text."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [text(at_path(one, "text")) for one in blocks if at_path(one, "type") == "text"]
    return "\n".join(texts) if texts and len(texts) == len(blocks) else ""


def _origin(path: Path) -> tuple[str, str]:
    """Return the session that started another one, and that one's own id."""
    first = shown(path)
    return text(at_path(first, "origin", "parentThreadId")), text(at_path(first, "sessionId"))


def _facts_beside(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix(_MESSAGES)}.json")


def _join(source: Source, draft: Draft) -> None:
    """Add the sub-agents' acts after the events of the session, and note sub-agents whose messages
    are missing."""
    asked: list[str] = []
    for path in source.companions:
        if not path.name.endswith(_MESSAGES):
            continue
        try:
            value = mapping(source.load(path))
        except (Unreadable, OSError):
            continue  # its call says that it is missing
        asked.append(_child(draft, value, path.name))
        draft.note(SUB_AGENTS)
    for seq, event in enumerate(draft.events, 1):
        if event["kind"] != "tool_call" or event["tool"] not in _STARTING:
            continue
        same = next((one for one in asked if one and one in event["arguments"].values()), None)
        if same is None:
            draft.unread(f"messages of its sub-agent{ABSENT}", seq)
        else:
            asked.remove(same)


def _child(draft: Draft, value: dict[str, Any], name: str) -> str:
    """Add the messages of a sub-agent; return its request."""
    account, asked, actor = Account(), "", "sub-agent"
    for message in objects(value.get("messages")):
        at = draft.at(message.get("ts"))
        parts = parts_of(message.get("content"), account)
        account.read(message, ("content", "role", "id", "ts"))
        if parts is None:
            draft.unread(f"{name}: messages")
            continue
        for part in parts:
            if part.kind == "text" and part.value:
                asked = asked or str(part.value)
                draft.message(actor, part.value, started_at=at)
            elif part.kind == "call":
                draft.call(part.name, part.value, part.id, actor, started_at=at)
            elif part.kind == "result":
                failed = part.status or ("error" if is_json_failure(part.value) else None)
                draft.result(part.value, part.id, part.name or None, failed, started_at=at)
            elif part.kind != "reasoning" and part.holder is not None:
                account.refuse(part.holder)
    account.tell(value.get("messages"), draft, f"{name}: messages")
    return asked


def _ended(source: Source, draft: Draft) -> str | None:
    """Return how a session ended, by its own facts; a note is added where they say that it goes
    on."""
    facts = mapping(small_value(_facts_beside(source.path), _MOST_FACTS))
    status = text(facts.get("status"))
    if status in _ENDS:
        return _ENDS[status]
    if status == "running" or source.live:  # later acts are not in the file yet
        draft.unread(f"end of the session{CUT}")
        draft.note(NO_END)
    return None


def _metrics(value: dict[str, Any]) -> dict[str, int] | None:
    return tokens(
        input_tokens=value.get("inputTokens"),
        output_tokens=value.get("outputTokens"),
        cached_tokens=value.get("cacheReadTokens"),
        cache_write_tokens=value.get("cacheWriteTokens"),
    )
