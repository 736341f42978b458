"""One tau2-bench simulation as an attempt: messages of a half-duplex run, or ticks of a full-duplex
one.

The simulated user calls tools too; those calls have its name, so that no gate counts them as the
agent's.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.importing.draft import (
    Draft,
    Status,
    added,
    amount,
    elapsed_ms,
    measured,
    summed,
    tokens,
    whole,
)
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    agreed,
    at_path,
    expected_actions,
    mapping,
    objects,
    sequence,
    tell_rest,
)
from reviewer.importing.reader import Foreign, Rejected
from reviewer.trace.record import SourceVerdict

if TYPE_CHECKING:
    from reviewer.importing.formats.tau2 import Run, Task

# Conversations as events --------------------------------------------------------------------------

AGENT, USER, SIMULATED = "agent", "user", "simulated_user"
STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_ACTORS = {"assistant": AGENT, "user": USER}
_AUDIO = 256
"""From this length on, a text without white space is encoded audio, in a message marked as
audio."""


def add_messages(draft: Draft, messages: list[Any]) -> None:
    """Write the turns of a half-duplex conversation. Raises Rejected (`type:messages[n]`)."""
    before: Any = None
    for number, message in enumerate(messages):
        for turn in _turns(message, f"messages[{number}]"):
            _add_turn(draft, turn, before)
            before = turn.get("timestamp") or before


def _turns(message: Any, place: str) -> Iterator[dict[str, Any]]:
    """Yield one message, or the single results that are combined in one."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise Rejected(f"type:{place}")
    several = message.get("tool_messages")
    if not isinstance(several, list):
        yield message
        return
    for number, one in enumerate(several):
        if not isinstance(one, dict):
            raise Rejected(f"type:{place}.tool_messages[{number}]")
        yield {**one, "role": "tool"}


def _add_turn(draft: Draft, turn: dict[str, Any], before: Any) -> None:
    role, when = turn["role"], turn.get("timestamp")
    if role == "tool":
        _add_result(draft, turn, when, elapsed_ms(before, when) or None)
        return
    actor = _ACTORS.get(role, role)
    more: dict[str, Any] = {"at": when}
    if actor == AGENT:
        spent = amount(turn.get("generation_time_seconds"))
        more["latency_ms"] = spent * 1000 if spent else elapsed_ms(before, when) or None
        more["cost_usd"] = measured(turn.get("cost"))
        more["tokens"] = tokens_of(turn)
    calls = _list(turn, "tool_calls")
    text = turn.get("content")
    if not calls or (text is not None and text != ""):
        draft.message(actor, text, **more)
        more = {"at": when}
    for call in calls:
        _add_call(draft, call, actor, more)
        more = {"at": when}


def _add_call(draft: Draft, call: Any, actor: str, more: dict[str, Any]) -> None:
    if not isinstance(call, dict):
        raise Rejected("type:tool_calls")
    # The agent is responsible for the calls of its own turns, whatever actor they name.
    users = actor == USER or (actor != AGENT and call.get("requestor") == USER)
    who = SIMULATED if users else actor
    draft.call(call.get("name"), call.get("arguments"), call.get("id"), who, **more)


def _add_result(draft: Draft, turn: dict[str, Any], when: Any, waited: float | None) -> None:
    failed = turn.get("error")
    status: Status | None = None
    if isinstance(failed, bool):
        status = "error" if failed else "ok"
    draft.result(turn.get("content"), turn.get("id"), None, status, at=when, latency_ms=waited)


def _list(value: dict[str, Any], member: str) -> list[Any]:
    found = value.get(member)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Rejected(f"type:{member}")
    return found


def tokens_of(turn: dict[str, Any]) -> dict[str, int] | None:
    """Return the tokens of one message; cached tokens are only in the provider's own answer."""
    usage = turn.get("usage")
    if not isinstance(usage, dict):
        return None
    cached = at_path(turn, "raw_data", "usage", "prompt_tokens_details", "cached_tokens")
    return tokens(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_tokens=cached,
    )


