"""Which messages of a conversation were already told.

Each model call carries the whole conversation so far; what stands in it again is no new event.
Messages are known by what they say and not by their ids: agents rebuild them with new ones.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from reviewer.importing.formats.inspect_ai.parts import Texts, mapping, ranges, sequence, text

Key = tuple[str, Any]
_ROLES = ("system", "user", "tool", "assistant")


class History:
    """The messages of one sample told by now."""

    def __init__(self, pool: list[Any], texts: Texts) -> None:
        self.spoken = False
        """Whether the agent has said something of its own."""
        self._texts = texts
        self._pool = pool
        self._places = [n for n, one in enumerate(pool) if mapping(one).get("role") in _ROLES]
        self._keys: dict[int, Key | None] = {}
        self._told: Counter[Key] = Counter()
        self._own: set[str] = set()

    def own(self, message_id: Any) -> None:
        """The id of a message that an event of its own tells. It may come back in another role:
        a handoff turns what a sub-agent did into words of the user."""
        if isinstance(message_id, str) and message_id:
            self._own.add(message_id)

    def count(self, role: str, content: Any) -> None:
        """Something told that will come back in this role with another id."""
        self._told[role, _hashable(content)] += 1

    def news(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What a model call was given beyond all that was told: system, user and tool messages,
        and assistant messages that stand there before the agent ever spoke."""
        found = [(self._pool[n], self._keyed(n)) for n in self._referred(event.get("input_refs"))]
        found += [(one, self._key(one)) for one in sequence(event.get("input"))]
        yield from self._unheard(found)

    def rest(self, messages: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """As `news`, of the conversation as it was at the end."""
        yield from self._unheard([(one, self._key(one)) for one in messages])

    def _unheard(self, found: list[tuple[Any, Key | None]]) -> Iterator[dict[str, Any]]:
        here: Counter[Key] = Counter()
        spoken = self.spoken
        for message, key in found:
            if key is None or (key[0] == "assistant" and spoken):
                continue
            here[key] += 1
            if here[key] <= self._told[key]:
                continue
            self._told[key] += 1
            if text(message.get("id")) not in self._own:
                yield message

    def _referred(self, refs: Any) -> Iterator[int]:
        for start, end in ranges(refs, len(self._pool)):
            place = bisect_left(self._places, start)
            while place < len(self._places) and self._places[place] < end:
                yield self._places[place]
                place += 1

    def _keyed(self, place: int) -> Key | None:
        if place not in self._keys:
            self._keys[place] = self._key(self._pool[place])
        return self._keys[place]

    def _key(self, message: Any) -> Key | None:
        named = mapping(message)
        role = text(named.get("role"))
        if role == "tool":
            return role, _hashable(named.get("tool_call_id"))
        if role in _ROLES:
            return role, _hashable(self._texts.whole(named.get("content")))
        return None


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, type(None))) else msgspec.json.encode(value)
