"""An episode's simulated environment, in this process: tools that answer, change and fail as the
episode's `simulator` says. State changes are JSON Merge Patches (RFC 7396).

Each world starts from a deep copy of the episode's initial state, and everything it returns is a
copy too: neither another attempt nor a caller that keeps a returned value can reach its state.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reviewer.running.memory import ByContent, copied
from reviewer.running.model import Answer, ToolSpec, Unrunnable, WorldGap
from reviewer.suite.blanks import answered_meanwhile, blanks_in
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.json_values import (
    Nothing,
    all_at,
    alters,
    at,
    frozen,
    merged,
    path_of,
    same,
)
from reviewer.suite.json_values import (
    Path as Steps,
)
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import start_state_digest
from reviewer.suite.values import EPISODES

UNRECORDED = "not found"
"""The error of a call without a matching case, for a tool with `"unrecorded": "error"`."""

Fault = dict[str, Any]
"""A fault in the form of `reviewer.suite.simulator.Fault`."""


def episode_file(episode: Episode, folder: Path) -> str:
    """Return the name of the episode's file in messages."""
    return f"{folder.name}/{EPISODES}{shown(episode.episode_id, 200)}.json"


def has_world(episode: Episode) -> bool:
    """Return whether an episode, with its toolset, can be run: it has simulated tools, or a
    toolkit, server or container."""
    simulator = episode.simulator or {}
    return any(simulator.get(kind) for kind in ("tools", "toolkit", "server", "container"))


def simulator_of(episode: Episode, file: str) -> dict[str, Any]:
    """Return the episode's simulator. Raises Unrunnable naming `file` when it has none."""
    simulator = episode.simulator or {}
    if not has_world(episode):
        raise Unrunnable(
            f"{file}: $.simulator: is missing: without a simulator this episode can be imported, "
            "not run; give it `simulator.tools`, or a `toolkit`"
        )
    return simulator


_start_digest = ByContent[str](start_state_digest)


class SimulatedWorld:
    """One attempt of an episode whose `simulator` has `tools`.

    `faults` (tool → faults) come before the episode's own. Raises Unrunnable naming `file` for an
    episode without simulated tools, or whose initial state has no RFC 8785 form.
    """

    start_digest: str | None

    def __init__(
        self,
        episode: Episode,
        attempt: int,
        file: str,
        faults: Mapping[str, Sequence[Fault]] | None = None,
    ) -> None:
        simulator = simulator_of(episode, file)
        self._own: dict[str, dict[str, Any]] = simulator.get("tools") or {}
        self._users = episode.user_tools
        self._tools = {**self._own, **self._users}
        self._final = simulator.get("final_state")
        self._state: dict[str, Any] = copied(episode.initial_state)
        self._attempt = attempt
        self._faults = faults or {}
        self._called: Counter[str] = Counter()
        self._answered: Counter[tuple[str, int]] = Counter()
        self._index: dict[tuple[str, str], _Index] = {}
        self._due: dict[str, dict[int, Fault]] = {}
        try:
            self.start_digest = _start_digest(self._state)
        except ContractError as error:
            raise Unrunnable(f"{file}: $.initial_state: {error.reason}") from None

    def specs(self) -> tuple[ToolSpec, ...]:
        return _specs(self._own)

    def user_specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the user's own, which `call` takes too."""
        return _specs(self._users)

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Return the tool's answer. Raises KeyError for a tool that neither side has, and WorldGap
        for a call whose answer was not recorded, where the attempt cannot go on."""
        answer, changed = self.answered(tool, arguments)
        return answer._replace(state=copied(self._state)) if changed else answer

    def answered(self, tool: str, arguments: dict[str, Any]) -> tuple[Answer, bool]:
        """Return the result of `call`, without the state, and whether the call changed the
        state."""
        told = self._tools[tool]
        self._called[tool] += 1
        fault = self._fault(tool, told)
        delay = 0.0 if fault is None else float(fault.get("delay_ms", 0.0))
        if fault is not None and fault["kind"] != "slow":
            return _failed(fault, delay), False
        for condition in told.get("preconditions", ()):
            if not same(condition["equals"], at(self._state, path_of(condition["path"]))):
                return Answer("error", {"error": condition["error"]}, delay), False
        before = self._state
        number, case = self._case(tool, told["responses"], arguments)
        if case.get("error") is not None:
            return Answer("error", {"error": case["error"]}, delay), False
        changes = 0
        for _, effect in self._fitting(tool, "effects", told.get("effects"), arguments):
            changes += alters(self._state, effect["merge"])
            self._state = merged(self._state, effect["merge"])
        content = answered_meanwhile(copied(self._response((tool, number), case)))
        if next(blanks_in(content), None) is not None:
            raise WorldGap(tool)  # the tool's answer is left open in the episode
        # A change by one effect was not undone by another.
        changed = changes == 1 or (changes > 1 and not same(before, self._state))
        return Answer("ok", content, delay), changed

    @property
    def present(self) -> dict[str, Any]:
        """Return a copy of the state."""
        state: dict[str, Any] = copied(self._state)
        return state

    async def state(self) -> dict[str, Any]:
        return self.present

    async def final_state(self) -> Any:
        return final_state_of(self._state, self._final)

    async def close(self) -> None:
        self._state = {}

    def _fault(self, tool: str, told: dict[str, Any]) -> Fault | None:
        if tool not in self._due:
            due = self._due[tool] = {}
            for fault in (*self._faults.get(tool, ()), *told.get("faults", ())):
                attempts = fault.get("attempts")
                if attempts is None or self._attempt in attempts:
                    for number in fault["calls"]:
                        due.setdefault(number, fault)
        return self._due[tool].get(self._called[tool])

    def _fitting(
        self, tool: str, kind: str, told: Any, arguments: dict[str, Any]
    ) -> list[tuple[int, Any]]:
        """Return the cases or effects of a tool that match a call in the present state, with their
        numbers, in order."""
        if (tool, kind) not in self._index:
            self._index[tool, kind] = _Index(told or ())
        return self._index[tool, kind].fitting(arguments, self._state)

    def _case(
        self, tool: str, ways: dict[str, Any], arguments: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Return the number and the case that answers a call in the present state; number -1 is for
        a call without a matching case, or of a tool without cases."""
        if ways.get("match") is None and ways.get("unrecorded") is None:
            return -1, ways
        for number, case in self._fitting(tool, "match", ways.get("match"), arguments):
            return number, case
        if ways.get("unrecorded") == "spoil":
            raise WorldGap(tool)
        if ways.get("unrecorded") == "error":
            return -1, {"error": UNRECORDED}
        return -1, {"fixed": ways.get("otherwise")}

    def _response(self, key: tuple[str, int], ways: dict[str, Any]) -> Any:
        """Return the answer of a case, or of a tool without cases; `key` counts its answers."""
        if ways.get("sequence") is not None:
            place = self._answered[key]
            self._answered[key] += 1
            return ways["sequence"][min(place, len(ways["sequence"]) - 1)]
        if ways.get("state") is not None:
            return {path: _value_at(self._state, path) for path in ways["state"]}
        if ways.get("value_at") is not None:
            return _value_at(self._state, ways["value_at"])
        return ways["value"] if "value" in ways else ways.get("fixed")


