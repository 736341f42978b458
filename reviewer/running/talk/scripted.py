"""A user that says its scripted turns: each time the first whose conditions hold."""

from collections import Counter

from reviewer.running.model import Call
from reviewer.running.talk.model import Ended, Heard, Reply
from reviewer.running.talk.phrases import asks_one_of, asks_to_confirm, says_one_of
from reviewer.suite.json_values import all_at
from reviewer.suite.user import Condition, User, UserCall, UserTurn, filled


class ScriptedUser:
    """The scripted user of one attempt: the same messages of an agent get the same answers."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._values = {name: fact.value for name, fact in user.facts.items()}
        self._said: Counter[str] = Counter()
        self._unfit = 0
        self._calls = 0
        self._begun: UserTurn | None = None

    async def answer(self, heard: Heard) -> Reply:
        begun, self._begun = self._begun, None
        if begun is not None and begun.say is not None:
            return self._says(begun, begun.say, heard)
        for turn in self._user.turns:
            if self._said[turn.id] < turn.times and self._holds(turn.when, heard):
                self._said[turn.id] += 1
                if turn.calls:
                    self._begun = turn
                    return Reply(turn=turn.id, calls=tuple(map(self._call, turn.calls)))
                if turn.say is not None:
                    return self._says(turn, turn.say, heard)
        otherwise = self._user.otherwise
        if otherwise is None or self._unfit >= otherwise.times:
            return Reply(None, "user_gave_up")
        self._unfit += 1
        return Reply(filled(otherwise.say, self._values))

    async def close(self) -> None:
        return None

    def _says(self, turn: UserTurn, say: str, heard: Heard) -> Reply:
        words = filled(say, {**self._values, **heard.saw})
        # The agent must still be able to do what this confirms.
        early = turn.end is not None and asks_to_confirm(heard.last)
        ended: Ended | None = None if turn.end is None or early else "user_stop"
        return Reply(words, ended, turn.id, turn.goals, ignored_end=early)

    def _call(self, call: UserCall) -> Call:
        self._calls += 1
        return Call(f"user_call_{self._calls}", call.tool, call.arguments)

    def _holds(self, when: Condition | None, heard: Heard) -> bool:
        if when is None:
            return True
        return (
            (not when.asks or asks_one_of(when.asks, heard.last))
            and (not when.says or says_one_of(when.says, heard.last))
            and not any(says_one_of(when.never_says, one) for one in heard.said)
            and set(when.called) <= heard.called
            and not set(when.not_called) & heard.called
            and (when.state is None or all_at(heard.state, when.state))
            and (when.after is None or self._said[when.after] > 0)
            and all(
                name in heard.saw and says_one_of((text,), heard.saw[name])
                for name, text in when.saw.items()
            )
        )
