"""Results of the Berkeley Function Calling Leaderboard (BFCL): `BFCL_v4_<category>_result.json`,
one line per question, in the model's folder; its checker's scores are in the same place below
`score`.

A model's answer is words, calls by name (`[{"f": "{…}"}]`), or calls written as Python. With
several turns, `inference_log` states everything that was asked, called and returned, and `result`
repeats the answers; with one turn, calls are not run, a log contains only what the model was given,
and the question is not in the file. A score file lists the failures: questions that it leaves out
passed, if it counts as many as there are results.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, summed, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    clipped,
    folder_names,
    mapping,
    objects,
    text,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.messages.text_calls import calls_in
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

ALONE = "no score file: whether an answer was right is not measured"
COUNTS = "the score file counts other results than these: only what it lists has a verdict"
NOT_RUN = "its calls were not run, and the question is not in the file"
_FILE = re.compile(r"(BFCL_v\d+_.+)_result\.json(?:l|\.gz|\.zst)?\Z")
_STEP = re.compile(r"step_(\d{1,6})\Z")
_BROKE = "Error during inference:"
_STOPPED = "Model has been forced to quit"
_COUNTS = ("input_token_count", "output_token_count", "latency")
_GROUPS = frozenset(
    (
        *("non_live", "live", "multi_turn", "agentic", "format_sensitivity", "memory"),
        *("kv", "vector", "rec_sum"),
    )
)
"""Folders below a model's that group its results."""


class BfclReader(Format):
    name = "bfcl"
    facts = FormatFacts(
        by="`id` and `result` with `latency`, token counts or a `traceback`, or BFCL's file name",
        steps="with several turns; else the answer",
        tools="calls; of one turn not run",
        times="the model's, summed",
        tokens="yes",
        verdict="of the score file",
        final_state="of BFCL's classes, with several turns",
        beside="`score/<model>/…_score.json`",
    )

    def sniff(self, head: Head) -> bool:
        is_one = _has_result if _FILE.match(head.path.name) else _is_result
        value = head.value
        if isinstance(value, list):
            return any(map(is_one, value[:20]))
        return is_one(value) or any(map(is_one, head.lines(20)))

    def suite_id(self, path: Path) -> str:
        return "bfcl"

    def placed(self, path: Path) -> tuple[str, ...]:
        return (_model(path),)

    def companions(self, path: Path) -> tuple[Path, ...]:
        found = _score_file(path)
        return () if found is None else (found,)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        scores = _scores(source)
        for name, value in source.records():
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(_result, source, value, scores), name)