class _Speech:
    """The words of one side, collected from its chunks until it stops."""

    def __init__(self, draft: Draft, actor: str) -> None:
        self._draft, self._actor = draft, actor
        self._parts: list[str] = []
        self._ids: set[str] = set()
        self._at: Any = None

    def hear(self, chunk: Any, when: Any) -> bool:
        """Add one chunk; return whether it contained words."""
        text = at_path(chunk, "content")
        if not isinstance(text, str) or not text:
            return False
        if chunk.get("is_audio") and len(text) > _AUDIO and not any(map(str.isspace, text)):
            text = "[audio]"
        listed = chunk.get("utterance_ids")
        ids = set(map(str, listed)) if isinstance(listed, list) else set()
        if self._ids and ids and self._ids.isdisjoint(ids):
            self.stop()
        if not self._parts:
            self._at = chunk.get("timestamp") or when
        self._parts.append(text)
        self._ids = ids or self._ids
        return True

    def stop(self) -> None:
        """Write the words so far as one message."""
        if self._parts:
            self._draft.message(self._actor, "".join(self._parts), at=self._at)
        self._parts, self._ids = [], set()


def add_ticks(draft: Draft, ticks: list[Any]) -> None:
    """Write the ticks of a full-duplex conversation: chunks joined into messages, calls where they
    were made. Raises Rejected (`type:ticks[n]`)."""
    sides = {"agent": _Speech(draft, AGENT), "user": _Speech(draft, USER)}
    for number, tick in enumerate(ticks):
        if not isinstance(tick, dict):
            raise Rejected(f"type:ticks[{number}]")
        when = tick.get("timestamp")
        spoke = {who: side.hear(tick.get(f"{who}_chunk"), when) for who, side in sides.items()}
        for who, other in (("agent", "user"), ("user", "agent")):
            if spoke[who] and not spoke[other]:
                sides[other].stop()
        for who, side in sides.items():
            calls = _list(tick, f"{who}_tool_calls")
            if calls:
                side.stop()
            for call in calls:
                _add_call(draft, call, who, {"at": when})
            for result in _list(tick, f"{who}_tool_results"):
                if not isinstance(result, dict):
                    raise Rejected(f"type:{who}_tool_results")
                _add_result(draft, result, result.get("timestamp") or when, None)
    for side in sides.values():
        side.stop()
    if ticks and not draft.events:
        draft.note("its ticks hold no text, no calls and no results: stripped before it came here")


def final_words(draft: Draft) -> str | None:
    """Return the agent's last message without the words that end a conversation."""
    for event in reversed(draft.events):
        text = event.get("message")
        if event["kind"] != "message" or event.get("actor") != AGENT or not isinstance(text, str):
            continue
        for stop in STOPS:
            text = text.replace(stop, "")
        if text.strip():
            return text.strip() if text != event["message"] else text
    return None


# Checks and verdicts ------------------------------------------------------------------------------

TOLERANCE = 1e-6


class Checks(NamedTuple):
    """The expectations for which a simulation was checked; None where the source kept no list."""

    actions: tuple[str, ...] | None
    assertions: tuple[str, ...] | None
    information: tuple[str, ...] | None

    def fit(self, task: "Task") -> bool:
        """Return whether every list that was kept is the task's own, and at least one is not
        empty."""
        kept = [pair for pair in zip(self, task, strict=False) if pair[0] is not None]
        return any(mine for mine, _ in kept) and all(mine == theirs for mine, theirs in kept)

    def fit_actions(self, task: "Task") -> bool:
        """Return whether the actions that were checked are the task's own."""
        return self.actions is not None and self.actions == task.actions


def checks_of(reward_info: Any) -> Checks:
    """Return the lists of checks in a simulation."""
    info = mapping(reward_info)
    return Checks(
        _texts(info.get("action_checks"), "action", "action_id"),
        _texts(info.get("nl_assertions"), "nl_assertion"),
        _texts(info.get("communicate_checks"), "info"),
    )


def _texts(checks: Any, *path: str) -> tuple[str, ...] | None:
    """Return the subject of each check; None for null and an empty list: checks that were not made
    and checks of nothing look alike."""
    if not isinstance(checks, list) or not checks:
        return None
    return tuple(str(at_path(check, *path)) for check in checks)


