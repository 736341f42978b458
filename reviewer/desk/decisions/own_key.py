"""A decision that is signed on another machine: prepared here, signed there with `ssh-keygen -Y
sign`, and stored here if the signature verifies over the payload that this store still derives."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.desk.decisions.choices import require_choice
from reviewer.desk.decisions.payload import (
    SignerStatement,
    decision_facts,
    refuse_duplicate,
    suites_of,
)
from reviewer.desk.decisions.signing import (
    find_decision,
    keep_signed,
    new_statement,
    require_intact,
    require_own,
    statement_of,
)
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.integrity.store_checks import require_payloads
from reviewer.desk.integrity.trust import approving, trusted
from reviewer.desk.labels.book import Book
from reviewer.desk.place import Workspace
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.views import SignedDecision, View
from reviewer.exit_codes import ExitCode
from reviewer.signing.dsse import ExternalSignature, pae
from reviewer.signing.errors import AttestError
from reviewer.signing.signers import Signers
from reviewer.signing.ssh import NAMESPACE, dearmored
from reviewer.suite.strict_json import sha256_hex

STAYS = timedelta(hours=1)
"""How long a prepared decision can be signed: its payload contains the time when it was made."""
FILE = "payload.pae"


class Prepared(View, frozen=True):
    """A decision for its person to sign: what they state, and the payload. `adds` is the reference
    of a decision that others have already signed, whose statements are then used."""

    suite_id: str
    candidate_id: str
    payload: bytes
    report_digest: str = ""
    told: SignerStatement | None = None
    adds: str = ""

    @property
    def signed_bytes(self) -> bytes:
        """The bytes that the key signs."""
        return pae(self.payload)

    @property
    def sha256(self) -> str:
        """The digest of `signed_bytes`, in hex digits."""
        return sha256_hex(self.signed_bytes)

    @property
    def command(self) -> str:
        """The command that signs `signed_bytes`, to be run in the folder where the file was
        saved."""
        return f"ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 {FILE}"


def prepare(
    workspace: Workspace,
    built: CandidateReport,
    book: Book,
    decision: str,
    comment: str,
    environment: str,
    name: str,
) -> Prepared:
    """Return a decision of the approver `name` on the report `built`, unsigned; nothing is written.
    Raises DeskError as signing does."""
    require_choice(built, decision, comment)
    signers = trusted(workspace)
    _require_approver(signers, name)
    connection = open_writer(workspace.store)
    try:
        require_intact(workspace, connection)
        refuse_duplicate(workspace, connection, built, signers, book, decision, environment, None)
        told = new_statement(workspace, connection, built, signers, decision, comment, environment)
        require_payloads(connection, suites_of(built))
        payload = statement_of(decision_facts(connection, built, told, signers, book))
    finally:
        close_writer(connection, workspace.store)
    found = built.gathered
    return Prepared(
        suite_id=found.suite.suite_id, candidate_id=found.candidate_id,
        report_digest=built.digest, told=told, payload=payload,
    )  # fmt: skip


def prepare_added(
    workspace: Workspace, connection: Connection, reference: str, name: str
) -> Prepared:
    """Return a decision that waits for one more signature, for the approver `name`. Raises
    DeskError when there is none, or no such approver."""
    _require_approver(trusted(workspace), name)
    found = find_decision(workspace, connection, reference)
    payload = found.one.found.envelope.payload
    return Prepared(
        suite_id=found.suite_id, candidate_id=found.candidate_id, payload=payload, adds=reference
    )


def sign_prepared(
    workspace: Workspace,
    built: CandidateReport,
    book: Book,
    prepared: Prepared,
    signature: bytes,
    name: str,
    keep: Callable[[], bool] | None = None,
) -> SignedDecision:
    """Store a prepared decision with the signature that `name` made.

    Raises DeskError for a missing signature, one by a key that is not an approver's of that name,
    one over other bytes, a decision that was signed meanwhile, changed evidence, and after more
    than an hour.
    """
    told = prepared.told
    assert told is not None  # only a decision that others signed has no statement
    if datetime.now(UTC) - told.created > STAYS:
        raise DeskError(
            f"the decision was prepared at {told.created:%H:%M}Z, more than an hour ago",
            "prepare it again",
        )
    require_choice(built, told.decision, told.comment)
    signers = trusted(workspace)
    try:
        signer = ExternalSignature(dearmored(signature))
        _ = signer.public  # a signature that names no trusted key is refused here
    except AttestError as error:
        raise refusal_of(error) from error
    who = approving(workspace, signers, signer, built.gathered)
    require_own(who, name)
    connection = open_writer(workspace.store)
    try:
        require_intact(workspace, connection)
        refuse_duplicate(
            workspace, connection, built, signers, book, told.decision, told.environment, None
        )
        now = new_statement(
            workspace, connection, built, signers, told.decision, told.comment, told.environment,
            told.created, told.journal_seq,
        )  # fmt: skip
        require_payloads(connection, suites_of(built))
        payload = statement_of(decision_facts(connection, built, now, signers, book))
        if payload != prepared.payload:
            raise DeskError(
                "the store changed after the decision was prepared",
                "read the report again, then prepare the decision again",
            )
        return keep_signed(workspace, connection, built, signers, who, now, payload, signer, keep)
    finally:
        close_writer(connection, workspace.store)


def _require_approver(signers: Signers, name: str) -> None:
    """Raise DeskError unless the trust file has an approver's key of this name."""
    if not any(one.principal == name for one in signers.with_role("approver")):
        raise DeskError(
            f"{name} is not an approver in store/signers",
            f"on that machine: reviewer keys trust {name} KEY.pub",
            exit_code=ExitCode.POLICY_NOT_MET,
        )
