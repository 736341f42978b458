"""The strict verifier: what is accepted, what is refused, and with which exit code."""

import base64
import json
import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer.signing.dsse import (
    Envelope,
    add_signature,
    parse_envelope,
    serialise_envelope,
    sign_statement,
)
from reviewer.signing.errors import PayloadMismatch, SignerRefused, StatementError
from reviewer.signing.facts import LabelFacts
from reviewer.signing.signers import parse_signers
from reviewer.signing.statement import build_statement
from reviewer.suite.gates import ALWAYS

ALICE, BOB, DANA = "alice@example.com", "bob@example.com", "dana@example.com"


BY_DAY = pytest.mark.parametrize("apart", [7, pytest.param(1, marks=pytest.mark.nightly)])
"""Every seventh byte for each change, every byte by night."""


def promote(desk: Any, **changes: Any) -> bytes:
    return sign_statement(build_statement(desk.facts(**changes)), desk.signer(ALICE))


def rewrap(envelope: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(envelope), **changes}).encode()


def test_a_promotion_by_one_named_approver_is_valid(desk: Any) -> None:
    result = desk.verify(
        promote(desk),
        environment="production",
        suite_digest=desk.facts().suite_sha256,
        policy_digest="sha256:" + desk.facts().policy_sha256,
        report_digest=desk.facts().report_sha256,
        signers_digest=parse_signers(desk.trust).sha256,
        min_seq=4,
    )
    assert (result.exit_code, result.decision, result.approvers) == (0, "PROMOTE", (ALICE,))
    assert result.lines[0] == "decision: PROMOTE refund-agent@v8 for production"
    assert result.statement.predicate.decision_seq == 4


def test_the_manifest_s_spelling_does_not_matter_but_its_content_does(desk: Any) -> None:
    respelt = json.dumps(dict(reversed(desk.manifest.items()))).encode()
    assert desk.verify(promote(desk), manifest=respelt).exit_code == 0
    other = json.dumps({**desk.manifest, "model": "other"}).encode()
    result = desk.verify(promote(desk), manifest=other)
    assert (result.exit_code, result.decision) == (20, None)
    assert "not about this manifest" in result.lines[0]


@pytest.mark.parametrize("decision", ["BLOCK", "REPAIR"])
def test_a_block_or_repair_is_valid_and_never_zero(desk: Any, decision: str) -> None:
    payload = build_statement(desk.blocked(decision=decision, threshold=2))
    result = desk.verify(sign_statement(payload, desk.signer(BOB)), threshold=2)
    assert (result.exit_code, result.decision) == (10, decision)


def test_two_people_sign_the_same_bytes(desk: Any) -> None:
    payload = build_statement(desk.facts(threshold=2))
    first = sign_statement(payload, desk.signer(ALICE))
    alone = desk.verify(first)
    assert (alone.exit_code, alone.decision) == (30, None)
    assert f"policy not met: 1 of 2 approvals ({ALICE})" in alone.lines
    both = add_signature(first, desk.signer(BOB), expected_payload=payload)
    assert desk.verify(both).exit_code == 0
    assert desk.verify(both).approvers == (ALICE, BOB)
    assert desk.verify(both, threshold=3).exit_code == 30
    reverse = add_signature(
        sign_statement(payload, desk.signer(BOB)), desk.signer(ALICE), expected_payload=payload
    )
    assert reverse == both


def test_a_decision_that_is_not_re_derived_is_not_co_signed(desk: Any) -> None:
    first = sign_statement(build_statement(desk.facts(threshold=2)), desk.signer(ALICE))
    ours = build_statement(desk.facts(threshold=2, total_micros=1, journal_seq=42))
    with pytest.raises(PayloadMismatch, match=r"audit\.seq, predicate\.cost\.totalMicros$"):
        add_signature(first, desk.signer(BOB), expected_payload=ours)
    spaced = json.dumps(json.loads(parse_envelope(first).payload)).encode()
    with pytest.raises(PayloadMismatch, match="only their bytes"):
        add_signature(first, desk.signer(BOB), expected_payload=spaced)