def reward_of(reward_info: Any) -> float | None:
    """Return the reward, None when there is none."""
    reward = mapping(reward_info).get("reward")
    if isinstance(reward, bool) or not isinstance(reward, (int, float)):
        return None
    return float(reward) if abs(reward) < 1e9 else None


def passes(reward: float | None) -> bool | None:
    """Return whether the reward is a success by the benchmark's own measure."""
    return None if reward is None else abs(reward - 1.0) <= TOLERANCE


INFRASTRUCTURE = "infrastructure_error"


def verdict_of(draft: Draft, sim: dict[str, Any]) -> SourceVerdict:
    """Return reward, outcome and error as three facts; every part of the reward is in `detail`.

    A run that infrastructure ended is neither pass nor fail, whatever its reward.
    """
    info = sim.get("reward_info")
    reward = reward_of(info)
    broken = sim.get("termination_reason") == INFRASTRUCTURE
    told = [word(at_path(sim, "info", name)) for name in ("error_type", "error")]
    exception = ": ".join(part for part in told if part)[:200] or None
    detail = _detail(mapping(info))
    detail.update(_reviews(sim))
    if (spent := measured(sim.get("user_cost"))) is not None:
        detail["simulated_user"] = {"cost_usd": spent}
    if isinstance(info, dict) and reward is not None and not _is_product(info, reward):
        draft.note("the reward is not the product of its breakdown")
    whole_passes = passes(reward)
    passed = agreed(whole_passes, _parts(mapping(info)))
    if passed is not whole_passes:
        draft.note(SAYS_BOTH)
    if info is None and not broken:
        draft.note("no reward in the file: neither pass nor fail")
    return SourceVerdict(
        passed=None if broken else passed, reward=reward, exception=exception, detail=detail
    )


def _parts(info: dict[str, Any]) -> Iterator[bool | None]:
    """Yield whether each of the checks that make the reward has passed."""
    parts = mapping(info.get("reward_breakdown"))
    for name in sequence(info.get("reward_basis")):
        yield passes(amount(parts.get(name))) if isinstance(name, str) else None


def _is_product(info: dict[str, Any], reward: float) -> bool:
    basis, parts = info.get("reward_basis"), info.get("reward_breakdown")
    if not isinstance(basis, list) or not isinstance(parts, dict):
        return True
    product = 1.0
    for check in basis:
        part = parts.get(check) if isinstance(check, str) else None
        if isinstance(part, bool) or not isinstance(part, (int, float)):
            return True
        product *= part
    return abs(product - reward) <= 1e-9


_CHECKS = (
    ("env_assertions", ("env_assertion", "func_name"), "met"),
    ("action_checks", ("action", "action_id"), "action_match"),
    ("nl_assertions", ("nl_assertion",), "met"),
    ("communicate_checks", ("info",), "met"),
)


