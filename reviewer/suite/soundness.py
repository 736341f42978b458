"""The check of contracts before a suite is frozen: one that cannot fail, or that cannot be met, is
refused. Pure.

A suite that was frozen earlier keeps working: only `suite check` of what is not frozen, and
`freeze`, ask here. A toolkit's states are its program's, so of a suite with a toolkit only the
names of tools and budgets are checked; of an episode without a world, whose traces are imported,
budgets and whether an attempt that does nothing meets it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.json_values import MISSING, Path, agrees, at, path_of, same
from reviewer.suite.model import RED_TEAM, Budget, Episode
from reviewer.suite.reachable import holds, reachable_states
from reviewer.suite.toolset import Toolset, equipped, simulated
from reviewer.suite.values import TOOLSET_FILE

Found = Iterator[tuple[str, str]]

_MARKS = re.compile(
    r"not (?:this|the|your|an?) (?:agent|assistant)|not (?:yours|for you)\b|\bforbidden\b|"
    r"\bprohibited\b|\boff[- ]limits\b|\b(?:do|must|should|may|can) ?not (?:be )?"
    r"(?:call|use|invoke)|\bnever (?:be )?(?:call|use|invoke)|\bnot allowed\b",
    re.I,
)


def soundness_problems(
    episodes: Mapping[str, Episode], toolset: Toolset | None
) -> Iterator[Problem]:
    """Yield why these episodes (by path) cannot fail or cannot be met, and descriptions of tools
    that say who may call them."""
    whole = {path: equipped(episode, toolset) for path, episode in episodes.items()}
    worlds = {path: one for path, one in whole.items() if one.simulator}
    for path, episode in episodes.items():
        yield from (Problem(path, *each) for each in _budget(episode.budget))
    if toolset is not None or worlds:
        yield from _forbidden(whole, toolset)
        yield from _descriptions(whole, toolset)
    for path, episode in whole.items():
        if path not in worlds:
            yield from (Problem(path, *each) for each in _idle(episode, None))
    for path, episode in worlds.items():
        tools = simulated(episode)
        found = _world(episode, tools) if tools else _listed(episode, toolset)
        yield from (Problem(path, where, reason) for where, reason in found)
        yield from (Problem(path, *each) for each in _own_paths(episodes[path], episode))
    if toolset is not None and worlds:
        yield from _toolset_paths(toolset, list(worlds.values()))


_MOST = {
    "max_steps": (10_000, "calls"),
    "max_timeouts": (10_000, "timeouts in a row"),
    "max_cost_usd": (10_000, "USD"),
    "max_latency_ms": (7 * 24 * 3_600_000, "milliseconds, a week"),
}
"""What no attempt comes near: a budget beyond it fails nobody."""


def _budget(budget: Budget) -> Found:
    for name, (most, unit) in _MOST.items():
        limit = getattr(budget, name)
        if limit is not None and limit > most:
            reason = (
                f"no attempt comes near this budget (more than {most} {unit}), so no attempt can "
                "fail by it: lower or remove it"
            )
            yield f"$.budget.{name}", reason


def _forbidden(episodes: Mapping[str, Episode], toolset: Toolset | None) -> Iterator[Problem]:
    """Yield the forbidden tools that no attempt can try."""
    names = {name for episode in episodes.values() for name in simulated(episode)}
    if toolset is not None:
        names = {tool.name for tool in toolset.tools}
    toolkit = any((episode.simulator or {}).get("toolkit") for episode in episodes.values())
    for path, episode in episodes.items():
        for i, tool in enumerate(episode.tools.forbidden):
            if tool in names:
                continue
            reason = (
                f"forbidden tool `{shown(tool)}` is offered by nobody, so no attempt can fail by it"
            )
            if toolkit and toolset is None:
                reason = (
                    f"nothing says whether the toolkit offers the forbidden tool `{shown(tool)}`"
                )
            way_out = f": list it in {TOOLSET_FILE}"
            yield Problem(path, json_path(("tools", "forbidden", i)), reason + way_out)


def _descriptions(episodes: Mapping[str, Episode], toolset: Toolset | None) -> Iterator[Problem]:
    """Yield the descriptions that tell a candidate which tools it must not call."""
    texts: dict[tuple[str, str], tuple[str, str]] = {}
    for i, tool in enumerate(() if toolset is None else toolset.tools):
        for place, text in _told(tool.description, tool.parameters):
            texts[tool.name, text] = TOOLSET_FILE, json_path(("tools", i, *place))
    for path, episode in episodes.items():
        for name, tool_of in simulated(episode).items():
            told = _told(tool_of.get("description", ""), tool_of.get("parameters") or {})
            for place, text in told:
                where = json_path(("simulator", "tools", name, *place))
                texts.setdefault((name, text), (path, where))
    for (name, text), (file, where) in texts.items():
        mark = _MARKS.search(text)
        if mark and not all(one.tools.lets(name) for one in episodes.values()):
            reason = (
                f"`{shown(mark[0])}` reveals which tool an episode forbids: describe only what "
                "the tool does, as its real environment would"
            )
            yield Problem(file, where, reason)


def _told(description: str, parameters: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield what an agent reads of a tool: its description, and those of its parameters."""
    yield ("description",), description
    for name, part in (parameters.get("properties") or {}).items():
        text = part.get("description") if isinstance(part, dict) else None
        if isinstance(text, str):
            yield ("parameters", "properties", name, "description"), text