def test_a_signature_that_would_not_count_is_not_made(desk: Any) -> None:
    payload = build_statement(desk.facts())
    with pytest.raises(SignerRefused, match="not named"):
        sign_statement(payload, desk.signer("mallory"))
    first = sign_statement(payload, desk.signer(ALICE))
    with pytest.raises(SignerRefused, match="already signed"):
        add_signature(first, desk.signer(ALICE), expected_payload=payload)
    with pytest.raises(StatementError):
        sign_statement(b"{}", desk.signer(ALICE))


def test_the_same_signature_twice_or_two_keys_of_one_person_is_one_of_two(desk: Any) -> None:
    payload = build_statement(
        desk.facts(threshold=2, reviewers=desk.reviewers(ALICE, BOB, "alice-2"))
    )
    once = json.loads(desk.envelope(payload, ALICE))
    entry = once["signatures"][0]
    other_name = {**entry, "keyid": desk.signer(BOB).public.keyid}
    twice = json.dumps({**once, "signatures": [entry, entry, other_name]}).encode()
    result = desk.verify(twice)
    assert (result.exit_code, result.approvers) == (30, (ALICE,))
    trust = desk.trust + f"{ALICE} approver {desk.signer('alice-2').public.line()}\n"
    body = json.loads(payload)
    body["predicate"]["approvals"]["reviewers"][2]["principal"] = ALICE
    two_keys = desk.envelope(body, ALICE, "alice-2")
    result = desk.verify(two_keys, trust=trust)
    assert (result.exit_code, result.approvers) == (30, (ALICE,))


def test_keyid_is_only_a_hint(desk: Any) -> None:
    envelope = json.loads(promote(desk))
    for change in ({}, {"keyid": ""}, {"keyid": desk.signer("mallory").public.keyid}):
        entry = {"sig": envelope["signatures"][0]["sig"], **change}
        assert desk.verify(rewrap(promote(desk), signatures=[entry])).exit_code == 0


def test_url_safe_base64_is_the_same_decision(desk: Any) -> None:
    envelope = json.loads(promote(desk, comment="¿¿¿ÿÿÿ>>>???~~~"))
    payload = envelope["payload"].replace("+", "-").replace("/", "_")
    entry = envelope["signatures"][0]
    sig = entry["sig"].replace("+", "-").replace("/", "_")
    assert (payload, sig) != (envelope["payload"], entry["sig"])
    changed = rewrap(json.dumps(envelope).encode(), payload=payload, signatures=[{"sig": sig}])
    assert desk.verify(changed).exit_code == 0


def test_forms_that_are_refused_as_invalid(desk: Any) -> None:
    good = promote(desk)
    payload = parse_envelope(good).payload
    for envelope in (
        rewrap(good, payloadType="application/vnd.in-toto+JSON"),
        rewrap(good, payload=base64.b64encode(payload.replace(b"PROMOTE", b"BLOCK")).decode()),
        rewrap(good, payload=base64.b64encode(payload + b" ").decode()),
        rewrap(good, extra=1),
        good.replace(b'"payload":', b'"payload":"YQ==","payload":', 1),
        desk.envelope(payload, "mallory"),
        b"",
        b"null",
    ):
        result = desk.verify(envelope)
        assert (result.exit_code, result.decision, result.statement) == (20, None, None)


