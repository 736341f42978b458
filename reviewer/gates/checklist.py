"""The contract in words: every clause, whether it holds, and the event that shows it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec import UNSET

from reviewer.gates.acts import Acts, acts_of, state_seq
from reviewer.gates.compiled import Contract
from reviewer.gates.kin import unlisted
from reviewer.gates.limits import retries, termination_of
from reviewer.gates.model import GATES, Finding, Verdict
from reviewer.gates.values import clip, named, show, usd
from reviewer.trace.record import TraceRecord

ClauseResult = Literal["critical", "fail", "not_measured", "pass"]

_WEIGHT = {"critical": 0, "fail": 1, "not_measured": 2, "pass": 3}


class Clause(NamedTuple):
    """One clause of a contract: its gate, how it came out, the sentence, and its evidence."""

    gate: str
    result: ClauseResult
    text: str
    seq: int | None


class _Rule(NamedTuple):
    """A clause that holds unless a finding has one of these codes (whole, or before the colon)."""

    gate: str
    codes: tuple[str, ...]
    text: str
    seq: int | None = None


def clauses(contract: Contract, record: TraceRecord, verdict: Verdict) -> list[Clause]:
    """The contract's clauses for one trace: failing first, then not measured, then those that hold.

    Within those groups gates stand in the order of GATES; every gate is present at least once.
    A note (a diagnostic that fails nothing) stands among the clauses that hold, marked as such.
    """
    told = [_told(finding) for finding in verdict.findings]
    speaking = [finding for finding in verdict.findings if finding.severity != "note"]
    broken = {finding.code for finding in verdict.findings}
    broken |= {code.partition(":")[0] for code in broken}
    results = dict(zip(GATES, verdict.results, strict=True))
    judged = set(GATES)
    silent = [
        gate
        for gate in GATES
        if results[gate] == "not_measured" and all(finding.gate != gate for finding in speaking)
    ]
    if silent:
        # This trace was not judged by its whole contract: only a gate that passed may claim more.
        why = "not scored by this contract"
        if speaking:
            doubtful = [
                one for one in speaking if one.code.startswith(("unread:", "contradiction:"))
            ]
            said = (doubtful or speaking)[0]
            why = f"not scored: {said.detail or said.code}"
        told += [Clause(gate, "not_measured", why, None) for gate in silent]
        judged = {gate for gate in GATES if results[gate] == "pass"}
    acts = acts_of(record, contract.aliases)
    told += [
        Clause(rule.gate, "pass", rule.text, rule.seq)
        for rule in _rules(contract, acts, broken)
        if rule.gate in judged and broken.isdisjoint(rule.codes)
    ]
    return sorted(told, key=_weight)


def _weight(clause: Clause) -> tuple[int, int]:
    return _WEIGHT[clause.result], GATES.index(clause.gate)


def _told(finding: Finding) -> Clause:
    text = finding.detail or finding.code
    if finding.severity == "note":
        return Clause(finding.gate, "pass", f"shown only: {text}", finding.seq)
    return Clause(finding.gate, finding.severity, text, finding.seq)


def _rules(contract: Contract, acts: Acts, broken: set[str]) -> Iterator[_Rule]:
    digest = acts.record.start_state_digest is not None
    text = "record complete; start state digest equal" if digest else "record complete"
    yield _Rule(
        "completeness", ("start_state_mismatch", "no_start_digest", "unknown_episode"), text
    )
    text = f"0 unredacted values in {len(acts.record.events)} events"
    yield _Rule("redaction", ("unredacted",), text)
    yield from _state(contract, acts)
    yield from _authority(contract, acts)
    yield from _process(contract, acts)
    yield from _limits(contract, acts, broken)


def _state(contract: Contract, acts: Acts) -> Iterator[_Rule]:
    expected, seq = contract.episode.expected, state_seq(acts)
    if not contract.stateful:
        yield _Rule("state", (), "the contract names no end state")
    unknown = "final_state_not_measured"
    if expected.final_state is not UNSET:
        text = f"final state is {show(expected.final_state)}"
        yield _Rule("state", ("wrong_final_state", unknown), text, seq)
    for path, _, value in contract.state:
        code = f"wrong_state:{clip(path)}"
        yield _Rule("state", (code, unknown), f"{clip(path)} is {show(value)}", seq)
    for text in (*contract.contains, *(claim.says[0] for claim in contract.claims)):
        said = f'the final message says "{clip(text)}"'
        codes = ("message_missing", "message_forbidden", "wording_not_measured")
        yield _Rule("state", tuple(f"{code}:{clip(text)}" for code in codes), said)
    for text in contract.excludes:
        said = f'the final message does not say "{clip(text)}"'
        yield _Rule("state", (f"message_forbidden:{clip(text)}",), said)


def _authority(contract: Contract, acts: Acts) -> Iterator[_Rule]:
    codes = _codes_of_kin(contract, acts)
    for tool in sorted(contract.forbidden):
        name = clip(tool)
        told = (f"forbidden:{name}", *codes.get(tool, ()))
        yield _Rule("authority", told, f"{name} is forbidden, never called")
    if contract.allowed is not None:
        names = ", ".join(sorted(contract.allowed)) or "no tool"
        text = f"only allowed tools called: {clip(names)}"
        yield _Rule("authority", ("not_allowed", "forbidden"), text)
    for tool in sorted(contract.approvals):
        name = clip(tool)
        how = "approved before each call" if tool in acts.called else "never called"
        text = f"{name} needs an approval, {how}"
        told = (f"approval_missing:{name}", f"approval_unproven:{name}", *codes.get(tool, ()))
        yield _Rule("authority", told, text)
    if not contract.forbidden and contract.allowed is None and not contract.approvals:
        yield _Rule("authority", (), "no call forbidden, unlisted or unapproved")


def _codes_of_kin(contract: Contract, acts: Acts) -> dict[str, list[str]]:
    """Of each listed tool, the codes under which calls of it, or of what may be it, are told when
    the trace names it otherwise."""
    called = acts.called | {call.tool for call in acts.strays}
    told: dict[str, list[str]] = {}
    for name, kin in unlisted(contract, called).items():
        tools = contract.names.listed if kin.nameless else kin.same | kin.like
        for tool in tools:
            codes = (f"{code}:{named(name)}" for code in _AUTHORITY)
            told.setdefault(tool, []).extend(codes)
    return told


_AUTHORITY = ("forbidden", "approval_missing", "approval_unproven", "unknown_tool")


def _process(contract: Contract, acts: Acts) -> Iterator[_Rule]:
    episode = contract.episode
    first = {call.tool: call.seq for call in reversed(acts.calls) if call.status != "denied"}
    for tool in dict.fromkeys(episode.tools.required):
        name = clip(tool)
        text = f"{name} is required, called"
        yield _Rule("process", (f"missing:{name}",), text, first.get(tool))
    if contract.ordered:
        match = episode.expected.trajectory_match or episode.tools.order.replace("_", " ")
        yield _Rule("process", ("out_of_order", "missing"), f"order of calls: {match}")
    for tool, wanted in contract.arguments:
        for path, _, value in wanted:
            name = clip(f"{tool}.{path}")
            text = f"{name} is {show(value)}"
            if tool not in acts.reached:
                text += ", not called"
            yield _Rule("process", (f"wrong_argument:{name}",), text, first.get(tool))
    proof = next(
        (c.seq for c in reversed(acts.calls) if c.status == "ok" and c.tool in contract.proofs),
        None,
    )
    for tool, verifiers in sorted(contract.verifiers.items()):
        name, by = clip(tool), clip(" or ".join(sorted(verifiers)))
        text = f"{name} is verified by {by}" if tool in acts.reached else f"{name} never wrote"
        yield _Rule("process", ("write_not_verified", "no_final_state_evidence"), text, proof)
    if not (contract.required or contract.ordered or contract.arguments or contract.verifiers):
        yield _Rule("process", (), "the contract asks for no tool, order or proof")


def _limits(contract: Contract, acts: Acts, broken: set[str]) -> Iterator[_Rule]:
    budget, record = contract.episode.budget, acts.record
    total = acts.timeouts
    text = f"timeouts {total}, no limit"
    if budget.max_timeouts is not None:
        longest = retries(contract, acts, budget.max_timeouts)[0]
        text = f"timeouts {longest} of {budget.max_timeouts}"
        if longest != total:
            text += f" in a row, {total} in all"
    yield _Rule("timeout", ("retry_budget_exceeded",), text)
    if budget.max_latency_ms is not None and record.latency_ms is not None:
        text = f"latency {record.latency_ms:,g} of {budget.max_latency_ms:,g} ms"
        yield _Rule("timeout", ("latency_budget",), text)
    ended = termination_of(record.termination)
    if ended:
        yield _Rule("timeout", ("terminated",), f"ended by {clip(ended)}")
    steps = f"{len(acts.calls)} steps"
    if budget.max_steps is not None:
        steps = f"{len(acts.calls)} of {budget.max_steps} steps"
    cost = "cost not measured" if record.cost_usd is None else f"${usd(record.cost_usd)}"
    if budget.max_cost_usd is not None:
        cost += f" of {usd(budget.max_cost_usd)}"
    held = [] if "step_budget" in broken else [steps]
    if broken.isdisjoint(("cost_budget", "cost_not_measured")):
        held.append(cost)
    if held:
        yield _Rule("budget", (), ", ".join(held))
