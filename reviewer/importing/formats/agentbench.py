"""AgentBench outputs: `<agent>/<task>/runs.jsonl`, with error.jsonl and overall.json beside it.

Lines stand in the order they were completed. `completed` says nothing of correctness: the verdict
is in overall.json alone, which a run that was cut short does not have. Calls stand in the agent's
text and are read out of it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, clock
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._agentbench_overall import Overall, overall_of
from reviewer.importing.formats._agentbench_text import acts_in, call_in
from reviewer.importing.formats._places import folder_names, slug
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.rest import tell_rest
from reviewer.importing.source import Source
from reviewer.importing.split import Piece, Unreadable
from reviewer.trace.record import SourceVerdict

_TERMINATIONS = {
    "completed": "completed",
    "running": "running",
    "agent context limit": "context_window_exceeded",
    "agent validation failed": "agent_validation_failed",
    "agent invalid action": "agent_invalid_action",
    "task limit reached": "max_steps",
    "task error": "infrastructure_error",
    "cancelled": "cancelled",
    "unknown": "unknown",
}
_HARNESS = ("START_FAILED", "INTERACT_FAILED", "NETWORK_ERROR", "NOT_AVAILABLE")
_NOT_TAKEN = ("agent invalid action", "agent validation failed")
"""Ends by a last reply that the harness took no act from."""
_ROLES = ("agent", "user", "system")
HARMLESS = frozenset(
    # the answer that was handed in: the verdict and the final state are read out of it
    ("result",)
)
RUNS, ERRORS, OVERALL = "runs.jsonl", "error.jsonl", "overall.json"


class AgentBenchReader:
    name = "agentbench"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        line = head.first
        if not head.has("index", "output", "time", "error") or not isinstance(line["time"], dict):
            return False
        output = line["output"]
        return "timestamp" in line["time"] and (
            output is None or (isinstance(output, dict) and "status" in output)
        )

    def suite_id(self, path: Path) -> str:
        task, _ = folder_names(path, 2)
        return f"agentbench-{slug(task)}" if task else "agentbench"

    def candidate_id(self, path: Path) -> str:
        return folder_names(path, 2)[1] or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        return folder_names(path, 2)

    def companions(self, path: Path) -> tuple[Path, ...]:
        names = (ERRORS, OVERALL) if path.name != ERRORS else ()
        return tuple(file for name in names if (file := path.parent / name).is_file())

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        overall = overall_of(source, source.path.parent / OVERALL)
        for piece in source.pieces():
            yield self._attempt(source, piece, overall, source.path.name)
        errors = source.path.parent / ERRORS
        if errors in source.companions:
            try:
                for piece in source.pieces(errors):
                    yield self._attempt(source, piece, overall, ERRORS)
            except Unreadable:
                source.notes.add(f"{ERRORS} could not be read to its end")
        overall.close(source.notes)

    def _attempt(
        self, source: Source, piece: Piece, overall: Overall, name: str
    ) -> Foreign | Broken:
        where = f"line {piece.number} of {name}"
        if piece.problem:
            return Broken((piece.problem,), where)
        return source.attempt(lambda: self._foreign(source, piece, overall), where)

    def _foreign(self, source: Source, piece: Piece, overall: Overall) -> Foreign:
        line = source.value(piece.raw)
        if not isinstance(line, dict):
            raise Rejected("type:record")
        index = line.get("index")
        if isinstance(index, bool) or not isinstance(index, (int, str)) or index == "":
            raise Rejected("missing:index")
        output = line.get("output")
        output = output if isinstance(output, dict) else {}
        draft = Draft(self.name)
        draft.note("agent and task are taken from the folders' names")
        draft.note("AgentBench records no cost, no tokens and only when a run was completed")
        request = _history(draft, output)
        _rest(draft, line, output)
        status = output.get("status")
        draft.source["status"] = status if isinstance(status, str) else None
        draft.source["completed_at"] = _completed(line)
        error = _error(draft, line)
        result = output.get("result")
        parsed = parse_text(result)
        return draft.foreign(
            episode_id=index,
            candidate_id=source.candidate or self.candidate_id(source.path),
            final_state=result if parsed is None else parsed,
            final_message=draft.last_words(),
            termination=_termination(status, error),
            verdict=_verdict(source.notes, overall, index, result, error),
            title=f"{folder_names(source.path, 1)[0]} {index}".strip(),
            user_request=request,
        )


def _history(draft: Draft, output: dict[str, Any]) -> str:
    """The conversation; the first thing said by the user."""
    history = output.get("history")
    if not isinstance(history, list):
        draft.note("no history: what the agent did is not known")
        return ""
    refused = output.get("status") in _NOT_TAKEN
    request, waiting = "", False
    last = max((n for n, one in enumerate(history) if _role(one) == "agent"), default=-1)
    for number, item in enumerate(history):
        role, content = _role(item), item.get("content") if isinstance(item, dict) else None
        if role not in _ROLES:
            draft.unread(f"output.history[{number}].role", len(draft.events) + 1)
        if role == "agent":
            draft.message("agent", content)
            call = call_in(content) if isinstance(content, str) else None
            many = isinstance(content, str) and acts_in(content) > 1
            if many or (call is None and not (refused and number == last)):
                draft.unread(f"output.history[{number}].content")
            waiting = call is not None
            if call is not None:
                # The last act is answered by the end of the episode.
                ended = number == last and output.get("status") == "completed"
                draft.call(call.tool, call.arguments, **({"status": "ok"} if ended else {}))
        elif waiting:
            draft.result(content)
            waiting = False
        else:
            request = request or (content if isinstance(content, str) else "")
            draft.message("system" if role == "system" else "user", content)
    return request


def _rest(draft: Draft, line: dict[str, Any], output: dict[str, Any]) -> None:
    """Return what of a run is left. A run that broke before its first turn has no history to
    read."""
    if line.get("output") is not None and not isinstance(line["output"], dict):
        draft.unread("output")
    if not isinstance(output.get("history"), list) and not line.get("error"):
        draft.unread("output.history")
    tell_rest(line, draft, "", HARMLESS)


def _role(item: Any) -> str:
    role = item.get("role") if isinstance(item, dict) else None
    return "agent" if role in ("agent", "assistant") else str(role)


def _completed(line: dict[str, Any]) -> dict[str, Any] | None:
    time = line.get("time")
    if not isinstance(time, dict):
        return None
    text, _ = clock(time.get("timestamp"))
    return {"at": text, "local": time.get("str")}


def _error(draft: Draft, line: dict[str, Any]) -> str | None:
    error, info = line.get("error"), line.get("info")
    if not error:
        return None
    draft.error(f"{error}\n{info}"[:5000] if info else str(error)[:5000])
    return str(error)[:200]


def _termination(status: Any, error: str | None) -> str | None:
    if error:
        harness = error.rpartition(".")[2].upper().startswith(_HARNESS)
        return "infrastructure_error" if harness else "error"
    return _TERMINATIONS.get(status, status[:100]) if isinstance(status, str) and status else None


def _verdict(
    notes: set[str], overall: Overall, index: int | str, result: Any, error: str | None
) -> SourceVerdict | None:
    # Notes on the file: verdicts that come later do not make other attempts of the same runs.
    judged = None if error else overall.take(index)
    if judged is not None:
        if judged.passed is False and not judged.said:
            notes.add("runs without a result count as not correct in overall.json")
        return SourceVerdict(passed=judged.passed, detail={"status": judged.status})
    own = result.get("result") if isinstance(result, dict) else None
    reward = result.get("reward") if isinstance(result, dict) else None
    if not error and isinstance(own, bool):
        notes.add("the verdict is the task's own, in the run's result")
        return SourceVerdict(passed=own)
    if not error and isinstance(reward, (int, float)) and not isinstance(reward, bool):
        notes.add("a reward and no verdict: what passes is for the reviewer to say")
        return SourceVerdict(reward=float(reward))
    notes.add(overall.missing)
    return SourceVerdict(exception=error) if error else None
