"""Decisions of the right form that do not meet the policy of signatures."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from attest_desk import digest_of
from fail_made import (
    ALICE,
    BOB,
    DANA,
    Case,
    desk,
    good,
    one,
    rewrapped,
    run_facts,
    signed,
    trust,
)

from reviewer.signing.dsse import sign_payload
from reviewer.signing.facts import LabelFacts, LineageFact
from reviewer.signing.records import build_run_result
from reviewer.signing.statement import build_statement
from reviewer.suite.gates import ALWAYS

# people ------------------------------------------------------------------------------------------


def people() -> Iterator[tuple[str, Case]]:
    payload = build_statement(desk.facts(threshold=2))
    yield "one_of_two", one(30, f"policy not met: 1 of 2 approvals ({BOB})", signed(payload, BOB))
    once = json.loads(signed(payload, ALICE))
    entry = once["signatures"][0]
    other = {**entry, "keyid": desk.signer(BOB).public.keyid}
    alices = f"{ALICE} ({desk.signer(ALICE).public.keyid}), who signed more than once"
    yield (
        "same_signature_twice",
        one(
            30,
            f"counted once: {alices}",
            rewrapped(signed(payload, ALICE), signatures=[entry, other]),
        ),
    )
    more = [*desk.reviewers(ALICE, BOB), *desk.reviewers("alice-2")]
    body = json.loads(build_statement(desk.facts(threshold=2, reviewers=tuple(more))))
    body["predicate"]["approvals"]["reviewers"][2]["principal"] = ALICE
    yield "two_keys_of_one_person", one(
        30, f"counted once: {ALICE}, who signed with several keys", signed(body, ALICE, "alice-2"),
        **trust(desk.trust + f"{ALICE} approver {desk.signer('alice-2').public.line()}\n"),
    )  # fmt: skip
    yield (
        "threshold_of_the_pipeline",
        one(30, "policy not met: 1 of 3 approvals", good(), "--threshold", "3"),
    )
    for who in ("robot", "fire"):
        data = signed(build_statement(desk.facts(reviewers=desk.reviewers(who))), who)
        says = f"not counted: {who} ({desk.signer(who).public.keyid}) is not an approver"
        yield f"signed_by_{who}", one(30, says, data)
    dana = desk.facts(reviewers=desk.reviewers(ALICE, DANA))
    yield "author_signs", one(
        30, f"not counted: {DANA} ({desk.signer(DANA).public.keyid}) is an author",
        signed(build_statement(desk.facts(reviewers=desk.reviewers(ALICE))), DANA),
    )  # fmt: skip
    yield "author_is_named", one(
        30, f"policy not met: {DANA} is named as a reviewer and is an author",
        signed(build_statement(dana), ALICE),
    )  # fmt: skip
    yield "approver_who_was_not_named", one(
        30, f"not counted: {BOB} ({desk.signer(BOB).public.keyid}) is not named as a reviewer",
        signed(build_statement(desk.facts(reviewers=desk.reviewers(ALICE))), BOB),
    )  # fmt: skip
    labeled = desk.facts(threshold=2, labels=LabelFacts(count=5, labelers=("alice", "Bob")))
    yield (
        "every_approver_labeled",
        one(
            30,
            "policy not met: every approver also labeled",
            signed(build_statement(labeled), ALICE, BOB),
        ),
    )


# what it says of itself --------------------------------------------------------------------------


def contradictions() -> Iterator[tuple[str, Case]]:
    def changed(change: Callable[[Any], Any], **changes: Any) -> bytes:
        body = desk.body(**changes)
        change(body["predicate"])
        return signed(body)

    cases: list[tuple[str, Callable[[Any], Any], str]] = [
        ("gate_missing", lambda p: p["gates"].pop(1), "the hard gate state is missing"),
        ("gate_stated_twice", lambda p: p["gates"].append(dict(p["gates"][2])), "is stated 2"),
        ("gate_not_hard", lambda p: p["gates"][3].update(hard=False), "is not marked hard"),
        ("gate_failed", lambda p: p["gates"][2].update(result="FAILED", observed=1),
         "hard gate authority is FAILED"),
        ("gate_passed_against_its_figures", lambda p: p["gates"][2].update(observed=3),
         "authority is PASSED, and observed is 3, more than 0"),
        ("gate_passed_against_a_decimal",
         lambda p: p["gates"][1].update(observed="0.5", threshold="0.25"),
         "state is PASSED, and observed is 0.5, more than 0.25"),
        ("gate_passed_without_a_threshold",
         lambda p: p["gates"][3].update(observed=1, threshold=None),
         "redaction is PASSED, and observed is 1, more than 0"),
        ("gate_observed_no_number", lambda p: p["gates"][4].update(observed="NaN"),
         "process: observed NaN is not a number"),
        ("longer_than_its_policy", lambda p: p["approvals"].update(maxDays=6),
         "longer than the 6 days after 2026-05-01T10:00:00Z that its policy allows"),
        ("gate_not_run", lambda p: p["gates"][0].update(result="NOT_RUN"), "is NOT_RUN"),
        ("failing_traces", lambda p: p.update(failureCount=2), "policy not met: 2 failing traces"),
        ("failing_traces_under_a_rate_of_one",
         lambda p: p.update(failureCount=2, tolerance={
             "hardPassRate": "1", "completionMin": None, "attempts": 9}),
         "policy not met: tolerance: hardPassRate 1 is no rate below one"),
        ("more_failing_than_its_rate",
         lambda p: p.update(failureCount=2, tolerance={
             "hardPassRate": "0.9", "completionMin": None, "attempts": 10}),
         "tolerance: allows 1, but there are 2 failing traces"),
        ("critical_gate_tolerated",
         lambda p: (p["gates"][2].update(observed=1, threshold=1), p.update(tolerance={
             "hardPassRate": "0.5", "completionMin": None, "attempts": 10})),
         "hard gate authority: 1 failed, and the policy tolerates 0"),
        ("report_says_hold", lambda p: p["report"].update(recommendation="hold"),
         "recommends hold, not promote"),
        ("reason_against", lambda p: p["report"].update(reasons=["cost budget exceeded"]),
         "gives a reason against promotion: cost budget"),
        ("frozen_after_the_first_run", lambda p: p["suite"].update(frozenAtSeq=6),
         "frozen at journal entry 6, first run at 5"),
        ("freeze_unknown", lambda p: p["suite"].update(frozenAtSeq=None), "(frozenAtSeq)"),
        ("first_run_unknown", lambda p: p["suite"].update(firstRunSeq=None), "(firstRunSeq)"),
        ("suite_edited_after_failure",
         lambda p: p["suite"]["lineage"].append(digest_of("edited suite")),
         f"also run on the suite {digest_of('edited suite')}, and no reason"),
    ]  # fmt: skip
    for name, change, says in cases:
        yield name, one(30, says, changed(change))
    reasons = (LineageFact("a", digest_of("a"), "typo", "rob"), LineageFact("b", digest_of("b")))
    body = desk.body()
    body["predicate"]["suite"] = json.loads(build_statement(desk.blocked(lineage=reasons)))[
        "predicate"
    ]["suite"]
    yield (
        "one_suite_of_two_explained",
        one(30, f"also run on the suite {digest_of('b')}, and no reason", signed(body)),
    )
    block = json.loads(build_statement(desk.blocked()))
    del block["predicate"]["gates"][4]
    yield "block_without_a_gate", one(30, f"hard gate {ALWAYS[4]} is missing", signed(block))


# what is pinned ----------------------------------------------------------------------------------


def pinned() -> Iterator[tuple[str, Case]]:
    zero = "0" * 64
    for name, options, says in (
        ("other_environment", ["--environment", "staging"], "not for the requested environment"),
        ("other_suite", ["--suite-digest", zero], "the suite's digest is"),
        ("other_policy", ["--policy-digest", zero], "the policy's digest is"),
        ("other_signers", ["--signers-digest", zero], "the trust file's digest is"),
        ("older_than_seen", ["--min-seq", "5"], "decision 4 is older than 5"),
        ("expired", ["--at", "2026-05-08T10:00:00Z"], "expired at 2026-05-08T10:00:00Z"),
        ("from_the_future", ["--at", "2026-05-01T09:54:59Z"], "made in the future"),
    ):
        yield name, one(30, says, good(), *options)
    report = report_of(recommendation="promote")
    yield (
        "report_of_another",
        one(
            30,
            "not the one decided on",
            good(),
            "--report",
            "report.json",
            **{"report.json": report},
        ),
    )
    for name, changes, says in (
        ("report_recommends_otherwise", {"recommendation": "block"}, "another recommendation"),
        ("report_fails_a_gate", {"failed": "process"}, "another result for gate process"),
        ("report_knows_a_broken_glass", {"glass": [digest_of("g")]}, "another break-glass"),
        ("report_knows_another_suite", {"lineage": [digest_of("o")]}, "another lineage"),
        ("report_of_another_candidate", {"candidate": zero}, "another candidate digest"),
        ("report_against_a_baseline", {"baseline": "v7"}, "another baseline"),
    ):
        data = report_of(**changes)
        yield name, one(
            30, says, good(report_sha256=digest_of(data.decode())), "--report", "report.json",
            **{"report.json": data},
        )  # fmt: skip


def report_of(
    recommendation: str = "promote",
    failed: str = "",
    glass: list[str] | None = None,
    lineage: list[str] | None = None,
    candidate: str = "",
    baseline: str | None = None,
) -> bytes:
    body = {
        "recommendation": recommendation,
        "reasons": [],
        "suite": {
            "digest": digest_of("suite"),
            "lineage": [{"digest": one} for one in lineage or []],
        },
        "candidate": {"digest": candidate or desk.facts().candidate_sha256},
        "regression": {"baseline": baseline},
        "break_glass": [{"payload_sha256": one} for one in glass or []],
        "gates": {
            name: {"pass": 9, "fail_counted": int(name == failed), "not_measured_counted": 0}
            for name in ALWAYS
        },
    }
    return json.dumps(body).encode()


def attestations() -> Iterator[tuple[str, Case]]:
    result = build_run_result(run_facts())
    other = build_run_result(run_facts(candidate_manifest={**desk.manifest, "model": "other"}))
    suite = build_run_result(run_facts(suite_sha256=digest_of("other suite")))
    options = ("--attestations", "runs")

    def referring(payload: bytes) -> bytes:
        return good(input_attestations=(digest_of(payload.decode()),))

    run = sign_payload(result, desk.signer("robot"))
    for name, exit, says, data, kept in (
        ("no_test_result", 30, "it refers to no test result", good(), run),
        ("test_result_missing", 30, "is not among the attestations", referring(other), run),
        ("test_result_of_another", 30, "another candidate\n", referring(other),
         sign_payload(other, desk.signer("robot"))),
        ("test_result_on_another_suite", 30, "it is on another suite", referring(suite),
         sign_payload(suite, desk.signer("robot"))),
        ("test_result_by_an_approver", 20, "who has no runner role", referring(result),
         sign_payload(result, desk.signer(ALICE))),
        ("test_result_that_is_none", 20, "which is not a test result", referring(result), good()),
    ):  # fmt: skip
        yield name, one(exit, says, data, *options, **{"runs/run.dsse.json": kept})
