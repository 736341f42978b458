"""Assemble streams: answers that were stored as the events in which they came (OpenAI's chat chunks
and Responses events, Anthropic's and Bedrock's events, chunks of Gemini and Ollama), and messages
that a stream cut into chunks (LangChain's, which share an id).

Events that are unknown for their kind of stream stay in the answer, under `events`, so that the
accounting for the answer includes them.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, TypeGuard

from reviewer.importing.account import Account
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.messages.turns import plain

_Event = dict[str, Any]
REST = "events"


def assembled(value: Any) -> dict[str, Any] | None:
    """Return the answer of a stream, from a list of its events or from its text (server-sent
    events, or JSON lines); None when the value is not a stream."""
    events = list(_events(value))
    if not events:
        return None
    for fits, together in _KINDS:
        if any(fits(event) for event in events):
            return together(events)
    return None


def events_of(text: str) -> list[_Event]:
    """Return the objects in a stream's text, one per line, with `data:` before them or without."""
    found: list[_Event] = []
    for line in text.splitlines():
        start = line.strip().removeprefix("data:").strip()
        value = parse_text(start) if start[:1] in ("{", "[") else None
        listed = value if isinstance(value, list) else [value]
        found += [one for one in listed if isinstance(one, dict)]
    return found


def _is(value: Any) -> TypeGuard[_Event]:
    return isinstance(value, dict)


def _events(value: Any) -> Iterator[_Event]:
    if isinstance(value, dict) and isinstance(value.get("stream"), list):
        value = value["stream"]
    listed = events_of(value) if isinstance(value, str) else value
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, str):  # one line of server-sent events each
            yield from events_of(one)
        elif isinstance(one, dict):
            inner = one.get("data")
            yield inner if isinstance(inner, dict) and set(one) <= _FRAME else one


_FRAME = frozenset(("event", "data", "id", "retry"))


def _joined(held: dict[str, Any], name: str, more: Any) -> None:
    if isinstance(more, str) and isinstance(held.get(name, ""), str):
        held[name] = (held.get(name) or "") + more


def _chat(events: list[_Event]) -> dict[str, Any]:
    """Assemble OpenAI's chunks: deltas by choice, calls by index."""
    choices: dict[Any, dict[str, Any]] = {}
    rest: list[Any] = []
    answer: dict[str, Any] = {}
    for event in events:
        listed = event.get("choices")
        if not isinstance(listed, list):
            rest.append(event)
            continue
        answer.update({k: v for k, v in event.items() if k in ("id", "model", "created") and v})
        if isinstance(event.get("usage"), dict):
            answer["usage"] = event["usage"]
        for one in listed:
            if not isinstance(one, dict):
                rest.append(one)
                continue
            held = choices.setdefault(str(one.get("index", 0)), {"message": {}, "calls": {}})
            held["finish_reason"] = one.get("finish_reason") or held.get("finish_reason")
            delta = one.get("delta", one.get("message"))
            if isinstance(delta, dict):
                _delta(held["message"], held["calls"], delta, rest)
            elif delta is not None:
                rest.append(one)
    found = []
    for held in choices.values():
        message = held["message"]
        if held["calls"]:
            message["tool_calls"] = [*message.get("tool_calls", ()), *held["calls"].values()]
        message.setdefault("role", "assistant")
        found.append({"message": message, "finish_reason": held["finish_reason"]})
    return {**answer, "object": "chat.completion", "choices": found, REST: rest}


def _delta(message: _Event, calls: dict[Any, _Event], delta: _Event, rest: list[Any]) -> None:
    for name, more in delta.items():
        if more is None:
            continue
        if name == "tool_calls" and isinstance(more, list):
            for place, piece in enumerate(more):
                if isinstance(piece, dict):
                    _piece(calls, piece, place)
                else:
                    rest.append({name: piece})
        elif name == "function_call" and isinstance(more, dict):
            held = message.setdefault(name, {})
            for part in more:
                _joined(held, part, more[part])
        elif name == "role":
            message[name] = more
        elif isinstance(more, str):
            _joined(message, name, more)
        else:
            rest.append({name: more})


def _piece(calls: dict[Any, _Event], piece: _Event, place: int) -> None:
    """Add a piece of a call: a different id begins another call."""
    index = piece.get("index", place)
    known = calls.get(index)
    if known and piece.get("id") and known.get("id") not in (None, "", piece["id"]):
        index = f"{index} {piece['id']}"
    held = calls.setdefault(index, {})
    for name, more in piece.items():
        if name in ("function", "custom") and isinstance(more, dict):
            inner = held.setdefault(name, {})
            for part, value in more.items():
                if part == "name" and inner.get(part) == value:
                    continue  # some servers repeat the name with each piece
                if isinstance(value, str):
                    _joined(inner, part, value)
                elif value is not None:
                    inner[part] = value
        elif name != "index" and more not in (None, ""):
            held[name] = more