def _detail(info: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict's parts: every check by name with its outcome; explanations are left
    out."""
    kept: dict[str, Any] = {}
    for name in ("reward_basis", "reward_breakdown"):
        if info.get(name):
            kept[name] = info[name]
    if isinstance(info.get("db_check"), dict):
        kept["db_match"] = info["db_check"].get("db_match")
    for name, path, outcome in _CHECKS:
        if checks := sequence(info.get(name)):
            kept[name] = [_check(one, path, outcome) for one in objects(checks)]
    kept.update(expected_actions(_expected(info.get("action_checks"))))
    if word(note := at_path(info, "info", "note")):
        kept["note"] = note
    return kept


def _expected(checks: Any) -> Iterator[dict[str, Any]]:
    """Yield the checked calls, each with the source's result."""
    for check in objects(sequence(checks)):
        action = mapping(check.get("action"))
        if isinstance(action.get("name"), str):
            told = {"name": action["name"], "arguments": mapping(action.get("arguments"))}
            if isinstance(check.get("action_match"), bool):
                told["met"] = check["action_match"]
            if action.get("requestor") == "user":
                told["by"] = "user"
            yield told


def _check(check: dict[str, Any], path: tuple[str, ...], outcome: str) -> dict[str, Any]:
    found = {"what": at_path(check, *path), "met": check.get(outcome)}
    if word(check.get("tool_type")):
        found["tool_type"] = check["tool_type"]
    return found


def _reviews(sim: dict[str, Any]) -> dict[str, Any]:
    """Return models' reviews of the conversation: shown, never a verdict."""
    kept: dict[str, Any] = {}
    review = mapping(sim.get("review"))
    names = ("agent_error", "user_error", "critical_user_error")
    if told := {name: review[name] for name in names if isinstance(review.get(name), bool)}:
        kept["review"] = told
    if word(login := at_path(sim, "auth_classification", "status")):
        kept["authentication"] = login
    retries = whole(sim.get("hallucination_retries_used"))
    if retries:
        kept["hallucination_retries_used"] = retries
    return kept


def word(value: Any) -> str | None:
    """Return a text cut to a limited length, None for anything else."""
    return value[:2000] if isinstance(value, str) and value else None


# The attempt --------------------------------------------------------------------------------------

HARMLESS = frozenset(
    (
        # the benchmark's checks and expectations
        *("reward_info", "review", "evaluation_criteria"),
        # the provider's answer, which repeats the message beside it
        "raw_data",
    )
)
_KEPT = ("id", "seed", "trial", "mode", "termination_reason")


def foreign(sim: Any, number: int, run: "Run", candidate: str, suite: str) -> Foreign:
    """Return the trace of simulation `number` (from 1) of its file. Raises Rejected."""
    if not isinstance(sim, dict):
        raise Rejected("type:simulation")
    draft = Draft("tau2-bench")
    messages, ticks = sim.get("messages"), sim.get("ticks")
    for name, value in (("messages", messages), ("ticks", ticks)):
        if value is not None and not isinstance(value, list):
            raise Rejected(f"type:{name}")
    if messages:
        add_messages(draft, messages)
    elif ticks:
        add_ticks(draft, ticks)
    elif messages is None and ticks is None:
        raise Rejected("missing:messages")
    tell_rest(sim, draft, "", HARMLESS)
    checks = checks_of(sim.get("reward_info"))
    episode = _episode(draft, sim, number, run, checks)
    _describe(draft, sim, run, messages or [])
    termination = word(sim.get("termination_reason"))
    task = run.tasks.get(episode)
    return draft.foreign(
        episode_id=episode,
        candidate_id=candidate,
        attempt=_attempt(sim, episode, run),
        final_message=final_words(draft),
        cost_usd=_cost(sim, messages or []),
        latency_ms=_latency(draft, sim, run),
        termination=termination,
        started_at=draft.at(sim.get("start_time")),
        usage=_usage(sim, messages or []),
        verdict=verdict_of(draft, sim),
        title=(task.title if task else "") or f"task {episode}",
        user_request=task.request if task else "",
        suite=suite,
        start_state_digest=task.start_digest if task else None,
    )


def _episode(draft: Draft, sim: dict[str, Any], number: int, run: "Run", checks: Checks) -> str:
    """Return the task's id: as written, else that of the only task whose expectations were
    checked."""
    named = sim.get("task_id")
    if isinstance(named, (str, int)) and not isinstance(named, bool) and named != "":
        if str(named) in run.tasks:
            _compare(draft, checks, str(named), run)
        elif run.tasks:
            draft.note("the task that task_id names is not among the file's tasks")
        return str(named)
    found = run.task_of(checks)
    if found is not None:
        draft.note("no task_id: taken from the one task whose expectations its checks repeat")
        return found
    draft.note("no task_id and no checks that only one task has: named by its place in the file")
    return f"record-{number}"


def _compare(draft: Draft, checks: Checks, named: str, run: "Run") -> None:
    """Note checks that belong to another task, whatever task_id says."""
    task, other = run.tasks[named], run.task_of(checks)
    foreign_actions = checks.actions is not None and checks.actions != task.actions
    if not foreign_actions and other in (None, named):
        return
    draft.note("its checks belong to another task than task_id names: verdict in doubt")
    if other not in (None, named):
        draft.source["checks_are_of_task"] = other


def _attempt(sim: dict[str, Any], episode: str, run: "Run") -> int | None:
    trial = sim.get("trial")
    if type(trial) is not int or trial < 0 or episode in run.doubled:
        return None
    return trial + 1


def _describe(draft: Draft, sim: dict[str, Any], run: "Run", messages: list[Any]) -> None:
    """Store facts that fit no field, and note doubts that the simulation alone shows."""
    draft.source.update({name: sim[name] for name in _KEPT if sim.get(name) is not None})
    user, environment = run.info.get("user_info"), run.info.get("git_commit")
    if isinstance(user, dict):
        told = [word(user.get(name)) for name in ("implementation", "llm")]
        draft.source["user_simulator"] = " ".join(part for part in told if part)
    if word(environment):
        draft.source["tau2_commit"] = environment
    if (spent := measured(sim.get("user_cost"))) is not None:
        draft.source["user_cost_usd"] = spent
    served = sorted({name for message in messages if (name := _served(message))})
    if served:
        draft.source["served_models"] = served
    if run.model and any(not _same_model(run.model, name) for name in served):
        draft.note("messages came from another model, by name, than the one configured")
    texts = [event["message"] for event in draft.events if event.get("actor") == AGENT
             and event["kind"] == "message"]  # fmt: skip
    if any(isinstance(parse_text(text), dict) for text in texts if str(text)[:1] == "{"):
        draft.note("texts of the agent are JSON objects: kept as they are")
    stopped = sim.get("termination_reason") == INFRASTRUCTURE
    if not draft.events and not stopped and not sim.get("ticks"):
        draft.note("nothing of the conversation was recorded")


def _served(message: Any) -> str | None:
    if at_path(message, "role") != "assistant":
        return None
    return word(at_path(message, "raw_data", "model"))


def _same_model(configured: str, served: str) -> bool:
    one, two = (name.lower().replace(":", "/").rpartition("/")[2] for name in (configured, served))
    return one in two or two in one


def _cost(sim: dict[str, Any], messages: list[Any]) -> float | None:
    """Return the agent's cost: as the run states it, else the sum over its messages; zero is not
    measured."""
    if (whole_run := measured(sim.get("agent_cost"))) is not None:
        return whole_run
    if sim.get("agent_cost") is not None:
        return None
    own = [one for one in objects(messages) if one.get("role") == "assistant"]
    return measured(added([amount(message.get("cost")) for message in own]))


def _usage(sim: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
    """Return the agent's tokens: those of its messages, else the session's."""
    said = [one for one in objects(messages) if one.get("role") == "assistant"]
    # A greeting that no model made has no tokens and costs 0: it is no reply.
    counted = [one for m in said if (one := tokens_of(m)) is not None or m.get("cost") != 0]
    if not any(counted) and isinstance(sim.get("agent_usage"), dict):
        counted = [
            tokens(
                input_tokens=one.get("input_tokens"),
                output_tokens=one.get("output_tokens"),
                cached_tokens=one.get("input_cached_tokens"),
            )
            or {}
            for one in objects(sim["agent_usage"].get("records"))
        ]
    return summed(counted)


def _latency(draft: Draft, sim: dict[str, Any], run: "Run") -> float | None:
    """Return the duration of the whole conversation, including the simulated user's time; None
    where no clock ran."""
    start, end = sim.get("start_time"), sim.get("end_time")
    if isinstance(start, str) and isinstance(end, str):
        if (start, end) in run.shared:
            draft.note("start and end are those of other simulations too: latency not measured")
            return None
        lasted = elapsed_ms(start, end)
        if lasted is None and elapsed_ms(end, start):
            draft.note("it ends before it starts: latency not measured")
            return None
        told = amount(sim.get("duration"))
        if lasted and told and abs(lasted - told * 1000) > max(1000.0, 0.05 * lasted):
            draft.note("duration is not the time from start to end")
    seconds = measured(sim.get("duration"))
    return None if seconds is None else seconds * 1000
