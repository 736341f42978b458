"""HAL run files (`<run id>_UPLOAD.json`): one document for a whole run, one attempt per task.

Verdicts are in `results` as lists of task ids, costs for the whole run only. The agents' messages
are logged per model call, each with the whole history again: a message is read once, and a call
that another one only passed on is not counted twice.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import Draft, amount, measured, summed, whole, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    agreed,
    at_path,
    objects,
    present,
    sequence,
    slug,
    tell_rest,
)
from reviewer.importing.formats.smolagents import NotLiteral, add_message, literal, role_of
from reviewer.importing.head import Head
from reviewer.importing.messages import tokens_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Part
from reviewer.trace.record import SourceVerdict

# The run file -------------------------------------------------------------------------------------

_WALKED = tuple(
    (name, EACH)
    for name in (
        *("results", "raw_eval_results", "raw_logging_results"),
        *("task_prompts", "wall_clock_times", "task_step_counts"),
    )
)
# Members of a task's result that are read: `explanation` quotes the true answer.
_TAKEN = ("score", "reward", "cost", "metrics", "conversation_history", "taken_actions")


class Place(NamedTuple):
    """Where a logged call is in the file."""

    start: int
    length: int
    id: str
    started_at: str


class Task:
    """The record of one task in a run. `passed_on` are calls that another one forwarded."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {}
        self.variations = False
        self.prompt = ""
        self.wall_clock: Any = None
        self.call_time: Any = None
        self.steps: Any = None
        self.calls: list[Place] = []
        self.passed_on: set[str] = set()
        self.compact: dict[str, Any] | None = None


class Run:
    """The run as a whole and its tasks, in the order in which the file first names them."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.benchmark = ""
        self.candidate = ""
        self.summary: dict[str, Any] = {}
        self.stray = False
        """Whether an answer that names no task called something: any task's agent may have."""
        self._lists: dict[str, set[str]] = {}
        self._accuracy: Any = None

    def task(self, task_id: Any) -> Task:
        """Return the task of that id, a new one at its first mention."""
        return self.tasks.setdefault(str(task_id), Task())

    def passed(self, task_id: str) -> bool | None:
        """Return the verdict in the lists of the results; None when neither names the task."""
        good = task_id in self._lists.get("successful_tasks", ())
        bad = task_id in self._lists.get("failed_tasks", ())
        return None if good == bad else good

    def doubts(self) -> list[str]:
        """Return the inconsistencies."""
        found = []
        good, bad = (self._lists.get(n, set()) for n in ("successful_tasks", "failed_tasks"))
        if good & bad:
            found.append(f"{len(good & bad)} tasks are in both lists of the results: not scored")
        listed = len(good | bad)
        stated = self._accuracy if type(self._accuracy) in (int, float) else None
        if listed and stated is not None and abs(len(good) / listed - stated) > 1e-3:
            told = "the accuracy stated is not that of the lists: tasks never run are in neither"
            found.append(told)
        return found

    def configured(self, config: Any) -> None:
        """Read the run's own settings."""
        if not isinstance(config, dict):
            return
        self.benchmark = str(config.get("benchmark_name") or "")
        model = at_path(config, "agent_args", "model_name")
        name, version = str(config.get("agent_name") or ""), config.get("agent_version")
        named = [name, version if isinstance(version, str) else None]
        named.append(model if isinstance(model, str) and model not in name else None)
        self.candidate = " ".join(str(part) for part in named if part)
        kept = ("run_id", "date", "benchmark_name", "prompt_sensitivity")
        self.summary.update(present({name: config.get(name) for name in kept}))

    def resulted(self, name: str, value: Any) -> None:
        """Read one member of `results`."""
        if name in ("successful_tasks", "failed_tasks"):
            self._lists[name] = {str(one) for one in _listed(value)}
            for one in _listed(value):
                self.task(one)
        elif name == "accuracy":
            self._accuracy = value
        elif name == "total_cost" and type(value) in (int, float) and value > 0:
            self.summary["total_cost_usd"] = value
        elif name == "latencies" and isinstance(value, dict):
            for task_id, one in value.items():
                if isinstance(one, dict):
                    self.task(task_id).call_time = one.get("total_time")

    def evaluated(self, task_id: str, value: Any) -> None:
        """Read one member of `raw_eval_results`, where those are the results of tasks."""
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            self.task(task_id).variations = True
        elif isinstance(value, dict) and ("score" in value or "reward" in value):
            self.task(task_id).result = {name: value[name] for name in _TAKEN if name in value}

    def logged(self, part: Part, name: str | int, value: Any) -> None:
        """Read one logged call, or all calls of a task in one as newer harnesses write them."""
        if not isinstance(value, dict):
            return
        if isinstance(name, str):
            self.task(name).compact = value
            return
        task_id = value.get("weave_task_id")
        if task_id is None:
            task_id = at_path(value, "attributes", "weave_task_id")
        output = value.get("output")
        if task_id is None and _calls(output):
            self.stray = True
        if task_id is None or not isinstance(output, dict):
            return
        if not output.get("usage") and not output.get("choices"):
            return  # not an answer of a model
        task = self.task(task_id)
        started, length = value.get("started_at"), len(part.raw)
        place = Place(part.end - length, length, str(value.get("id")), str(started or ""))
        task.calls.append(place)
        if value.get("parent_id"):
            task.passed_on.add(str(value["parent_id"]))


