"""A tau2-bench task as a contract of the agent, and as readers of its results use it.

The benchmark scores the parts named in `reward_basis`. Of these, calls and wording can be gated
here. The end state of its database is in no file: a `World` says what it should be, as its own
tools or recorded simulations show. Its environment assertions run only in the benchmark. The
functions that read a task never raise: a part with another shape than the benchmark's counts as
absent.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from reviewer.suite.derived import ContractDraft, NoContract
from reviewer.suite.derived.tau2_user import instructed, spoken_request_of, user_of

_SAID = (
    ("reason_for_call", "Reason for call"),
    ("known_info", "Known info"),
    ("unknown_info", "Unknown info"),
    ("task_instructions", "Task instructions"),
)
_STATE = ("initialization_data", "initialization_actions", "message_history")


class Action(Struct, frozen=True):
    """One call of the reference trajectory.

    `by_user` when the simulated user should make it. `compared` names the arguments that count;
    None when all do.
    """

    action_id: str
    tool: str
    arguments: dict[str, Any]
    by_user: bool
    compared: tuple[str, ...] | None


def id_of(task: dict[str, Any]) -> str:
    """Return the task's id, "" when it has none."""
    value = task.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return str(value)


def title_of(task: dict[str, Any]) -> str:
    """Return what the task tests, on one line."""
    description = _object(task.get("description"))
    purpose = description.get("purpose")
    return " ".join(purpose.split())[:200] if isinstance(purpose, str) else ""


def domain_of(task: dict[str, Any]) -> str:
    """Return the domain the task's own instructions name, "" when they name none."""
    instructions = _object(task.get("user_scenario")).get("instructions")
    domain = _object(instructions).get("domain")
    return domain if isinstance(domain, str) else ""


def request_of(task: dict[str, Any]) -> str:
    """Return the user's request: the simulator's instructions, else the ticket."""
    instructions = _object(task.get("user_scenario")).get("instructions")
    if isinstance(instructions, str) and instructions.strip():
        return instructions.strip()
    said = _object(instructions)
    parts = [(label, said.get(name)) for name, label in _SAID]
    lines = [f"{label}: {text.strip()}" for label, text in parts if isinstance(text, str) and text]
    ticket = task.get("ticket")
    return "\n".join(lines) or (ticket.strip() if isinstance(ticket, str) else "")


def initial_state_of(task: dict[str, Any]) -> dict[str, Any]:
    """Return the state that is set up before the task begins, {} when it is the domain's own
    state."""
    state = _object(task.get("initial_state"))
    return {name: state[name] for name in _STATE if state.get(name)}


def criteria_of(task: dict[str, Any]) -> dict[str, Any] | None:
    """Return the evaluation criteria, None when there are none."""
    criteria = task.get("evaluation_criteria")
    return criteria if isinstance(criteria, dict) else None


def actions_of(criteria: dict[str, Any]) -> list[Action]:
    """Return the reference trajectory in order. Raises ValueError naming an invalid entry."""
    found = []
    listed = criteria.get("actions") or []
    if not isinstance(listed, list):
        raise ValueError("evaluation_criteria.actions is no list")
    for number, raw in enumerate(listed):
        action = _object(raw)
        name, arguments = action.get("name"), action.get("arguments", {})
        if not isinstance(name, str) or not name or not isinstance(arguments, dict):
            raise ValueError(f"evaluation_criteria.actions[{number}] has no name or no arguments")
        compared = action.get("compare_args")
        found.append(
            Action(
                str(action.get("action_id", "")),
                name,
                arguments,
                action.get("requestor") == "user",
                tuple(map(str, compared)) if isinstance(compared, list) else None,
            )
        )
    return found


def texts_of(criteria: dict[str, Any], member: str) -> tuple[str, ...]:
    """Return a list of texts among the criteria (`communicate_info`, `nl_assertions`)."""
    values = criteria.get(member)
    if not isinstance(values, list):
        return ()
    return tuple(text for text in values if isinstance(text, str) and text.strip())


def basis_of(criteria: dict[str, Any]) -> tuple[str, ...]:
    """Return the checks that determine the reward; the benchmark's default when the task names
    none."""
    basis = criteria.get("reward_basis")
    if not isinstance(basis, list) or not basis:
        return ("DB", "COMMUNICATE")
    return tuple(str(check) for check in basis)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


Require = Literal["all", "writes"]

NOT_ACTION = (
    "reward_basis has no ACTION: to tau2 the expected calls are one way among others; here each "
    "expected tool is required, order and arguments are only shown"
)
ONLY_WRITES = "reward_basis has no ACTION: of the expected tools only those that write are required"
NO_WRITE = "the expected calls write nothing: every tool that writes is forbidden"
IDLE = (
    "nothing is required and no wording expected, as in tau2's own comparison: an agent that does "
    "nothing passes (tag `idle-passes`)"
)
BY_USER = "calls that the simulated user is to make are no part of the agent's contract"
IN_THE_END = (
    "communicate_info must be in the final message as it is written; tau2 takes any message, "
    "and numbers with commas in them"
)
FOR_PEOPLE = "nl_assertions are for people: in suite.json under source, asked by the rubric"
ELSEWHERE = "env_assertions are checked by tau2's environment alone: kept in suite.json, not gated"
NO_STATE = "the end state that DB compares is in no file: it is not gated"
NO_USER = (
    "what the user is ordered and does not know is left out, and the rest is told at once: "
    "--user-model names a model that plays the user"
)
NO_SET_UP = "starts from a state of its own (initial_state), which this world does not set up"
DUAL = "expects calls of the simulated user, for which this world has no tools"
SOME_ARGUMENTS = "compare_args of a tool called more than once: only the tool is compared"


