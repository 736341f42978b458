"""The conversation: the request, the user's later messages as a scripted user, and the scripts of
the proof. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reviewer.importing.recorded.marks import Marked, Marks, Need
from reviewer.importing.recorded.story import Made, Said, Story
from reviewer.running.talk.phrases import asks_one_of, says_one_of
from reviewer.suite.blanks import blank
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.wording import wording_problem

RECORDED, CORRECTED, NOTHING = "recorded", "corrected", "nothing"
"""The plans of a proof's script."""
CLOSING = "I will see what I can do."
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_LONGEST = 200
_MOST_CALLS = 100
_OTHERWISE = {"say": "I do not know.", "times": 3, "then": "gives_up"}


class Conversation(NamedTuple):
    """`request` is what the user said before the agent did anything; `user` is the episode's, None
    where the user said nothing more; `open` are blanks about its turns."""

    request: str
    user: dict[str, Any] | None
    open: list[dict[str, Any]]


def conversation_of(story: Story, confirmed: bool) -> Conversation:
    """Return the user's part of a story. Messages after the agent's last step answer nothing and
    are left out, as are the agent's messages before the first request."""
    steps = list(story.steps)
    while steps and isinstance(steps[-1], Said) and steps[-1].by_user:
        steps.pop()
    first = next((n for n, one in enumerate(steps) if isinstance(one, Said) and one.by_user), None)
    if first is None:
        return Conversation("", None, [])
    asked: list[str] = []
    place = first
    for place in range(first, len(steps)):
        step = steps[place]
        if not (isinstance(step, Said) and step.by_user):
            break
        asked.append(step.text)
    turns: list[dict[str, Any]] = []
    open_: list[dict[str, Any]] = []
    before: list[str] = []
    spoken = False
    for step in steps[place:]:
        if isinstance(step, Made):
            before, spoken = [], False
            continue
        if not step.by_user:
            before = [*before, step.text] if not spoken else [step.text]
            spoken = False
            continue
        if spoken and turns:
            turns[-1]["say"] += "\n" + _plain(step.text)
            continue
        turns.append(_turn(len(turns) + 1, step.text, "\n".join(before)))
        spoken = True
        if not confirmed:
            where = f"user.turns[{len(turns) - 1}].when"
            open_.append(blank(f"confirm {where}: what the agent says before this turn", *before))
    if not turns:
        return Conversation("\n".join(asked), None, [])
    user = {
        "kind": "scripted",
        "turns": turns,
        "otherwise": dict(_OTHERWISE),
        "end": {"max_turns": min(50, len(turns) + 5), "on_final_after": [turns[-1]["id"]]},
    }
    return Conversation("\n".join(asked), user, open_)


