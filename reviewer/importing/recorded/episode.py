"""An episode out of recorded attempts and a person's marks, with the scripts of its proof.

What happened is not taken for what is right: the contract is that of the corrected attempt, and
nothing of it is made of the trace alone but the writes that nobody marked.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.recorded import NotUsable, turns
from reviewer.importing.recorded.keys import Keys, canonical
from reviewer.importing.recorded.marks import Marked, Marks, resolved
from reviewer.importing.recorded.masks import Masks
from reviewer.importing.recorded.offered import Definition, offered_tools
from reviewer.importing.recorded.story import Made, Said, Story
from reviewer.importing.recorded.world import Builder, World
from reviewer.running.model import Answer, Unrunnable, WorldGap
from reviewer.running.world import SimulatedWorld
from reviewer.suite.blanks import blank, blanks_in
from reviewer.suite.errors import shown
from reviewer.suite.json_values import same
from reviewer.suite.model import RED_TEAM, Episode, RedactionRules

MADE_BY = "reviewer episode from-trace"
NOT_RANDOM = (
    "picked because it failed or mattered: how often agents pass it says nothing of how often they "
    "pass in production"
)


class SourceTrace(NamedTuple):
    """One trace that an episode is made of, and how it is known: the sha256 of its file or stored
    record, its format, and the version of the reader."""

    story: Story
    trace: str
    sha256: str
    form: str
    reader: str


class MadeEpisode(NamedTuple):
    """`episode` is the content of its file, `script` that of the proof's."""

    episode: dict[str, Any]
    script: dict[str, Any]
    blanks: int
    gaps: int
    notes: tuple[str, ...]


def episode_of(
    main: SourceTrace,
    siblings: Sequence[SourceTrace],
    defined: Mapping[str, Definition],
    marks: Marks,
    rules: RedactionRules,
    episode_id: str,
    request: str = "",
) -> MadeEpisode:
    """Return the episode of a trace. `siblings` are other traces of the same task, whose answers
    are taken where the trace has none; `defined` are the tools as they were offered; `request` is
    what the user asked, where no message says it. Raises NotUsable."""
    masks = _table(main, siblings, defined, marks, rules, request)
    story = _masked(main.story, masks)
    others = [_masked(one.story, masks) for one in siblings]
    plain = offered_tools(defined, [c for one in (main, *siblings) for c in one.story.calls])
    tools, loosened = _masked_tools(plain, masks, main.story, story)
    marks = _masked_marks(marks, masks)
    marked = resolved(marks, story, {*tools, *(need.partition(":")[0] for need in marks.required)})
    keys = Keys((story, *others), marks)
    builder = Builder(story, others, marks, marked, keys)
    for need in marked.needs:
        tools = tools | _missing(need.tool, need.arguments, tools)
    world = builder.built(tools)
    talk = turns.conversation_of(story, "turns" in marks.confirm)
    asked = talk.request or masks.masked(request)
    cases = {
        name: case["arguments"]
        for name, told in reversed(world.tools.items())
        for case in reversed(told["responses"].get("match") or ())
        if case.get("error") is None
    }
    plans = turns.scripts_of(story, marks, marked, world.needs, talk.user is not None, cases)
    open_ = [*world.open, *talk.open]
    made: dict[str, Any] = {
        "schema": "reviewer/episode@1",
        "episode_id": episode_id,
        "title": _title(asked, episode_id),
        "user_request": asked,
        "initial_state": world.initial_state,
        "tools": _rules(story, marked, world, builder),
        "expected": {},
        "budget": {},
        "simulator": {"tools": world.tools},
    }
    made["expected"] = _expected(made, story, marks, marked, world, plans, keys)
    made["budget"] = _budget(plans, world)
    if talk.user is not None:
        made["user"] = talk.user
    if made["tools"].get("forbidden"):
        made["on_forbidden"] = "simulate"
    if marks.accept_nothing:
        made["tags"] = [RED_TEAM]
    if not (marks.say or made["expected"].get("message_reference")):
        open_.append(blank("what should have been said in the end (--say)"))
    if not asked:
        what = "confirm that user_request is empty: the trace does not say what is asked"
        open_.append(blank(what))
    differs = _differences(made, story)
    open_ += differs
    notes = [*world.notes, *([_LEFT] if masks.left else [])]
    if any(one.reader == STORED and _has_masks(one.story) for one in (main, *siblings)):
        notes.append(_MASKED_BEFORE)
    made["source"] = _source(
        main, siblings, masks, marks, keys, world, open_, loosened, notes, tools.values(),
        sorted({call.tool for call in story.calls if call.seq in marked.wrong}),
    )  # fmt: skip
    if not made["tools"]:
        del made["tools"]
    plan = {name: {"turns": told} for name, told in plans.items()}
    script = {
        "schema": "reviewer/script@1",
        "episodes": {
            episode_id: {"plans": plan, "attempts": [{"plan": name} for name in plan]},
        },
    }
    blanks = sum(1 for _ in blanks_in(made))
    return MadeEpisode(made, script, blanks, len(world.gaps), tuple(notes))


