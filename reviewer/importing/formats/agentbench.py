"""AgentBench runs: `<agent>/<task>/runs.jsonl`, with the errors and the verdicts beside it.

Acts are texts in the history; `overall.json` has the verdicts of a task, joined to runs by their
index.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, clock
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse, parse_text
from reviewer.importing.formats.base import (
    Format,
    at_path,
    each_record,
    folder_names,
    mapping,
    slug,
    tell_rest,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Piece, Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

# Acts as text -------------------------------------------------------------------------------------

_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_GET = re.compile(r"\A\s*GET\s+(\S+)\s*\Z")
_POST = re.compile(r"\A\s*(POST|PUT|PATCH|DELETE)\s+(\S+)[ \t]*(?:\n(.*))?\Z", re.DOTALL)
_FINISH = re.compile(r"\A\s*FINISH\((.*)\)\s*\Z", re.DOTALL)
# `Act: bash` and a code block; `Act: answer(220)`; `Action: Operation` and a sql block;
# `Action: get_relations(Obama)`; `ACTION: go to desk 1`; `Action:\nclick[Buy now]`
_ACT = re.compile(r"(?im)^[ \t>*]*(?:act|action)\s*:[ \t]*\**[ \t]*\n?[ \t]*(\S.*)$")
_BLOCK = re.compile(r"```(\w*)[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_CALLED = re.compile(r"\A([A-Za-z_]\w{0,60})\s*[(\[](.*)[)\]]\s*\.?\s*\Z", re.DOTALL)
_VERB = re.compile(r"(?m)^[ \t]*(?:(?:GET|POST|PUT|PATCH|DELETE)[ \t]+\S*/|FINISH\()")
_FINAL = re.compile(r"(?im)^[ \t]*final answer\s*:[ \t]*(.+)$")
MOST = 1 << 20


class Call(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]


def call_in(content: str) -> Call | None:
    """Return the only act in an agent's turn; None when there is no known one."""
    if len(content) > MOST:
        return None
    fenced = _FENCE.match(content)
    text = fenced.group(1) if fenced else content
    return _request(text) or _act(text)


def acts_in(content: str) -> int:
    """Return how many acts a turn contains on lines of their own; only the first is read."""
    return len(_ACT.findall(content)) or len(_VERB.findall(content))


def _request(text: str) -> Call | None:
    if found := _GET.match(text):
        return Call("GET", {"url": found.group(1)})
    if found := _POST.match(text):
        body = (found.group(3) or "").strip()
        value = parse_text(body)
        return Call(
            found.group(1), {"url": found.group(2), "body": body if value is None else value}
        )
    if found := _FINISH.match(text):
        value = parse_text(found.group(1))
        return Call("FINISH", {"answers": found.group(1) if value is None else value})
    return None


def _act(text: str) -> Call | None:
    found = _ACT.search(text)
    if found is None:
        final = _FINAL.search(text)
        return Call("answer", {"answer": final.group(1).strip()}) if final else None
    act = found.group(1).strip().strip("*`").strip()
    rest = text[found.end() :]
    block = _BLOCK.search(rest)
    if called := _CALLED.match(act):
        return Call(called.group(1), {"value": called.group(2)})
    if block is not None and re.fullmatch(r"\w{1,60}", act):
        return Call(act, {"code": block.group(2)})
    if final := _FINAL.search(rest):
        return Call(act.casefold(), {"answer": final.group(1).strip()})
    word, _, value = act.partition(" ")
    return Call(word[:60], {"value": value} if value else {})


# Verdicts -----------------------------------------------------------------------------------------

_WORDS = (("Incorrect", False), ("Correct", True))
NOT_SCORED = "overall.json has no verdict for this run: not scored"
CUT_SHORT = "no overall.json: the run was cut short or never scored, so nothing has a verdict"


class RunVerdict(NamedTuple):
    """The verdict of `overall.json` on a run. `said` is whether it states the verdict itself
    (`completedCorrect`)."""

    status: str
    passed: bool | None
    said: bool


class Overall:
    """Verdicts by index; where an index occurs several times, by position."""

    def __init__(self, there: bool) -> None:
        self.missing = NOT_SCORED if there else CUT_SHORT
        self.total: Any = None
        self.accuracy: Any = None
        self._found: dict[str, deque[RunVerdict]] = defaultdict(deque)
        self._counts: Counter[str] = Counter()

    def add(self, index: Any, status: str) -> None:
        """Add one result."""
        passed = next((word for end, word in _WORDS if status.endswith(end)), None)
        self._counts["results"] += 1
        self._counts["correct"] += passed is True
        self._found[str(index)].append(RunVerdict(status, passed, passed is not None))

    def take(self, index: int | str) -> RunVerdict | None:
        """Return the verdict of a run, each only once."""
        self._counts["runs"] += 1
        waiting = self._found.get(str(index))
        if not waiting:
            return None
        judged = waiting.popleft()
        uncounted = judged.passed is None and judged.status != "completed"
        return judged._replace(passed=False) if uncounted and self._rated() else judged

    def _rated(self) -> bool:
        return type(self.accuracy) in (int, float)

    def close(self, notes: set[str]) -> None:
        """Note inconsistencies, once every run took its verdict."""
        runs, results = self._counts["runs"], self._counts["results"]
        left = sum(map(len, self._found.values()))
        if results and left:
            notes.add(f"overall.json judges {left} runs that are not in runs.jsonl")
        if type(self.total) is int and self.total != runs:
            notes.add(f"overall.json speaks of {self.total} runs, runs.jsonl has {runs}")
        if results and self._rated():
            counted = self._counts["correct"] / results
            if abs(counted - self.accuracy) > 1e-3:
                notes.add("overall.json states another accuracy than its results give")


