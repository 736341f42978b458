"""What became of the plan: every planned slot is valid, lost, quarantined or missing."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from reviewer.report.evidence import EpisodeCounts, Evidence


class SlotFigures(Struct, frozen=True, kw_only=True):
    """What became of the plan: planned = valid + infrastructure + quarantined + missing.

    `extra` valid attempts stand beyond the plan. The mappings name the episodes that are short.
    """

    planned: int
    valid: int
    infrastructure: int
    quarantined: int
    missing: int
    extra: int
    infrastructure_attempts: int
    infrastructure_in: tuple[tuple[str, int], ...]
    quarantined_in: tuple[tuple[str, int], ...]
    missing_in: tuple[tuple[str, int], ...]


def slots(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> SlotFigures:
    """Count slots per episode of `rows`, which stand in the suite's order."""
    plan = evidence.plan
    lost: dict[str, int] = {}
    for trace in evidence.failures:
        if trace.infrastructure and trace.attempt <= plan:
            lost[trace.episode_id] = lost.get(trace.episode_id, 0) + 1
    valid = extra = 0
    infrastructure: list[tuple[str, int]] = []
    quarantined: list[tuple[str, int]] = []
    missing: list[tuple[str, int]] = []
    for e in rows:
        in_plan = min(e.in_plan, plan)
        beyond = e.attempts - in_plan
        # An attempt beyond the plan makes good a slot that infrastructure is seen to have lost.
        # It never fills one that is merely absent: that attempt may have been withheld.
        rerun = min(beyond, lost.get(e.episode_id, 0), plan - in_plan)
        valid += in_plan + rerun
        extra += beyond - rerun
        left = plan - in_plan - rerun
        for count, where in (
            (e.infrastructure - rerun, infrastructure),
            (e.quarantined, quarantined),
        ):
            taken = max(0, min(count, left))
            left -= taken
            if taken:
                where.append((e.episode_id, taken))
        if left:
            missing.append((e.episode_id, left))
    return SlotFigures(
        planned=plan * len(rows),
        valid=valid,
        infrastructure=_total(infrastructure),
        quarantined=_total(quarantined),
        missing=_total(missing),
        extra=extra,
        infrastructure_attempts=sum(e.infrastructure for e in rows),
        infrastructure_in=tuple(infrastructure),
        quarantined_in=tuple(quarantined),
        missing_in=tuple(missing),
    )


def _total(places: Iterable[tuple[str, int]]) -> int:
    return sum(count for _, count in places)
