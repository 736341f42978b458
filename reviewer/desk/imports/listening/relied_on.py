"""Whether somebody relied on an attempt as it is stored: labeled it, or signed a decision on it."""

import json

from reviewer.db.connection import Connection
from reviewer.db.queries.imports import names_of
from reviewer.db.queries.relied_on import decision_on, labels_about
from reviewer.db.revisions import judged_record
from reviewer.review.items import message_digest


def relied_on(connection: Connection, trace: int) -> str:
    """Return in words who relied on the judged record of an attempt; empty for nobody."""
    number = decision_on(connection, trace)
    if number is not None:
        return f"decision {number} was signed on the earlier record of the attempt"
    raw = judged_record(connection, trace)
    there = names_of(connection, trace)
    message = message_digest(json.loads(raw).get("final_message")) if raw is not None else ""
    if labels_about(connection, trace, there.suite_id, there.episode_id, message):
        return "people labeled the earlier record of the attempt"
    return ""
