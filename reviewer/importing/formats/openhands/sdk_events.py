"""Events of the OpenHands agent SDK (`kind`) as events of a trace."""

from types import NoneType
from typing import Any

from reviewer.importing.draft import Status, elapsed_ms, words
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.openhands.story import Story
from reviewer.importing.formats.values import mapping, objects

_KINDS = frozenset(
    {
        "ACPToolCallEvent", "ActionEvent", "AgentErrorEvent", "Condensation", "CondensationRequest",
        "CondensationSummaryEvent", "ConversationErrorEvent", "ConversationStateUpdateEvent",
        "LLMCompletionLogEvent", "MessageEvent", "ObservationEvent", "PauseEvent",
        "SystemPromptEvent", "TokenEvent", "UserRejectObservation",
    }
)  # fmt: skip


_WHOLE = ("action", "observation", "system_prompt", "tools", "value", "raw_input", "raw_output")
"""Members that are read whole: what was asked for, what came back, what was offered."""
_MEMBERS = frozenset(
    {
        *_WHOLE,
        "activated_microagents", "activated_skills", "content", "critic_result", "dynamic_context",
        "extended_content", "forgotten_event_ids", "llm_message", "reasoning_content",
        "responses_reasoning_item", "summary", "thinking_blocks", "thought", "tool_call",
    }
)  # fmt: skip


def is_event(value: dict[str, Any]) -> bool:
    """Return whether an object is an event of this generation."""
    kind = value.get("kind")
    return isinstance(kind, str) and kind in _KINDS and "source" in value


def take(story: Story, event: dict[str, Any]) -> None:
    """Take one event into the story."""
    kind, at = event["kind"], event.get("timestamp")
    story.clocked(at)
    if kind == "SystemPromptEvent":
        story.draft.message("system", words(event.get("system_prompt")), at=at)
    elif kind == "MessageEvent":
        _message(story, event)
    elif kind == "ActionEvent":
        _action(story, event)
    elif kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
        _result(story, event)
    elif kind == "ConversationErrorEvent":
        story.draft.error({name: event.get(name) for name in ("code", "detail")}, at=at)
        story.ended = "error"
    elif kind == "ConversationStateUpdateEvent":
        _state(story, event.get("key"), event.get("value"))
    elif kind == "ACPToolCallEvent":
        if event.get("status") in ("completed", "failed"):
            _elsewhere(story, event)
        else:
            story.pending[str(event.get("tool_call_id"))] = len(story.draft.events)
    _took(story, event)


def _took(story: Story, event: dict[str, Any]) -> None:
    """Account for what was read of an event: the call as the model made it is accounted for by
    itself."""
    story.took(event, _MEMBERS)
    story.account.whole(*(event.get(name) for name in _WHOLE))
    given = event.get("action")
    if event["kind"] == "ActionEvent" and not isinstance(event.get("tool_call"), (dict, NoneType)):
        story.draft.unread("history.tool_call")
    if given is not None and not isinstance(given, dict):
        story.draft.unread("history.action")


def _state(story: Story, key: Any, value: Any) -> None:
    """Take the state of the conversation, or what it has cost so far."""
    if key == "execution_status":
        ends = {"finished": "done", "error": "error", "stuck": "stuck_in_loop"}
        story.ended = ends.get(str(value)) or story.ended
    elif key == "stats" and isinstance(value, dict):
        uses = list(mapping(value.get("usage_to_metrics")).values())
        story.models |= {
            one["model_name"] for one in objects(uses) if isinstance(one.get("model_name"), str)
        }
        story.ledger.stated(uses)


def _elsewhere(story: Story, event: dict[str, Any]) -> None:
    """Write a call that another agent's server ran: call and result are in one event."""
    at, given = event.get("timestamp"), event.get("raw_input")
    story.pending.pop(str(event.get("tool_call_id")), None)
    if not isinstance(given, dict):
        story.draft.unread("history.raw_input", len(story.draft.events) + 1)
    asked = given if isinstance(given, dict) else {"title": event.get("title")}
    call = story.draft.call(event.get("tool_kind"), asked, event.get("tool_call_id"), at=at)
    failed = event.get("is_error") is True or event.get("status") == "failed"
    seen = event.get("raw_output") or words(event.get("content"))
    story.draft.result(seen, call.get("call_id"), None, "error" if failed else "ok", at=at)


def _spent(story: Story, event: dict[str, Any]) -> dict[str, Any] | None:
    own = event.get("llm_response_id")
    if own and story.told(str(own)):
        return None
    return story.ledger.spent(own, None, None)


def _message(story: Story, event: dict[str, Any]) -> None:
    said = event.get("llm_message")
    text = words(said.get("content")) if isinstance(said, dict) else ""
    if event.get("source") == "agent":
        story.say(text, event.get("timestamp"), _spent(story, event))
        return
    actor = "user" if event.get("source") == "user" else "system"
    if actor == "user":
        story.task = story.task or str(text)
    story.draft.message(actor, text, at=event.get("timestamp"))


def _action(story: Story, event: dict[str, Any]) -> None:
    at, spent = event.get("timestamp"), _spent(story, event)
    action = mapping(event.get("action"))
    thought, told = words(event.get("thought")), str(action.get("kind") or "")
    if told in ("FinishAction", "ThinkAction"):
        _said(story, event)
        text = action.get("message") or action.get("thought") or thought
        story.say(text or "", at, spent)
        if told == "FinishAction":
            story.final, story.ended = str(text) or None, "done"
        return
    if thought:
        story.say(thought, at, spent)
    asked = mapping(event.get("tool_call"))
    given = parse_text(asked.get("arguments"))
    if not isinstance(given, dict):
        given = {name: value for name, value in action.items() if name != "kind"}
    more = {} if thought or spent is None else spent
    tool = event.get("tool_name") or asked.get("name")
    call = story.draft.call(tool, given, event.get("tool_call_id"), at=at, **more)
    if spent is not None and not thought:
        story.responses.append(call)
    story.asked(event.get("id"), call.get("call_id"), at)


def _said(story: Story, event: dict[str, Any]) -> None:
    """Account for the call of a tool that only says something; a tool of another name may do
    more."""
    asked = event.get("tool_call")
    if isinstance(asked, dict) and asked.get("name") in ("finish", "think"):
        story.account.whole(asked)
    elif asked is not None or event.get("tool_name") not in ("finish", "think"):
        story.draft.unread("history.tool_call")


def _result(story: Story, event: dict[str, Any]) -> None:
    seen = mapping(event.get("observation"))
    if seen.get("kind") in ("FinishObservation", "ThinkObservation"):
        return
    content: Any = words(seen.get("content"))
    status: Status = "error" if seen.get("is_error") is True else "ok"
    code = seen.get("exit_code")
    if isinstance(code, int):
        content = {"output": content, "exit_code": code}
        status = "ok" if code == 0 and status == "ok" else "error"
    at = event.get("timestamp")
    call_id, asked_at = story.call_of(event.get("action_id"))
    call_id = call_id or event.get("tool_call_id")
    if event["kind"] == "AgentErrorEvent":
        content, status = event.get("error"), "error"
    elif event["kind"] == "UserRejectObservation":
        content, status = event.get("rejection_reason"), "denied"
        story.draft.approval({"decision": "rejected", "approver": "user"}, call_id)
    latency = elapsed_ms(asked_at, at)
    story.draft.result(content, call_id, event.get("tool_name"), status, at=at, latency_ms=latency)