def _specs(tools: Mapping[str, dict[str, Any]]) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            name,
            tool.get("description", ""),
            copied(tool.get("parameters", {"type": "object"})),
        )
        for name, tool in tools.items()
    )


class _Index:
    """Cases or effects of a tool, found by the arguments and the state that they require without
    trying all of them."""

    def __init__(self, told: Sequence[dict[str, Any]]) -> None:
        self._told = told
        self._found: dict[tuple[str, ...], dict[Any, dict[tuple[Steps, ...], dict[Any, list[int]]]]]
        self._found = {}
        for number, one in enumerate(told):
            wanted, when = one.get("arguments") or {}, one.get("when") or {}
            values = self._found.setdefault(tuple(wanted), {})
            states = values.setdefault(frozen(list(wanted.values())), {})
            shapes = states.setdefault(tuple(path_of(path) for path in when), {})
            shapes.setdefault(tuple(map(_shape, when.values())), []).append(number)

    def fitting(self, arguments: dict[str, Any], state: Any) -> list[tuple[int, dict[str, Any]]]:
        found: list[int] = []
        for names, values in self._found.items():
            if all(name in arguments for name in names):
                states = values.get(frozen([arguments[name] for name in names]), {})
                for paths, shapes in states.items():
                    found += shapes.get(tuple(_shape(at(state, path)) for path in paths), ())
        told = [(number, self._told[number]) for number in sorted(found)]
        return [
            (number, one)
            for number, one in told
            if _fits(one.get("arguments") or {}, arguments) and all_at(state, one.get("when") or {})
        ]


def _shape(value: Any) -> Any:
    """Return a key that equal values share, with a cheap hash."""
    return (type(value), len(value)) if isinstance(value, dict | list) else value


def final_state_of(state: dict[str, Any], path: str | None) -> Any:
    """Return a copy of the state, or of its value at the simulator's `final_state` (None when it
    does not exist)."""
    return copied(state if path is None else _value_at(state, path))


def _value_at(state: dict[str, Any], path: str) -> Any:
    value = at(state, path_of(path))
    return None if isinstance(value, Nothing) else value


def _fits(wanted: dict[str, Any], arguments: dict[str, Any]) -> bool:
    return all(name in arguments and same(value, arguments[name]) for name, value in wanted.items())


def _failed(fault: Fault, delay: float) -> Answer:
    """Return the answer to a call that never reached its tool."""
    if fault["kind"] == "timeout":
        text = f"no answer within {delay:g} ms" if delay else "no answer"
        return Answer("timeout", {"error": fault.get("message") or text}, delay)
    return Answer("error", {"error": fault.get("message") or "the tool failed"}, delay)
