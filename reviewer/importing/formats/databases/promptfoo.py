"""promptfoo's own database (`~/.promptfoo/promptfoo.db`): a row for each evaluation, and a row for
each of its results, with the members of a result in promptfoo's JSON files. An evaluation of an
older version holds its results itself."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from reviewer.db.foreign import ROWID, ForeignDatabase, as_text
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import mapping, sequence
from reviewer.importing.formats.databases import DatabaseReader, Needs, value_in
from reviewer.importing.formats.promptfoo import PromptfooReader, lacking, result
from reviewer.importing.formats.promptfoo_run import Run
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

_JSON = {
    "test_case": "testCase",
    "prompt": "prompt",
    "provider": "provider",
    "response": "response",
    "grading_result": "gradingResult",
    "named_scores": "namedScores",
    "metadata": "metadata",
}
_PLAIN = {
    "id": "id",
    "error": "error",
    "prompt_idx": "promptIdx",
    "test_idx": "testIdx",
    "latency_ms": "latencyMs",
    "cost": "cost",
    "score": "score",
    "success": "success",
    "failure_reason": "failureReason",
}
_COLUMNS = (*_JSON, *_PLAIN)
_ABSENT = (None, b"null")


class PromptfooDatabaseReader(DatabaseReader):
    name = "promptfoo-db"
    tool = "promptfoo"
    facts: FormatFacts = PromptfooReader.facts._replace(
        by="a SQLite database with the tables `evals` and `eval_results`",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {"evals": ("id", "config"), "eval_results": ("eval_id", "test_idx")}

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        traced = _traced(held)
        columns = ("id", "created_at", "config", "prompts", "results")
        for own, created, config, prompts, older in held.rows("evals", columns, ("created_at",)):
            run = Run(as_text(own))
            run.stamp = created
            run.settings(mapping(value_in(source, config)).get("providers"))
            for number, prompt in enumerate(sequence(value_in(source, prompts))):
                run.prompt(number, prompt)
            each = partial(_results, source, held, own, older, own in traced)
            for value in each():
                run.result(value)
            for number, value in enumerate(each(), 1):
                make = partial(result, source, number, value, run, self.name)
                yield source.attempt(make, f"{run.name}, result {number}")
            yield from lacking(run)


def _traced(held: ForeignDatabase) -> set[Any]:
    """Return evaluations of which promptfoo keeps spans."""
    kept = "traces" in held.tables
    return {own for (own,) in held.rows("traces", ("evaluation_id",))} if kept else set()


def _results(
    source: Source, held: ForeignDatabase, own: Any, older: Any, traced: bool
) -> Iterator[dict[str, Any] | None]:
    """Yield the results of an evaluation; None for one that cannot be read."""
    yield from sequence(mapping(value_in(source, older)).get("results"))
    for row in held.rows("eval_results", _COLUMNS, (ROWID,), "eval_id", as_text(own)):
        yield _result_of(source, row, traced)


def _result_of(source: Source, row: tuple[Any, ...], traced: bool) -> dict[str, Any] | None:
    """Return a row as the result that promptfoo exports of it."""
    held = dict(zip(_COLUMNS, row, strict=True))
    found: dict[str, Any] = {to: value_in(source, held[name]) for name, to in _JSON.items()}
    if any(found[to] is None and held[name] not in _ABSENT for name, to in _JSON.items()):
        return None
    for name, to in _PLAIN.items():
        value = held[name]
        found[to] = as_text(value) if isinstance(value, bytes) else value
    found["success"] = {0: False, 1: True}.get(found["success"])
    found["vars"] = mapping(found["testCase"]).get("vars")
    return {**found, "traceId": True} if traced else found
