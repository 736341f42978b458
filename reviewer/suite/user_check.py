"""What of an episode's user is refused: a turn that is never said, a fact that nobody knows or that
must not be said, a talk without an end. Pure."""

from collections.abc import Iterator

from msgspec import convert

from reviewer.suite.errors import json_path, shown
from reviewer.suite.model import Episode
from reviewer.suite.user import User, UserTurn, facts_in
from reviewer.suite.value import learned

learned(User)

SHORTEST = 2
"""Characters that a value needs to be looked for in what a user says."""
Found = Iterator[tuple[str, str]]


def user_of(episode: Episode) -> User | None:
    """Return the user of an episode as a value, None where the episode has none."""
    return convert(episode.user, User) if episode.user else None


def user_problems(episode: Episode) -> Found:
    """Yield why the user of an episode is refused: place and reason."""
    user = user_of(episode)
    if user is None:
        return
    if user.kind == "scripted" and not episode.user_request:
        yield (
            "$.user_request",
            "is empty: a scripted user can only answer, so an episode needs a request",
        )
    goals = {goal.id for goal in user.goals}
    ids = {turn.id for turn in user.turns}
    for number, turn in enumerate(user.turns):
        yield from _said(user, turn.say, ("user", "turns", number, "say"))
        for place, name in enumerate(turn.goals):
            if name not in goals:
                where = json_path(("user", "turns", number, "goals", place))
                yield where, f"`{shown(name)}` is not a goal of this user"
        yield from _reached(user, number, turn, ids)
    if user.otherwise is not None:
        yield from _said(user, user.otherwise.say, ("user", "otherwise", "say"))
    for place, name in enumerate(user.end.on_final_after):
        if name not in ids:
            where = json_path(("user", "end", "on_final_after", place))
            yield where, f"`{shown(name)}` is not a turn of this user"
    for name, fact in user.facts.items():
        if fact.tell == "never" and len(str(fact.value).strip()) < SHORTEST:
            reason = "is too short to search for in what the user says"
            yield json_path(("user", "facts", name, "value")), reason
    voiced = {name for turn in user.turns for name in turn.goals}
    for number, goal in enumerate(user.goals):
        if user.kind == "scripted" and goal.id not in voiced:
            reason = f"no turn voices the goal `{shown(goal.id)}`: name it in a turn's `goals`"
            yield json_path(("user", "goals", number)), reason


def _said(user: User, text: str, where: tuple[str | int, ...]) -> Found:
    for name in facts_in(text):
        fact = user.facts.get(name)
        if fact is None:
            yield json_path(where), f"`{{{shown(name)}}}` is not a fact that this user knows"
        elif fact.tell == "never":
            yield json_path(where), f"says the fact `{shown(name)}`, which must never be told"


def _reached(user: User, number: int, turn: UserTurn, ids: set[str]) -> Found:
    """Yield why a turn is never said."""
    where = ("user", "turns", number)
    after = None if turn.when is None else turn.when.after
    if after is not None and after not in ids:
        yield json_path((*where, "when", "after")), f"`{shown(after)}` is not a turn of this user"
        return
    before = {one.id: one.when.after for one in user.turns if one.when is not None}
    chain, step = {turn.id}, after
    while step is not None:
        if step in chain:
            reason = "comes after itself, so it can never be said"
            yield json_path((*where, "when", "after")), reason
            return
        chain.add(step)
        step = before.get(step)
    for earlier in user.turns[:number]:
        if earlier.when is None and earlier.times >= user.end.max_turns:
            reason = (
                f"is never said: `{shown(earlier.id)}` before it has no condition and can be said "
                "any number of times"
            )
            yield json_path(where), reason
            return
        if earlier.end is not None and earlier.when is None:
            why = "before it has no condition and ends the conversation"
            yield json_path(where), f"is never said: `{shown(earlier.id)}` {why}"
            return
