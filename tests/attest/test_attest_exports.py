"""Decisions written for other programs: a summary that follows from them, one bundle a signer."""

import base64
import hashlib
import json
from typing import Any

import pytest
from attest_desk import Desk
from ssh_blobs import plain_blob

from reviewer.signing.dsse import Envelope, Signature, parse_envelope
from reviewer.signing.errors import canonical
from reviewer.signing.exports import export_files, file_name
from reviewer.signing.signers import parse_signers
from reviewer.signing.ssh import dearmored
from reviewer.signing.statement import build_statement, read_statement

ALICE, BOB = "alice@example.com", "bob@example.com"


def exported(desk: Desk, payload: bytes, *names: str, more: tuple[Signature, ...] = ()) -> Any:
    parsed = parse_envelope(desk.envelope(payload, *names))
    envelope = Envelope(parsed.payload, (*parsed.signatures, *more))
    manifest = canonical(desk.manifest, "manifest")
    trusted = parse_signers(desk.trust)
    return export_files(envelope, read_statement(payload), manifest, trusted)


@pytest.mark.parametrize("decision", ["PROMOTE", "BLOCK", "REPAIR"])
def test_the_summary_is_a_vsa_that_follows_from_the_decision(desk: Desk, decision: str) -> None:
    facts = desk.facts() if decision == "PROMOTE" else desk.blocked(decision=decision)
    payload = build_statement(facts)
    summary = json.loads(exported(desk, payload, ALICE)["verification-summary.json"])
    assert summary["_type"] == "https://in-toto.io/Statement/v1"
    assert summary["predicateType"] == "https://slsa.dev/verification_summary/v1"
    assert summary["subject"] == json.loads(payload)["subject"]
    predicate = summary["predicate"]
    assert predicate["resourceUri"] == "pkg:generic/refund-agent@v8"
    passed = decision == "PROMOTE"
    assert predicate["verificationResult"] == ("PASSED" if passed else "FAILED")
    assert predicate["verifiedLevels"] == ["AGENT_RELEASE_APPROVED" if passed else "FAILED"]
    assert not any(level.startswith("SLSA_") for level in predicate["verifiedLevels"])
    digest = hashlib.sha256(payload).hexdigest()
    assert predicate["inputAttestations"] == [{"digest": {"sha256": digest}}]
    assert predicate["policy"]["digest"]["sha256"] == facts.policy_sha256
    assert set(predicate) >= {"verifier", "timeVerified", "policy"}


def test_each_signer_has_a_bundle_with_one_signature(desk: Desk) -> None:
    payload = build_statement(desk.facts(threshold=2))
    files = exported(desk, payload, ALICE, BOB, "mallory")
    assert sorted(name for name in files if name.endswith(".sigstore.json")) == [
        f"{file_name(one)}.sigstore.json" for one in parse_signers(desk.trust).keys[:2]
    ]
    for one in parse_signers(desk.trust).keys[:2]:
        name = file_name(one)
        bundle = json.loads(files[f"{name}.sigstore.json"])
        assert bundle["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
        material = bundle["verificationMaterial"]
        assert material == {"publicKey": {"hint": one.key.keyid}, "tlogEntries": []}
        (signature,) = bundle["dsseEnvelope"]["signatures"]
        assert base64.b64decode(signature["sig"]) == files[f"{name}.ssh-ed25519.sig"]
        assert one.key.verifies(files[f"{name}.ssh-ed25519.sig"], files["payload.pae"])
        assert files[f"{name}.pem"].decode() == one.key.pem()
    assert b"mallory" not in b"".join(files.values())
    assert hashlib.sha256(files["candidate.json"]).hexdigest() == desk.facts().candidate_sha256


def test_an_ssh_signature_comes_out_as_ssh_keygen_wrote_it(desk: Desk) -> None:
    payload = build_statement(desk.facts(threshold=2))
    bob = desk.signer(BOB)
    message = parse_envelope(desk.envelope(payload, ALICE)).signed_bytes
    blob = plain_blob(bob, message)
    files = exported(desk, payload, ALICE, more=(Signature(blob, bob.public.keyid),))
    (name,) = (file_name(one) for one in parse_signers(desk.trust).keys if one.principal == BOB)
    assert dearmored(files[f"{name}.pae.sig"]) == blob
    assert f"{name}.sigstore.json" not in files
    lines = files["allowed_signers"].decode().splitlines()
    assert [line.split()[0] for line in lines] == [ALICE, BOB]
    assert all('namespaces="agent-release-decision@reviewer.dev"' in line for line in lines)


def test_a_name_that_is_no_file_name_is_told_apart_by_its_key(desk: Desk) -> None:
    one, two = (parse_signers(desk.trust).keys[at] for at in (0, 1))
    assert file_name(one) != file_name(two)
    assert "@" not in file_name(one)
