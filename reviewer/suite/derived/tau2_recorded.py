"""The world of tau2-bench tasks, made from the answers of tools in recorded simulations. Pure.

All simulations of a domain start from one database, so what one of them read applies to all. A
state of the database is known by the writes that led to it; two states are the same where the
benchmark compared both with the state that a task requires, and found them equal to it. A call that
was not recorded in the present state is a gap: the real tool's answer is not known.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.suite.derived import NoContract
from reviewer.suite.derived.tau2 import DATABASE, HANDS_OVER, Action
from reviewer.suite.scaffold.calls import inferred_schema

START = "start"
FIXED = {HANDS_OVER: "Transfer successful", "think": ""}
"""Tools with a fixed answer, whatever the database contains (sierra-research/tau2-bench, MIT)."""
PURE = frozenset({"calculate"})
"""Tools whose answer depends only on their arguments."""

Key = tuple[str, str]
"""A tool, and the arguments of a call as canonical JSON."""

Cases = Mapping[Key, Mapping[str, "Act"]]
"""Call → state → its answer there."""


class Act(NamedTuple):
    """A call of the agent with its answer; `failed` says that the tool refused it. `known` is False
    where no complete answer is recorded."""

    tool: str
    arguments: dict[str, Any]
    answer: Any
    failed: bool = False
    known: bool = True


class Simulation(NamedTuple):
    """One recorded attempt at a task. `matched` is the benchmark's result of comparing the database
    at its end with the required one; None where it did not compare."""

    task_id: str
    acts: tuple[Act, ...]
    matched: bool | None = None


class Definition(NamedTuple):
    """A tool as the agent was offered it."""

    description: str
    parameters: dict[str, Any]


class Recorded:
    """The world shown by simulations of one domain. `writes` are its tools that write, any other
    reads; `references` are the calls that tasks require, by the task's id."""

    def __init__(
        self,
        simulations: Iterable[Simulation],
        writes: frozenset[str],
        definitions: Mapping[str, Definition],
        references: Mapping[str, Sequence[Action]],
    ) -> None:
        self._writes, self._definitions = writes, definitions
        self._same: dict[str, str] = {}
        self._moves: dict[tuple[str, Key], str] = {}
        self._given: dict[Key, dict[str, Any]] = {}
        self._answers: dict[tuple[Key, str], list[Act]] = {}
        self._ends: dict[str, list[tuple[str, bool]]] = {}
        self._calls: dict[str, list[dict[str, Any]]] = {}
        self.simulations = 0
        self.unread = 0
        """Number of simulations with a write whose answer is not recorded: what came after it is
        not used."""
        for simulation in simulations:
            self.simulations += 1
            self._take(simulation)
        self._settle(references)
        self.cases, self.moves = self._known()
        self.start: dict[str, Any] = {DATABASE: START}
        self.tools = frozenset((*self._calls, *writes, *definitions))

    def _take(self, simulation: Simulation) -> None:
        state = START
        for act in simulation.acts:
            key = key_of(act.tool, act.arguments)
            self._given[key] = act.arguments
            self._calls.setdefault(act.tool, []).append(act.arguments)
            writes = act.tool in self._writes
            if act.known:
                self._answers.setdefault((key, state), []).append(act)
            elif writes:
                self.unread += 1
                return
            if writes and not act.failed:
                state = self._moves.setdefault((state, key), _after(state, key))
        if simulation.matched is not None:
            self._ends.setdefault(simulation.task_id, []).append((state, simulation.matched))

    def _settle(self, references: Mapping[str, Sequence[Action]]) -> None:
        """Merge the states that the benchmark found equal to the end state of a task's reference
        trajectory, and those that the same write leads to from equal ones."""
        joined = True
        while joined:
            joined = False
            led: dict[tuple[str, Key], str] = {}
            for (state, key), after in self._moves.items():
                other = led.setdefault((self._one(state), key), after)
                joined = self._join(other, after) or joined
            known = self._known()
            for task_id, ends in self._ends.items():
                wanted = [state for state, matched in ends if matched]
                end, missing = _walk(references.get(task_id, ()), *known, self._writes)
                if task_id in references and missing is None:
                    wanted.append(end)
                for other in wanted[1:]:
                    joined = self._join(wanted[0], other) or joined

    def _join(self, one: str, other: str) -> bool:
        first, second = sorted((self._one(one), self._one(other)), key=lambda s: (s != START, s))
        self._same[second] = first
        return first != second

    def _one(self, state: str) -> str:
        while self._same.get(state, state) != state:
            state = self._same[state]
        return state

    def end_of(self, actions: Sequence[Action], task_id: str) -> str:
        """Return the state that the reference trajectory leads to. Raises NoContract for a call in
        it whose answer was not recorded, and for simulations that contradict it."""
        state, missing = _walk(actions, self.cases, self.moves, self._writes)
        if missing is not None:
            raise NoContract(
                f"its reference trajectory calls {missing.tool} with "
                f"{key_of(missing.tool, missing.arguments)[1]}"
                + (", after its writes" if state != START else "")
                + ": no simulation recorded what that answers"
            )
        ends = self._ends.get(task_id, ())
        if any(self._one(end) == state and not matched for end, matched in ends):
            raise NoContract(
                "a simulation made the writes of its reference trajectory, and the benchmark says "
                "that its database is not as wanted"
            )
        return state

    def _known(self) -> tuple[Cases, dict[tuple[str, Key], str]]:
        """Return the answer of each call in each state ("" for any), where calls that were answered
        differently in one state have none; and the state that each write leads to."""
        met: dict[Key, dict[str, list[Act]]] = {}
        for (key, state), acts in self._answers.items():
            place = "" if key[0] in PURE else self._one(state)
            met.setdefault(key, {}).setdefault(place, []).extend(acts)
        cases = {
            key: {state: acts[0] for state, acts in states.items() if not _differ(acts)}
            for key, states in met.items()
        }
        self.answers = sum(len(states) for states in cases.values())
        self.contradictory = sum(len(states) for states in met.values()) - self.answers
        moves = {
            (self._one(before), key): self._one(after)
            for (before, key), after in self._moves.items()
        }
        return cases, moves

    def toolset(self) -> dict[str, Any]:
        """Return toolset.json: every tool that was offered, was called or writes."""
        return {
            "schema": "reviewer/toolset@1",
            "tools": [
                {
                    "name": name,
                    "description": told.description,
                    "parameters": told.parameters,
                    "simulator": self._behavior(name),
                }
                for name in sorted(self.tools)
                for told in (self._told(name),)
            ],
        }

    def _told(self, name: str) -> Definition:
        if name in self._definitions:
            return self._definitions[name]
        words = name.replace("_", " ")
        schema = inferred_schema(self._calls.get(name, []))
        if schema["properties"]:
            schema["additionalProperties"] = False
        return Definition(f"{words[:1].upper()}{words[1:]}.", schema)

    def _behavior(self, name: str) -> dict[str, Any]:
        if name in FIXED:
            return {"responses": {"fixed": FIXED[name]}}
        match = [
            {
                "arguments": self._given[key],
                **({"when": {DATABASE: state}} if state else {}),
                **({"error": _text(act.answer)} if act.failed else {"value": act.answer}),
            }
            for key in sorted(self.cases)
            if key[0] == name
            for state, act in sorted(self.cases[key].items())
        ]
        if not match:
            return {"responses": {"unrecorded": "spoil"}}
        # The first matching case answers, and a case also matches calls with further arguments.
        match.sort(key=lambda case: -len(case["arguments"]))
        told: dict[str, Any] = {"responses": {"match": match, "unrecorded": "spoil"}}
        effects = [
            {
                "arguments": self._given[key],
                "when": {DATABASE: state},
                "merge": {DATABASE: after},
            }
            for (state, key), after in sorted(self.moves.items())
            if key[0] == name and state in self.cases.get(key, {})
        ]
        return {**told, "effects": effects} if effects else told


