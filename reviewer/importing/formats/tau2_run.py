"""One tau2-bench run: what its file says of the run as a whole, what contradicts itself in it, and
the verdict on a simulation.

A file is read once ahead of the attempts, and of each simulation only the task and trial it
claims, and its times, are kept: so the attempts themselves can be read one at a time."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import Draft, clock, elapsed_ms, measured, whole
from reviewer.importing.formats.base import at_path, mapping, objects, sequence
from reviewer.suite.derived import tau2
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import start_state_digest
from reviewer.trace.record import SourceVerdict

# The run ------------------------------------------------------------------------------------------

SETTINGS = ("reasoning_effort", "temperature", "top_p")
"""Of a model's arguments those that make another candidate; the rest may hold keys and hosts."""
TOLERANCE = 1e-6
_DAY_MS = 86_400_000.0


class Glance(msgspec.Struct):
    """What must be known of all simulations before the first is read."""

    task_id: Any = None
    trial: Any = None
    start_time: Any = None
    end_time: Any = None
    reward_info: Any = None


class Task(NamedTuple):
    """What simulations of a task are compared with."""

    actions: tuple[str, ...]
    assertions: tuple[str, ...]
    information: tuple[str, ...]
    title: str
    request: str
    start_digest: str | None


class Run(NamedTuple):
    """`head` holds the members beside tasks and simulations. `doubled` are tasks of which several
    simulations claim one trial; `shared` times (start, end) that several simulations claim."""

    head: dict[str, Any]
    tasks: dict[str, Task]
    doubled: frozenset[str]
    shared: frozenset[tuple[str, str]]

    @property
    def info(self) -> dict[str, Any]:
        return mapping(self.head.get("info"))

    @property
    def domain(self) -> str:
        """The domain as the file names it, "" when it does not."""
        named = mapping(self.info.get("environment_info")).get("domain_name")
        for name in (named, self.head.get("domain")):
            if isinstance(name, str) and name:
                return name
        return ""

    @property
    def model(self) -> str:
        """The configured model."""
        for name in (mapping(self.info.get("agent_info")).get("llm"), self.head.get("model")):
            if isinstance(name, str) and name:
                return name
        return ""

    @property
    def candidate(self) -> str:
        """Agent, model and those settings that make a difference, "" when none is named."""
        agent = mapping(self.info.get("agent_info"))
        named = agent.get("implementation") or self.head.get("agent")
        parts = [part for part in (named, self.model) if isinstance(part, str) and part]
        return " ".join([*parts, *self._settings(agent)]) if parts else ""

    def _settings(self, agent: dict[str, Any]) -> list[str]:
        voice = mapping(self.info.get("audio_native_config"))
        given = {**voice, **mapping(agent.get("llm_args"))}
        told = [(name, given.get(name)) for name in SETTINGS]
        return [f"{name}={value}" for name, value in told if value and not _nested(value)]

    def task_of(self, checks: "Checks") -> str | None:
        """Return the one task whose expectations these checks repeat: all of them, else the
        actions, since a model that judges assertions may reword them. None when none or several
        do."""
        for fits in (Checks.fit, Checks.fit_actions):
            found = [task_id for task_id, task in self.tasks.items() if fits(checks, task)]
            if found:
                return found[0] if len(found) == 1 else None
        return None


class Checks(NamedTuple):
    """What a simulation was checked for; None where the source kept no list."""

    actions: tuple[str, ...] | None
    assertions: tuple[str, ...] | None
    information: tuple[str, ...] | None

    def fit(self, task: Task) -> bool:
        """Return whether every list that was kept is the task's own, and one of them says
        something."""
        kept = [pair for pair in zip(self, task, strict=False) if pair[0] is not None]
        return any(mine for mine, _ in kept) and all(mine == theirs for mine, theirs in kept)

    def fit_actions(self, task: Task) -> bool:
        """Return whether the actions that were checked are the task's own."""
        return self.actions is not None and self.actions == task.actions


def checks_of(reward_info: Any) -> Checks:
    """Return the lists of checks a simulation carries."""
    info = mapping(reward_info)
    return Checks(
        _texts(info.get("action_checks"), "action", "action_id"),
        _texts(info.get("nl_assertions"), "nl_assertion"),
        _texts(info.get("communicate_checks"), "info"),
    )


def _texts(checks: Any, *path: str) -> tuple[str, ...] | None:
    """Return what each check is of; null and an empty list are no list: checks that were not made
    and checks of nothing look alike."""
    if not isinstance(checks, list) or not checks:
        return None
    return tuple(str(at_path(check, *path)) for check in checks)


