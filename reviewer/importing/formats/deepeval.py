"""Test runs of DeepEval: `test_run_<time>.json`, the latest run in `.deepeval`, and the same with
`testRunData` around it.

A test case is an attempt: request and answer, the called tools, and the result of each metric. A
traced one has its spans too; `toolsCalled` repeats their calls, and further calls in it are not
understood. `success` is the verdict of the source. `runDuration` is the time of the metrics and
`evaluationCost` what they cost: neither is the agent's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, amount, measured, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    agreed,
    at_path,
    clipped,
    mapping,
    objects,
    text,
    value_of,
)
from reviewer.importing.formats.deepeval_spans import BUCKETS, READ, given, spans_of, ties
from reviewer.importing.formats.otel.episode import Heading, native
from reviewer.importing.formats.otel.tree import Tree
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Path
from reviewer.trace.record import SourceVerdict

NAME = "deepeval"
NOCASES = "DeepEval: the run has no test cases"
ANOTHER = "test cases of one name ask other things: each is an episode of its own"
ONE_MOMENT = "a call and an answer of a model begin at one moment: which was first is not stated"
UNSTATED_CALLS = "no test case or turn says which tools were called: what was done is not measured"
CASES = ("testCases", "conversationalTestCases")
_AROUND = "testRunData"


class About(NamedTuple):
    """A run's facts about all its test cases."""

    candidate: str = ""
    identifier: str = ""
    repeated: Mapping[str, str] = {}
    """The name of a repetition → the name of its test."""


class DeepEvalReader(Format):
    name = NAME
    facts = FormatFacts(
        by="`testCases` or `conversationalTestCases` with `runDuration`",
        steps="calls and words; spans where the case was traced",
        times="of traced cases; `completionTime`",
        cost="`tokenCost`, else priced calls of models",
        tokens="where stated",
        verdict="`success`, and each metric's score",
    )

    def sniff(self, head: Head) -> bool:
        return is_run(head.value) or is_run(mapping(head.value).get(_AROUND))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        around = () if is_run(Head(source.path).value) else (_AROUND,)
        number, found = 0, _about(source, around)
        for part in source.walk(*((*around, name, EACH) for name in CASES)):
            kind = _kind(part.path, around)
            if kind:
                number += 1
                name = f"test case {number}"
                if part.problem:
                    yield Broken((part.problem,), name)
                else:
                    yield source.attempt(partial(_parsed, source, part.raw, kind, found), name)
            elif part.problem:
                yield Broken((part.problem,), "test run")
            elif _misplaced(part.path, around) and part.raw != b"null":
                yield Broken(("type:testCases",), "test run")
        if not number:
            source.notes.add(NOCASES)


def is_run(value: Any) -> bool:
    """Return whether this is a test run, as far as it is shown."""
    if not isinstance(value, dict) or not any(isinstance(value.get(n), list) for n in CASES):
        return False
    first = next((one for name in CASES for one in objects(value.get(name))), None)
    if first is None:
        return {"metricsScores", "runDuration"} <= value.keys()
    return "name" in first and bool({"input", "turns"} & first.keys())


def _kind(path: Path, around: tuple[str, ...]) -> str:
    """Return the list of test cases that a part is in; empty for any other part."""
    inner = path[len(around) :]
    listed = len(inner) == 2 and inner[0] in CASES and isinstance(inner[1], int)
    return str(inner[0]) if listed else ""


def _misplaced(path: Path, around: tuple[str, ...]) -> bool:
    """Return whether a part is where test cases should be, and is not a list of them."""
    inner = path[len(around) :]
    return inner[0] in CASES if inner else path == around


def _about(source: Source, around: tuple[str, ...]) -> About:
    """Return the run's facts about itself, wherever they are."""
    found: dict[str, Any] = {}
    names: list[str] = []
    for part in source.walk(*((*around, name, EACH) for name in CASES)):
        inner = part.path[len(around) :]
        if len(inner) == 1 and inner[0] in ("hyperparameters", "identifier"):
            found[str(inner[0])] = value_of(source, part)
        elif _kind(part.path, around):
            names.append(text(mapping(value_of(source, part)).get("name")))
    source.reached = 0
    return about(found, names)


