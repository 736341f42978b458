"""An episode made from recorded attempts and a person's marks, with the scripts of its proof.

Recorded acts are not assumed to be right: the contract is that of the corrected attempt. The trace
alone decides only one part of it: writes without a mark are required.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.recorded import NotUsable, turns
from reviewer.importing.recorded.asked import changed_paths, differences, end_of
from reviewer.importing.recorded.keys import Keys, canonical
from reviewer.importing.recorded.known import Known, scripted_user, with_request, words_of, world_of
from reviewer.importing.recorded.marks import Marked, Marks, resolved
from reviewer.importing.recorded.masked import masked_marks, masked_story, masked_tools, table
from reviewer.importing.recorded.masks import Masks
from reviewer.importing.recorded.offered import Definition, inferred_tool, offered_tools
from reviewer.importing.recorded.story import Made, Story
from reviewer.importing.recorded.world import Builder, World
from reviewer.running.world import final_state_of
from reviewer.suite.blanks import blank, blanks_in
from reviewer.suite.errors import shown
from reviewer.suite.json_values import MISSING, at, same
from reviewer.suite.model import RED_TEAM, Episode, RedactionRules
from reviewer.suite.script import Script
from reviewer.suite.tool_names import tool_names

MADE_BY = "reviewer episode from-trace"
NOT_RANDOM = (
    "picked because it failed or mattered: how often agents pass it says nothing of how often they "
    "pass in production"
)


class SourceTrace(NamedTuple):
    """One trace from which an episode is made, and its identity: the sha256 of its file or stored
    record, its format, and the version of the reader."""

    story: Story
    trace: str
    sha256: str
    form: str
    reader: str
    of: dict[str, Any] | None = None
    """The suite and the episode of a stored trace, and whether it belongs to a draft."""


class MadeEpisode(NamedTuple):
    """`episode` is the content of its file, `script` that of its proof."""

    episode: dict[str, Any]
    script: dict[str, Any]
    blanks: int


def _named_alike(
    main: SourceTrace,
    siblings: Sequence[SourceTrace],
    defined: Mapping[str, Definition],
    marks: Marks,
) -> tuple[list[SourceTrace], list[str]]:
    """Return the siblings with the tools of the trace under its own names, and the renamings: an
    MCP client puts the server's name before those of its tools."""
    needed = [need.partition(":")[0] for need in marks.required]
    names = {*defined, *(call.tool for call in main.story.calls), *needed, *marks.forbidden}
    ours = tool_names(frozenset(names))
    found, notes = [], []
    for one in siblings:
        same = {
            name: next(iter(kin.same))
            for name, kin in ours.akin({call.tool for call in one.story.calls}).items()
            if len(kin.same) == 1
        }
        notes += [
            f"{shown(theirs)} in {one.story.name} is taken for {shown(own)}"
            for theirs, own in sorted(same.items())
        ]
        steps = tuple(
            step._replace(tool=same.get(step.tool, step.tool)) if isinstance(step, Made) else step
            for step in one.story.steps
        )
        found.append(one._replace(story=one.story._replace(steps=steps)) if same else one)
    return found, notes


def episode_of(
    main: SourceTrace,
    siblings: Sequence[SourceTrace],
    defined: Mapping[str, Definition],
    marks: Marks,
    rules: RedactionRules,
    episode_id: str,
    request: str = "",
    known: Known | None = None,
    asked: str = "",
) -> MadeEpisode:
    """Return the episode made from a trace. `siblings` are other traces of the same task, whose
    answers are used where the trace has none; `defined` are the tools as they were offered;
    `request` is what the user asked, used where no message says it, and `asked` the same, used
    whatever messages say; `known` are the facts of the trace's suite about its episode. Raises
    NotUsable."""
    asked = asked or ("" if known is None else known.episode.user_request)
    siblings, renamed = _named_alike(main, siblings, defined, marks)
    whole = with_request(main.story, known)
    masks = table(
        [whole, *(one.story for one in siblings)], defined, marks, rules, asked or request,
        words_of(known),
    )  # fmt: skip
    story = masked_story(whole, masks)
    others = [masked_story(one.story, masks) for one in siblings]
    plain = offered_tools(defined, [c for one in (main, *siblings) for c in one.story.calls])
    tools, loosened = masked_tools(plain, masks, whole, story)
    marks = masked_marks(marks, masks)
    marked = resolved(marks, story, {*tools, *(need.partition(":")[0] for need in marks.required)})
    keys = Keys((story, *others), marks)
    builder = Builder(story, others, marks, marked, keys)
    for need in marked.needs:
        tools = tools | _missing(need.tool, need.arguments, tools)
    world = world_of(known, builder, tools, masks, story)
    taken = ["request", "start state", "world"] if world is not None else ["request"]
    if world is None:
        world = builder.built(tools)
        if known is not None:
            world.notes.append(_OWN_WORLD)
    talk = turns.conversation_of(story, "turns" in marks.confirm)
    if (user := scripted_user(known)) is not None:
        talk = turns.Conversation(talk.request, masks.masked(user), [])
        taken.append("user")
    asked = masks.masked(asked) or talk.request or masks.masked(request)
    cases = {
        name: case["arguments"]
        for name, told in reversed(world.tools.items())
        for case in reversed(told["responses"].get("match") or ())
        if case.get("error") is None
    }
    plans = turns.scripts_of(story, marks, marked, world.needs, talk.user is not None, cases)
    open_ = [*world.open, *talk.open]
    made: dict[str, Any] = {
        "schema": Episode.SCHEMA,
        "episode_id": episode_id,
        "title": _title(asked, episode_id),
        "user_request": asked,
        "initial_state": world.initial_state,
        "tools": _rules(story, marked, world, builder),
        "expected": {},
        "budget": {},
        "simulator": {"tools": world.tools},
    }
    if world.final_state is not None:
        made["simulator"]["final_state"] = world.final_state
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
        what = (
            "confirm that user_request is empty: the trace does not say what is asked (--request "
            "says it)"
        )
        open_.append(blank(what))
    open_ += differences(made, story)
    notes = [*world.notes, *renamed, *([_LEFT] if masks.left else [])]
    own = (made.get("user") or {}).get("tools") or {}
    if users := [tool for tool in story.of_user if tool not in tools and tool not in own]:
        made["tools"]["of_user"] = users
        notes.append(_USERS_CALLS)
    if any(one.reader == STORED and _has_masks(one.story) for one in (main, *siblings)):
        notes.append(_MASKED_BEFORE)
    made["source"] = _source(
        main, siblings, masks, marks, keys, world, open_, loosened, notes, tools.values(),
        sorted({call.tool for call in story.calls if call.seq in marked.wrong}),
        [] if known is None else taken,
    )  # fmt: skip
    made["source"]["recorded_sha256"] = turns.digest_of(plans[turns.RECORDED])
    if not made["tools"]:
        del made["tools"]
    plan = {name: {"turns": told} for name, told in plans.items()}
    script = {
        "schema": Script.SCHEMA,
        "episodes": {
            episode_id: {"plans": plan, "attempts": [{"plan": name} for name in plan]},
        },
    }
    blanks = sum(1 for _ in blanks_in(made))
    return MadeEpisode(made, script, blanks)


