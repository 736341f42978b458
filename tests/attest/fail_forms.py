"""Decisions whose envelope, signature, payload or other files are not of the form."""

import base64
import json
from collections.abc import Iterator

from attest_desk import digest_of
from fail_made import (
    ALICE,
    BOB,
    Case,
    desk,
    good,
    one,
    rewrapped,
    run_facts,
    signed,
    spoilt,
    trust,
    with_signature,
)
from ssh_blobs import plain_blob

from reviewer.signing.dsse import PAYLOAD_TYPE, pae
from reviewer.signing.manifests import manifest_digest
from reviewer.signing.records import build_run_result
from reviewer.signing.ssh import PublicKey
from reviewer.signing.statement import build_statement

# the envelope ------------------------------------------------------------------------------------


def envelopes() -> Iterator[tuple[str, Case]]:
    ok, body = good(), json.loads(good())
    entry = body["signatures"][0]
    wide = good(comment="¿¿¿ÿÿÿ>>>???~~~")
    mixed = json.loads(wide)["payload"]
    assert "/" in mixed
    assert "+" in mixed
    yield "payload_type_case", one(
        20, "payloadType is 'application/vnd.in-toto+JSON'",
        rewrapped(ok, payloadType="application/vnd.in-toto+JSON"),
    )  # fmt: skip
    yield "payload_type_missing", one(
        20, "payloadType is missing",
        json.dumps({k: v for k, v in body.items() if k != "payloadType"}).encode(),
    )  # fmt: skip
    yield (
        "envelope_duplicate_member",
        one(
            20, "envelope: $.payload", ok.replace(b'"payload":', b'"payload":"YQ==","payload":', 1)
        ),
    )
    yield (
        "envelope_unknown_member",
        one(20, "unknown member 'expires'", rewrapped(ok, expires="never")),
    )
    yield "envelope_not_json", one(20, "envelope: $: not JSON", b"-----BEGIN DSSE-----")
    yield "envelope_byte_order_mark", one(20, "byte order mark", b"\xef\xbb\xbf" + ok)
    yield "envelope_too_deep", one(20, "nested deeper than 64 levels", b"[" * 200)
    yield "envelope_no_signature", one(20, "at least one signature", rewrapped(ok, signatures=[]))
    yield (
        "envelope_many_signatures",
        one(20, "signatures lists 65; the limit is 64", rewrapped(ok, signatures=[entry] * 65)),
    )
    yield (
        "signature_unknown_member",
        one(20, "unknown member 'cert'", rewrapped(ok, signatures=[{**entry, "cert": "x"}])),
    )
    yield (
        "signature_not_base64",
        one(20, "sig: is not base64", rewrapped(ok, signatures=[{**entry, "sig": "!" * 88}])),
    )
    tail = entry["sig"]
    yield "signature_other_spelling", one(
        20, "sig: is not canonical base64",
        rewrapped(ok, signatures=[{**entry, "sig": tail[:-3] + chr(ord(tail[-3]) + 1) + "=="}]),
    )  # fmt: skip
    yield "payload_two_alphabets", one(
        20, "mixes the standard and the url-safe alphabet",
        rewrapped(wide, payload=mixed.replace("/", "_", 1)),
    )  # fmt: skip


# signatures --------------------------------------------------------------------------------------


def signatures() -> Iterator[tuple[str, Case]]:
    alice, payload = desk.signer(ALICE), build_statement(desk.facts())
    stranger = desk.signer("mallory").public.keyid
    yield (
        "signed_by_a_stranger",
        one(20, f"names {stranger}, which is not trusted", good("mallory")),
    )
    yield (
        "signature_without_a_name",
        one(20, "signature 1: names no key", with_signature(bytes(range(64)))),
    )
    yield "payload_changed_after_signing", one(
        20, f"names the key of {ALICE}, which did not sign",
        rewrapped(good(), payload=base64.b64encode(payload + b" ").decode()),
    )  # fmt: skip
    yield "signed_as_another_type", one(
        20, f"names the key of {BOB}, which did not sign",
        with_signature(
            desk.signer(BOB).sign(pae(payload, "application/json")), desk.signer(BOB).public.keyid
        ),
    )  # fmt: skip
    yield (
        "signed_the_bare_payload",
        one(20, "covers the bare payload", with_signature(alice.sign(payload), alice.public.keyid)),
    )
    message = pae(payload, PAYLOAD_TYPE)
    yield "ssh_signature_of_a_file", one(
        20, "an SSH signature that does not verify",
        with_signature(plain_blob(alice, message, namespace="file"), alice.public.keyid),
    )  # fmt: skip


# the payload -------------------------------------------------------------------------------------