def _listed(episode: Episode, toolset: Toolset | None) -> Found:
    """Yield the required tools that a toolkit does not have, as far as the toolset says."""
    names = None if toolset is None else {tool.name for tool in toolset.tools}
    for i, tool in enumerate(episode.tools.required):
        if names is not None and tool not in names:
            reason = f"required tool `{shown(tool)}` is not in {TOOLSET_FILE}: it is never offered"
            yield json_path(("tools", "required", i)), reason


def _world(episode: Episode, tools: Mapping[str, dict[str, Any]]) -> Found:
    yield from _responses(episode, tools)
    exists = _Paths([episode])
    final = (episode.simulator or {}).get("final_state")
    if final is not None and not exists.has(final):
        yield "$.simulator.final_state", _no_path(final)
    open_tools = {name: tool for name, tool in tools.items() if episode.tools.lets(name)}
    open_tools |= episode.user_tools
    states = reachable_states(episode.initial_state, open_tools)
    for i, tool in enumerate(episode.tools.required):
        conditions = tools.get(tool, {}).get("preconditions") or ()
        if states and not any(holds(conditions, state) for state in states):
            reason = f"required tool `{shown(tool)}` always fails: no state meets its preconditions"
            yield json_path(("tools", "required", i)), reason
    end = None if final is None else path_of(final)
    yield from _ends(episode, exists, states, end)
    yield from _idle(episode, end)


def _idle(episode: Episode, final: Path | None) -> Found:
    """Yield a contract that an attempt without a call or a word meets, unless it is there to
    refuse: a negative or a red-team episode, or one that allows no call."""
    expected = episode.expected
    asks = (
        episode.tools.required
        or episode.writes
        or expected.message_contains
        or expected.claims
        or (expected.trajectory and expected.trajectory_match not in (None, "subset"))
    )
    refuses = (
        episode.category == "negative"
        or RED_TEAM in episode.tags
        or (episode.tools.allowed is not None and not episode.tools.allowed)
    )
    if asks or refuses or not _met(episode, *_end(episode.initial_state, final)):
        return
    where, end = "$.tools.required", "no final state is expected"
    if expected.final_state is not UNSET or expected.at_paths:
        part = "state" if expected.state else "absent"
        if expected.final_state is not UNSET:
            part = "final_state"
        where, end = f"$.expected.{part}", "the expected final state is the initial state"
    yield (
        where,
        f"{end}, and no tool or wording is required: an attempt that does nothing passes; require "
        f"one, or tag the episode `{RED_TEAM}` where the contract is to refuse",
    )


def _responses(episode: Episode, tools: Mapping[str, dict[str, Any]]) -> Found:
    """Yield the calls that the contract wants and no tool answers."""
    expected = episode.expected
    for i, write in enumerate(episode.writes):
        if not any(tool in tools for tool in write.verified_by):
            reason = f"write `{shown(write.tool)}` cannot be proven: its proof is not simulated"
            yield json_path(("writes", i, "verified_by")), reason
    matched = expected.trajectory if expected.trajectory_match not in (None, "subset") else ()
    for i, call in enumerate(matched):
        where = json_path(("expected", "trajectory", i))
        if call.tool not in tools:
            yield f"{where}.tool", f"`{shown(call.tool)}` is not simulated: it has no response"
        elif call.arguments is not None and not _answers(tools[call.tool], call.arguments):
            yield where, f"`{shown(call.tool)}` has no response to these arguments"
    for tool, wanted in expected.arguments.items():
        where = json_path(("expected", "arguments", tool))
        if tool not in tools:
            yield where, f"`{shown(tool)}` is not simulated: it has no response"
        elif not _answers(tools[tool], wanted):
            yield where, f"`{shown(tool)}` has no response to these arguments"


