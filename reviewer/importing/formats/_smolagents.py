"""What smolagents keeps of a run's steps, in each of the ways it was written: chat messages, the
steps' own JSON, or the steps as Python prints them."""

from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, measured, tokens
from reviewer.importing.formats._python_text import NotLiteral, literal, members, parts
from reviewer.importing.formats._smol_chat import add_call, add_message, role_of

MOST_STEPS = 5000


class _Step(NamedTuple):
    """An action step: what the model wrote, the calls it made, what came of them."""

    said: str
    calls: list[dict[str, Any]]
    seen: str | None
    error: str | None
    took_ms: float | None
    tokens: dict[str, int] | None


def steps_of(kept: Any) -> list[Any]:
    """The steps of a record: a list, or one text that holds the whole list as Python prints it. A
    text that is no list is one step."""
    if isinstance(kept, list):
        return kept[:MOST_STEPS]
    if not isinstance(kept, str) or not kept.strip():
        return []
    name, found = parts(kept) if kept.lstrip().startswith("[") else ("", [])
    whole = found and not name and all("(" in one for one in found)
    return found[:MOST_STEPS] if whole else [kept]


def asks(steps: list[Any]) -> bool:
    """Whether the steps hold the task themselves."""
    return any(
        role_of(step) == "user" or "task" in step
        if isinstance(step, dict)
        else isinstance(step, str) and step.startswith("TaskStep(")
        for step in steps
    )


def add_steps(draft: Draft, steps: list[Any]) -> None:
    """Every step into a draft, in order."""
    for step in steps:
        if isinstance(step, dict):
            _add_object(draft, step)
        elif isinstance(step, str):
            _add_text(draft, step)
        else:
            draft.note("steps of an unknown shape were passed over")
            draft.unread("intermediate_steps")


def _add_object(draft: Draft, step: dict[str, Any]) -> None:
    if "role" in step:
        add_message(draft, step)
        return
    if "step_number" not in step and "observations" not in step:
        if isinstance(step.get("task"), str):
            draft.message("user", step["task"])
        elif isinstance(step.get("plan"), str):
            draft.message("agent", step["plan"])
        else:
            draft.note("steps of an unknown shape were passed over")
            draft.unread("intermediate_steps")
        return
    error, timing, reply = step.get("error"), step.get("timing"), step.get("model_output_message")
    # A call that failed stands in the model's reply only.
    calls = step.get("tool_calls") or (reply.get("tool_calls") if isinstance(reply, dict) else None)
    if isinstance(error, dict):
        error = error.get("message") or error
    seconds = timing.get("duration") if isinstance(timing, dict) else step.get("duration")
    said, seen, used = step.get("model_output"), step.get("observations"), step.get("token_usage")
    _add(
        draft,
        _Step(
            said if isinstance(said, str) else "",
            [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else [],
            seen if isinstance(seen, str) else None,
            str(error)[:5000] if error else None,
            _ms(seconds),
            _tokens(used) if isinstance(used, dict) else None,
        ),
    )


_NONE = ("", "None", "[]", "()")


def _add_text(draft: Draft, step: str) -> None:
    name, found = members(step)
    texts = {key: _text(value) for key, value in found.items()}
    if name == "ActionStep":
        draft.note("steps stand in the file as Python prints them and were read out of that")
        timing = members(found.get("timing", ""))[1] or found
        used = {
            key: _text(value) for key, value in members(found.get("token_usage", ""))[1].items()
        }
        _add(
            draft,
            _Step(
                str(texts.get("model_output") or ""),
                _printed_calls(draft, found),
                texts["observations"] if isinstance(texts.get("observations"), str) else None,
                _error(found.get("error", "")),
                _ms(_text(timing.get("duration", ""))),
                _tokens(used),
            ),
        )
    elif name == "TaskStep" and isinstance(texts.get("task"), str):
        draft.message("user", texts["task"])
    elif name == "SystemPromptStep" and isinstance(texts.get("system_prompt"), str):
        draft.message("system", texts["system_prompt"])
    elif name == "PlanningStep":
        plan = texts.get("plan") or texts.get("model_output_message_plan")
        draft.message("agent", plan if isinstance(plan, str) else step)
    elif name != "FinalAnswerStep":
        draft.message("agent", step)


def _text(value: str) -> Any:
    try:
        return literal(value) if value else None
    except NotLiteral:
        return None


def _printed_calls(draft: Draft, found: dict[str, str]) -> list[dict[str, Any]]:
    """The calls of a printed step: its own, else those of the model's reply."""
    reply = members(found.get("model_output_message", ""))[1].get("tool_calls", "")
    for text in (found.get("tool_calls", ""), reply):
        calls = _calls(text)
        if len(calls) < len(parts(text)[1]) or not (calls or text.strip() in _NONE):
            draft.unread(f"calls[{draft.calls()}]", len(draft.events) + 1)
        if calls:
            return calls
    return []


def _calls(text: str) -> list[dict[str, Any]]:
    """Calls as the step keeps them (`ToolCall`), or as the model made them, a level deeper."""
    made = [members(one)[1] for one in parts(text)[1]]
    inner = [{**found, **members(found.get("function", ""))[1]} for found in made]
    return [
        {key: _text(found[key]) for key in ("id", "name", "arguments") if key in found}
        for found in inner
        if "name" in found
    ]


def _error(text: str) -> str | None:
    return None if text.strip() in ("", "None") else text.strip()[:5000]


def _ms(seconds: Any) -> float | None:
    found = measured(seconds)
    return None if found is None else found * 1000


def _tokens(used: dict[str, Any]) -> dict[str, int] | None:
    return tokens(
        input_tokens=measured(used.get("input_tokens")),
        output_tokens=measured(used.get("output_tokens")),
    )


def _add(draft: Draft, step: _Step) -> None:
    if step.said:
        draft.message("agent", step.said, tokens=step.tokens, latency_ms=step.took_ms)
    before = draft.calls()
    for call in step.calls:
        add_call(draft, call)
    made = draft.calls() - before
    outcome = step.error if step.seen is None else step.seen
    if outcome is not None and made:
        draft.result(outcome, status="error" if step.error else "ok")
        if made > 1:
            draft.note("calls of one step share one observation: it stands with the first")
        draft.settle()
        if step.error and step.seen is not None:
            draft.error(step.error)
    elif step.error:
        draft.error(step.error)
    elif step.seen:
        draft.message("environment", step.seen)
