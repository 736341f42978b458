"""Pieces of an ATIF document: who acted, which result answers which call, when and how it ended."""

from typing import Any, NamedTuple

from reviewer.importing.draft import Status, elapsed_ms
from reviewer.importing.reader import Rejected
from reviewer.trace.record import USER_ACTORS

_GOOD = frozenset({"completed", "complete", "success", "succeeded", "ok", "done"})
_BAD = frozenset({"error", "errored", "failed", "failure"})


class Agent(NamedTuple):
    """Who acted, as far as a document says."""

    name: str
    version: str
    model: str

    @property
    def candidate(self) -> str:
        return " ".join(part for part in self if part)


def agent_of(document: dict[str, Any]) -> Agent:
    """The agent of a document. A version of several lines (what the tool printed) is reduced to
    the one that names the agent, else the first."""
    agent = mapping(document, "agent")
    name, version, model = (_text(agent.get(key)) for key in ("name", "version", "model_name"))
    lines = [line.strip() for line in version.splitlines() if line.strip()]
    plain = name.partition("\n")[0].strip()
    line = next((one for one in lines if plain and plain.lower() in one.lower()), "")
    line = line or (lines[0] if lines else "")
    for prefix in (plain, "agent"):
        if prefix and line.lower().startswith(f"{prefix.lower()} "):
            line = line[len(prefix) :].strip()
    return Agent(plain, "" if line.lower() == "unknown" else line, model.partition("\n")[0].strip())


def actor_of(document: dict[str, Any]) -> str:
    """What a sub-agent's events are signed with."""
    name = agent_of(document).name or "sub-agent"
    taken = name in USER_ACTORS or name in ("agent", "system")
    return f"sub-agent {name}" if taken else name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(holder: dict[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """A member that is an object; empty when it is not there. Raises Rejected."""
    found = holder.get(name)
    if found is not None and not isinstance(found, dict):
        raise Rejected(f"type:{where}{name}")
    return found or {}


def objects(holder: dict[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """A member that is an array of objects; empty when it is not there. Raises Rejected."""
    found = holder.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Rejected(f"type:{where}{name}")
    return found


def references(result: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The sub-agents' trajectories a result refers to: one object or an array. Raises Rejected."""
    found = result.get("subagent_trajectory_ref")
    refs = [found] if isinstance(found, dict) else found
    return objects({"subagent_trajectory_ref": refs}, "subagent_trajectory_ref", where)


def paired(
    calls: list[dict[str, Any]], results: list[dict[str, Any]]
) -> list[dict[str, Any] | None]:
    """For each result of a step the call it answers, None when nothing says which."""
    named = [(call.get("tool_call_id"), call) for call in calls]
    pairs = [
        next((c for key, c in named if key is not None and key == r.get("source_call_id")), None)
        for r in results
    ]
    loose = [n for n, result in enumerate(results) if result.get("source_call_id") is None]
    left = [call for call in calls if not any(call is pair for pair in pairs)]
    if len(loose) == len(left):
        for place, call in zip(loose, left, strict=True):
            pairs[place] = call
    return pairs


def invocation(holder: dict[str, Any]) -> dict[str, Any]:
    """What the NeMo toolkit adds to a step or a call: when it ran and how it ended."""
    extra = holder.get("extra")
    found = extra.get("invocation") if isinstance(extra, dict) else None
    return found if isinstance(found, dict) else {}


def timed(holder: dict[str, Any]) -> dict[str, Any]:
    """When a step or a call ran, and for how long."""
    ran = invocation(holder)
    if "start_timestamp" not in ran:
        return {}
    start, end = ran["start_timestamp"], ran.get("end_timestamp")
    return {"at": start, "latency_ms": elapsed_ms(start, end)}


def status_of(holder: dict[str, Any]) -> Status | None:
    """How a call or a result ended, where its `extra` says so."""
    extra = holder.get("extra")
    if not isinstance(extra, dict):
        return None
    flags = [extra.get(name) for name in ("is_error", "tool_result_is_error")]
    said = {str(one).lower() for one in (extra.get("status"), invocation(holder).get("status"))}
    if True in flags or said & _BAD:
        return "error"
    return "ok" if False in flags or said & _GOOD else None
