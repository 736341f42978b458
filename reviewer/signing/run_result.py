"""What a run came to, as an in-toto test-result statement signed by a runner's key.

A decision refers to such statements by the digest of their payload (`inputAttestations`): what was
measured is vouched for by whoever measured it, apart from who decides.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from reviewer.signing.canonical import canonical
from reviewer.signing.errors import AttestError
from reviewer.signing.facts import manifest_digest, subject_name
from reviewer.signing.predicate import STATEMENT_TYPE, Described, Part, Predicate, Text
from reviewer.signing.signers import Signers
from reviewer.signing.statement import shaped
from reviewer.signing.trusted import Manifest, vouched

TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
ROLE = "runner"
MAX_LISTED_BYTES = 128 * 1024
"""Attempts are listed by name up to this many bytes; the digest of the evidence covers all."""
EVIDENCE, SOURCE = "evidence", "source"


@dataclass(frozen=True, kw_only=True)
class RunResultFacts:
    """One run or import of one candidate. The three lists name attempts as `episode/attempt`;
    `open` are those without a verdict. `evidence_sha256` covers each with its record's digest."""

    candidate_manifest: Mapping[str, Any]
    suite_id: str
    suite_sha256: str
    source_sha256: str
    evidence_sha256: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    open: tuple[str, ...]


class RunResult(Part):
    """The standard predicate, as we write it: `configuration` is the suite, the evidence, the
    source, in this order."""

    result: Literal["PASSED", "WARNED", "FAILED"]
    configuration: list[Described] = Field(min_length=3, max_length=3)
    passed_tests: list[Text]
    warned_tests: list[Text]
    failed_tests: list[Text]


class RunResultStatement(Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Described] = Field(min_length=1, max_length=1)
    predicate_type: Literal["https://in-toto.io/attestation/test-result/v0.1"]
    predicate: RunResult


def build_run_result(facts: RunResultFacts) -> bytes:
    """The payload to be signed: FAILED when an attempt failed, WARNED when one has no verdict."""
    manifest = facts.candidate_manifest
    result = "FAILED" if facts.failed else "WARNED" if facts.open else "PASSED"
    room = MAX_LISTED_BYTES
    lists = {}
    for name, tests in (
        ("failedTests", facts.failed),
        ("warnedTests", facts.open),
        ("passedTests", facts.passed),
    ):
        lists[name], room = _fitting(tests, room)
    body = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": subject_name(manifest), "digest": {"sha256": manifest_digest(manifest)}}
        ],
        "predicateType": TEST_RESULT_TYPE,
        "predicate": {
            "result": result,
            "configuration": [
                {"name": facts.suite_id, "digest": {"sha256": facts.suite_sha256}},
                {"name": EVIDENCE, "digest": {"sha256": facts.evidence_sha256}},
                {"name": SOURCE, "digest": {"sha256": facts.source_sha256}},
            ],
            **lists,
        },
    }
    shaped(RunResultStatement, body)
    return canonical(body, "test result")


def run_result_faults(
    predicate: Predicate,
    trusted: Signers,
    about: Manifest,
    files: Mapping[str, bytes] | None,
) -> list[str]:
    """Why the signed test results are not those the decision refers to; empty when nobody asked.

    AttestError for a file that is no test result by a trusted runner.
    """
    if files is None:
        return []
    held = {}
    for name, data in files.items():
        try:
            digest, statement = _read(data, trusted)
        except AttestError as error:
            raise AttestError(f"{name}: {error}") from None
        held[digest] = name, statement
    wanted = [one.digest.sha256 for one in predicate.input_attestations]
    faults = [] if wanted else ["it refers to no test result"]
    for digest in wanted:
        if digest not in held:
            faults.append(f"the test result {digest} is not among the attestations")
            continue
        name, statement = held[digest]
        if statement.subject[0].digest.sha256 != about.digest:
            faults.append(f"{name}: it is about {statement.subject[0].name}, another candidate")
        elif statement.predicate.configuration[0].digest != predicate.suite.digest:
            faults.append(f"{name}: it is on another suite")
    return faults


def _read(data: bytes, trusted: Signers) -> tuple[str, RunResultStatement]:
    found = vouched(data, trusted)
    if found.body.get("predicateType") != TEST_RESULT_TYPE:
        raise AttestError(f"predicateType is {found.kind}, which is no test result")
    statement = shaped(RunResultStatement, found.body)
    if not any(ROLE in one.roles for one in found.by):
        raise AttestError(f"signed by {found.by[0].principal}, who has no {ROLE} role")
    return hashlib.sha256(found.envelope.payload).hexdigest(), statement


def _fitting(tests: tuple[str, ...], room: int) -> tuple[list[str], int]:
    listed = []
    for name in tests:
        room -= len(name.encode()) + 3
        if room < 0:
            break
        listed.append(name)
    return listed, max(room, 0)
