"""What a record of messages says of itself beside them: its task, its session, its score, its cost.

Tools write these members in many spellings, in the record, in its `metadata` or in the request it
logs, and none defines them. A task names the episode. A session, a thread, a conversation or a
trace is one attempt, in however many records it comes; a run or an id may be another's too, so a
record without a beginning is a part of what has the same, and any other one is an attempt by
itself. A number without its unit is taken as its name is commonly used, and a note says so. A
reward is kept as it is: only a member that says yes or no is a pass or a failure.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, whole
from reviewer.importing.pipeline.sessions import BEGINNING, begins
from reviewer.importing.requests import first_request
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

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
    """Names a record gives; empty where it gives none. `part` is its number in its session."""

    task: str = ""
    conversation: str = ""
    session: str = ""
    run: str = ""
    id: str = ""
    part: int | None = None

    @property
    def identity(self) -> str:
        """The permanent name of the attempt, with the kind of the name in front."""
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
    """Return the names of a record, its own before those in its metadata and its request."""
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
            if found := text(holder.get(name)):
                return found
    return ""


def _whole(holder: dict[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        if type(found := holder.get(name)) is int and 0 <= found < 1 << 31:
            return found
    return None


def text(value: Any) -> str:
    """Return a name as text, out of an object with an id too; empty for what is none."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def episode_of(source: Source, number: int, value: Any, draft: Draft, place_name: str = "") -> str:
    """Return the episode of a record: its task; else the name of its attempt, of which each other
    first request is an episode of its own; else its place. Notes the name of the attempt in the
    draft. `place_name` is what its place is called, by default with its number."""
    names = named(value)
    draft.identity = names.identity
    if names.part is not None:
        draft.source["part"] = names.part
    whole = begins({"events": draft.events})
    if draft.events and draft.events[0]["kind"] == "tool_result":
        draft.unread(BEGINNING)  # what its call was, and what came before, is not here
    if names.task:
        return names.task
    name = names.conversation or names.session or names.run or names.id
    fallback = name or place_name or f"{source.place}-{number}"
    a_part = names.part is not None or not whole or bool(_NUMBERED.search(source.path.stem))
    if names.conversation or (name and a_part):
        return fallback
    place = source.asked(fallback, first_request(draft.events))
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
    """The facts of one record; None and empty where it says nothing."""

    attempt: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    started_at: Any = None
    verdict: SourceVerdict | None = None


def stated(value: dict[str, Any], draft: Draft) -> Facts:
    """Return what a record says of its attempt, itself before its metadata. A number of the wrong
    kind is left out, and noted."""
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
    """Return what several records say of the one attempt that they are of: what each took and cost,
    summed where all of them say it, and the last verdict."""
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
            draft.note(f"{name} in the record is no number from 0: not measured")
    return None


def _verdict(value: dict[str, Any], draft: Draft) -> SourceVerdict | None:
    passed = {value[name] for name in _PASSED if isinstance(value.get(name), bool)}
    rewards = [float(value[name]) for name in _REWARDS if _finite(value.get(name))]
    if not passed and not rewards:
        return None
    if len(passed) > 1:
        draft.note("the record says both that it passed and that it did not: no verdict was taken")
    return SourceVerdict(
        passed=passed.pop() if len(passed) == 1 else None,
        reward=rewards[0] if rewards else None,
    )


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and -1e9 < value < 1e9
