"""Whose word can never approve a call: the agent's own, whatever it calls itself."""

from functools import lru_cache

from reviewer.suite.tool_names import bare
from reviewer.trace.record import is_user

_SELF = frozenset(
    map(bare, ("ai", "bot", "model", "self", "me", "copilot", "chatbot", "worker", "tool"))
)
_WITHIN = tuple(map(bare, ("agent", "assistant", "llm", "simulat", "usersim", "language model")))


@lru_cache(1024)
def is_agent(actor: str) -> bool:
    """Return whether that name is an agent's, a sub-agent's or a simulated user's, in any
    spelling."""
    return is_self(actor) or any(word in bare(actor) for word in _WITHIN)


@lru_cache(1024)
def is_self(actor: str) -> bool:
    """Return whether that name says no more than agent, model or user: nobody can be told from
    it."""
    plain = bare(actor)
    return not plain or plain in _SELF or plain in _WITHIN or plain in _OF_AGENTS or is_user(actor)


_OF_AGENTS = frozenset(
    map(bare, ("subagent", "aiagent", "aiassistant", "user", "simulated user", "user simulator"))
)
