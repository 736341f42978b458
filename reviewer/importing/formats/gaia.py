"""GAIA runs: submissions, and the row files of smolagents' harnesses; a row is an attempt.

A verdict in the row is used. Without one, the answer is compared with the true one by GAIA's own
rule, where that is in the rows or beside them; a true answer is never stored.
"""

import hashlib
import re
import string
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, elapsed_ms, measured, tokens, words
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.base import Format, each_record, objects, slug, tell_rest
from reviewer.importing.formats.smolagents import add_steps, asks, calls_of_code, steps_of
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import opened
from reviewer.importing.pipeline.split import Piece, Unreadable, pieces_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

# GAIA's own rule ----------------------------------------------------------------------------------

_UNITS = str.maketrans("", "", "$%,")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PARTS = re.compile("[,;]")
_BLANK = re.compile(r"\s")


def right(answer: str | None, gold: str) -> bool:
    """Return whether the benchmark counts `answer` as `gold`; no answer is a wrong one."""
    said = "None" if answer is None else answer
    number = _number(gold)
    if number is not None:
        return _number(said.translate(_UNITS)) == number
    if not _PARTS.search(gold):
        return _bare(said).translate(_PUNCTUATION) == _bare(gold).translate(_PUNCTUATION)
    ours, theirs = _PARTS.split(said), _PARTS.split(gold)
    return len(ours) == len(theirs) and all(map(_part, ours, theirs))


def _part(answer: str, gold: str) -> bool:
    number = _number(gold)
    if number is not None:
        return _number(answer.translate(_UNITS)) == number
    return _bare(answer) == _bare(gold)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bare(text: str) -> str:
    return _BLANK.sub("", text).lower()


# What the rows of a file have in common -----------------------------------------------------------

ANSWERS = ("model_answer", "prediction", "answer")
FEW = 3
"""Number of tasks from which a note says that all rows have the same answer."""
_FAILED = re.compile(
    r"(?i)\berror\b|\w+Error\b|exception|traceback|unauthori[sz]ed|authenticat|api.?key"
    r"|rate.?limit|\b(?:401|403|404|429|5\d\d)\b|quota|timed? ?out"
)
_VARYING = re.compile(r"[0-9a-f]{6,}|\d+|req_\w+")
_BLANKS = re.compile(r"\s+")
MOST_QUESTIONS = 100_000


class FileFacts:
    """`same` is the note on an answer that all rows share, else empty."""

    def __init__(self, same: str, beside: "Metadata") -> None:
        self.same = same
        self._task_ids, self._gold = beside

    def gold(self, row: dict[str, Any], task_id: str) -> tuple[str, str]:
        """Return (the true answer, its source), both empty when it is not known. It is used for
        comparison and never stored. GAIA hides the answers of its test part behind a question
        mark."""
        beside = self._gold.get(task_id, ""), "metadata.jsonl"
        own = row.get("true_answer")
        stated = (as_text(own).strip() if own is not None else ""), "true_answer"
        return next((one for one in (beside, stated) if one[0] not in ("", "?")), ("", ""))

    def task_of(self, question: str) -> tuple[str, str]:
        """Return (the task's id from the metadata, or empty; an id made from the question)."""
        plain = _plain(question)
        made = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:12]
        return self._task_ids.get(plain, ""), f"q-{made}"


def facts_of(source: Source) -> FileFacts:
    """Return the facts that all readable rows have in common. Raises Unreadable, OSError."""
    rows, first, same = 0, "", True
    asked: set[int] = set()
    for piece in source.pieces():
        try:
            row = None if piece.problem else parse(piece.raw)
        except NotJson:
            continue
        if not isinstance(row, dict):
            continue
        key = next((name for name in ANSWERS if name in row), "")
        answer = _VARYING.sub("#", as_text(row.get(key)).strip()[:300])
        first = answer if not rows else first
        rows += 1
        same = same and answer == first
        asked.add(hash(as_text(row.get("task_id") or row.get("question"))))
    beside = _metadata(source)
    if len(asked) < FEW or not same:
        return FileFacts("", beside)
    if not first:
        return FileFacts(f"all {rows} rows are without an answer", beside)
    if _FAILED.search(first):
        told = f"all {rows} rows have the same error text as their answer: the harness failed"
        return FileFacts(told, beside)
    return FileFacts(f"all {rows} rows have the same answer", beside)


class Metadata(NamedTuple):
    """The metadata beside the rows: task ids by question, true answers by task."""

    task_ids: dict[str, str]
    gold: dict[str, str]


