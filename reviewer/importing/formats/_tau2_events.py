"""tau2-bench conversations as events: messages of a half-duplex run, ticks of a full-duplex one.

The simulated user calls tools too; those calls carry its name, so that no gate counts them as the
agent's.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.draft import Draft, Status, amount, elapsed_ms, measured, tokens
from reviewer.importing.reader import Rejected

AGENT, USER, SIMULATED = "agent", "user", "simulated_user"
STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_ACTORS = {"assistant": AGENT, "user": USER}
_AUDIO = 256
"""From this length on a text without a blank is encoded audio, in a message marked as audio."""


def add_messages(draft: Draft, messages: list[Any]) -> None:
    """The turns of a half-duplex conversation. Raises Rejected (`type:messages[n]`)."""
    before: Any = None
    for number, message in enumerate(messages):
        for turn in _turns(message, f"messages[{number}]"):
            _add_turn(draft, turn, before)
            before = turn.get("timestamp") or before


def _turns(message: Any, place: str) -> Iterator[dict[str, Any]]:
    """One message, or the single results that stand together in one."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise Rejected(f"type:{place}")
    several = message.get("tool_messages")
    if not isinstance(several, list):
        yield message
        return
    for number, one in enumerate(several):
        if not isinstance(one, dict):
            raise Rejected(f"type:{place}.tool_messages[{number}]")
        yield {**one, "role": "tool"}


def _add_turn(draft: Draft, turn: dict[str, Any], before: Any) -> None:
    role, at = turn["role"], turn.get("timestamp")
    if role == "tool":
        _add_result(draft, turn, at, elapsed_ms(before, at) or None)
        return
    actor = _ACTORS.get(role, role)
    more: dict[str, Any] = {"at": at}
    if actor == AGENT:
        spent = amount(turn.get("generation_time_seconds"))
        more["latency_ms"] = spent * 1000 if spent else elapsed_ms(before, at) or None
        more["cost_usd"] = measured(turn.get("cost"))
        more["tokens"] = tokens_of(turn)
    calls = _list(turn, "tool_calls")
    text = turn.get("content")
    if not calls or (text is not None and text != ""):
        draft.message(actor, text, **more)
        more = {"at": at}
    for call in calls:
        _add_call(draft, call, actor, more)
        more = {"at": at}


def _add_call(draft: Draft, call: Any, actor: str, more: dict[str, Any]) -> None:
    if not isinstance(call, dict):
        raise Rejected("type:tool_calls")
    who = SIMULATED if actor == USER or call.get("requestor") == USER else actor
    draft.call(call.get("name"), call.get("arguments"), call.get("id"), who, **more)


def _add_result(draft: Draft, turn: dict[str, Any], at: Any, waited: float | None) -> None:
    failed = turn.get("error")
    status: Status | None = None
    if isinstance(failed, bool):
        status = "error" if failed else "ok"
    draft.result(turn.get("content"), turn.get("id"), None, status, at=at, latency_ms=waited)


def _list(value: dict[str, Any], member: str) -> list[Any]:
    found = value.get(member)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Rejected(f"type:{member}")
    return found


def tokens_of(turn: dict[str, Any]) -> dict[str, int] | None:
    """Tokens of one message; the cached ones stand only in the provider's own answer."""
    usage, raw = turn.get("usage"), turn.get("raw_data")
    if not isinstance(usage, dict):
        return None
    served = raw.get("usage") if isinstance(raw, dict) else None
    details = served.get("prompt_tokens_details") if isinstance(served, dict) else None
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return tokens(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_tokens=cached,
    )


class _Speech:
    """What one side is saying, gathered from its chunks until it stops."""

    def __init__(self, draft: Draft, actor: str) -> None:
        self._draft, self._actor = draft, actor
        self._parts: list[str] = []
        self._ids: set[str] = set()
        self._at: Any = None

    def hear(self, chunk: Any, at: Any) -> bool:
        """Take one chunk in; whether it held words."""
        text = chunk.get("content") if isinstance(chunk, dict) else None
        if not isinstance(text, str) or not text:
            return False
        if chunk.get("is_audio") and len(text) > _AUDIO and not any(map(str.isspace, text)):
            text = "[audio]"
        listed = chunk.get("utterance_ids")
        ids = set(map(str, listed)) if isinstance(listed, list) else set()
        if self._ids and ids and self._ids.isdisjoint(ids):
            self.stop()
        if not self._parts:
            self._at = chunk.get("timestamp") or at
        self._parts.append(text)
        self._ids = ids or self._ids
        return True

    def stop(self) -> None:
        """What was said by now is one message."""
        if self._parts:
            self._draft.message(self._actor, "".join(self._parts), at=self._at)
        self._parts, self._ids = [], set()


def add_ticks(draft: Draft, ticks: list[Any]) -> None:
    """The ticks of a full-duplex conversation: chunks joined to what was said, calls where they
    were made. Raises Rejected (`type:ticks[n]`)."""
    sides = {"agent": _Speech(draft, AGENT), "user": _Speech(draft, USER)}
    for number, tick in enumerate(ticks):
        if not isinstance(tick, dict):
            raise Rejected(f"type:ticks[{number}]")
        at = tick.get("timestamp")
        spoke = {who: side.hear(tick.get(f"{who}_chunk"), at) for who, side in sides.items()}
        for who, other in (("agent", "user"), ("user", "agent")):
            if spoke[who] and not spoke[other]:
                sides[other].stop()
        for who, side in sides.items():
            calls = _list(tick, f"{who}_tool_calls")
            if calls:
                side.stop()
            for call in calls:
                _add_call(draft, call, who, {"at": at})
            for result in _list(tick, f"{who}_tool_results"):
                if not isinstance(result, dict):
                    raise Rejected(f"type:{who}_tool_results")
                _add_result(draft, result, result.get("timestamp") or at, None)
    for side in sides.values():
        side.stop()
    if ticks and not draft.events:
        draft.note("its ticks hold no text, no calls and no results: stripped before it came here")


def final_words(draft: Draft) -> str | None:
    """The agent's last message without the words that end a conversation."""
    for event in reversed(draft.events):
        text = event.get("message")
        if event["kind"] != "message" or event.get("actor") != AGENT or not isinstance(text, str):
            continue
        for stop in STOPS:
            text = text.replace(stop, "")
        if text.strip():
            return text.strip() if text != event["message"] else text
    return None