def _plain(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def _turn(number: int, text: str, before: str) -> dict[str, Any]:
    when: dict[str, Any] = {"after": f"turn-{number - 1}"} if number > 1 else {}
    for phrase in _phrases(before):
        if asks_one_of((phrase,), before):
            when["asks"] = [phrase]
            break
    else:
        for phrase in _phrases(before):
            if says_one_of((phrase,), before):
                when["says"] = [phrase]
                break
    turn: dict[str, Any] = {"id": f"turn-{number}"}
    if when:
        turn["when"] = when
    turn["say"] = _plain(text)
    return turn


def _phrases(text: str) -> Iterator[str]:
    """Yield the sentences of a message that may be its question: those with a question mark, from
    the last on, then the others."""
    sentences = [one.strip(" *-\t") for one in _SENTENCE.findall(text)]
    fit = [
        one.rstrip(".!?").strip()
        for one in reversed(sentences)
        if len(one) <= _LONGEST and wording_problem(one.rstrip(".!?").strip() or " ") is None
    ]
    asking = {one.rstrip(".!?").strip() for one in sentences if one.endswith("?")}
    yield from (one for one in fit if one in asking)
    yield from (one for one in fit if one not in asking)


# The scripts of the proof.


def scripts_of(
    story: Story,
    marks: Marks,
    marked: Marked,
    needs: tuple[Need, ...],
    talks: bool,
    cases: Mapping[str, dict[str, Any]],
) -> dict[str, list[dict[str, Any]]]:
    """Return the turns of each plan: the recorded steps, the corrected steps, and the final words
    alone. `cases` are arguments that a tool is known to answer."""
    final = _final_words(story)
    said = marks.say or ("" if marked.wrong or marked.wrong_words else final)
    good = _corrected(story, marked, needs, cases)
    corrected = _played(good, said, talks)
    return {
        RECORDED: _played(list(story.steps), final, talks),
        CORRECTED: corrected,
        NOTHING: words_alone(corrected),
    }


def words_alone(corrected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the turns of an attempt that only says the final message of the corrected one."""
    return [{"messages": (corrected[-1].get("messages") if corrected else None) or [CLOSING]}]


def digest_of(turns: list[dict[str, Any]]) -> str:
    """Return the digest of a plan's turns, by which an episode knows its recorded attempt."""
    return sha256_hex(json.dumps(turns, sort_keys=True).encode())


def calls_in(turns: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a plan in order."""
    return [(c["tool"], c.get("arguments", {})) for turn in turns for c in turn.get("calls", ())]


def _final_words(story: Story) -> str:
    last = max((call.seq for call in story.calls), default=0)
    words = [one.text for one in story.said if not one.by_user and one.seq > last]
    return words[-1] if words else ""


def _corrected(
    story: Story, marked: Marked, needs: tuple[Need, ...], cases: Mapping[str, dict[str, Any]]
) -> list[Said | Made]:
    """Return the corrected steps of a story: without the wrong ones, and without messages after the
    first wrong step, since they resulted from it."""
    bad = marked.wrong | set(marked.wrong_words)
    first = min(bad, default=None)
    left = marked.wrong | marked.irrelevant
    right = [one for one in story.calls if one.seq not in left]
    missing: list[Made] = []
    for need in needs:
        if any(one.tool == need.tool and _has(one, need.arguments) for one in right):
            continue
        arguments = need.arguments if need.arguments is not None else cases.get(need.tool, {})
        missing.append(Made(0, need.tool, arguments, "ok", None, False))
    before = [
        one
        for one in story.steps
        if (first is None or one.seq < first) and not _dropped(one, marked)
    ]
    after = [one for one in right if first is not None and one.seq > first]
    if first is None:
        while before and isinstance(before[-1], Said) and not before[-1].by_user:
            before.pop()  # the final words, which come at the end
    return [*before, *missing, *after]


def _has(call: Made, arguments: Mapping[str, Any] | None) -> bool:
    return arguments is None or all(
        name in call.arguments and call.arguments[name] == value
        for name, value in arguments.items()
    )


def _dropped(step: Said | Made, marked: Marked) -> bool:
    return isinstance(step, Made) and step.seq in marked.irrelevant


def _played(steps: list[Said | Made], final: str, talks: bool) -> list[dict[str, Any]]:
    """Return steps as turns of a script: consecutive calls in one turn, and messages to the user
    where the user answered."""
    turns: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    words: list[str] = []
    begun = False

    def call() -> None:
        while calls:
            turns.append({"calls": calls[:_MOST_CALLS]})
            del calls[:_MOST_CALLS]

    for step in steps:
        if isinstance(step, Made):
            words.clear()
            calls.append({"tool": step.tool, "arguments": step.arguments})
        elif step.by_user:
            if talks and words and begun:
                call()
                turns.append({"messages": ["\n".join(words)]})
            begun = True
            words.clear()
        elif begun:
            words.append(step.text)
    call()
    if turns and turns[-1].get("messages") == [final]:
        turns.pop()
    turns.append({"messages": [final]} if final else {})
    return turns