def _words_of(schema: Any, inside: bool = False) -> list[Any]:
    """Return what `_masked_schema` masks of a schema."""
    if isinstance(schema, list):
        return [held for one in schema for held in _words_of(one)]
    found: list[Any] = []
    for name, held in schema.items() if isinstance(schema, dict) else ():
        if name in _WORDS and not inside:
            found.append(held)
        else:
            found += _words_of(held, not inside and name in ("properties", "$defs"))
    return found


STORED = "stored"
"""The reader of a trace that comes out of the store."""
_MASKED_BEFORE = (
    "identifiers were masked when the trace was stored, and different ones look alike: the file "
    "that it was imported from tells them apart"
)


def _has_masks(story: Story) -> bool:
    return any("[REDACTED" in canonical([call.arguments, call.answer]) for call in story.calls)


_LEFT = "some identifiers were masked without the table: two of them may look alike"


def _table(
    main: SourceTrace,
    siblings: Sequence[SourceTrace],
    defined: Mapping[str, Definition],
    marks: Marks,
    rules: RedactionRules,
    request: str,
) -> Masks:
    words = {}
    for text in marks.mask:
        value, _, word = text.rpartition("=")
        words[value or word] = word if value else ""
    masks = Masks(rules, words)
    for one in (main, *siblings):
        for step in one.story.steps:
            if isinstance(step, Made):
                masks.learn(step.arguments)
                masks.learn(step.answer)
            else:
                masks.learn(step.text)
    masks.learn([request, [one.description for one in defined.values()]])
    masks.learn([_words_of(one.parameters) for one in defined.values()])
    masks.learn([marks.say, list(marks.never_say), list(marks.required)])
    return masks


def _masked(story: Story, masks: Masks) -> Story:
    steps: list[Said | Made] = []
    for step in story.steps:
        if isinstance(step, Said):
            steps.append(step._replace(text=masks.masked(step.text)))
        else:
            answer = masks.masked(step.answer)
            steps.append(step._replace(arguments=masks.masked(step.arguments), answer=answer))
    return story._replace(steps=tuple(steps), name=masks.masked(story.name))


def _masked_marks(marks: Marks, masks: Masks) -> Marks:
    """Return the marks without identifiers; what is masked is not named at all."""
    told = {
        name: masks.masked(list(value) if isinstance(value, tuple) else value)
        for name, value in msgspec.structs.asdict(marks).items()
        if name != "mask"
    }
    return msgspec.convert(told, Marks)


def _masked_tools(
    tools: Mapping[str, Definition], masks: Masks, before: Story, after: Story
) -> tuple[dict[str, Definition], list[str]]:
    """Return the tools as masked arguments fit them: a schema that takes what was called and not
    its stand-in is loosened at that argument."""
    loosened: list[str] = []
    made = {}
    for name, tool in tools.items():
        schema = _masked_schema(tool.parameters, masks)
        properties = dict(schema.get("properties") or {})
        for plain, masked in zip(before.calls, after.calls, strict=True):
            if plain.tool != name:
                continue
            for argument, value in masked.arguments.items():
                told = properties.get(argument)
                changed = not same(plain.arguments.get(argument), value)
                if not changed or not isinstance(told, dict):
                    continue
                if _takes(told, plain.arguments.get(argument)) and not _takes(told, value):
                    properties[argument] = _loose(told)
                    loosened.append(f"{name}.{argument}")
        if properties != (schema.get("properties") or {}):
            schema["properties"] = properties
        description = masks.masked(tool.description)
        made[name] = tool._replace(description=description, parameters=schema)
    return made, list(dict.fromkeys(loosened))


_WORDS = frozenset({"title", "description", "enum", "const", "default", "examples", "example"})
"""Members of a schema that hold words or values; the names of arguments are no identifiers."""


