"""Whether a decision says what its report says, for a verifier that was given the report."""

import hashlib
from typing import Any

from reviewer.signing.canonical import load_object
from reviewer.signing.predicate import Gate, Predicate, Statement


def report_faults(statement: Statement, report: bytes | None) -> list[str]:
    """Every field in which the decision and report.json part; JsonError when it is no JSON."""
    if report is None:
        return []
    predicate = statement.predicate
    digest = hashlib.sha256(report).hexdigest()
    if digest != predicate.report.digest.sha256:
        return [f"the report's digest is {digest}, not the one decided on"]
    body = load_object(report, "report")
    said = (
        ("recommendation", predicate.report.recommendation, body.get("recommendation")),
        ("reasons", predicate.report.reasons, body.get("reasons")),
        ("suite digest", predicate.suite.digest.sha256, _of(body, "suite", "digest")),
        ("candidate digest", statement.subject[0].digest.sha256, _of(body, "candidate", "digest")),
        ("baseline", predicate.report.baseline, _of(body, "regression", "baseline")),
        ("lineage", _lineage(predicate), _digests(_of(body, "suite", "lineage"), "digest")),
        ("break-glass", _broken(predicate), _digests(body.get("break_glass"), "payload_sha256")),
    )
    faults = [f"the report says another {what}" for what, ours, theirs in said if ours != theirs]
    stated = {gate.id for gate in predicate.gates}
    reported = body.get("gates")
    left_out = [name for name in reported if name not in stated] if reported else []
    return [
        *faults,
        *(f"the report has a gate {name}, which the decision leaves out" for name in left_out),
        *(
            f"the report says another result of gate {gate.id}"
            for gate in predicate.gates
            if not _agrees(gate, _of(body, "gates", gate.id))
        ),
    ]


def _of(body: dict[str, Any], section: str, key: str) -> Any:
    found = body.get(section)
    return found.get(key) if isinstance(found, dict) else None


def _digests(rows: Any, key: str) -> set[Any]:
    return {row.get(key) for row in rows or () if isinstance(row, dict)}


def _lineage(predicate: Predicate) -> set[str]:
    return set(predicate.suite.lineage) - {predicate.suite.digest.sha256}


def _broken(predicate: Predicate) -> set[str]:
    return {one.digest.sha256 for one in predicate.break_glass or []}


def _agrees(gate: Gate, counts: Any) -> bool:
    if not isinstance(counts, dict):
        return False
    failed, unknown = counts.get("fail_counted"), counts.get("not_measured_counted")
    if failed:
        return gate.result == "FAILED"
    if unknown or not counts.get("pass"):
        return gate.result == "NOT_RUN"
    return gate.result == "PASSED"
