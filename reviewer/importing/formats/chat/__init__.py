"""Records of chat messages: lists, objects that hold them, pairs of a request with its answer; the
dialect of a list; and the task, session, score and cost that a record states beside its messages.

Tools write these members in many spellings, in the record, in its `metadata` or in the request it
logs, and no standard defines them. A task names the episode. A session, a thread, a conversation or
a trace is one attempt, in however many records it comes; a run or an id may be another's too, so a
record without a beginning is a part of the attempt of that name, and any other one is an attempt by
itself. A number without its unit is taken as its name is commonly used, and a note says so. A
reward is kept as it is: only a member that says yes or no is a pass or a failure.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, whole
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import SAYS_BOTH, at_path, objects
from reviewer.importing.messages import is_message
from reviewer.importing.messages.parts import ITEMS
from reviewer.importing.messages.streams import assembled
from reviewer.importing.pipeline.sessions import BEGINNING, begins
from reviewer.importing.source import Source, first_request
from reviewer.trace.record import SourceVerdict

# Envelopes ----------------------------------------------------------------------------------------

LISTS = ("messages", "conversation", "conversations", "contents", "input", "prompt")
_MOST_LOOKED_AT = 8
_REQUESTS = ("request", "req", "request_body", "requestBody", "body")
REQUESTS = frozenset(_REQUESTS)
_ANSWERS = (
    *("response", "res", "resp", "output", "answer", "completion", "response_body"),
    *("responseBody", "outputs"),
)
_BODIES = ("body", "json", "postData", "data", "payload", "content", "text", "response")
"""Members in which an HTTP log keeps what was sent."""
_ASKS = ("messages", "input", "contents", "prompt", "conversation")
_ANSWERING = (
    *("choices", "candidates", "output", "role", "message", "error", "content", "completion"),
    *("type", "stream"),
)


def are_messages(value: Any) -> bool:
    """Return whether this is a list of chat messages, and not empty: its first element is one, and
    so are most of the others."""
    if not isinstance(value, list) or not value or not is_message(value[0]):
        return False
    others = value[1:_MOST_LOOKED_AT]
    return 2 * sum(is_message(one) or _is_item(one) for one in others) >= len(others)


def _is_item(value: Any) -> bool:
    kind = at_path(value, "type")
    return isinstance(kind, str) and kind in ITEMS


def list_in(value: Any) -> tuple[str, list[Any]] | None:
    """Return (member, messages) of an object with a list of messages."""
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and are_messages(found):
            return name, found
    return None


def is_pair(value: Any) -> bool:
    """Return whether this is a request with its answer."""
    return parts_of_pair(value) is not None


def parts_of_pair(value: Any) -> tuple[str, str] | None:
    """Return (member of the request, member of its answer)."""
    if not isinstance(value, dict):
        return None
    for name in _REQUESTS:
        if list_in(value.get(name)) is not None:
            return name, next((other for other in _ANSWERS if other in value), "response")
    return None


def opened_pair(value: Any) -> Any:
    """Return a pair with its request and its answer decoded from JSON text, an HTTP body or a
    stream; the members around them are kept, under `around`. Any other value is returned
    unchanged."""
    if not isinstance(value, dict):
        return value
    asked = next((name for name in _REQUESTS if name in value), "")
    request = opened_request(value[asked]) if asked else None
    if not isinstance(request, dict) or not any(name in request for name in _ASKS):
        return value
    told = next((name for name in _ANSWERS if name in value), "")
    answer = opened_answer(value[told]) if told else None
    if request is value[asked] and (not told or answer is value[told]):
        return value
    return {**value, asked: request, **({told: answer} if told else {})}


def opened_request(value: Any) -> Any:
    """Return a request, decoded from JSON text or an HTTP body."""
    return _opened(value, _ASKS)


def opened_answer(value: Any) -> Any:
    """Return an answer, decoded from JSON text, an HTTP body or a stream."""
    if isinstance(value, (str, list)):
        parsed = parse_text(value) if isinstance(value, str) else None
        if parsed is None:
            whole = assembled(value)
            return value if whole is None else whole
        value = parsed if isinstance(parsed, (dict, list)) else value
        if isinstance(value, list):
            return opened_answer(value)
    if isinstance(value, dict) and isinstance(value.get("stream"), list):
        whole = assembled(value)
        return value if whole is None else whole
    return _opened(value, _ANSWERING)


def _opened(value: Any, wanted: tuple[str, ...]) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        parsed = parse_text(value)
        value = parsed if isinstance(parsed, dict) else value
    if not isinstance(value, dict) or any(_says(value, name) for name in wanted):
        return value
    for name in _BODIES:
        inner = value.get(name)
        if not isinstance(inner, (dict, str)) or not inner:
            continue
        found = opened_answer(inner) if wanted is _ANSWERING else opened_request(inner)
        if isinstance(found, dict) and any(_says(found, one) for one in wanted):
            around = {one: held for one, held in value.items() if one != name}
            return {**found, "around": around} if around else found
    return value


def _says(value: dict[str, Any], name: str) -> bool:
    """Return whether an object has this member, and the member does not contain the body of a
    request or an answer."""
    found = value.get(name)
    if name == "content" and isinstance(found, dict):
        return "parts" in found
    if name == "content" and isinstance(found, str):
        return "role" in value
    if name == "type":
        return found == "message"
    return name in value


def answered(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message of the first choice of an answer."""
    for name, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(first := at_path(answer, name, 0), dict):
            return dict_of(first.get(inner))
    if isinstance(message := at_path(answer, "output", "message"), dict):
        return message
    if answer.get("type") == "message" or {"role", "content"} <= answer.keys():
        return answer
    return dict_of(answer.get("message"))


