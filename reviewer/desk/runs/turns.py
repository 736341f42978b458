"""A person who plays the user of an episode: whether somebody is present, and what they are
shown."""

from typing import Literal

from msgspec.structs import replace

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunOrder, TurnEnd, TurnView
from reviewer.exit_codes import ExitCode
from reviewer.running.model import TurnRequest
from reviewer.running.talk.phrases import asks_to_confirm
from reviewer.suite.errors import shown
from reviewer.suite.model import Suite

ENDS: dict[TurnEnd, Literal["user_stop", "user_gave_up"] | None] = {
    "go on": None, "satisfied": "user_stop", "give up": "user_gave_up"
}  # fmt: skip


def turn_view(number: int, request: TurnRequest) -> TurnView:
    """Return a turn as it is shown to the person."""
    user = request.user
    last = next((text for by_agent, text in reversed(request.talk) if by_agent), "")
    return TurnView(
        number=number,
        trace_id=request.slot.trace_id,
        seq=request.seq,
        talk=request.talk,
        goals=tuple(goal.asks for goal in user.goals),
        facts=tuple((name, str(fact.value), fact.tell) for name, fact in user.facts.items()),
        persona=user.persona or "",
        style=user.style or "",
        left=request.left,
        confirms=asks_to_confirm(last),
    )


def with_person(order: RunOrder, suite: Suite) -> RunOrder:
    """Return the request, with one attempt at a time where a person plays a user. Raises DeskError
    where nobody is present to play."""
    wanted = [
        one for one in suite.episodes if not order.episodes or one.episode_id in order.episodes
    ]
    played = [one.episode_id for one in wanted if (one.user or {}).get("kind") == "person"]
    if not played:
        return order
    told = f"episode {shown(played[0])}: a person plays its user ($.user.kind)"
    if not order.person:
        raise DeskError(
            f"{told}, and nobody can be asked here",
            "run it in the workstation: start reviewer and press the key for a run",
            "--episode E names episodes whose user is a script or a model",
            exit_code=ExitCode.USAGE,
        )
    if order.workers or order.executor:
        raise DeskError(
            f"{told}, and that person is asked in this process",
            "leave --executor out" if order.executor else "--workers 0",
            exit_code=ExitCode.USAGE,
        )
    return replace(order, jobs=1)
