"""Split integrity: search data that a candidate may have learned from for frozen episodes.

Each search of a file is stored with what it found and what it could not read. Of the file only its
digest, its masked name, and the places of the episodes are stored.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.tables import LEAKS as TABLE
from reviewer.db.tables import LeakRow
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.imports import record_files
from reviewer.desk.imports.importing import clock
from reviewer.desk.imports.record_files import RecordKind
from reviewer.desk.place import Workspace
from reviewer.desk.suites import ready_suite
from reviewer.exit_codes import ExitCode
from reviewer.importing.pipeline.opening import Text, texts_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.report import evidence
from reviewer.review.lines import age
from reviewer.review.records import LEAKS, Leak, with_withdrawals
from reviewer.review.records import LeakCheck as LeakCheck
from reviewer.review.records import Look as Look
from reviewer.stats.text import KnownTexts, Match, missed
from reviewer.suite.candidate import candidate_value
from reviewer.suite.errors import ContractError
from reviewer.suite.model import RedactionRules, Suite
from reviewer.trace.redaction import Redactor, redactor_of

MOST_POINTER = 200
_RANK = {"exact": 0, "inside": 1, "near": 2}

OnText = Callable[[Path, int], None]


class UnreadFile(msgspec.Struct, frozen=True):
    """A file that could not be searched, and why."""

    file: str
    problem: str


def search_files(
    workspace: Workspace,
    files: Sequence[Path],
    suite_ids: Sequence[str],
    candidate_id: str,
    threshold: float,
    reviewer: str,
    keep: bool = True,
    on_text: OnText = lambda path, texts: None,
) -> tuple[list[LeakCheck], list[UnreadFile]]:
    """Search each file for the episodes of each suite; with `keep`, the results are durable when
    this returns. A file that cannot be read is reported, and the others are searched.

    Raises DeskError for a suite that may not be used or has no request to search for, and for a
    threshold out of range.
    """
    frozen = [_suite(workspace, suite_id) for suite_id in suite_ids]
    try:
        known = {suite.suite_id: KnownTexts(_requests(suite), threshold) for suite in frozen}
    except ValueError as error:
        raise DeskError(
            f"--threshold: {error}",
            "name a share, such as --threshold 0.7",
            exit_code=ExitCode.USAGE,
        ) from None
    found: list[LeakCheck] = []
    refused: list[UnreadFile] = []
    for path in files:
        try:
            found += _looked(path, frozen, known, candidate_id, reviewer, on_text)
        except Unreadable as error:
            refused.append(UnreadFile(_masked(frozen).masked(str(path)), str(error)))
        except OSError as error:
            why = f"cannot be read: {error.strerror}"
            refused.append(UnreadFile(_masked(frozen).masked(str(path)), why))
    if keep:
        found = _kept(workspace, found)
    return found, refused


def withdraw(workspace: Workspace, uid: str, reason: str, reviewer: str) -> LeakCheck:
    """Withdraw a search, with a reason: durable when this returns. `uid` may be its first
    characters.

    Raises DeskError when no search or several have this id, without a reason, and for an author of
    the candidate whose data was searched.
    """
    looks = all_searches(workspace)
    named = [one for one in looks if uid and one.check.uid.startswith(uid)]
    if len(named) != 1:
        what = "several checks have" if named else "no check has"
        raise DeskError(f"{what} the id {uid!r}", "reviewer suite leaks --list shows them")
    one = named[0]
    if one.withdrawn and _is_one_of(reviewer, [one.withdrawn_by]):
        raise DeskError(
            f"{uid} was withdrawn by {one.withdrawn_by}: {one.withdrawn}",
            "reviewer suite leaks --list shows which ones count",
        )
    check = one.check
    if not check.leaks:
        raise DeskError(
            f"{uid} found no leak, so it holds no release", "there is nothing to withdraw"
        )
    if check.candidate_id and _is_one_of(reviewer, _authors(workspace, check)):
        raise DeskError(
            f"{reviewer} is an author of {check.candidate_id}, and nobody judges their own work",
            "somebody else withdraws it (--reviewer NAME)",
        )
    made = LeakCheck(
        suite_id=check.suite_id,
        suite_digest=check.suite_digest,
        candidate_id=check.candidate_id,
        withdraws=check.uid,
        reason=redactor_of(_rules(workspace, check.suite_id)).masked(reason.strip()),
        reviewer=reviewer,
        at=clock(),
    )
    return _kept(workspace, [made])[0]


def all_searches(workspace: Workspace) -> list[Look]:
    """Return every search in the store, by time."""
    if not workspace.store.exists():
        return []
    connection = open_writer(workspace.store)
    try:
        found = [
            one for digest in TABLE.suites(connection) for one in searches_of(connection, digest)
        ]
        return sorted(found, key=lambda one: age(one.check))
    finally:
        close_writer(connection, workspace.store)


def _is_one_of(who: str, names: Iterable[str]) -> bool:
    from reviewer.signing.signers import is_one_of

    return is_one_of(who, names)


def _authors(workspace: Workspace, check: LeakCheck) -> tuple[str, ...]:
    connection = open_writer(workspace.store)
    try:
        suite = registry.suite_row(connection, check.suite_id)
        row = suite and registry.candidate_row(connection, suite.id, check.candidate_id)
        if not row or row.manifest is None:
            return ()
        return candidate_value(json.loads(row.manifest), "").authors
    finally:
        close_writer(connection, workspace.store)


def searches_of(
    connection: Connection,
    suite_digest: str,
    candidate_ids: Collection[str] = (),
    authors: Sequence[str] = (),
) -> tuple[Look, ...]:
    """Return the searches for a suite's episodes that concern a candidate under one of these ids
    (all without ids), by time. What the candidate's authors withdraw still counts."""
    book = LeakBook().of(connection, suite_digest)
    return with_withdrawals(
        (one for one in book if not candidate_ids or one.candidate_id in ("", *candidate_ids)),
        lambda who: not _is_one_of(who, authors),
    )


