"""Which failures a promotion may have: none, unless it states that its policy's rates are below
one, and then at most as many as they allow. No failure is ever tolerated at a critical gate."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewer.signing.errors import plain
from reviewer.signing.predicate import Failure, Gate, Predicate, Tolerance
from reviewer.suite.gates import CRITICAL_GATES

if TYPE_CHECKING:
    from reviewer.signing.facts import ToleranceFact

TOLERATED = "tolerated"
"""The disposition of a failing trace that the policy's rates allow."""


def decimal_of(value: int | str | None) -> Decimal | None:
    """Parse a decimal number; return None for anything that is not finite."""
    if value is None:
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def tolerance_body(stated: ToleranceFact | None) -> dict[str, Any]:
    if stated is None:
        return {}
    body = {
        "hardPassRate": stated.hard_pass_rate,
        "completionMin": stated.completion_min,
        "attempts": stated.attempts,
    }
    return {"tolerance": body}


class StatedResult(NamedTuple):
    """A statement's figures on one suite's attempts: of `attempts` counted, `passes` passed, and
    `failing` traces speak against a promotion, of which `failures` are listed."""

    attempts: int
    passes: int
    failing: int
    failures: Sequence[Failure]
    gates: Sequence[Gate]
    tolerance: Tolerance | None


def result_of(predicate: Predicate) -> StatedResult:
    """Return the result of the suite that a decision is about."""
    return StatedResult(
        attempts=sum(row.attempts for row in predicate.repeatability),
        passes=sum(row.passes for row in predicate.repeatability),
        failing=max(predicate.failure_count, len(predicate.failures)),
        failures=predicate.failures,
        gates=predicate.gates,
        tolerance=predicate.tolerance,
    )


def failing_faults(result: StatedResult) -> list[str]:
    """Return why the failures, by the statement's own figures, may not be promoted."""
    stated, count = result.tolerance, result.failing
    if stated is None:
        faults = [_threshold_fault(gate, 0) for gate in result.gates]
        return [
            *(fault for fault in faults if fault),
            *([f"{count} failing trace{'s' if count > 1 else ''}"] if count else []),
        ]
    rate, completion = decimal_of(stated.hard_pass_rate), decimal_of(stated.completion_min)
    if rate is None or not 0 <= rate < 1:
        return [f"tolerance: hardPassRate {plain(stated.hard_pass_rate)} is no rate below one"]
    if stated.completion_min is not None and (completion is None or not 0 <= completion <= 1):
        return [f"tolerance: completionMin {plain(stated.completion_min)} is no rate"]
    return [
        *_counted_faults(result, stated, rate),
        *_trace_faults(result, count, _room(rate, stated.attempts)),
        *_gate_faults(result.gates, stated.attempts, rate, completion),
    ]


def _room(rate: Decimal, attempts: int) -> int:
    return int((1 - rate) * attempts)


def _counted_faults(result: StatedResult, stated: Tolerance, rate: Decimal) -> list[str]:
    """Return faults unless the counts per episode are within the rate, and within the attempts
    made."""
    attempts, failing = result.attempts, result.attempts - result.passes
    faults = []
    if failing > _room(rate, attempts):
        faults.append(f"{failing} of {attempts} attempts failed, more than rate {rate} allows")
    if stated.attempts < attempts:
        faults.append(f"tolerance: states {stated.attempts} attempts, but {attempts} are counted")
    return faults


def _trace_faults(result: StatedResult, count: int, room: int) -> list[str]:
    faults = [
        f"failing trace {plain(one.trace_id)} is {plain(one.disposition)}, not tolerated"
        for one in result.failures
        if one.disposition != TOLERATED
    ]
    if count > room:
        faults.append(f"tolerance: allows {room}, but there are {count} failing traces")
    return faults


def _gate_faults(
    gates: Sequence[Gate], attempts: int, rate: Decimal, completion: Decimal | None
) -> list[str]:
    faults = []
    for gate in gates:
        room = 0 if gate.id in CRITICAL_GATES else _room(rate, attempts)
        if gate.id == "state" and completion is not None:
            room = min(room, _room(completion, attempts))
        faults.append(_threshold_fault(gate, room))
    return [fault for fault in faults if fault]


def _threshold_fault(gate: Gate, room: int) -> str:
    """Return a fault if a gate passes with more failures than are allowed; else empty."""
    threshold, observed = decimal_of(gate.threshold), decimal_of(gate.observed)
    if threshold is None or observed is None or not room < observed <= threshold:
        return ""
    return f"hard gate {plain(gate.id)}: {gate.observed} failed, and the policy tolerates {room}"


def rate_faults(stated: Tolerance | None, rates: tuple[str, str | None] | None) -> list[str]:
    """Return a fault if what a decision tolerates follows from other rates than the suite's."""
    if stated is None or rates is None:
        return []
    if decimal_of(rates[0]) == 1:
        return ["it tolerates failures, but the suite's policy requires every attempt to pass"]
    if (stated.hard_pass_rate, stated.completion_min) == rates:
        return []
    return [
        f"it tolerates by hardPassRate {plain(stated.hard_pass_rate)} and completionMin "
        f"{plain(stated.completion_min or 'none')}; the suite's policy has {rates[0]} and "
        f"{rates[1] or 'none'}"
    ]
