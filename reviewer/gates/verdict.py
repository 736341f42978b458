"""Judge a trace: contract × record → Verdict. Pure, and defined for every decoded record."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module

from reviewer.gates.acts import Acts, acts_of
from reviewer.gates.authority import note_aliases
from reviewer.gates.compiled import Contract
from reviewer.gates.completeness import not_the_users, unread
from reviewer.gates.contradictions import check_contradictions
from reviewer.gates.custom import Checked, add_checked
from reviewer.gates.ends import (
    DISCARDING_ENDS,
    GOOD_ENDS,
    INFRASTRUCTURE_ENDS,
    WORLD_GAP,
    termination_of,
)
from reviewer.gates.model import Finding, Hits, Result, Rule, Verdict, worst_results
from reviewer.gates.redaction import unredacted
from reviewer.gates.values import clip, named
from reviewer.suite.gates import (
    ACT_GATES,
    ALWAYS,
    CODE_ORDER,
    CRITICAL_GATES,
    FINDING_ORDER,
    GATES,
)
from reviewer.trace.record import TraceRecord

Check = Callable[[Contract, Acts, Hits, list[Finding]], None]
"""Appends findings against an attempt, and on missing evidence. Never raises."""
Clauses = Callable[[Contract, Acts, frozenset[str]], Iterator[Rule]]
"""Yields the clauses of the contract, given the codes that the trace breaks."""

_MODULES = {name: import_module(f"reviewer.gates.{name}") for name in GATES}
CHECKS: dict[str, Check] = {name: module.check for name, module in _MODULES.items()}
CLAUSES: dict[str, Clauses] = {name: module.clauses for name, module in _MODULES.items()}


@lru_cache(maxsize=16)
def checks(in_force: tuple[str, ...]) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """Return the checks of the critical gates, which also judge an attempt that the harness ended,
    and those of the other gates."""
    return (
        tuple(CHECKS[name] for name in in_force if name in CRITICAL_GATES),
        tuple(CHECKS[name] for name in in_force if name not in CRITICAL_GATES),
    )


_RANK = {
    (gate, code): (place, rank)
    for place, gate in enumerate(FINDING_ORDER)
    for rank, code in enumerate(CODE_ORDER[gate])
}
NOTHING_CHECKED: Checked = {}
_ALL_PASS: tuple[Result, ...] = tuple("pass" for _ in GATES)


def score(
    contract: Contract,
    record: TraceRecord,
    *,
    redaction_hits: Hits = (),
    acts: Acts | None = None,
    checked: Checked = NOTHING_CHECKED,
) -> Verdict:
    """Judge one attempt by its episode's contract.

    A gate fails on any failing finding, is not measured when evidence is missing, and passes
    otherwise; a gate without a rule in the contract passes. The trace passes when every gate does;
    `passed` is None when no gate fails and some are not measured. The caller picks the contract: a
    record of an episode that the suite does not have gets `unknown_episode`. An attempt that the
    harness ended (`INFRASTRUCTURE_ENDS`, and for reviewer's own runner `DISCARDING_ENDS`) is judged
    only on authority and redaction, and on what the contract calls critical and no further act
    could have undone: it counts as infrastructure unless one of those fails, which is a critical
    failure like any other. Parts of the source that no reader understood may be acts: authority,
    process and state then fail by what was read, or are not measured. The same applies to the gates
    that depend on a value that the record contradicts, and to all gates that read calls where the
    record ascribes to the user a call of a tool that the user does not have. `acts` (from `acts_of`
    on the same record) saves a second reading where the caller also diagnoses. `checked` has the
    findings of the suite's own checks on the same record; a check that it lacks is not measured.
    """
    acts = acts_of(record, contract.aliases) if acts is None else acts
    found: list[Finding] = []
    critical, others = checks(contract.in_force)
    for check in critical:
        check(contract, acts, redaction_hits, found)
    if contract.aliases:
        note_aliases(contract, record, found)
    if record.termination not in GOOD_ENDS and _by_harness(contract, record.termination):
        if contract.critical:
            found += _already_critical(contract, acts, redaction_hits, others)
        return _ended_by_harness(contract, acts, found)
    for check in others:
        check(contract, acts, redaction_hits, found)
    if contract.checks:
        add_checked(contract, checked, found)
    hidden = check_contradictions(contract, acts, found)
    if acts.users:
        hidden |= not_the_users(contract, acts, found)
    if record.unread:
        found.extend(unread(record.unread))
        hidden |= ACT_GATES
    steps = acts.steps(contract.names.listed)
    if not found:
        return Verdict(_ALL_PASS, (), True, False, steps, acts.timeouts)
    if contract.critical:
        found = [_escalated(finding, contract.critical) for finding in found]
    return _verdict(found, contract.in_force, steps=steps, timeouts=acts.timeouts, hidden=hidden)


def redaction_only(hits: Hits, in_force: tuple[str, ...] = ALWAYS) -> Verdict:
    """Return the verdict of a trace that may not be read further: raw values in a private suite.

    Critical and failed, whatever else the trace contains; every other gate is not measured. Raises
    ValueError without hits: a clean trace is judged by `score`.
    """
    if not hits:
        raise ValueError("redaction_only: no hits given; judge a clean trace with score()")
    return _verdict(list(unredacted(hits)), in_force, measured=frozenset({"redaction"}))


def unknown_episode(episode_id: str, in_force: tuple[str, ...] = ALWAYS) -> Verdict:
    """Return the verdict of a trace whose episode the suite does not have: it cannot be evaluated,
    so it fails."""
    name = clip(episode_id)
    text = f"no episode {name} in this suite: nothing says what this attempt should do"
    finding = Finding("completeness", f"unknown_episode:{name}", "fail", None, text)
    return _verdict([finding], in_force, measured=frozenset({"completeness"}))


def _by_harness(contract: Contract, termination: str | None) -> bool:
    ended = termination_of(termination)
    return ended in INFRASTRUCTURE_ENDS or (contract.own and ended in DISCARDING_ENDS)


_DONE = frozenset({"retry_budget_exceeded", "step_budget", "cost_budget", "looped"})
"""Codes, up to their colon, for exceeded limits, which going on would not have undone."""
_EACH_CALL = "out_of_order"


def _already_critical(
    contract: Contract, acts: Acts, hits: Hits, others: tuple[Check, ...]
) -> list[Finding]:
    """Return the failures that the contract calls critical and that had occurred before the attempt
    was ended. A call out of order counts where each single call has its place."""
    found: list[Finding] = []
    for check in others:
        check(contract, acts, hits, found)
    placed = contract.episode.tools.order in ("any", "exact", "subset")
    placed = placed and contract.episode.expected.trajectory_match in (None, "strict", "subset")
    kept = []
    for finding in found:
        head = finding.code.partition(":")[0]
        if head in _DONE or (placed and head == _EACH_CALL and finding.seq is not None):
            kept.append(_escalated(finding, contract.critical))
    return [finding for finding in kept if finding.severity == "critical"]


def _ended_by_harness(contract: Contract, acts: Acts, found: list[Finding]) -> Verdict:
    name = termination_of(acts.record.termination)
    text, seq = f"the attempt was ended by {name}: neither pass nor fail", None
    if name == WORLD_GAP and acts.calls:
        call = acts.calls[-1]
        text = f"no recorded answer fits the call of {named(call.tool)}: neither pass nor fail"
        seq = call.seq
    broken: frozenset[str] = frozenset(
        finding.gate for finding in found if finding.severity in ("critical", "fail")
    )
    doubtful = any(finding.severity != "note" for finding in found)
    found.append(Finding("timeout", f"terminated:{name}", "not_measured", seq, text))
    # A part that no reader understood may be a critical act, which another attempt cannot undo.
    parts = acts.record.unread or ()
    found.extend(unread(parts))
    against: list[Finding] = []
    hidden = check_contradictions(contract, acts, against)
    found.extend(one for one in against if one.severity == "not_measured")
    foreign = not_the_users(contract, acts, found)
    doubtful = doubtful or bool(parts or foreign) or not ACT_GATES.isdisjoint(hidden - {"state"})
    return _verdict(
        found,
        contract.in_force,
        measured=broken,
        steps=acts.steps(contract.names.listed),
        timeouts=acts.timeouts,
        infrastructure=not doubtful,
    )


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
    in_force: tuple[str, ...],
    *,
    measured: frozenset[str] | None = None,
    steps: int = 0,
    timeouts: int = 0,
    infrastructure: bool = False,
    hidden: frozenset[str] = frozenset(),
) -> Verdict:
    """Put findings in printed order and fold them into results. Gates outside `measured`, and those
    in `hidden` unless they fail by what was read, are not measured. A gate that is not in force
    passes."""
    found.sort(key=_place)
    worst, critical = worst_results(found)
    for gate in hidden:
        worst.setdefault(gate, "not_measured")
    other: Result = "pass" if measured is None else "not_measured"
    results = tuple(worst.get(gate, other) if gate in in_force else "pass" for gate in GATES)
    passed: bool | None = "fail" not in results
    if passed and "not_measured" in results:
        passed = None
    return Verdict(results, tuple(found), passed, critical, steps, timeouts, infrastructure)
