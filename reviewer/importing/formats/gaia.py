"""GAIA runs: submissions, and the row files of smolagents' harnesses; a row is an attempt.

A verdict that stands in the row is taken. Where there is none, the answer is compared with the true
one by GAIA's own rule, where that stands beside the rows or in them; a true answer is never kept.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, amount, elapsed_ms, measured, tokens
from reviewer.importing.formats._gaia_rows import ANSWERS, Common, as_text, common_of, first_text
from reviewer.importing.formats._gaia_score import right
from reviewer.importing.formats._places import slug
from reviewer.importing.formats._smolagents import add_steps, asks, steps_of
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.rest import tell_rest
from reviewer.importing.source import Source
from reviewer.importing.split import Piece
from reviewer.trace.record import SourceVerdict

_RAISED = re.compile(r"\s*(?:Error\b|[\w.]*(?:Error|Exception)\s*[:(])")
_NO_ERROR = ("", "none", "null", "nan")
_KEPT = ("task", "source", "end_time", "run_id", "file_name", "parsing_error", "provider")


HARMLESS: frozenset[str] = frozenset()


class GaiaReader:
    name = "gaia"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        row = head.first
        if not isinstance(row, dict):
            return False
        if head.has("task_id", "model_answer"):
            return len(row) <= 12 and "messages" not in row
        if head.has("question", "prediction"):
            return "augmented_question" in row or "iteration_limit_exceeded" in row
        return head.has("question", "answer", "agent_action_type")

    def suite_id(self, path: Path) -> str:
        return "gaia"

    def candidate_id(self, path: Path) -> str:
        return path.name.partition(".json")[0]

    def companions(self, path: Path) -> tuple[Path, ...]:
        beside = path.parent / "metadata.jsonl"
        return (beside,) if beside.is_file() and beside.name != path.name else ()

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        common = common_of(source)
        if common.same:
            source.notes.add(common.same)
        for piece in source.pieces():
            yield self._attempt(source, piece, common)

    def _attempt(self, source: Source, piece: Piece, common: Common) -> Foreign | Broken:
        name = f"row {piece.number}"
        if piece.problem:
            return Broken((piece.problem,), name)
        return source.attempt(lambda: self._foreign(source, piece, common), name)

    def _foreign(self, source: Source, piece: Piece, common: Common) -> Foreign:
        row = source.value(piece.raw)
        if not isinstance(row, dict):
            raise Rejected("type:record")
        key = next((name for name in ANSWERS if name in row), None)
        if key is None:
            raise Rejected("missing:answer (model_answer, prediction or answer)")
        draft = Draft("gaia-submission" if key == "model_answer" else "smolagents")
        question = first_text(row, "original_question", "question", "Question")
        _conversation(draft, row, question)
        tell_rest(row, draft, "", HARMLESS, _as_code(row))
        answer = None if row[key] is None else as_text(row[key])
        exception = _exception(draft, row, answer)
        episode = _episode(draft, row, question, common)
        gold = common.gold(row, episode) if _suite(row) == "gaia" else ("", "")
        draft.source["row"] = {name: row[name] for name in _KEPT if row.get(name) is not None}
        return draft.foreign(
            episode_id=episode,
            candidate_id=source.candidate or self._candidate(source, draft, row),
            final_message=answer,
            latency_ms=_latency(draft, row),
            termination=_termination(draft, row, answer, exception),
            started_at=draft.at(row.get("start_time")),
            usage=_usage(draft, row),
            verdict=_verdict(draft, row, answer, gold, exception),
            title=question[:80],
            user_request=question,
            suite=_suite(row),
        )

    def _candidate(self, source: Source, draft: Draft, row: dict[str, Any]) -> str:
        model = first_text(row, "agent_name", "model_id")
        if not model:
            draft.note("the candidate is taken from the file's name: no row names it")
            return source.home if "/" in source.home else self.candidate_id(source.path)
        named = ("smolagents", first_text(row, "agent_action_type"), model)
        return " ".join(part for part in named if part)


def _as_code(row: dict[str, Any]) -> list[Any]:
    """Calls whose argument is the code that was run, of which the calls in it are read."""
    steps = row.get("intermediate_steps")
    listed = [
        step["tool_calls"]
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and isinstance(step.get("tool_calls"), list)
    ]
    return [calls for calls in listed if all(map(_is_code, calls))]


def _is_code(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return (
        isinstance(function, dict)
        and function.get("name") == "python_interpreter"
        and isinstance(function.get("arguments"), str)
    )


def _conversation(draft: Draft, row: dict[str, Any], question: str) -> None:
    steps = steps_of(row.get("intermediate_steps"))
    if question and not asks(steps):
        draft.message("user", first_text(row, "augmented_question") or question)
    if not steps and "reasoning_trace" not in row:
        draft.note("no steps in the file: only the question and the answer")
        draft.unread("intermediate_steps")
    add_steps(draft, steps)
    reasons = row.get("reasoning_trace")
    if reasons:
        draft.message("agent", reasons)


def _episode(draft: Draft, row: dict[str, Any], question: str, common: Common) -> str:
    own = row.get("task_id")
    if isinstance(own, (str, int)) and not isinstance(own, bool) and own != "":
        return str(own)
    if not question:
        raise Rejected("missing:task_id (and no question to tell the task by)")
    joined, made = common.task_of(question)
    if joined:
        draft.note("task ids are taken from metadata.jsonl beside it, by the question's text")
        return joined
    draft.note("rows name no task: an id is made of the question's text")
    return made


def _exception(draft: Draft, row: dict[str, Any], answer: str | None) -> str | None:
    """The row's error in any of the ways it is written, also as the answer."""
    said = row.get("agent_error")
    text = "" if said is None else as_text(said).strip()
    if text.casefold() in _NO_ERROR:
        text = ""
    if not text and answer and _RAISED.match(answer):
        draft.note("the answer is the text of an error")
        text = answer
    if text:
        draft.error(text[:5000])
    return text[:200] or None


