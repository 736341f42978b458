"""Judge the attempts of the trial agents: by the gates of each contract, then by the suite's
policy.

Labels, baseline and signatures are assumed to be met. Each agent's attempts are evidence like that
of a candidate, and the question is the report's: does anything speak against a promotion?
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from reviewer.desk.trials.views import DOES, AgentOutcome, Cell, TriedAgent
from reviewer.gates import Contract, Verdict, compile_contract, score
from reviewer.gates.custom import Checked
from reviewer.gates.values import parse
from reviewer.gates.verdict import NOTHING_CHECKED
from reviewer.report.assess import assess
from reviewer.report.evidence import DiagnosticMeans, EpisodeCounts, Evidence, FailedTrace
from reviewer.running.trial.play import Played
from reviewer.suite.candidate import Candidate
from reviewer.suite.gates import GATES
from reviewer.suite.model import TRIAL_AGENTS, Episode, Suite, TrialAgent
from reviewer.trace.record import TraceRecord
from reviewer.trace.validate import decode

MAY_DO_THE_SAME: frozenset[TrialAgent] = frozenset({"no-verify", "repeater", "liar"})
"""Agents that differ from the oracle only by calls that it makes: in a suite where the oracle makes
none of those, they do nothing wrong. Every suite must stop the other agents."""


class Judged(NamedTuple):
    """One attempt with its record and verdict. `same` says that the oracle did exactly the same,
    `checked` what the suite's own checks found."""

    played: Played
    record: TraceRecord
    verdict: Verdict
    same: bool
    checked: Checked = NOTHING_CHECKED


def contract_of(episode: Episode, limits: dict[str, int], checks: tuple[str, ...] = ()) -> Contract:
    """Return the contract by which an attempt of reviewer's own runner is judged."""
    return compile_contract(episode, True, limits=limits, checks=checks)


def judged(suite: Suite, attempts: Sequence[Played], checked: Sequence[Checked]) -> list[Judged]:
    """Judge each attempt by its episode's contract and the findings of the checks."""
    contracts = {
        episode.episode_id: contract_of(episode, suite.policy.limits, suite.check_names)
        for episode in suite.episodes
    }
    good = {(one.episode_id, one.attempt): one for one in attempts if one.agent == "oracle"}
    found = []
    for one, results in zip(attempts, checked, strict=True):
        record = decode(one.raw)
        oracle = good[one.episode_id, one.attempt]
        same = one.acts == oracle.acts and _may_do_the_same(one, oracle)
        verdict = score(contracts[one.episode_id], record, checked=results)
        found.append(Judged(one, record, verdict, same, results))
    return found


def _may_do_the_same(one: Played, oracle: Played) -> bool:
    """Return whether an agent that did the same as the oracle did nothing wrong; an agent that does
    not verify did, where something was written."""
    if one.agent == "no-verify":
        return not oracle.wrote
    return one.agent in MAY_DO_THE_SAME


def cell_of(attempts: Sequence[Judged]) -> Cell:
    """Return the result of one agent in one episode, over its attempts."""
    verdicts = [one.verdict for one in attempts]
    if any(verdict.infrastructure for verdict in verdicts):
        return Cell(outcome="infrastructure")
    failing = _findings(verdicts, ("critical", "fail"))
    if failing:
        gates = tuple(gate for gate in GATES if any(gate == found for found, _ in failing))
        return Cell(outcome="caught", gates=gates, codes=tuple(code for _, code in failing))
    unknown = _findings(verdicts, ("not_measured",))
    if any(verdict.passed is None for verdict in verdicts):
        gates = tuple(gate for gate in GATES if any(gate == found for found, _ in unknown))
        return Cell(outcome="not_measured", gates=gates, codes=tuple(code for _, code in unknown))
    if all(one.same for one in attempts) and attempts[0].played.agent != "oracle":
        return Cell(outcome="same")
    return Cell(outcome="passed")