def answers_beside(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (member, answer) for the parts of the answer that a record of messages keeps besides
    them."""
    for name in ("choices", "candidates"):
        if isinstance(value.get(name), list) and value[name]:
            yield name, {name: value[name], "usage": value.get("usage")}
    for name in _ANSWERS:
        held = value.get(name)
        if isinstance(held, dict) or (isinstance(held, str) and held.lstrip()[:1] == "{"):
            answer = opened_answer(held)
            if isinstance(answer, dict):
                yield name, answer


def dict_of(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


ENDS = {
    **dict.fromkeys(("stop", "STOP", "stop_sequence"), "stop"),
    "end_turn": "end_turn",
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS"), "max_output_tokens"),
    "model_context_window_exceeded": "context_window_exceeded",
    **dict.fromkeys(("content_filter", "content-filter", "refusal", "SAFETY"), "content_filter"),
    **dict.fromkeys(("guardrail_intervened", "content_filtered"), "content_filter"),
    **dict.fromkeys(("RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("error", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"), "error"),
}


def ended(answer: Any) -> str | None:
    """Return why an answer ended, in reviewer's terms; None where it does not say."""
    if not isinstance(answer, dict):
        return None
    firsts = [at_path(answer, name, 0) for name in ("choices", "candidates")]
    holders = [answer, *objects(firsts)]
    members = ("finish_reason", "stop_reason", "finishReason", "stopReason")
    for holder in holders:
        for name in members:
            if isinstance(reason := holder.get(name), str):
                return ENDS.get(reason)
    return None


def spent(answer: Any) -> Any:
    """Return the stated tokens of an answer."""
    if not isinstance(answer, dict):
        return None
    names = ("usage", "usageMetadata", "usage_metadata", "totalUsage")
    return next((answer[name] for name in names if isinstance(answer.get(name), dict)), None)


# Dialects -----------------------------------------------------------------------------------------

_ANTHROPIC = re.compile(
    r"(?:server_|mcp_)?tool_use|(?:\w+_)?tool_result|thinking|redacted_thinking"
)
_VERCEL = ("tool-call", "tool-result", "tool-error", "tool-approval-request")
_GENAI = ("tool_call", "tool_call_response", "server_tool_call")
_MARKUP = (
    "<tool_call>", "<tool_response>", "<function_call>", "<function_calls>", "<function=",
    "[TOOL_CALLS]",
)  # fmt: skip
_ACTION = "Action Input:"
_ACTION_LINE = re.compile(rf"^{_ACTION}", re.MULTILINE)


def dialect_of(messages: list[Any]) -> str:
    """Return the name of the dialect; empty for messages that any dialect could have written."""
    as_text = structured = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        if _may_mark(message) and (found := next(_marks(message), "")):
            return found
        as_text = as_text or _calls_as_text(message)
        structured = structured or bool(message.get("tool_calls") or message.get("function_call"))
    return "hermes" if as_text and not structured else ""


_MARKING = frozenset(("tool_calls", "toolInvocations", "parts", "from", "source"))


def _may_mark(message: dict[str, Any]) -> bool:
    """Return whether `_marks` looks at more of a message than its words."""
    return (
        not _MARKING.isdisjoint(message)
        or isinstance(message.get("content"), list)
        or message.get("role") == "toolResult"
    )


def _calls_as_text(message: dict[str, Any]) -> bool:
    content = message.get("content")
    spoken = message.get("role") in ("assistant", "tool")
    return spoken and isinstance(content, str) and _marked_up(content)


def _marked_up(text: str) -> bool:
    if ("<" in text or "[" in text) and any(mark in text for mark in _MARKUP):
        return True
    return _ACTION in text and _ACTION_LINE.search(text) is not None


def _marks(message: dict[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    if isinstance(calls, list) and any(
        isinstance(one, dict) and isinstance(one.get("function"), str) for one in calls
    ):
        yield "agentdojo"
    if isinstance(message.get("toolInvocations"), list):
        yield "vercel-ai-ui"
    if isinstance(parts := message.get("parts"), list):
        yield from _of_parts(parts)
    if isinstance(content := message.get("content"), list):
        yield from _of_blocks(content)
    if isinstance(message.get("from"), str) and "value" in message:
        yield "hermes"
    if isinstance(message.get("source"), str) and str(message.get("type"))[-5:] in _AUTOGEN:
        yield "autogen"
    if message.get("role") == "toolResult":
        yield "pi"


_AUTOGEN = ("ssage", "Event")


def _of_parts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind in _GENAI or (kind == "text" and "content" in part):
            yield "genai-messages"
        elif isinstance(kind, str):
            yield "vercel-ai-ui"
        else:
            yield "gemini"


def _of_blocks(blocks: list[Any]) -> Iterator[str]:
    bare = 0
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind is None:
            if isinstance(block.get("toolUse"), dict) or isinstance(block.get("toolResult"), dict):
                yield "bedrock-converse"
            bare += isinstance(block.get("text"), str)
        elif not isinstance(kind, str):
            continue
        elif kind in _VERCEL:
            yield "vercel-ai-model"
        elif kind == "toolCall":
            yield "pi"
        elif kind == "text" and isinstance(block.get("content"), str) and "text" not in block:
            yield "agentdojo"
        elif _ANTHROPIC.fullmatch(kind):
            yield "anthropic-messages"
    if bare and bare == len(blocks):
        yield "bedrock-converse"


# Names and facts of a record ----------------------------------------------------------------------

TASKS = (
    "episode_id", "task_id", "sample_id", "instance_id", "question_id", "test_id", "custom_id",
    "episodeId", "taskId", "sampleId", "instanceId",
)  # fmt: skip
CONVERSATIONS = (
    "conversation_id", "thread_id", "conversationId", "threadId", "chatId", "chat_id",
    "conversation", "thread", "trace_id", "traceId",
)  # fmt: skip
SESSIONS = ("session_id", "sessionId", "session")
RUNS = ("run_id", "runId")
IDS = ("id",)
PARTS = ("turn", "turn_index", "turn_id", "part", "part_index", "chunk", "chunk_index", "piece")
NAMES = frozenset({*TASKS, *CONVERSATIONS, *SESSIONS, *RUNS, *IDS, *PARTS})
_HOLDERS = ("metadata", "extra", "tags", "request", "req", "body", "response", "config")
_DEEPER = ("metadata", "configurable")
_NUMBERED = re.compile(r"(?:turn|part|chunk|piece|segment|slice)[-_. ]?\d+$", re.IGNORECASE)
ANOTHER = "records of one name begin with other requests: each is an episode of its own"


class Names(NamedTuple):
    """The names that a record states; empty where it states none. `part` is its number in its
    session."""

    task: str = ""
    conversation: str = ""
    session: str = ""
    run: str = ""
    id: str = ""
    part: int | None = None

    @property
    def identity(self) -> str:
        """Return the permanent name of the attempt, prefixed with the kind of name."""
        for kind, name in (
            ("session", self.conversation or self.session),
            ("run", self.run),
            ("task", self.task),
            ("id", self.id),
        ):
            if name:
                return f"{kind}:{name}"
        return ""


NOBODY = Names()


def named(value: Any) -> Names:
    """Return the names in a record, its own before those in its metadata and its request."""
    if not isinstance(value, dict) or _ANY.isdisjoint(value):
        return NOBODY
    found = [one for one in _holders(value) if not NAMES.isdisjoint(one)]
    if not found:
        return NOBODY
    first = found[:1] if found[0] is value else []
    return Names(
        _first(found, TASKS),
        _first(found, CONVERSATIONS),
        _first(found, SESSIONS),
        _first(found, RUNS),
        _first(first, IDS),
        next((part for one in found if (part := _whole(one, PARTS)) is not None), None),
    )


_ANY = NAMES.union(_HOLDERS)


def _holders(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield value
    for name in _HOLDERS:
        held = value.get(name)
        if isinstance(held, dict):
            yield held
            for deeper in _DEEPER:
                if isinstance(inner := held.get(deeper), dict):
                    yield inner


def _first(holders: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    for holder in holders:
        for name in names:
            if (value := holder.get(name)) is not None and (found := text(value)):
                return found
    return ""


def _whole(holder: dict[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        if type(found := holder.get(name)) is int and 0 <= found < 1 << 31:
            return found
    return None


def text(value: Any) -> str:
    """Return a name as text, also from an object with an id; empty for any other value."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def episode_of(source: Source, number: int, value: Any, draft: Draft, place_name: str = "") -> str:
    """Return the episode of a record: its task; else the name of its attempt, of which each other
    first request is an episode of its own; else its place. Notes the name of the attempt in the
    draft. `place_name` is the name of its place, by default with its number."""
    names = named(value)
    draft.identity = names.identity
    if names.part is not None:
        draft.source["part"] = names.part
    whole = begins({"events": draft.events})
    if draft.events and draft.events[0]["kind"] == "tool_result":
        draft.unread(BEGINNING)  # its call, and what came before, is not here
    if names.task:
        return names.task
    name = names.conversation or names.session or names.run or names.id
    fallback = name or place_name or f"{source.place}-{number}"
    a_part = names.part is not None or not whole or bool(_NUMBERED.search(source.path.stem))
    if names.conversation or (name and a_part):
        return fallback
    place = source.request_place(fallback, first_request(draft.events))
    if not place:
        return fallback
    source.notes.add(ANOTHER)
    draft.identity = f"{names.identity}#{place + 1}" if names.identity else ""
    return f"{fallback}#{place + 1}"


_PASSED = ("passed", "success", "resolved", "is_correct", "correct", "is_resolved")
_REWARDS = ("reward", "score", "final_reward", "total_reward")
_USD = ("cost_usd", "total_cost_usd", "cost", "total_cost")
_MS = ("latency_ms", "duration_ms", "elapsed_ms")
_SECONDS = ("duration_s", "duration_seconds", "latency_s", "elapsed_s", "elapsed_seconds")
_BARE = ("duration", "latency", "elapsed")
_STARTED = ("started_at", "start_time")
MEMBERS = frozenset({
    *NAMES, *_PASSED, *_REWARDS, *_USD, *_MS, *_SECONDS, *_BARE, *_STARTED, "attempt",
})  # fmt: skip
USD = "cost in the record names no currency: it was read as US dollars"
SECONDS = "duration in the record names no unit: it was read as seconds"


class Facts(NamedTuple):
    """The facts of one record; None and empty where it states nothing."""

    attempt: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    started_at: Any = None
    verdict: SourceVerdict | None = None


def stated(value: dict[str, Any], draft: Draft) -> Facts:
    """Return a record's facts about its attempt, its own before those in its metadata. A number of
    the wrong kind is left out, and noted."""
    about = value.get("metadata")
    if isinstance(about, dict):
        said = {name: one for name, one in value.items() if one is not None}
        value = {**{name: about[name] for name in about if name in MEMBERS}, **said}
    cost = _number(value, _USD, draft)
    if cost is not None and not any(amount(value.get(name)) is not None for name in _USD[:2]):
        draft.note(USD)
    took = _number(value, _MS, draft)
    if took is None and (seconds := _number(value, (*_SECONDS, *_BARE), draft)) is not None:
        took = seconds * 1000
        if not any(name in value for name in _SECONDS):
            draft.note(SECONDS)
    attempt = whole(value.get("attempt")) or None
    started = next((value[name] for name in _STARTED if value.get(name)), None)
    return Facts(attempt, cost, took, draft.at(started), _verdict(value, draft))


def stated_of_all(values: Sequence[dict[str, Any]], draft: Draft) -> Facts:
    """Return the facts of several records about their common attempt: time and cost summed where
    all of them state it, and the last verdict."""
    found = [stated(value, draft) for value in values]
    costs = [one.cost_usd for one in found if one.cost_usd is not None]
    took = [one.latency_ms for one in found if one.latency_ms is not None]
    return Facts(
        next((one.attempt for one in found if one.attempt), None),
        sum(costs) if costs and len(costs) == len(found) else None,
        sum(took) if took and len(took) == len(found) else None,
        next((one.started_at for one in found if one.started_at), None),
        next((one.verdict for one in reversed(found) if one.verdict), None),
    )


def _number(value: dict[str, Any], names: tuple[str, ...], draft: Draft) -> float | None:
    for name in names:
        if value.get(name) is not None:
            found = amount(value[name])
            if found is not None:
                return found
            draft.note(f"{name} in the record is not a number from 0: not measured")
    return None


def _verdict(value: dict[str, Any], draft: Draft) -> SourceVerdict | None:
    passed = {value[name] for name in _PASSED if isinstance(value.get(name), bool)}
    rewards = [float(value[name]) for name in _REWARDS if _finite(value.get(name))]
    if not passed and not rewards:
        return None
    if len(passed) > 1:
        draft.note(SAYS_BOTH)
    return SourceVerdict(
        passed=passed.pop() if len(passed) == 1 else None,
        reward=rewards[0] if rewards else None,
    )


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and -1e9 < value < 1e9
