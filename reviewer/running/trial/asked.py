"""The user of a trial: it makes only the calls of its own tools that a trial agent asks for. How
the episode's own user is led to them is not tested."""

import json
from typing import Any

from reviewer.running.model import Call, Observation, Task, World
from reviewer.running.record import Meter, Recorder
from reviewer.running.talk.model import Heard, Reply
from reviewer.running.talk.talk import Talk
from reviewer.suite.user import MOST_TURNS, TalkEnd, User

_ASKS = "Please do this: "


def asking(tool: str, arguments: dict[str, Any]) -> str:
    """Return the message by which a trial agent asks the user for a call."""
    return _ASKS + json.dumps([tool, arguments], ensure_ascii=False)


def answered(message: str) -> Observation:
    """Return the answer to the user's call from its message."""
    tool, status, content = json.loads(message)
    return Observation("", tool, status, content)


class _AskedUser:
    """The user of one attempt."""

    async def answer(self, heard: Heard) -> Reply:
        if heard.answers:
            (seen,) = heard.answers
            return Reply(json.dumps([seen.tool, seen.status, seen.content], ensure_ascii=False))
        tool, arguments = json.loads(heard.last.removeprefix(_ASKS))
        return Reply(calls=(Call(f"user_call_{len(heard.said)}", tool, arguments),))

    async def close(self) -> None:
        return None


def trial_talk(task: Task, world: World, meter: Meter, recorder: Recorder) -> Talk | None:
    """Return the conversation of a trial agent's attempt; None where the user has no tools, so that
    nothing can be asked of it."""
    tools = task.episode.user_tools
    if not tools:
        return None
    user = User(kind="scripted", tools=tools, end=TalkEnd(max_turns=MOST_TURNS))
    return Talk(task, user, _AskedUser(), world, meter, recorder)