def _has_result(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and "result" in value


def _is_result(value: Any) -> bool:
    return _has_result(value) and bool({*_COUNTS, "traceback"} & value.keys())


def _result(source: Source, value: Any, scores: "_Scores") -> Foreign:
    if not isinstance(value, dict) or "result" not in value:
        raise Rejected("type:result")
    own = text(value.get("id"))
    if not own:
        raise Rejected("missing:id")
    log = value.get("inference_log")
    told = _Told(Draft("bfcl", answers=_ran(log)))
    draft, account = told.draft, told.transcript.account
    broke = isinstance(value["result"], str) and value["result"].startswith(_BROKE)
    if isinstance(log, list):
        told.log(log)
    elif log not in (None, ""):
        draft.unread("inference_log", 1)
    if told.answers:
        if told.answers != _flat(value["result"]):
            draft.unread("result", 1)  # its answers differ from those in the log
    elif broke:
        told.transcript.wrong(value["result"])
    else:
        for answer in _answers(value["result"]):
            told.answer(answer)
        draft.note(NOT_RUN)
    told.transcript.finish()
    account.read(value, _READ)
    account.whole(value["result"], value.get("reasoning_content"))
    account.tell(value, draft)
    waited, verdict = _sum(value.get("latency")), scores.of(own)
    if broke and verdict is not None and verdict.passed:  # of irrelevance, no answer is right
        verdict = SourceVerdict(exception=value["result"], detail=verdict.detail)
        draft.note(SAYS_BOTH)
    return draft.foreign(
        episode_id=own,
        candidate_id=source.candidate or _model(source.path) or source.home,
        final_state=told.state,
        final_message=draft.last_words(),
        latency_ms=None if waited is None else waited * 1000,
        usage=_usage(value),
        termination="error" if broke else "max_steps" if told.stopped else None,
        verdict=verdict,
    )


def _ran(log: Any) -> bool:
    """Return whether a log describes turns in which calls were run; the log of a question with a
    single answer contains only what the model was given."""
    return any("role" not in one for one in objects(log))


_READ = frozenset(("id", "result", "inference_log", *_COUNTS, "traceback", "reasoning_content"))


class _Told:
    """The parts of one question, collected for a transcript."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.transcript = Transcript(draft)
        self.answers: list[Any] = []
        self.state: Any = None
        self.stopped = False
        self._calls: list[str] = []
        self._made = 0

    def log(self, log: list[Any]) -> None:
        """Read `inference_log`: states, then a turn, and so on; for a single answer, what the model
        was given."""
        account = self.transcript.account
        account.every(log)
        for part in log:
            if isinstance(part, list):
                self._states(part)
            elif isinstance(part, dict) and "role" in part:
                self._entry(part)
            elif isinstance(part, dict):
                self._turn(part)

    def _states(self, part: list[Any]) -> None:
        account = self.transcript.account
        account.every(part)
        told = {}
        for one in objects(part):
            if one.get("role") != "state_info":
                continue
            account.read(one, ("role", "class_name", "content"))
            account.whole(one.get("content"))
            told[text(one.get("class_name"))] = one.get("content")
        self.state = told or self.state

    def _turn(self, part: dict[str, Any]) -> None:
        account = self.transcript.account
        steps = sorted((int(m[1]), name) for name in part if (m := _STEP.match(name)))
        account.read(part, ("begin_of_turn_query", *(name for _, name in steps)), strict=True)
        self.transcript.say_all(part.get("begin_of_turn_query"))
        for _, name in steps:
            account.every(part[name])
            self._calls = []
            for one in objects(part[name]):
                self._entry(one)

    def _entry(self, one: dict[str, Any]) -> None:
        account, role = self.transcript.account, one.get("role")
        if role == "assistant":
            account.read(one, ("role", "content", "reasoning_content"))
            account.whole(one.get("content"))
            self.answers.append(one.get("content"))
            self.answer(one.get("content"))
        elif role == "tool":
            account.read(one, ("role", "content"))
            account.whole(one.get("content"))
            own = self._calls.pop(0) if self._calls else ""
            self.transcript.say(
                {"role": "tool", "tool_call_id": own, "content": one.get("content")}
            )
            self.transcript.failed_where(_failed)
        elif role == "handler_log":
            # how the handler wrote the answer's calls for BFCL's executor
            account.read(one, ("role", "content", "model_response_decoded", "error"))
            account.whole(one.get("model_response_decoded"))
            self.stopped = self.stopped or text(one.get("content")).startswith(_STOPPED)
        elif role == "inference_input":
            account.read(one, ("role", "content"))
            account.whole(one.get("content"))

    def answer(self, answer: Any) -> None:
        """Read one answer of the model."""
        calls = _calls_of(answer)
        if calls is None:
            content = answer if isinstance(answer, str) else str(answer)
            self.transcript.say({"role": "assistant", "content": content})
            if not isinstance(answer, str) or _may_call(answer):
                self.draft.unread("result", 1)
            return
        listed = []
        for name, given in calls:
            self._made += 1
            own = f"call-{self._made}"
            self._calls.append(own)
            function = {"name": name, "arguments": given}
            listed.append({"id": own, "type": "function", "function": function})
        self.transcript.say({"role": "assistant", "content": None, "tool_calls": listed})


def _calls_of(answer: Any) -> list[tuple[str, Any]] | None:
    """Return the calls of an answer; None for words, and for an answer that is not understood."""
    if isinstance(answer, list):
        if not all(isinstance(one, dict) and len(one) == 1 for one in answer):
            return None
        return [pair for one in answer for pair in one.items()]
    if not isinstance(answer, str):
        return None
    if (written := _as_json(answer)) is not None:
        return _calls_of(written)
    found = calls_in(_bare(answer))
    return list(found.calls) if found and found.understood and not found.words.strip() else None


def _may_call(answer: str) -> bool:
    return _as_json(answer) is not None or calls_in(_bare(answer)) is not None


def _as_json(answer: str) -> list[Any] | None:
    """Return the objects of a text that lists some as JSON, as handlers write calls down."""
    bare = _bare(answer).removeprefix("json").lstrip()
    parsed = parse_text(bare) if bare[:1] == "[" and "{" in bare[:20] else None
    return parsed if isinstance(parsed, list) and any(objects(parsed)) else None


def _bare(answer: str) -> str:
    """Return a text as BFCL reads it, without the code fence around it."""
    return answer.strip("`\n ")


def _answers(result: Any) -> list[Any]:
    """Return the answers of a result without a log: a single one, or those of each step of each
    turn."""
    return _flat(result) if _is_turns(result) else [result]


def _is_turns(result: Any) -> bool:
    turns = result if isinstance(result, list) else []
    return bool(turns) and all(isinstance(one, list) for one in turns)


def _flat(result: Any) -> list[Any]:
    turns = result if isinstance(result, list) else []
    return [step for turn in turns if isinstance(turn, list) for step in turn]


def _failed(seen: Any) -> bool:
    """Return whether BFCL's executor, or one of its own classes, says that a call failed."""
    if isinstance(seen, str) and seen.startswith("Error during execution"):
        return True
    held = parse_text(seen) if isinstance(seen, str) and seen[:1] == "{" else seen
    return bool(mapping(held).get("error"))


def _numbers(value: Any) -> Iterator[Any]:
    """Yield the figures of each step, which are in one list per turn."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        else:
            yield one


def _sum(value: Any) -> float | None:
    found = [amount(one) for one in _numbers(value)]
    known = [one for one in found if one is not None]
    return sum(known) if known and len(known) == len(found) else None


def _usage(value: dict[str, Any]) -> dict[str, Any] | None:
    given, made = (list(_numbers(value.get(name))) for name in _COUNTS[:2])
    if len(given) != len(made):
        return None
    pairs = zip(given, made, strict=True)
    return summed([tokens(input_tokens=one, output_tokens=other) for one, other in pairs])


# Scores and places --------------------------------------------------------------------------------


class _Scores(NamedTuple):
    """The content of a score file: what failed, and whether everything else passed."""

    failed: dict[str, dict[str, Any]]
    passed: frozenset[str]

    def of(self, own: str) -> SourceVerdict | None:
        if (entry := self.failed.get(own)) is not None:
            error = entry.get("error")
            kind = entry.get("error_type") or mapping(error).get("error_type")
            detail = {"error_type": clipped(text(kind), 200)} if kind else {}
            return SourceVerdict(passed=False, detail=detail)
        return SourceVerdict(passed=True) if own in self.passed else None


def _scores(source: Source) -> _Scores:
    if not source.companions:
        source.notes.add(ALONE)
        return _Scores({}, frozenset())
    ids = [
        value["id"]
        for _, value in source.records()
        if isinstance(value, dict) and isinstance(value.get("id"), str)
    ]
    header: dict[str, Any] = {}
    failed: dict[str, dict[str, Any]] = {}
    for _, value in source.records(source.companions[0]):
        if isinstance(value, dict) and "total_count" in value and not header:
            header = value
        elif isinstance(value, dict) and value.get("valid") is False:
            failed[text(value.get("id"))] = value
    total, right = header.get("total_count"), header.get("correct_count")
    others = frozenset(ids) - failed.keys()
    agree = total == len(ids) == len(set(ids)) and failed.keys() <= set(ids)
    if not agree or right != len(others):
        source.notes.add(COUNTS)
        others = frozenset()
    return _Scores(failed, others)


def _score_file(path: Path) -> Path | None:
    """Return the score file of a result file: the same place, below `score` instead of `result`."""
    found = _FILE.match(path.name)
    if found is None:
        return None
    groups = _groups(path)
    model = path.absolute().parents[len(groups)]
    place = model.parent.parent / "score" / model.name
    file = place.joinpath(*reversed(groups), f"{found[1]}_score.json")
    try:
        return file if file.is_file() and not file.is_symlink() else None
    except OSError:
        return None


def _groups(path: Path) -> list[str]:
    """Return the group folders that contain a file, nearest first."""
    found: list[str] = []
    for name in folder_names(path, 3):
        if name not in _GROUPS:
            break
        found.append(name)
    return found


def _model(path: Path) -> str:
    """Return the model whose folder contains a file; empty where no group's folder does."""
    groups = _groups(path)
    return folder_names(path, len(groups) + 1)[-1] if groups else ""