def payloads() -> Iterator[tuple[str, Case]]:
    text = build_statement(desk.facts()).decode()
    twice = text.replace('"decision":"PROMOTE"', '"decision":"BLOCK","decision":"PROMOTE"')
    yield (
        "payload_duplicate_member",
        one(20, "statement: $.predicate.decision", signed(twice.encode())),
    )
    yield "payload_not_utf8", one(20, "statement: $: not UTF-8", signed(text.encode("utf-16")))
    yield "payload_nan", one(
        20, "NaN is not a JSON number",
        signed(text.replace('"totalMicros":549000', '"totalMicros":NaN').encode()),
    )  # fmt: skip
    yield "payload_no_object", one(20, "must be a JSON object, found a list", signed(b"[]"))
    for name, path, value, says in (
        ("float", "predicate/decisionSeq", 4.0, "predicate.decisionSeq: expected `int`"),
        ("beyond_safe_integers", "predicate/cost/totalMicros", 2**53, "integer beyond 9007199254"),
        ("negative_cost", "predicate/cost/totalMicros", -1, "totalMicros: expected `int` >= 0"),
        ("control_character", "predicate/environment", "prod\x1b[2J", "must not contain U+001B"),
        ("right_to_left", "predicate/environment", "prod\u202e", "must not contain U+202E"),
        ("no_subject", "subject", [], "subject: expected `array` of length >= 1"),
        ("subject_without_sha256", "subject/0/digest", {"md5": "0" * 32},
         "subject.0.digest.md5: is not known"),
        ("subject_not_hex", "subject/0/digest/sha256", "zz" * 32,
         "subject.0.digest.sha256: expected `str` matching"),
        ("policy_upper_hex", "predicate/policy/digest/sha256", "AB" * 32, "policy.digest.sha256"),
        ("subject_of_the_suite", "subject/0/digest/sha256", digest_of("suite"),
         f"(sha256 {digest_of('suite')}), not about this manifest"),
        ("subject_renamed", "subject/0/name", "refund-agent@v9", "named refund-agent@v9, which"),
        ("other_predicate", "predicateType", "https://slsa.dev/verification_summary/v1",
         "verification_summary/v1, which is not a decision"),
        ("other_statement", "_type", "https://in-toto.io/Statement/v0.1", "statement: _type"),
        ("unknown_field", "predicate/waivers", [], "predicate.waivers: is not known"),
        ("unknown_field_of_a_gate", "predicate/gates/0/note", "x", "gates.0.note: is not known"),
        ("missing_field", "predicate/audit", ..., "predicate.audit: is missing"),
        ("gate_waived", "predicate/gates/0/result", "WAIVED",
         "gates.0.result: should be 'PASSED', 'FAILED' or 'NOT_RUN'"),
        ("decision_in_lower_case", "predicate/decision", "promote",
         "predicate.decision: should be 'PROMOTE', 'BLOCK' or 'REPAIR'"),
        ("expires_before_it_is_made", "predicate/expires", "2026-05-01T09:00:00Z", "must be after"),
        ("time_of_another_zone", "predicate/timeCreated", "2026-05-01T10:00:00+02:00",
         "must be an RFC 3339 time in UTC"),
        ("more_passes_than_attempts", "predicate/repeatability/0/passes", 4, "more passes than"),
        ("lineage_without_itself", "predicate/suite/lineage", [], "hold the suite's own digest"),
        ("lineage_twice", "predicate/suite/lineage", [digest_of("suite")] * 2, "is listed twice"),
        ("reason_for_no_suite", "predicate/suite/lineageReasons",
         [{"digest": {"sha256": digest_of("x")}, "name": "x", "reason": "y", "reviewer": "z"}],
         "is not another suite of the lineage"),
        ("no_reviewer", "predicate/approvals/reviewers", [],
         "approvals.reviewers: expected `array` of length >= 1"),
        ("fewer_failures_than_listed", "predicate/failures",
         [{"traceId": "a/b/c/1", "episode": "c", "traceSha256": digest_of("t"), "codes": [],
           "disposition": "open"}], "failureCount: fewer than are listed"),
    ):  # fmt: skip
        yield name, one(20, says, spoilt(path, value))
    reviewers = desk.body()["predicate"]["approvals"]["reviewers"]
    yield "reviewer_named_twice", one(
        20, "a key is named twice",
        spoilt("predicate/approvals/reviewers", [reviewers[0], {**reviewers[0], "principal": "e"}]),
    )  # fmt: skip
    two = desk.body()
    two["subject"].append({"name": "suite.lock", "digest": {"sha256": digest_of("suite")}})
    yield "two_subjects", one(20, "subject: expected `array` of length <= 1", signed(two))
    yield "authors_left_out", one(
        20, "predicate.candidate: does not match the manifest",
        spoilt("predicate/candidate/authors", []),
    )  # fmt: skip
    yield (
        "run_result_as_decision",
        one(20, "test-result/v0.1, which is not a decision", signed(build_run_result(run_facts()))),
    )


# files that others hold --------------------------------------------------------------------------


def files() -> Iterator[tuple[str, Case]]:
    manifest = {**desk.manifest, "model": "other"}
    text = json.dumps(desk.manifest)
    yield (
        "manifest_of_another",
        one(
            20,
            f"not about this manifest (sha256 {manifest_digest(manifest)})",
            good(),
            **{"candidate.json": json.dumps(manifest).encode()},
        ),
    )
    yield "manifest_duplicate_member", one(
        20, "candidate manifest: $.model", good(),
        **{"candidate.json": text.replace('"model"', '"model": "x", "model"').encode()},
    )  # fmt: skip
    alice, bob = desk.signer(ALICE).public.line(), desk.signer(BOB).public.line()
    for name, lines, says in (
        ("key_of_two_people", f"alice approver {alice}\nbob approver {alice}\n", "this key"),
        ("role_unknown", f"alice boss {alice}\n", "unknown role 'boss'"),
        ("roles_that_differ", f"al approver {alice}\nal runner {bob}\n", "al conflicts with al on"),
        ("principal_in_other_letters", f"аlice approver {alice}\n", "may hold only A-Z"),
        ("key_anybody_signs_with", f"eve approver {PublicKey((1).to_bytes(32, 'little')).line()}\n",
         "signatures by it prove nothing"),
        ("rsa_key", "eve approver ssh-rsa AAAA\n", "key type is 'ssh-rsa'"),
    ):  # fmt: skip
        yield name, one(20, says, good(), **trust(lines))
