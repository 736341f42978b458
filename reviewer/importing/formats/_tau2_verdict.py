"""What tau2-bench says came of a simulation, as a source's verdict."""

from typing import Any

from reviewer.importing.draft import Draft, measured, whole
from reviewer.importing.formats._tau2_run import passes, reward_of
from reviewer.trace.record import SourceVerdict

INFRASTRUCTURE = "infrastructure_error"


def verdict_of(draft: Draft, sim: dict[str, Any]) -> SourceVerdict:
    """Reward, outcome and what broke, three facts; every part of the reward is in `detail`.

    A run that infrastructure ended is neither pass nor fail, whatever reward stands there.
    """
    info = sim.get("reward_info")
    reward = reward_of(info)
    broken = sim.get("termination_reason") == INFRASTRUCTURE
    broke = sim.get("info") if isinstance(sim.get("info"), dict) else {}
    assert isinstance(broke, dict)  # narrowed above; mypy cannot follow .get
    told = [word(broke.get(name)) for name in ("error_type", "error")]
    exception = ": ".join(part for part in told if part)[:200] or None
    detail = _detail(info) if isinstance(info, dict) else {}
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
    """The verdict's parts: every check by name with its outcome; explanations are left out."""
    kept: dict[str, Any] = {}
    for name in ("reward_basis", "reward_breakdown"):
        if info.get(name):
            kept[name] = info[name]
    checked = info.get("db_check")
    if isinstance(checked, dict):
        kept["db_match"] = checked.get("db_match")
    for name, path, outcome in _CHECKS:
        checks = info.get(name)
        if isinstance(checks, list) and checks:
            kept[name] = [_check(one, path, outcome) for one in checks if isinstance(one, dict)]
    note = info.get("info")
    if isinstance(note, dict) and word(note.get("note")):
        kept["note"] = note["note"]
    return kept


def _check(check: dict[str, Any], path: tuple[str, ...], outcome: str) -> dict[str, Any]:
    what: Any = check
    for member in path:
        what = what.get(member) if isinstance(what, dict) else None
    found = {"what": what, "met": check.get(outcome)}
    if word(check.get("tool_type")):
        found["tool_type"] = check["tool_type"]
    return found


def _reviews(sim: dict[str, Any]) -> dict[str, Any]:
    """What models said of the conversation afterwards: shown, never a verdict."""
    kept: dict[str, Any] = {}
    review, login = sim.get("review"), sim.get("auth_classification")
    if isinstance(review, dict):
        told = {n: review[n] for n in ("agent_error", "user_error", "critical_user_error")
                if isinstance(review.get(n), bool)}  # fmt: skip
        if told:
            kept["review"] = told
    if isinstance(login, dict) and word(login.get("status")):
        kept["authentication"] = login["status"]
    retries = whole(sim.get("hallucination_retries_used"))
    if retries:
        kept["hallucination_retries_used"] = retries
    return kept


def word(value: Any) -> str | None:
    """A text of bearable length, None for anything else."""
    return value[:2000] if isinstance(value, str) and value else None
