"""A folder of decisions: which of them is in force for a candidate, with a later BLOCK winning. A
payload states only what was decided when it was signed; only the other files show that a BLOCK came
later. So the highest number that approvers signed is in force, whatever its word, and a folder with
an untrusted file, with a gap, or with decisions that cannot be of one history (`journal`) is
rejected as a whole."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any

from msgspec import Struct, structs

from reviewer.exit_codes import ExitCode
from reviewer.signing.errors import AttestError, plain
from reviewer.signing.journal import history_faults, journal_of, read_witness, witness_faults
from reviewer.signing.manifests import agent_of
from reviewer.signing.predicate import Statement
from reviewer.signing.records import (
    BREAK_GLASS_TYPE,
    LOSS_TYPE,
    BreakGlassStatement,
    JournalLoss,
    break_glass_faults,
    break_glass_of,
    break_glass_words,
    journal_loss_faults,
    journal_loss_of,
    journal_loss_words,
)
from reviewer.signing.signers import Signers, TrustedKey, parse_signers
from reviewer.signing.trusted import (
    Manifest,
    VerifiedPayload,
    approved,
    check_subject,
    read_manifest,
    vouched,
)
from reviewer.signing.verify import (
    Pins,
    VerifyResult,
    decision_in,
    judged,
)


class _FiledDecision(Struct, frozen=True):
    """One decision of the folder; copies of the same payload count as one, with all signatures."""

    name: str
    digest: str
    statement: Statement
    found: VerifiedPayload

    @property
    def number(self) -> int:
        return self.statement.predicate.decision_seq

    @property
    def line(self) -> tuple[str, str]:
        """Return agent and environment, within which numbers rise and one decision follows
        another."""
        return agent_of(self.statement.subject[0].name), self.statement.predicate.environment


class _Folder(Struct, frozen=True):
    decisions: list[_FiledDecision]
    broken_glass: list[BreakGlassStatement]
    broken_digests: set[str]
    losses: dict[str, JournalLoss]

    @property
    def digests(self) -> set[str]:
        """Return the payloads of all decisions in it."""
        return {*(one.digest for one in self.decisions), *self.broken_digests, *self.losses}


def verify_folder(
    files: Mapping[str, bytes],
    candidate_manifest: bytes,
    signers_text: str,
    *,
    now: datetime,
    **pins: Any,
) -> VerifyResult:
    """Verify as `verify` does, by the newest decision about this candidate in `files` (by name).

    Without `environment` all decisions about it must be for the same one.
    """
    wanted = Pins(**pins)
    try:
        trusted = parse_signers(signers_text)
        about = read_manifest(candidate_manifest)
        folder = _read(files, trusted)
        return _newest(folder, trusted, about, wanted, now)
    except AttestError as error:
        return VerifyResult(ExitCode.INVALID, None, tuple(str(error).split("\n")))


def _read(files: Mapping[str, bytes], trusted: Signers) -> _Folder:
    decisions: dict[str, _FiledDecision] = {}
    broken, losses = {}, {}
    for name, data in sorted(files.items()):
        shown = plain(name)
        try:
            found = vouched(data, trusted)
            digest = sha256(found.envelope.payload).hexdigest()
            if found.body.get("predicateType") == BREAK_GLASS_TYPE:
                record = break_glass_of(found.body)
                if faults := break_glass_faults(record.predicate, found.by):
                    raise AttestError(faults[0])
                broken[digest] = record
                continue
            if found.body.get("predicateType") == LOSS_TYPE:
                loss = journal_loss_of(found.body).predicate
                if faults := journal_loss_faults(loss, found.by):
                    raise AttestError(faults[0])
                losses[digest] = loss
                continue
            filed = _FiledDecision(shown, digest, decision_in(found), found)
        except AttestError as error:
            raise AttestError(f"{shown}: {error}") from None
        twin = decisions.get(digest)
        decisions[digest] = filed if twin is None else _joined(twin, found.by)
    return _Folder(
        sorted(decisions.values(), key=lambda one: one.number),
        list(broken.values()),
        set(broken),
        dict(sorted(losses.items(), key=lambda one: (one[1].time_created, one[0]))),
    )


def _joined(one: _FiledDecision, more: Iterable[TrustedKey]) -> _FiledDecision:
    by = (*one.found.by, *(key for key in more if key not in one.found.by))
    return structs.replace(one, found=structs.replace(one.found, by=by))


def _newest(
    folder: _Folder, trusted: Signers, about: Manifest, pins: Pins, now: datetime
) -> VerifyResult:
    agent = agent_of(about.name)
    asked = [
        one
        for one in folder.decisions
        if one.line[0] == agent and pins.environment in (None, one.line[1])
    ]
    own = [one for one in asked if one.statement.subject[0].digest.sha256 == about.digest]
    for one in own:
        check_subject(one.statement.subject[0], one.statement.predicate.candidate, about)
    glass = _glass(folder.broken_glass, agent, pins, now)
    if not own:
        told = f"no decision about {about.name} (sha256 {about.digest}) is in this folder"
        return VerifyResult(
            ExitCode.NOT_PROMOTED if glass else ExitCode.POLICY_NOT_MET, None, (told, *glass)
        )
    if len({one.line for one in own}) > 1:
        names = ", ".join(sorted({one.line[1] for one in own}))
        told = f"policy not met: there are decisions for {names}: name the environment"
        return VerifyResult(ExitCode.POLICY_NOT_MET, None, (told, *glass))
    line = own[0].line
    chain = [one for one in asked if one.line == line]
    journals = {journal_of(one.statement) for one in chain}
    same = [one for one in folder.decisions if journal_of(one.statement) in journals]
    faults = _chain_faults(chain, folder.decisions) + history_faults(
        same, list(folder.losses.values())
    )
    if faults:
        lines = (*(f"policy not met: {fault}" for fault in faults), *glass)
        return VerifyResult(ExitCode.POLICY_NOT_MET, None, lines)
    notes, chosen = _signed(own, pins)
    if pins.witness is not None:
        seen = read_witness(pins.witness)
        faults = witness_faults(seen, same, chosen, folder.digests, folder.losses)
        if faults:
            lines = (*(f"policy not met: {fault}" for fault in faults), *notes, *glass)
            return VerifyResult(ExitCode.POLICY_NOT_MET, None, lines)
    found = judged(chosen.statement, chosen.found, trusted, about, pins, now)
    later = [one for one in chain if one.number > chosen.number and one not in own]
    notes += [
        f"note: decision {one.number} on {one.statement.subject[0].name} came later:"
        f" {one.statement.predicate.decision}"
        for one in later
    ]
    notes += [
        f"note: {words}"
        for loss in folder.losses.values()
        if loss.journal in journals
        for words in journal_loss_words(loss)
    ]
    return structs.replace(found, lines=(*found.lines, f"from {chosen.name}", *notes, *glass))


def _signed(own: list[_FiledDecision], pins: Pins) -> tuple[list[str], _FiledDecision]:
    """Return the highest number with enough approvers: a decision that still waits for a signature
    decides nothing, neither for a release nor against the previous decision."""
    notes: list[str] = []
    for one in reversed(own):
        who = approved(one.statement.predicate, one.found, pins.threshold or 1)
        if not who.faults:
            return notes, one
        notes.append(
            f"note: {one.name} decides nothing, number {one.number},"
            f" {one.statement.predicate.decision}: {'; '.join(who.faults)}"
        )
    return [], own[-1]


def _chain_faults(chain: list[_FiledDecision], filed: list[_FiledDecision]) -> list[str]:
    """Return faults for two decisions with one number, and for one that follows a missing decision
    or one that is not lower."""
    faults = []
    numbers = {one.digest: one.number for one in filed}
    for one, after in pairwise(chain):
        if one.number == after.number:
            faults.append(f"{one.name} and {after.name} are both decision {one.number}")
    for one in chain:
        before = one.statement.predicate.previous_decision
        if before is None:
            continue
        number = numbers.get(before.digest.sha256)
        if number is None:
            faults.append(
                f"{one.name} follows a decision (sha256 {before.digest.sha256}) that is not in"
                " this folder"
            )
        elif number >= one.number:
            faults.append(f"{one.name} follows decision {number}, which is not lower")
    return faults


def _glass(
    records: list[BreakGlassStatement], agent: str, pins: Pins, now: datetime
) -> tuple[str, ...]:
    shown = [
        one
        for one in sorted(records, key=lambda one: one.predicate.time_created)
        if agent_of(one.subject[0].name) == agent
        and pins.environment in (None, one.predicate.environment)
    ]
    return tuple(
        f"note: {line}"
        for one in shown
        for line in break_glass_words(one.predicate, one.subject[0].name, now)
    )