def split_evidence(
    connection: Connection,
    suite_digest: str,
    candidate_ids: Collection[str],
    authors: Sequence[str],
) -> tuple[evidence.Look, ...]:
    """Return the searches for a suite's episodes that concern a candidate with these authors, as a
    report shows them."""
    return tuple(
        evidence.Look(
            reviewer=one.check.reviewer,
            at=one.check.at,
            candidate_id=one.check.candidate_id,
            file=one.check.file,
            sha256=one.check.sha256,
            records=one.check.records,
            unread=one.check.unread,
            texts=one.check.texts,
            threshold=one.check.threshold,
            missed=one.check.missed,
            compared=one.check.compared,
            short=one.check.short,
            silent=one.check.silent,
            leaks=tuple(
                evidence.Leak(
                    episode_id=leak.episode_id,
                    kind=leak.kind,
                    jaccard=leak.jaccard,
                    record=leak.record,
                    pointer=leak.pointer,
                    times=leak.times,
                )
                for leak in one.check.leaks
            ),
            uid=one.check.uid,
            withdrawn=one.withdrawn,
            withdrawn_by=one.withdrawn_by,
        )
        for one in searches_of(connection, suite_digest, candidate_ids, authors)
    )


class LeakBook:
    """Every search and withdrawal of a suite, read again each time: there are few."""

    def of(self, connection: Connection, suite_digest: str) -> Iterator[LeakCheck]:
        for row in TABLE.of_suite(connection, suite_digest):
            check = LEAKS.stored(row.body)
            yield msgspec.structs.replace(check, uid=LEAKS.uid_of(check))


