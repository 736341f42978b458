"""The first steps of every check: form of the envelope, then signatures by trusted keys over the
very bytes, then whether enough approvers are among them.

Nothing in a payload is looked at before a trusted key vouches for it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from reviewer.signing.dsse import Envelope, parse_envelope
from reviewer.signing.errors import AttestError, StatementError, load_object, plain
from reviewer.signing.manifests import candidate_view, manifest_digest, subject_name
from reviewer.signing.predicate import CandidateView, NamedResource, Predicate
from reviewer.signing.signers import Signers, TrustedKey, is_one_of
from reviewer.signing.ssh import holds, is_blob
from reviewer.signing.statement import read_body

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MOST_EXPLAINED = 4


class VerifiedPayload(Struct, frozen=True):
    """A payload that at least one trusted key signed; `by` has each such key once, independent of
    keyids, in the order of the trust file, and `repeated` those that signed more than once. `body`
    is the document in it, of any shape."""

    envelope: Envelope
    by: tuple[TrustedKey, ...]
    repeated: tuple[TrustedKey, ...]
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return its predicateType, safe to draw."""
        return plain(self.body.get("predicateType", "none"))


class Manifest(Struct, frozen=True):
    """The manifest a check is about: what a statement must say of its candidate."""

    name: str
    digest: str
    view: dict[str, Any]


def vouched(data: bytes, trusted: Signers) -> VerifiedPayload:
    """Verify an envelope. AttestError unless `data` is one with a trusted signature around a JSON
    object."""
    envelope = parse_envelope(data)
    message = envelope.signed_bytes
    times = {
        one: sum(holds(one.key, signature.sig, message) for signature in envelope.signatures)
        for one in trusted.keys
    }
    by = tuple(one for one, count in times.items() if count)
    if not by:
        raise AttestError(
            f"none of {len(envelope.signatures)} signature(s) is valid by a key of the trust file"
            f" ({'; '.join(_why_not(envelope, trusted))})"
        )
    repeated = tuple(one for one, count in times.items() if count > 1)
    return VerifiedPayload(envelope, by, repeated, read_body(envelope.payload))


def _why_not(envelope: Envelope, trusted: Signers) -> Iterator[str]:
    """Yield what is known of the first signatures that do not count. A hint for people: nothing is
    decided by it."""
    for number, signature in enumerate(envelope.signatures[:MOST_EXPLAINED], 1):
        named = trusted.by_keyid(signature.keyid or "")
        if is_blob(signature.sig):
            yield (
                f"signature {number}: an SSH signature that does not verify, or was made for "
                "another purpose"
            )
        elif any(one.key.verifies(signature.sig, envelope.payload) for one in trusted.keys):
            yield f"signature {number}: covers the bare payload instead of its DSSE encoding"
        elif named is not None:
            yield (
                f"signature {number}: names the key of {named.principal}, which did not sign "
                "these bytes"
            )
        elif signature.keyid:
            yield f"signature {number}: names {plain(signature.keyid)}, which is not trusted"
        else:
            yield f"signature {number}: names no key"


def read_manifest(file: bytes) -> Manifest:
    """Return the candidate manifest in a JSON file. AttestError."""
    if len(file) > MAX_MANIFEST_BYTES:
        raise StatementError(f"candidate manifest: {len(file)} bytes is too large")
    manifest = load_object(file, "candidate manifest")
    return Manifest(subject_name(manifest), manifest_digest(manifest), candidate_view(manifest))


def check_subject(subject: NamedResource, view: CandidateView, manifest: Manifest) -> None:
    """StatementError unless the statement is about this manifest and copies it rightly."""
    if subject.digest.sha256 != manifest.digest:
        raise StatementError(
            f"subject: this decision is about {subject.name} (sha256 {subject.digest.sha256}),"
            f" not about this manifest (sha256 {manifest.digest})"
        )
    if subject.name != manifest.name:
        raise StatementError(f"subject: named {subject.name}, which is not the manifest's name")
    if msgspec.to_builtins(view) != manifest.view:
        raise StatementError("predicate.candidate: does not match the manifest")


ROLE = "approver"


class ApprovalCount(Struct, frozen=True):
    """`approvers` are distinct principals, never keys or signatures; `notes` say why a trusted
    signature does not count, `faults` why those that do are not enough."""

    approvers: tuple[str, ...]
    needed: int
    notes: tuple[str, ...]
    faults: tuple[str, ...]


def approved(predicate: Predicate, found: VerifiedPayload, threshold: int = 1) -> ApprovalCount:
    """Count the approvers. PROMOTE needs max(its own threshold, `threshold`) approvers, BLOCK and
    REPAIR one.

    An approver is a principal of that role, named in the decision with the key that signed, and
    no author of the candidate. One person counts once, however the name is spelled.
    """
    needed = 1
    if predicate.decision == "PROMOTE":
        needed = max(predicate.approvals.threshold, threshold)
    named = {(one.principal, one.keyid) for one in predicate.approvals.reviewers}
    counted: dict[str, None] = {}
    notes = []
    for one in found.by:
        who = f"{one.principal} ({one.key.keyid})"
        if ROLE not in one.roles:
            notes.append(f"not counted: {who} is not an approver")
        elif is_one_of(one.principal, predicate.candidate.authors):
            notes.append(f"not counted: {who} is an author of the candidate")
        elif (one.principal, one.key.keyid) not in named:
            notes.append(f"not counted: {who} is not named as a reviewer of this decision")
        else:
            known = _counted_as(one.principal, counted)
            if known == one.principal:
                notes.append(f"counted once: {one.principal}, who signed with several keys")
            elif known is not None:
                notes.append(f"counted once: {one.principal}, who is {known} in another spelling")
            if one in found.repeated:
                notes.append(f"counted once: {who}, who signed more than once")
            counted[known or one.principal] = None
    approvers = tuple(counted)
    return ApprovalCount(
        approvers, needed, tuple(notes), tuple(_faults(predicate, approvers, needed))
    )


def _counted_as(principal: str, counted: Iterable[str]) -> str | None:
    """Return the name under which this person is counted already."""
    for name in counted:
        if is_one_of(principal, [name]) or is_one_of(name, [principal]):
            return name
    return None


def _faults(predicate: Predicate, approvers: tuple[str, ...], needed: int) -> list[str]:
    faults = []
    if len(approvers) < needed:
        who = f" ({', '.join(approvers)})" if approvers else ""
        faults.append(f"{len(approvers)} of {needed} approvals{who}")
    # With one reviewer this rule would forbid a desk of one; it belongs to the two-person rule.
    labelers = list(predicate.labels.labelers)
    for suite in predicate.release.suites if predicate.release is not None else ():
        labelers += suite.labelers
    if needed > 1 and approvers and all(is_one_of(who, labelers) for who in approvers):
        faults.append("every approver also labeled; at least one must not have labeled")
    faults += [
        f"{one.principal} is named as a reviewer and is an author of the candidate"
        for one in predicate.approvals.reviewers
        if is_one_of(one.principal, predicate.candidate.authors)
    ]
    return faults
