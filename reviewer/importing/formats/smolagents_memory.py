"""The memory of a smolagents run as JSON: a list of its steps (`agent.memory.get_full_steps()` or
`get_succinct_steps()`), or the run's result that holds them (`RunResult.dict()`).

A step repeats the whole memory as what the model was given; that is no other act. What a managed
agent did is in its own memory alone, of which the report is the result of one call."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import ABSENT, CUT, Draft, elapsed_ms, measured, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, at_path, mapping, objects, tell_rest, text
from reviewer.importing.formats.chat import episode_of
from reviewer.importing.formats.smolagents import MOST_STEPS, add_steps, calls_of_code
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

MANAGED = "what a managed agent did is in its own memory: it is not measured"
OTHERWISE = "the result says that the run ended well, and its last step that it did not"
UNFINISHED = "unfinished"
_REPORT = re.compile(r"Here is the final answer from your managed agent '")
_STEP = frozenset(("model_output", "model_output_message", "tool_calls", "observations"))
_OLD = frozenset(("step", "action_output", "observations", "tool_calls"))
_OTHER_STEPS = ("task", "plan", "facts", "system_prompt", "model_output_message_plan")
_RESULT = frozenset(("output", "state", "token_usage", "timing", "system_prompt"))
_STATES = {"success": "completed", "max_steps_error": "max_steps"}


class SmolagentsMemoryReader(Format):
    name = "smolagents-memory"
    facts = FormatFacts(
        by="a list of steps with `step_number` or `step`, alone or as `steps` of a run's result",
        steps="yes; of code, what ran it; a run with managed agents is not measured",
        times="yes",
        tokens="yes",
    )

    def sniff(self, head: Head) -> bool:
        value = head.value
        if isinstance(value, dict):
            return "steps" in value and bool(_RESULT & value.keys()) and _are_steps(value["steps"])
        return _are_steps(value)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(partial(_run, source, source.load()))


def _are_steps(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    steps = [_numbered(one) for one in value if isinstance(one, dict)]
    return any(map(_is_action, steps)) and not any("role" in one for one in steps)


def _is_action(step: dict[str, Any]) -> bool:
    return "step_number" in step and bool(_STEP & step.keys())


def _numbered(step: Any) -> Any:
    """Return a step with its number under the name of today: before 1.13 it was `step`."""
    if not isinstance(step, dict) or "step_number" in step or not step.keys() >= _OLD:
        return step
    return {**step, "step_number": step["step"]}


def _run(source: Source, value: Any) -> Foreign:
    result = mapping(value)
    steps = result.get("steps") if result else value
    if not isinstance(steps, list) or not steps:
        raise Rejected("missing:steps")
    draft = Draft(SmolagentsMemoryReader.name)
    kept = [_numbered(one) for one in steps[:MOST_STEPS]]
    add_steps(draft, [_without_copies(one) for one in kept])
    if len(kept) < len(steps) or not _in_a_row(kept):
        draft.unread(f"steps{CUT}")
    if any(_REPORT.search(str(one.get(name))) for one in objects(kept) for name in _RESULTS):
        draft.unread(f"steps of a managed agent{ABSENT}")
        draft.note(MANAGED)
    rest = [_without_copies(one) for one in kept]
    tell_rest({**result, "steps": rest}, draft, told=calls_of_code(rest))
    actions = [one for one in objects(kept) if "step_number" in one]
    timing = mapping(result.get("timing"))
    times = [mapping(one.get("timing")) or one for one in objects(kept)]
    start = timing.get("start_time") or next((t["start_time"] for t in times if _starts(t)), None)
    end = next((t["end_time"] for t in reversed(times) if t.get("end_time") is not None), None)
    took = measured(timing.get("duration"))
    return draft.foreign(
        episode_id=episode_of(source, 1, {}, draft, source.place),
        candidate_id=source.candidate or _model(actions) or source.home,
        final_message=_answer(result, actions),
        latency_ms=took * 1000 if took is not None else elapsed_ms(start, end),
        started_at=draft.at(start),
        termination=_ending(result, actions, draft),
        usage=_usage(result, objects(kept)),
        title=next((text(one.get("task")) for one in objects(kept) if "task" in one), "")[:80],
    )


_RESULTS = ("observations", "action_output")


def _starts(times: dict[str, Any]) -> bool:
    return times.get("start_time") is not None


def _without_copies(step: Any) -> Any:
    """Return a step less what the model was given for it: the steps before."""
    if not isinstance(step, dict):
        return step
    return {name: one for name, one in step.items() if name != "model_input_messages"}


def _in_a_row(steps: list[Any]) -> bool:
    """Return whether no step is missing: they begin with a task, and count from 1 for each."""
    next_one = None
    for step in objects(steps):
        if isinstance(step.get("task"), str):
            next_one = 1
        elif "step_number" in step:
            if next_one is None or step["step_number"] != next_one:
                return False
            next_one += 1
    return True


def _ending(result: dict[str, Any], actions: list[dict[str, Any]], draft: Draft) -> str | None:
    """Return how the run ended: as its last step shows, and as its result states it."""
    last = actions[-1] if actions else {}
    stated = _STATES.get(text(result.get("state")), text(result.get("state"))[:60])
    names = [at_path(call, "function", "name") for call in objects(last.get("tool_calls"))]
    kind = text(at_path(last, "error", "type"))
    if kind == "AgentMaxStepsError":
        shown = "max_steps"
    elif last.get("is_final_answer") is True or "final_answer" in names:
        shown = "completed"
    elif "is_final_answer" not in last and not last.get("error") and stated:
        shown = stated
    else:
        shown = "error" if last.get("error") else UNFINISHED
    if stated == "completed" != shown:
        draft.note(OTHERWISE)
        return shown
    return stated or shown


def _answer(result: dict[str, Any], actions: list[dict[str, Any]]) -> str | None:
    """Return what the run gave as its answer; None where it ended without one."""
    last = actions[-1] if actions else {}
    given = result.get("output")
    if given is None and last.get("is_final_answer") is not False:
        given = last.get("action_output") or last.get("observations")
    elif given is None and at_path(last, "error", "type") == "AgentMaxStepsError":
        given = last.get("action_output")
    return None if given in (None, "") else given if isinstance(given, str) else str(given)


def _model(actions: list[dict[str, Any]]) -> str:
    """Return the model of the answers, where what the provider sent was kept."""
    raw = (at_path(one, "model_output_message", "raw", "model") for one in actions)
    return next((found for one in raw if (found := text(one))), "")


def _usage(result: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, int] | None:
    """Return the tokens of the whole run, else the sum of those of its steps."""
    whole = mapping(result.get("token_usage"))
    held = [whole] if whole else [mapping(one.get("token_usage")) for one in steps]
    asked, made = ([measured(one.get(name)) for one in held if one] for name in _COUNTS)
    return tokens(input_tokens=_sum(asked), output_tokens=_sum(made))


_COUNTS = ("input_tokens", "output_tokens")


def _sum(counts: list[float | None]) -> float | None:
    known = [one for one in counts if one is not None]
    return sum(known) if known else None
