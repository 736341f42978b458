"""What of an episode's user is refused: a turn that is never said, a fact that nobody knows or that
must not be said, a talk without an end. Pure."""

from collections.abc import Iterator

from reviewer.suite.errors import json_path, shown
from reviewer.suite.model import Episode
from reviewer.suite.tool_names import listed_tools, spelled_alike
from reviewer.suite.user import MOST_CALLS, USER_ENDS, User, UserTurn, facts_in
from reviewer.suite.value import learned
from reviewer.suite.values import EPISODES, converted

learned(User)

SHORTEST = 2
"""Characters that a value needs to be looked for in what a user says."""
Found = Iterator[tuple[str, str]]


def user_of(episode: Episode) -> User | None:
    """Return the user of an episode as a value, None where the episode has none. Raise
    ContractError naming the place that does not fit."""
    file = f"{EPISODES}{episode.episode_id}.json"
    return converted(episode.user, User, file, "$.user") if episode.user else None


def user_problems(episode: Episode) -> Found:
    """Yield why the user of an episode is refused: place and reason."""
    yield from _of_user(episode)
    user = user_of(episode)
    if user is None:
        return
    yield from _tools(episode, user)
    if user.kind == "scripted" and not episode.user_request:
        yield (
            "$.user_request",
            "is empty: a scripted user can only answer, so an episode needs a request",
        )
    goals = {goal.id for goal in user.goals}
    ids = {turn.id for turn in user.turns}
    for number, turn in enumerate(user.turns):
        yield from _calls(user, turn, ("user", "turns", number))
        given = {call.tool for call in turn.calls} | (
            set() if turn.when is None else {*turn.when.saw}
        )
        yield from _said(user, turn.say or "", ("user", "turns", number, "say"), given)
        for place, name in enumerate(turn.goals):
            if name not in goals:
                where = json_path(("user", "turns", number, "goals", place))
                yield where, f"`{shown(name)}` is not a goal of this user"
        yield from _reached(user, number, turn, ids)
    if user.otherwise is not None:
        yield from _said(user, user.otherwise.say, ("user", "otherwise", "say"), set())
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


def _of_user(episode: Episode) -> Found:
    """Yield the tools of the user that are the agent's too, in any spelling."""
    own = set(listed_tools(episode)) | ((episode.simulator or {}).get("tools") or {}).keys()
    named = () if not episode.tools.of_user else episode.tools.of_user
    places: list[tuple[str, tuple[str | int, ...]]] = [
        *((tool, ("tools", "of_user", i)) for i, tool in enumerate(named)),
        *((tool, ("user", "tools", tool)) for tool in episode.user_tools),
    ]
    for tool, place in places:
        if alike := spelled_alike(tool, own):
            yield json_path(place), f"is a tool of the agent too (`{shown(alike)}`): {OTHER_NAME}"


OTHER_NAME = "give one of them another name, so that each call is of one side"


def _tools(episode: Episode, user: User) -> Found:
    """Yield why the user cannot have its tools."""
    if not user.tools:
        return
    for world in ("toolkit", "server", "container"):
        if (episode.simulator or {}).get(world):
            reason = f"need simulated tools beside them: these cannot act on the state of a {world}"
            yield "$.user.tools", reason
    if user.kind == "model" and USER_ENDS in user.tools:
        reason = "is the tool by which a model ends the talk: give this one another name"
        yield json_path(("user", "tools", USER_ENDS)), reason
    for name in user.facts.keys() & user.tools.keys():
        reason = "is a tool of the user too: `{" + shown(name) + "}` would stand for both"
        yield json_path(("user", "facts", name)), reason
    silent = sum(len(turn.calls) * turn.times for turn in user.turns if turn.say is None)
    spoken = max((len(turn.calls) for turn in user.turns if turn.say is not None), default=0)
    if silent + spoken > MOST_CALLS:
        reason = (
            f"could make {silent + spoken} calls before the user says anything, and it may make "
            f"{MOST_CALLS}"
        )
        yield "$.user.turns", reason


def _calls(user: User, turn: UserTurn, where: tuple[str | int, ...]) -> Found:
    for number, call in enumerate(turn.calls):
        place = (*where, "calls", number)
        tool = user.tools.get(call.tool)
        if tool is None:
            yield json_path((*place, "tool")), f"`{shown(call.tool)}` is not a tool of this user"
            continue
        schema = tool.get("parameters") or {}
        known = schema.get("properties") or {}
        for name in call.arguments:
            if name not in known and schema.get("additionalProperties") is False:
                reason = f"`{shown(call.tool)}` has no argument `{shown(name)}`"
                yield json_path((*place, "arguments", name)), reason
        for name in schema.get("required") or ():
            if name not in call.arguments:
                reason = f"lacks `{shown(str(name))}`, which `{shown(call.tool)}` requires"
                yield json_path((*place, "arguments")), reason
        if tool.get("effects") and not _asked(user, turn):
            reason = (
                f"`{shown(call.tool)}` changes the world before the agent has asked for anything, "
                "so an agent that does nothing would have it done: say in `when` what the agent "
                "must ask, say or call first (`asks`, `says`, `called`)"
            )
            yield json_path(place), reason
    for name in () if turn.when is None else turn.when.saw:
        if name not in user.tools:
            where_saw = json_path((*where, "when", "saw", name))
            yield where_saw, f"`{shown(name)}` is not a tool of this user"


def _asked(user: User, turn: UserTurn) -> bool:
    """Return whether a turn, or one that it comes after, waits for something of the agent."""
    by_id = {one.id: one for one in user.turns}
    seen: set[str] = set()
    step: UserTurn | None = turn
    while step is not None and step.id not in seen and step.when is not None:
        called = set(step.when.called) - user.tools.keys()
        if step.when.asks or step.when.says or called:
            return True
        seen.add(step.id)
        step = by_id.get(step.when.after or "")
    return False


def _said(user: User, text: str, where: tuple[str | int, ...], answered: set[str]) -> Found:
    for name in facts_in(text):
        if name in user.tools:
            if name not in answered:
                reason = (
                    f"`{{{shown(name)}}}` may have no answer yet: call it in this turn, or wait "
                    "for its answer (`when.saw`)"
                )
                yield json_path(where), reason
            continue
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