def _anthropic(events: list[_Event]) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": "message", "role": "assistant"}
    blocks: dict[Any, dict[str, Any]] = {}
    rest: list[Any] = []
    for event in events:
        kind, index = event.get("type"), str(event.get("index"))
        delta = event.get("delta")
        if kind == "message_start" and isinstance(message := event.get("message"), dict):
            answer.update({k: v for k, v in message.items() if k != "content" or v})
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            if index in blocks:
                rest.append(blocks[index])
            blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(delta, dict) and index in blocks:
            for name, more in delta.items():
                if name != "type":
                    _joined(blocks[index], name, more)
        elif kind == "message_delta" and isinstance(delta, dict):
            answer.update(delta)
            usage = answer.get("usage")
            if isinstance(usage, dict) and isinstance(event.get("usage"), dict):
                answer["usage"] = {**usage, **event["usage"]}
        elif kind not in ("message_stop", "content_block_stop", "ping"):
            rest.append(event)
    for block in blocks.values():
        given = block.pop("partial_json", None)
        if given:
            parsed = parse_text(given)
            block["input"] = given if parsed is None else parsed
    kept = answer.get("content")
    content = [*(kept if isinstance(kept, list) else ()), *blocks.values()]
    return {**answer, "content": content, REST: rest}


def _bedrock(events: list[_Event]) -> dict[str, Any]:
    content: dict[Any, dict[str, Any]] = {}
    answer: dict[str, Any] = {}
    rest: list[Any] = []
    role: Any = "assistant"
    for event in events:
        for name, held in event.items():
            at = str(held.get("contentBlockIndex", 0)) if isinstance(held, dict) else ""
            if name == "messageStart" and isinstance(held, dict):
                role = held.get("role", role)
            elif name == "contentBlockStart" and _is(held) and _is(held.get("start")):
                content[at] = {k: dict(v) for k, v in held["start"].items() if _is(v)}
            elif name == "contentBlockDelta" and _is(held) and _is(held.get("delta")):
                _block(content.setdefault(at, {}), held["delta"], rest)
            elif name == "messageStop" and isinstance(held, dict):
                answer["stopReason"] = held.get("stopReason")
            elif name == "metadata" and isinstance(held, dict):
                answer["usage"] = held.get("usage")
            elif name != "contentBlockStop":
                rest.append({name: held})
    for block in content.values():
        use = block.get("toolUse")
        if _is(use) and isinstance(use.get("input"), str):
            parsed = parse_text(use["input"])
            use["input"] = use["input"] if parsed is None else parsed
    message = {"role": role, "content": list(content.values())}
    return {**answer, "output": {"message": message}, REST: rest}


def _block(block: dict[str, Any], delta: dict[str, Any], rest: list[Any]) -> None:
    for name, more in delta.items():
        if isinstance(more, str):
            _joined(block, name, more)
        elif name == "toolUse" and isinstance(more, dict):
            held = block.setdefault(name, {})
            for part, value in more.items():
                _joined(held, part, value)
        elif name == "reasoningContent" and isinstance(more, dict):
            block.setdefault(name, {}).update(more)
        else:
            rest.append({name: more})


def _responses(events: list[_Event]) -> dict[str, Any]:
    """Return the response that ended the stream, with items that only earlier events have."""
    answer: dict[str, Any] = {}
    items: dict[str, Any] = {}
    given: dict[str, str] = {}
    for event in events:
        kind = str(event.get("type"))
        if isinstance(held := event.get("response"), dict):
            answer = held if held.get("output") or not answer.get("output") else answer
        item = event.get("item")
        own = str(event.get("output_index", event.get("item_id")))
        if isinstance(item, dict) and (kind.endswith(".done") or own not in items):
            items[own] = item
        if kind.endswith((".arguments.done", "_arguments.done", "_input.done")):
            text = next((event[n] for n in ("arguments", "input") if n in event), None)
            given[own] = text if isinstance(text, str) else given.get(own, "")
        elif kind.endswith(("_arguments.delta", "_input.delta")):
            given[own] = given.get(own, "") + str(event.get("delta", ""))
    output = answer.get("output")
    listed = list(output) if isinstance(output, list) else []
    for own, item in items.items():
        member = "input" if item.get("type") == "custom_tool_call" else "arguments"
        if given.get(own) and not item.get(member):
            item = {**item, member: given[own]}
        if not any(_same_item(item, one) for one in listed):
            listed.append(item)
    return {"object": "response", **answer, "output": listed}


def _same_item(item: _Event, other: Any) -> bool:
    if not isinstance(other, dict) or item.get("type") != other.get("type"):
        return False
    names = ("call_id", "id")
    return any(item.get(name) and item.get(name) == other.get(name) for name in names)


