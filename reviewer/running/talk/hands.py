"""The user's own tools: its calls reach the world of the episode and are recorded as the user's.
Authority, budgets and approvals do not apply: those are the agent's."""

from collections.abc import Sequence

from reviewer.running.broker import Parameters
from reviewer.running.memory import copied
from reviewer.running.model import Answer, Call, Observation, World, WorldBroke, WorldGap
from reviewer.running.record import Meter, Recorder
from reviewer.running.talk.faults import FaultWatch
from reviewer.running.talk.phrases import as_text
from reviewer.suite.user import MOST_CALLS

TOO_MANY = f"the simulated user made more than {MOST_CALLS} calls before it said anything"


class Hands:
    """Carries out the tool calls of one attempt's user, and reports the user's errors to `watch`.

    Raises Unrunnable naming `file` for a tool whose parameters are not a JSON Schema.
    """

    def __init__(
        self, world: World, meter: Meter, recorder: Recorder, watch: FaultWatch, file: str
    ) -> None:
        self._world, self._meter = world, meter
        self._recorder, self._watch = recorder, watch
        self.specs = world.user_specs()
        self._parameters = Parameters(self.specs, file)
        self._names = {spec.name for spec in self.specs}
        self.made = 0

    async def carry_out(self, calls: Sequence[Call]) -> list[Observation]:
        """Carry out calls in order. Errors of the world pass through, with the call recorded."""
        return [await self._call(call) for call in calls]

    async def _call(self, call: Call) -> Observation:
        self.made += 1
        if call.tool not in self._names:
            # Not recorded as a tool call: no such tool exists.
            seq = self._recorder.next_seq
            self._recorder.error(f"the simulated user called {call.tool}, which it does not have")
            self._watch.unknown_tool(call.tool, seq)
            content = {"error": f"{call.tool} is not one of your tools"}
            return Observation(call.call_id, call.tool, "error", content)
        call = call._replace(arguments=copied(call.arguments))
        problem = self._parameters.problem(call.tool, call.arguments)
        if call.problem:
            problem = f"the arguments could not be read: {call.problem}"
        if problem is not None:
            self._watch.invalid_call(call.tool, self._recorder.next_seq)
            return self._told(call, Answer("error", {"error": problem}))
        try:
            answer = await self._world.call(call.tool, call.arguments)
        except WorldGap:
            self._told(call, Answer("error", {"error": "no answer to this call is recorded"}))
            raise
        except WorldBroke:
            self._told(call, Answer("error", {"error": "the world broke during this call"}))
            raise
        await self._meter.clock.let_pass(answer.delay_ms)
        seq = self._recorder.next_seq
        if answer.status != "ok":
            self._watch.failed_call(call.tool, seq)
        seen = self._told(call, answer)
        self._watch.see(call, as_text(seen.content), seq)
        return seen

    def _told(self, call: Call, answer: Answer) -> Observation:
        self._recorder.call(
            call.tool,
            call.arguments,
            answer.status,
            answer.content,
            call_id=call.call_id,
            state=answer.state,
            by_user=True,
        )
        return Observation(call.call_id, call.tool, answer.status, answer.content)