def about(run: dict[str, Any], names: Iterable[str]) -> About:
    """Return the model or the agent of a run, if it names one, and the repetitions among the names
    of its test cases."""
    settings = mapping(run.get("hyperparameters"))
    members = ("agent", "agent_version", "version", "model", "Model")
    told = [text(settings.get(name)) for name in members]
    candidate = " ".join(one for one in told if one)[:300]
    return About(candidate, text(run.get("identifier")), _repeated(names))


_REPETITION = re.compile(r"(?s:(.+?))\[(?:(.*)-)?([1-9]\d{0,4})-([1-9]\d{0,4})\]")


def _repeated(names: Iterable[str]) -> dict[str, str]:
    """Return the repetitions that `--repeat` makes of a test, by their names: `test[1-2]` and
    `test[2-2]`. A name is one only if all of them are there."""
    groups: dict[tuple[str, int], dict[int, str]] = {}
    for name in names:
        if (match := _REPETITION.fullmatch(name)) is not None:
            own = match[1] if match[2] is None else f"{match[1]}[{match[2]}]"
            groups.setdefault((own, int(match[4])), {})[int(match[3])] = name
    whole = {key: made for key, made in groups.items() if set(made) == set(range(1, key[1] + 1))}
    return {name: own for (own, _), made in whole.items() for name in made.values()}


def _parsed(source: Source, raw: bytes, kind: str, found: About) -> Foreign:
    return attempt(source, source.value(raw), kind, found)


def attempt(source: Source, case: Any, kind: str, found: About, name: str = NAME) -> Foreign:
    """Return the attempt of a test case in the list `kind`; `name` is the format's. Raises
    Rejected."""
    if not isinstance(case, dict):
        raise Rejected("type:test case")
    if not text(case.get("name")):
        raise Rejected("missing:name")
    if isinstance(case.get("trace"), dict):
        return _traced(source, case, found, name)
    draft = Draft(name, answers=False)
    transcript = Transcript(draft)
    account = transcript.account
    if kind == "testCases":
        _asked(transcript, case.get("input"))
        _called(transcript, case.get("toolsCalled"))
        _answered(transcript, case.get("actualOutput"))
    else:
        for number, turn in enumerate(_turns(case, account), 1):
            role = text(turn.get("role"))
            account.read(turn, _TURN)
            _called(transcript, turn.get("toolsCalled"), f"turn-{number}-")
            transcript.say({"role": role or "user", "content": turn.get("content")})
        transcript.finish()
    _account_of(account, case)
    account.tell(case, draft)
    told = (one.get("toolsCalled") for one in (case, *objects(case.get("turns"))))
    if all(called is None for called in told):
        draft.note(UNSTATED_CALLS)
        draft.unread("toolsCalled", 1)
    return _foreign(source, draft, case, found)


_TURN = frozenset(("role", "content", "order", "toolsCalled", "userId", "comments"))


def _turns(case: dict[str, Any], account: Account) -> list[dict[str, Any]]:
    turns = case.get("turns")
    account.every(turns)
    found = objects(turns)
    return sorted(found, key=lambda one: amount(one.get("order")) or 0)


def _asked(transcript: Transcript, given: Any) -> None:
    if given not in (None, ""):
        transcript.say({"role": "user", "content": given})


def _answered(transcript: Transcript, output: Any) -> None:
    if output not in (None, ""):
        transcript.say({"role": "assistant", "content": output})
    transcript.finish()


