"""One tau2-bench simulation as a native trace, with what is doubtful in it."""

from typing import Any

from reviewer.importing.draft import Draft, added, amount, elapsed_ms, measured, summed, tokens
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._tau2_events import (
    AGENT,
    add_messages,
    add_ticks,
    final_words,
    tokens_of,
)
from reviewer.importing.formats._tau2_run import Checks, Run, checks_of
from reviewer.importing.formats._tau2_verdict import INFRASTRUCTURE, verdict_of, word
from reviewer.importing.reader import Foreign, Rejected
from reviewer.importing.rest import tell_rest

HARMLESS = frozenset(
    (
        # what was checked and expected, by the benchmark
        *("reward_info", "review", "evaluation_criteria"),
        # the provider's answer, which repeats the message beside it
        "raw_data",
    )
)
_KEPT = ("id", "seed", "trial", "mode", "termination_reason")


def foreign(sim: Any, number: int, run: Run, candidate: str, suite: str) -> Foreign:
    """The trace of simulation `number` (from 1) of its file. Raises Rejected."""
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


def _episode(draft: Draft, sim: dict[str, Any], number: int, run: Run, checks: Checks) -> str:
    """The task's id: as written, else that of the one task whose expectations were checked."""
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


def _compare(draft: Draft, checks: Checks, named: str, run: Run) -> None:
    """Call out checks that are another task's, whatever task_id says."""
    task, other = run.tasks[named], run.task_of(checks)
    foreign_actions = checks.actions is not None and checks.actions != task.actions
    if not foreign_actions and other in (None, named):
        return
    draft.note("its checks belong to another task than task_id names: verdict in doubt")
    if other not in (None, named):
        draft.source["checks_are_of_task"] = other


def _attempt(sim: dict[str, Any], episode: str, run: Run) -> int | None:
    trial = sim.get("trial")
    if type(trial) is not int or trial < 0 or episode in run.doubled:
        return None
    return trial + 1


def _describe(draft: Draft, sim: dict[str, Any], run: Run, messages: list[Any]) -> None:
    """What fits no field, and doubts that the simulation alone shows."""
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
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    raw = message.get("raw_data")
    return word(raw.get("model")) if isinstance(raw, dict) else None


def _same_model(configured: str, served: str) -> bool:
    one, two = (name.lower().replace(":", "/").rpartition("/")[2] for name in (configured, served))
    return one in two or two in one


def _cost(sim: dict[str, Any], messages: list[Any]) -> float | None:
    """The agent's: as the run says, else what its messages add up to; zero is not measured."""
    if (whole_run := measured(sim.get("agent_cost"))) is not None:
        return whole_run
    if sim.get("agent_cost") is not None:
        return None
    own = [m for m in messages if isinstance(m, dict) and m.get("role") == "assistant"]
    return measured(added([amount(message.get("cost")) for message in own]))


def _usage(sim: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
    """The agent's tokens: those of its messages, else the session's."""
    said = [m for m in messages if isinstance(m, dict) and m.get("role") == "assistant"]
    # A greeting that no model made has no tokens and costs 0: it is no reply.
    counted = [one for m in said if (one := tokens_of(m)) is not None or m.get("cost") != 0]
    session = sim.get("agent_usage")
    if not any(counted) and isinstance(session, dict):
        records = session.get("records")
        counted = [
            tokens(
                input_tokens=one.get("input_tokens"),
                output_tokens=one.get("output_tokens"),
                cached_tokens=one.get("input_cached_tokens"),
            ) or {}
            for one in (records if isinstance(records, list) else [])
            if isinstance(one, dict)
        ]  # fmt: skip
    return summed(counted)


def _latency(draft: Draft, sim: dict[str, Any], run: Run) -> float | None:
    """Of the whole conversation, the simulated user's time in it; None where no clock ran."""
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
