"""The gates and the codes they may state, as a contract may name them in `critical`."""

from reviewer.contract.near import NEAR, likeness

GATE_CODES: dict[str, tuple[str, ...]] = {
    "completeness": (
        "unknown_episode:",
        "missing:",
        "type:",
        "not_finite:",
        "start_state_mismatch",
        "no_start_digest",
        "unread:",
        "contradiction:",
    ),
    "state": (
        "wrong_final_state",
        "wrong_state:",
        "message_missing:",
        "message_forbidden:",
        "wording_not_measured:",
        "final_state_not_measured",
    ),
    "authority": (
        "forbidden:",
        "not_allowed:",
        "approval_missing:",
        "approval_unproven:",
        "unknown_tool:",
    ),
    "redaction": ("unredacted:",),
    "process": (
        "missing:",
        "out_of_order:",
        "wrong_argument:",
        "write_not_verified",
        "no_final_state_evidence",
    ),
    "timeout": (
        "retry_budget_exceeded",
        "latency_budget",
        "latency_not_measured",
        "terminated:",
    ),
    "budget": ("step_budget", "cost_budget", "cost_not_measured"),
}
"""Codes per gate. One that ends with a colon is followed by a tool, a path or a text."""

_CODES = frozenset(code for codes in GATE_CODES.values() for code in codes)


def known_check(text: str) -> bool:
    """Whether `text` names a gate, a code, or a code with what may follow its colon.

    `missing` and `missing:` stand for every missing part, `missing:verify_state` for that one.
    """
    head, colon, _ = text.partition(":")
    if f"{head}:" in _CODES:
        return True
    return text in _CODES or (not colon and text in GATE_CODES)


def near_check(text: str) -> str | None:
    """The gate or code that an unknown `text` most likely meant; None when none is like it.

    What follows a colon is kept where the code takes it.
    """
    written, _, rest = text.partition(":")
    known = sorted({*GATE_CODES, *(code.rstrip(":") for code in _CODES)})
    best = max(known, key=lambda word: likeness(written, word))
    if likeness(written, best) < NEAR:
        return None
    return f"{best}:{rest}" if rest and f"{best}:" in _CODES else best
