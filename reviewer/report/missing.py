"""What a promotion still needs: each gap in words, with its count and what would close it."""

from collections.abc import Sequence

from msgspec import structs

from reviewer.report.amounts import named
from reviewer.report.evidence import Evidence
from reviewer.report.figures import BLOCKING, Figures
from reviewer.report.gap import Gap, gap, plural
from reviewer.report.lineage import unexplained
from reviewer.report.open_limits import open_limits
from reviewer.report.regression import Regression
from reviewer.report.split import leaked_episodes, standing
from reviewer.report.unmeasured import cause_gap, causes
from reviewer.suite.gates import GATES


def gaps(evidence: Evidence, shown: Figures, against: Regression) -> list[Gap]:
    """Everything required that the evidence does not hold, in a fixed order."""
    found = evidence_gaps(evidence, shown)
    limits = open_limits(evidence, shown, against, explained=bool(found))
    return [*found, *review_gaps(evidence, shown), *limits]


def evidence_gaps(evidence: Evidence, shown: Figures) -> list[Gap]:
    """What is missing of the plan, of measurements and of what they are bound to."""
    found = _slot_gaps(shown)
    found += _unmeasured(evidence, shown) + _later(shown)
    if evidence.suite.policy.mode == "strict":
        found += _invalid(shown)
    if evidence.candidate is None or not evidence.candidate.digest:
        what = f"candidate manifest of {evidence.candidate_id}"
        told = gap(what, "unknown digest", "candidate known by digest", what)
        if not evidence.suite.probe:
            where = f"candidates/{evidence.candidate_id}.json"
            need = f"{what} ({where} in the suite's folder, then its traces imported again)"
            told = structs.replace(told, need=need)
        found.append(told)
    found += _frozen(evidence) + _lineage(evidence) + _leaked(evidence)
    return found + _lacking(evidence)


def _lacking(evidence: Evidence) -> list[Gap]:
    """Failures that a signed decision names count, though their traces are not in the store."""
    found = []
    for one in evidence.lacking:
        more = f" and {one.traces - len(one.first)} more" if one.traces > len(one.first) else ""
        traces = f"{one.traces} failing {plural('trace', one.traces)}"
        what = f"{traces} that decision {one.decision} ({one.file}) names"
        told = gap(
            f"{what} ({', '.join(one.first)}{more})",
            "not in this store",
            "every failure that was signed",
            f"{what} (reviewer import the files that held them, or reviewer merge OTHER.db)",
        )
        found.append(structs.replace(told, short=f"needs {traces} of decision {one.decision}"))
    return found


def _lineage(evidence: Evidence) -> list[Gap]:
    """A reason for every other suite this candidate met."""
    mine = evidence.suite.suite_id
    found = []
    for one in unexplained(evidence.lineage):
        what = f"a reason why {evidence.candidate_id} also met {one.suite_id}"
        need = f"{what} (reviewer suite lineage {mine} {one.suite_id} --reason WHY)"
        told = gap(what, f"{one.attempts} attempts there", "a reason for each suite met", need)
        found.append(structs.replace(told, short=f"needs {what}"))
    return found


def _leaked(evidence: Evidence) -> list[Gap]:
    """Frozen episodes that stand in training or feedback data no longer measure."""
    episodes = leaked_episodes(evidence.split)
    if not episodes:
        return []
    found, of = len(episodes), len(evidence.suite.episodes)
    looks = named([look["uid"][:12] for look in standing(evidence.split)])
    return [
        Gap(
            text=f"split integrity: {found} of {of} frozen episodes stand in data the candidate "
            f"may have learned from ({named(episodes)})",
            observed=f"{found} of {of} episodes leaked",
            policy="no frozen episode in training or feedback data",
            need=f"a suite without them, or the withdrawal of {looks} (reviewer suite leaks)",
            short=f"{found} {plural('episode', found)} leaked",
        )
    ]


def _invalid(shown: Figures) -> list[Gap]:
    """Attempts that count and are no evidence: not whole, or begun from another state."""
    i = GATES.index("completeness")
    broken = [(e.episode_id, e.gate_fail[i]) for e in shown.counted if e.gate_fail[i]]
    count = sum(attempts for _, attempts in broken)
    if not count:
        return []
    what = f"{count} of {shown.hard_pass.n} attempts not valid"
    where = named([name for name, _ in broken])
    need = f"{count} {plural('valid trace', count)} ({_spread(broken)})"
    return [gap(f"{what} ({where})", what, "every trace whole, from the frozen state", need)]


def review_gaps(evidence: Evidence, shown: Figures) -> list[Gap]:
    """What is missing of the review for a promotion. Beside a critical failure high flags are not
    asked for: no label can lift it."""
    return open_review(evidence, flags=not shown.critical.count)