def task_from(raw: dict[str, Any]) -> Task:
    """Return what is kept of a task as the file holds it."""
    criteria = tau2.criteria_of(raw) or {}
    listed = sequence(criteria.get("actions"))
    state = tau2.initial_state_of(raw)
    return Task(
        tuple(str(mapping(action).get("action_id")) for action in listed),
        tau2.texts_of(criteria, "nl_assertions"),
        tau2.texts_of(criteria, "communicate_info"),
        tau2.title_of(raw),
        tau2.request_of(raw),
        _digest(state) if state else None,
    )


def _digest(state: dict[str, Any]) -> str | None:
    try:
        return start_state_digest(state)
    except ContractError:
        return None


def run_of(head: dict[str, Any], tasks: dict[str, Task], seen: list[Glance]) -> Run:
    """Return the run, with what contradicts itself across simulations."""
    slots = Counter((str(one.task_id), one.trial) for one in seen if type(one.trial) is int)
    times = Counter(
        (one.start_time, one.end_time)
        for one in seen
        if isinstance(one.start_time, str) and isinstance(one.end_time, str)
    )
    return Run(
        head,
        tasks,
        frozenset(task_id for (task_id, _), count in slots.items() if count > 1),
        frozenset(pair for pair, count in times.items() if count > 1),
    )


def doubts(run: Run, seen: list[Glance]) -> Iterable[str]:
    """Yield what a reader of the file as a whole should know, a sentence each."""
    yield from _declared(run, seen)
    starts = [one.start_time for one in seen if clock(one.start_time)[1] == "unstated"]
    span = elapsed_ms(min(starts), max(starts)) if starts else None
    if span is not None and span > 2 * _DAY_MS:
        days = int(span / _DAY_MS)
        yield f"its simulations began over {days} days: perhaps joined out of several runs"
    if run.shared:
        same = sum((one.start_time, one.end_time) in run.shared for one in seen)
        yield f"{same} simulations share start and end with others: no clock wrote these times"
    if run.doubled:
        yield "several simulations claim the same task and trial: these are numbered in file order"


def _declared(run: Run, seen: list[Glance]) -> Iterable[str]:
    """Yield notes on declared totals that differ from the contents."""
    trials, tasks, held = run.info.get("num_trials"), len(run.tasks), len(seen)
    if type(trials) is int and tasks and trials * tasks != held:
        wanted = trials * tasks
        yield f"declares {trials} trials of {tasks} tasks, {wanted} simulations; holds {held}"
    if run.info or held < 2:
        return
    yield "no settings of the run in the file: what it says of agent and model is its author's word"
    if len({str(one.task_id) for one in seen}) == held:
        yield "one simulation per task: whether it is the best of several attempts does not show"
    passed = sum(passes(reward_of(one.reward_info)) is True for one in seen)
    for member, found in (("total_tasks", held), ("passed", passed)):
        told = run.head.get(member)
        if type(told) is int and told != found:
            yield f"declares {member} {told}; its simulations give {found}"


def reward_of(reward_info: Any) -> float | None:
    """Return the reward, None when there is none."""
    reward = mapping(reward_info).get("reward")
    if isinstance(reward, bool) or not isinstance(reward, (int, float)):
        return None
    return float(reward) if abs(reward) < 1e9 else None


def passes(reward: float | None) -> bool | None:
    """Return success by the benchmark's own measure."""
    return None if reward is None else abs(reward - 1.0) <= TOLERANCE


def slug(domain: str) -> str:
    """Return a domain as a part of a suite's name."""
    return re.sub(r"[^a-z0-9_.-]+", "-", domain.lower()).strip("-.")[:80]


def _nested(value: Any) -> bool:
    return isinstance(value, (dict, list)) or len(str(value)) > 40


# Verdicts -----------------------------------------------------------------------------------------

INFRASTRUCTURE = "infrastructure_error"


def verdict_of(draft: Draft, sim: dict[str, Any]) -> SourceVerdict:
    """Return reward, outcome and what broke, three facts; every part of the reward is in `detail`.

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
    if info is None and not broken:
        draft.note("no reward in the file: neither pass nor fail")
    passed = None if broken else passes(reward)
    return SourceVerdict(passed=passed, reward=reward, exception=exception, detail=detail)


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
    if word(note := at_path(info, "info", "note")):
        kept["note"] = note
    return kept


def _check(check: dict[str, Any], path: tuple[str, ...], outcome: str) -> dict[str, Any]:
    found = {"what": at_path(check, *path), "met": check.get(outcome)}
    if word(check.get("tool_type")):
        found["tool_type"] = check["tool_type"]
    return found


def _reviews(sim: dict[str, Any]) -> dict[str, Any]:
    """Return what models said of the conversation afterwards: shown, never a verdict."""
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
    """Return a text cut to a bearable length, None for anything else."""
    return value[:2000] if isinstance(value, str) and value else None
