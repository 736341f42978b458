"""The conversation of one attempt: the agent's messages go to the user, and its answers back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from reviewer.running.model import Approver, Observation, Task, World
from reviewer.running.prices import Usage
from reviewer.running.record import Meter, Recorder, number
from reviewer.running.talk.faults import FaultWatch, spoils
from reviewer.running.talk.hands import TOO_MANY, Hands
from reviewer.running.talk.model import Heard, Reply, TalkUser, UserFailure
from reviewer.running.talk.phrases import as_text
from reviewer.running.world import episode_file
from reviewer.suite.user import MOST_CALLS, User
from reviewer.suite.user_check import user_of

USER_ERROR = "user_error"
"""The termination of an attempt that its simulated user spoiled."""

TOO_LONG_A_TALK = "the user has said all the messages that the episode allows"


class Talk:
    """The user of one attempt and the conversation. The user's time is excluded from the meter."""

    def __init__(
        self,
        task: Task,
        user: User,
        speaker: TalkUser,
        world: World,
        meter: Meter,
        recorder: Recorder,
    ) -> None:
        self._user, self._speaker = user, speaker
        self._world, self._meter, self._recorder = world, meter, recorder
        tools = [spec.name for spec in task.offer.tools]
        self._watch = FaultWatch(user, task.episode.user_request, tools)
        file = episode_file(task.episode, Path(task.folder))
        self._hands = Hands(world, meter, recorder, self._watch, file)
        self._saw: dict[str, str] = {}
        self._said: list[str] = []
        self._called: set[str] = set()
        self._calls = 0
        self._turns = 0
        self._last_turn: str | None = None
        self._replies: list[Reply] = []

    async def opened(self, task: Task) -> Task | None:
        """Return the task with the user's first message as its request, where the episode has none;
        None where the user cannot answer."""
        if task.episode.user_request:
            return task
        reply = await self._spoken()
        if reply is None or reply.message is None:
            return None
        return replace(task, episode=replace(task.episode, user_request=reply.message))

    def act(self, message: str | None, observations: Sequence[Observation]) -> str | None:
        """Process the agent's message beside its calls, and their answers. Return why the
        conversation ends with them, if it does."""
        if message:
            self._hear(message)
        ended = None
        for seen in observations:
            self._calls += 1
            self._watch.act()
            if seen.status == "ok":
                self._called.add(seen.tool)
                ended = "transfer" if seen.tool in self._user.end.on_tool else ended
        return ended

    async def answer(self, message: str) -> Reply | str:
        """Return the user's reply to a message of the agent; or, as text, why the conversation ends
        without a reply: `completed` where the message was to be the agent's last."""
        self._hear(message)
        if self._last_turn in self._user.end.on_final_after:
            return "completed"
        if self._turns >= self._user.end.max_turns:
            return "max_turns"
        reply = await self._spoken()
        return USER_ERROR if reply is None else reply

    async def _spoken(self) -> Reply | None:
        """Return the user's reply, recorded, after the calls that it makes first; None where it
        cannot answer."""
        since = self._meter.clock.now_ms()
        try:
            reply = await self._acted()
        except UserFailure as failure:
            self._recorder.error(str(failure))
            self._watch.fail("user:fault", self._recorder.next_seq - 1)
            return None
        finally:
            self._meter.leave_out(self._meter.clock.now_ms() - since)
        if reply is None:
            return None
        self._last_turn = reply.turn
        if reply.message is None and reply.ended is None:
            self._watch.fail("user:empty", None)
            return None
        seq = None
        if reply.message is not None:
            seq = self._recorder.next_seq
            self._recorder.user_message(reply.message, self._user.kind == "person")
            self._turns += 1
        self._watch.say(reply, seq, self._calls)
        return reply

    async def _acted(self) -> Reply | None:
        """Let the user make its calls until it says something; return None where it makes too
        many."""
        made: tuple[Observation, ...] = ()
        left = MOST_CALLS
        while True:
            reply = await self._speaker.answer(await self._heard(made))
            self._replies.append(reply)
            if not reply.calls:
                return reply
            made = tuple(await self._hands.carry_out(reply.calls[:left]))
            left -= len(reply.calls)
            for seen in made:
                self._saw[seen.tool] = as_text(seen.content)
                if seen.status == "ok":
                    self._called.add(seen.tool)
            if left < 0:
                self._recorder.error(TOO_MANY)
                self._watch.too_many_calls()
                return None

    async def _heard(self, made: tuple[Observation, ...]) -> Heard:
        state: dict[str, Any] = {}
        if self._said and self._user.kind == "scripted":
            state = await self._world.state()
        said, called = tuple(self._said), frozenset(self._called)
        return Heard(said, called, state, made, dict(self._saw))

    def told(self, termination: str) -> tuple[str, dict[str, Any]]:
        """Return how the attempt ended once the user's faults are counted, and the facts about the
        user for the record's `source`: `user`, and for a model its usage (`simulated_user`)."""
        faults = self._watch.found()
        if termination == USER_ERROR or spoils(faults):
            termination = USER_ERROR
        listed = [fault._asdict() for fault in faults]
        about = {"kind": self._user.kind, "messages": self._turns, "faults": listed}
        if self._user.tools:
            about["calls"] = self._hands.made
        if self._user.kind != "model":
            return termination, {"user": about}
        costs = [reply.cost_usd for reply in self._replies]
        known = [cost for cost in costs if cost is not None]
        spent = {
            "model_calls": len(costs),
            "usage": _summed([reply.usage for reply in self._replies]),
            "cost_usd": number(round(sum(known), 9)) if len(known) == len(costs) else None,
        }
        return termination, {"user": about, "simulated_user": spent}

    async def close(self) -> None:
        await self._speaker.close()

    def _hear(self, message: str) -> None:
        self._said.append(message)
        self._watch.act()
        self._watch.hear(message)


def _summed(usages: Sequence[Usage | None]) -> dict[str, int | None] | None:
    """Return the tokens of all answers; a sum is None as soon as one answer states none."""
    if not any(usage is not None for usage in usages):
        return None
    sums: dict[str, int | None] = {}
    for name in Usage._fields:
        parts = [getattr(usage or Usage(), name) for usage in usages]
        sums[name] = None if None in parts else sum(parts)
    return sums


def talk_of(
    task: Task, meter: Meter, recorder: Recorder, world: World, person: Approver | None = None
) -> Talk | None:
    """Return the conversation of an attempt, None for an episode without a user. `person` plays the
    user of an episode that needs one. Raises Unrunnable."""
    user = user_of(task.episode)
    if user is None:
        return None
    speaker = _speaker(task, user, world, recorder, person)
    return Talk(task, user, speaker, world, meter, recorder)


def _speaker(
    task: Task, user: User, world: World, recorder: Recorder, person: Approver | None
) -> TalkUser:
    if user.kind == "scripted":
        from reviewer.running.talk.scripted import ScriptedUser

        return ScriptedUser(user)
    if user.kind == "person":
        from reviewer.running.talk.person import PersonUser

        return PersonUser(task, user, recorder, person)
    from reviewer.running.talk.endpoint import EndpointUser

    return EndpointUser(task, user, world.user_specs())
