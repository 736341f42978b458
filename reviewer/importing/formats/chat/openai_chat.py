"""Chat messages: fine-tuning lines, plain lists, and logs of requests with answers.

Shapes: one list of messages; lists of lists; objects (one, an array, JSON lines) with `messages`;
logs of `request`/`response` pairs, where each later request repeats the history, so a pair that
goes on with what came before is the same conversation. There is no id, time, cost or verdict but
what a log has: an episode is its file and place. Every dialect is decoded by `importing.messages`;
those that only differ in their signs are in `dialects`.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.importing import unsupported
from reviewer.importing.draft import Draft
from reviewer.importing.formats.base import Format
from reviewer.importing.formats.chat.envelopes import (
    answered,
    answers_beside,
    are_messages,
    dialect_of,
    ended,
    is_pair,
    list_in,
    opened_pair,
    parts_of_pair,
    spent,
)
from reviewer.importing.formats.stated import episode_of, stated, stated_of_all
from reviewer.importing.formats.values import at_path, mapping
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller, is_message, tokens_of, usage_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_BARE = "chat messages have no id, time, cost or verdict: episodes are named by file and place"


class OpenAIChatReader(Format):
    """Messages of any dialect; the readers of one dialect are of this class too."""

    name = "openai-chat"
    version = "2"
    dialect = ""
    plain = True
    """Whether a message holds all that is to be read of it: `tell` adds nothing."""

    def sniff(self, head: Head) -> bool:
        if unsupported.tool(head):
            return False  # messages of a tool that keeps more than messages
        first = opened_pair(head.first)
        found = self.messages(head.value) or self.messages(first)
        if found and is_pair(first):
            answer = _split(first)[1]
            found = [*found, answered(answer) if isinstance(answer, dict) else None]
        if not found and is_message(head.value):
            found = list(head.lines()) if isinstance(head.value, dict) else []
        if not found:
            return False
        return not self.dialect or dialect_of(found) == self.dialect

    def messages(self, value: Any) -> list[Any]:
        """Return the messages of a record, empty when it has none."""
        if are_messages(value):
            return list(value)
        if (names := parts_of_pair(value)) is not None:
            value = value[names[0]]
        found = list_in(value)
        return found[1] if found is not None else []

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        source.notes.add(_BARE)
        held: list[dict[str, Any]] = []  # one conversation's log, pair by pair
        bare: list[Any] = []  # the messages of a file that is one list
        number = 0
        for _, record in source.records():
            value = opened_pair(record)
            if isinstance(value, Broken):
                number += 1
                yield value
            elif is_pair(value):
                if held and not _goes_on(held[-1], value):
                    number += 1
                    yield self._of_log(source, number, held)
                    held = []
                held.append(value)
            elif bare or (is_message(value) and not self.messages(value)):
                bare.append(value)
            else:
                number += 1
                yield self._of_record(source, number, value)
        if held:
            number += 1
            yield self._of_log(source, number, held)
        if bare:
            yield self._of_record(source, number + 1, bare)

    def _of_record(self, source: Source, number: int, value: Any) -> Foreign | Broken:
        def make() -> Foreign:
            draft = Draft(self.name)
            teller = Teller(draft)
            messages = self.say(teller, value)
            if not messages:
                raise Rejected("missing:messages")
            teller.finish()
            teller.account.tell(value, draft)
            own = mapping(value)
            return self.foreign(source, number, own, draft, messages)

        return source.attempt(make, f"record {number}")

    def say(self, teller: Teller, value: Any) -> list[Any]:
        """Take the messages of a record and return them."""
        messages = self.messages(value)
        if isinstance(value, dict):
            teller.account.read(value, _READ)
            _offered(teller, value)
            _instructions(teller, value)
        listed = value if isinstance(value, list) else messages
        more = self.beside(teller, value, messages) if isinstance(value, dict) else []
        if self.plain and not more and teller.at_once(listed):
            return listed
        teller.account.every(listed)
        for message in listed:
            self.tell(teller, message)
        for message, counts in more:
            teller.say(message, "assistant", tokens=counts)
        return listed

    def beside(
        self, teller: Teller, value: dict[str, Any], messages: list[Any]
    ) -> list[tuple[dict[str, Any], Any]]:
        """Return (message, tokens) of what a record keeps of the answer beside its messages, where
        no message repeats it."""
        more: list[tuple[dict[str, Any], Any]] = []
        for name, answer in answers_beside(value):
            found = answered(answer)
            if found is None or name in _READ:
                continue
            teller.account.read(value, {*_READ, name})
            if any(_repeats(one, found) for one in messages):
                teller.account.read(found, ())
            else:
                more.append((found, tokens_of(spent(answer))))
        return more

    def tell(self, teller: Teller, message: Any) -> None:
        """Take one message."""
        teller.say(message)

    def usage(self, value: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
        """Return the tokens that a record counts."""
        return tokens_of(spent(value))

    def foreign(
        self, source: Source, number: int, value: dict[str, Any], draft: Draft, messages: list[Any]
    ) -> Foreign:
        """Return a record as an attempt."""
        said = stated(value, draft)
        return draft.foreign(
            episode_id=episode_of(source, number, value, draft),
            candidate_id=source.candidate or value.get("model") or source.home,
            final_message=draft.last_words(),
            usage=self.usage(value, messages),
            termination=ended(value),
            **said._asdict(),
        )

    def _of_log(self, source: Source, number: int, pairs: list[dict[str, Any]]) -> Foreign | Broken:
        def make() -> Foreign:
            draft = Draft(self.name)
            teller = Teller(draft)
            answers: list[dict[str, Any]] = []
            same = done = 0  # messages told by then: of the history, and with the last answer
            for place, pair in enumerate(pairs):
                request, answer = _split(pair)
                messages = _messages(request)
                teller.account.read(pair, parts_of_pair(pair) or ())
                teller.account.read(request, _READ)
                teller.account.every(messages)
                _offered(teller, request)
                if not done:
                    _instructions(teller, request)
                for one in messages[:same]:
                    teller.account.whole(one)
                for one in messages[same:done]:  # the answer again: other calls in it are left
                    teller.account.read(one, ())
                for one in messages[done:]:
                    teller.say(one)
                same = done = len(messages)
                if isinstance(answer, dict):
                    answers.append(answer)
                done += _answer(teller, answer, pairs[place + 1 :], done)
            teller.finish()
            teller.account.tell(pairs, draft, "record")
            last = answers[-1] if answers else {}
            if len(answers) > 1:
                draft.note("requests that repeat their history were read as one conversation")
            request, _ = _split(pairs[-1])
            said = stated_of_all(pairs, draft)
            return draft.foreign(
                episode_id=episode_of(source, number, pairs[0], draft),
                candidate_id=source.candidate or _model(request, last) or source.home,
                final_message=draft.last_words(),
                usage=usage_of([spent(answer) for answer in answers]),
                termination=ended(last),
                **said._asdict(),
            )

        return source.attempt(make, f"conversation {number}")


def _repeats(message: Any, answer: dict[str, Any]) -> bool:
    names = ("content", "parts", "tool_calls", "function_call")
    return isinstance(message, dict) and all(
        (message.get(name) or None) == (answer.get(name) or None) for name in names
    )


_READ = (
    *("messages", "conversation", "conversations", "contents", "input", "prompt", "id", "model"),
    *("system", "systemInstruction", "system_instruction"),
    *("tools", "functions", "toolConfig", "tool_choice", "toolChoice"),
)


def _offered(teller: Teller, value: dict[str, Any]) -> None:
    """Pass over the tools that a request offers, and which of them it asks for."""
    held = at_path(value, "toolConfig", "tools")
    for tools in (value.get("tools"), value.get("functions"), held):
        teller.account.offered(tools)
    for name in ("tool_choice", "toolChoice", "function_call"):
        choice = value.get(name)
        if isinstance(choice, dict) and choice.keys() <= {"type", "name", "function", "mode"}:
            teller.account.offered(choice)


def _instructions(teller: Teller, value: dict[str, Any]) -> None:
    """Take what a request says before its messages."""
    for name in ("system", "systemInstruction", "system_instruction"):
        given = value.get(name)
        if isinstance(given, dict) and isinstance(given.get("parts"), list):
            teller.account.read(given, ("parts", "role"))
            teller.say({"role": "system", "parts": given["parts"]})
        elif isinstance(given, (str, list)) and given:
            teller.say({"role": "system", "content": given})


def _split(pair: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    names = parts_of_pair(pair) or ("request", "response")
    return pair[names[0]], pair.get(names[1])


def _messages(request: dict[str, Any]) -> list[Any]:
    found = list_in(request)
    return found[1] if found is not None else []


def _model(request: dict[str, Any], answer: dict[str, Any]) -> Any:
    return request.get("model") or request.get("modelId") or answer.get("model")


def _goes_on(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether a request repeats the history of the one before it."""
    old, new = _messages(_split(before)[0]), _messages(_split(after)[0])
    return len(new) >= len(old) and new[: len(old)] == old