def test_signed_payloads_of_the_wrong_form_are_invalid(desk: Any) -> None:
    """Signed by a trusted approver, so that only the payload's own form can refuse them."""
    text = build_statement(desk.facts()).decode()
    twice = text.replace('"decision":"PROMOTE"', '"decision":"BLOCK","decision":"PROMOTE"')
    bodies: list[Any] = [twice.encode(), text.encode("utf-16"), b"[]", b"{}", b"\x00"]
    two = desk.body()
    two["subject"].append({"name": "suite.lock", "digest": {"sha256": "a" * 64}})
    other_type = {**desk.body(), "predicateType": "https://slsa.dev/verification_summary/v1"}
    unknown = desk.body()
    unknown["predicate"]["gates"][0]["note"] = "x"
    not_hex = desk.body()
    not_hex["predicate"]["report"]["digest"]["sha256"] = "zz" * 32
    view = desk.body()
    view["predicate"]["candidate"]["authors"] = []
    renamed = desk.body()
    renamed["subject"][0]["name"] = "refund-agent@v9"
    for body in (*bodies, two, other_type, unknown, not_hex, view, renamed):
        result = desk.verify(desk.envelope(body, ALICE))
        assert (result.exit_code, result.decision) == (20, None), body


def test_a_promotion_that_contradicts_itself_does_not_meet_the_policy(desk: Any) -> None:
    def spoilt(change: Any) -> Any:
        body = desk.body()
        change(body["predicate"])
        return desk.verify(desk.envelope(body, ALICE))

    assert spoilt(lambda p: None).exit_code == 0
    for change, says in [
        (lambda p: p["gates"][2].update(result="FAILED"), "hard gate authority is FAILED"),
        (lambda p: p["gates"][0].update(result="NOT_RUN"), "completeness is NOT_RUN"),
        (lambda p: p["gates"].pop(1), "hard gate state is missing"),
        (lambda p: p["gates"][1].update(hard=False), "state is not marked hard"),
        (lambda p: p["report"].update(recommendation="block"), "recommends block"),
        (lambda p: p["report"].update(reasons=["cost budget exceeded"]), "cost budget exceeded"),
        (lambda p: p.update(failureCount=2), "2 failing traces"),
        (lambda p: p["suite"].update(firstRunSeq=2), "not frozen before"),
    ]:
        result = spoilt(change)
        assert (result.exit_code, result.decision) == (30, None)
        assert says in "\n".join(result.lines)


def test_a_block_without_every_hard_gate_does_not_meet_the_policy(desk: Any) -> None:
    body = json.loads(build_statement(desk.blocked()))
    del body["predicate"]["gates"][3]
    result = desk.verify(desk.envelope(body, ALICE))
    assert result.exit_code == 30
    assert f"hard gate {ALWAYS[3]} is missing" in result.lines[0]


@pytest.mark.parametrize("who", ["robot", "fire"])
def test_other_roles_never_approve(desk: Any, who: str) -> None:
    payload = build_statement(desk.facts(reviewers=desk.reviewers(who)))
    result = desk.verify(sign_statement(payload, desk.signer(who)))
    assert (result.exit_code, result.approvers) == (30, ())
    assert "is not an approver" in "\n".join(result.lines)


def test_an_author_does_not_approve_their_own_candidate(desk: Any) -> None:
    named = build_statement(desk.facts(reviewers=desk.reviewers(ALICE, DANA)))
    for signers in ((DANA,), (ALICE, DANA)):
        result = desk.verify(desk.envelope(named, *signers))
        assert result.exit_code == 30
        assert "is an author of the candidate" in "\n".join(result.lines)
    extra = desk.verify(desk.envelope(build_statement(desk.facts()), ALICE, DANA))
    assert (extra.exit_code, extra.approvers) == (0, (ALICE,))


def test_an_approver_who_was_not_named_does_not_count(desk: Any) -> None:
    payload = build_statement(desk.facts(reviewers=desk.reviewers(ALICE)))
    result = desk.verify(desk.envelope(payload, BOB))
    assert result.exit_code == 30
    assert "not named" in "\n".join(result.lines)


def test_of_two_approvers_one_must_not_have_labelled(desk: Any) -> None:
    def both(*labelers: str) -> int:
        labels = LabelFacts(count=5, labelers=labelers)
        payload = build_statement(desk.facts(threshold=2, labels=labels))
        return int(desk.verify(desk.envelope(payload, ALICE, BOB)).exit_code)

    assert both(ALICE, BOB) == 30
    assert both(BOB) == 0
    assert desk.verify(promote(desk, labels=LabelFacts(5, (ALICE,)))).exit_code == 0


