"""Who of those that signed counts as an approver, and whether they suffice."""

from dataclasses import dataclass

from reviewer.signing.people import is_one_of
from reviewer.signing.predicate import Predicate
from reviewer.signing.trusted import Vouched

ROLE = "approver"


@dataclass(frozen=True)
class Approved:
    """`approvers` are distinct principals, never keys or signatures; `notes` say why a trusted
    signature does not count, `faults` why those that do are not enough."""

    approvers: tuple[str, ...]
    needed: int
    notes: tuple[str, ...]
    faults: tuple[str, ...]


def approved(predicate: Predicate, found: Vouched, threshold: int = 1) -> Approved:
    """PROMOTE needs max(its own threshold, `threshold`) approvers, BLOCK and REPAIR one.

    An approver is a principal of that role, named in the decision with the key that signed, and
    no author of the candidate.
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
            if one.principal in counted:
                notes.append(f"counted once: {one.principal}, who signed with several keys")
            if one in found.repeated:
                notes.append(f"counted once: {who}, who signed more than once")
            counted[one.principal] = None
    approvers = tuple(counted)
    return Approved(approvers, needed, tuple(notes), tuple(_faults(predicate, approvers, needed)))


def _faults(predicate: Predicate, approvers: tuple[str, ...], needed: int) -> list[str]:
    faults = []
    if len(approvers) < needed:
        who = f" ({', '.join(approvers)})" if approvers else ""
        faults.append(f"{len(approvers)} of {needed} approvals{who}")
    # With one reviewer this rule would forbid a desk of one; it belongs to the two-person rule.
    labelers = predicate.labels.labelers
    if needed > 1 and approvers and all(is_one_of(who, labelers) for who in approvers):
        faults.append("every approver also labeled; one must not have")
    faults += [
        f"{one.principal} is named as a reviewer and is an author of the candidate"
        for one in predicate.approvals.reviewers
        if is_one_of(one.principal, predicate.candidate.authors)
    ]
    return faults
