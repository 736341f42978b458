"""The sentences of a comparison of two candidates, and its sums and medians."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from reviewer.desk.compare.views import AlignedStep, Amount, Attempt, EpisodeWord, GateChange
from reviewer.desk.outcome_views import OutcomeView
from reviewer.desk.traces.outcome import against
from reviewer.desk.views import EventRow, FindingView, Rate
from reviewer.report.assess import Assessment
from reviewer.report.formatting import exact, named, plural
from reviewer.report.regression import Regression
from reviewer.stats.paired import MIN_CHANGED_EPISODES

NAMED = 5
"""Steps listed one by one before the rest is counted."""
DID = {
    "tool_result": "got the result of",
    "approval": "asked for approval",
    "state_snapshot": "recorded its state",
    "message": "wrote a message",
    "error": "met an error",
}
Findings = Sequence[FindingView]


class EvidenceLine(NamedTuple):
    """One line, and the step it refers to; None where no single step shows it."""

    text: str
    step: int | None = None


def evidence(
    sides: tuple[str, str],
    steps: Sequence[AlignedStep],
    gates: Sequence[GateChange],
    findings: tuple[Findings, Findings],
    ends: tuple[Attempt, Attempt],
    message: Sequence[tuple[str, str]],
    outcomes: tuple[OutcomeView | None, OutcomeView | None] = (None, None),
) -> list[EvidenceLine]:
    """Return the evidence as lines: what the sources say (of a probe), the first act that differs,
    gates, the final state, then other acts and the message; one line when nothing changed."""
    acts = [EvidenceLine(line, n) for n, step in enumerate(steps) if (line := _act(sides, step))]
    told = [*_outcomes(outcomes, steps), *acts[:1]]
    told += [
        EvidenceLine(line, _where(change, findings, steps))
        for change in gates
        for line in _gate(change, findings)
    ]
    old, new = ends
    if old.final_state != new.final_state:
        told.append(EvidenceLine(f"final state changed {old.final_state} → {new.final_state}"))
    told += acts[1:NAMED]
    if len(acts) > NAMED:
        told.append(EvidenceLine(f"{len(acts) - NAMED} more steps differ", acts[NAMED].step))
    if any(sign != "=" for sign, _ in message):
        gone, came = (sum(len(t.split()) for s, t in message if s == sign) for sign in "-+")
        words = f"{plural(gone, 'word')} gone, {came} new"
        told.append(EvidenceLine(f"final message differs: {words}", _last(steps)))
    for name, end in zip(sides, ends, strict=True):
        if not end.payload:
            words = f"the events of {_the(name)} are not stored: only its verdict is compared"
            told.append(EvidenceLine(words))
    same = "nothing changed: same actions, same verdicts, same final state"
    return told or [EvidenceLine(same)]


def _outcomes(
    outcomes: tuple[OutcomeView | None, OutcomeView | None], steps: Sequence[AlignedStep]
) -> Iterator[EvidenceLine]:
    """Return the change of the sources' verdict, and what is against the candidate's attempt and
    was not against the baseline's."""
    old, new = outcomes
    if old is None or new is None:
        return
    if (old.passed, old.reward) != (new.passed, new.reward):
        yield EvidenceLine(f"the source's verdict: {_verdict(old)} → {_verdict(new)}")
    before = {(one.name, one.words) for one in against(old)}
    for one in against(new):
        if (one.name, one.words) not in before:
            step = _step_of(one.seq, steps)
            yield EvidenceLine(f"the source's check: {one.name} {one.words}", step)


def _step_of(seq: int | None, steps: Sequence[AlignedStep]) -> int | None:
    """Return the step with this event of the candidate."""
    rows = ((n, step.candidate) for n, step in enumerate(steps))
    return next((n for n, row in rows if row and seq is not None and row.seq == seq), None)


def _verdict(found: OutcomeView) -> str:
    word = {True: "passed", False: "failed", None: "none"}[found.passed]
    return word if found.reward is None else f"{word}, reward {found.reward:g}"


def _where(
    change: GateChange, findings: tuple[Findings, Findings], steps: Sequence[AlignedStep]
) -> int | None:
    """Return the step with the event on which the gate fails: the candidate's, else the
    baseline's."""
    for side, found in (("candidate", findings[1]), ("baseline", findings[0])):
        seqs = {f.seq for f in found if f.gate == change.gate and f.seq is not None}
        for n, step in enumerate(steps):
            row = getattr(step, side)
            if row is not None and row.seq in seqs:
                return n
    return None


def _last(steps: Sequence[AlignedStep]) -> int | None:
    """Return the step of the last message."""
    rows = [step.candidate or step.baseline for step in steps]
    found = [n for n, row in enumerate(rows) if row is not None and row.kind == "message"]
    return found[-1] if found else None


def _the(side: str) -> str:
    return f"the {side}" if side in ("baseline", "candidate") else side


def _act(sides: tuple[str, str], step: AlignedStep) -> str:
    """Describe what one side did and the other did not; "" where both did the same, or only words
    differ."""
    old, new = step.baseline, step.candidate
    before, after = _the(sides[0]), sides[1]
    if old is not None and new is not None:
        if step.change == "arguments":
            more = f": {step.lines[0]}" if step.lines else ""
            return f"{after} called {new.title} at event {new.seq} with other arguments{more}"
        if step.change == "instead":
            where = "" if new.seq == old.seq else f" at event {old.seq}"
            return f"{after} {_did(new)} at event {new.seq} where {before} {_did(old)}{where}"
        if step.change == "result" and old.status != new.status:
            answers = f"{new.status or 'nothing'} where {before} got {old.status or 'nothing'}"
            return f"{after}'s {new.title} at event {new.seq} got {answers}"
        return ""
    if new is not None:
        return f"{after} {_did(new)} at event {new.seq}, {before} did not"
    if old is not None:
        return f"{sides[0]} {_did(old)} at event {old.seq}, {_the(after)} did not"
    return ""