def open_review(evidence: Evidence, flags: bool = True) -> list[Gap]:
    """Labels that the policy wants, and high flags that nobody has looked at."""
    review, wanted = evidence.review, evidence.suite.policy.labels.min_pairs
    made, found = review.pairs if review else 0, []
    if made < wanted:
        more, pairs = wanted - made, plural("pair", wanted - made)
        found.append(
            Gap(
                text=f"labels missing: {more} more {pairs}",
                observed=f"{made} of {wanted} pairs",
                policy=f"{wanted} pairs",
                need=f"{more} more labelled {pairs}",
                short=f"needs {more} more {pairs}",
            )
        )
    if flags and review is not None and review.open_high:
        named_flags = plural("high flag", review.open_high)
        found.append(
            Gap(
                text=f"review missing: {review.open_high} of {review.high} high flags open",
                observed=f"{review.high - review.open_high} of {review.high} closed",
                policy="every high flag closed by a label",
                need=f"labels that close {review.open_high} {named_flags}",
                short=f"needs {review.open_high} {named_flags} closed",
            )
        )
    return found


def _slot_gaps(shown: Figures) -> list[Gap]:
    slots = shown.slots
    if not slots.planned:
        what = "the suite plans no attempts"
        return [gap(what, "0 planned", "at least one attempt", "episodes in the suite")]
    found = []
    for count, places, state, remedy in (
        (slots.missing, slots.missing_in, "not run", "more run"),
        (slots.infrastructure, slots.infrastructure_in, "failed by infrastructure", "rerun"),
        (slots.quarantined, slots.quarantined_in, "quarantined", "valid record"),
    ):
        if not count:
            continue
        where = named([name for name, _ in places])
        need = f"{count} {plural(remedy, count)}"
        one = gap(
            f"{count} of {slots.planned} attempts {state} ({where})",
            f"{slots.valid} of {slots.planned} valid",
            f"{slots.planned} attempts",
            f"{need} ({_spread(places)})",
        )
        found.append(structs.replace(one, short=f"needs {need}"))
    return found


def _spread(places: Sequence[tuple[str, int]]) -> str:
    """Episodes with their counts; a single episode holds them all and needs no count."""
    if len(places) == 1:
        return places[0][0]
    return named([f"{name} × {count}" for name, count in places])


def _unmeasured(evidence: Evidence, shown: Figures) -> list[Gap]:
    made = shown.hard_pass.n
    found = [cause_gap(cause, evidence, made, cause.attempts) for cause in causes(evidence)]
    if not found:
        for gate in shown.gates:
            if gate.open:
                what = f"gate {gate.gate} of {gate.open}"
                seen = f"{gate.open} of {made} not measured"
                need = f"{what} {plural('attempt', gate.open)}"
                found.append(gap(f"{what} of {made} attempts", seen, "all measured", need))
    open_verdicts = shown.hard_pass.not_measured
    if not found and open_verdicts:
        found.append(_no_verdict(open_verdicts, made))
    return found


def _later(shown: Figures) -> list[Gap]:
    """Attempts beyond those that count, of which a gate that blocks in whichever attempt says
    nothing: what was not read of one may be what blocks."""
    found = []
    for at, gate in enumerate(shown.gates):
        places = [
            (every.episode_id, count)
            for every, first in zip(shown.episodes, shown.counted, strict=True)
            if (count := every.gate_unknown[at] - first.gate_unknown[at]) > 0
        ]
        if gate.gate not in BLOCKING or not places:
            continue
        count = sum(each for _, each in places)
        what = f"gate {gate.gate} of {count} later {plural('attempt', count)}"
        where = named([name for name, _ in places])
        need = f"{what} ({_spread(places)}; reviewer show TRACE_ID says why)"
        told = gap(f"{what} ({where})", f"{count} not measured", "all measured", need)
        found.append(structs.replace(told, short=f"needs {what}"))
    return found


def _no_verdict(count: int, made: int) -> Gap:
    what = f"verdict of {count}"
    return gap(
        f"{what} of {made} attempts",
        f"{count} of {made} not measured",
        "all measured",
        f"{what} {plural('attempt', count)}",
    )


def unmeasured_reasons(evidence: Evidence, shown: Figures) -> list[Gap]:
    """Return what is not measured, as reasons beside those that speak against a promotion already:
    a count of passes alone would read as if all others had failed."""
    made, still_open = shown.hard_pass.n, shown.hard_pass.not_measured
    if not still_open:
        return []
    found = [
        cause_gap(cause, evidence, made, cause.without_verdict)
        for cause in causes(evidence)
        if cause.without_verdict
    ]
    return found or [_no_verdict(still_open, made)]


def frozen_before_first_run(evidence: Evidence) -> bool:
    """Whether the suite was frozen before the first record of this candidate came in."""
    if evidence.frozen_seq is None or not evidence.suite.digest:
        return False
    return evidence.first_run_seq is None or evidence.frozen_seq < evidence.first_run_seq


def _frozen(evidence: Evidence) -> list[Gap]:
    if frozen_before_first_run(evidence):
        return []
    name = evidence.suite.suite_id
    frozen = evidence.frozen_seq is not None and evidence.suite.digest
    seen = "frozen after the first run" if frozen else "not frozen"
    what = f"freeze of {name} before the first run"
    need = f"runs of {name} made after its freeze" if frozen else f"a freeze of {name}, then runs"
    return [gap(what, seen, "frozen before the first run", need)]
