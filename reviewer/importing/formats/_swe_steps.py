"""The turns of a SWE-agent trajectory as events."""

import re
from typing import Any

from reviewer.importing.draft import Draft, measured, words
from reviewer.importing.foreign_json import parse_text

_PSEUDO = re.compile(r"exit_[a-z_]+|early_exit|skip")
"""What the harness writes as an action when it ends a run."""


def write(draft: Draft, steps: list[Any], history: list[Any], cut: bool) -> str:
    """Prompts and steps into the draft; returns the task that was asked. `cut` says that the
    harness ended the run: then it speaks through the last step."""
    turns = [turn for turn in history if isinstance(turn, dict)]
    if len(turns) < len(history):
        draft.note("parts of the history are no messages: left out")
        draft.unread("history", 1)
    if any(turn.get("is_demo") for turn in turns):
        draft.note("a demonstration before the task was left out")
        turns = [turn for turn in turns if not turn.get("is_demo")]
    task = _opening(draft, turns)
    if steps:
        _steps(draft, steps, [turn for turn in turns if turn.get("role") == "assistant"], cut)
    else:
        _history(draft, turns)
    return task


def _opening(draft: Draft, turns: list[dict[str, Any]]) -> str:
    """System prompt and task: all that stands before the agent's first turn."""
    task = ""
    for turn in turns:
        if turn.get("role") == "assistant":
            break
        text = words(turn.get("content"))
        draft.message("user" if turn.get("role") == "user" else "system", text)
        if turn.get("role") == "user" and not task and isinstance(text, str):
            task = text
    return task


def _steps(draft: Draft, steps: list[Any], replies: list[dict[str, Any]], cut: bool) -> None:
    """`replies` hold the structured calls of steps; rejected replies and an automatic submission
    stand among the steps only."""
    told: Any = None
    place = 0
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            draft.note("parts of the trajectory are no steps: left out")
            draft.unread(f"trajectory[{number - 1}]")
            continue
        if not isinstance(step.get("action"), str):
            draft.unread(f"trajectory[{number - 1}].action")
        reply: dict[str, Any] = {}
        if place < len(replies) and _answers(replies[place], step):
            reply, place = replies[place], place + 1
        _step(draft, step, reply, cut and number == len(steps))
        state = step.get("state")
        state = parse_text(state) if isinstance(state, str) else state
        if state not in (None, "", {}, told):
            told = state
            draft.state(state)


def _answers(reply: dict[str, Any], step: dict[str, Any]) -> bool:
    if "action" in reply:
        return bool(reply["action"] == step.get("action"))
    return reply.get("content") == step.get("response")


def _step(draft: Draft, step: dict[str, Any], reply: dict[str, Any], last: bool) -> None:
    thought, action = step.get("thought"), step.get("action")
    text = action.strip() if isinstance(action, str) else ""
    if _PSEUDO.fullmatch(text):
        draft.error({"exit": text, "message": thought or step.get("observation")})
        return
    said = thought if isinstance(thought, str) and thought.strip() else step.get("response")
    observation = step.get("observation")
    if not text:
        if last and not reply:
            draft.error({"message": said, "observation": observation})
            return
        draft.message("agent", said)
        draft.error(observation or "the reply held no action that could be run")
        return
    if isinstance(said, str) and said.strip() and said.strip() != text:
        draft.message("agent", said)
    seconds = measured(step.get("execution_time"))
    call_id = _call(draft, text, reply.get("tool_calls"))
    draft.result(observation, call_id, latency_ms=seconds and seconds * 1000)


def _call(draft: Draft, action: str, structured: Any) -> Any:
    """The call as the model made it (1.x), else the command line under its first word."""
    calls = [call for call in structured or () if isinstance(call, dict)] if structured else []
    named = [call for call in calls if isinstance(call.get("function"), dict)]
    if structured and not (isinstance(structured, list) and len(named) == len(structured) == 1):
        draft.unread(f"calls[{draft.calls()}].tool_calls", len(draft.events) + 1)
    for call in named[:1]:
        function = call["function"]
        draft.call(function.get("name"), function.get("arguments"), call.get("id"))
        return call.get("id")
    draft.call(action.split(None, 1)[0], {"command": action})
    return None


def _history(draft: Draft, turns: list[dict[str, Any]]) -> None:
    """Turns of a file without a trajectory, from the agent's first on."""
    begun = False
    for turn in turns:
        role, content = turn.get("role"), words(turn.get("content"))
        begun = begun or role == "assistant"
        if not begun:
            continue
        if role == "assistant":
            action = turn.get("action")
            text = action.strip() if isinstance(action, str) else ""
            if action is not None and not isinstance(action, str):
                draft.unread("history.action")
            said = turn.get("thought") or content
            if said:
                draft.message("agent", said)
            if text or turn.get("tool_calls"):
                _call(draft, text or "unnamed", turn.get("tool_calls"))
        elif role == "tool" or turn.get("message_type") == "observation" or draft.calls():
            ids = turn.get("tool_call_ids")
            draft.result(content, ids[0] if isinstance(ids, list) and ids else None)
        else:
            draft.message("user" if role == "user" else "system", content)
