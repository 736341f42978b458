"""The errors of a simulated user, by rule.

The rules find errors that are certain: a fact told too early, an id that nobody gave it, a goal
never voiced, a conversation ended in the answer to a question. They are a lower bound: further
errors that a person would see are measured by labels.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from reviewer.running.model import Call
from reviewer.running.talk.model import Reply, Severity, UserFault
from reviewer.running.talk.phrases import asks_one_of, asks_to_confirm, folded, says_one_of
from reviewer.suite.user import Fact, User
from reviewer.suite.user_check import SHORTEST
from reviewer.suite.wording import unhidden
from reviewer.trace.encodings import encoded, unspelled
from reviewer.trace.safetext import cap, visible_line

LONGEST = 4_000
"""Most characters of one message of a user."""

_MOST_ALIKE = 3
"""How often the same call with the same answer may be made, while the agent waits, before it is a
loop."""
_LONGEST_TOOL = 100
_SEPARATORS = re.compile(r"(?<=\d)[ ,.\-/](?=\d)")
_SAME = str.maketrans(
    {**dict.fromkeys("‐‑‒–—−", "-"), **dict.fromkeys("‘’ʼ", "'"), **dict.fromkeys("*`~")}
)
"""Signs that models write for each other, and marks that nobody sees."""
_ID_SHAPED = re.compile(
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"
    r"|(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z_])[A-Za-z0-9][A-Za-z0-9_-]{4,}"
    r"|\d(?:[ ,.\-/]?\d){3,}"
)
_LIKE_AN_AGENT = re.compile(
    r"\bhow (?:may|can) i (?:help|assist)\b|"
    r"\bi(?:'ll| will) (?:process|look (?:into|up)|check) (?:that|your|this)\b|"
    r"\b(?:thank you|thanks) for (?:contacting|reaching out)\b|"
    r"^\s*(?:assistant|agent|support)\s*:",
    re.I | re.M,
)
_ENDS = frozenset(
    {
        "user:stopped_on_confirm",
        "user:dropped",
        "user:fault",
        "user:empty",
        "user:too_many_calls",
    }
)
"""Faults that keep the agent from what it would have done next: never minor, even at the end."""


class FaultWatch:
    """What the user of one attempt has said, and the faults found in it so far.

    `request` is the first message, which the author wrote; `tools` are the names that a user must
    not know. Rules about invention are for a model or a person: a script's words are its author's.
    """

    def __init__(self, user: User, request: str, tools: Sequence[str]) -> None:
        self._user, self._request, self._tools = user, request, tools
        self._agent: list[str] = []
        self._own: list[str] = [request]
        self._calls_at: list[int] = [0]
        self._voiced: set[str] = set()
        self._found: list[tuple[str, int | None, Severity, int]] = []
        self._acts = 0
        self._answers: list[str] = []
        self._alike: Counter[tuple[int, str]] = Counter()

    @property
    def acts(self) -> int:
        """Return how many messages and calls the agent has made."""
        return self._acts

    def act(self) -> None:
        """Count an act of the agent."""
        self._acts += 1

    def hear(self, message: str) -> None:
        """Process a message of the agent."""
        self._agent.append(message)

    def say(self, reply: Reply, seq: int | None, calls: int) -> None:
        """Process the user's message, made after so many calls; `seq` is the event that records
        it."""
        self._voiced.update(reply.goals)
        if reply.message is not None:
            for code, severity in self._wrong(reply.message, calls):
                self._add(code, seq, severity)
            self._own.append(reply.message)
            self._calls_at.append(calls)
            self._voiced.update(
                goal.id
                for goal in self._user.goals
                if goal.words and says_one_of(goal.words, reply.message)
            )
        if reply.ignored_end:
            self._add("user:stopped_on_confirm", seq, "minor")
        if reply.ended == "user_stop":
            # When a script ends, and what it has voiced by then, depends on the agent's acts: if
            # this spoiled the attempt, an agent could have its failures repeated.
            scripted = self._user.kind == "scripted"
            if self._agent and asks_to_confirm(self._agent[-1]):
                self._add("user:stopped_on_confirm", seq, "hindered")
            for goal in self._user.goals:
                if (scripted or goal.words) and goal.id not in self._voiced:
                    self._add(f"user:dropped:{goal.id}", None, "minor" if scripted else "helped")

    def fail(self, code: str, seq: int | None) -> None:
        """Record that the user could not answer."""
        self._add(code, seq, "hindered")

    def unknown_tool(self, tool: str, seq: int) -> None:
        """Record a call of a tool that the user does not have. Where the agent named the tool, it
        may have led the user there: if this spoiled the attempt, an agent could have its failures
        repeated."""
        led = any(tool.casefold() in message.casefold() for message in self._agent)
        name = cap(visible_line(tool), _LONGEST_TOOL)
        self._add(f"user:unknown_tool:{name}", seq, "minor" if led else "hindered")

    def invalid_call(self, tool: str, seq: int) -> None:
        """Record a call with arguments that the tool does not accept."""
        scripted = self._user.kind == "scripted"
        self._add(f"user:invalid_call:{tool}", seq, "minor" if scripted else "hindered")

    def failed_call(self, tool: str, seq: int) -> None:
        """Record a call that the world answered with an error, which may result from the agent's
        acts or omissions."""
        self._add(f"user:failed_call:{tool}", seq, "minor")

    def too_many_calls(self) -> None:
        """Record that the user kept making calls."""
        self._add("user:too_many_calls", None, "hindered")

    def see(self, call: Call, answer: str, seq: int) -> None:
        """Process an answer to a call of the user's own: the user knows its content."""
        self._answers.append(answer)
        if self._user.kind == "scripted":
            return
        asked = self._user.tools[call.tool].get("asked_by") or ()
        if asked and not any(asks_one_of(asked, one) for one in self._agent):
            self._add(f"user:acted_unasked:{call.tool}", seq, "helped")
        alike = self._acts, json.dumps([call.tool, call.arguments, answer], sort_keys=True)
        self._alike[alike] += 1
        if self._alike[alike] == _MOST_ALIKE:
            self._add("user:call_loop", seq, "hindered")

    def found(self) -> tuple[UserFault, ...]:
        """Return the faults; those after which the agent did nothing more are minor."""
        return tuple(
            UserFault(
                code,
                seq,
                "minor" if acts >= self._acts and _head(code) not in _ENDS else severity,
            )
            for code, seq, severity, acts in self._found
        )

    def _add(self, code: str, seq: int | None, severity: Severity) -> None:
        self._found.append((code, seq, severity, self._acts))

    def _wrong(self, message: str, calls: int) -> Iterator[tuple[str, Severity]]:
        for name, fact in self._user.facts.items():
            if self._reveals(name, fact, message):
                named = any(_holds_value(one, fact.value) for one in self._agent)
                yield f"user:revealed:{name}", "minor" if named else "helped"
        if len(message) > LONGEST:
            yield "user:too_long", "hindered"
            return
        if self._user.kind == "scripted":
            return
        message = _seen(message)
        yield from self._contradicted(message)
        if self._invents(message):
            yield "user:invented", "hindered"
        if self._loops(message, calls):
            yield "user:loop", "minor" if self._led_to_repeat() else "hindered"
        spoken = message.casefold()
        like = [found[0] for found in _LIKE_AN_AGENT.finditer(message)]
        like += [tool for tool in self._tools if "_" in tool and tool.casefold() in spoken]
        if like:
            yield "user:spoke_as_agent", "minor" if all(map(self._led_to, like)) else "hindered"

    def _led_to(self, words: str) -> bool:
        """Return whether the agent used these words before: it may have had the user repeat them.
        If such an error spoiled the attempt, an agent could have its failures repeated."""
        wanted = _plain(words).strip()
        return any(wanted in _plain(message) for message in self._agent)

    def _led_to_repeat(self) -> bool:
        """Return whether the agent asked for the same answer again: it repeated its own message, or
        asked to confirm."""
        if not self._agent:
            return False
        *earlier, last = map(folded, self._agent)
        return last in earlier or asks_to_confirm(self._agent[-1])

    def _reveals(self, name: str, fact: Fact, message: str) -> bool:
        if fact.tell == "freely":
            return False
        if not _holds_value(message, fact.value):
            before = " ".join(self._own[1:])  # without the request, which is the author's
            whole = f"{before} {message}"
            if _holds_value(before, fact.value) or not _holds_value(whole, fact.value):
                return False
        if _holds_value(self._request, fact.value):
            return False
        if fact.tell == "never":
            return True
        if self._user.kind == "scripted":
            return False  # the turn's own condition says when its author lets it be told
        asked = fact.asked_by or (name.replace("_", " "),)
        given = any(_holds_value(one, fact.value) for one in self._agent)
        return not given and not any(asks_one_of(asked, one) for one in self._agent)

    def _contradicted(self, message: str) -> Iterator[tuple[str, Severity]]:
        for name, fact in self._user.facts.items():
            value = str(fact.value)
            if not _ID_SHAPED.fullmatch(value):
                continue
            for word in fact.asked_by or (name.replace("_", " "),):
                near = re.search(re.escape(word) + r"\W+(?:\w+\W+){0,3}?(" + _like(value) + r")\b",
                                 message, re.I)  # fmt: skip
                if near is not None and _plain(near[1]) != _plain(value):
                    led = self._led_to(near[1])
                    yield f"user:contradicted:{name}", "minor" if led else "hindered"
                    break

    def _invents(self, message: str) -> bool:
        tokens = set(map(_plain, _ID_SHAPED.findall(message)))
        if not tokens:
            return False
        texts = (
            *(str(fact.value) for fact in self._user.facts.values()),
            *(goal.asks for goal in self._user.goals),
            *filter(None, (self._user.persona, self._user.style)),
            *self._agent,
            *self._own,
            *self._answers,
        )
        known = [_plain(text) for text in texts]
        return any(not any(token in text for text in known) for token in tokens)

    def _loops(self, message: str, calls: int) -> bool:
        mine = [folded(one) for one in (*self._own, message)]
        if mine.count(mine[-1]) >= 3:
            return True
        if len(mine) < 4 or mine[-4:-2] != mine[-2:]:
            return False
        return self._calls_at[-3] == calls


