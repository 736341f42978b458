"""The page's sections about gates, the comparison with a baseline, slices and entered costs."""

from collections.abc import Sequence

from reviewer.report.decision_set import GateResult
from reviewer.report.evidence import CostEntry, PromotedCandidate
from reviewer.report.formatting import (
    GLYPHS,
    NOT_MEASURED,
    OF_RESULT,
    MarkedText,
    Name,
    limits,
    number,
    plural,
)
from reviewer.report.model import (
    CodeCount,
    DecisionSection,
    Report,
    SlicesSection,
)
from reviewer.report.page_parts import Section, Terms
from reviewer.report.regression import Regression
from reviewer.report.slices import Slice

MOST_EPISODES = 100
"""Lost and gained episodes named; report.json has all of them."""
MOST_SLICES = 30
"""Slices listed, those that became worse first; report.json has all of them."""
HEAD = ["gate", "asks for", "observed", "bounds", "point", "strict"]
SLICE_HEAD = [
    "slice", "episodes", "passes", "limits", "pass^k", "critical", "difference", "p, Holm",
]  # fmt: skip
LEDGER_HEAD = ["when", "kind", "amount", "by", "note"]


def _gate_rows(found: DecisionSection) -> list[list[str]]:
    """Return one row per gate of the decision set."""
    return [
        [
            f"{row.gate} {row.name}" + ("" if row.decides else ", decides nothing"),
            row.policy or "-",
            row.observed or "-",
            row.bounds or "-",
            *(_result(row, said) for said in (row.point, row.strict)),
        ]
        for row in found.gates
    ]


def _result(row: GateResult, said: str) -> str:
    """Return the result with its sign; a gate that decides nothing has none."""
    mark = OF_RESULT.get(said) if row.decides else None
    return said if mark is None else MarkedText(mark, f"{GLYPHS[mark]} {said}")


def _gate_lines(found: DecisionSection, probe: bool) -> list[str]:
    """Return the sentence that names the mode in force and both modes' recommendations."""
    if probe:
        return ["A probe is shown and compared: no mode certifies it."]
    live = ", with bounds that hold at every look" if found.stopping == "live" else ""
    return [
        f"The suite's policy is in {found.mode} mode. On estimates (point): "
        f"{found.point.recommendation.upper()}. "
        f"On bounds (strict{live}): {found.strict.recommendation.upper()}."
    ]


def _gate_items(found: DecisionSection, probe: bool) -> list[str]:
    """Return the needs of the mode that is not in force: the mode in force lists its own needs."""
    name, other = ("strict", found.strict) if found.mode == "point" else ("point", found.point)
    if probe or other.recommendation != "hold":
        return []
    return [f"In {name} mode still needed: {need}" for need in other.needs]


def _slice_rows(found: SlicesSection) -> list[list[str]]:
    """Return one row per slice, those that became worse first."""
    rows = sorted(found.rows, key=lambda one: (not one.worse, not one.look))
    return [
        [
            Name(f"{one.kind} {one.name}"),
            str(one.episodes),
            f"{one.passes}/{one.attempts} {number(one.value)}",
            limits(one.low, one.high),
            number(one.pass_hat),
            str(one.critical),
            _difference(one),
            _tested(one),
        ]
        for one in rows
    ]


def _difference(one: Slice) -> str:
    if one.difference is None:
        return "-"
    return f"{one.difference:+.3f} [{one.at_least:+.3f}, {one.at_most:+.3f}]"


def _tested(one: Slice) -> str:
    if one.p_holm is None:
        return f"{one.changed} changed" if one.compared else "-"
    mark = "worse: " if one.worse else "look here: " if one.look else ""
    return f"{mark}{one.p_holm:.3g}"


def _slice_lines(found: SlicesSection) -> list[str]:
    """Return the sentence that explains the slices."""
    return [
        f"{found.family} slices looked at together: limits hold for all of them at once (95%, "
        "Bonferroni), p is Holm's and left out under 6 changed episodes. None of it gates."
    ]


def decision_set_section(report: Report) -> Section:
    """Return the section of D0 to D8, on estimates and on bounds."""
    found, probe = report.decision_set, report.suite.probe
    return Section(
        "Decision set",
        lines=_gate_lines(found, probe),
        items=_gate_items(found, probe),
        head=HEAD,
        rows=[] if probe else _gate_rows(found),
        terms=_DECISION_TERMS,
    )


def slices_section(report: Report) -> Section:
    """Return the section of categories and tags with corrected bounds; empty without any."""
    found = report.slices
    if not found.rows:
        return Section("Slices")
    return Section(
        "Slices",
        lines=_slice_lines(found),
        head=SLICE_HEAD,
        rows=_slice_rows(found)[:MOST_SLICES],
        terms=_SLICE_TERMS,
    )