SOLO = "dummy_user"
"""The user of a run without one, in which the agent has the user's tools too."""

DATABASE = "database"
"""The member of the state that names the state of a world's database."""
HANDS_OVER = "transfer_to_human_agents"


class World(Protocol):
    """The world behind the tools of a domain."""

    tools: frozenset[str]
    start: dict[str, Any]
    """The state in which every task starts."""

    def end_of(self, actions: Sequence[Action], task_id: str) -> str:
        """Return the state of the database (`DATABASE`) that these calls lead to. Raises NoContract
        where the world cannot say."""
        ...


def contract_of(
    task: Any,
    writes: frozenset[str] | None,
    require: Require = "all",
    user_runner: dict[str, Any] | None = None,
    world: World | None = None,
    users: frozenset[str] | None = frozenset(),
) -> ContractDraft:
    """Return the contract of one task. `users` are the domain's tools of the simulated user,
    besides those that the task has it call; None where no user takes part, and they are the
    agent's. `writes` are the domain's tools that change something, None when they are not known;
    `require` says whether reading tools are required too. `user_runner` is the model that plays the
    user; without one the agent is told at once what the user would tell. With a `world` the end
    state is part of the contract. Raises NoContract."""
    if not isinstance(task, dict) or not id_of(task):
        raise NoContract("is not a task: it has no id")
    criteria = criteria_of(task)
    if criteria is None:
        raise NoContract("has no evaluation_criteria: nothing says what is expected")
    try:
        actions = actions_of(criteria)
    except ValueError as error:
        raise NoContract(str(error)) from None
    own = [action for action in actions if not action.by_user]
    basis = basis_of(criteria)
    notes = [BY_USER] if len(own) < len(actions) else []
    if world is not None and writes is not None:
        writes &= world.tools  # a tool that is not offered cannot be forbidden
    tools = _tools(own, basis, writes, require, notes, world is not None)
    expected = _expected(own, basis, criteria, notes)
    shown = _shown(criteria, basis, notes)
    start = initial_state_of(task)
    if world is not None:
        if start or len(own) < len(actions):
            raise NoContract(NO_SET_UP if start else DUAL)
        start = world.start
        end = world.end_of(own, id_of(task))
        if "DB" in basis:
            expected["state"] = {DATABASE: end}
    over = (HANDS_OVER,) if world is not None and HANDS_OVER in world.tools else ()
    user = None if user_runner is None else user_of(task, user_runner, over)
    if user is None and instructed(task):
        notes.append(NO_USER)
    if not tools and not expected.keys() - {"trajectory"}:
        raise NoContract(_why_empty(basis, writes, criteria))
    mine = {action.tool for action in own}.union(writes or ())
    called = {action.tool for action in actions if action.by_user}
    if users is not None and (of_user := sorted((users | called) - mine)):
        tools["of_user"] = of_user
    tags = ["no-write"] if "forbidden" in tools else []
    if _idle_passes(tools, expected, start):
        tags.append("idle-passes")
        notes.append(IDLE)
    episode: dict[str, Any] = {
        "schema": "reviewer/episode@1",
        "episode_id": id_of(task),
        "title": title_of(task),
        "user_request": "" if user is not None else spoken_request_of(task),
        "initial_state": start,
        "tools": tools,
        "expected": expected,
        "category": "negative" if "forbidden" in tools and "required" not in tools else "task",
        "tags": tags,
        "user": user or {},
    }
    kept = {name: value for name, value in episode.items() if value not in ("", {}, [])}
    return ContractDraft(kept, shown, tuple(notes))


def _idle_passes(tools: dict[str, Any], expected: dict[str, Any], start: dict[str, Any]) -> bool:
    """Return whether a contract only requires that an agent changes nothing."""
    if tools.get("required") or "message_contains" in expected or "arguments" in expected:
        return False
    wanted: dict[str, Any] = expected.get("state", {})
    return all(name in start and start[name] == value for name, value in wanted.items())


def _tools(
    own: list[Action],
    basis: tuple[str, ...],
    writes: frozenset[str] | None,
    require: Require,
    notes: list[str],
    stated: bool,
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
        elif not stated:
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
    said = list(dict.fromkeys(texts_of(criteria, "communicate_info")))
    if said and "COMMUNICATE" in basis:
        expected["message_contains"] = said
        notes.append(IN_THE_END)
    return expected


def _step(action: Action) -> dict[str, Any]:
    """Return one expected call; with its arguments only when all of them are compared."""
    if action.compared is not None and set(action.compared) != set(action.arguments):
        return {"tool": action.tool}
    return {"tool": action.tool, "arguments": action.arguments}


def _arguments(own: list[Action], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the arguments of calls that are compared in part: required of one call of the tool."""
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
    if assertions := texts_of(criteria, "nl_assertions"):
        shown["nl_assertions"] = list(assertions)
        notes.append(FOR_PEOPLE)
    if environment := criteria.get("env_assertions"):
        shown["env_assertions"] = environment
        notes.append(ELSEWHERE)
    if "COMMUNICATE" not in basis and (said := texts_of(criteria, "communicate_info")):
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