def _answers(tool: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a call with the wanted arguments, and any others, can be answered."""
    ways = tool.get("responses") or {}
    if ways.get("match") is None:
        return ways.get("unrecorded") is None
    if "otherwise" in ways:
        return True
    return any(
        all(same(value, wanted.get(name, value)) for name, value in case["arguments"].items())
        for case in ways["match"]
        if case.get("error") is None
    )


def _ends(
    episode: Episode, exists: "_Paths", states: list[dict[str, Any]], final: Path | None
) -> Found:
    """Yield the ends that the contract wants and no attempt can reach."""
    expected = episode.expected
    ends = [_end(state, final) for state in states]
    single: list[bool] = []
    if expected.final_state is not UNSET and ends:
        single.append(any(same(expected.final_state, end) for end, _ in ends))
        if not single[-1]:
            yield "$.expected.final_state", _NOT_PRODUCED
    for text, value in expected.state.items():
        where, path = json_path(("expected", "state", text)), path_of(text)
        if not exists.has(text, final):
            single.append(False)
            yield where, _no_path(text)
        elif ends:
            single.append(any(same(value, at(root, path)) for _, root in ends))
            if not single[-1]:
                yield where, _NOT_PRODUCED
    for i, text in enumerate(expected.absent or ()):
        where, path = json_path(("expected", "absent", i)), path_of(text)
        if not exists.has(text, final):
            yield where, f"{_no_path(text)}, so no attempt can fail by it"
        elif ends:
            single.append(any(at(root, path) is MISSING for _, root in ends))
            if not single[-1]:
                yield where, "every state that an attempt can reach has it: no attempt could pass"
    if ends and all(single) and not any(_met(episode, *end) for end in ends):
        yield (
            "$.expected",
            "each part of the final state can be reached, but never all of them at once",
        )


_NOT_PRODUCED = (
    "neither the initial state nor any effect of a tool that may be called produces this: no "
    "attempt could pass"
)


def _no_path(text: str) -> str:
    return f"`{shown(text)}` does not exist: neither the initial state nor any effect has it"


def _end(state: dict[str, Any], final: Path | None) -> tuple[Any, Any]:
    """Return the final state of a trace that ends in `state`, and where its paths are looked up."""
    end: Any = state if final is None else at(state, final)
    return end, end if isinstance(end, dict | list) else state


def _met(episode: Episode, end: Any, root: Any) -> bool:
    expected = episode.expected
    if expected.final_state is not UNSET and not same(expected.final_state, end):
        return False
    return all(agrees(value, at(root, path_of(text))) for text, value in expected.at_paths.items())


class _Paths:
    """The paths that the states of some of these episodes can have."""

    def __init__(self, episodes: list[Episode]) -> None:
        self._states = [episode.initial_state for episode in episodes]
        self._patched = _Patched()
        for episode in episodes:
            for tool in (*simulated(episode).values(), *episode.user_tools.values()):
                for effect in tool.get("effects") or ():
                    self._patched.add(effect["merge"])

    def has(self, text: str, below: Path | None = None) -> bool:
        """Return whether a state can have this path, alone or `below` another one."""
        return any(self._has(path) for path in (path_of(text), (*(below or ()), *path_of(text))))

    def _has(self, path: Path) -> bool:
        found = any(at(state, path) is not MISSING for state in self._states)
        return found or self._patched.has(path)


class _Patched:
    """What many patches hold at one path, and below it."""

    def __init__(self) -> None:
        self._members: dict[str, _Patched] = {}
        self._lists: list[list[Any]] = []
        self._held = False

    def add(self, value: Any) -> None:
        self._held |= value is not None  # in a patch null takes a member away
        if isinstance(value, dict):
            for name, held in value.items():
                self._members.setdefault(name, _Patched()).add(held)
        elif isinstance(value, list):
            self._lists.append(value)

    def has(self, path: Path) -> bool:
        if not path:
            return self._held
        if isinstance(path[0], int):
            return any(at(one, path) not in (MISSING, None) for one in self._lists)
        return path[0] in self._members and self._members[path[0]].has(path[1:])


def _own_paths(episode: Episode, world: Episode) -> Found:
    """Yield the paths of the episode's own simulated tools that its state cannot have."""
    exists = _Paths([world])
    for root, tools in (("simulator", simulated(episode)), ("user", episode.user_tools)):
        for name, tool in tools.items():
            for where, text in _used_paths(tool):
                if not exists.has(text):
                    yield json_path((root, "tools", name, *where)), _no_path(text)


def _toolset_paths(toolset: Toolset, worlds: list[Episode]) -> Iterator[Problem]:
    """Yield the paths of the toolset's own behavior that no episode's state can have."""
    exists = _Paths(worlds)
    for i, tool in enumerate(toolset.tools):
        for where, text in _used_paths(tool.simulator or {}):
            if not exists.has(text):
                place = json_path(("tools", i, "simulator", *where))
                yield Problem(TOOLSET_FILE, place, _no_path(text))


def _used_paths(tool: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    ways = tool.get("responses") or {}
    for i, text in enumerate(ways.get("state") or ()):
        yield ("responses", "state", i), text
    if ways.get("value_at") is not None:
        yield ("responses", "value_at"), ways["value_at"]
    for i, case in enumerate(ways.get("match") or ()):
        for text in case.get("when") or {}:
            yield ("responses", "match", i, "when", text), text
        if case.get("value_at") is not None:
            yield ("responses", "match", i, "value_at"), case["value_at"]
    for i, effect in enumerate(tool.get("effects") or ()):
        for text in effect.get("when") or {}:
            yield ("effects", i, "when", text), text
    for i, condition in enumerate(tool.get("preconditions") or ()):
        yield ("preconditions", i, "path"), condition["path"]
