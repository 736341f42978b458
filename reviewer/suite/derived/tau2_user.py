"""The user of a tau2-bench task: what an agent may read of it, and who plays it. Pure."""

import re
from typing import Any

_ID_SHAPED = re.compile(
    r"(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z_])[A-Za-z0-9][A-Za-z0-9_-]{4,}"
)
MOST_MESSAGES = 30
"""Most messages of a user after the first: the benchmark's own conversations are long, and its
limit is 200 steps."""


def spoken_request_of(task: dict[str, Any]) -> str:
    """Return the part of the user's request that an agent may read: the reason, and what the user
    would tell, else the ticket. Not its instructions, which are for the user alone."""
    said = _object(_object(task.get("user_scenario")).get("instructions"))
    parts = [said.get(name) for name in ("reason_for_call", "known_info")]
    texts = [text.strip() for text in parts if isinstance(text, str) and text.strip()]
    ticket = task.get("ticket")
    return "\n".join(texts) or (ticket.strip() if isinstance(ticket, str) else "")


def user_of(
    task: dict[str, Any], runner: dict[str, Any], hands_over: tuple[str, ...] = ()
) -> dict[str, Any] | None:
    """Return the user of a task for a model to play, None where the task has no instructions for
    one. Ids in the known information become facts of their own, so that they can be searched for. A
    call of one of `hands_over` ends the conversation."""
    scenario = _object(task.get("user_scenario"))
    instructions = scenario.get("instructions")
    if isinstance(instructions, str):
        said = {"reason_for_call": instructions.strip()} if instructions.strip() else {}
    else:
        said = {
            name: text.strip()
            for name, text in _object(instructions).items()
            if isinstance(text, str) and text.strip()
        }
    if "reason_for_call" not in said:
        return None
    known = said.get("known_info", "")
    facts: dict[str, Any] = {
        f"id_{number}": {"value": word, "tell": "freely"}
        for number, word in enumerate(dict.fromkeys(_ID_SHAPED.findall(known)), 1)
    }
    if known:
        facts["known"] = {"value": known, "tell": "freely"}
    style = [said[name] for name in ("unknown_info", "task_instructions") if name in said]
    over = {"on_tool": list(hands_over)} if hands_over else {}
    user: dict[str, Any] = {
        "kind": "model",
        "goals": [{"id": "reason", "asks": said["reason_for_call"]}],
        "facts": facts,
        "end": {"max_turns": MOST_MESSAGES, **over},
        "runner": runner,
    }
    if style:
        user["style"] = "\n".join(style)
    if isinstance(scenario.get("persona"), str) and scenario["persona"].strip():
        user["persona"] = scenario["persona"].strip()
    return user


def instructed(task: dict[str, Any]) -> bool:
    """Return whether a task has instructions for its user that an agent must not read."""
    instructions = _object(task.get("user_scenario")).get("instructions")
    if isinstance(instructions, str):
        return bool(instructions.strip())
    said = _object(instructions)
    return any(said.get(name) for name in ("unknown_info", "task_instructions"))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
