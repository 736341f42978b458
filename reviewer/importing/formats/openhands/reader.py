"""OpenHands: evaluation `output.jsonl`, the resolver's `output.jsonl`, and bare event streams.

Events of the first generation hold `action` or `observation`; those of the agent SDK hold `kind`.
Costs on events are cumulative; a cost of 0 beside counted tokens is no price. Clocks name no zone.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, clock, elapsed_ms, whole
from reviewer.importing.formats.base import Format, folder_names
from reviewer.importing.formats.openhands import sdk_events as _openhands_new
from reviewer.importing.formats.openhands.story import Ledger, Story
from reviewer.importing.formats.swe import (
    EXCEPTION_CHARS,
    end_state,
    joined,
    suite_of,
    verdict_of,
)
from reviewer.importing.formats.values import at_path, mapping, present
from reviewer.importing.head import Head
from reviewer.importing.pipeline.results import Joined
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.rest import enter
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

_ENDS = (
    (r"maximum iteration|max(imum)? ?steps|max_iterations", "max_steps"),
    (r"budget|maximum cost", "cost_limit"),
    (r"stuck", "stuck_in_loop"),
    (r"context ?window|context length", "context_window_exceeded"),
    (r"\AMaximum retries|AgentRuntime\w*Error|RuntimeDisconnect|ServiceUnavailable|"
     r"InternalServerError|RateLimit|APIConnection|AuthenticationError", "infrastructure_error"),
    (r"\ATimeout after|timed? ?out", "timeout"),
)  # fmt: skip
"""What an error text says of why a run ended; the first that fits."""
SEEN = 2000
GUESS = "success is what the resolver's own model guessed: no test was run"
NO_ZONE = "times name no zone"


class OpenHandsReader(Format):
    name = "openhands"

    def sniff(self, head: Head) -> bool:
        first = head.first
        if not isinstance(first, dict):
            return False
        if _is_event(first):
            return isinstance(head.value, list) or _openhands_new.is_event(first)
        if isinstance(first.get("issue"), dict):
            return bool({"issue_type", "history"} & set(first))
        if {"instance_id", "test_result"} <= set(first):
            return bool({"metadata", "history", "instruction", "metrics"} & set(first))
        return False

    def candidate_id(self, path: Path) -> str:
        (folder,) = folder_names(path, 1)
        return f"openhands {folder}" if folder else "openhands"

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        first = Head(source.path).first
        if isinstance(first, dict) and _is_event(first):
            yield source.attempt(partial(self._stream, source))
            return
        for piece in source.pieces():
            if piece.problem:
                yield Broken((piece.problem,))
                continue
            yield source.attempt(partial(self._record, source, piece.raw))

    def _stream(self, source: Source) -> Foreign:
        """Return a bare stream of events as one attempt, named by its file."""
        events = []
        for piece in source.pieces():
            if piece.problem:
                raise Rejected(piece.problem)
            events.append(source.value(piece.raw))
        return self._attempt(source, {"history": events}, source.place, "events")

    def _record(self, source: Source, raw: bytes) -> Foreign:
        record = source.value(raw)
        if not isinstance(record, dict):
            raise Rejected("type:record")
        issue = record.get("issue")
        if isinstance(issue, dict):
            named = f"{issue.get('owner')}/{issue.get('repo')}#{issue.get('number')}"
            return self._attempt(source, record, named, "resolver")
        return self._attempt(source, record, record.get("instance_id"), "evaluation")

    def _attempt(
        self, source: Source, record: dict[str, Any], episode_id: Any, shape: str
    ) -> Foreign:
        draft = Draft("openhands")
        draft.source["shape"] = shape
        instance_id = str(episode_id or "")
        metadata = mapping(record.get("metadata"))
        _start(draft, record)
        ledger = Ledger(draft, record.get("metrics"))
        story = _told(draft, ledger, record)
        enter(record, story.account)
        story.account.tell(record, draft)
        error = record.get("error")
        if isinstance(error, str) and error:
            draft.error(error)
        patch = record.get("git_patch") or mapping(record.get("test_result")).get("git_patch")
        model = _model(metadata) or (sorted(story.models) or [""])[0]
        candidate = source.candidate or self._candidate(source.path, metadata, story, model, draft)
        _facts(draft, record, metadata, story)
        found = joined(source, draft, instance_id, model, patch, candidate)
        return draft.foreign(
            episode_id=instance_id,
            candidate_id=candidate,
            attempt=whole(record.get("attempt")) or None,
            final_state=end_state("patch", patch),
            final_message=story.final or draft.last_words(),
            cost_usd=ledger.total(),
            latency_ms=elapsed_ms(story.first, story.last),
            started_at=draft.at(story.first),
            termination=_termination(error, story),
            usage=ledger.tokens(story.calls),
            verdict=_verdict(draft, record, found, error),
            title=str(mapping(record.get("issue")).get("title") or ""),
            user_request=str(record.get("instruction") or story.task),
            suite=suite_of(instance_id, self.suite_id(source.path)),
        )

    def _candidate(
        self, path: Path, metadata: dict[str, Any], story: Story, model: str, draft: Draft
    ) -> str:
        if not model:
            draft.note("the file names no model: the candidate is taken from its folder")
            return self.candidate_id(path)
        if not metadata:
            draft.note("the file names no configured model: the one that answered was taken")
        commit = str(metadata.get("git_commit") or "")[:8]
        version = story.version or metadata.get("openhands_sdk_version") or commit
        version = version[:16] if isinstance(version, str) else ""
        agent = metadata.get("agent_class")
        scaffold = agent if isinstance(agent, str) and agent != "CodeActAgent" else ""
        return " ".join(part for part in ("openhands", version, scaffold, model) if part)


def _is_event(value: dict[str, Any]) -> bool:
    if _openhands_new.is_event(value):
        return True
    kind = value.get("action", value.get("observation"))
    inner = {"args", "extras", "cause", "is_confirmed"} & set(value)
    return isinstance(kind, str) and "source" in value and "timestamp" in value and bool(inner)


def _model(metadata: dict[str, Any]) -> str:
    for name in ("llm_config", "llm"):
        model = at_path(metadata, name, "model")
        if isinstance(model, str) and model:
            return model
    return ""


def _start(draft: Draft, record: dict[str, Any]) -> None:
    instance = mapping(record.get("instance"))
    state = {name: instance.get(name) for name in ("repo", "base_commit", "version")}
    state["base_commit"] = state["base_commit"] or record.get("base_commit")
    if known := {name: value for name, value in state.items() if value}:
        draft.state(known)


def _told(draft: Draft, ledger: Ledger, record: dict[str, Any]) -> Story:
    """Write the events of an attempt; old files hold them in pairs of action and observation."""
    history = record.get("history")
    story = Story(draft, ledger)
    if not isinstance(history, list):
        draft.note("the record holds no history")
        if history is not None or not record.get("error"):
            draft.unread("history")
        return story
    for entry in history:
        for event in entry if isinstance(entry, list) else (entry,):
            if not isinstance(event, dict):
                draft.note("parts of the history are no events: left out")
                draft.unread("history.event")
            elif _openhands_new.is_event(event):
                _openhands_new.take(story, event)
            else:
                story.take(event)
    story.end()
    return story


def _facts(draft: Draft, record: dict[str, Any], metadata: dict[str, Any], story: Story) -> None:
    """Keep what has no place of its own in a trace."""
    named = ("agent_class", "max_iterations", "git_commit", "dataset", "start_time")
    facts = {name: metadata.get(name) for name in named}
    facts |= {"served_models": sorted(story.models) or None, "llm_calls": story.calls or None}
    facts["llm_ms"] = story.ledger.latency_ms
    if record.get("result_explanation"):
        facts["result_explanation"] = str(record["result_explanation"])[:SEEN]
    draft.source.update(present(facts))
    if "unstated" in draft.clocks or clock(story.first)[1] == "unstated":
        draft.note(NO_ZONE)


def _termination(error: Any, story: Story) -> str | None:
    if isinstance(error, str) and error:
        for pattern, end in _ENDS:
            if re.search(pattern, error[:SEEN], re.IGNORECASE):
                return end
        return "error"
    return story.ended


def _verdict(
    draft: Draft, record: dict[str, Any], found: Joined | None, error: Any
) -> SourceVerdict | None:
    """Return the verdict of the record's own report of tests, else a joined one; a guess of the
    resolver is marked as one."""
    exception = error[:EXCEPTION_CHARS] if isinstance(error, str) and error else None
    for given in (record.get("report"), at_path(record, "test_result", "report")):
        report = mapping(given)
        resolved = report.get("resolved")
        if isinstance(resolved, bool):
            flags = {name: value for name, value in report.items() if isinstance(value, bool)}
            return SourceVerdict(passed=resolved, exception=exception, detail=flags)
    success = record.get("success")
    if isinstance(record.get("issue"), dict) and isinstance(success, bool):
        draft.note(GUESS)
    if found is None and GUESS in draft.notes:
        return SourceVerdict(passed=success, exception=exception, detail={"by": "a model's guess"})
    return verdict_of(found, exception)
