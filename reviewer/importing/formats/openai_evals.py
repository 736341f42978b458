"""Output items of runs of OpenAI's Evals, as its API returns them: one by one, in an array, one per
line, or in the `data` of a list.

An item is one sample: the request to a model and its answer, and the result of each grader.
`status` is the verdict of the source; a grader's own sample is not the agent's work.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import Draft, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    agreed,
    mapping,
    objects,
    sequence,
    text,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

_ITEM = "eval.run.output_item"
MORE = "the run has more items than this page of them: import the other pages too"
NO_ANSWER = "no answer of a model is in the file: what was done is not known"
_PASSED = {"pass": True, "passed": True, "fail": False, "failed": False}
_ENDS = {"stop": "stop", "length": "max_output_tokens", "content_filter": "content_filter"}


class OpenAIEvalsReader(Format):
    name = "openai-evals"
    facts = FormatFacts(
        by="`object` that says eval.run.output_item",
        steps="one exchange: what was asked and answered",
        tokens="yes",
        verdict="`status`, and each grader's score",
    )

    def sniff(self, head: Head) -> bool:
        first = head.first
        return _is_item(first) or any(map(_is_item, sequence(mapping(first).get("data"))[:5]))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        number, more = 0, False
        for name, value in source.records():
            listed = [value]
            if isinstance(value, dict) and not _is_item(value) and "data" in value:
                listed, more = sequence(value["data"]), value.get("has_more") is True
            for one in listed:
                number += 1
                if isinstance(one, Broken):
                    yield one
                else:
                    yield source.attempt(partial(_item, source, one), f"{name}, item {number}")
        if more:
            source.notes.add(MORE)


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") == _ITEM


def _item(source: Source, value: Any) -> Foreign:
    if not _is_item(value):
        raise Rejected("type:item")
    sample = mapping(value.get("sample"))
    named = value.get("datasource_item_id")
    if named in (None, ""):
        raise Rejected("missing:datasource_item_id")
    draft = Draft("openai-evals")
    transcript = Transcript(draft)
    account = transcript.account
    transcript.say_all(sample.get("input"))
    answers = sequence(sample.get("output"))
    account.every(answers)
    counts = _tokens(sample.get("usage"))
    for one in answers:
        transcript.say(one, "assistant", tokens=counts)
        counts = None
    error = _error(sample.get("error"))
    if error:
        transcript.wrong(error)
    elif not answers:
        draft.unread("sample.output")
        draft.note(NO_ANSWER)
    transcript.finish()
    account.read(value, _READ)
    account.read(sample, ("input", "output", "usage", "error", "model", "finish_reason"))
    account.offered(sample.get("tools"))
    # What was expected, and the graders' requests and answers.
    account.whole(value.get("datasource_item"), value.get("results"))
    account.tell(value, draft)
    draft.source["eval_id"] = text(value.get("eval_id"))
    draft.identity = f"id:{text(value.get('id'))}" if value.get("id") else ""
    return draft.foreign(
        episode_id=str(named),
        candidate_id=source.candidate or sample.get("model") or source.home,
        final_message=draft.last_words(),
        usage=_tokens(sample.get("usage")),
        started_at=draft.at(value.get("created_at")),
        termination="error" if error else _ENDS.get(text(sample.get("finish_reason"))),
        verdict=_verdict(value, error, draft),
    )


_READ = (
    *("object", "id", "run_id", "eval_id", "created_at", "status", "datasource_item_id"),
    *("sample", "results", "datasource_item"),
)


def _error(value: Any) -> str:
    """Return the error; the API has an empty error where nothing broke."""
    held = mapping(value)
    return text(held.get("message")) or text(held.get("code")) or text(value)


def _tokens(usage: Any) -> dict[str, int] | None:
    held = mapping(usage)
    return tokens(
        input_tokens=held.get("prompt_tokens"),
        output_tokens=held.get("completion_tokens"),
        cached_tokens=held.get("cached_tokens"),
        total_tokens=held.get("total_tokens"),
    )


def _verdict(value: dict[str, Any], error: str, draft: Draft) -> SourceVerdict:
    graded = [
        {name: one[name] for name in ("name", "passed", "score") if name in one}
        for one in objects(value.get("results"))
    ]
    stated = _PASSED.get(text(value.get("status")))
    passed = agreed(stated, (one.get("passed") for one in graded))
    if passed is not stated:
        draft.note(SAYS_BOTH)
    return SourceVerdict(
        passed=None if error and passed else passed,
        exception=error or None,
        detail={"graders": graded[:50]},
    )
