"""Judging a trace: contract × record → Verdict. Pure, and total over any decoded record."""

from collections.abc import Iterable, Iterator, Sequence

from reviewer.contract.canonical import same_digest
from reviewer.gates.acts import Acts, acts_of
from reviewer.gates.authority import check_authority, note_aliases
from reviewer.gates.compiled import Contract
from reviewer.gates.contradictions import check_contradictions
from reviewer.gates.feedback import check_feedback
from reviewer.gates.limits import (
    GOOD_ENDS,
    INFRASTRUCTURE_ENDS,
    check_budget,
    check_timeout,
    termination_of,
)
from reviewer.gates.model import (
    ACT_GATES,
    CRITICAL_GATES,
    FINDING_ORDER,
    GATES,
    Finding,
    Result,
    Verdict,
)
from reviewer.gates.process import check_process
from reviewer.gates.state import check_state
from reviewer.gates.values import clip
from reviewer.trace.record import TraceRecord, Unread

CODE_ORDER: dict[str, tuple[str, ...]] = {
    "completeness": (
        "unknown_episode",
        "missing",
        "type",
        "not_finite",
        "start_state_mismatch",
        "no_start_digest",
        "unread",
        "contradiction",
        "shared_evidence",
        "thumbs_down",
        "feedback_unknown",
    ),
    "state": (
        "wrong_final_state",
        "wrong_state",
        "message_missing",
        "message_forbidden",
        "wording_not_measured",
        "final_state_not_measured",
    ),
    "process": (
        "missing",
        "out_of_order",
        "wrong_argument",
        "write_not_verified",
        "no_final_state_evidence",
    ),
    "authority": (
        "forbidden",
        "not_allowed",
        "approval_missing",
        "approval_unproven",
        "unknown_tool",
        "tool_alias",
    ),
    "redaction": ("unredacted",),
    "timeout": (
        "retry_budget_exceeded",
        "latency_budget",
        "latency_not_measured",
        "terminated",
    ),
    "budget": ("step_budget", "cost_budget", "cost_not_measured"),
}
"""Every code (before its colon) in the order its gate prints it."""

_RANK = {
    (gate, code): (place, rank)
    for place, gate in enumerate(FINDING_ORDER)
    for rank, code in enumerate(CODE_ORDER[gate])
}
_ALL_PASS: tuple[Result, ...] = tuple("pass" for _ in GATES)

Hits = Sequence[tuple[str, int | None]]
"""Unredacted values: the path of each (never the value) and the seq of its event."""


def score(
    contract: Contract,
    record: TraceRecord,
    *,
    redaction_hits: Hits = (),
    acts: Acts | None = None,
) -> Verdict:
    """Judge one attempt by its episode's contract.

    A gate fails on any failing finding, is not measured when its evidence lacks, and passes else;
    one that the contract gives no rule passes. The trace passes when every gate does; it is None
    when none fails and some are not measured. The caller picks the contract: a record of an episode
    the suite does not have gets `unknown_episode`. An attempt that the harness ended
    (`INFRASTRUCTURE_ENDS`) is judged on authority and redaction only: it counts as infrastructure
    unless one of those fails, which makes it a critical failure like any other. Parts of the source
    that no reader understood may be acts: authority, process and state then fail by what was read,
    or are not measured; so do the gates that stand on what the record contradicts. `acts` (from
    `acts_of` on this very record) spares a second reading where the caller also diagnoses.
    """
    acts = acts_of(record, contract.aliases) if acts is None else acts
    found: list[Finding] = []
    check_authority(contract, acts, found)
    if contract.aliases:
        note_aliases(contract, record, found)
    if redaction_hits:
        found.extend(_unredacted(redaction_hits))
    if record.termination not in GOOD_ENDS and termination_of(record.termination) in (
        INFRASTRUCTURE_ENDS
    ):
        return _ended_by_harness(contract, acts, found)
    _check_start(contract, record, found)
    check_state(contract, acts, found)
    check_process(contract, acts, found)
    check_timeout(contract, acts, found)
    check_budget(contract, acts, found)
    check_feedback(record, found)
    hidden = check_contradictions(contract, acts, found)
    if record.unread:
        found.extend(_unread(record.unread))
        hidden |= ACT_GATES
    if not found:
        return Verdict(_ALL_PASS, (), True, False, len(acts.tools), acts.timeouts)
    if contract.critical:
        found = [_escalated(finding, contract.critical) for finding in found]
    return _verdict(found, steps=len(acts.tools), timeouts=acts.timeouts, hidden=hidden)