class LeakBorder:
    """The rule for searches of another store: accepted unchanged, since each names its suite by
    digest."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        del connection
        self._workspace = workspace

    def admitted(self, check: LeakCheck, place: str) -> LeakCheck:
        """Return the search. Raises ContractError when it contains an identifier."""
        rules = redactor_of(_rules(self._workspace, check.suite_id))
        texts = [("file", check.file), ("reason", check.reason), ("reviewer", check.reviewer)]
        texts += [(f"leaks[{n}].pointer", leak.pointer) for n, leak in enumerate(check.leaks)]
        for member, why in record_files.identifier_problems(rules.masked, texts):
            raise ContractError(place, member, why)
        return check


def _row(check: LeakCheck) -> LeakRow:
    return LeakRow(check.uid, check.suite_digest, check.at, LEAKS.content(check))


KIND: RecordKind[LeakCheck, LeakRow] = RecordKind("leak-check", LEAKS, TABLE, _row, LeakBorder)


def _kept(workspace: Workspace, found: Iterable[LeakCheck]) -> list[LeakCheck]:
    try:
        sealed = [LEAKS.seal(one) for one in found]
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.USAGE) from error
    connection = open_writer(workspace.store)
    try:
        TABLE.record(connection, workspace.store, [_row(one) for one in sealed], clock())
    finally:
        close_writer(connection, workspace.store)
    return sealed


def _suite(workspace: Workspace, suite_id: str) -> Suite:
    suite = ready_suite(workspace, None, suite_id).suite
    if not _requests(suite):
        raise DeskError(
            f"{suite_id}: no episode has a user_request to look for",
            "name another suite with --suite, or leave it out to check every frozen suite",
        )
    return suite


def _rules(workspace: Workspace, suite_id: str) -> RedactionRules:
    return ready_suite(workspace, None, suite_id).suite.redaction


def _masked(frozen: Sequence[Suite]) -> Redactor:
    return redactor_of(frozen[0].redaction)


def _requests(suite: Suite) -> dict[str, str]:
    return {e.episode_id: e.user_request for e in suite.episodes if e.user_request.strip()}


def _looked(
    path: Path,
    frozen: Sequence[Suite],
    known: dict[str, KnownTexts],
    candidate_id: str,
    reviewer: str,
    on_text: OnText,
) -> list[LeakCheck]:
    with path.open("rb") as handle:
        sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
    seen = _FileMatches(known)
    for text in texts_of(path):
        seen.take(text)
        if seen.texts % 1000 == 0:
            on_text(path, seen.texts)
    if not seen.texts:
        raise Unreadable("no record in it could be read" if seen.unread else "no text in it")
    at = clock()
    return [
        LeakCheck(
            suite_id=suite.suite_id,
            suite_digest=suite.digest,
            candidate_id=candidate_id,
            file=redactor_of(suite.redaction).masked(str(path)),
            sha256=sha256,
            records=len(seen.records),
            unread=seen.unread,
            texts=seen.texts,
            threshold=known[suite.suite_id].threshold,
            missed=_missed(known[suite.suite_id]),
            compared=len(known[suite.suite_id].compared),
            short=len(_requests(suite)) - len(known[suite.suite_id].compared),
            silent=len(suite.episodes) - len(_requests(suite)),
            leaks=seen.leaks(suite.suite_id, redactor_of(suite.redaction)),
            reviewer=reviewer,
            at=at,
        )
        for suite in frozen
    ]


def _missed(known: KnownTexts) -> float:
    return round(missed(known.threshold, known.bands, known.rows), 6)


class _FileMatches:
    """The matches in one file so far."""

    def __init__(self, known: dict[str, KnownTexts]) -> None:
        self._known = known
        self._best: dict[tuple[str, str], tuple[Match, Text]] = {}
        self._times: dict[tuple[str, str], int] = {}
        self.records = range(0)
        self.unread = self.texts = 0

    def take(self, text: Text) -> None:
        self.records = range(text.record)
        if text.problem:
            self.unread += 1
            return
        self.texts += 1
        for suite_id, known in self._known.items():
            for match in known.find(text.text):
                place = suite_id, match.key
                self._times[place] = self._times.get(place, 0) + 1
                best = self._best.get(place)
                if best is None or _worth(match) < _worth(best[0]):
                    self._best[place] = match, text

    def leaks(self, suite_id: str, rules: Redactor) -> tuple[Leak, ...]:
        """Return the episodes of one suite that were found, the strongest match first."""
        mine = [(found, place) for place, found in self._best.items() if place[0] == suite_id]
        mine.sort(key=lambda each: (_worth(each[0][0]), each[1][1]))
        return tuple(
            Leak(
                episode_id=match.key,
                kind=match.kind,
                jaccard=round(match.jaccard, 4),
                record=text.record,
                pointer=rules.masked(text.pointer)[:MOST_POINTER],
                times=self._times[place],
            )
            for (match, text), place in mine
        )


def _worth(match: Match) -> tuple[int, float]:
    return _RANK[match.kind], -match.jaccard
