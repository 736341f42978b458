"""Rerunning and looking: what was made beyond the plan, and how often one could look meanwhile.

Rates are made of the first complete set, so neither pays; both are said all the same. Figures of
every attempt made stand beside those of the set, with limits that hold at every look: who goes on
until it looks good has chosen when to stop.
"""

from typing import Any

from reviewer.report.amounts import stable_bits
from reviewer.report.evidence import EpisodeCounts, Evidence, Peeking
from reviewer.report.figures import Figures
from reviewer.report.rates import Rate, exact_pass_hat, hard_pass
from reviewer.report.words import limits, number, plural
from reviewer.stats.checks import Interval
from reviewer.stats.rates import confidence_sequence


def peeking_section(evidence: Evidence, shown: Figures) -> dict[str, Any]:
    """The report's `peeking`. `arrivals`, `earlier_decisions` and `candidates` are null where the
    store was not asked."""
    every, seen = hard_pass(shown.episodes), evidence.peeking
    k = shown.pass_hat.k
    always = _at_every_look(every)
    made = sum(e.attempts for e in shown.episodes)
    return {
        "attempts_planned": shown.slots.planned,
        "attempts_counted": sum(e.attempts for e in shown.counted),
        "attempts_made": made,
        "beyond_the_set": made - sum(e.attempts for e in shown.counted),
        "first_set": _rate(shown.hard_pass, shown.pass_hat.value, k),
        "all_attempts": {
            **_rate(every, _pass_hat(shown.episodes, k), k),
            "low_at_every_look": None if always is None else stable_bits(always.low),
            "high_at_every_look": None if always is None else stable_bits(always.high),
        },
        "arrivals": None if seen is None else seen.arrivals,
        "earlier_decisions": None if seen is None else _earlier(seen),
        "candidates": None if seen is None else seen.candidates,
    }


def _rate(rate: Rate, pass_hat: float | None, k: int) -> dict[str, Any]:
    return {
        "pass": rate.passes,
        "n": rate.n,
        "value": rate.value,
        "low": rate.low,
        "high": rate.high,
        "k": k,
        "pass_hat": pass_hat,
    }


def _pass_hat(rows: tuple[EpisodeCounts, ...], k: int) -> float | None:
    if any(e.attempts > e.measured for e in rows):
        return None
    exact = exact_pass_hat([(e.measured, e.passes) for e in rows], k)
    return None if exact is None else float(exact)


def _at_every_look(rate: Rate) -> Interval | None:
    if rate.value is None or not rate.n_eff:
        return None
    return confidence_sequence(rate.value * rate.n_eff, rate.n_eff)


def _earlier(seen: Peeking) -> list[dict[str, Any]]:
    return [
        {"number": one.number, "decision": one.decision, "attempts": one.attempts}
        for one in seen.earlier
    ]


def peeking_lines(found: dict[str, Any]) -> list[str]:
    """What a reader must see of it, first what matters most."""
    first, every = found["first_set"], found["all_attempts"]
    lines = []
    if found["beyond_the_set"]:
        lines.append(
            f"{plural(found['beyond_the_set'], 'attempt')} beyond the first complete set: it has "
            f"{_passed(first)}; every attempt made has {_passed(every)}, at every look "
            f"{limits(every['low_at_every_look'], every['high_at_every_look'])}. "
            "Rates, costs and limits are those of the first set."
        )
    if found["arrivals"] is None:
        return lines
    looked = found["arrivals"] - 1
    evidence = f"Evidence came in {_times(found['arrivals'])}"
    if looked > 0:
        evidence += f", so it could be looked at {_times(looked)} while it grew"
    earlier = [
        f"decision {one['number']} ({one['decision']}, at {plural(one['attempts'], 'attempt')})"
        for one in found["earlier_decisions"]
    ]
    if earlier:
        evidence += f"; signed before the last of it: {', '.join(earlier)}"
    lines.append(f"{evidence}. {plural(found['candidates'], 'candidate')} on this suite.")
    return lines


def _passed(rate: dict[str, Any]) -> str:
    hat = "" if rate["pass_hat"] is None else f", pass^{rate['k']} {number(rate['pass_hat'])}"
    return f"{rate['pass']} of {rate['n']} passing ({number(rate['value'])}{hat})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
