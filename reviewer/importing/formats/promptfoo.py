"""Results of promptfoo: `promptfoo eval -o results.json` (or `.jsonl`, a result a line).

A result is one prompt for one test of one provider: what was asked, what came back, and what the
assertions said of it. `success` is the verdict of the source; a failed assertion is no error of the
run. What came out of promptfoo's cache was not run: its cost and its time are not measured.

The facts of the whole run are in `promptfoo_run`. A result of an attack in several turns keeps them
in the answer's metadata. A provider that is a program or an agent makes calls of its own, which are
in no result."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from reviewer.importing.draft import Draft, amount, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    agreed,
    at_path,
    mapping,
    objects,
    text,
    value_of,
)
from reviewer.importing.formats.chat import are_messages
from reviewer.importing.formats.promptfoo_run import Run, answered_by, description_of, id_of
from reviewer.importing.head import Head
from reviewer.importing.messages import Transcript
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source, request_digest
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

NAME = "promptfoo"
CACHED = (
    "answers out of promptfoo's cache: their cost, time and tokens are not of this run, and copies "
    "of one are one attempt"
)
STRIPPED = "[output stripped]"
"""The text in place of an answer that promptfoo was configured not to keep."""
_OBJECT = "[object Object]"
"""The text that JavaScript makes of an object: older versions kept no calls of a talk."""
NO_ANSWER = "the answer is not in the file: what was called is not known"
NO_RESULTS = "promptfoo: no results in the file"
HIDDEN = "what the provider itself called to answer is not in promptfoo's results"
TRACED = "what promptfoo traced of the provider is not read"
BOTH_SIDES = "tokens are of agent and simulated user together: not measured"
_FAILED, _BROKE = 1, 2
"""`failureReason` of a result: an assertion failed; there is no answer, because something broke."""
_CALLED = frozenset(("tool_calls", "function_call"))
"""`finishReason` of an answer that is calls."""
_ENDS = {"stop": "stop", "length": "max_output_tokens", "content_filter": "content_filter"}


class PromptfooReader(Format):
    name = NAME
    facts = FormatFacts(
        by="`results` with `prompts` and `results`; `promptIdx` and `testIdx`",
        steps="what was asked and answered, each turn of an attack; a provider that is a program "
        "or an agent leaves it not measured",
        tools="calls in the answer, not run",
        cost="yes; of cached answers none, and 0 where the provider states none is null",
        tokens="yes; of cached answers none",
        times="duration",
        verdict="`success`, `score`",
    )

    def sniff(self, head: Head) -> bool:
        first = head.first
        return _is_result(first) or _is_eval(first)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        with source.open() as handle:
            start = handle.read(1)
        if start in (b"{", b"\xef") and _is_eval(Head(source.path).first):
            yield from _of_eval(source)
            return
        run = Run()
        for _, value in source.records():
            run.result(value)
        source.reached = 0
        for number, (name, value) in enumerate(source.records(), 1):
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(result, source, number, value, run), name)


_WAYS = (("results", "prompts", EACH), ("results", "results", EACH), ("results", EACH))


def _of_eval(source: Source) -> Iterator[Foreign | Broken]:
    run, number = _run(source), 0
    for part in source.walk(*_WAYS):
        if _is_place(part.path):
            number += 1
            name = f"result {number}"
            if part.problem:
                yield Broken((part.problem,), name)
                continue
            yield source.attempt(partial(_parsed, source, number, part.raw, run), name)
        elif part.problem:
            yield Broken((part.problem,), "results")
    yield from lacking(run)
    if not number:
        source.notes.add(NO_RESULTS)


def lacking(run: Run) -> Iterator[Broken]:
    """Yield a refusal for each candidate of which the run counted more results."""
    for candidate, lost, counted in run.lacking():
        yield Broken((f"incomplete:{lost} of {counted} results that promptfoo counted",), candidate)


def _run(source: Source) -> Run:
    """Return the facts of a run, of which some are after its results."""
    run = Run()
    for part in source.walk(*_WAYS):
        if part.path[:2] == ("results", "prompts") and len(part.path) == 3:
            run.prompt(int(part.path[2]), value_of(source, part))
        elif part.path == ("results", "timestamp"):
            run.stamp = text(value_of(source, part))
        elif part.path == ("config",):
            run.settings(mapping(value_of(source, part)).get("providers"))
        elif _is_place(part.path) or part.problem:
            run.result(value_of(source, part))
    source.reached = 0
    return run


def _is_place(path: tuple[str | int, ...]) -> bool:
    if len(path) == 3 and path[:2] == ("results", "results"):
        return isinstance(path[2], int)
    return len(path) == 2 and path[0] == "results" and isinstance(path[1], int)


def _is_eval(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    held = value.get("results")
    if isinstance(held, dict) and ("evalId" in value or "prompts" in held or "stats" in held):
        return "results" in held
    return isinstance(held, list) and any(map(_is_result, held[:5]))


def _is_result(value: Any) -> bool:
    if not isinstance(value, dict) or "provider" not in value or "prompt" not in value:
        return False
    return "success" in value and bool({"testIdx", "gradingResult", "vars"} & value.keys())


def _parsed(source: Source, number: int, raw: bytes, run: Run) -> Foreign:
    return result(source, number, source.value(raw), run)


def result(source: Source, number: int, value: Any, run: Run, name: str = NAME) -> Foreign:
    """Return the attempt of a result; `name` is the format's. Raises Rejected."""
    if not _is_result(value):
        raise Rejected("type:result")
    draft = Draft(name)
    transcript = Transcript(draft)
    account = transcript.account
    response = mapping(value.get("response"))
    turns, talk = _turns(response) or _turns(value), _talk(response)
    if turns:
        _told(transcript, turns, text(response.get("output")))
    elif talk:
        _held(transcript, value, talk)
    else:
        _asked(transcript, value)
        _answered(transcript, response)
    error, broke = value.get("error"), value.get("failureReason") == _BROKE
    error = response.get("error") if response.get("error") else error if broke else None
    if error:
        transcript.wrong(error)
    elif not isinstance(value.get("response"), dict) or response.get("output") == STRIPPED:
        draft.unread("response")
        draft.note(NO_ANSWER)
    own = at_path(value, "testCase", "provider")
    if own and not (turns or talk or answered_by(value)):
        draft.unread("response (turns that are not in it)")
    transcript.finish()
    account.read(value, _READ)
    account.read(response, ("output", "error", "tokenUsage", "finishReason"))
    account.tell(value, draft)
    cached = response.get("cached") is True
    if cached:
        draft.note(CACHED)
    if _is_program(id_of(answered_by(value) or value.get("provider"))) or run.calls_itself(value):
        draft.unread("response (its provider's own calls)")
        draft.note(HIDDEN)
    if value.get("traceId") or at_path(response, "metadata", "traceSnapshots"):
        draft.unread("traceId")
        draft.note(TRACED)
    elif text(response.get("finishReason")) in _CALLED and not draft.calls():
        draft.unread("response (calls that are not in it)")
        draft.note(HIDDEN)
    # Copies of one answer from the cache are one attempt, however often it was taken from there.
    kept = request_digest([at_path(value, "prompt", "raw"), response.get("output")])
    named_by = kept if cached else text(value.get("id"))
    draft.identity = f"id:{named_by}" if named_by else ""
    named = description_of(value)
    return draft.foreign(
        episode_id=_episode(source, value, named, run) or f"{run.name or source.place}-{number}",
        candidate_id=source.candidate or run.candidate(value) or source.home,
        final_message=draft.last_words(),
        cost_usd=None if cached else _cost(value, response),
        latency_ms=None if cached else amount(value.get("latencyMs")) or None,
        usage=None if cached or talk else _tokens(response.get("tokenUsage")),
        started_at=draft.at(run.stamp) if run.stamp else None,
        termination="error" if error else _ENDS.get(text(response.get("finishReason"))),
        verdict=_verdict(value, text(error), draft),
        title=named,
    )


