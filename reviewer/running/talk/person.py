"""A user that a person plays, at the screen of the workstation."""

from reviewer.running.masking import Mask, secrets_of
from reviewer.running.model import Approver, Task, TurnRequest
from reviewer.running.record import Recorder
from reviewer.running.talk.model import Heard, Reply, UserFailure
from reviewer.suite.user import User

LEFT = "the person who played the user left the talk"


class PersonUser:
    """The user of one attempt. The conversation is shown to the person masked, as in the record."""

    def __init__(self, task: Task, user: User, recorder: Recorder, person: Approver | None) -> None:
        self._slot, self._user = task.slot, user
        self._recorder, self._person = recorder, person
        self._mask = Mask(task.redaction, secrets_of(task.candidate))  # the record counts its own
        first = task.episode.user_request
        self._talk: list[tuple[bool, str]] = [(False, first)] if first else []
        self._heard = self._sent = 0

    async def answer(self, heard: Heard) -> Reply:
        self._talk += [(True, self._shown(text)) for text in heard.said[self._heard :]]
        self._heard = len(heard.said)
        left = self._user.end.max_turns - self._sent
        request = TurnRequest(
            self._slot, self._recorder.next_seq, self._user, tuple(self._talk), left
        )
        said = None if self._person is None else await self._person.speak(request)
        if said is None:
            raise UserFailure(LEFT)
        message = (said.message or "").strip() or None
        if message is not None:
            self._sent += 1
            self._talk.append((False, self._shown(message)))
        return Reply(message, said.ended)

    def _shown(self, text: str) -> str:
        return str(self._mask.masked(text))

    async def close(self) -> None:
        return None
