"""Checkpoints of CrewAI 1.x (`.checkpoints/<branch>/<time>_<id>_p-<parent>.json`): the record of
the events of a run up to a moment, with the crew, its tasks and agents as they were then.

Each checkpoint of a run repeats the events of those before it. Events are numbered, and name the
events they follow, so that one that is missing is noticed. A crew's last checkpoint is often of its
last task, before the event that ends the run.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import CUT, Draft, elapsed_ms, summed
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    Format,
    at_path,
    mapping,
    objects,
    sequence,
    tell_rest,
    text,
)
from reviewer.importing.formats.chat import episode_of
from reviewer.importing.head import Head
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

_NAME = "crewai-checkpoint"
_ENDS = {
    "crew_kickoff_completed": "completed",
    "crew_kickoff_failed": "error",
    "lite_agent_execution_completed": "completed",
    "lite_agent_execution_error": "error",
}
_QUIET_FAMILIES = (
    *("checkpoint_", "memory_", "knowledge_", "agent_reasoning_", "skill_"),
    *("step_observation_", "llm_guardrail_", "agent_logs_", "context_window_"),
)
_QUIET = frozenset(
    (
        *("crew_kickoff_started", "agent_execution_started", "agent_execution_completed"),
        *("lite_agent_execution_started", "llm_call_started", "llm_stream_chunk", "goal_achieved"),
        *("llm_thinking_chunk", "plan_refinement", "plan_replan_triggered", "goal_achieved_early"),
        *("cc_env", "codex_env", "cursor_env", "default_env", "tool_failure_detected"),
    )
)
"""Events that are no act, or repeat what another one holds."""
_LOOP = "AgentExecutor"
"""The flow in which CrewAI itself runs an agent. What the methods of another flow do is a program's
own."""
_FAILURES = ("llm_call_failed", "agent_execution_error", "task_failed", "crew_kickoff_failed",
             "flow_failed", "lite_agent_execution_error")  # fmt: skip
_FAILED_CALLS = ("tool_selection_error", "tool_validate_input_error", "tool_execution_error")
_ACTION = re.compile(r"^\s*Action:\s*(.+?)\s*$\s*^\s*Action Input:", re.MULTILINE)
_FINAL = "Final Answer:"
_ODD = re.compile(r"[^a-z0-9]+")
_LINKS = ("parent_event_id", "previous_event_id", "triggered_by_event_id", "started_event_id")
_HARMLESS = frozenset(("entities", "edges", "tools", "agent", "task", "crew", "messages"))
"""Members that describe who ran and what was offered to it, or repeat what events say: the crew,
its agents and tasks, the conversation so far before each answer, and links between events."""


class CrewAIReader(Format):
    name = _NAME
    facts = FormatFacts(
        by="`crewai_version`, `entities` and `event_record`",
        steps="yes; a checkpoint from before the last task's end is not measured",
        times="yes",
        tokens="of each answer that states them",
    )

    def sniff(self, head: Head) -> bool:
        first = head.first
        return isinstance(first, dict) and "crewai_version" in first and "event_record" in first

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        for number, (name, value) in enumerate(source.records(), 1):
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(checkpoint, source, number, value), name)


def checkpoint(source: Source, number: int, value: Any, name: str = _NAME) -> Foreign:
    """Return the attempt of a checkpoint; `name` is the format's. Raises Rejected."""
    if not isinstance(value, dict):
        raise Rejected("type:checkpoint")
    nodes = at_path(value, "event_record", "nodes")
    if not isinstance(nodes, dict) or not nodes:
        raise Rejected("missing:event_record.nodes")
    told = _Run(Draft(name))
    draft = told.draft
    events = _ordered(nodes, draft)
    for event in events:
        told.take(event)
    told.settle(value)
    if not draft.events:
        raise Rejected("missing:events")
    draft.source["schema_version"] = text(value.get("crewai_version"))
    if told.models:
        draft.source["models"] = list(dict.fromkeys(told.models))
    if told.agents:
        draft.source["agents"] = list(dict.fromkeys(told.agents))
    root = text(events[0].get("event_id"))
    episode = episode_of(source, number, {"session_id": root}, draft)
    tell_rest(nodes, draft, "event_record.nodes", _HARMLESS, told=told.read, copies=told.asked)
    ran = [one for one in events if not text(one.get("type")).startswith("checkpoint_")]
    stamps = [at for one in ran if (at := one.get("timestamp")) is not None]
    return draft.foreign(
        episode_id=episode,
        candidate_id=source.candidate or told.crew or (told.models or [""])[0] or source.home,
        final_message=told.final if told.ending else None,
        latency_ms=elapsed_ms(stamps[0], stamps[-1]) if stamps and told.ending else None,
        started_at=draft.at(stamps[0]) if stamps else None,
        termination=told.ending,
        usage=summed(told.spent),
    )