_READ = (
    *("response", "prompt", "provider", "error", "success", "score", "testIdx", "promptIdx"),
    *("promptId", "id", "latencyMs", "cost", "gradingResult", "testCase", "vars", "namedScores"),
)


def _episode(source: Source, value: dict[str, Any], named: str, run: Run) -> str:
    """Return the name of a result's test: its description, with a digest of its variables where
    tests of one description have others; else the test's number. Empty where it has neither."""
    if named:
        own = run.variant(value, named)
        return f"{named}#{own}" if own else named
    test = run.place(value)
    return "" if test is None else f"{run.name or source.place}-{test + 1}"


def _cost(value: dict[str, Any], response: dict[str, Any]) -> float | None:
    """Return what a result cost. promptfoo writes 0 where the provider stated nothing."""
    cost = amount(value.get("cost"))
    return cost if cost else amount(response.get("cost"))


_PROGRAMS = frozenset(
    (
        *(
            "a2a",
            "bedrock-agent",
            "browser",
            "exec",
            "file",
            "golang",
            "http",
            "https",
            "mcp",
            "n8n",
        ),
        *(
            "openclaw",
            "opencode",
            "openinterpreter",
            "package",
            "python",
            "ruby",
            "slack",
            "webhook",
        ),
        *("websocket", "ws", "wss"),
    )
)
_AGENTS = re.compile(
    r"[^:]+:(?:agents?|assistant|chatkit|claude-(?:agent-sdk|code)|codex[^:]*|foundry-agent)(?::|$)"
)


def _is_program(provider: str) -> bool:
    """Return whether a provider is a program or an agent, by its id. A model's has its vendor's
    name before a colon; ids of other forms are those of providers that users wrote."""
    kind, colon, _ = provider.partition(":")
    if provider == "echo":
        return False
    return not colon or kind in _PROGRAMS or _AGENTS.match(provider) is not None


