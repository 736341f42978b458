"""Break-glass records of an agent, for its reports."""

import sqlite3
from typing import Any

from reviewer.db import beside
from reviewer.release.attest.candidate import ManifestError, agent_of, subject_name
from reviewer.release.broken_glass import BrokenGlass


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
