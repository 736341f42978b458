"""Where in a run an event stands: under which agent, in which tool, or in the scoring.

Since 0.3.9x events carry the id of their span; earlier logs have `step` begin and end marks.
"""

from typing import Any, NamedTuple

from reviewer.importing.draft import IDENTIFIER
from reviewer.importing.formats.inspect_ai.parts import text
from reviewer.trace.record import USER_ACTORS

_SCORING = frozenset({"scorer", "scorers"})
_TOOLS = frozenset({"tool", "handoff", "subtask"})
_RESERVED = USER_ACTORS | {"agent", "system"}
MOST_SPANS = 100_000


class Scope(NamedTuple):
    """`actor` is who speaks here: `agent` for the agent evaluated, else a sub-agent's name (or
    that of a tool which asks a model). `nested` says that an agent or a tool is around it."""

    actor: str = "agent"
    nested: bool = False
    scoring: bool = False
    tool: str = ""

    def inner(self, kind: str, name: Any) -> "Scope":
        """The scope of a span of that type and name inside this one."""
        if kind in _SCORING:
            return self._replace(scoring=True)
        if kind == "agent":
            return Scope(actor_of(name) if self.nested else self.actor, True, self.scoring)
        if kind in _TOOLS:
            return Scope(actor_of(name), True, self.scoring, text(name))
        return self


def actor_of(name: Any) -> str:
    """A sub-agent's name as an actor: never one that would count as the user or the agent."""
    own = text(name)[: IDENTIFIER - 10] or "unnamed"
    return f"sub-agent {own}" if own.strip().casefold() in _RESERVED else own


class Spans:
    """The spans and steps open or over by now."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}
        self._steps: list[Scope] = []
        self._outer: list[Scope] = []
        self._tools: dict[str, str] = {}

    def begin_span(self, event: dict[str, Any]) -> None:
        own, parent = event.get("id"), event.get("parent_id")
        if not isinstance(own, str) or len(self._scopes) >= MOST_SPANS:
            return
        kind, name = text(event.get("type")), event.get("name")
        around = self._scopes.get(parent) if isinstance(parent, str) else None
        self._scopes[own] = (around or self._top()).inner(kind, name)
        if kind == "tool" and isinstance(name, str):
            self._tools[name] = own

    def step(self, event: dict[str, Any]) -> None:
        """A step's end closes the innermost one that is open, whatever it is called."""
        if event.get("action") == "begin":
            self.enter(text(event.get("type")), event.get("name"))
        else:
            self.leave()

    def enter(self, kind: str, name: Any) -> None:
        if len(self._steps) < MOST_SPANS:
            self._outer.append(self._top())
            self._steps.append(self._top().inner(kind, name))

    def leave(self) -> None:
        if self._steps:
            self._steps.pop()
            self._outer.pop()

    def scope(self, event: dict[str, Any]) -> Scope:
        """The scope an event stands in."""
        found = self._scopes.get(event["span_id"]) if _has_span(event) else None
        return found or self._top()

    def caller(self, event: dict[str, Any]) -> Scope:
        """The scope of who called a tool: a step may stand around the tool event itself."""
        if not _has_span(event) and self._steps and self._top().tool == event.get("function"):
            return self._outer[-1]
        return self.scope(event)

    def claim_tool(self, name: Any) -> str:
        """The span that was just begun for a call of this tool, empty when there is none."""
        return self._tools.pop(name, "") if isinstance(name, str) else ""

    def _top(self) -> Scope:
        return self._steps[-1] if self._steps else Scope()


def _has_span(event: dict[str, Any]) -> bool:
    return isinstance(event.get("span_id"), str)
