"""The values of a conversation, and the interface of a user."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

from reviewer.running.model import Call, Observation, Usage

Severity = Literal["helped", "hindered", "minor"]
"""What an error of the user did to the agent: made its task easier, or harder, or neither."""

Ended = Literal["user_stop", "user_gave_up"]


class Heard(NamedTuple):
    """All that a user may go by: what the agent has said to it, in order; what the calls answered
    that it has just made; and for the conditions of a script the names of tools that answered, the
    state of the world, and the last answer of each tool of its own."""

    said: tuple[str, ...]
    called: frozenset[str] = frozenset()
    state: Mapping[str, Any] = {}
    answers: tuple[Observation, ...] = ()
    saw: Mapping[str, str] = {}

    @property
    def last(self) -> str:
        return self.said[-1] if self.said else ""


class Reply(NamedTuple):
    """What the user does next. With `calls` of its own tools it is asked again afterwards; without,
    `message` is what it says, None for nothing more. `ended` says that the conversation ends.
    `turn` is the scripted turn, and `goals` are those that it voices."""

    message: str | None = None
    ended: Ended | None = None
    turn: str | None = None
    goals: tuple[str, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    calls: tuple[Call, ...] = ()
    ignored_end: bool = False
    """Whether it would have ended the talk in the answer to a question, and was not let."""


class UserFailure(Exception):
    """The user cannot answer: its endpoint failed. The text is the fault."""


class TalkUser(Protocol):
    """The user of one attempt. Raises UserFailure."""

    async def answer(self, heard: Heard) -> Reply: ...
    async def close(self) -> None: ...


class UserFault(NamedTuple):
    """An error of the user: its code (`user:…`), the event that shows it (None for what is not
    there), and what it did."""

    code: str
    seq: int | None
    severity: Severity