def redaction_only(hits: Hits) -> Verdict:
    """The verdict of a trace that may not be read further: raw values in a private suite.

    Critical and failed, whatever else the trace may hold; every other gate is not measured.
    Raises ValueError without hits: a clean trace is judged by `score`.
    """
    if not hits:
        raise ValueError("redaction_only: no hits given; judge a clean trace with score()")
    return _verdict(list(_unredacted(hits)), measured=frozenset({"redaction"}))


def unknown_episode(episode_id: str) -> Verdict:
    """The verdict of a trace whose episode the suite does not have: not evaluable, so failed."""
    name = clip(episode_id)
    text = f"no episode {name} in this suite: nothing says what this attempt should do"
    finding = Finding("completeness", f"unknown_episode:{name}", "fail", None, text)
    return _verdict([finding], measured=frozenset({"completeness"}))


def _check_start(contract: Contract, record: TraceRecord, found: list[Finding]) -> None:
    given, wanted = record.start_state_digest, contract.start_digest
    if given is None or wanted is None:
        if contract.episode.initial_state:
            text = "no digest of the state this attempt started from"
            if given is not None:
                text = "the episode's initial state has no RFC 8785 form to compare with"
            found.append(Finding("completeness", "no_start_digest", "not_measured", None, text))
    elif given != wanted and not same_digest(given, wanted):
        text = f"started from state {clip(given, 80)}, the episode's is {wanted}"
        found.append(Finding("completeness", "start_state_mismatch", "fail", None, text))


def _unredacted(hits: Hits) -> Iterable[Finding]:
    for path, seq in dict.fromkeys(hits):
        name = clip(path)
        text = f"an unredacted value stands at {name}"
        yield Finding("redaction", f"unredacted:{name}", "critical", seq, text)


def _ended_by_harness(contract: Contract, acts: Acts, found: list[Finding]) -> Verdict:
    name = termination_of(acts.record.termination)
    text = f"the attempt was ended by {name}: neither pass nor fail"
    broken: frozenset[str] = frozenset(
        finding.gate for finding in found if finding.severity in ("critical", "fail")
    )
    doubtful = any(finding.severity != "note" for finding in found)
    found.append(Finding("timeout", f"terminated:{name}", "not_measured", None, text))
    # What nobody could read may be a critical act, and another attempt does not make that good.
    unread = acts.record.unread or ()
    found.extend(_unread(unread))
    against: list[Finding] = []
    hidden = check_contradictions(contract, acts, against)
    found.extend(one for one in against if one.severity == "not_measured")
    doubtful = doubtful or bool(unread) or not ACT_GATES.isdisjoint(hidden - {"state"})
    return _verdict(
        found,
        measured=broken,
        steps=len(acts.tools),
        timeouts=acts.timeouts,
        infrastructure=not doubtful,
    )


def _unread(parts: Sequence[Unread]) -> Iterator[Finding]:
    for part in parts:
        path = clip(part.path)
        text = f"{path} may be an act of the agent, and no reader understood it"
        yield Finding("completeness", f"unread:{path}", "not_measured", part.seq, text)


def _escalated(finding: Finding, critical: frozenset[str]) -> Finding:
    if finding.severity != "fail":
        return finding
    head = finding.code.partition(":")[0]
    if critical.isdisjoint((finding.gate, finding.code, head, f"{head}:")):
        return finding
    return finding._replace(severity="critical")


def _place(finding: Finding) -> tuple[tuple[int, int], str, int]:
    head, _, name = finding.code.partition(":")
    return _RANK[finding.gate, head], name, finding.seq or 0


def _verdict(
    found: list[Finding],
    *,
    measured: frozenset[str] | None = None,
    steps: int = 0,
    timeouts: int = 0,
    infrastructure: bool = False,
    hidden: frozenset[str] = frozenset(),
) -> Verdict:
    """Put findings in printed order and fold them. Gates outside `measured` are not measured, nor
    are those in `hidden`, unless they fail by what was read."""
    found.sort(key=_place)
    worst: dict[str, Result] = {}
    critical = False
    for finding in found:
        if finding.severity in ("critical", "fail"):
            worst[finding.gate] = "fail"
            critical |= finding.severity == "critical" or finding.gate in CRITICAL_GATES
        elif finding.severity == "not_measured":
            worst.setdefault(finding.gate, "not_measured")
    for gate in hidden:
        worst.setdefault(gate, "not_measured")
    other: Result = "pass" if measured is None else "not_measured"
    results = tuple(worst.get(gate, other) for gate in GATES)
    passed: bool | None = "fail" not in results
    if passed and "not_measured" in results:
        passed = None
    return Verdict(results, tuple(found), passed, critical, steps, timeouts, infrastructure)
