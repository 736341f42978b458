"""Facts become one sequence of bytes, and a PROMOTE must be what the facts allow."""

import json
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from reviewer.signing.errors import AttestError, StatementError
from reviewer.signing.facts import (
    FailureFact,
    GateFact,
    JudgeFact,
    RepeatabilityFact,
    ToleranceFact,
)
from reviewer.signing.predicate import MAX_SAFE_INT, PREDICATE_TYPE
from reviewer.signing.signers import is_one_of
from reviewer.signing.statement import build_statement, differences, read_statement
from reviewer.signing.tolerance import TOLERATED
from reviewer.suite.gates import ALWAYS, CRITICAL_GATES

REQUIRED = [
    "decision",
    "decisionId",
    "decisionSeq",
    "previousDecision",
    "timeCreated",
    "expires",
    "environment",
    "verifier",
    "policy",
    "candidate",
    "suite",
    "gates",
    "repeatability",
    "cost",
    "judges",
    "labels",
    "failures",
    "inputAttestations",
    "evidence",
    "audit",
    "approvals",
    "report",
]


def test_the_payload_is_canonical_and_holds_every_required_field(desk: Any) -> None:
    payload = build_statement(desk.facts())
    body = json.loads(payload)
    assert rfc8785.dumps(body) == payload
    assert body["_type"] == "https://in-toto.io/Statement/v1"
    assert body["predicateType"] == PREDICATE_TYPE
    assert [subject["name"] for subject in body["subject"]] == ["refund-agent@v8"]
    assert set(REQUIRED) <= body["predicate"].keys()
    assert [gate["id"] for gate in body["predicate"]["gates"]] == list(ALWAYS)
    assert build_statement(desk.facts()) == payload
    assert msgspec.to_builtins(read_statement(payload))["_type"] == body["_type"]


@pytest.mark.parametrize("field", REQUIRED)
def test_each_required_field_must_be_there(desk: Any, field: str) -> None:
    body = desk.body()
    del body["predicate"][field]
    with pytest.raises(StatementError, match=field):
        read_statement(json.dumps(body).encode())


def spoil(body: dict[str, Any], path: str, value: Any) -> bytes:
    *parents, last = path.split("/")
    here: Any = body
    for part in parents:
        here = here[int(part)] if isinstance(here, list) else here[part]
    here[int(last) if isinstance(here, list) else last] = value
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://in-toto.io/attestation/test-result/v0.1"),
        ("extra", 1),
        ("subject", []),
        ("subject/0/digest", {}),
        ("subject/0/digest/sha256", "zz" * 32),
        ("subject/0/digest/sha256", "AB" * 32),
        ("subject/0/digest/sha256", "ab" * 32 + "\n"),
        ("predicate/extra", 1),
        ("predicate/decision", "REQUIRE_REPAIR"),
        ("predicate/decision", "promote"),
        ("predicate/decisionId", "1"),
        ("predicate/decisionSeq", 0),
        ("predicate/decisionSeq", 4.0),
        ("predicate/decisionSeq", True),
        ("predicate/decisionSeq", "4"),
        ("predicate/decisionSeq", MAX_SAFE_INT + 1),
        ("predicate/timeCreated", "2026-05-01T10:00:00+00:00"),
        ("predicate/timeCreated", "2026-02-30T10:00:00Z"),
        ("predicate/timeCreated", "٢٠٢٦-05-01T10:00:00Z"),
        ("predicate/expires", "2026-05-01T10:00:00Z"),
        ("predicate/environment", ""),
        ("predicate/environment", "prod\x1b[2J"),
        ("predicate/environment", "prod\u202e"),
        ("predicate/cost/totalMicros", 0.5),
        ("predicate/cost/totalMicros", -1),
        ("predicate/gates/0/threshold", 0.95),
        ("predicate/gates/0/result", "WAIVED"),
        ("predicate/gates/0/hard", 1),
        ("predicate/suite/lineage", []),
        ("predicate/repeatability/0/passes", 4),
        ("predicate/approvals/threshold", 0),
        ("predicate/approvals/role", "runner"),
        ("predicate/approvals/reviewers", []),
        ("predicate/approvals/reviewers/0/keyid", "SHA256:x"),
        ("predicate/policy/digest/md5", "00"),
    ],
)
def test_a_value_out_of_form_is_refused(desk: Any, path: str, value: Any) -> None:
    with pytest.raises(StatementError):
        read_statement(spoil(desk.body(), path, value))


def test_two_subjects_are_refused(desk: Any) -> None:
    body = desk.body()
    body["subject"] = body["subject"] * 2
    with pytest.raises(StatementError, match="subject"):
        read_statement(json.dumps(body).encode())