def _masked_schema(schema: Any, masks: Masks, inside: bool = False) -> Any:
    """Return a schema without identifiers. `inside` says that its members are names of
    arguments."""
    if isinstance(schema, list):
        return [_masked_schema(one, masks) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: masks.masked(held)
        if name in _WORDS and not inside
        else _masked_schema(held, masks, not inside and name in ("properties", "$defs"))
        for name, held in schema.items()
    }


def _takes(schema: Mapping[str, Any], value: Any) -> bool:
    from jsonschema import Draft202012Validator

    try:
        fits = Draft202012Validator(dict(schema)).is_valid(value)
    except Exception:
        return True  # a schema that refers elsewhere or is none: the broker says what is wrong
    # A format is no part of that check, and a model keeps to it.
    masked = isinstance(value, str) and "redacted" in value.lower()
    return fits and not ("format" in schema and masked)


def _loose(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in schema.items() if name in ("title", "description")}


def _missing(
    tool: str, arguments: Mapping[str, Any] | None, tools: Mapping[str, Definition]
) -> dict[str, Definition]:
    """Return a required tool that neither trace nor definition has, by its arguments."""
    if tool in tools:
        return {}
    from reviewer.importing.recorded.offered import inferred_schema

    return {tool: Definition(tool, "", inferred_schema([dict(arguments or {})]), True)}


def _rules(story: Story, marked: Marked, world: World, builder: Builder) -> dict[str, Any]:
    """Return which tools must and must not be called. Raises NotUsable for one that is both."""
    right = [c for c in story.calls if c.seq not in marked.wrong | marked.irrelevant]
    writes = [c.tool for c in right if builder.acts(c.tool) == "write" and c.status == "ok"]
    required = list(dict.fromkeys([*(need.tool for need in world.needs), *writes]))
    good = {call.tool for call in right} | set(required)
    wrong = {call.tool for call in story.calls if call.seq in marked.wrong}
    forbidden = list(dict.fromkeys([*marked.forbidden, *sorted(wrong - good)]))
    for tool in marked.forbidden:
        if tool in good:
            raise NotUsable(
                f"{shown(tool)} is forbidden, and the corrected attempt calls it",
                f"--wrong {shown(tool)} marks its calls, --irrelevant leaves them out",
            )
    rules: dict[str, Any] = {}
    if required:
        rules |= {"required": required, "order": "any"}
    if forbidden:
        rules["forbidden"] = forbidden
    return rules


def _expected(
    episode: Mapping[str, Any],
    story: Story,
    marks: Marks,
    marked: Marked,
    world: World,
    plans: Mapping[str, list[dict[str, Any]]],
    keys: Keys,
) -> dict[str, Any]:
    good = turns.calls_in(plans[turns.CORRECTED])
    right = _end(episode, good)
    wrong = _end(episode, turns.calls_in(plans[turns.RECORDED]))
    start = dict(episode["initial_state"])
    paths = [*_paths(start, right), *_paths(right, wrong)]
    state, absent = {}, []
    for path in dict.fromkeys(paths):
        value = _at(right, path)
        if value is _NONE:
            absent.append(".".join(path))
        else:
            state[".".join(path)] = value
    expected: dict[str, Any] = {}
    if state:
        expected["state"] = state
    if absent:
        expected["absent"] = absent
    arguments = {
        need.tool: keys.lasting(need.tool, need.arguments)
        for need in world.needs
        if need.arguments and keys.lasting(need.tool, need.arguments)
    }
    if arguments:
        expected["arguments"] = arguments
    said = marks.say or ("" if marked.wrong or marked.wrong_words else _last(plans))
    if said:
        expected["message_reference"] = said
    if marks.never_say:
        expected["message_excludes"] = list(marks.never_say)
    elif marked.wrong_words:
        words = [one.text for one in story.said if one.seq in marked.wrong_words]
        what = "a wording that only the wrong message has (--never-say)"
        expected["message_excludes"] = blank(what, *words)
    if good:
        expected["trajectory"] = [{"tool": tool, "arguments": made} for tool, made in good]
    return expected


def _last(plans: Mapping[str, list[dict[str, Any]]]) -> str:
    return "\n".join(plans[turns.CORRECTED][-1].get("messages", ()))


