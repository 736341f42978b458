"""Where a reason stands: the trace, the event, the code.

Failing traces come as `ordered_failures` puts them: by episode in the suite's order, then attempt.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from reviewer.report.evidence import Evidence, FailedTrace
from reviewer.report.figures import Figures
from reviewer.suite.gates import CRITICAL_GATES, GATES, unmeasured_code

MOST = 20
"""References listed per reason; their full number stands beside them, all traces in `failures`."""

_TOOL_CODES = frozenset(
    {
        "forbidden",
        "not_allowed",
        "approval_missing",
        "approval_unproven",
        "unknown_tool",
        "out_of_order",
    }
)


class EvidenceRef(Struct, frozen=True, kw_only=True):
    """One finding of one trace; `seq` is None when no event shows it, `tool` when none is named."""

    trace_id: str
    episode_id: str
    attempt: int
    gate: str
    code: str
    seq: int | None
    tool: str | None


class References(Struct, frozen=True):
    first: tuple[EvidenceRef, ...]
    count: int


def tool_of(gate: str, code: str) -> str | None:
    """The tool a code names: `forbidden:issue_refund`, `wrong_argument:<tool>.<path>`."""
    kind, colon, rest = code.partition(":")
    if not colon:
        return None
    if kind in _TOOL_CODES or (kind == "missing" and gate == "process"):
        return rest
    return rest.partition(".")[0] if kind == "wrong_argument" else None


def ordered_failures(evidence: Evidence, shown: Figures) -> list[FailedTrace]:
    """Failing traces in the suite's order of episodes, then by attempt."""
    place = {e.episode_id: i for i, e in enumerate(shown.episodes)}
    return sorted(
        evidence.failures,
        key=lambda t: (place.get(t.episode_id, len(place)), t.episode_id, t.attempt, t.trace_id),
    )


def critical_evidence(evidence: Evidence, failures: Sequence[FailedTrace]) -> References:
    """The findings that make a trace critical: authority, redaction, or what its episode marks."""
    marked = {e.episode_id: frozenset(e.critical) for e in evidence.suite.episodes}

    def grave(trace: FailedTrace) -> list[tuple[str, str, int | None]]:
        names = CRITICAL_GATES | marked.get(trace.episode_id, frozenset())
        found = [f for f in trace.evidence if f[0] in names or f[1] in names]
        return found or list(trace.evidence)

    return _references((t for t in failures if t.critical), grave)


def against_promotion(failures: Iterable[FailedTrace]) -> list[FailedTrace]:
    """The failing traces that count against a promotion: those of the first complete set, and
    whatever blocks. Mere infrastructure never does."""
    return [t for t in failures if t.blocks or not (t.extra or t.infrastructure)]


def failing_evidence(
    failures: Sequence[FailedTrace], only: frozenset[str] | None = None
) -> References:
    """The first finding of every failing trace, or of those of the episodes in `only`."""
    return _references(
        (t for t in _judged(failures) if only is None or t.episode_id in only), _first
    )


def unstable_evidence(failures: Sequence[FailedTrace]) -> References:
    """The first failing trace of every episode that did not pass all its attempts."""
    first: dict[str, FailedTrace] = {}
    for trace in _judged(failures):
        first.setdefault(trace.episode_id, trace)
    return _references(first.values(), _first)


def findings_with(failures: Sequence[FailedTrace], codes: frozenset[str]) -> References:
    """Findings whose code (before any colon) is one of `codes`."""
    return _references(
        _judged(failures), lambda t: [f for f in t.evidence if f[1].partition(":")[0] in codes]
    )


def _judged(failures: Iterable[FailedTrace]) -> Iterator[FailedTrace]:
    return (t for t in failures if not t.infrastructure)


def _first(trace: FailedTrace) -> list[tuple[str, str, int | None]]:
    """The first finding that failed the trace: what is only not measured failed nothing."""
    if trace.evidence:
        return [next(filter(partial(_fails, trace), trace.evidence), trace.evidence[0])]
    return [("", code, None) for code in trace.codes[:1]]


def _fails(trace: FailedTrace, finding: tuple[str, str, int | None]) -> bool:
    gate, code, _ = finding
    return not unmeasured_code(code) and trace.results[GATES.index(gate)] == "fail"


def _references(
    traces: Iterable[FailedTrace],
    pick: Callable[[FailedTrace], list[tuple[str, str, int | None]]],
) -> References:
    found: list[EvidenceRef] = []
    count = 0
    for trace in traces:
        for gate, code, seq in pick(trace):
            count += 1
            if len(found) < MOST:
                found.append(
                    EvidenceRef(
                        trace_id=trace.trace_id,
                        episode_id=trace.episode_id,
                        attempt=trace.attempt,
                        gate=gate,
                        code=code,
                        seq=seq,
                        tool=tool_of(gate, code),
                    )
                )
    return References(tuple(found), count)