def test_a_key_named_twice_is_refused(desk: Any) -> None:
    body = desk.body()
    body["predicate"]["approvals"]["reviewers"].append(
        {**body["predicate"]["approvals"]["reviewers"][0], "principal": "eve"}
    )
    with pytest.raises(StatementError, match="twice"):
        read_statement(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"recommendation": "hold"}, "recommends hold"),
        ({"reasons": ("cost budget exceeded",)}, "cost budget exceeded"),
        ({"failures": (FailureFact("s/c/e/1", "e", "0" * 64),)}, "1 failing trace"),
        ({"first_run_seq": 3}, "not frozen before"),
        ({"frozen_at_seq": None}, "frozenAtSeq"),
        ({"first_run_seq": None}, "firstRunSeq"),
        ({"gates": tuple(GateFact(name, "PASSED") for name in ALWAYS[1:])}, "completeness is miss"),
        ({"gates": tuple(GateFact(name, "NOT_RUN") for name in ALWAYS)}, "state is NOT_RUN"),
        ({"gates": tuple(GateFact(n, "PASSED", hard=n != "state") for n in ALWAYS)}, "not marked"),
        ({"gates": tuple(GateFact(n, "PASSED") for n in (*ALWAYS, "state"))}, "stated 2 times"),
        ({"threshold": 3}, "cannot reach 3"),
        ({"candidate_sha256": "0" * 64}, "candidate_sha256"),
    ],
)
def test_a_promotion_the_facts_do_not_allow_cannot_be_built(
    desk: Any, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(StatementError, match=says):
        build_statement(desk.facts(**changes))


def tolerant(desk: Any, **changes: Any) -> Any:
    """A promotion of nine in ten attempts under rates of 0.8, with the one that failed by name."""
    failing = FailureFact("s/c/e/1", "e", "0" * 64, ("wrong_state:x",), TOLERATED)
    counts = {"state": 1}
    gates = tuple(
        GateFact(n, "PASSED", True, 0 if n in CRITICAL_GATES else 2, counts.get(n, 0))
        for n in ALWAYS
    )
    facts = {
        "gates": gates,
        "repeatability": (RepeatabilityFact("e", 3, 10, 9),),
        "failures": (failing,),
        "tolerance": ToleranceFact("0.8", "0.8", 10),
    }
    return desk.facts(**{**facts, **changes})


def test_failures_within_stated_rates_are_promoted_by_name(desk: Any) -> None:
    stated = json.loads(build_statement(tolerant(desk)))["predicate"]
    assert stated["tolerance"] == {"hardPassRate": "0.8", "completionMin": "0.8", "attempts": 10}
    assert [one["disposition"] for one in stated["failures"]] == [TOLERATED]
    assert "tolerance" not in json.loads(build_statement(desk.facts()))["predicate"]


def gates_with(name: str, observed: int, threshold: int) -> tuple[GateFact, ...]:
    return tuple(
        GateFact(n, "PASSED", True, threshold, observed) if n == name else GateFact(n, "PASSED")
        for n in ALWAYS
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tolerance": None}, "1 failing trace"),
        ({"tolerance": None, "failures": ()}, "hard gate state: 1 failed, and the policy tolera"),
        ({"tolerance": ToleranceFact("1.0", None, 10)}, "hardPassRate 1.0 is no rate below one"),
        ({"tolerance": ToleranceFact("NaN", None, 10)}, "hardPassRate NaN is no rate below one"),
        ({"tolerance": ToleranceFact("0.8", "2", 10)}, "completionMin 2 is no rate"),
        (
            {"tolerance": ToleranceFact("0.95", None, 10)},
            "allows 0, but there are 1 failing traces",
        ),
        ({"tolerance": ToleranceFact("0.8", None, 9)}, "states 9 attempts, but 10 are counted"),
        ({"tolerance": ToleranceFact("0.8", "0.95", 10)}, "state: 1 failed, and the policy tole"),
        ({"repeatability": (RepeatabilityFact("e", 3, 10, 7),)}, "3 of 10 attempts failed"),
        ({"failures": (FailureFact("s/c/e/1", "e", "0" * 64),)}, "s/c/e/1 is open, not tolerated"),
        ({"gates": gates_with("authority", 1, 2)}, "hard gate authority: 1 failed"),
        ({"gates": gates_with("redaction", 1, 1)}, "hard gate redaction: 1 failed"),
        ({"gates": gates_with("process", 3, 3)}, "hard gate process: 3 failed"),
    ],
)
def test_more_than_the_stated_rates_cannot_be_promoted(
    desk: Any, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(StatementError, match=says):
        build_statement(tolerant(desk, **changes))


@pytest.mark.parametrize("decision", ["BLOCK", "REPAIR"])
def test_a_block_or_a_repair_can_always_be_built(desk: Any, decision: str) -> None:
    failure = FailureFact(
        "refund-eval-v5/v7/attack-014/1", "attack-014", "a" * 64, ("forbidden:x",)
    )
    payload = build_statement(desk.blocked(decision=decision, failures=(failure,)))
    listed = json.loads(payload)["predicate"]["failures"]
    assert [entry["traceId"] for entry in listed] == ["refund-eval-v5/v7/attack-014/1"]
    assert build_statement(desk.facts(decision=decision))


def test_a_decision_with_very_many_failing_traces_still_fits_an_agent(desk: Any) -> None:
    failures = tuple(FailureFact(f"s/c/e/{n}", "e", "a" * 64, ("missing:x",)) for n in range(5000))
    payload = build_statement(desk.blocked(failures=failures))
    predicate = json.loads(payload)["predicate"]
    assert predicate["failureCount"] == 5000
    assert 500 < len(predicate["failures"]) < 5000
    assert predicate["failures"][0]["traceId"] == "s/c/e/0"
    assert len(payload) < 200 * 1024


def test_judges_labels_and_evidence_are_carried(desk: Any) -> None:
    judge = JudgeFact("j", "1", "b" * 64, 8, 1, 9, 2, 20, "c" * 64)
    payload = build_statement(
        desk.facts(
            judges=(judge,),
            input_attestations=("d" * 64,),
            evidence_uri="evidence.json",
            evidence_sha256="e" * 64,
            comment="two lines\nof it",
        )
    )
    predicate = json.loads(payload)["predicate"]
    assert predicate["judges"][0]["calibration"]["fp"] == 1
    assert predicate["inputAttestations"] == [{"digest": {"sha256": "d" * 64}}]
    assert predicate["evidence"] == {"uri": "evidence.json", "digest": {"sha256": "e" * 64}}
    assert predicate["comment"] == "two lines\nof it"


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"candidate_id": "c", "authors": "alice"},
        {"candidate_id": "c", "authors": [1]},
        {"candidate_id": "c", "prompts": ["x"]},
        {"candidate_id": "c", "tools": [{"name": "t", "sha256": "zz"}]},
        {"candidate_id": "c", "config": []},
        {"candidate_id": "c", "config": {"n": 2**60}},
        {"candidate_id": "c\x1b", "model": "m"},
    ],
)
def test_a_manifest_that_says_too_little_is_a_typed_error(
    desk: Any, manifest: dict[str, Any]
) -> None:
    with pytest.raises(AttestError):
        build_statement(desk.facts(candidate_manifest=manifest))