def _budget(plans: Mapping[str, list[dict[str, Any]]], world: World) -> dict[str, Any]:
    """Return a budget that no reasonable attempt meets: polling must end somewhere."""
    most = max(len(turns.calls_in(told)) for told in plans.values())
    return {"max_steps": 2 * most + 6, "max_timeouts": 2 + world.faults}


_NONE = object()
_DEEP = 3


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return _NONE
        value = value[step]
    return value


def _paths(before: Any, after: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths at which two states differ, at most three members deep."""
    if same(before, after):
        return []
    names = [*before, *after] if isinstance(before, dict) and isinstance(after, dict) else []
    plain = all(name and not set(name) & set(".[]") for name in names)
    if not names or len(path) >= _DEEP or not plain:
        return [path] if path else []
    found = []
    for name in dict.fromkeys(names):
        if name in before and name in after:
            found += _paths(before[name], after[name], (*path, name))
        else:
            found += _only(before.get(name, after.get(name)), (*path, name))
    return found


def _only(value: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths of a value that only one of two states has: of marks of writes each."""
    deeper = len(path) < _DEEP and isinstance(value, dict) and value
    if not deeper or not all(name and not set(name) & set(".[]") for name in value):
        return [path]
    return [found for name, held in value.items() for found in _only(held, (*path, name))]


# The world is asked what comes of calls: the state they end in, and whether it answers as recorded.


def _answers(
    episode: Mapping[str, Any], calls: Iterable[tuple[str, dict[str, Any]]]
) -> tuple[list[Answer | None], dict[str, Any]]:
    """Return what a world answers to calls (None for a gap) and the state they end in."""
    held = list(calls)
    with ThreadPoolExecutor(1) as thread:  # the caller's own may have an event loop already
        return thread.submit(asyncio.run, _called(episode, held)).result()


async def _called(
    episode: Mapping[str, Any], calls: list[tuple[str, dict[str, Any]]]
) -> tuple[list[Answer | None], dict[str, Any]]:
    of = Episode(
        episode_id="world",
        initial_state=episode["initial_state"],
        simulator=episode["simulator"],
    )
    try:
        world = SimulatedWorld(of, 1, "the trace")
    except Unrunnable as error:
        raise NotUsable(str(error)) from None
    answers: list[Answer | None] = []
    for tool, arguments in calls:
        try:
            answers.append(await world.call(tool, arguments))
        except (WorldGap, KeyError):
            answers.append(None)
    return answers, await world.state()


def _end(episode: Mapping[str, Any], calls: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    return _answers(episode, calls)[1]


def _differences(episode: Mapping[str, Any], story: Story) -> list[dict[str, Any]]:
    """Return a blank for each recorded call that the world answers otherwise than the trace."""
    answers, _ = _answers(episode, [(call.tool, call.arguments) for call in story.calls])
    found = []
    for call, answer in zip(story.calls, answers, strict=True):
        if answer is None or not call.answered:
            continue
        if answer.status != call.status or (
            answer.status == "ok" and not same(call.answer, answer.content)
        ):
            what = (
                f"confirm what {call.tool} answers at event {call.seq}: the world answers "
                "otherwise than the trace"
            )
            found.append(blank(what, call.answer, answer.content))
    return found


def _title(request: str, episode_id: str) -> str:
    line = " ".join(request.split())
    return (line[:77] + "…" if len(line) > 78 else line) or episode_id


def _source(
    main: SourceTrace,
    siblings: Sequence[SourceTrace],
    masks: Masks,
    marks: Marks,
    keys: Keys,
    world: World,
    open_: list[dict[str, Any]],
    loosened: list[str],
    notes: list[str],
    tools: Iterable[Definition],
    wrong: list[str],
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "made_by": MADE_BY,
        "traces": [
            {
                "trace": masks.masked(one.trace),
                "sha256": one.sha256,
                "format": one.form,
                "reader": one.reader,
                **({} if one is main else {"pooled": True}),
            }
            for one in (main, *siblings)
        ],
        "marks": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in msgspec.structs.asdict(marks).items()
            if value
        },
        "wrong_tools": wrong,
        "volatile": keys.volatile,
        "masks": masks.stand_ins,
        "inferred": sorted(one.name for one in tools if one.inferred),
        "loosened": loosened,
        "pooled": world.pooled,
        "gaps": world.gaps,
        "notes": [*notes, NOT_RANDOM],
        "open": open_,
    }
    if marks.accept_nothing:
        told["accepted"] = {"nothing": marks.accept_nothing}
    return {name: value for name, value in told.items() if value}
