"""Break-glass records of an agent, and losses of journal, for reports."""

import json
import sqlite3
from typing import Any

from reviewer.db import beside
from reviewer.report.evidence import BrokenGlass, JournalLost
from reviewer.signing.facts import ManifestError, agent_of, subject_name


def broken_glass(
    connection: sqlite3.Connection, candidate_id: str, manifest: dict[str, Any] | None
) -> tuple[BrokenGlass, ...]:
    """Every record of the agent this candidate is a version of, in the order they were signed."""
    try:
        agent = agent_of(subject_name(manifest or {"candidate_id": candidate_id}))
    except ManifestError:
        agent = candidate_id
    return tuple(
        BrokenGlass(
            candidate_id=one.candidate,
            environment=one.environment,
            principal=one.principal,
            reason=one.reason,
            at=one.at,
            expires=one.expires,
            payload_sha256=one.uid,
        )
        for one in beside.broken_glass(connection, agent)
    )


def journal_losses(connection: sqlite3.Connection) -> tuple[JournalLost, ...]:
    """Everything that was stated to be gone of this store's journal, in order."""
    return tuple(
        JournalLost(
            journal=one.journal,
            lost_seq=one.lost_seq,
            kept_seq=one.kept_seq,
            decisions=len(json.loads(one.decisions)),
            principal=one.principal,
            reason=one.reason,
            at=one.at,
            payload_sha256=one.uid,
        )
        for one in beside.losses(connection)
    )