def _calls(output: Any) -> bool:
    """Return whether an answer of a model calls tools."""
    messages = [at_path(one, "message") for one in objects(at_path(output, "choices"))]
    return any(one.get("tool_calls") or one.get("function_call") for one in objects(messages))


def _listed(value: Any) -> list[Any]:
    """Return a list, also one that was written in Python's notation."""
    if isinstance(value, str):
        try:
            value = literal(value)
        except NotLiteral:
            return []
    return [one for one in sequence(value) if isinstance(one, (str, int))]


def run_of(source: Source) -> Run:
    """Return the run, reading the file once. A part that cannot be read is noted. Raises
    Unreadable."""
    run = Run()
    for part in source.walk(*_WALKED):
        try:
            value = None if part.problem else parse(part.raw, source.notes)
        except NotJson:
            value = None
        if value is None and (part.problem or part.raw != b"null"):
            source.notes.add("parts of the run file could not be read")
        elif part.path:
            _note(run, part, value)
    return run


def _note(run: Run, part: Part, value: Any) -> None:
    top, name = part.path[0], part.path[1] if len(part.path) > 1 else ""
    if top == "config":
        run.configured(value)
    elif top == "results":
        run.resulted(str(name), value)
    elif top == "raw_eval_results":
        run.evaluated(str(name), value)
    elif top == "raw_logging_results":
        run.logged(part, name, value)
    elif top == "task_prompts" and isinstance(value, str):
        run.task(name).prompt = value
    elif top == "wall_clock_times":
        run.task(name).wall_clock = value
    elif top == "task_step_counts":
        run.task(name).steps = value


# Logged calls -------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder(order="deterministic").encode


HARMLESS = frozenset(
    # the tools that a model was offered, and the form of its answer
    ("tools", "functions", "tool_choice", "response_format")
)


def _is_text(content: Any) -> bool:
    """Return whether a message's content is a text, or blocks of texts."""
    return not isinstance(content, list) or all(
        isinstance(block, str) or (isinstance(block, dict) and block.get("type", "text") == "text")
        for block in content
    )


