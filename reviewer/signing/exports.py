"""A decision in the forms that other programs read: one sigstore bundle per signer, PEM keys, the
signed bytes, SSH signatures, and a SLSA verification summary."""

import base64
import re
from typing import Any

import msgspec

from reviewer.signing.dsse import PAYLOAD_TYPE, Envelope, Signature
from reviewer.signing.errors import canonical
from reviewer.signing.predicate import STATEMENT_TYPE, Statement
from reviewer.signing.signers import Signers, TrustedKey
from reviewer.signing.ssh import KEY_TYPE, NAMESPACE, armored, holds, is_blob
from reviewer.suite.strict_json import sha256_hex

BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
VSA_TYPE = "https://slsa.dev/verification_summary/v1"
LEVEL = "AGENT_RELEASE_APPROVED"
SUMMARY = "verification-summary.json"


def export_files(
    envelope: Envelope, statement: Statement, manifest: bytes, trusted: Signers
) -> dict[str, bytes]:
    """Return file name → bytes. Signatures by keys that the trust file does not list are left out.

    `manifest` is the candidate's RFC 8785 bytes: their sha256 is the subject's, so that programs
    which hash a file find it.
    """
    files = {
        "candidate.json": manifest,
        "payload.json": envelope.payload,
        "payload.pae": envelope.signed_bytes,
        SUMMARY: canonical(verification_summary(statement, envelope), SUMMARY),
    }
    allowed = []
    for one in trusted.keys:
        signed = [x for x in envelope.signatures if holds(one.key, x.sig, envelope.signed_bytes)]
        if not signed:
            continue
        name = file_name(one)
        allowed.append(f'{one.principal} namespaces="{NAMESPACE}" {one.key.line()}\n')
        for signature in signed[:1]:
            files |= _signature_files(name, one, envelope, signature)
    files["allowed_signers"] = "".join(allowed).encode()
    return files


def file_name(signer: TrustedKey) -> str:
    """Return a principal as a part of a file name; with the key added where the name had to be
    changed."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", signer.principal)
    return name if name == signer.principal else f"{name}-{sha256_hex(signer.key.blob)[:8]}"


def bundle(envelope: Envelope, signature: Signature, keyid: str) -> dict[str, Any]:
    """Return a sigstore bundle v0.3 with one signature by a key (no certificate, no log entry)."""
    return {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": keyid}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": base64.b64encode(envelope.payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": base64.b64encode(signature.sig).decode(), "keyid": keyid}],
        },
    }


def verification_summary(statement: Statement, envelope: Envelope) -> dict[str, Any]:
    """Return the decision as a SLSA verification summary (VSA v1), derived from it alone."""
    predicate = statement.predicate
    promoted = predicate.decision == "PROMOTE"
    name, _, version = statement.subject[0].name.rpartition("@")
    uri = f"pkg:generic/{_quoted(name)}@{_quoted(version)}" if name else _generic(version)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [msgspec.to_builtins(statement.subject[0])],
        "predicateType": VSA_TYPE,
        "predicate": {
            "verifier": msgspec.to_builtins(predicate.verifier),
            "timeVerified": predicate.time_created,
            "resourceUri": uri,
            "policy": msgspec.to_builtins(predicate.policy),
            "inputAttestations": [{"digest": {"sha256": sha256_hex(envelope.payload)}}],
            "verificationResult": "PASSED" if promoted else "FAILED",
            "verifiedLevels": [LEVEL if promoted else "FAILED"],
        },
    }


def _signature_files(
    name: str, signer: TrustedKey, envelope: Envelope, signature: Signature
) -> dict[str, bytes]:
    if is_blob(signature.sig):
        return {f"{name}.pae.sig": armored(signature.sig).encode()}
    keyid = signer.key.keyid
    return {
        f"{name}.{KEY_TYPE}.sig": signature.sig,
        f"{name}.pem": signer.key.pem().encode(),
        f"{name}.sigstore.json": canonical(bundle(envelope, signature, keyid), "bundle"),
    }


def _generic(name: str) -> str:
    return f"pkg:generic/{_quoted(name)}"


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
