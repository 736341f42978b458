"""The review sets of another store, taken in before the labels that belong to them."""

import msgspec

from reviewer.db import registry
from reviewer.db.queries.review_sets import (
    REVIEW_SETS,
    ReviewSetRow,
    review_set_named,
    review_set_of,
    review_sets,
)
from reviewer.desk.imports.importing import clock
from reviewer.desk.imports.record_files import OtherStore, TakeResult
from reviewer.review.sets import stored_set
from reviewer.suite.errors import Problem, id_problem
from reviewer.suite.model import RedactionRules
from reviewer.suite.strict_json import sha256_hex
from reviewer.trace.redaction import redactor_of


def take_review_sets(there: OtherStore) -> TakeResult:
    """Take in the sets: each once, under its name, or with a number after it where another set
    here has that name. A set that does not match its digest, or of a suite that is not here, is
    refused."""
    fresh: list[ReviewSetRow] = []
    problems: list[Problem] = []
    known, taken = 0, set[str]()
    for number, row in enumerate(review_sets(there.other), 1):
        if review_set_of(there.ours, row.uid) is not None:
            known += 1
        elif why := _why_not(there, row):
            problems.append(Problem(f"{there.name}: review set {number}", "$", why))
        else:
            name, tries = row.name, 1
            while name in taken or review_set_named(there.ours, name) is not None:
                tries += 1
                name = f"{row.name}-{tries}"
            taken.add(name)
            fresh.append(row._replace(name=name))
    if fresh:
        REVIEW_SETS.record(there.ours, there.workspace.store, fresh, clock())
    return TakeResult(len(fresh), known, len(problems), tuple(problems))


def _why_not(there: OtherStore, row: ReviewSetRow) -> str:
    """Return why a set is refused; "" for one that is taken."""
    try:
        held = stored_set(row.name, row.uid, row.body).held
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "is not a review set of this version"
    masked = redactor_of(RedactionRules()).masked
    if sha256_hex(row.body) != row.uid or held.source.suite_id != row.suite:
        return "does not match its digest"
    if id_problem(row.name) or masked(row.name) != row.name:
        return "has a name that cannot be used here"
    if registry.suite_row(there.ours, row.suite) is None:
        return "is of a suite that is not in this store"
    return ""