def ledger_section(report: Report) -> Section:
    """Return the section of costs that people entered; empty without an entry."""
    return Section(
        "Costs entered by people, never inside the cost per success",
        head=LEDGER_HEAD,
        rows=_ledger_rows(report.cost.entries),
    )


def regression_section(report: Report) -> Section:
    """Return the comparison with the baseline: episodes lost and gained first, then the
    difference."""
    against = report.regression
    if against.baseline is None:
        return Section("Regression", lines=[f"Not measured: {against.why}."])
    rows = [
        ["baseline", Name(_baseline_of(against))],
        ["last promoted", _last_promoted(against.last_promoted)],
        ["lost", _episodes(against.lost)],
        ["gained", _episodes(against.gained)],
        ["dead", _episodes(against.dead)],
        ["new critical", _episodes(against.new_critical)],
        ["difference", _mean_difference(against)],
        ["margin", f"{against.margin:g}"],
        ["verdict", _verdict(against)],
        ["test", against.test or against.why or "-"],
    ]
    return Section("Regression", head=["", ""], rows=rows, terms=_regression_terms(against))


def _baseline_of(against: Regression) -> str:
    if against.baseline_suite is None:
        return str(against.baseline)
    apart = plural(len(against.without_baseline), "episode")
    return f"{against.baseline} on {against.baseline_suite}; {apart} not the same there"


def _episodes(names: Sequence[str]) -> str:
    more = len(names) - MOST_EPISODES
    left = f" and {more:,} more, in report.json" if more > 0 else ""
    return ", ".join(names[:MOST_EPISODES]) + left or "none"


def _last_promoted(promoted: PromotedCandidate | None) -> str:
    if promoted is None:
        return "none"
    return Name(f"{promoted.candidate_id}, decision {promoted.number}")


def _verdict(against: Regression) -> str:
    more = against.more_unchanged_needed
    if against.verdict != "not shown" or not more:
        return str(against.verdict)
    return f"not shown: {plural(more, 'more unchanged episode')} would"


def _mean_difference(against: Regression) -> str:
    if against.difference is None:
        return NOT_MEASURED
    return (
        f"{against.difference:+.3f}, one-sided 95% bounds "
        f"{against.low:+.3f} and {against.high:+.3f}"
        + (f", score {against.score:+.2f}" if against.score is not None else "")
    )


def _ledger_rows(entries: Sequence[CostEntry]) -> list[list[str]]:
    """Return entries as rows: when, kind, amount, by whom, note."""
    replaced = {one.corrects for one in entries}
    return [
        [
            one.at,
            one.kind,
            f"${one.amount_usd:,.2f}" + (" (corrected)" if one.entry_id in replaced else ""),
            one.reviewer,
            one.note or "-",
        ]
        for one in entries
    ]


def gates_section(report: Report) -> Section:
    return Section(
        "Hard gates",
        head=["gate", "covers", "pass", "fail", "not measured", "findings"],
        rows=[
            [
                gate,
                counts.covers,
                str(counts.passes),
                str(counts.fail),
                str(counts.not_measured),
                _findings(counts.findings),
            ]
            for gate, counts in report.gates.items()
        ],
        terms=[
            (
                "pass, fail, not measured",
                f"Each of the {plural(report.repeatability.attempts_made, 'attempt')} made is in "
                "one of the three, gate by gate; code decides it from the trace, no gate is "
                "averaged, and none outweighs another.",
            )
        ],
    )


def _findings(found: Sequence[CodeCount]) -> str:
    return Name(", ".join(f"{f.code} × {f.count}" for f in found[:10])) if found else "-"


_DECISION_TERMS: Terms = [
    (
        "PASS, FAIL, NO EVIDENCE",
        "Point compares the estimate with the policy. Strict compares the 95% bound on the bad "
        "side: a gate passes only when even that meets the policy, fails when the good side "
        "misses it, and in between has no evidence yet.",
    )
]


def _regression_terms(against: Regression) -> Terms:
    """Explain the comparison with a baseline."""
    return [
        (
            "lost, gained, dead",
            "Episodes that passed every attempt on one side and not on the other, of the "
            f"{plural(against.compared, 'episode')} with every verdict on both sides; dead: passed "
            "every attempt before and none now.",
        ),
        (
            "difference",
            "Mean over those episodes of the candidate's pass rate less the baseline's; one-sided "
            "95% bounds by Tango's score with real counts. Not worse means that the lower bound is "
            f"above -{against.margin:g}, the policy's margin. The score tests for no difference: "
            "below -1.645 chance does not explain it.",
        ),
        (
            "test",
            "Exact sign-flip test over the episodes that changed; under six of them none can reach "
            "0.05, so no p is given.",
        ),
    ]


_SLICE_TERMS: Terms = [
    (
        "limits, difference",
        "Wilson's limits per slice on episodes as units, widened (Bonferroni) so that those of "
        "all slices hold together in 95 of 100 cases; differences are to the baseline.",
    )
]
