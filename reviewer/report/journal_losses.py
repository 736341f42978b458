"""Statements that a store lost journal: shown in every later report, and weighed by nothing."""

from typing import Any

from msgspec import Struct


class JournalLost(Struct, frozen=True, kw_only=True):
    """A store that went on from entry `kept_seq` of its journal, though `lost_seq` was known of it:
    who said so, why, and how many signed decisions stand on what is gone."""

    journal: str
    lost_seq: int
    kept_seq: int
    decisions: int
    principal: str
    reason: str
    at: str
    payload_sha256: str


def journal_losses_section(losses: tuple[JournalLost, ...]) -> dict[str, list[dict[str, Any]]]:
    """The member `journal_losses`, left out of the report of a store that lost nothing."""
    if not losses:
        return {}
    return {
        "journal_losses": [
            {
                "journal": one.journal,
                "lost_seq": one.lost_seq,
                "kept_seq": one.kept_seq,
                "decisions": one.decisions,
                "principal": one.principal,
                "reason": one.reason,
                "at": one.at,
                "payload_sha256": one.payload_sha256,
            }
            for one in losses
        ]
    }


def journal_losses_rows(report: dict[str, Any]) -> list[list[str]]:
    """Of a report: when, who, from which entry to which, signed decisions on what is gone, why."""
    return [
        [
            one["at"],
            one["principal"],
            f"{one['lost_seq']} to {one['kept_seq']}",
            str(one["decisions"]),
            " ".join(one["reason"].split()),
        ]
        for one in report.get("journal_losses", ())
    ]