def overall_of(source: Source, path: Path) -> Overall:
    """Return the verdicts of `overall.json`, read as a stream since it repeats every history. A
    broken file gives no verdicts, with a note."""
    if path not in source.companions:
        return Overall(there=False)
    overall = Overall(there=True)
    try:
        for part in source.walk(("custom", EACH), ("custom", "raw_results", EACH), path=path):
            if part.problem:
                source.notes.add(f"{path.name} could not be read to its end")
                break
            if part.path == ("total",):
                overall.total = parse(part.raw)
            elif part.path == ("custom", "accuracy"):
                overall.accuracy = parse(part.raw)
            elif part.path[:2] == ("custom", "raw_results") and len(part.path) == 3:
                one = parse(part.raw)
                if isinstance(one, dict) and isinstance(one.get("status"), str):
                    overall.add(one.get("index"), one["status"])
    except (NotJson, Unreadable, OSError):
        source.notes.add(f"{path.name} could not be read to its end")
    return overall


# The reader ---------------------------------------------------------------------------------------

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
"""Ends of attempts after a last reply from which the harness took no act."""
_ROLES = ("agent", "user", "system")
HARMLESS = frozenset(
    # the submitted answer: the verdict and the final state are read from it
    ("result",)
)
RUNS, ERRORS, OVERALL = "runs.jsonl", "error.jsonl", "overall.json"


class AgentBenchReader(Format):
    name = "agentbench"
    facts = FormatFacts(
        by="`index, error, output, time`",
        tools="read out of text",
        times="end only",
        verdict="overall.json",
        final_state="`result`",
        beside="`error.jsonl`, `overall.json`",
    )

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
        make = partial(self._foreign, source, overall)
        yield from each_record(source, make, "line", f" of {source.path.name}")
        errors = source.path.parent / ERRORS
        if errors in source.companions:
            try:
                yield from each_record(source, make, "line", f" of {ERRORS}", errors)
            except Unreadable:
                source.notes.add(f"{ERRORS} could not be read to its end")
        overall.close(source.notes)

    def _foreign(self, source: Source, overall: Overall, piece: Piece) -> Foreign:
        line = source.value(piece.raw)
        if not isinstance(line, dict):
            raise Rejected("type:record")
        index = line.get("index")
        if isinstance(index, bool) or not isinstance(index, (int, str)) or index == "":
            raise Rejected("missing:index")
        output = mapping(line.get("output"))
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
    """Add the conversation to the draft; return the first message of the user."""
    history = output.get("history")
    if not isinstance(history, list):
        draft.note("no history: what the agent did is not known")
        return ""
    refused = output.get("status") in _NOT_TAKEN
    request, waiting = "", False
    last = max((n for n, one in enumerate(history) if _role(one) == "agent"), default=-1)
    for number, item in enumerate(history):
        role, content = _role(item), at_path(item, "content")
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
    """Account for the remaining members of a run. A run that broke before its first turn has no
    history."""
    if line.get("output") is not None and not isinstance(line["output"], dict):
        draft.unread("output")
    if not isinstance(output.get("history"), list) and not line.get("error"):
        draft.unread("output.history")
    tell_rest(line, draft, "", HARMLESS)


def _role(item: Any) -> str:
    role = at_path(item, "role")
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
    # Notes belong to the file: verdicts that come later do not turn the same runs into other
    # attempts.
    judged = None if error else overall.take(index)
    if judged is not None:
        if judged.passed is False and not judged.said:
            notes.add("runs without a result count as not correct in overall.json")
        return SourceVerdict(passed=judged.passed, detail={"status": judged.status})
    own, reward = at_path(result, "result"), at_path(result, "reward")
    if not error and isinstance(own, bool):
        notes.add("the verdict is the task's own, in the run's result")
        return SourceVerdict(passed=own)
    if not error and isinstance(reward, (int, float)) and not isinstance(reward, bool):
        notes.add("a reward and no verdict: what passes is for the reviewer to say")
        return SourceVerdict(reward=float(reward))
    notes.add(overall.missing)
    return SourceVerdict(exception=error) if error else None
