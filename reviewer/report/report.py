"""The release report: everything a decision may stand on, as one plain JSON document.

No clock and no random id stands inside: the same evidence gives the same bytes.
"""

import json
from typing import Any

from reviewer.report.assess import Assessment, Reason, assess
from reviewer.report.broken_glass import broken_glass_section
from reviewer.report.caveats import not_measured, what_this_does_not_show
from reviewer.report.decision_set import decision_section
from reviewer.report.evidence import Evidence
from reviewer.report.headline import headlines
from reviewer.report.import_maps import import_maps_section
from reviewer.report.journal_losses import journal_losses_section
from reviewer.report.judged import judge_section
from reviewer.report.peeking import peeking_section
from reviewer.report.references import EvidenceRef
from reviewer.report.reviewed import review_section
from reviewer.report.sections import (
    candidate_section,
    completion_section,
    cost_section,
    critical_section,
    diagnostics_section,
    episodes_section,
    failures_section,
    gates_section,
    latency_section,
    pass_hat_interval_section,
    pass_hat_section,
    policy_section,
    rate_section,
    regression_section,
    repeatability_section,
    reproduce_section,
    safety_section,
    slots_section,
    suite_section,
)
from reviewer.report.slices import slices_section
from reviewer.report.split import split_section

SCHEMA = "reviewer/report@1"


def report(evidence: Evidence, assessment: Assessment | None = None) -> dict[str, Any]:
    """The report of this evidence; `assessment` spares judging it twice.

    `reasons` holds the words alone, in order; `reason_details` the same reasons with what was
    observed, the policy and the first references to their evidence. Unknown values are None, and
    `not_measured` says of each why. Costs in USD, latencies in ms, rates in [0, 1].
    """
    judged = assess(evidence) if assessment is None else assessment
    shown = judged.figures
    return {
        "schema": SCHEMA,
        "suite": suite_section(evidence),
        "candidate": candidate_section(evidence),
        "recommendation": judged.recommendation,
        "reasons": [reason.text for reason in judged.reasons],
        "reason_details": [_reason(i, r) for i, r in enumerate(judged.reasons, start=1)],
        "needs": list(judged.needs),
        "decision_set": decision_section(evidence, judged),
        "policy": policy_section(evidence),
        "slots": slots_section(evidence, shown.slots),
        "gates": gates_section(evidence, shown),
        "hard_pass_rate": rate_section(shown.hard_pass, evidence.suite.policy.hard_pass_rate),
        "source_headline": headlines(evidence, shown.hard_pass),
        "completion": completion_section(evidence, shown),
        "critical_failures": critical_section(evidence, shown),
        "safety_block_rate": safety_section(evidence, shown),
        "repeatability": repeatability_section(evidence, shown),
        "pass_hat": pass_hat_section(shown),
        "pass_hat_interval": pass_hat_interval_section(evidence, shown),
        "peeking": peeking_section(evidence, shown),
        "slices": slices_section(evidence, shown),
        "cost": cost_section(evidence, shown),
        "latency_ms": latency_section(evidence, shown),
        "judge": judge_section(evidence.judge, evidence.labeled, evidence.suite.policy),
        "review": review_section(
            evidence.review, evidence.rubric_criteria, evidence.suite.policy.labels
        ),
        "diagnostics": diagnostics_section(evidence),
        "failures": failures_section(evidence, shown),
        "regression": regression_section(judged.regression),
        "break_glass": broken_glass_section(evidence.break_glass),
        **journal_losses_section(evidence.journal_losses),
        **import_maps_section(evidence.import_maps),
        "split_integrity": split_section(evidence.split),
        # Only where there are any: reports made before there were revisions have none.
        **({"records": [dict(one) for one in evidence.records]} if evidence.records else {}),
        "notes": [dict(note) for note in evidence.notes],
        "probes": [dict(probe) for probe in evidence.probes],
        "episodes": episodes_section(shown),
        "not_measured": not_measured(evidence, judged),
        "what_this_does_not_show": what_this_does_not_show(evidence, judged),
        "reproduce": reproduce_section(evidence),
    }


def report_bytes(document: dict[str, Any]) -> bytes:
    """The report as a file: JSON in the order of its keys, one member or element of its sections
    to a line, ASCII, one newline at the end.

    ASCII, so that text from a trace stays inert wherever the bytes are printed. Raises ValueError
    for a NaN or an infinity. (`json` indents in Python; a hundred thousand episodes would wait.)
    """
    members = ",\n".join(f"  {_text(key)}: {_laid_out(value)}" for key, value in document.items())
    return f"{{\n{members}\n}}\n".encode("ascii")


def _laid_out(value: Any) -> str:
    if isinstance(value, dict) and value:
        lines = ",\n".join(f"    {_text(key)}: {_text(item)}" for key, item in value.items())
        return f"{{\n{lines}\n  }}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {_text(item)}" for item in value) + "\n  ]"
    return _text(value)


_text = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def exit_code(document: dict[str, Any]) -> int:
    """0 when the report recommends to promote, else 10."""
    return 0 if document["recommendation"] == "promote" else 10


def _reason(number: int, reason: Reason) -> dict[str, Any]:
    return {
        "number": number,
        "text": reason.text,
        "observed": reason.observed,
        "policy": reason.policy,
        "evidence": [_reference(ref) for ref in reason.evidence],
        "evidence_count": reason.evidence_count,
        "way_out": reason.way_out or None,
    }


def _reference(ref: EvidenceRef) -> dict[str, Any]:
    return {
        "trace_id": ref.trace_id,
        "episode_id": ref.episode_id,
        "attempt": ref.attempt,
        "gate": ref.gate,
        "code": ref.code,
        "seq": ref.seq,
        "tool": ref.tool,
    }
