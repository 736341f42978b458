"""Messages that a stream cut into chunks, put together: LangChain's, which name theirs by id."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.messages.turns import plain

_PIECES = ("content", "tool_call_chunks", "tool_calls", "invalid_tool_calls", "additional_kwargs")

_WHOLE = ("ai", "tool", "human", "system")


def whole_messages(messages: list[Any], account: Account) -> Iterator[Any]:
    """The messages, with neighboring chunks of one id as one. What they hold beside their words
    and calls stays in the account."""
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
    """The id of a chunk; empty for a message that is whole."""
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
