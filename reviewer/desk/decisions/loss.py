"""Stating that journal was lost: signed by an approver, kept, and shown for ever after."""

import hashlib
import json
import platform
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from reviewer import __version__
from reviewer.db import journal
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.tables import LOSSES, LossRow
from reviewer.desk.decisions.facts import stamp
from reviewer.desk.decisions.kept import take
from reviewer.desk.decisions.signing import content_intact
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity import witness
from reviewer.desk.integrity.signed import gone_files
from reviewer.desk.integrity.trust import in_role, signing_key, trusted
from reviewer.desk.place import Workspace, write_private
from reviewer.exit_codes import ExitCode
from reviewer.signing.dsse import parse_envelope
from reviewer.signing.errors import AttestError
from reviewer.signing.journal import ROLE, JournalLossFacts, build_journal_loss
from reviewer.signing.keys import Signer
from reviewer.signing.sign import sign_payload


class Stated(NamedTuple):
    """A statement that is kept: its file, who signed it, what it says, and the signed files that it
    is about."""

    path: str
    principal: str
    lost_seq: int
    kept_seq: int
    files: tuple[str, ...]


def state_loss(
    workspace: Workspace, key: str, reason: str, passphrase: str | None = None
) -> Stated:
    """Sign that this store goes on from where it stands, and keep that. Signed decisions that it
    names are taken in, as far as the store knows what they are about.

    Raises DeskError: no reason, nothing that shows a loss, a key without the role `approver`, a
    store that contradicts itself.
    """
    if not reason.strip():
        raise DeskError("a loss needs a reason", "--reason says why", exit_code=ExitCode.USAGE)
    signers = trusted(workspace)
    signer = signing_key(key, passphrase)
    who = in_role(workspace, signers, signer, ROLE)
    connection = open_writer(workspace.store)
    try:
        content_intact(connection)
        gone = gone_files(workspace, connection, signers)
        unseen = witness.gone(workspace, connection)
        if not gone and not unseen:
            raise DeskError(
                "nothing shows that this store lost any of its journal: there is nothing to state",
                "reviewer doctor says how it stands",
                exit_code=ExitCode.USAGE,
            )
        lost = max([one.seq for one in gone] + [one.seq for one in unseen])
        digests = {one.digest for one in gone} | {one.signed for one in unseen if one.signed}
        row = _signed(connection, lost, digests, reason, signer, who.principal, who.key.keyid)
        write_private(workspace.decisions / row.file, row.envelope)
        LOSSES.record(connection, workspace.store, [row], row.at)
        witness.add(workspace, connection, "loss", row.uid)
    except AttestError as error:
        raise DeskError(str(error)) from error
    finally:
        close_writer(connection, workspace.store)
    for one in gone:
        with suppress(DeskError):  # what is about nothing here stays a file beside
            take(workspace, one.path)
    path = str(workspace.decisions / row.file)
    files = tuple(one.path.name for one in gone)
    return Stated(path, row.principal, row.lost_seq, row.kept_seq, files)


def _signed(
    connection: Connection,
    lost_seq: int,
    digests: set[str],
    reason: str,
    signer: Signer,
    principal: str,
    keyid: str,
) -> LossRow:
    head, created = journal.head(connection), stamp(datetime.now(UTC))
    lost = tuple(sorted(digests))
    facts = JournalLossFacts(
        created=created,
        reason=reason.strip(),
        principal=principal,
        keyid=keyid,
        tool_version=__version__,
        python_version=platform.python_version(),
        journal=journal.uri(connection),
        lost_seq=lost_seq,
        kept_seq=head.seq,
        kept_head=head.hash.hex(),
        decisions=lost,
    )
    envelope = sign_payload(build_journal_loss(facts), signer)
    uid = hashlib.sha256(parse_envelope(envelope).payload).hexdigest()
    return LossRow(
        uid=uid,
        journal=facts.journal,
        lost_seq=facts.lost_seq,
        kept_seq=facts.kept_seq,
        decisions=json.dumps(lost),
        principal=principal,
        reason=facts.reason,
        at=created,
        file=f"loss-{uid[:12]}.dsse.json",
        envelope=envelope,
    )
