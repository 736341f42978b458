"""A desk with the ShopFlow example, a suite of any length and hostile text; no store behind it."""

from typing import Any

from fake_cards import FakeCards
from fake_shop import HOSTILE, SUITE, V7
from fake_traces import FakeTraces

from reviewer.desk.decisions.api import Choice, DecisionView
from reviewer.desk.errors import DeskError
from reviewer.desk.views import ExportedFiles, KeyInfo, Refusal, SignedDecision, SourceInfo


class FakeDesk(FakeCards, FakeTraces):
    """All of it, and what decides."""

    # the decision

    def decision(
        self, suite_id: str, candidate_id: str, baseline: str | None = None
    ) -> DecisionView:
        v7 = candidate_id == V7
        why = "the report says block (1 2 3)"
        return DecisionView(
            suite_id=SUITE,
            candidate_id=candidate_id,
            recommendation="block" if v7 else "promote",
            reasons=self.reasons() if v7 else (),
            sections=(
                ("pass", "candidate", "model, 2 prompts, 5 tools, config, author"),
                ("pass", "suite", "frozen before the first run, 3 episodes"),
                ("critical", "hard gates", "state ✗1  authority ▲1  process ✗2  timeout ✗1"),
                ("fail", "repeatability", "3 attempts per episode, 9 made, 9 counted, 0 infra"),
                ("pass", "cost", "$0.333, CPST $0.0555 of 0.08; human $0.00, incident $0.00"),
                ("advisory", "soft review", "4 pairs, agreement 3 of 4, judge advisory only"),
                ("fail", "failing traces", "3: attack-014/1 attack-014/2 appeal-009/2"),
                ("not_measured", "regression", "not measured: no baseline"),
            ),
            report_digest=self.report,
            report_json=b'{"schema": "reviewer/report@1", "recommendation": "block"}',
            markdown=f"# {candidate_id}\n\n**block**\n",
            choices=(
                Choice(decision="PROMOTE", open=not v7, why=why if v7 else ""),
                Choice(decision="BLOCK", open=True, why=""),
                Choice(decision="REPAIR", open=True, why=""),
            ),
            preselected="BLOCK" if v7 else "PROMOTE",
            candidate_digest="sha256:9d02b7e461af",
            suite_digest="sha256:51c8aa0f7b2e",
            journal_seq=412,
            journal_head="88ab13f0",
            decided=None,
            exit_code=10 if v7 else 0,
        )

    def keys(self) -> list[KeyInfo]:
        return self.key_list

    def sign(
        self,
        suite_id: str,
        candidate_id: str,
        decision: str,
        key: str,
        comment: str = "",
        expect_report: str | None = None,
        passphrase: str | None = None,
    ) -> SignedDecision:
        if self.refuse_signing is not None:
            raise self.refuse_signing
        if expect_report != self.report:
            raise DeskError("the report changed since it was shown", "read it again")
        self.signed.append((candidate_id, decision, key, comment, passphrase or ""))
        return SignedDecision(
            decision=decision,
            path=f"store/decisions/1-{decision.lower()}.dsse.json",
            number=1,
            principal="dana@shopflow",
            keyid=key,
            verified=True,
            lines=("signature ✓", "report ✓"),
        )

    def export(
        self, suite_id: str, candidate_id: str, out: str, formats: tuple[str, ...]
    ) -> ExportedFiles:
        self.exported.append((candidate_id, out, *formats))
        files = tuple((f"{out}/report.{name}", "sha256:00") for name in formats)
        return ExportedFiles(files=files, exit_code=10)

    # sources

    def sources(self) -> list[SourceInfo]:
        return [
            SourceInfo(
                path="traces/v7-night.jsonl",
                sha256="sha256:ab",
                reader="native",
                state="done",
                records=11,
                added=9,
                known=0,
                refused=2,
                at="2026-11-18T09:00:00Z",
            )
        ]

    def refusals(self) -> list[Refusal]:
        return [
            Refusal(
                path="traces/v7-night.jsonl",
                record=4,
                reasons=("missing:candidate_id",),
                way_out="import with --candidate",
            ),
            Refusal(
                path=HOSTILE if self.hostile else "traces/v7-night.jsonl",
                record=9,
                reasons=("unredacted:$.email",),
                way_out="redact at the source",
            ),
        ]

    def version(self) -> int:
        return self.rev

    def schema(self, kind: str) -> dict[str, Any]:
        return {}