def _did(row: EventRow) -> str:
    if row.kind == "tool_call":
        return f"called {row.title}"
    did = DID.get(row.kind, f"had a {row.kind}")
    return f"{did} {row.title}" if row.kind == "tool_result" else did


def _gate(change: GateChange, findings: tuple[Findings, Findings]) -> Iterator[str]:
    gate, old, new = change.gate, change.baseline, change.candidate
    before, after = (_codes(side, gate) for side in findings)
    if new == old:
        if before != after:
            yield f"{gate}: {before or 'no finding'} → {after or 'no finding'}"
    elif new == "pass":
        yield f"{gate} now passes" + (f" (was {before})" if before else "")
    elif new == "not_measured":
        yield f"{gate} is no longer measured" + (f": {after}" if after else "")
    else:
        word = "now fails critically" if new == "critical" else "now fails"
        yield f"{gate} {word}" + (f": {after}" if after else "")


def _codes(findings: Findings, gate: str) -> str:
    found = [f for f in findings if f.gate == gate and f.severity != "note"]
    return named(list(dict.fromkeys(f.code for f in found)))


def sentence(against: Regression, by_word: Mapping[EpisodeWord, tuple[str, ...]]) -> str:
    """Count the episodes by change; name those lost and those newly critical."""
    parts = [
        f"lost {_named(against.lost)}",
        f"new critical {_named(against.new_critical)}",
        f"gained {len(against.gained)}",
        f"changed {len(by_word['changed'])}",
        f"unchanged {len(by_word['unchanged'])}",
    ]
    if against.not_compared:
        parts.append(f"not compared {len(against.not_compared)}")
    return ", ".join(parts)


def _named(episodes: Sequence[str]) -> str:
    """Return `0`, or the count and the first names."""
    if not episodes:
        return "0"
    return f"{len(episodes)} ({named(episodes)})"


def figures(against: Regression, rates: tuple[Rate, Rate]) -> str:
    """Return the rates of both sides and the difference with its bounds."""
    then, now = rates
    told = f"hard pass {_passed(then)} → {_passed(now)}"
    if against.difference is None:
        return f"{told}, difference not measured ({against.why})"
    bounds = "not measured"
    if against.low is not None and against.high is not None:
        bounds = f"{against.low:+.3f} and {against.high:+.3f}"
    return f"{told}, difference {against.difference:+.3f}, one-sided 95% bounds {bounds}"


def _passed(rate: Rate) -> str:
    """Return `472/600`, or `472 to 480/600` where some verdicts are not measured."""
    most = f" to {rate.passes + rate.unknown}" if rate.unknown else ""
    return f"{rate.passes}{most}/{rate.n}"


def tested(against: Regression) -> str:
    """Return what a test may conclude: no p value with fewer than six changed episodes."""
    if against.difference is None:
        return "no test: nothing to compare"
    count = f"{against.changed} episode{'' if against.changed == 1 else 's'} changed"
    if against.changed < MIN_CHANGED_EPISODES:
        fewer = f"with fewer than {MIN_CHANGED_EPISODES} no test can reach 0.05"
        return f"{count}: {fewer}, so no p is shown"
    if against.p_value is None:
        return against.test or ""
    return f"{count}: p {against.p_value:.3g}, {against.test}"


def conclusion(against: Regression) -> str:
    """Return the verdict against the margin, and what would be needed to show more."""
    margin = f"{against.margin:g}"
    if against.new_critical:
        return f"worse: new critical failure in {named(against.new_critical)}"
    if against.verdict == "worse":
        return "worse: even the upper bound is below no difference"
    if against.verdict == "not worse":
        return f"within the margin: not worse by {margin}"
    told = f"within the margin {margin}: not shown"
    if against.episodes_needed_if_unchanged is not None:
        told += f"; that takes {against.episodes_needed_if_unchanged} unchanged episodes"
    return told


def amounts(then: Assessment, now: Assessment) -> tuple[Amount, ...]:
    """Return sums and medians of both sides; sums over different numbers of attempts have no
    difference."""
    a, b = then.figures, now.figures
    made = [side.counted.total(lambda e: e.attempts + e.infrastructure) for side in (a, b)]
    steps = [float(sum(side.counted.steps)) if n else None
             for side, n in zip((a, b), made, strict=True)]  # fmt: skip
    uneven = "" if made[0] == made[1] else f"sums over {made[0]} and {made[1]} attempts"
    return (
        amount("cost, sum", "usd", a.cost.total_usd, b.cost.total_usd, uneven),
        amount("cost per success", "usd", a.cost.cpst_usd, b.cost.cpst_usd),
        amount("latency, median", "ms", a.latency.p50, b.latency.p50),
        amount("steps, sum", "steps", steps[0], steps[1], uneven),
    )


def amount(
    name: str,
    unit: Literal["usd", "ms", "steps"],
    baseline: float | None,
    candidate: float | None,
    uneven: str = "",
) -> Amount:
    """Return one figure of both sides; `uneven` says why sums have no difference."""
    unknown = [
        f"the {side}'s is not measured"
        for side, value in (("baseline", baseline), ("candidate", candidate))
        if value is None
    ]
    difference = None
    if baseline is not None and candidate is not None and not uneven:
        difference = float(exact(candidate) - exact(baseline))
    return Amount(
        name=name,
        unit=unit,
        baseline=baseline,
        candidate=candidate,
        difference=difference,
        why="; ".join(unknown) or uneven,
    )
