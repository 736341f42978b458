"""Facts to payload bytes and back, and in which fields two payloads differ."""

import hashlib
import uuid
from typing import Any, TypeVar

from pydantic import ValidationError

from reviewer.signing.body import body_of
from reviewer.signing.candidate import manifest_digest
from reviewer.signing.canonical import JsonError, canonical, load_object
from reviewer.signing.contradictions import check_relations, gate_faults, promotion_faults
from reviewer.signing.errors import StatementError, plain
from reviewer.signing.facts import DecisionFacts
from reviewer.signing.parts import Part
from reviewer.signing.predicate import Statement

P = TypeVar("P", bound=Part)


def build_statement(facts: DecisionFacts) -> bytes:
    """The payload to be signed: RFC 8785 bytes of the statement.

    `decisionId` is made of all the rest, so that whoever re-derives the facts has it too.
    StatementError when a fact is out of range, when the manifest is not the one the digest names,
    when a hard gate is missing, or when PROMOTE is not what the facts allow.
    """
    if manifest_digest(facts.candidate_manifest) != facts.candidate_sha256:
        raise StatementError(
            "candidate: the manifest's digest is not candidate_sha256; export the manifest again"
        )
    body = body_of(facts)
    digest = hashlib.sha256(canonical(body, "statement")).digest()
    body["predicate"]["decisionId"] = str(uuid.UUID(bytes=digest[:16], version=5))
    statement = decision_of(body)
    faults = gate_faults(statement.predicate) + promotion_faults(statement.predicate)
    named = {reviewer.principal for reviewer in statement.predicate.approvals.reviewers}
    if len(named) < facts.threshold:
        faults.append(f"approvals: {len(named)} named reviewers cannot reach {facts.threshold}")
    if faults:
        raise StatementError("cannot be signed: " + "; ".join(faults))
    return canonical(body, "statement")


def read_statement(payload: bytes) -> Statement:
    """Parse payload bytes strictly; StatementError names the first field that does not fit."""
    return decision_of(read_body(payload))


def decision_of(body: dict[str, Any]) -> Statement:
    """A document as a decision. StatementError."""
    statement = shaped(Statement, body)
    check_relations(statement.predicate)
    return statement


def read_body(payload: bytes) -> dict[str, Any]:
    """The document in payload bytes. StatementError."""
    try:
        return load_object(payload, "statement")
    except JsonError as error:
        raise StatementError(str(error)) from None


def shaped(kind: type[P], body: dict[str, Any]) -> P:
    """A document in a shape; StatementError names the first field that does not fit."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(plain(part) for part in first["loc"]) or "top"
        said = plain(first["msg"]).removeprefix("Value error, ")
        raise StatementError(f"statement: {where}: {said}") from None


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Paths of the JSON members in which two documents differ, in order."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in sorted(one.keys() | other.keys()):
            here = f"{path}.{plain(key)}" if path else plain(key)
            if key in one and key in other:
                found += differences(one[key], other[key], here)
            else:
                found.append(here)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            place
            for at, (left, right) in enumerate(zip(one, other, strict=True))
            for place in differences(left, right, f"{path}[{at}]")
        ]
    return [] if one == other else [path]
