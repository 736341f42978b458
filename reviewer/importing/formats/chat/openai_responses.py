"""OpenAI Responses: logs of requests with responses, single responses, bare lists of items.

Each later request repeats the history as `input` (or names it by `previous_response_id`), so the
trajectory is what each step adds, while usage is summed over every response. Calls and outputs
join by `call_id`. A handoff looks like a tool call and stays one.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from reviewer.importing.draft import Draft
from reviewer.importing.formats.base import Format
from reviewer.importing.formats.chat.envelopes import opened_answer, opened_pair
from reviewer.importing.formats.stated import Facts, episode_of, stated_of_all
from reviewer.importing.formats.values import at_path, mapping, objects, sequence, text
from reviewer.importing.head import Head
from reviewer.importing.messages import Teller, tokens_of, usage_of
from reviewer.importing.messages.items import ITEMS
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source


class OpenAIResponsesReader(Format):
    name = "openai-responses"
    version = "2"

    def sniff(self, head: Head) -> bool:
        first = opened_pair(head.first)
        if _is_pair(first) or _is_response(first):
            return True
        value = head.value if isinstance(head.value, list) else [head.value]
        kinds = ((text(one.get("type")), one) for one in objects(value[:20]))
        return any(kind in ITEMS or (kind == "message" and "role" in one) for kind, one in kinds)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        held: list[dict[str, Any]] = []
        items: list[Any] = []
        number = 0
        for name, record in source.records():
            value = opened_pair(record)
            if isinstance(value, Broken):
                number += 1
                yield value
            elif _is_response(value) or _is_pair(value):
                alone = {"request": {}, "response": value}
                pair: dict[str, Any] = alone if _is_response(value) else value
                if held and not _goes_on(held, pair):
                    number += 1
                    yield _of_log(source, number, held)
                    held = []
                held.append(pair)
            elif isinstance(value, dict):
                items.append(value)
            else:
                number += 1
                yield Broken(("type:record",), name)
        if held:
            number += 1
            yield _of_log(source, number, held)
        if items:
            pair = {"request": {"input": items}, "response": None}
            yield _of_log(source, number + 1, [pair])


def _is_response(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("output"), list)
        and (value.get("object") == "response" or str(value.get("id")).startswith("resp_"))
    )


def _is_pair(value: Any) -> bool:
    request = at_path(value, "request")
    return isinstance(request, dict) and "response" in value and "input" in request


def _response(pair: dict[str, Any]) -> dict[str, Any]:
    """Return the response of a pair, out of the stream it may be kept as."""
    return mapping(opened_answer(pair.get("response")))


def _input(pair: dict[str, Any]) -> list[Any]:
    given = pair["request"].get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return sequence(given)


def _key(item: Any) -> tuple[str, str]:
    """Return what two writings of one item have in common: ids come and go, calls keep
    `call_id`."""
    if not isinstance(item, dict):
        return "?", str(item)
    kind = item.get("type") or "message"
    if item.get("call_id"):
        return str(kind), str(item["call_id"])
    if kind == "message":
        return "message", f"{item.get('role')}:{_words(item)}"
    return str(kind), str(item.get("id") or msgspec.json.encode(item))


def _goes_on(pairs: list[dict[str, Any]], pair: dict[str, Any]) -> bool:
    """Return whether a request belongs to the conversation of those before it."""
    before = _response(pair).get("previous_response_id") or pair["request"].get(
        "previous_response_id"
    )
    if before:
        return any(_response(one).get("id") == before for one in pairs)
    first, mine = _input(pairs[0]), _input(pair)
    return bool(first) and bool(mine) and _key(first[0]) == _key(mine[0]) and len(mine) > 1


def _added(history: list[Any], given: list[Any], chained: bool) -> list[Any]:
    """Return the items of `given` that `history` does not have yet."""
    if chained:
        return given
    place = 0
    while place < min(len(history), len(given)) and _key(history[place]) == _key(given[place]):
        place += 1
    known = {_key(item) for item in history[place:]}
    return [item for item in given[place:] if _key(item) not in known]


def _of_log(source: Source, number: int, pairs: list[dict[str, Any]]) -> Foreign | Broken:
    def make() -> Foreign:
        draft = Draft("openai-responses")
        teller = Teller(draft)
        history: list[Any] = []
        responses = [_response(pair) for pair in pairs]
        for pair, response in zip(pairs, responses, strict=True):
            request = pair["request"]
            instructions = request.get("instructions") or response.get("instructions")
            if isinstance(instructions, str) and not history:
                teller.say({"role": "system", "content": instructions})
            chained = bool(
                response.get("previous_response_id") or request.get("previous_response_id")
            )
            # What repeats the history is looked through with the rest of the record.
            fresh = _added(history, _input(pair), chained)
            output = response.get("output")
            answered = sequence(output)
            for holder in (request, response):
                teller.account.read(holder, _READ)
                teller.account.offered(holder.get("tools"))
                teller.account.whole(holder.get("tool_choice"), holder.get("text"))
            for item in fresh:
                teller.say(item)
            teller.account.every(output)
            counts = tokens_of(response.get("usage"))
            for item in answered:
                at = draft.at(response.get("created_at"))
                teller.say(item, "assistant", tokens=counts, started_at=at)
                counts = None
            history = [*history, *fresh, *answered]
            if isinstance(error := response.get("error"), dict):
                teller.wrong(error.get("message") or error.get("code") or "error")
        teller.finish()
        told = [
            {**pair, "response": response or pair.get("response")}
            for pair, response in zip(pairs, responses, strict=True)
        ]
        teller.account.tell(told, draft, "record")
        return _finished(source, number, pairs, draft)

    return source.attempt(make, f"conversation {number}")


_READ = ("input", "output", "instructions", "tools", "tool_choice", "text")


def _finished(source: Source, number: int, pairs: list[dict[str, Any]], draft: Draft) -> Foreign:
    answers = [_response(pair) for pair in pairs]
    last = answers[-1]
    items = [
        item for answer, pair in zip(answers, pairs, strict=True)
        for item in (*_input(pair), *(answer.get("output") or ()))
    ]  # fmt: skip
    thoughts = sum(one.get("type") == "reasoning" for one in objects(items))
    if thoughts:
        draft.source["reasoning_items"] = thoughts
    asked = pairs[-1]["request"].get("model")
    served = sorted({str(one["model"]) for one in answers if one.get("model")})
    if served:
        draft.source["served_models"] = served
    if last.get("id"):
        draft.source["last_response_id"] = last["id"]
    if any(e.get("tool", "").startswith("transfer_to_") for e in draft.events):
        draft.note("handoffs between agents look like tool calls (transfer_to_…)")
    said = stated_of_all([{**pair, **_about(pair)} for pair in pairs], draft)
    if said == Facts():
        draft.note("no verdict, attempt or cost in this format")
    stem = source.place
    name = stem if number == 1 else f"{stem}-{number}"
    episode = episode_of(source, number, pairs[0], draft, name)
    candidate = str(source.candidate or asked or (served[0] if served else source.home))
    if not draft.identity or draft.identity.startswith("id:"):
        episode, candidate = _chained(source, pairs, answers, draft, episode, candidate)
    return draft.foreign(
        episode_id=episode,
        candidate_id=candidate,
        final_message=draft.last_words(),
        usage=usage_of([one.get("usage") for one in answers]),
        termination=_termination(last),
        **said._asdict(),
    )


def _about(pair: dict[str, Any]) -> dict[str, Any]:
    """Return what the request or its response says about itself."""
    held = (pair["request"].get("metadata"), _response(pair).get("metadata"))
    return {"metadata": {n: v for one in held if isinstance(one, dict) for n, v in one.items()}}


def _chained(
    source: Source,
    pairs: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    draft: Draft,
    episode: str,
    candidate: str,
) -> tuple[str, str]:
    """Return the episode and candidate of a conversation that is known by the ids of its responses,
    one of which may be in another file."""
    before = answers[0].get("previous_response_id") or pairs[0]["request"].get(PREVIOUS)
    ids = [one for one in (before, *(a.get("id") for a in answers)) if isinstance(one, str) and one]
    if not ids:
        return episode, candidate
    draft.identity = f"response:{ids[0]}"
    draft.names = tuple(f"response:{one}" for one in dict.fromkeys(ids))[:MOST_NAMES]
    if before:
        draft.unread(PREVIOUS)  # what came before is not in this record
    there = source.called(draft.names)
    if there is not None:
        _, candidate, episode = there
    source.meet(draft.names, candidate, episode)
    return episode, candidate


PREVIOUS = "previous_response_id"
MOST_NAMES = 64


def _termination(response: dict[str, Any]) -> str | None:
    if isinstance(response.get("error"), dict) or response.get("status") == "failed":
        return "error"
    if response.get("status") == "incomplete":
        return str(at_path(response, "incomplete_details", "reason") or "incomplete")
    return "completed" if response.get("status") == "completed" else None


def _words(item: dict[str, Any]) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in objects(content))
