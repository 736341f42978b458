"""Refused records in words: where they are, why, and what to do."""

import json
import sqlite3

from reviewer.desk.views import Refusal

_WAYS_OUT = (
    ("missing:candidate_id", "import with --candidate"),
    ("missing:", "add the field, or null when it is unknown"),
    ("unredacted:", "redact at the source"),
    (
        "unknown_episode",
        "name the suite with --suite, and what the source calls its episodes with --episode-map",
    ),
    ("ambiguous_suite", "name the suite with --suite"),
    ("duplicate_evidence", "each attempt needs a run of its own"),
    ("slot_filled", "the slot holds other evidence: number the attempts apart"),
    ("other_candidate", "import it without --candidate"),
    ("not_finite:", "write null for what is not known"),
    ("type:", "see reviewer schema trace"),
    ("unknown:", "see reviewer schema trace"),
    ("duplicate:", "write each member once"),
    ("too_large:cost_usd", "write the cost in USD, or null when it is unknown"),
    ("too_large", "split the record"),
    ("json:", "mend the JSON"),
    ("unreadable:", "mend the file"),
)


def way_out(reasons: tuple[str, ...]) -> str:
    """Return what to do about a record, by its first reason; one without events, and with members
    that no trace has, is something else."""
    if "missing:events" in reasons and any(one.startswith("unknown:") for one in reasons):
        return "this is no trace record: docs/formats.md says which files are read, and how"
    for start, advice in _WAYS_OUT:
        if reasons and reasons[0].startswith(start):
            return advice
    return "see the reasons"


def refusals(connection: sqlite3.Connection) -> list[Refusal]:
    """Every quarantined record, newest first."""
    rows = connection.execute(
        "SELECT o.path, q.record, q.reasons FROM quarantine q JOIN source o ON o.id = q.source"
        " ORDER BY q.id DESC"
    ).fetchall()
    found = []
    for path, record, text in rows:
        reasons = tuple(json.loads(text))
        found.append(Refusal(path=path, record=record, reasons=reasons, way_out=way_out(reasons)))
    return found
