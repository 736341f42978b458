"""Break-glass records of an agent: shown in every report after them, and weighed by nothing."""

from typing import Any

from msgspec import Struct


class BrokenGlass(Struct, frozen=True, kw_only=True):
    """A release that went out without its decision: who said so, why, from when until when."""

    candidate_id: str
    environment: str
    principal: str
    reason: str
    at: str
    expires: str
    payload_sha256: str


def broken_glass_section(records: tuple[BrokenGlass, ...]) -> list[dict[str, Any]]:
    return [
        {
            "candidate_id": one.candidate_id,
            "environment": one.environment,
            "principal": one.principal,
            "reason": one.reason,
            "at": one.at,
            "expires": one.expires,
            "payload_sha256": one.payload_sha256,
        }
        for one in records
    ]


def broken_glass_rows(report: dict[str, Any]) -> list[list[str]]:
    """Of a report: when, who, which candidate, where, until when, why. Reports of before there were
    such records have none."""
    return [
        [
            one["at"],
            one["principal"],
            one["candidate_id"],
            one["environment"],
            one["expires"],
            " ".join(one["reason"].split()),
        ]
        for one in report.get("break_glass", ())
    ]
