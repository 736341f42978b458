"""The states that calls can lead a simulated world to: its initial state, and every state that
effects make from one of them. Pure.

This is an over-approximation where arguments decide which effects a call has: every set of effects
with compatible arguments is tried.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reviewer.suite.json_values import all_at, at, merged, path_of, same

MOST_STATES = 2_000
MOST_CHOICES = 128


def reachable_states(
    initial: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return every state that calls of these simulated tools can lead to, the initial one first; []
    when there are too many."""
    acts = []
    for tool in tools.values():
        effects = tool.get("effects") or ()
        if effects:
            choices = list(_choices(effects))
            if len(choices) > MOST_CHOICES:
                return []
            acts.append((tool.get("preconditions") or (), choices))
    found = [initial]
    known = {_key(initial)}
    for state in found:
        for conditions, choices in acts:
            if not holds(conditions, state):
                continue
            for effects in choices:
                after: Any = state
                for effect in effects:
                    if all_at(state, effect.get("when") or {}):
                        after = merged(after, effect["merge"])
                if (key := _key(after)) not in known:
                    known.add(key)
                    found.append(after)
                    if len(found) > MOST_STATES:
                        return []
    return found


def holds(conditions: Any, state: dict[str, Any]) -> bool:
    """Return whether a state meets the preconditions of a simulated tool."""
    return all(same(one["equals"], at(state, path_of(one["path"]))) for one in conditions)


def _choices(effects: Any) -> Iterator[list[Any]]:
    """Yield each set of effects that one call can have, in their order: those without arguments,
    and any of the others whose arguments do not contradict one another; at most one more than
    MOST_CHOICES."""
    waiting: list[tuple[int, list[Any], dict[str, Any]]] = [(0, [], {})]
    count = 0
    while waiting and count <= MOST_CHOICES:
        place, chosen, arguments = waiting.pop()
        if place == len(effects):
            count += 1
            yield chosen
            continue
        effect = effects[place]
        wanted = effect.get("arguments") or {}
        if all(same(value, arguments.get(name, value)) for name, value in wanted.items()):
            waiting.append((place + 1, [*chosen, effect], {**arguments, **wanted}))
        if wanted:
            waiting.append((place + 1, chosen, arguments))


def _key(state: Any) -> bytes:
    return msgspec.json.encode(state, order="sorted")
