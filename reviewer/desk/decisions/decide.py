"""The first signature under a decision: it fixes what everybody signs.

Re-derived, signed, verified as a stranger would, and only then kept.
"""

import platform
from datetime import UTC, datetime

from reviewer import __version__
from reviewer.db import journal
from reviewer.db.connection import close_writer
from reviewer.db.migrate import open_writer
from reviewer.desk.decisions.checks import as_a_stranger, intact
from reviewer.desk.decisions.choices import ENVIRONMENT, may_decide
from reviewer.desk.decisions.facts import Told, decision_facts
from reviewer.desk.decisions.rederive import refuse_twin
from reviewer.desk.decisions.views import Signed
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import decision_files as decision_book
from reviewer.desk.integrity import witness
from reviewer.desk.integrity.trust import approving, signing_key, trusted
from reviewer.desk.labels.book import Book
from reviewer.desk.place import Workspace
from reviewer.desk.reports.reports import Built
from reviewer.signing.errors import AttestError
from reviewer.signing.facts import agent_of, subject_name
from reviewer.signing.sign import sign_statement
from reviewer.signing.statement import build_statement


def sign(
    workspace: Workspace,
    built: Built,
    book: Book,
    decision: str,
    key: str,
    comment: str = "",
    passphrase: str | None = None,
    environment: str = ENVIRONMENT,
) -> Signed:
    """Sign what `built` reports, check the signature as a stranger would, then keep it.

    Where the policy wants more people, the decision waits for them. Nothing is written until the
    signed bytes have verified. Raises DeskError: unknown key, an author of the candidate, PROMOTE
    that the report does not recommend, the same decision waiting already, a store that changed, a
    refused signature.
    """
    may_decide(built, decision, comment)
    signers = trusted(workspace)
    signer = signing_key(key, passphrase)
    who = approving(workspace, signers, signer, built)
    agent = agent_of(subject_name(built.gathered.manifest or {}))
    connection = open_writer(workspace.store)
    try:
        intact(workspace, connection)
        refuse_twin(workspace, connection, built, signers, book, decision, environment)
        others = decision_book.elsewhere(workspace, connection, signers)
        now = datetime.now(UTC).replace(microsecond=0)
        told = Told(
            decision=decision,
            number=decision_book.next_number(connection, others),
            previous=decision_book.before(connection, others, agent, environment),
            created=now,
            environment=environment,
            comment=comment,
            tool_version=__version__,
            python_version=platform.python_version(),
            journal_seq=journal.head(connection).seq,
        )
        facts = decision_facts(connection, built, told, signers, book)
        path = decision_book.file_of(workspace, told.number, decision, built.gathered.candidate_id)
        try:
            envelope = sign_statement(build_statement(facts), signer)
            one = decision_book.filed(path, envelope, signers)
        except AttestError as error:
            raise DeskError(str(error)) from error
        checked = as_a_stranger(workspace, built, envelope, now)
        keys = decision_book.keys_of(connection, built)
        row = decision_book.keep(workspace, connection, one, keys, facts.created)
        witness.add(workspace, connection, "decision", row.payload_sha256)
        return decision_book.told(workspace, connection, row, who, checked)
    finally:
        close_writer(connection, workspace.store)