def spoils(faults: Sequence[UserFault]) -> bool:
    """Return whether an attempt with these faults of its user can no longer be judged."""
    return any(fault.severity != "minor" for fault in faults)


def _head(code: str) -> str:
    return ":".join(code.split(":")[:2])


def _seen(text: str) -> str:
    """Return a text as a person sees it: without invisible characters, each sign in one form."""
    return unhidden(text).translate(_SAME)


def _plain(text: str) -> str:
    return _SEPARATORS.sub("", " ".join(_seen(text).casefold().split()))


def _holds_value(message: str, value: object) -> bool:
    """Return whether a value occurs in a message as a word of its own, numbers with or without
    separators, spelled out or not, or encoded."""
    wanted = _plain(str(value)).strip()
    if len(wanted) < SHORTEST:
        return False
    word = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    if word.search(_plain(message)) or word.search(_plain(unspelled(_seen(message)))):
        return True
    form = encoded(str(value))
    return form is not None and form.search(message) is not None


def _like(value: str) -> str:
    """Return a pattern for values of the same shape: letters for letters, digits for digits."""
    shape = re.sub(r"[A-Za-z]+", "L", re.sub(r"\d+", "9", value))
    return "".join({"L": r"[A-Za-z]+", "9": r"\d+"}.get(one, re.escape(one)) for one in shape)
