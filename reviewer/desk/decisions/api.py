"""Decisions: what may be signed, signing alone or with others, and the other signed statements."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.opened import Room, refused
from reviewer.desk.views import Reason, Recommendation, View
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.decisions.own_key import Prepared
    from reviewer.desk.decisions.run_results import SignedRunResult
    from reviewer.desk.decisions.statements import LossStatement
    from reviewer.desk.reports.api import CandidateReport
    from reviewer.desk.reports.release import BuiltRelease
    from reviewer.desk.views import KeyInfo, SignedDecision
    from reviewer.report.render.gates import BoundRow, GateRow
    from reviewer.report.render.text import Line
    from reviewer.suite.release import Release


class Choice(View, frozen=True):
    """One decision that may be signed, or why it may not. `adds` is the number of a decision that
    waits for another signature, None for a new decision."""

    decision: str
    open: bool
    why: str
    adds: int | None = None


class Pending(View, frozen=True):
    """A decision on this candidate that waits for another signature. `signers` have signed it,
    `needed` signatures are required; `differs` lists the fields that differ from what this store
    would now sign."""

    number: int
    decision: str
    signers: tuple[str, ...]
    needed: int
    environment: str
    created: str
    expires: str
    comment: str
    path: str
    differs: tuple[str, ...] = ()


class EarlierDecision(View, frozen=True):
    """A decision, or a break-glass record (`number` None), that was signed on this candidate.
    `state` is stands, superseded by N, expired, waits for a signature, break-glass, or that its
    signature does not verify (`sound` False)."""

    number: int | None
    word: str
    signers: tuple[str, ...]
    environment: str
    created: str
    expires: str
    state: str
    comment: str
    path: str
    report_digest: str = ""
    sound: bool = True


class CheckedDecision(View, frozen=True):
    """The verifier's result for the file of one earlier decision, in a word and in `lines`. An
    expired decision was valid on the day it was made."""

    number: int | None
    word: str
    says: Literal["verified", "waits", "expired", "refused"]
    lines: tuple[str, ...]
    report_digest: str = ""


class DecisionInfo(View, frozen=True):
    """One line of the list of signed statements: a decision, or a break-glass record (`number`
    None). `standing` is signed, pending, elsewhere (a file that this store did not sign) or
    break-glass."""

    number: int | None
    word: str
    suite_id: str
    candidate_id: str
    environment: str
    standing: str
    signers: tuple[str, ...]
    created: str
    expires: str
    text: str
    path: str


class DecisionView(View, frozen=True):
    """The report as it would be signed, with the possible decisions.

    `sections` are (mark, name, text) lines, those against the candidate first; `gates` and `bounds`
    have a row for each hard gate and each bound. `markdown` and `report_json` are exactly the
    exported renderings.
    """

    suite_id: str
    candidate_id: str
    recommendation: Recommendation
    reasons: tuple[Reason, ...]
    sections: tuple[tuple[str, str, str], ...]
    report_digest: str
    report_json: bytes
    markdown: str
    choices: tuple[Choice, ...]
    preselected: str | None
    candidate_digest: str | None
    suite_digest: str
    journal_seq: int
    journal_head: str
    decided: str | None
    exit_code: int
    environment: str = "production"
    valid_days: int = 7
    pending: Pending | None = None
    needed: int = 1
    earlier: tuple[EarlierDecision, ...] = ()
    gates: tuple[GateRow, ...] = ()
    bounds: tuple[BoundRow, ...] = ()


class SuiteLine(NamedTuple):
    """One line about a suite: a mark as of `sections`, a name, a text."""

    mark: str
    name: str
    text: str


class SuiteStanding(View, frozen=True):
    """How bad agents fare on a suite, and how often its policy is wrong: the first line of each
    part is a headline, the others explain it."""

    trial: tuple[SuiteLine, ...]
    power: tuple[SuiteLine, ...]


_WEIGHT = ("critical", "fail", "not_measured")


def _weight(line: Line) -> int:
    """Return the place of a section: sections against the candidate come first."""
    return _WEIGHT.index(line.mark) if line.mark in _WEIGHT else len(_WEIGHT)


class DecisionsRoom(Room):
    """The API of `desk.decisions`."""

    def view(self, suite_id: str, candidate_id: str, baseline: str | None = None) -> DecisionView:
        """Return the report as it would be signed, and the decisions that may be made on it."""
        from reviewer.db import journal
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions.earlier import earlier_decisions
        from reviewer.desk.decisions.payload import pending_view
        from reviewer.desk.reports import renderings
        from reviewer.desk.scorecards import scorecard
        from reviewer.desk.suites import newest_decision
        from reviewer.report.render.gates import bound_rows, gate_rows
        from reviewer.report.render.text import summary_lines

        build = self._opened.build_of(suite_id, candidate_id)
        with self._opened.reading() as connection:
            shown = self._opened.reports.shown(
                connection, suite_id, candidate_id, baseline, ("md",)
            )
        built = shown.built
        with self._opened.reading() as connection:
            key = self._opened.candidate(connection, suite_id, candidate_id)[1]
            head = journal.head(connection)
            decided = newest_decision(connection, key)
            pending = pending_view(
                self._opened.place,
                connection,
                build,
                self._build_release,
                self._opened.book,
                key,
                built,
            )
            # Inside the transaction: damage may surface only when a value is rendered.
            assessment, gathered = built.assessment, built.gathered
            return DecisionView(
                suite_id=suite_id,
                candidate_id=candidate_id,
                recommendation=assessment.recommendation,
                reasons=scorecard.reasons_of(assessment),
                sections=tuple(
                    (line.mark, line.name, line.text)
                    for line in sorted(summary_lines(built.report), key=_weight)
                ),
                gates=gate_rows(built.report),
                bounds=bound_rows(built.report),
                report_digest=built.digest,
                report_json=built.raw,
                markdown=renderings.markdown(shown),
                choices=decision_choices.choices(
                    assessment.recommendation, len(assessment.reasons), pending, gathered.draft
                ),
                preselected=decision_choices.preselected(assessment.recommendation, pending),
                candidate_digest=gathered.candidate.digest if gathered.candidate else None,
                suite_digest=gathered.suite.digest,
                journal_seq=head.seq,
                journal_head=head.hash.hex(),
                decided=decided,
                exit_code=built.exit_code,
                environment=decision_choices.ENVIRONMENT,
                valid_days=decision_choices.valid_for(gathered.suite.policy).days,
                pending=pending,
                needed=gathered.suite.policy.approvals.promote,
                earlier=tuple(
                    earlier_decisions(self._opened.place, connection, suite_id, candidate_id)
                ),
            )

    def suite_standing(self, suite_id: str) -> SuiteStanding:
        """Return how bad agents fare on a suite, and how often its policy is wrong."""
        from reviewer.desk.decisions.beside import standing_of
        from reviewer.desk.power.api import PowerRoom

        power = PowerRoom(self._opened).locked(suite_id)
        return standing_of(self._opened.place, suite_id, power)

    def keys(self) -> list[KeyInfo]:
        """Return the keys that could sign in this workspace."""
        from reviewer.desk.integrity.local_keys import available_keys

        return available_keys(self._opened.place)

    def looked_in(self) -> list[tuple[str, str]]:
        """Return the places where keys are searched, each with what was found there."""
        from reviewer.desk.integrity.local_keys import looked_in

        return looked_in(self._opened.place)

    def key_file(self) -> str:
        """Return the file in which `make_key` would put a key, as a path for people to read."""
        from reviewer.desk.integrity.local_keys import key_file, shown

        return shown(key_file(self._opened.place))

    def throw_away(self) -> bool:
        """Return whether the workspace, and a key made here, are deleted when the program ends."""
        return self._opened.place.throw_away

    def key_at(self, path: str) -> KeyInfo:
        """Return the key in a file. Raises DeskError for one that cannot sign in this workspace."""
        from reviewer.desk.integrity.local_keys import key_at

        with refused():
            return key_at(self._opened.place, path)

    def make_key(self, passphrase: str) -> KeyInfo:
        """Create a key with a passphrase. Raises DeskError if its file exists."""
        from reviewer.desk.integrity.local_keys import make_key

        with refused():
            return make_key(self._opened.place, passphrase)

    def name(self) -> str:
        """Return the name suggested for this person's key, "" when it is unknown."""
        from reviewer.desk.integrity.trust import name_for

        return name_for(self._opened.place, self._opened.reviewer)

    def as_trusted(self, key: KeyInfo) -> KeyInfo:
        """Return a key with the roles that `store/signers` currently gives it."""
        from reviewer.desk.integrity.local_keys import as_trusted

        return as_trusted(self._opened.place, key)

    def trust(self, principal: str, public: str) -> str:
        """Add a key (as in a .pub file) to `store/signers` as an approver; return the line. Raises
        DeskError when the file would not be valid."""
        from reviewer.desk.integrity.trust import trust_key
        from reviewer.signing.errors import AttestError
        from reviewer.signing.ssh import parse_public_line

        with refused():
            try:
                key = parse_public_line(public)[0]
            except AttestError as error:
                raise refusal_of(error) from error
            return trust_key(self._opened.place, principal, "approver", key)

    def statement(self, path: str) -> str:
        """Return the content of a signed file, indented. Raises DeskError for a file without a
        statement."""
        from reviewer.desk.decisions.earlier import statement_text

        return statement_text(Path(path))

    def check(self, suite_id: str, candidate_id: str) -> list[CheckedDecision]:
        """Verify the file of every earlier decision on a candidate, as `reviewer verify` does."""
        from reviewer.desk.decisions.earlier import checked_decisions

        if not self._opened.has_store():
            return []
        with refused(), self._opened.reading() as connection:
            return checked_decisions(self._opened.place, connection, suite_id, candidate_id)

    def sign(
        self,
        suite_id: str,
        candidate_id: str,
        decision: str,
        key: str,
        comment: str = "",
        expect_report: str | None = None,
        passphrase: str | None = None,
        baseline: str | None = None,
        environment: str | None = None,
        keep: Callable[[], bool] | None = None,
    ) -> SignedDecision:
        """Derive the report again, refuse if it differs from the one that was read, sign, verify,
        store. `keep` is called once, after all checks and before anything is written: False
        abandons the signature."""
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions import signing

        built = self._read_report(suite_id, candidate_id, expect_report, baseline)
        with refused():
            return signing.sign(
                self._opened.place, built, self._opened.book, decision, key, comment, passphrase,
                environment or decision_choices.ENVIRONMENT, keep=keep,
            )  # fmt: skip

    def prepare(
        self,
        suite_id: str,
        candidate_id: str,
        decision: str,
        comment: str = "",
        expect_report: str | None = None,
    ) -> Prepared:
        """Return a decision by the user of this desk, to be signed on another machine. Nothing is
        written."""
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions import own_key

        built = self._read_report(suite_id, candidate_id, expect_report)
        with refused():
            return own_key.prepare(
                self._opened.place, built, self._opened.book, decision, comment,
                decision_choices.ENVIRONMENT, self._principal(),
            )  # fmt: skip

    def prepare_added(self, reference: str) -> Prepared:
        """Return a decision that waits for one more signature (its number, or a file), for the user
        of this desk to sign on another machine."""
        from reviewer.desk.decisions import own_key

        with refused(), self._opened.reading() as connection:
            return own_key.prepare_added(
                self._opened.place, connection, reference, self._principal()
            )

    def sign_prepared(
        self, prepared: Prepared, signature: bytes, keep: Callable[[], bool] | None = None
    ) -> SignedDecision:
        """Store a prepared decision with the signature made by its user; `keep` is as in `sign`."""
        from reviewer.desk.decisions import own_key

        if prepared.adds:
            name = self._principal()
            return self.cosign(prepared.adds, signature=signature, keep=keep, name=name)
        place = (prepared.suite_id, prepared.candidate_id, prepared.report_digest)
        built = self._read_report(*place)
        with refused():
            return own_key.sign_prepared(
                self._opened.place, built, self._opened.book, prepared, signature,
                self._principal(), keep,
            )  # fmt: skip

    def _read_report(
        self, suite_id: str, candidate_id: str, expect: str | None, baseline: str | None = None
    ) -> CandidateReport:
        """Derive a report again. Raises DeskError when it differs from the one that was read."""
        self._read_whole()
        built = self._opened.build_of(suite_id, candidate_id)(baseline)
        if expect is not None and expect != built.digest:
            raise DeskError(
                f"the report changed while you looked: {expect[:8]} → {built.digest[:8]}",
                "read it again, then sign",
            )
        return built

    def _principal(self) -> str:
        """Return the name whose keys sign for the user of this desk."""
        return self._opened.principal or self._opened.reviewer_name()

    def sign_release(
        self,
        path: str,
        decision: str | None,
        key: str,
        comment: str = "",
        expect: str | None = None,
        passphrase: str | None = None,
        environment: str | None = None,
    ) -> SignedDecision:
        """Sign one decision over the suites of a release.json (an empty path: that of the
        workspace); without `decision`, the decision that the release recommends. `expect` is the
        recommendation that was read."""
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions import signing
        from reviewer.desk.reports import release as releases

        self._read_whole()
        release = self._build_release(releases.read_plan(self._opened.place, path))
        recommended = release.report.recommendation
        if expect is not None and expect != recommended:
            raise DeskError(
                f"the release changed: {expect} → {recommended}", "read it again, then sign"
            )
        word = decision or decision_choices.preselected(recommended)
        if word is None:
            raise DeskError(
                f"nothing was signed: the release recommends {recommended}",
                "add the missing evidence, or sign --decision BLOCK --comment WHY",
                exit_code=ExitCode.NOT_PROMOTED,
            )
        with refused():
            return signing.sign(
                self._opened.place, release.first, self._opened.book, word, key, comment,
                passphrase, environment or decision_choices.ENVIRONMENT, release,
            )  # fmt: skip

    def _read_whole(self) -> None:
        """Refuse a draft, and have the suites read completely: a signature never relies on the file
        system's dates and sizes."""
        from reviewer.desk.proofs import forget

        no_evidence(self._opened.place)
        forget(self._opened.place)

    def _build_release(self, plan: Release) -> BuiltRelease:
        from reviewer.desk.reports import release

        with self._opened.reading() as connection:
            return release.build_release(connection, self._opened.place, self._opened.reports, plan)

    def cosign(
        self,
        reference: str,
        key: str = "",
        passphrase: str | None = None,
        signature: bytes | None = None,
        look: Callable[[str], None] | None = None,
        keep: Callable[[], bool] | None = None,
        name: str = "",
    ) -> SignedDecision:
        """Derive a decision (a number, or a file) again from this store, refuse any difference by
        its field, and add one more signature: by a key, or one that ssh-keygen made. `look` first
        receives what cannot be derived; `keep` is as in `sign`; with a `name`, another person's key
        is refused."""
        from reviewer.desk.decisions import signing

        self._read_whole()
        with refused():
            return signing.add_signature_to(
                self._opened.place, reference, self._opened.build_of, self._build_release,
                self._opened.book, key, passphrase, signature, look, keep, name,
            )  # fmt: skip

    def break_glass(
        self,
        suite_id: str,
        candidate_id: str,
        key: str,
        reason: str,
        hours: float,
        environment: str | None = None,
        passphrase: str | None = None,
    ) -> DecisionInfo:
        """Sign a record that a candidate is released without its decision."""
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions import statements

        self._read_whole()
        built = self._opened.build_of(suite_id, candidate_id)(None)
        with refused():
            return statements.break_glass(
                self._opened.place, built, key, reason, hours,
                environment or decision_choices.ENVIRONMENT, passphrase,
            )  # fmt: skip

    def state_loss(self, key: str, reason: str, passphrase: str | None = None) -> LossStatement:
        """Sign a statement that the store lost a part of its journal and continues from its present
        state."""
        from reviewer.desk.decisions import statements

        no_evidence(self._opened.place)
        with refused():
            return statements.state_loss(self._opened.place, key, reason, passphrase)

    def attest(
        self, suite_id: str, candidate_id: str, key: str, passphrase: str | None = None
    ) -> list[SignedRunResult]:
        """Sign the results of a candidate's runs and imports, as a runner."""
        from reviewer.desk.decisions import run_results

        self._read_whole()
        with refused():
            return run_results.attest(
                self._opened.place,
                self._opened.build_of(suite_id, candidate_id)(None),
                key,
                passphrase,
            )

    def signed(self) -> list[DecisionInfo]:
        """Return everything that was signed on a release."""
        from reviewer.desk.decisions.signed_list import signed_decisions

        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return signed_decisions(self._opened.place, connection)

    def take(self, path: str) -> DecisionInfo:
        """Store a decision, or a break-glass record, that was signed in another workspace."""
        from reviewer.desk.decisions.signed_list import take_signed

        no_evidence(self._opened.place)
        with refused():
            return take_signed(self._opened.place, Path(path))

    def export(
        self, reference: str, out: str, key: str | None = None, passphrase: str | None = None
    ) -> list[tuple[str, str]]:
        """Write a decision in the formats that other programs read; return (path, sha256) of each
        file."""
        from reviewer.desk.decisions.signed_list import export_decision

        no_evidence(self._opened.place)
        with refused():
            return export_decision(
                self._opened.place, reference, Path(out).expanduser(), key, passphrase
            )
