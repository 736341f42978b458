"""The facts about what ran in a decision: their form, what a promotion may not state about them,
and what a pipeline with the code pins."""

from __future__ import annotations  # names used only in annotations are not imported

from typing import TYPE_CHECKING, Any

from msgspec import structs

from reviewer.signing.predicate import CODE, Predicate, ReleaseSuite

if TYPE_CHECKING:
    from reviewer.signing.facts import RanFacts


def ran_members(ran: RanFacts) -> dict[str, Any]:
    """Return what ran, under the names in SLSA's provenance."""
    return {
        "resolvedDependencies": [
            {"name": name, "digest": {"sha256": sha256}} for name, sha256 in ran.dependencies
        ],
        "internalParameters": {
            "attemptsBound": ran.attempts_bound,
            "attemptsNotBound": ran.attempts_not_bound,
            "codePinned": ran.code_pinned,
            "codeChanged": ran.changed,
            "kinds": list(ran.kinds),
            "approvals": list(ran.approvals),
            "network": list(ran.network),
            "seeds": list(ran.seeds),
            "platforms": list(ran.platforms),
            "models": [structs.asdict(one) for one in ran.models],
        },
        "byproducts": [
            {"name": "measurement", "digest": {"sha256": one}} for one in ran.measurements
        ],
    }


def codes_of(predicate: Predicate | ReleaseSuite) -> list[str]:
    """Return the digests of the code that ran, none where the code of no attempt is known."""
    found = predicate.resolved_dependencies or []
    return [one.digest.sha256 for one in found if one.name == CODE]


def code_faults(predicate: Predicate | ReleaseSuite) -> list[str]:
    """Return why a promotion may not state this of what ran: all attempts with known code must have
    run the same code, which the manifest pins. A decision from before this was measured states
    nothing."""
    ran, codes = predicate.internal_parameters, codes_of(predicate)
    faults = []
    if len(set(codes)) > 1:
        faults.append(f"{len(set(codes))} different codes ran as this candidate")
    if ran is not None and ran.attempts_bound:
        if not codes:
            faults.append("attempts are bound to a code, but no code is named")
        if not ran.code_pinned:
            faults.append("the candidate's manifest pins no code")
        if ran.code_changed:
            faults.append(f"the code changed during {ran.code_changed} attempts")
    return faults


def ran_faults(predicate: Predicate | ReleaseSuite, code: str | None) -> list[str]:
    """Return a fault if the code that ran is not the given one, or not known; nothing without a
    given one."""
    if code is None:
        return []
    codes, ran = codes_of(predicate), predicate.internal_parameters
    if not codes or ran is None:
        return ["code not bound: the decision does not say which code ran"]
    if codes != [code]:
        named = ", ".join(codes)
        return [
            "the candidate's code in the given folder is not the code that ran: the folder has "
            f"{code}, and {named} ran"
        ]
    if ran.attempts_not_bound:
        return [f"code not bound in {ran.attempts_not_bound} attempts"]
    return []


def ran_remarks(predicate: Predicate) -> list[str]:
    """Return which code ran; nothing for a decision from before that was measured."""
    ran = predicate.internal_parameters
    if ran is None:
        return []
    told = [f"code {digest}" for digest in codes_of(predicate)]
    if ran.attempts_not_bound:
        of = ran.attempts_bound + ran.attempts_not_bound
        told.append(f"note: code not bound in {ran.attempts_not_bound} of {of} attempts")
    return told


def said_of_code(predicate: Predicate, body: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (what, decision, report) for the code, where the decision states it."""
    ran = predicate.internal_parameters
    if ran is None:
        return []
    section = body.get("ran")
    said: dict[str, Any] = section if isinstance(section, dict) else {}
    rows = said.get("codes")
    codes = {row.get("sha256") for row in rows or () if isinstance(row, dict)}
    return [
        ("code", set(codes_of(predicate)), codes),
        (
            "number of attempts bound",
            (ran.attempts_bound, ran.attempts_not_bound),
            (said.get("bound"), said.get("not_bound")),
        ),
    ]
