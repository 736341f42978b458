"""The values of a conversation, and the interface of a user."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

from reviewer.running.model import Call, Observation
from reviewer.running.prices import Usage

Severity = Literal["helped", "hindered", "minor"]
"""The effect of a user's error on the agent's task: made easier, harder, or neither."""

Ended = Literal["user_stop", "user_gave_up"]


class Heard(NamedTuple):
    """Everything on which a user may base its answer: the agent's messages to it, in order; the
    answers to the calls that it has just made; and for the conditions of a script the names of
    tools that answered, the state of the world, and the last answer of each tool of its own."""

    said: tuple[str, ...]
    called: frozenset[str] = frozenset()
    state: Mapping[str, Any] = {}
    answers: tuple[Observation, ...] = ()
    saw: Mapping[str, str] = {}

    @property
    def last(self) -> str:
        return self.said[-1] if self.said else ""


class Reply(NamedTuple):
    """The user's next step. With `calls` of its own tools it is asked again afterwards; without,
    `message` is its message, None for none. `ended` says that the conversation ends. `turn` is the
    scripted turn, and `goals` are those that it voices."""

    message: str | None = None
    ended: Ended | None = None
    turn: str | None = None
    goals: tuple[str, ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None
    calls: tuple[Call, ...] = ()
    ignored_end: bool = False
    """Whether it tried to end the conversation in the answer to a question, which was not
    allowed."""


class UserFailure(Exception):
    """The user cannot answer: its endpoint failed. The text is the fault."""


class TalkUser(Protocol):
    """The user of one attempt. Raises UserFailure."""

    async def answer(self, heard: Heard) -> Reply: ...
    async def close(self) -> None: ...


class UserFault(NamedTuple):
    """An error of the user: its code (`user:…`), the event that shows it (None for an omission),
    and its effect."""

    code: str
    seq: int | None
    severity: Severity