def _answer(teller: Teller, answer: Any, following: list[dict[str, Any]], mine: int) -> int:
    """Take what was answered; return how many of the next request's messages will repeat it."""
    given = _messages(_split(following[0])[0])[mine:] if following else []
    if isinstance(answer, str):
        return _said(teller, {"role": "assistant", "content": answer}, given) if answer else 0
    if isinstance(answer, list):
        if not are_messages(answer):
            teller.account.refuse(answer)
            return 0
        teller.account.every(answer)
        told = [_said(teller, message, given[place:]) for place, message in enumerate(answer)]
        return sum(told)
    if not isinstance(answer, dict):
        return 0
    if isinstance(answer.get("error"), dict):
        teller.wrong(answer["error"].get("message", "error"))
        return 0
    found = answered(answer)
    if found is None:
        if any(one and isinstance(one, (dict, list)) for one in answer.values()):
            teller.account.refuse(answer)
        return 0
    at = teller.draft.at(answer.get("created"))
    counts = tokens_of(spent(answer))
    return _said(teller, found, given, tokens=counts, started_at=at)


def _said(teller: Teller, message: Any, given: list[Any], **more: Any) -> int:
    """Take one message of an answer; return 1 when it is the first of those the next request
    repeats."""
    teller.say(message, "assistant", **more)
    again = given[0] if given else None
    role = at_path(again, "role")
    return int(role in ("assistant", "model") or (role == "tool" and message.get("role") == "tool"))