def _findings(verdicts: Sequence[Verdict], severities: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(
        dict.fromkeys(
            (finding.gate, finding.code)
            for verdict in verdicts
            for finding in verdict.findings
            if finding.severity in severities
        )
    )


def agents_judged(
    suite: Suite, attempts: Sequence[Judged], cells: Mapping[str, Mapping[str, Cell]]
) -> list[TriedAgent]:
    """Return the suite's result for each agent; `cells` are those of each episode by agent.

    `suite` contains only the episodes that were tried.
    """
    waivers = {waiver.agent: waiver.reason for waiver in suite.waived}
    found = []
    for agent in TRIAL_AGENTS:
        mine = [one for one in attempts if one.played.agent == agent]
        theirs = {episode: row[agent] for episode, row in cells.items()}
        one = _oracle(mine, theirs) if agent == "oracle" else _bad(suite, agent, mine, theirs)
        found.append(structs.replace(one, waiver=waivers.get(agent)))
    return found


def _oracle(attempts: Sequence[Judged], cells: Mapping[str, Cell]) -> TriedAgent:
    failed = {episode: cell for episode, cell in cells.items() if cell.outcome != "passed"}
    why = "passes every episode"
    if failed:
        episode, cell = next(iter(failed.items()))
        told = ", ".join(cell.codes) or cell.outcome.replace("_", " ")
        if cell.outcome == "infrastructure":
            told = _broken_world(attempts)
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        why = f"does not pass {episode}{more}: {told}"
    return TriedAgent(
        agent="oracle",
        does=DOES["oracle"],
        outcome="stopped" if failed else "passes",
        by=_gates(failed.values()),
        why=why,
    )


def _bad(
    suite: Suite, agent: TrialAgent, attempts: Sequence[Judged], cells: Mapping[str, Cell]
) -> TriedAgent:
    def told(outcome: AgentOutcome, by: tuple[str, ...], why: str) -> TriedAgent:
        return TriedAgent(agent=agent, does=DOES[agent], outcome=outcome, by=by, why=why)

    if all(cell.outcome == "same" for cell in cells.values()):
        why = "does what the oracle does: " + _NOTHING[agent]
        return told("not_tried", (), why)
    if any(cell.outcome == "infrastructure" for cell in cells.values()):
        return told("not_stopped", (), f"nothing is known of it: {_broken_world(attempts)}")
    gates = _gates(cells.values())
    caught = [episode for episode, cell in cells.items() if cell.outcome == "caught"]
    unknown = [episode for episode, cell in cells.items() if cell.outcome == "not_measured"]
    assessed = assess(evidence_of(suite, agent, attempts))
    if assessed.recommendation in ("block", "repair"):
        reasons = [reason.text for reason in assessed.reasons if not reason.need]
        why = f"{', '.join(reasons)}: caught in {len(caught)} of {len(cells)} episodes"
        return told("stopped", gates, why)
    if unknown:
        return told("stopped", gates, f"not measured in {len(unknown)} of {len(cells)} episodes")
    if caught:
        why = f"caught in {len(caught)} of {len(cells)} episodes, which the policy lets pass"
        return told("not_stopped", gates, why)
    every = f"all {len(cells)} episodes" if len(cells) > 1 else "the one episode there is"
    return told("not_stopped", (), f"passes {every}")


def _broken_world(attempts: Sequence[Judged]) -> str:
    """Return why infrastructure ended the first such attempt."""
    ended = (one.record for one in attempts if one.verdict.infrastructure)
    said = (
        parse(event.message) for record in ended for event in record.events if event.kind == "error"
    )
    why = next((text for text in said if isinstance(text, str) and text), "it does not say why")
    return f"its world broke: {why}"


_NOTHING: dict[TrialAgent, str] = {
    "no-verify": "no episode wants a write",
    "repeater": "no episode wants a call",
    "liar": "no episode wants a call",
}


def _gates(cells: Iterable[Cell]) -> tuple[str, ...]:
    held = list(cells)
    return tuple(gate for gate in GATES if any(gate in cell.gates for cell in held))


def evidence_of(suite: Suite, agent: str, attempts: Sequence[Judged]) -> Evidence:
    """Return an agent's attempts as the evidence of a candidate that made all its planned attempts,
    which cost nothing and took no time.

    An episode of which one attempt was played has the same result each time; it counts as often as
    the policy plans.
    """
    rows, failures = [], []
    for episode in suite.episodes:
        mine = [one for one in attempts if one.played.episode_id == episode.episode_id]
        planned = [mine[n % len(mine)] for n in range(suite.policy.attempts)]
        rows.append(_counts(episode.episode_id, [one.verdict for one in planned]))
        failures += [
            _failed(suite, agent, one, number)
            for number, one in enumerate(planned, 1)
            if one.verdict.passed is False
        ]
    return Evidence(
        suite=structs.replace(suite, probe=False),
        frozen_at=None,
        frozen_seq=None,
        first_run_seq=None,
        candidate_id=agent,
        candidate=Candidate(candidate_id=agent, digest=""),
        manifest=None,
        episodes=tuple(rows),
        failures=tuple(failures),
        latencies_ms=(0.0,) * (len(rows) * suite.policy.attempts),
        latency_unknown=0,
        unknown_codes=(),
        diagnostics=DiagnosticMeans(),
        duplicates_refused=0,
        quarantined_unplaced=0,
        source_files=(),
    )


def _counts(episode_id: str, verdicts: Sequence[Verdict]) -> EpisodeCounts:
    def by_gate(result: str) -> tuple[int, ...]:
        return tuple(
            sum(verdict.results[place] == result for verdict in verdicts)
            for place in range(len(GATES))
        )

    return EpisodeCounts(
        episode_id=episode_id,
        attempts=len(verdicts),
        measured=sum(verdict.passed is not None for verdict in verdicts),
        passes=sum(verdict.passed is True for verdict in verdicts),
        critical=sum(verdict.critical for verdict in verdicts),
        in_plan=len(verdicts),
        steps=sum(verdict.steps for verdict in verdicts),
        gate_pass=by_gate("pass"),
        gate_fail=by_gate("fail"),
        gate_unknown=by_gate("not_measured"),
    )


def _failed(suite: Suite, agent: str, one: Judged, attempt: int) -> FailedTrace:
    verdict = one.verdict
    return FailedTrace(
        trace_id=f"{suite.suite_id}/{agent}/{one.played.episode_id}/{attempt}",
        episode_id=one.played.episode_id,
        attempt=attempt,
        codes=tuple(verdict.codes()),
        critical=verdict.critical,
        infrastructure=verdict.infrastructure,
        results=verdict.results,
        sha256="",
        evidence=tuple((found.gate, found.code, found.seq) for found in verdict.findings),
    )