def _termination(
    draft: Draft, row: dict[str, Any], answer: str | None, exception: str | None
) -> str | None:
    if row.get("iteration_limit_exceeded") is True:
        return "max_steps"
    if exception:
        return "error"
    if answer is not None:
        return "completed"
    draft.note("rows without an answer say nothing of why: how they ended is not known")
    return None


def _verdict(
    draft: Draft,
    row: dict[str, Any],
    answer: str | None,
    gold: tuple[str, str],
    exception: str | None,
) -> SourceVerdict | None:
    correct, near = row.get("is_correct"), row.get("is_near_correct")
    compared = right(answer, gold[0]) if gold[0] else None
    if isinstance(correct, bool):
        if compared is not None and compared != correct:
            draft.note(f"the row's verdict is not what comparing with {gold[1]} gives: it was kept")
        detail = {"is_near_correct": near} if isinstance(near, bool) else {}
        return SourceVerdict(passed=correct, exception=exception, detail=detail)
    if compared is not None:
        draft.note(f"no verdict in the row: its answer was compared with {gold[1]}")
        by = {"compared_with": gold[1]}
        return SourceVerdict(passed=compared, exception=exception, detail=by)
    draft.note("no verdict in the file, and no true answer beside it: not measured")
    return SourceVerdict(exception=exception) if exception else None


def _latency(draft: Draft, row: dict[str, Any]) -> float | None:
    took = measured(row.get("duration"))
    if took is not None:
        return took * 1000
    start, end = row.get("start_time"), row.get("end_time")
    found = elapsed_ms(start, end)
    if found is None and start is not None and end is not None:
        draft.note("start and end are of different clocks: the time between is not known")
    return found


def _usage(draft: Draft, row: dict[str, Any]) -> dict[str, int] | None:
    counts = row.get("token_counts")
    if not isinstance(counts, dict):
        return None
    parts = [one for one in counts.values() if isinstance(one, dict)] or [counts]
    asked = [amount(one.get("input", one.get("input_tokens"))) for one in parts]
    made = [amount(one.get("output", one.get("output_tokens"))) for one in parts]
    found = tokens(input_tokens=_sum(asked), output_tokens=_sum(made))
    if found is None:
        draft.note("token counts of 0 were read as not measured")
    return found


def _sum(counts: list[float | None]) -> float | None:
    return measured(sum(count for count in counts if count is not None))


def _suite(row: dict[str, Any]) -> str:
    source = first_text(row, "source")
    return f"smolagents-{slug(source)}" if source and source.casefold() != "gaia" else "gaia"
