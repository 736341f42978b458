"""The text that people read to judge the user of a conversation: its words and the agent's, in
order; and the questions they are asked. Pure.

An error that a rule found is not shown, nor how the attempt ended, which would reveal one. The text
is part of an item's name: in another form it would be another item, and lose its labels.
"""

from collections.abc import Sequence

import msgspec

from reviewer.gates.values import text_of
from reviewer.suite.rubric import Criterion, Level, Rubric
from reviewer.suite.user import User
from reviewer.trace.record import ABSENT, Event, is_user, kind_of

_AGENT = frozenset({None, "agent", "assistant"})
_YES_NO = (Level(value=1, label="yes"), Level(value=2, label="no"))


def _asked(name: str, title: str, asks: str, *rules: str) -> Criterion:
    told = f"{asks} (rule: {', '.join(f'user:{rule}' for rule in rules)})"
    return Criterion(criterion_id=name, title=title, asks=told, scale="binary", levels=_YES_NO)


USER_RUBRIC = Rubric(
    rubric_id="user",
    version="1",
    criteria=(
        _asked(
            "keeps-back",
            "Tells nothing too early",
            "Is no fact told that must never be told, or that is told only when asked for?",
            "revealed",
        ),
        _asked(
            "goals",
            "Keeps its goals",
            "Is each of its goals voiced before it is satisfied?",
            "dropped",
        ),
        _asked(
            "moves-on",
            "Moves on",
            "Is it free of loops: not the same message three times, nor two in turn?",
            "loop",
        ),
        _asked(
            "consistent",
            "Keeps to its facts",
            "Does all it says agree with its facts and its own words, and is nothing invented?",
            "contradicted",
            "invented",
        ),
        _asked(
            "ends-in-time",
            "Ends in time",
            "Does it end only after the agent could act, not in the message that confirms?",
            "stopped_on_confirm",
        ),
    ),
)
"""The questions about the user of a conversation, each with the rules that look for the same
error."""


def transcript(events: Sequence[Event]) -> str | None:
    """Return a conversation as text, each message with the number of its event; None where no user
    answers the agent. Messages before the agent's first act are the request."""
    lines: list[str] = []
    acted = answered = False
    calls = 0
    for place, event in enumerate(events, 1):
        kind = kind_of(event)
        if kind == "tool_call" and not is_user(event.actor):
            acted, calls = True, calls + 1
            continue
        if kind != "message" or event.message == ABSENT:
            continue
        text = text_of(msgspec.json.decode(event.message)).strip()
        if not text:
            continue
        by_user = is_user(event.actor)
        who = "user" if by_user else "agent" if event.actor in _AGENT else str(event.actor)
        acted, answered = acted or who == "agent", answered or (by_user and acted)
        if calls:
            lines.append(_calls(calls))
            calls = 0
        lines.append(f"[{event.seq or place}] {who}: {text}")
    if calls:
        lines.append(_calls(calls))
    return "\n\n".join(lines) if answered else None


def _calls(count: int) -> str:
    return f"(the agent makes {count} call{'' if count == 1 else 's'})"


def card(request: str, user: User | None) -> str:
    """Return what the user of an episode first asks for, wants and knows, and when the user may say
    it."""
    lines = [request]
    if user is not None:
        lines += [f"goal {goal.id}: {goal.asks}" for goal in user.goals]
        lines += [
            f"fact {name}: {fact.value} ({_WHEN[fact.tell]}{', a belief' if fact.claim else ''})"
            for name, fact in user.facts.items()
        ]
    return "\n".join(lines)


_WHEN = {"freely": "told freely", "asked": "told when asked for", "never": "never told"}