def _turns(held: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turns of an attack in several turns, each a `prompt` and the `output` to it."""
    metadata = mapping(held.get("metadata"))
    turns = metadata.get("redteamHistory") or metadata.get("redteamTreeHistory")
    return [one for one in objects(turns) if one.get("prompt") or one.get("output")]


def _talk(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a conversation with a simulated user, which the answer repeats as one
    text."""
    messages = objects(at_path(response, "metadata", "messages"))
    sides = ("Assistant" if one.get("role") == "assistant" else "User" for one in messages)
    told = [f"{side}: {one.get('content')}" for side, one in zip(sides, messages, strict=True)]
    return messages if told and "\n---\n".join(told) == response.get("output") else []


def _held(transcript: Transcript, value: dict[str, Any], talk: list[dict[str, Any]]) -> None:
    """Take a conversation: the prompt is the agent's orders, and an answer that is calls is a text
    that lists them."""
    account, draft = transcript.account, transcript.draft
    prompt = at_path(value, "prompt", "raw")
    if prompt not in (None, ""):
        transcript.say({"role": "system", "content": prompt})
    for one in talk:
        account.read(one, ("role", "content"))
        if one.get("role") == "assistant":
            said = one["content"]
            listed = parse_text(said) if isinstance(said, str) and said[:1] == "[" else None
            _answered(transcript, {"output": listed if isinstance(listed, list) else said})
        else:
            transcript.say(one)
    if at_path(value, "metadata", "messages") == talk:  # said twice
        account.whole(value["metadata"]["messages"])
    draft.note(BOTH_SIDES)


def _told(transcript: Transcript, turns: list[dict[str, Any]], last: str) -> None:
    """Take the turns in their order, then the answer that was graded where it is not the last."""
    for one in turns:
        transcript.account.read(one, ("prompt", "output"))
        for role, name in (("user", "prompt"), ("assistant", "output")):
            if (said := one.get(name)) not in (None, ""):
                transcript.say(
                    {"role": role, "content": said if isinstance(said, str) else str(said)}
                )
    if last and last != turns[-1].get("output"):
        transcript.say({"role": "assistant", "content": last})


def _asked(transcript: Transcript, value: dict[str, Any]) -> None:
    """Take the prompt as it was sent: messages as JSON text, or one text."""
    prompt = value["prompt"]
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    parsed = parse_text(raw) if isinstance(raw, str) and raw.lstrip()[:1] in ("[", "{") else raw
    listed = parsed.get("messages") if isinstance(parsed, dict) else parsed
    if are_messages(listed):
        transcript.say_all(listed)
    elif raw not in (None, ""):
        transcript.say({"role": "user", "content": raw if isinstance(raw, str) else str(raw)})


def _answered(transcript: Transcript, response: dict[str, Any]) -> None:
    """Take what a provider gave back: a text, a message, or calls alone."""
    output, account = response.get("output"), transcript.account
    if output in (None, "", [], {}):
        return
    calls = objects(output)
    if isinstance(output, str):
        transcript.say({"role": "assistant", "content": output})
        if _OBJECT in output:
            transcript.draft.unread("response.output (an object that was not kept)")
    elif isinstance(output, list) and len(calls) == len(output) and _all_calls(calls):
        account.every(output)
        transcript.say({"role": "assistant", "content": None, "tool_calls": output})
    elif isinstance(output, dict) and {"content", "tool_calls"} & output.keys():
        transcript.say(output, "assistant")
    else:
        transcript.draft.note("an answer is an object, which no message holds: kept as it is")
        transcript.say({"role": "assistant", "content": str(output)})
        account.read(response, ("error", "tokenUsage", "finishReason"))


def _all_calls(calls: list[dict[str, Any]]) -> bool:
    return all("function" in one or ("name" in one and "arguments" in one) for one in calls)


def _tokens(usage: Any) -> dict[str, int] | None:
    held = mapping(usage)
    return tokens(
        input_tokens=held.get("prompt"),
        output_tokens=held.get("completion"),
        cached_tokens=at_path(held, "completionDetails", "cacheReadInputTokens"),
        reasoning_tokens=at_path(held, "completionDetails", "reasoning"),
        total_tokens=held.get("total"),
    )


def _verdict(value: dict[str, Any], error: str, draft: Draft) -> SourceVerdict:
    """Return what the assertions said."""
    graded = mapping(value.get("gradingResult"))
    broke = bool(error or value.get("error")) or value.get("failureReason") in (_FAILED, _BROKE)
    passed = agreed(value.get("success"), [graded.get("pass"), False if broke else None])
    if value.get("success") is True and passed is None:
        draft.note(SAYS_BOTH)
    failed = [
        text(at_path(one, "assertion", "type")) or "assertion"
        for one in objects(graded.get("componentResults"))
        if one.get("pass") is False
    ]
    named = {n: one for n, one in mapping(value.get("namedScores")).items() if _number(one)}
    detail: dict[str, Any] = {"reason": text(graded.get("reason"))[:1000]}
    if failed:
        detail["failed_assertions"] = failed[:50]
    if named:
        detail["named_scores"] = named
    return SourceVerdict(
        passed=passed,
        reward=float(value["score"]) if _number(value.get("score")) else None,
        exception=error or None,
        detail=detail,
    )


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -1e9 < value < 1e9