def _gemini(events: list[_Event]) -> dict[str, Any]:
    """Assemble the parts of all chunks, by candidate."""
    answer: dict[str, Any] = {}
    candidates: dict[Any, dict[str, Any]] = {}
    rest: list[Any] = []
    for event in events:
        listed = event.get("candidates")
        answer.update({name: one for name, one in event.items() if name != "candidates"})
        for place, one in enumerate(listed if isinstance(listed, list) else ()):
            content = one.get("content") if isinstance(one, dict) else None
            if not isinstance(content, dict):
                rest.append(one)
                continue
            held = candidates.setdefault(one.get("index", place), {"content": {"parts": []}})
            parts = content.get("parts")
            held["content"]["parts"] += parts if isinstance(parts, list) else [parts]
            held["content"]["role"] = content.get("role", "model")
            held.update({name: more for name, more in one.items() if name != "content"})
    return {**answer, "candidates": list(candidates.values()), REST: rest}


def _ollama(events: list[_Event]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    rest: list[Any] = []
    for event in events:
        held = event.get("message")
        if not isinstance(held, dict):
            rest.append(event)
            continue
        for name, more in held.items():
            if isinstance(more, list):
                message[name] = [*message.get(name, ()), *more]
            elif name == "role":
                message[name] = more
            elif isinstance(more, str):
                _joined(message, name, more)
            elif more is not None:
                rest.append({name: more})
    last = {name: one for name, one in events[-1].items() if name != "message"}
    return {**last, "message": message, REST: rest}


def _kind(*starts: str) -> Any:
    return lambda event: isinstance(event.get("type"), str) and event["type"].startswith(starts)


def _has(name: str, kind: type) -> Any:
    return lambda event: isinstance(event.get(name), kind)


def _is_chunk(event: _Event) -> bool:
    choices = event.get("choices")
    if event.get("object") == "chat.completion.chunk":
        return True
    return isinstance(choices, list) and any(_is(one) and "delta" in one for one in choices)


_KINDS: tuple[tuple[Callable[[_Event], bool], Callable[[list[_Event]], dict[str, Any]]], ...] = (
    (_is_chunk, _chat),
    (_kind("message_start", "content_block_"), _anthropic),
    (_kind("response."), _responses),
    (_has("candidates", list), _gemini),
    (lambda event: bool(event.keys() & {"messageStart", "contentBlockDelta"}), _bedrock),
    (lambda event: "done" in event and _is(event.get("message")), _ollama),
)


def is_stream(value: Any) -> bool:
    """Return whether an object is an event of such a stream, and so no record by itself."""
    return isinstance(value, dict) and (
        _is_chunk(value)
        or _kind("message_start", "content_block_", "response.")(value)
        or bool(value.keys() & {"messageStart", "contentBlockDelta"})
    )


_PIECES = ("content", "tool_call_chunks", "tool_calls", "invalid_tool_calls", "additional_kwargs")

_WHOLE = ("ai", "tool", "human", "system")


def whole_messages(messages: list[Any], account: Account) -> Iterator[Any]:
    """Yield the messages, with consecutive chunks of one id joined. Members beside their words and
    calls stay in the account."""
    for own, group in groupby(messages, _chunk):
        found = list(group)
        if not own or len(found) == 1:
            yield from found
            continue
        pieces = [held[1] for one in found if (held := plain(one, account)) is not None]
        for piece in pieces:
            account.read(piece, (*_PIECES, "type", "id"))
            account.whole(*(piece.get(name) for name in _PIECES))
        yield _together(own, pieces)


def _chunk(message: Any) -> str:
    """Return the id of a chunk; empty for a complete message."""
    if not isinstance(message, dict):
        return ""
    held = message.get("kwargs", message.get("data", message))
    kinds = [message.get("type"), held.get("type") if isinstance(held, dict) else None]
    path = message.get("id")
    if kinds[0] in _WHOLE and kinds[1] in _WHOLE and not isinstance(path, list):
        return ""
    if isinstance(path, list):
        kinds += path[-1:]
    if not any(isinstance(kind, str) and kind.endswith("Chunk") for kind in kinds):
        return ""
    own = held.get("id") if isinstance(held, dict) else None
    return own if isinstance(own, str) else ""


def _together(own: str, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    calls: dict[Any, dict[str, Any]] = {}
    content: list[Any] = []
    for piece in pieces:
        said = piece.get("content")
        content += said if isinstance(said, list) else [said] if said else []
        for place, chunk in enumerate(piece.get("tool_call_chunks") or ()):
            if not isinstance(chunk, dict):
                continue
            call = calls.setdefault(chunk.get("index", f"at {place}"), {"type": "tool_call"})
            for name in ("name", "args", "id"):
                if isinstance(more := chunk.get(name), str):
                    call[name] = call.get(name, "") + more
    text = all(isinstance(one, str) for one in content)
    usage = [piece["usage_metadata"] for piece in pieces if piece.get("usage_metadata")]
    about: dict[str, Any] = {}
    for piece in pieces:
        if isinstance(found := piece.get("response_metadata"), dict):
            about.update(found)
    kept = {"response_metadata": about, "usage_metadata": usage[-1] if usage else None}
    said = "".join(content) if text else content
    return {"type": "ai", "id": own, "content": said, "tool_calls": list(calls.values()), **kept}