def _walk(
    actions: Sequence[Action],
    cases: Cases,
    moves: Mapping[tuple[str, Key], str],
    writes: frozenset[str],
) -> tuple[str, Action | None]:
    """Return the state that calls lead to, and the first of them that was not recorded."""
    state = START
    for action in actions:
        if action.tool in FIXED:
            continue
        key = key_of(action.tool, action.arguments)
        found = cases.get(key, {}).get("" if action.tool in PURE else state)
        if found is None:
            return state, action
        if action.tool in writes and not found.failed:
            state = moves[state, key]
    return state, None


def key_of(tool: str, arguments: Mapping[str, Any]) -> Key:
    """Return what distinguishes a call."""
    return tool, json.dumps(_plain(arguments), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a value with numbers in one form, as the simulator compares them."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _plain(held) for name, held in value.items()}
    return [_plain(held) for held in value] if isinstance(value, list) else value


def _after(state: str, key: Key) -> str:
    """Return the name of the state that a write leads to."""
    told = json.dumps([state, *key]).encode("utf-8", "surrogatepass")
    return f"after {key[0]} {hashlib.sha256(told).hexdigest()[:12]}"


def _differ(acts: Sequence[Act]) -> bool:
    first = acts[0]
    told = key_of("", {"answer": first.answer})
    return any(
        act.failed != first.failed or key_of("", {"answer": act.answer}) != told for act in acts
    )


def _text(answer: Any) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return text.removeprefix("Error: ") or "the tool failed"
