"""Decisions: what may be signed, signing it alone or with others, and what is signed beside."""

from __future__ import annotations  # what only types name is not loaded

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Opened
from reviewer.desk.reports import renderings
from reviewer.desk.workspace import overview

if TYPE_CHECKING:
    from reviewer.desk.decisions.loss import Stated
    from reviewer.desk.decisions.run_results import Attested
    from reviewer.desk.decisions.views import DecisionInfo, DecisionView, KeyInfo, Signed
    from reviewer.desk.integrity.witness import Seen
    from reviewer.desk.reports.lineage import Met
    from reviewer.desk.reports.reports import Built


class Deciding(Opened):
    """From a report to what is signed on it."""

    def decision(
        self, suite_id: str, candidate_id: str, baseline: str | None = None
    ) -> DecisionView:
        """The report as it would be signed, and what may be decided."""
        from reviewer.db import journal
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions.rederive import pending_view
        from reviewer.desk.decisions.views import DecisionView
        from reviewer.desk.scorecards import scorecard as scorecards
        from reviewer.report.render.text import summary_lines

        build = self._build_of(suite_id, candidate_id)
        with self._reading() as connection:
            shown = self._reports.shown(connection, suite_id, candidate_id, baseline, ("md",))
        built = shown.built
        with self._reading() as connection:
            key = self._candidate(connection, suite_id, candidate_id)[1]
            head = journal.head(connection)
            decided = overview.decided(connection, key)
            pending = pending_view(self.place, connection, build, self._book, key, built)
            # Still in here: a damaged value may show itself only where it is written out.
            assessment, gathered = built.assessment, built.gathered
            return DecisionView(
                suite_id=suite_id,
                candidate_id=candidate_id,
                recommendation=assessment.recommendation,
                reasons=scorecards.reasons_of(assessment),
                sections=tuple(
                    (line.mark, line.name, line.text) for line in summary_lines(built.report)
                ),
                report_digest=built.digest,
                report_json=built.raw,
                markdown=renderings.markdown(shown),
                choices=decision_choices.choices(
                    assessment.recommendation, len(assessment.reasons), pending
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
            )

    def keys(self) -> list[KeyInfo]:
        """Keys that could sign here."""
        from reviewer.desk.integrity.trust import available_keys

        return available_keys(self.place)

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
    ) -> Signed:
        """Re-derive the report, refuse when it is not the one looked at, sign, verify, keep."""
        from reviewer.desk.decisions import choices as decision_choices
        from reviewer.desk.decisions import decide

        built = self._build_of(suite_id, candidate_id)(baseline)
        if expect_report is not None and expect_report != built.digest:
            raise DeskError(
                f"the report changed: {expect_report[:8]} → {built.digest[:8]}; look again"
            )
        with _told():
            return decide.sign(
                self.place, built, self._book, decision, key, comment, passphrase,
                environment or decision_choices.ENVIRONMENT,
            )  # fmt: skip

    def add_signature(
        self,
        reference: str,
        key: str = "",
        passphrase: str | None = None,
        signature: bytes | None = None,
        look: Callable[[str], None] | None = None,
    ) -> Signed:
        """Derive a decision (a number, or a file) anew from this store, refuse any difference by
        its field, and put one more signature under it: by a key, or one that ssh-keygen made.
        `look` is told first what cannot be derived."""
        from reviewer.desk.decisions import cosign

        with _told():
            return cosign.add(
                self.place, reference, self._build_of, self._book, key, passphrase, signature,
                look,
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
        """Sign that a candidate goes out without its decision."""
        from reviewer.desk.decisions import break_glass as glass
        from reviewer.desk.decisions import choices as decision_choices

        built = self._build_of(suite_id, candidate_id)(None)
        with _told():
            return glass.break_glass(
                self.place, built, key, reason, hours,
                environment or decision_choices.ENVIRONMENT, passphrase,
            )  # fmt: skip

    def state_loss(self, key: str, reason: str, passphrase: str | None = None) -> Stated:
        """Sign that the store lost journal, and goes on from where it stands."""
        from reviewer.desk.decisions import loss

        with _told():
            return loss.state_loss(self.place, key, reason, passphrase)

    def witness(self) -> list[Seen]:
        """Begin the witness of this workspace, or bring it up to date; what was added."""
        from reviewer.desk.integrity import witness
        from reviewer.desk.integrity.standing import Standing

        if not self._has_store():
            raise DeskError(f"{self.place.store} is not there yet: there is nothing to witness")
        with _told(), self._reading() as connection:
            Standing(self.place).hold(connection)
            return witness.look(self.place, connection)

    def attest(
        self, suite_id: str, candidate_id: str, key: str, passphrase: str | None = None
    ) -> list[Attested]:
        """Sign, as a runner, what the runs and imports of a candidate came to."""
        from reviewer.desk.decisions import run_results

        with _told():
            return run_results.attest(
                self.place, self._build_of(suite_id, candidate_id)(None), key, passphrase
            )

    def decisions(self) -> list[DecisionInfo]:
        """Everything that was signed on a release."""
        from reviewer.desk.decisions.listing import listed

        if not self._has_store():
            return []
        with self._reading() as connection:
            return listed(self.place, connection)

    def take_decision(self, path: str) -> DecisionInfo:
        """Keep a decision, or a break-glass record, that was signed in another workspace."""
        from reviewer.desk.decisions.listing import take

        with _told():
            return take(self.place, Path(path))

    def export_decision(
        self, reference: str, out: str, key: str | None = None, passphrase: str | None = None
    ) -> list[tuple[str, str]]:
        """Write a decision in the forms other programs read; (path, sha256) of each file."""
        from reviewer.desk.decisions.exports import export_decision

        with _told():
            return export_decision(self.place, reference, Path(out).expanduser(), key, passphrase)

    def suites_met(self, suite_id: str) -> list[Met]:
        """The other suites that candidates of this one met, each with its reason or none."""
        from reviewer.desk.reports.lineage import listed

        with self._reading() as connection:
            return listed(connection, suite_id)

    def explain_suite(self, suite_id: str, other_id: str, reason: str) -> None:
        """Say in the journal why two suites were both used."""
        from reviewer.desk.labels.reviewers import reviewer_name
        from reviewer.desk.reports.lineage import explain

        with _told():
            explain(self.place, suite_id, other_id, reason, reviewer_name(self.reviewer))

    def _build_of(self, suite_id: str, candidate_id: str) -> Callable[[str | None], Built]:
        def build(baseline: str | None) -> Built:
            with self._reading() as connection:
                return self._reports.build(connection, suite_id, candidate_id, baseline)

        return build


@contextmanager
def _told() -> Iterator[None]:
    """What the store refuses, in the desk's words."""
    try:
        yield
    except StoreError as error:
        raise DeskError(str(error)) from error
    except sqlite3.Error as error:
        raise DeskError(f"the store could not be written ({error})") from error