def _ordered(nodes: dict[str, Any], draft: Draft) -> list[dict[str, Any]]:
    """Return the events of a record in the order of their numbers; a part of the draft is unread
    for each event that is missing or cannot be placed."""
    events: list[dict[str, Any]] = []
    for place, node in enumerate(nodes.values()):
        event = mapping(node).get("event")
        if isinstance(event, dict) and type(event.get("emission_sequence")) is int:
            events.append(event)
        else:
            draft.unread(f"event_record.nodes[{place}]")
    if not events:
        raise Rejected("missing:events")
    events.sort(key=lambda one: one["emission_sequence"])
    numbers = {one["emission_sequence"] for one in events}
    whole = numbers == set(range(1, len(numbers) + 1))
    linked = [event[name] for event in events for name in _LINKS if event.get(name) is not None]
    for node in nodes.values():
        for ends in mapping(mapping(node).get("edges")).values():
            linked += sequence(ends)
    known = {text(at_path(node, "event", "event_id")) for node in nodes.values()}
    if not whole or known != set(nodes) or any(text(one) not in known for one in linked):
        draft.unread("event_record.nodes (an event that others name is missing)")
    return events


class _Run:
    """The events of one run, in the making of a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.models: list[str] = []
        self.agents: list[str] = []
        self.spent: list[dict[str, int] | None] = []
        self.read: list[Any] = []
        self.asked: list[tuple[str | None, str, Any]] = []
        self.ending: str | None = None
        """None for a run that goes on: a later checkpoint says more."""
        self.final: str | None = None
        self.crew = ""
        self._ended = False
        self._calls: dict[str, dict[str, Any]] = {}
        self._answered: set[str] = set()
        self._wanted: list[str] = []
        self._used: list[str] = []
        self._done: set[str] = set()
        self._root = 0

    def take(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind = text(event.get("type"))
        if agent := text(event.get("agent_role")):
            self.agents.append(agent)
        if model := text(event.get("model")):
            self.models.append(model)
        if kind == "task_started":
            self._task(event)
        elif kind == "llm_call_completed":
            self._answer(event)
        elif kind == "tool_usage_started":
            self._call(event)
        elif kind in ("tool_usage_finished", "tool_usage_error"):
            self._result(event, kind)
        elif kind in _FAILED_CALLS:
            self._used.append(_plain(event.get("tool_name")))
            self._failed(event, kind)
        elif kind in _FAILURES:
            if kind == "llm_call_failed":
                self.spent.append(None)
            self._failed(event, kind)
        elif kind == "task_completed":
            self._completed(event)
        elif kind in ("flow_started", "flow_finished") and event.get("flow_name") == _LOOP:
            self.read.append(event)
        elif kind in _QUIET or kind.startswith(_QUIET_FAMILIES):
            self._quiet(kind, event)
        elif kind not in _ENDS:
            self.draft.unread(f"events[{kind[:60]}]", len(self.draft.events) + 1)
        if kind in _ENDS and event.get("parent_event_id") is None:
            self._end(kind, event)

    def settle(self, value: dict[str, Any]) -> None:
        """Note what is missing once all events were taken."""
        draft = self.draft
        wanted = list(self._wanted)
        for name in self._used:
            if name in wanted:
                wanted.remove(name)
        if wanted:
            draft.unread("llm_call_completed.response (a call that no event shows)")
        tasks = [
            text(one.get("id"))
            for entity in objects(value.get("entities"))
            if entity.get("entity_type") == "crew"
            for one in sequence(entity.get("tasks"))
            if isinstance(one, dict)
        ]
        if not self._ended and tasks and all(one in self._done for one in tasks):
            self.ending, self._ended = "completed", True
        if not self._ended:
            draft.unread(f"event_record{CUT}")

    def _quiet(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "crew_kickoff_started":
            if event.get("parent_event_id") is None:
                self._root += 1
                name = text(event.get("crew_name"))
                self.crew = name if name != "crew" else ""
            if self._root > 1 or event.get("parent_event_id") is not None:
                self.draft.unread("events[crew_kickoff_started]")
        self.read.append(event)

    def _failed(self, event: dict[str, Any], kind: str) -> None:
        """Take a failure, which each level of a run repeats."""
        said = event.get("error") or kind
        last = self.draft.events[-1] if self.draft.events else {}
        if last.get("kind") != "error" or last.get("message") != said:
            self.draft.error(said, at=event.get("timestamp"))
        self.read.append(event)

    def _task(self, event: dict[str, Any]) -> None:
        task = mapping(event.get("task"))
        asked = text(task.get("description")) or text(event.get("task_name"))
        wanted = text(task.get("expected_output"))
        said = "\n\n".join(one for one in (asked, wanted and f"Expected: {wanted}") if one)
        self.draft.message("user", said, at=event.get("timestamp"))
        self.read.append(event)

    def _answer(self, event: dict[str, Any]) -> None:
        response = event.get("response")
        self.spent.append(tokens_of(event.get("usage")))
        at = event.get("timestamp")
        if isinstance(response, str):
            if _FINAL not in response:
                self._wanted += [_plain(name) for name in _ACTION.findall(response)]
            self.draft.message("agent", response, at=at)
        elif isinstance(response, list) and all(_is_call(one) for one in response):
            for one in response:
                held = mapping(one["function"])
                self._wanted.append(_plain(held.get("name")))
                self.asked.append((None, text(held.get("name")), held.get("arguments")))
        else:
            place = len(self.draft.events) + 1
            self.draft.unread("llm_call_completed.response", place)
            return
        self.read += [event, event.get("usage"), response]

    def _call(self, event: dict[str, Any]) -> None:
        own = text(event.get("event_id"))
        self._used.append(_plain(event.get("tool_name")))
        if "tool_args" not in event:
            self.draft.unread(f"calls[{self.draft.calls()}].arguments", len(self.draft.events) + 1)
        arguments = event.get("tool_args")
        call = self.draft.call(event.get("tool_name"), arguments, own, at=event.get("timestamp"))
        self._calls[own] = call["arguments"]
        self.read += [event, arguments]

    def _result(self, event: dict[str, Any], kind: str) -> None:
        own = text(event.get("started_event_id"))
        seen = event.get("output") if kind == "tool_usage_finished" else event.get("error")
        failed = kind == "tool_usage_error" or event.get("failure") is not None
        place = len(self.draft.events) + 1
        if own not in self._calls or own in self._answered:
            self.draft.unread(f"events[{kind}].started_event_id", place)
        elif _given(event) != self._calls[own]:  # it repeats what its call was given
            self.draft.unread(f"events[{kind}].tool_args", place)
        if kind == "tool_usage_finished" and ("output" not in event or "failure" not in event):
            self.draft.unread(f"events[{kind}].failure", place)
        self._answered.add(own)
        self.draft.result(
            seen,
            own,
            event.get("tool_name"),
            "error" if failed else None,
            at=event.get("timestamp"),
        )
        self.read += [event, seen, event.get("failure")]

    def _completed(self, event: dict[str, Any]) -> None:
        self._done.add(text(event.get("task_id")))
        raw = at_path(event, "output", "raw")
        if isinstance(raw, str):
            self.final = raw
        self.read += [event, event.get("output")]

    def _end(self, kind: str, event: dict[str, Any]) -> None:
        self.ending, self._ended = _ENDS[kind], True
        raw = at_path(event, "output", "raw")
        if isinstance(raw, str):
            self.final = raw
        self.read += [event, event.get("output")]


def _given(event: dict[str, Any]) -> Any:
    held = event.get("tool_args")
    return parse_text(held) if isinstance(held, str) else held


def _plain(name: Any) -> str:
    """Return a tool's name as CrewAI compares it."""
    return _ODD.sub("_", text(name).lower()).strip("_")


def _is_call(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("function"), dict)