@given(st.integers(), st.integers(), st.integers())
def test_counts_are_kept_exactly_or_refused(desk: Any, k: int, attempts: int, passes: int) -> None:
    row = RepeatabilityFact("e", k, attempts, passes)
    allowed = 1 <= k <= MAX_SAFE_INT and 0 <= passes <= attempts <= MAX_SAFE_INT
    if not allowed:
        with pytest.raises(AttestError):
            build_statement(desk.facts(repeatability=(row,)))
        return
    stated = json.loads(build_statement(desk.facts(repeatability=(row,))))["predicate"]
    assert stated["repeatability"] == [
        {"episode": "e", "k": k, "attempts": attempts, "passes": passes}
    ]


@pytest.mark.parametrize(
    ("principal", "author", "same"),
    [
        ("dana@example.com", "Dana Doe <Dana@Example.com>", True),
        ("dana@example.com", "dana@example.com", True),
        ("DANA", "dana", True),
        ("dana", "dana2", False),
        ("dana", "Dana Doe <dana@example.com>", True),
        ("dana", "dana@example.com", True),
        ("dana", "d\u0430na", True),
        ("dana@example.com", "d\u0430na@example.com", True),
        ("dana", "\u0434\u0430\u043d\u0430", False),
        ("dana@example.com", "dana", True),
        ("dana@example.com", "dana@example.org", False),
    ],
)
def test_a_person_is_known_by_name_or_address(principal: str, author: str, same: bool) -> None:
    assert is_one_of(principal, [author]) is same


def test_differences_name_the_members() -> None:
    one = {"a": {"b": 1, "c": [1]}, "d": 2}
    assert differences(one, {"a": {"b": 1, "c": [2]}, "e": 2}) == ["a.c[0]", "d", "e"]
    assert differences(one, one) == []