def _metadata(source: Source) -> Metadata:
    """Return task ids and true answers from the metadata; the answers may not be stored
    anywhere."""
    found: dict[str, str] = {}
    gold: dict[str, str] = {}
    for path in source.companions:
        try:
            with opened(path) as handle:
                for piece in pieces_of(handle):
                    row = None if piece.problem else parse(piece.raw)
                    if isinstance(row, dict) and len(found) < MOST_QUESTIONS:
                        question, own = row.get("Question"), row.get("task_id")
                        if isinstance(question, str) and isinstance(own, str):
                            found[_plain(question)] = own
                            gold[own] = as_text(row.get("Final answer") or "").strip()
        except (OSError, Unreadable, NotJson):
            source.notes.add(f"{path.name} next to it could not be read")
    return Metadata(found, gold)


def _plain(question: str) -> str:
    return _BLANKS.sub(" ", question).strip()


def first_text(row: dict[str, Any], *names: str) -> str:
    """Return the first of these members that is a nonempty text."""
    return next((row[n] for n in names if isinstance(row.get(n), str) and row[n].strip()), "")


def as_text(value: Any) -> str:
    """Return an answer or error as text, whatever JSON it is."""
    found = words(value)
    return found if isinstance(found, str) else str(found)


# The reader ---------------------------------------------------------------------------------------

_RAISED = re.compile(r"\s*(?:Error\b|[\w.]*(?:Error|Exception)\s*[:(])")
_NO_ERROR = ("", "none", "null", "nan")
_KEPT = ("task", "source", "end_time", "run_id", "file_name", "parsing_error", "provider")


class GaiaReader(Format):
    name = "gaia"
    facts = FormatFacts(
        by="`task_id, model_answer`; `question` with `prediction` or `answer`",
        steps="where kept",
        tools="read out of text",
        times="run",
        tokens="run",
        verdict="`is_correct`, else compared with the true answer",
        beside="`metadata.jsonl`: ids, and true answers to compare with, never kept",
    )

    def sniff(self, head: Head) -> bool:
        row = head.first
        if not isinstance(row, dict):
            return False
        if head.has("task_id", "model_answer"):
            return len(row) <= 12 and "messages" not in row
        if head.has("question", "prediction"):
            return "augmented_question" in row or "iteration_limit_exceeded" in row
        return head.has("question", "answer", "agent_action_type")

    def candidate_id(self, path: Path) -> str:
        return path.name.partition(".json")[0]

    def companions(self, path: Path) -> tuple[Path, ...]:
        beside = path.parent / "metadata.jsonl"
        return (beside,) if beside.is_file() and beside.name != path.name else ()

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        common = facts_of(source)
        if common.same:
            source.notes.add(common.same)
        yield from each_record(source, partial(self._foreign, source, common), "row")

    def _foreign(self, source: Source, common: FileFacts, piece: Piece) -> Foreign:
        row = source.value(piece.raw)
        if not isinstance(row, dict):
            raise Rejected("type:record")
        key = next((name for name in ANSWERS if name in row), None)
        if key is None:
            raise Rejected("missing:answer (model_answer, prediction or answer)")
        draft = Draft("gaia-submission" if key == "model_answer" else "smolagents")
        question = first_text(row, "original_question", "question", "Question")
        _conversation(draft, row, question)
        tell_rest(row, draft, told=calls_of_code(row.get("intermediate_steps")))
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


def _episode(draft: Draft, row: dict[str, Any], question: str, common: FileFacts) -> str:
    own = row.get("task_id")
    if isinstance(own, (str, int)) and not isinstance(own, bool) and own != "":
        return str(own)
    if not question:
        raise Rejected("missing:task_id (and no question to tell the task by)")
    joined, made = common.task_of(question)
    if joined:
        draft.note("task ids are taken from metadata.jsonl next to it, by the question's text")
        return joined
    draft.note("rows name no task: an id is made of the question's text")
    return made


def _exception(draft: Draft, row: dict[str, Any], answer: str | None) -> str | None:
    """Return the row's error in any of the ways in which it is written, including as the answer."""
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
    correct, near = _flag(row.get("is_correct")), _flag(row.get("is_near_correct"))
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
    draft.note("no verdict in the file, and no true answer next to it: not measured")
    return SourceVerdict(exception=exception) if exception else None


def _flag(value: Any) -> Any:
    """Return true or false, also for the 1 and 0 of numeric tables."""
    return bool(value) if isinstance(value, (int, float)) and value in (0, 1) else value


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
    parts = objects(list(counts.values())) or [counts]
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
