"""Several suites, one release: the strictest recommendation, with the reasons from every suite."""

import json
from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct, UnsetType, to_builtins

from reviewer.report.assess import Recommendation
from reviewer.report.formatting import NOT_MEASURED, Name, named
from reviewer.report.page_parts import Section
from reviewer.report.render.markdown import markdown_of
from reviewer.suite.code import RanCode, codes_differ
from reviewer.suite.release import Role
from reviewer.trace.safetext import visible_line

STRICTNESS: tuple[Recommendation, ...] = ("promote", "hold", "repair", "block")
"""Recommendations, from the most lenient to the strictest."""


class SuiteResult(Struct, frozen=True, kw_only=True):
    """The result of one suite of a release. `critical` counts attempts with a critical failure,
    `failing` every trace that counts against a promotion; `report_sha256` is the digest of the
    suite's own report.json. Digests are None where there is nothing to digest.
    `critical_not_measured` is that of the suite's report, and left out where it is 0. `codes` are
    the digests of the code that ran, `runners` the kinds of its runners; both are empty where no
    attempt is bound to a code."""

    suite_id: str
    suite_digest: str
    role: Role
    candidate_id: str
    candidate_digest: str | None
    baseline_id: str | None
    recommendation: Recommendation
    reasons: tuple[str, ...]
    critical: int
    failing: int
    report_sha256: str
    codes: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    critical_not_measured: int | UnsetType = UNSET

    @property
    def perhaps_critical(self) -> str:
        """Return how many more attempts may be critical; empty if all are measured."""
        unknown = self.critical_not_measured
        return "" if unknown is UNSET else f" (up to {unknown} {NOT_MEASURED})"


class ReleaseReport(Struct, frozen=True, kw_only=True):
    """release-report.json: the recommendation of every suite of a release, and of all together."""

    schema: str = "reviewer/release-report@1"
    release_id: str
    release_digest: str
    candidate_id: str
    recommendation: Recommendation
    reasons: tuple[str, ...]
    suites: tuple[SuiteResult, ...]


def strictest(found: Iterable[Recommendation]) -> Recommendation:
    """Return the strictest of these recommendations. Raises ValueError without any."""
    return max(found, key=STRICTNESS.index)


def counted(role: Role, recommendation: Recommendation, critical: int) -> Recommendation:
    """Return what a suite contributes to a release: a gate its recommendation, a probe only a block
    for a critical failure, which no role excuses."""
    if role == "gate":
        return recommendation
    return "block" if critical else "promote"


def release_report(
    release_id: str, digest: str, candidate_id: str, suites: Sequence[SuiteResult]
) -> ReleaseReport:
    """Return the report on a release of these suites. Pure."""
    parts = [counted(one.role, one.recommendation, one.critical) for one in suites]
    gates = [one for one in suites if one.role == "gate"]
    codes: list[str] = []
    if codes_differ(RanCode(one.codes, one.runners) for one in gates):
        told = [f"{one.suite_id} {_codes(one)}" for one in gates if one.codes]
        codes = [f"one code: the gates ran different codes of {candidate_id} ({named(told)})"]
    return ReleaseReport(
        release_id=release_id,
        release_digest=digest,
        candidate_id=candidate_id,
        recommendation=strictest([*parts, "hold"] if codes else parts),
        reasons=(
            *(
                f"{one.suite_id}: {reason}"
                for one, part in zip(suites, parts, strict=True)
                if part != "promote"
                for reason in _against(one)
            ),
            *codes,
        ),
        suites=tuple(suites),
    )


def _codes(one: SuiteResult) -> str:
    return named([code[:12] for code in one.codes])


def _against(one: SuiteResult) -> tuple[str, ...]:
    if one.role == "gate":
        return one.reasons
    return (f"critical failure in {one.critical} attempts of a probe",)


def release_json(report: ReleaseReport) -> bytes:
    """Return release-report.json: indented, ASCII, one newline at the end."""
    plain = json.dumps(to_builtins(report), indent=2, ensure_ascii=True, allow_nan=False)
    return f"{plain}\n".encode("ascii")


def release_markdown(report: ReleaseReport) -> str:
    """Return the report as Markdown, ending in a newline."""
    head = Section(
        f"{report.recommendation.upper()}: {report.candidate_id}, release {report.release_id}",
        lines=[] if report.reasons else ["No reason against."],
        level=1,
        items=list(report.reasons),
    )
    table = Section(
        "Suites",
        lines=[
            "The strictest recommendation of the gates is that of the release. A probe is shown, "
            "and blocks for a critical failure only."
        ],
        head=["suite", "role", "candidate", "recommendation", "critical", "failing", "report"],
        rows=[
            [
                Name(one.suite_id),
                one.role,
                Name(one.candidate_id),
                one.recommendation,
                f"{one.critical}{one.perhaps_critical}",
                str(one.failing),
                Name(f"{one.suite_id}/"),
            ]
            for one in report.suites
        ],
    )
    digests = Section(
        "Digests",
        head=["what", "sha256"],
        rows=[
            ["release", Name(report.release_digest)],
            *(
                [f"{what} {one.suite_id}", Name(digest or NOT_MEASURED)]
                for one in report.suites
                for what, digest in (
                    ("suite", one.suite_digest),
                    ("candidate on", one.candidate_digest),
                    ("report of", one.report_sha256),
                    *(("code on", code) for code in one.codes),
                )
            ),
        ],
    )
    return "\n\n".join(markdown_of(part) for part in (head, table, digests)) + "\n"


def release_text(report: ReleaseReport) -> str:
    """Return the summary that the export prints, one fact per line, ending in a newline."""
    lines = [
        f"{report.recommendation.upper()}  {report.candidate_id}, release {report.release_id}",
        *(
            f"{one.role} {one.suite_id}: {one.recommendation} {one.candidate_id}, "
            f"{one.critical} critical{one.perhaps_critical}, {one.failing} failing"
            for one in report.suites
        ),
        *(f"{number} {reason}" for number, reason in enumerate(report.reasons, 1)),
    ]
    return "".join(f"{visible_line(line)}\n" for line in lines)
