"""A person's marks on a recorded attempt, and the events that they name. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.recorded import NotUsable
from reviewer.importing.recorded.story import Made, Said, Story
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.strict_json import load_object

CONFIRMED = ("turns", "faults")


class Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The marks of one attempt; the members of a marks file.

    A call is named by the number of its event or by its tool, which means every call of it; a tool
    of `required` may be followed by its arguments, as JSON.
    """

    wrong: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    say: str = ""
    never_say: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    accept_nothing: str = ""


class Need(NamedTuple):
    """A call that a good attempt makes. `arguments` is None where the person named none."""

    tool: str
    arguments: dict[str, Any] | None


class Marked(NamedTuple):
    """The marks of a story, resolved to its events: numbers of wrong and irrelevant calls, of wrong
    messages, and of calls whose answer is to be left open."""

    wrong: frozenset[int]
    irrelevant: frozenset[int]
    wrong_words: tuple[int, ...]
    unknown: frozenset[int]
    needs: tuple[Need, ...]
    forbidden: tuple[str, ...]


_NEED = re.compile(r"\s*([^\s:{]+(?:[.:][^\s:{]+)*)\s*:?\s*(\{.*\})?\s*\Z", re.S)


def read_marks(data: bytes, where: str) -> Marks:
    """Return the marks in a file. Raises NotUsable naming the invalid member."""
    known = f"a marks file is an object of {', '.join(Marks.__struct_fields__)}"
    try:
        raw = load_object(data, where)
        return msgspec.convert({name: _listed(name, value) for name, value in raw.items()}, Marks)
    except ContractError as error:
        raise NotUsable(str(error), known) from None
    except msgspec.ValidationError as error:
        raise NotUsable(f"{where}: {error}", known) from None


def _listed(name: str, value: Any) -> Any:
    """Return the value with one mark as a list of it, and numbers of events as texts."""
    if name in ("say", "accept_nothing"):
        return value
    marks = value if isinstance(value, list) else [value]
    return [str(one) if type(one) is int else one for one in marks]


def together(one: Marks, other: Marks) -> Marks:
    """Return the marks of both; a text of `other` counts where both have one."""
    found: dict[str, Any] = {}
    for name in Marks.__struct_fields__:
        first, second = getattr(one, name), getattr(other, name)
        found[name] = tuple(dict.fromkeys((*first, *second)))
        if isinstance(first, str):
            found[name] = second or first
    return Marks(**found)


def resolved(marks: Marks, story: Story, offered: Iterable[str]) -> Marked:
    """Return the marks resolved in a story. Raises NotUsable naming a mark that matches nothing."""
    known = {*offered, *(call.tool for call in story.calls)}
    wrong, words = _events("wrong", marks.wrong, story, known)
    irrelevant, more = _events("irrelevant", marks.irrelevant, story, known)
    unknown, others = _events("unknown", marks.unknown, story, known)
    if more or others:
        place = (*more, *others)[0]
        raise NotUsable(f"event {place} is a message: only calls can be irrelevant or unknown")
    if both := sorted(wrong & irrelevant):
        raise NotUsable(f"event {both[0]} is marked wrong and irrelevant: mark it once")
    for name in marks.confirm:
        if name not in CONFIRMED:
            raise NotUsable(f"--confirm {shown(name)}: there is {', '.join(CONFIRMED)} to confirm")
    needs = tuple(_need(text) for text in marks.required)
    for tool in marks.forbidden:
        if tool not in known:
            raise NotUsable(*_unknown_tool("forbidden", tool, known))
    return Marked(wrong, irrelevant, words, unknown, needs, tuple(marks.forbidden))


def _events(
    mark: str, named: Iterable[str], story: Story, known: set[str]
) -> tuple[frozenset[int], tuple[int, ...]]:
    """Return the numbers of the calls and of the messages that a mark names."""
    steps: Mapping[int, Said | Made] = {step.seq: step for step in story.steps}
    calls: set[int] = set()
    words: list[int] = []
    for text in named:
        if text.isdecimal():
            step = steps.get(int(text))
            if step is None or (isinstance(step, Said) and step.by_user):
                raise NotUsable(
                    f"--{mark} {text}: event {text} of {story.name} is neither a call nor a "
                    "message of the agent",
                    "its calls: " + _calls_told(story),
                )
            if isinstance(step, Made):
                calls.add(step.seq)
            else:
                words.append(step.seq)
            continue
        found = [call.seq for call in story.calls if call.tool == text]
        if not found:
            raise NotUsable(*_unknown_tool(mark, text, known), "its calls: " + _calls_told(story))
        calls |= set(found)
    return frozenset(calls), tuple(words)


def _calls_told(story: Story) -> str:
    told = [f"{call.seq} {shown(call.tool)}" for call in story.calls[:40]]
    return ", ".join(told) + (" …" if len(story.calls) > 40 else "")


def _unknown_tool(mark: str, tool: str, known: set[str]) -> tuple[str, str]:
    names = ", ".join(shown(name) for name in sorted(known)[:40])
    return f"--{mark} {shown(tool)}: the trace has no such tool", f"its tools: {names}"


def needed_tool(text: str) -> str:
    """Return the tool that a mark of `required` names. Raises NotUsable."""
    return _need(text).tool


def _need(text: str) -> Need:
    found = _NEED.match(text)
    if found is None:
        raise NotUsable(f"--required {shown(text)}: is no TOOL and no TOOL:{{ARGUMENTS}}")
    if found[2] is None:
        return Need(found[1].rstrip(":"), None)
    try:
        arguments = load_object(found[2].encode(errors="replace"), "")
    except ContractError as error:
        where = f"--required {shown(found[1])}: its arguments"
        raise NotUsable(f"{where}: {error.path}: {error.reason}") from None
    return Need(found[1], arguments)
