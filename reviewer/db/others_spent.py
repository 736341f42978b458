"""What graders and simulated users used beside a candidate's attempts, summed."""

import sqlite3
from typing import Any

import msgspec

from reviewer.stats.figures import OtherSpent

WHO = ("grader", "simulated_user")


class _Line(msgspec.Struct):
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    model_calls: int = 0


class _Detail(msgspec.Struct):
    grader: _Line | None = None
    simulated_user: _Line | None = None


_read = msgspec.json.Decoder(_Detail).decode


def others_spent(connection: sqlite3.Connection, candidate: int) -> list[OtherSpent]:
    """One line for each kind that is there, of every attempt that was made."""
    rows = connection.execute(
        "SELECT v.detail FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace"
        " WHERE t.candidate=?"
        " AND (instr(v.detail, '\"grader\":') OR instr(v.detail, '\"simulated_user\":'))",
        (candidate,),
    )
    found: dict[str, list[_Line]] = {who: [] for who in WHO}
    for (detail,) in rows:
        try:
            told = _read(detail)
        except msgspec.ValidationError:
            continue
        for who in WHO:
            line = getattr(told, who)
            if line is not None:
                found[who].append(line)
    return [_sum(who, lines) for who, lines in found.items() if lines]


def _sum(who: str, lines: list[_Line]) -> OtherSpent:
    counts = [count for one in lines if (count := _tokens(one.usage or {})) is not None]
    costs = [one.cost_usd for one in lines if one.cost_usd is not None]
    return OtherSpent(
        who=who,
        attempts=len(lines),
        model_calls=sum(one.model_calls for one in lines),
        tokens=sum(counts),
        counted=len(counts),
        partial=any((one.usage or {}).get("lower_bound") is True for one in lines),
        known_usd=sum(costs),
        priced=len(costs),
    )


def _tokens(usage: dict[str, Any]) -> int | None:
    """All tokens: the total, else what was read and written."""
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get("input_tokens"), usage.get("output_tokens")]
    known = [one for one in parts if isinstance(one, int)]
    return sum(known) if known else None
