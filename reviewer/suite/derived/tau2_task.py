"""What a tau2-bench task says, whoever asks: the reader of results or the maker of contracts.

Every function takes one task as the benchmark writes it and is total: what has another shape than
the benchmark's counts as not there.
"""

from typing import Any

from msgspec import Struct

_SAID = (
    ("reason_for_call", "Reason for call"),
    ("known_info", "Known info"),
    ("unknown_info", "Unknown info"),
    ("task_instructions", "Task instructions"),
)
_STATE = ("initialization_data", "initialization_actions", "message_history")


class Action(Struct, frozen=True):
    """One call of the reference trajectory.

    `by_user` when the simulated user is to make it. `compared` names the arguments that count;
    None when all do.
    """

    action_id: str
    tool: str
    arguments: dict[str, Any]
    by_user: bool
    compared: tuple[str, ...] | None


def id_of(task: dict[str, Any]) -> str:
    """The task's id, "" when it has none."""
    value = task.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return str(value)


def title_of(task: dict[str, Any]) -> str:
    """What the task tests, in one line."""
    description = _object(task.get("description"))
    purpose = description.get("purpose")
    return " ".join(purpose.split())[:200] if isinstance(purpose, str) else ""


def domain_of(task: dict[str, Any]) -> str:
    """The domain the task's own instructions name, "" when they name none."""
    instructions = _object(task.get("user_scenario")).get("instructions")
    domain = _object(instructions).get("domain")
    return domain if isinstance(domain, str) else ""


def request_of(task: dict[str, Any]) -> str:
    """What the user wants: the simulator's instructions, else the ticket."""
    instructions = _object(task.get("user_scenario")).get("instructions")
    if isinstance(instructions, str) and instructions.strip():
        return instructions.strip()
    said = _object(instructions)
    parts = [(label, said.get(name)) for name, label in _SAID]
    lines = [f"{label}: {text.strip()}" for label, text in parts if isinstance(text, str) and text]
    ticket = task.get("ticket")
    return "\n".join(lines) or (ticket.strip() if isinstance(ticket, str) else "")


def initial_state_of(task: dict[str, Any]) -> dict[str, Any]:
    """What is set up before the task begins, {} when the domain's own state stands."""
    state = _object(task.get("initial_state"))
    return {name: state[name] for name in _STATE if state.get(name)}


def criteria_of(task: dict[str, Any]) -> dict[str, Any] | None:
    """The evaluation criteria, None when there are none."""
    criteria = task.get("evaluation_criteria")
    return criteria if isinstance(criteria, dict) else None


def actions_of(criteria: dict[str, Any]) -> list[Action]:
    """The reference trajectory in order. Raises ValueError naming an entry that is no action."""
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
    """A list of texts among the criteria (`communicate_info`, `nl_assertions`)."""
    values = criteria.get(member)
    if not isinstance(values, list):
        return ()
    return tuple(text for text in values if isinstance(text, str) and text.strip())


def basis_of(criteria: dict[str, Any]) -> tuple[str, ...]:
    """The checks that make the reward; the benchmark's default when the task names none."""
    basis = criteria.get("reward_basis")
    if not isinstance(basis, list) or not basis:
        return ("DB", "COMMUNICATE")
    return tuple(str(check) for check in basis)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
