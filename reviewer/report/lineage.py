"""Which other suites a candidate met, and why: a suite that is changed after a failure, and passed
then, must show."""

from typing import Any

from msgspec import Struct


class MetSuite(Struct, frozen=True, kw_only=True):
    """Another frozen suite with `attempts` of this candidate, `passes` of them passed. `reason`,
    `reviewer` and `at` are empty until somebody says why both were used."""

    suite_id: str
    digest: str
    attempts: int
    passes: int
    reason: str = ""
    reviewer: str = ""
    at: str = ""


def unexplained(met: tuple[MetSuite, ...]) -> list[MetSuite]:
    """Those for which nobody gave a reason: each holds a promotion."""
    return [one for one in met if not one.reason]


def lineage_section(met: tuple[MetSuite, ...]) -> list[dict[str, Any]]:
    return [
        {
            "suite_id": one.suite_id,
            "digest": one.digest,
            "attempts": one.attempts,
            "passes": one.passes,
            "reason": one.reason or None,
            "reviewer": one.reviewer or None,
            "at": one.at or None,
        }
        for one in met
    ]


def lineage_rows(suite: dict[str, Any]) -> list[list[str]]:
    """The suite section's lineage as rows: suite, digest, what came of it there, why."""
    return [
        [
            one["suite_id"],
            one["digest"],
            f"{one['passes']} of {one['attempts']} passed",
            f"{one['reason']} ({one['reviewer']})" if one["reason"] else "no reason given",
        ]
        for one in suite.get("lineage", ())
    ]
