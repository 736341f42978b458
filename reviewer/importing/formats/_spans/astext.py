"""Calls that the agent wrote as text, for episodes whose spans have no other form of call."""

from collections.abc import Sequence

from reviewer.importing.formats._spans.acts import Prepared
from reviewer.importing.formats._spans.messages import Message, Part
from reviewer.importing.formats._spans.tree import Tree
from reviewer.importing.messages.astext import answers, written


def read_texts(tree: Tree, calls: list[Prepared]) -> list[Prepared]:
    """The model calls with what is a call in the agent's texts as calls, and what answers one as
    results. As they are where there is another form of call, or where a text is not understood:
    then what is left of the spans says so."""
    if tree.tools() or any(part.kind == "call" for part in _parts(calls)):
        return calls
    texts = [
        p.value for p in _parts(calls, ("agent",)) if p.kind == "text" and isinstance(p.value, str)
    ]
    found = [one for text in texts if (one := written(text)) is not None]
    if not found or not all(one.understood and one.marked for one in found):
        return calls
    return [
        one._replace(given=_told(one.given), answer=[_agents(message) for message in one.answer])
        for one in calls
    ]


def _parts(calls: Sequence[Prepared], roles: tuple[str, ...] = ()) -> list[Part]:
    told = [message for one in calls for message in (*one.given, *one.answer)]
    return [part for one in told if not roles or one.role in roles for part in one.parts]


def _told(given: list[Message]) -> list[Message]:
    found: list[Message] = []
    waiting = False
    for message in given:
        one = _agents(message) if message.role == "agent" else message
        if waiting and message.role in ("user", "tool"):
            one = _answers(message)
        waiting = any(part.kind == "call" for part in one.parts)
        found.append(one)
    return found


def _agents(message: Message) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        found = written(part.value) if part.kind == "text" and isinstance(part.value, str) else None
        if found is None:
            parts.append(part)
            continue
        if found.words:
            parts.append(part._replace(value=found.words))
        parts += [Part("call", given, "", name) for name, given in found.calls]
    return message._replace(parts=tuple(parts))


def _answers(message: Message) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        seen = answers(part.value) if part.kind == "text" and isinstance(part.value, str) else []
        parts += [Part("result", one) for one in seen] or [part]
    role = "tool" if all(part.kind == "result" for part in parts) else message.role
    return Message(role, tuple(parts))