def test_time_bounds(desk: Any) -> None:
    envelope = promote(desk)
    for shift, code in [
        (timedelta(days=6, hours=21, minutes=59), 0),
        (timedelta(days=6, hours=22), 30),
        (timedelta(hours=-2, minutes=-4), 0),
        (timedelta(hours=-2, minutes=-6), 30),
    ]:
        assert desk.verify(envelope, now=desk.now + shift).exit_code == code


@pytest.mark.parametrize(
    "pin",
    [
        {"environment": "staging"},
        {"suite_digest": "0" * 64},
        {"policy_digest": "0" * 64},
        {"report_digest": "0" * 64},
        {"signers_digest": "0" * 64},
        {"min_seq": 5},
    ],
)
def test_what_the_pipeline_pins_must_hold(desk: Any, pin: dict[str, Any]) -> None:
    assert desk.verify(promote(desk), **pin).exit_code == 30


def test_a_trust_file_or_manifest_that_cannot_be_read_is_invalid(desk: Any) -> None:
    for options in (
        {"trust": "alice approver"},
        {"trust": ""},
        {"trust": "\ud800"},
        {"manifest": b""},
        {"manifest": b'{"a": NaN}'},
        {"manifest": b'{"a": 1, "a": 1}'},
        {"manifest": b'{"a": NaN, "b": NaN, "\\u001b[2J": NaN}'},
        {"manifest": b" " * 5_000_000},
    ):
        result = desk.verify(promote(desk), **options)
        assert (result.exit_code, result.decision) == (20, None)
        assert all(line.isprintable() for line in result.lines)


def test_misuse_of_the_arguments_is_an_error(desk: Any) -> None:
    for wrong in ({"now": desk.now.replace(tzinfo=None)}, {"threshold": 0}):
        with pytest.raises(ValueError, match="must be"):
            desk.verify(promote(desk), **wrong)


@BY_DAY
def test_every_single_byte_change_of_the_payload_is_refused(desk: Any, apart: int) -> None:
    envelope = parse_envelope(promote(desk))
    dice = random.Random(5)
    for at in range(0, len(envelope.payload), apart):
        changed = bytearray(envelope.payload)
        changed[at] ^= dice.randrange(1, 256)
        result = desk.verify(serialise_envelope(Envelope(bytes(changed), envelope.signatures)))
        assert (result.exit_code, result.decision) == (20, None)


def accepted_only_if_identical(desk: Any, mutant: bytes, payload: bytes) -> bool:
    result = desk.verify(mutant)
    if result.decision is None:
        assert result.exit_code in (20, 30)
        return False
    assert parse_envelope(mutant).payload == payload
    return True


@BY_DAY
def test_byte_mutants_of_the_envelope_are_refused_or_the_same_decision(
    desk: Any, apart: int
) -> None:
    good = promote(desk)
    payload = parse_envelope(good).payload
    dice = random.Random(7)
    accepted = 0
    for at in range(0, len(good), apart):
        mutant = bytearray(good)
        mutant[at] = dice.choice([mutant[at] ^ (1 << dice.randrange(8)), dice.randrange(256)])
        accepted += accepted_only_if_identical(desk, bytes(mutant), payload)
    # The hint may change freely, so some are accepted: the check above was exercised.
    assert 10 < accepted * apart < len(good) / 10


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_structured_mutants_are_refused_or_the_same_decision(desk: Any, data: Any) -> None:
    good = promote(desk)
    payload = parse_envelope(good).payload
    mutant = good
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(mutant)))
        end = min(len(mutant), start + data.draw(st.integers(0, 40)))
        piece = data.draw(
            st.sampled_from(
                [b"", b" ", b'"', b"{}", b"[]", b"null", b"=", b"\\u0061", mutant[start:end] * 2]
            )
            | st.binary(max_size=8)
        )
        mutant = mutant[:start] + piece + mutant[end:]
    accepted_only_if_identical(desk, mutant, payload)
