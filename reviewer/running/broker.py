"""Every call of a candidate passes here: authority, limits and evidence are kept outside it.

A call is a step whatever becomes of it, and is recorded whatever becomes of it. What the contract
does not allow never reaches the world.
"""

import copy
import json
from typing import Any

from reviewer.running.meter import Meter
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    Brief,
    Call,
    Observation,
    Task,
    Turn,
    World,
)
from reviewer.running.parameters import Parameters
from reviewer.running.record import Recorder
from reviewer.suite.model import Episode
from reviewer.trace.record import Status


class Policy:
    """The approver that is nobody: grants or refuses every call alike."""

    def __init__(self, granted: bool) -> None:
        self._approval = Approval(granted, "policy")

    async def ask(self, request: ApprovalRequest) -> Approval:
        return self._approval


class Broker:
    """Stands between one attempt's candidate and its world.

    `ended` is why the attempt may not go on, once a limit is met (`max_steps`, `max_cost`,
    `max_latency`, `retry_budget`); every call from then on is denied. Raises Unrunnable for a tool
    whose parameters are no JSON Schema, `file` being the episode's.
    """

    def __init__(
        self,
        task: Task,
        world: World,
        approver: Approver,
        meter: Meter,
        recorder: Recorder,
        file: str,
    ) -> None:
        self._task = task
        self._world = world
        self._approver = approver
        self._meter = meter
        self._recorder = recorder
        self._specs = {s.name: s for s in world.specs() if may_call(task.episode, s.name)}
        self._parameters = Parameters(self._specs.values(), file)
        self._steps = 0
        self._streaks: dict[tuple[str, str], int] = {}
        self._longest_streak = 0
        self.ended = ""

    def brief(self) -> Brief:
        """What the candidate is told to begin with."""
        return Brief(self._task.episode.user_request, tuple(self._specs.values()))

    async def answer(self, turn: Turn) -> list[Observation]:
        """Carry out a turn's calls in order. Raises what the world raises."""
        limit = self._task.episode.budget.max_cost_usd
        if limit is not None and self._meter.known_cost_usd() > limit:
            self.ended = "max_cost"
        observations = [await self._call(call) for call in turn.calls]
        allowed = self._task.episode.budget.max_timeouts
        if allowed is not None and not self.ended and self._longest_streak > allowed:
            self.ended = "retry_budget"
        return observations

    def time_left_ms(self) -> float | None:
        """Until max_latency_ms is over (never below 0); None without such a limit."""
        limit = self._task.episode.budget.max_latency_ms
        return None if limit is None else max(0.0, limit - self._meter.elapsed_ms())

    def late(self) -> bool:
        limit = self._task.episode.budget.max_latency_ms
        return limit is not None and self._meter.elapsed_ms() > limit

    async def _call(self, call: Call) -> Observation:
        if not self.ended:
            self.ended = self._limit_met()
        self._steps += 1
        if call.tool not in self._specs:
            return self._refuse(call, "denied", f"{call.tool} is not available")
        if self.ended:
            return self._refuse(call, "denied", f"the attempt has ended: {self.ended}")
        if call.problem:
            problem = f"the arguments could not be read: {call.problem}"
            return self._refuse(call, "error", problem)
        faulty = self._parameters.problem(call.tool, call.arguments)
        if faulty is not None:
            return self._refuse(call, "error", faulty)
        # Its own from here on: whoever made the call may still hold what it was made of.
        call = call._replace(arguments=copy.deepcopy(call.arguments))
        if call.tool not in self._task.episode.tools.approvals:
            return await self._carry_out(call, None)
        approval = await self._ask(call)
        told = {"status": "granted" if approval.granted else "refused", "by": approval.by}
        if not approval.granted:
            return self._refuse(call, "denied", "approval refused", told)
        return await self._carry_out(call, told)

    def _limit_met(self) -> str:
        steps = self._task.episode.budget.max_steps
        if steps is not None and self._steps >= steps:
            return "max_steps"
        return "max_latency" if self.late() else ""

    async def _ask(self, call: Call) -> Approval:
        arguments = self._recorder.mask.masked(call.arguments)
        seq = self._recorder.next_seq
        since = self._meter.clock.now_ms()
        try:
            request = ApprovalRequest(self._task.slot, seq, call.tool, arguments)
            return await self._approver.ask(request)
        finally:
            self._meter.leave_out(self._meter.clock.now_ms() - since)

    async def _carry_out(self, call: Call, approval: dict[str, Any] | None) -> Observation:
        since = self._meter.elapsed_ms()
        answer = await self._world.call(call.tool, call.arguments)
        left = self.time_left_ms()
        # One more millisecond, so that an attempt that runs out of time is seen to be over it.
        delay = answer.delay_ms if left is None else min(answer.delay_ms, left + 1)
        await self._meter.clock.let_pass(delay)
        self._recorder.call(
            call.tool,
            call.arguments,
            answer.status,
            answer.content,
            call_id=call.call_id,
            approval=approval,
            state=answer.state,
            latency_ms=self._meter.elapsed_ms() - since,
        )
        self._count_timeout(call, answer.status)
        return Observation(call.call_id, call.tool, answer.status, answer.content)

    def _refuse(
        self, call: Call, status: Status, error: str, approval: dict[str, Any] | None = None
    ) -> Observation:
        content = {"error": error}
        self._recorder.call(
            call.tool,
            call.arguments,
            status,
            content,
            call_id=call.call_id,
            approval=approval,
        )
        return Observation(call.call_id, call.tool, status, content)

    def _count_timeout(self, call: Call, status: Status) -> None:
        """Timeouts in a row of one very call, as the timeout gate will count them."""
        if status not in ("timeout", "ok"):
            return
        recorded = self._recorder.mask.masked(call.arguments)
        key = call.tool, json.dumps(recorded, sort_keys=True)
        if status == "timeout":
            self._streaks[key] = self._streaks.get(key, 0) + 1
            self._longest_streak = max(self._longest_streak, self._streaks[key])
        else:
            self._streaks.pop(key, None)


def may_call(episode: Episode, tool: str) -> bool:
    """Whether the contract lets a candidate call this tool at all."""
    tools = episode.tools
    return tool not in tools.forbidden and (tools.allowed is None or tool in tools.allowed)