STORED = "stored"
"""The name of the reader for a trace from the store."""
_OWN_WORLD = (
    "the world is made of the trace: that of the trace's episode is not known to answer as the "
    "trace does"
)
_MASKED_BEFORE = (
    "identifiers were masked when the trace was stored, and different ones look alike: the file "
    "that it was imported from tells them apart"
)


def _has_masks(story: Story) -> bool:
    return any("[REDACTED" in canonical([call.arguments, call.answer]) for call in story.calls)


_USERS_CALLS = (
    "calls that the user made with tools of its own are left out, and what they changed: give the "
    "user these tools (user.tools), or confirm that the agent needs nothing of them"
)
_LEFT = "some identifiers were masked without the table: two of them may look alike"


def _missing(
    tool: str, arguments: Mapping[str, Any] | None, tools: Mapping[str, Definition]
) -> dict[str, Definition]:
    """Return a required tool that no trace calls and nothing defines, inferred from its
    arguments."""
    if tool in tools:
        return {}
    return {tool: inferred_tool(tool, [arguments or {}])}


def _rules(story: Story, marked: Marked, world: World, builder: Builder) -> dict[str, Any]:
    """Return which tools must and must not be called. Raises NotUsable for one that is both."""
    bad = marked.wrong | marked.irrelevant
    right = [c for c in story.calls if c.seq not in bad]
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
    right = end_of(episode, good)
    wrong = end_of(episode, turns.calls_in(plans[turns.RECORDED]))
    start = dict(episode["initial_state"])
    expected: dict[str, Any] = {}
    if world.final_state is not None:
        start, right, wrong = (
            final_state_of(state, world.final_state) for state in (start, right, wrong)
        )
        if not all(isinstance(state, dict) for state in (start, right, wrong)):
            if not same(start, right) or not same(right, wrong):
                expected["final_state"] = right
            start = right = wrong = {}
    paths = [*changed_paths(start, right), *changed_paths(right, wrong)]
    state, absent = {}, []
    for path in dict.fromkeys(paths):
        value = at(right, path)
        if value is MISSING:
            absent.append(".".join(path))
        else:
            state[".".join(path)] = value
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
        expected["trajectory"] = [_step(world, tool, made) for tool, made in good]
    return expected


def _step(world: World, tool: str, made: dict[str, Any]) -> dict[str, Any]:
    """Return a call of the trajectory; one with unknown arguments accepts any."""
    required = world.tools[tool]["parameters"].get("required") or ()
    return {"tool": tool, "arguments": made} if set(required) <= made.keys() else {"tool": tool}


def _last(plans: Mapping[str, list[dict[str, Any]]]) -> str:
    return "\n".join(plans[turns.CORRECTED][-1].get("messages", ()))


def _budget(plans: Mapping[str, list[dict[str, Any]]], world: World) -> dict[str, Any]:
    """Return a budget that no reasonable attempt reaches: polling must end at some point."""
    most = max(len(turns.calls_in(told)) for told in plans.values())
    return {"max_steps": 2 * most + 6, "max_timeouts": 2 + world.faults}


def _title(request: str, episode_id: str) -> str:
    line = " ".join(request.split())
    return (line[:77] + "…" if len(line) > 78 else line) or episode_id


def _named(of: Mapping[str, Any], masks: Masks) -> dict[str, Any]:
    """Return the source facts of a trace without identifiers; a digest is not an identifier,
    whatever it looks like."""
    return {**of, **{name: masks.masked(of[name]) for name in ("suite", "episode")}}


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
    taken: list[str],
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
                **({} if one.of is None else {"of": _named(one.of, masks)}),
                **({"taken": taken} if one is main and taken else {}),
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