class Calls:
    """Writes the calls of one task in the order in which they were made. A message is new when no
    conversation so far had it at that place; agents that run side by side each keep their own."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.usages: list[Any] = []
        self._seen: set[bytes] = set()

    def add(self, call: Any) -> None:
        """Add one call: the new part of its history, then its answer."""
        output = call.get("output")
        before = b""
        for message in objects(at_path(call, "inputs", "messages")):
            before = self._message(before, message)
        answer = at_path(output, "choices", 0, "message")
        if answer is None and output.get("role"):
            answer = {"role": output["role"], "content": output.get("content")}
        if isinstance(answer, dict):
            self._message(before, answer, at=call.get("started_at"))
        self.usages.append(output.get("usage"))
        if call.get("exception"):
            self.draft.error(str(call["exception"])[:5000])
        tell_rest(call, self.draft, "raw_logging_results", HARMLESS)

    def _message(self, before: bytes, message: dict[str, Any], at: Any = None) -> bytes:
        content = message.get("content")
        # Equal texts are the same in one block; calls and results are compared by everything in
        # them.
        shown = words(content) if _is_text(content) else content
        said = [role_of(message), shown, message.get("tool_calls") or None]
        place = hashlib.sha256(before + _encode(said)).digest()
        if place not in self._seen:
            self._seen.add(place)
            add_message(self.draft, message, at=at)
        return place


# The reader ---------------------------------------------------------------------------------------

_SUITES = (("swebench", "swe-bench"), ("taubench", "tau-bench"))


class HalReader(Format):
    name = "hal"
    facts = FormatFacts(
        by="`config{agent_name, benchmark_name, run_id}`",
        steps="logged calls",
        times="per answer",
        cost="where a task states it",
        tokens="per task",
        verdict="lists of task ids",
    )

    def sniff(self, head: Head) -> bool:
        config = head.value.get("config") if isinstance(head.value, dict) else None
        return isinstance(config, dict) and {"agent_name", "benchmark_name", "run_id"} <= set(
            config
        )

    def candidate_id(self, path: Path) -> str:
        return path.name.partition("_UPLOAD")[0]

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        run = run_of(source)
        if not run.tasks:
            raise Unreadable("a HAL run without tasks: neither results nor logged calls in it")
        for note in run.doubts():
            source.notes.add(note)
        for task_id, task in run.tasks.items():
            yield self._attempt(source, run, task_id, task)

    def _attempt(self, source: Source, run: Run, task_id: str, task: Task) -> Foreign | Broken:
        return source.attempt(lambda: self._foreign(source, run, task_id, task), f"task {task_id}")

    def _foreign(self, source: Source, run: Run, task_id: str, task: Task) -> Foreign:
        draft = Draft(self.name)
        draft.note("HAL states the cost of the whole run only")
        draft.source["run"] = run.summary
        usage = _conversation(source, draft, task)
        if run.stray:
            draft.unread("raw_logging_results (calls of no task)")
        tell_rest(task.result, draft)
        if task.compact is not None:
            tell_rest(task.compact, draft, "raw_logging_results", HARMLESS)
        steps = amount(task.steps)
        if steps is not None:
            draft.source["step_count"] = steps
        return draft.foreign(
            episode_id=task_id,
            candidate_id=source.candidate or run.candidate or self.candidate_id(source.path),
            final_message=draft.last_words(),
            cost_usd=_cost(task),
            latency_ms=_latency(task),
            usage=usage,
            verdict=_verdict(draft, run, task_id, task),
            title=f"{run.benchmark} {task_id}",
            user_request=task.prompt,
            suite=_suite(run.benchmark),
        )


def _suite(benchmark: str) -> str:
    plain = slug(benchmark)
    for start, suite in _SUITES:
        if plain.startswith(start):
            kind = plain.removeprefix(start).strip("_-")
            return f"{suite}-{kind}" if kind and suite == "tau-bench" else suite
    return plain


def _conversation(source: Source, draft: Draft, task: Task) -> dict[str, int] | None:
    """Write the conversation from its fullest record; return the tokens used."""
    if task.compact is not None:
        messages = task.compact.get("messages")
        _add_all(draft, messages)
        draft.note("the longest conversation of each task is all that HAL kept")
        made = objects(task.compact.get("call_metadata"))
        answers = sum(role_of(one) == "assistant" for one in objects(messages))
        if answers < max(whole(task.compact.get("call_count")) or 0, len(made)):
            draft.unread("raw_logging_results (answers in other conversations)")
        return _usage([one.get("usage") for one in made])
    if task.calls:
        calls = Calls(draft)
        with source.open() as handle:
            for call in sorted(task.calls, key=lambda one: (one.started_at, -one.start)):
                handle.seek(call.start)
                if call.id not in task.passed_on:
                    calls.add(source.value(handle.read(call.length)))
        return _usage(calls.usages)
    history = task.result.get("conversation_history")
    if isinstance(history, list) and history:
        _add_all(draft, history)
        return None
    acts = task.result.get("taken_actions")
    for act in objects(acts):
        draft.call(act.get("name"), act.get("kwargs", act.get("arguments")))
    draft.settle()
    draft.note("no conversation in the file" if not acts else "actions without their results")
    if not isinstance(acts, list):
        draft.unread("raw_logging_results")
    return None


def _add_all(draft: Draft, messages: Any) -> None:
    for message in objects(messages):
        add_message(draft, message)


def _usage(found: list[Any]) -> dict[str, Any] | None:
    """Return the usage of several calls, in any provider's spelling; a lower bound where one states
    none."""
    return summed([_counts(one) for one in found])


def _counts(usage: Any) -> dict[str, int] | None:
    counts = tokens_of(usage)
    cached = whole(at_path(usage, "cache_read_input_tokens"))
    # With OpenAI's names it is a part of the prompt's tokens.
    return {**counts, "cached_tokens": cached} if counts and cached else counts


def _cost(task: Task) -> float | None:
    stated = at_path(task.result, "metrics", "estimated_cost")
    return measured(task.result.get("cost")) or measured(stated)


def _latency(task: Task) -> float | None:
    seconds = measured(task.wall_clock) or measured(task.call_time)
    return None if seconds is None else seconds * 1000


def _verdict(draft: Draft, run: Run, task_id: str, task: Task) -> SourceVerdict | None:
    passed = run.passed(task_id)
    score = task.result.get("reward", task.result.get("score"))
    reward = amount(score) if not isinstance(score, bool) else None
    if task.variations:
        draft.note("several variations of the prompt are folded into one result: not taken apart")
        return None
    if passed is None:
        draft.note("in neither list of the results: not scored")
    if passed is None and reward is None:
        return None
    agrees = agreed(passed, [None if reward is None else reward > 0])
    if agrees is not passed:
        draft.note(SAYS_BOTH)
    return SourceVerdict(passed=agrees, reward=reward)
