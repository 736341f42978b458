"""Calls in a constructed world: the state they end in, and whether it answers as the trace does."""

from collections.abc import Iterable, Mapping
from typing import Any

from reviewer.importing.recorded import NotUsable
from reviewer.importing.recorded.story import Made, Story, as_value
from reviewer.running.model import Answer, Unrunnable, WorldGap
from reviewer.running.world import SimulatedWorld
from reviewer.suite.blanks import blank
from reviewer.suite.json_values import same
from reviewer.suite.model import Episode

_DEEP = 3


def changed_paths(before: Any, after: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
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
            found += changed_paths(before[name], after[name], (*path, name))
        else:
            found += _only(before.get(name, after.get(name)), (*path, name))
    return found


def _only(value: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths of a value that only one of two states has; each mark of a write counts
    separately."""
    deeper = len(path) < _DEEP and isinstance(value, dict) and value
    if not deeper or not all(name and not set(name) & set(".[]") for name in value):
        return [path]
    return [found for name, held in value.items() for found in _only(held, (*path, name))]


def _answers(
    episode: Mapping[str, Any], calls: Iterable[tuple[str, dict[str, Any]]]
) -> tuple[list[Answer | None], dict[str, Any]]:
    """Return a world's answers to calls (None for a gap) and the state they end in."""
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
            answers.append(world.answered(tool, arguments)[0])
        except (WorldGap, KeyError):
            answers.append(None)
    return answers, world.present


def end_of(
    episode: Mapping[str, Any], calls: Iterable[tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    return _answers(episode, calls)[1]


def reproduced(episode: Mapping[str, Any], story: Story) -> bool:
    """Return whether the world gives the trace's answer to every call for which the trace has
    one."""
    answers, _ = _answers(episode, [(call.tool, call.arguments) for call in story.calls])
    return all(
        not call.answered or (answer is not None and not _differs(call, answer))
        for call, answer in zip(story.calls, answers, strict=True)
    )


def _differs(call: Made, answer: Answer) -> bool:
    return answer.status != call.status or (
        answer.status == "ok" and not same(call.answer, as_value(answer.content))
    )


def differences(episode: Mapping[str, Any], story: Story) -> list[dict[str, Any]]:
    """Return a blank for each recorded call to which the world gives another answer than the
    trace."""
    answers, _ = _answers(episode, [(call.tool, call.arguments) for call in story.calls])
    found = []
    for call, answer in zip(story.calls, answers, strict=True):
        if answer is None or not call.answered:
            continue
        if _differs(call, answer):
            what = (
                f"confirm what {call.tool} answers at event {call.seq}: the world answers "
                "otherwise than the trace"
            )
            found.append(blank(what, call.answer, answer.content))
    return found
