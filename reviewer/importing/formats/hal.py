"""HAL run files (`<run id>_UPLOAD.json`): one document of a whole run, a task an attempt.

Verdicts stand in `results` as lists of task ids, costs for the whole run only. What agents said is
logged per call to a model, each with the whole history again: a message is taken once, and a call
that another one only passed on is not counted twice.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, amount, measured, tokens
from reviewer.importing.formats._hal_calls import HARMLESS as CALLS_HARMLESS
from reviewer.importing.formats._hal_calls import Calls
from reviewer.importing.formats._hal_run import Run, Task, run_of
from reviewer.importing.formats._places import slug
from reviewer.importing.formats._smol_chat import add_message
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.rest import tell_rest
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.trace.record import SourceVerdict

_SUITES = (("swebench", "swe-bench"), ("taubench", "tau-bench"))


HARMLESS: frozenset[str] = frozenset()


class HalReader:
    name = "hal"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        config = head.value.get("config") if isinstance(head.value, dict) else None
        return isinstance(config, dict) and {"agent_name", "benchmark_name", "run_id"} <= set(
            config
        )

    def suite_id(self, path: Path) -> str:
        return "hal"

    def candidate_id(self, path: Path) -> str:
        return path.name.partition("_UPLOAD")[0]

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()

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
        tell_rest(task.result, draft, "", HARMLESS)
        if task.compact is not None:
            tell_rest(task.compact, draft, "raw_logging_results", CALLS_HARMLESS)
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
    """What was said, of the fullest record of it there is; the tokens it took."""
    if task.compact is not None:
        messages = task.compact.get("messages")
        _add_all(draft, messages)
        draft.note("the longest conversation of each task is all that HAL kept")
        made = task.compact.get("call_metadata")
        return _usage([one.get("usage") for one in made or [] if isinstance(one, dict)])
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
    for act in acts if isinstance(acts, list) else ():
        if isinstance(act, dict):
            draft.call(act.get("name"), act.get("kwargs", act.get("arguments")))
    draft.settle()
    draft.note("no conversation in the file" if not acts else "actions without what came of them")
    if not isinstance(acts, list):
        draft.unread("raw_logging_results")
    return None


def _add_all(draft: Draft, messages: Any) -> None:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            add_message(draft, message)


def _usage(found: list[Any]) -> dict[str, int] | None:
    """Usage of several calls, in the spelling of whichever provider."""
    totals = {"input_tokens": 0.0, "output_tokens": 0.0, "cached_tokens": 0.0}
    for usage in found:
        if not isinstance(usage, dict):
            continue
        cached = amount(usage.get("cache_read_input_tokens"))
        details = usage.get("prompt_tokens_details")
        inner = amount(details.get("cached_tokens")) if isinstance(details, dict) else None
        asked = amount(usage.get("prompt_tokens"))
        # Anthropic's input tokens leave the cached ones out, others' prompt tokens hold them.
        own = (amount(usage.get("input_tokens")) or 0) + (cached or 0)
        totals["input_tokens"] += asked if asked is not None else own
        made = amount(usage.get("completion_tokens"))
        totals["output_tokens"] += (
            made if made is not None else amount(usage.get("output_tokens")) or 0
        )
        totals["cached_tokens"] += cached or inner or 0
    return tokens(**{name: measured(count) for name, count in totals.items()})


def _cost(task: Task) -> float | None:
    metrics = task.result.get("metrics")
    stated = metrics.get("estimated_cost") if isinstance(metrics, dict) else None
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
    return SourceVerdict(passed=passed, reward=reward)