def _called(transcript: Transcript, called: Any, place: str = "") -> None:
    """Read the called tools, in order, with their results where stated. Calls have no ids: they get
    ids from their places."""
    account = transcript.account
    if called is not None and not isinstance(called, list):
        transcript.draft.unread("toolsCalled", 1)
        account.refuse(called)
    account.every(called)
    for number, one in enumerate(objects(called), 1):
        account.read(one, _CALL, strict=True)
        account.whole(given(one), one.get("output"))
        own = f"{place}call-{number}"
        if given(one) is None:  # a call without arguments has empty ones
            transcript.draft.unread("toolsCalled.inputParameters", 1)
        function = {"name": one.get("name"), "arguments": given(one) or {}}
        call = {"id": own, "type": "function", "function": function}
        transcript.say({"role": "assistant", "content": None, "tool_calls": [call]})
        if one.get("output") is not None:
            transcript.say({"role": "tool", "tool_call_id": own, "content": one["output"]})


_CALL = frozenset(
    (
        *("name", "type", "description", "reasoning", "output"),
        *("inputParameters", "input_parameters"),
    )
)


def _account_of(account: Account, case: dict[str, Any]) -> None:
    """Declare the members with expectations and metric results."""
    account.read(case, READ)
    account.whole(case.get("expectedTools"), case.get("metricsData"), case.get("expectationsData"))
    account.whole(case.get("imagesMapping"))


def _traced(source: Source, case: dict[str, Any], found: About, name: str) -> Foreign:
    spans = spans_of(case, case["trace"], _episode(source, case, found))
    candidate = source.candidate or found.candidate
    made = native(Tree(spans), Heading(name, candidate, _home(source, found), "", 1))
    notes = (*made.notes, ONE_MOMENT) if ties(spans) else made.notes
    draft = Draft(name)
    verdict = _verdict(case, draft)
    return made._replace(verdict=verdict, notes=(*notes, *draft.notes))


# Names and verdicts -------------------------------------------------------------------------------


def _episode(source: Source, case: dict[str, Any], found: About) -> str:
    name = text(case["name"])
    name = found.repeated.get(name, name)
    asked = case.get("input") or at_path(case, "turns", 0, "content")
    place = source.request_place(name, asked)
    if place:
        source.notes.add(ANOTHER)
    return f"{name}#{place + 1}" if place else name


def _home(source: Source, found: About) -> str:
    return found.identifier or source.home


def _foreign(source: Source, draft: Draft, case: dict[str, Any], found: About) -> Foreign:
    took = amount(case.get("completionTime"))
    return draft.foreign(
        episode_id=_episode(source, case, found),
        candidate_id=source.candidate or found.candidate or _home(source, found),
        final_message=draft.last_words(),
        cost_usd=measured(case.get("tokenCost")),
        latency_ms=None if took is None else took * 1000,
        usage=tokens(
            input_tokens=case.get("inputTokenCount"), output_tokens=case.get("outputTokenCount")
        ),
        verdict=_verdict(case, draft),
        title=text(case.get("scenario")),
    )


_METRIC = ("name", "score", "success", "threshold", "reason", "error", "flaky")
_MOST_METRICS = 100


def _verdict(case: dict[str, Any], draft: Draft) -> SourceVerdict:
    stated = case.get("success")
    listed = objects(case.get("metricsData"))[:_MOST_METRICS]
    metrics = [
        {name: clipped(one[name], 500) if isinstance(one[name], str) else one[name]
         for name in _METRIC if isinstance(one.get(name), (str, int, float))}
        for one in listed
    ]  # fmt: skip
    passed = agreed(stated, _parts(case))
    if stated is True and passed is None:
        draft.note(SAYS_BOTH)
    return SourceVerdict(passed=passed, detail={"metrics": metrics})


def _parts(case: dict[str, Any]) -> Iterator[Any]:
    """Yield the result of each metric on a case, on its trace and on the trace's spans, and of its
    expectations. A metric without a result broke, and has not passed."""
    trace = mapping(case.get("trace"))
    holders = (case, trace, *(one for name in BUCKETS for one in objects(trace.get(name))))
    for one in (one for held in holders for one in objects(held.get("metricsData"))):
        if one.get("flaky") is not True:
            yield one.get("success") or False
    yield mapping(case.get("expectationsData")).get("success")
