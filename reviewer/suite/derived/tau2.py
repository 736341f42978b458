"""A tau2-bench task as a contract of the agent.

The benchmark scores what `reward_basis` names. Of that, calls and wording can be gated here; the
end state of its database stands in no file, and its environment assertions run in it alone.
"""

from collections import Counter
from typing import Any, Literal

from reviewer.suite.derived import tau2
from reviewer.suite.derived import Drafted, Unmade
from reviewer.suite.derived.tau2 import Action

# Which tools of tau2-bench's own domains change the database (sierra-research/tau2-bench, MIT).
#
# Task files do not say it; the benchmark's code does. A task whose reference trajectory changes
# nothing is passed only by an agent that changes nothing either.


WRITES: dict[str, tuple[str, ...]] = {
    "airline": (
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    ),
    "retail": (
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    ),
    "telecom": (
        "disable_roaming",
        "enable_roaming",
        "refuel_data",
        "resume_line",
        "send_payment_request",
        "suspend_line",
    ),
    "banking_knowledge": (
        "call_discoverable_agent_tool",
        "change_user_email",
        "give_discoverable_user_tool",
        "log_verification",
        "unlock_discoverable_agent_tool",
    ),
    "mock": ("create_task", "update_task_status"),
}
"""Of the agent's tools, by domain; the simulated user's are not the agent's to call."""


def writes_of(domain: str) -> frozenset[str] | None:
    """The tools that write, None for a domain that is not the benchmark's own."""
    base = domain if domain in WRITES else domain.partition("-")[0]  # telecom-workflow
    return frozenset(WRITES[base]) if base in WRITES else None


Require = Literal["all", "writes"]

NOT_ACTION = (
    "reward_basis has no ACTION: to tau2 the expected calls are one way among others; here each "
    "expected tool is required, order and arguments are only shown"
)
ONLY_WRITES = "reward_basis has no ACTION: of the expected tools only those that write are required"
NO_WRITE = "the expected calls write nothing: every tool that writes is forbidden"
BY_USER = "calls that the simulated user is to make are no part of the agent's contract"
IN_THE_END = (
    "communicate_info must stand in the final message as it is written; tau2 takes any message, "
    "and numbers with commas in them"
)
FOR_PEOPLE = "nl_assertions are for people: in suite.json under source, asked by the rubric"
ELSEWHERE = "env_assertions are checked by tau2's environment alone: kept in suite.json, not gated"
NO_STATE = "the end state that DB compares stands in no file: it is not gated"
SOME_ARGUMENTS = "compare_args of a tool called more than once: only the tool is compared"


def contract_of(task: Any, writes: frozenset[str] | None, require: Require = "all") -> Drafted:
    """The contract of one task. `writes` are the domain's tools that change something, None when
    nobody knows; `require` says whether reading tools are required too. Raises Unmade."""
    if not isinstance(task, dict) or not tau2_task.id_of(task):
        raise Unmade("is no task: it has no id")
    criteria = tau2_task.criteria_of(task)
    if criteria is None:
        raise Unmade("has no evaluation_criteria: nothing says what is expected")
    try:
        actions = tau2_task.actions_of(criteria)
    except ValueError as error:
        raise Unmade(str(error)) from None
    own = [action for action in actions if not action.by_user]
    basis = tau2_task.basis_of(criteria)
    notes = [BY_USER] if len(own) < len(actions) else []
    tools = _tools(own, basis, writes, require, notes)
    expected = _expected(own, basis, criteria, notes)
    shown = _shown(criteria, basis, notes)
    if not tools and not expected.keys() - {"trajectory"}:
        raise Unmade(_why_empty(basis, writes, criteria))
    episode: dict[str, Any] = {
        "schema": "reviewer/episode@1",
        "episode_id": tau2_task.id_of(task),
        "title": tau2_task.title_of(task),
        "user_request": tau2_task.request_of(task),
        "initial_state": tau2_task.initial_state_of(task),
        "tools": tools,
        "expected": expected,
        "category": "negative" if "forbidden" in tools and "required" not in tools else "task",
        "tags": ["no-write"] if "forbidden" in tools else [],
    }
    kept = {name: value for name, value in episode.items() if value not in ("", {}, [])}
    return Drafted(kept, shown, tuple(notes))


def _tools(
    own: list[Action],
    basis: tuple[str, ...],
    writes: frozenset[str] | None,
    require: Require,
    notes: list[str],
) -> dict[str, Any]:
    names = list(dict.fromkeys(action.tool for action in own))
    if own and "ACTION" not in basis:
        if require == "writes" and writes is not None:
            names = [name for name in names if name in writes]
            notes.append(ONLY_WRITES)
        else:
            notes.append(NOT_ACTION)
    tools: dict[str, Any] = {"required": names, "order": "any"} if names else {}
    if "DB" in basis:
        if writes is not None and not any(action.tool in writes for action in own):
            tools["forbidden"] = sorted(writes)
            notes.append(NO_WRITE)
        else:
            notes.append(NO_STATE)
    return tools


def _expected(
    own: list[Action], basis: tuple[str, ...], criteria: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    if own:
        expected["trajectory"] = [_step(action) for action in own]
    if own and "ACTION" in basis:
        expected["trajectory_match"] = "superset"
        partly = _arguments(own, notes)
        if partly:
            expected["arguments"] = partly
    said = list(dict.fromkeys(tau2_task.texts_of(criteria, "communicate_info")))
    if said and "COMMUNICATE" in basis:
        expected["message_contains"] = said
        notes.append(IN_THE_END)
    return expected


def _step(action: Action) -> dict[str, Any]:
    """One expected call; with its arguments only when all of them are compared."""
    if action.compared is not None and set(action.compared) != set(action.arguments):
        return {"tool": action.tool}
    return {"tool": action.tool, "arguments": action.arguments}


def _arguments(own: list[Action], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Arguments of calls that are compared in part: wanted of one call of the tool."""
    times = Counter(action.tool for action in own)
    found: dict[str, dict[str, Any]] = {}
    for action in own:
        wanted = set(action.compared or ()) & set(action.arguments)
        if not wanted or wanted == set(action.arguments):
            continue
        if times[action.tool] > 1 or any("." in name or "[" in name for name in wanted):
            notes.append(SOME_ARGUMENTS)
            continue
        found[action.tool] = {name: action.arguments[name] for name in sorted(wanted)}
    return found


def _shown(criteria: dict[str, Any], basis: tuple[str, ...], notes: list[str]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if assertions := tau2_task.texts_of(criteria, "nl_assertions"):
        shown["nl_assertions"] = list(assertions)
        notes.append(FOR_PEOPLE)
    if environment := criteria.get("env_assertions"):
        shown["env_assertions"] = environment
        notes.append(ELSEWHERE)
    if "COMMUNICATE" not in basis and (said := tau2_task.texts_of(criteria, "communicate_info")):
        shown["communicate_info"] = list(said)
    return shown


def _why_empty(
    basis: tuple[str, ...], writes: frozenset[str] | None, criteria: dict[str, Any]
) -> str:
    why = "its contract would be empty: no call of the agent's and no wording is expected"
    if "DB" in basis and writes is None:
        return f"{why}, and which tools write is unknown: name the domain with --domain"
    if criteria.get("env_assertions"):
        return f"{why}, only env_assertions, which tau2's environment alone can check"
    return f"{why} (reward_basis: {', '.join(basis)})"
