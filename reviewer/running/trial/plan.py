"""A plan that meets the contract: calls in order, and a final message.

The plan is made from the contract and the simulator's description of its tools; nothing is called.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from reviewer.gates.acts import acts_of
from reviewer.gates.compiled import compile_contract
from reviewer.gates.model import Finding
from reviewer.gates.state import check_wording
from reviewer.running.model import ToolSpec
from reviewer.suite.json_values import agrees, all_at, at, merged, path_of, same
from reviewer.suite.model import Episode
from reviewer.trace.validate import decode

NOTHING_ASKED = "Here is the answer."
"""The final message where the contract requires no words."""

_MOST_WRITES = 8
"""Most calls beyond the required ones that may be added to reach the end that the contract
requires."""


class Step(NamedTuple):
    """A call to be made: exactly `whole` where the contract gives the arguments; `proves` is the
    write that it reads back, `effect` the arguments of the effect that it should have."""

    tool: str
    whole: dict[str, Any] | None = None
    proves: str | None = None
    effect: dict[str, Any] | None = None


def plan_of(episode: Episode, tools: Mapping[str, ToolSpec]) -> list[Step]:
    """Return the calls that meet the contract, as far as contract and simulator determine them."""
    free = episode.tools.order == "any" and not episode.expected.trajectory
    steps = _required(episode)
    proofs = {tool for write in episode.writes for tool in write.verified_by}
    if free:
        steps.sort(key=lambda step: step.tool in proofs)
    world = _World(episode)
    steps = world.with_effects(steps, proofs, free)
    return _proven(episode, steps, tools)


def _required(episode: Episode) -> list[Step]:
    expected = episode.expected
    steps = [Step(call.tool, call.arguments) for call in expected.trajectory]
    named = {step.tool for step in steps}
    if steps and episode.tools.order in ("any", "superset"):
        return steps + [Step(tool) for tool in episode.tools.required if tool not in named]
    return steps or [Step(tool) for tool in episode.tools.required]


def _proven(episode: Episode, steps: list[Step], tools: Mapping[str, ToolSpec]) -> list[Step]:
    """Return the steps with a proof after every write, each assigned to its write."""
    verifiers = {write.tool: write.verified_by for write in episode.writes}
    found = list(steps)
    for place, step in enumerate(steps):
        by = verifiers.get(step.tool, ())
        later = range(place + 1, len(found))
        proof = next((n for n in later if found[n].tool in by and found[n].proves is None), None)
        if proof is not None:
            found[proof] = found[proof]._replace(proves=step.tool)
        elif by:
            found.append(Step(_offered(by, tools), proves=step.tool))
    if episode.writes and not any(step.tool in by for by in verifiers.values() for step in found):
        found.append(Step(_offered(episode.writes[0].verified_by, tools)))
    return found


def _offered(names: Sequence[str], tools: Mapping[str, ToolSpec]) -> str:
    return next((name for name in names if name in tools), names[0])


class _World:
    """The episode's simulated tools, as far as a plan needs them; without any, it returns no
    effects."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        simulator = episode.simulator or {}
        own: dict[str, dict[str, Any]] = simulator.get("tools") or {}
        self._users = episode.user_tools
        self._tools = {**own, **self._users}
        self._final = simulator.get("final_state")

    def with_effects(self, steps: list[Step], proofs: set[str], free: bool) -> list[Step]:
        """Return the steps in an order in which their preconditions hold (if the order is `free`),
        with their required effects, and with the calls of other allowed tools that lead to the
        required end, or to what these calls need."""
        state = self._episode.initial_state
        waiting, done = list(steps), list[Step]()
        while waiting:
            place = (
                next((n for n, step in enumerate(waiting) if self._holds(step.tool, state)), 0)
                if free
                else 0
            )
            step = waiting.pop(place)
            if step.whole is None:
                effect = self._effect(step, state)
                if effect is None:
                    effect = self._opening(step.tool, [one.tool for one in waiting], state)
                step = step._replace(effect=effect)
            state = self._after(step, state)
            done.append(step)
        for _ in range(_MOST_WRITES if not self._met(state) else 0):
            better = self._nearer(state) or self._first(state)
            if better is None:
                break
            at_proof = next((n for n, step in enumerate(done) if step.tool in proofs), len(done))
            done.insert(at_proof if free else len(done), better)
            state = self._after(better, state)
            if self._met(state):
                break
        return done

    def _wanted(self) -> Iterator[tuple[Any, Any]]:
        expected = self._episode.expected
        if expected.final_state is not UNSET:
            yield None, expected.final_state
        yield from expected.at_paths.items()

    def _hits(self, state: Any) -> int:
        """Return how many of the required values the state has."""
        final = state if self._final is None else at(state, path_of(self._final))
        held = 0
        for path, value in self._wanted():
            place = final if isinstance(final, dict | list) else state
            held += agrees(value, final if path is None else at(place, path_of(path)))
        return held

    def _met(self, state: Any) -> bool:
        return self._hits(state) == sum(1 for _ in self._wanted())

    def _holds(self, tool: str, state: Any) -> bool:
        conditions = self._tools.get(tool, {}).get("preconditions", ())
        return all(same(one["equals"], at(state, path_of(one["path"]))) for one in conditions)

    def _effect(self, step: Step, state: Any) -> dict[str, Any] | None:
        """Return the arguments of the tool's effect that leads closest to the required end."""
        if step.whole is not None:
            return None
        effects = self._tools.get(step.tool, {}).get("effects", ())
        bound = self._episode.expected.arguments.get(step.tool, {})
        best, most = None, self._hits(state)
        for effect in effects:
            given = effect.get("arguments") or {}
            if any(name in bound and not same(bound[name], part) for name, part in given.items()):
                continue
            if not all_at(state, effect.get("when") or {}):
                continue
            hits = self._hits(merged(state, effect["merge"]))
            if hits > most:
                best, most = dict(given), hits
        return best

    def _after(self, step: Step, state: Any) -> Any:
        if not self._holds(step.tool, state):
            return state
        bound = self._episode.expected.arguments.get(step.tool, {})
        known = step.whole if step.whole is not None else {**bound, **(step.effect or {})}
        found = state
        for effect in self._tools.get(step.tool, {}).get("effects", ()):
            given = effect.get("arguments") or {}
            fits = all(name in known and same(part, known[name]) for name, part in given.items())
            if fits and all_at(found, effect.get("when") or {}):
                state = merged(state, effect["merge"])
        return state

    def _lets(self, tool: str) -> bool:
        """Return whether a plan may contain this call: the agent's own, or one that it asks for."""
        return tool in self._users or self._episode.tools.lets(tool)

    def _nearer(self, state: Any) -> Step | None:
        """Return a call of an allowed tool after which more of the required end is reached."""
        for name in self._tools:
            if self._lets(name) and self._holds(name, state):
                effect = self._effect(Step(name), state)
                if effect is not None:
                    return Step(name, effect=effect)
        return None

    def _first(self, state: Any) -> Step | None:
        """Return a call of an allowed tool after which another one, which leads closer to the
        required end, is no longer blocked by its preconditions."""
        allowed = [name for name in self._tools if self._lets(name)]
        wanted = [
            name
            for name in allowed
            if not self._holds(name, state) and self._effect(Step(name), state) is not None
        ]
        for name in allowed:
            if self._holds(name, state):
                effect = self._opening(name, wanted, state)
                if effect is not None:
                    return Step(name, effect=effect)
        return None

    def _opening(self, tool: str, others: Sequence[str], state: Any) -> dict[str, Any] | None:
        """Return the arguments of the tool's effect that makes the preconditions of one of the
        others hold."""
        closed = [name for name in others if not self._holds(name, state)]
        for effect in self._tools.get(tool, {}).get("effects", ()) if closed else ():
            after = merged(state, effect["merge"])
            if any(self._holds(name, after) for name in closed):
                return dict(effect.get("arguments") or {})
        return None


def message_of(episode: Episode) -> str:
    """Return a final message that meets the contract's wording, the first of a few that does."""
    expected = episode.expected
    said = [*expected.message_contains, *(claim.says[0] for claim in expected.claims)]
    last = [*expected.message_contains, *(claim.says[-1] for claim in expected.claims)]
    tried = [
        *([expected.message_reference] if expected.message_reference else []),
        ". ".join(said) + "." if said else NOTHING_ASKED,
        "\n".join(said),
        ", ".join(said),
        ". ".join(last) + "." if last else "",
    ]
    return next((text for text in tried if text and meets_wording(episode, text)), tried[0])


def meets_wording(episode: Episode, text: str) -> bool:
    """Return whether the contract's wording lets a final message pass."""
    raw = {
        "schema": "reviewer/trace@1",
        "episode_id": episode.episode_id,
        "candidate_id": "trial",
        "attempt": 1,
        "events": [{"seq": 1, "kind": "message", "message": text, "actor": "agent"}],
        "final_state": None,
        "final_message": text,
        "cost_usd": 0,
        "latency_ms": 0,
    }
    found: list[Finding] = []
    acts = acts_of(decode(json.dumps(raw).encode()))
    check_wording(compile_contract(episode), acts, found)
    return not found
