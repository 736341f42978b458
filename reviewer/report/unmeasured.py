"""What is not measured, cause by cause: how many attempts, why, and the way out."""

from reviewer.report.amounts import named
from reviewer.report.evidence import Cause, Evidence
from reviewer.report.gap import Gap, plural
from reviewer.report.references import EvidenceRef

_EVERY = "all measured"
_WORDS = {
    "no_start_digest": (
        "start state digest",
        "reviewer suite start-digest {suite} prints each start_state_digest",
    ),
    "cost_not_measured": ("cost", "cost_usd in each record"),
    "latency_not_measured": ("latency", "latency_ms in each record"),
    "final_state_not_measured": ("final state", "final_state in each record"),
    "unread": (
        "what no reader takes",
        "reviewer show {trace} names the place; export it in a form of docs/formats.md",
    ),
    "contradiction": (
        "a record that agrees with itself",
        "reviewer show {trace} says what against what; mend the harness, then import again",
    ),
    "approval_unproven": (
        "an approval by a listed approver",
        "list who approves in tools.approvers of the episode, or make attempts with reviewer run",
    ),
    "unknown_tool": (
        "which tool a name means",
        "list the name in the episode's tools, or name it in --episode-map",
    ),
    "wording_not_measured": (
        "wording",
        "state the claim and its denials in expected.claims, or read it: reviewer show {trace}",
    ),
}
"""Per code what is missing, and where it comes from."""
_SHOWN = "reviewer show {trace} says where"
"""The way out of every other cause: what is found names its place in the trace."""


def causes(evidence: Evidence) -> tuple[Cause, ...]:
    """Every cause in the order of its code; those of evidence made by hand from its codes."""
    if evidence.unmeasured:
        return evidence.unmeasured
    kinds: dict[str, list[tuple[str, int]]] = {}
    for code, count in evidence.unknown_codes:
        if count:
            kinds.setdefault(code.partition(":")[0], []).append((code, count))
    return tuple(
        Cause(kind=kind, attempts=count, without_verdict=count, codes=tuple(codes))
        for kind, codes in kinds.items()
        for count in (max(each for _, each in codes),)
    )


def cause_gap(cause: Cause, evidence: Evidence, made: int, count: int) -> Gap:
    """The cause as a reason of its own, with its way out; `count` attempts of `made` have it."""
    what, _ = _WORDS.get(cause.kind, (cause.kind, ""))
    way = way_of(cause.kind, evidence.suite.suite_id, cause.trace_id or "TRACE")
    said = [code for code, _ in cause.codes]
    code = said[0] if len(said) == 1 else f"{cause.kind} ({named(said)})"
    need = f"{what} of {count} {plural('attempt', count)}"
    return Gap(
        text=f"{count} {plural('attempt', count)} not measured: {code}; {way}",
        observed=f"{count} of {made} not measured",
        policy=_EVERY,
        need=f"{need} ({way})",
        short=way,
        where=_first(cause),
    )


def _first(cause: Cause) -> EvidenceRef | None:
    if not cause.trace_id:
        return None
    return EvidenceRef(
        trace_id=cause.trace_id,
        episode_id=cause.episode_id,
        attempt=cause.attempt,
        gate=cause.gate,
        code=cause.code,
        seq=cause.seq,
        tool=None,
    )


def way_of(kind: str, suite_id: str, trace_id: str = "TRACE") -> str:
    """Where the evidence comes from that a code says is missing."""
    _, way = _WORDS.get(kind, ("", _SHOWN))
    return way.format(suite=suite_id, trace=trace_id)
