"""The text of values, verdicts and places in a report: one wording for every rendering."""

from __future__ import annotations  # the sections are named by types alone

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from reviewer.report.evidence import EvidenceRef
    from reviewer.report.figures import SlotFigures
    from reviewer.report.model import CostSection, PassHatSection, Report, SafetySection
    from reviewer.report.rates import KnownPart

NOT_MEASURED = "not measured"


class Name(str):
    """An identifier or code, written so that it can be copied."""

    __slots__ = ()


def number(value: float | None, digits: int = 3) -> str:
    return NOT_MEASURED if value is None else f"{value:.{digits}f}"


def between(low: float | None, high: float | None) -> str:
    """Return `0.787 to 0.800`; a bound that does not exist is named as missing."""
    return f"{number(low)} to {number(high)}" if low != high else number(low)


def out_of(passed: int, unknown: int, n: int) -> str:
    """Return `472 of 600`; with verdicts not measured `472 to 480 of 600`."""
    most = f" to {passed + unknown}" if unknown else ""
    return f"{passed}{most} of {n}"


def known_part(known: KnownPart) -> str:
    """Return `of what is known 472 of 592, 0.797; 472 to 480 of 600 possible, 0.787 to 0.800`;
    empty where every verdict is measured, or nothing was made."""
    if not known.unknown:
        return ""
    passed, seen = known.passed, known.passed + known.failed
    share = f"of what is known {passed} of {seen}, {number(known.value)}; " if seen else ""
    return (
        f"{share}{out_of(passed, known.unknown, known.n)} possible, "
        f"{between(known.low_possible, known.high_possible)}"
    )


def possible_repeats(hat: PassHatSection, k: str) -> str:
    """Return the bounds of pass^k while verdicts are not measured; empty where pass^k is known, or
    where an episode has fewer than k attempts."""
    known = hat.known.get(k)
    if known is None or known.low_possible in (None, known.high_possible):
        return ""
    return f"{NOT_MEASURED}: {between(known.low_possible, known.high_possible)} possible"


def slots_text(slots: SlotFigures) -> str:
    """Return `9 of 9 valid, 0 infra, 0 quarantined, 0 missing`."""
    return (
        f"{slots.valid} of {slots.planned} valid, {slots.infrastructure} infra, "
        f"{slots.quarantined} quarantined, {slots.missing} missing"
    )


def critical_line(
    count: int, n: int, unknown: int, upper: float | None, upper_episodes: float | None
) -> str:
    """Return the count of critical attempts, how many more may be, and the rates that fit."""
    counted = f"critical {count} of {n}"
    if unknown:
        counted += f" ({NOT_MEASURED} in up to {unknown})"
    if upper is None:
        return f"{counted}, true rate {NOT_MEASURED}"
    return f"{counted}, true rate at most {number(upper)}, by episodes {number(upper_episodes)}"


def plural(count: int, noun: str) -> str:
    """Return `1 pair`, `2 pairs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def counted(count: int, noun: str) -> str:
    """Return `1 record`, `2 records`, `12,000 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def usd(value: float | None) -> str:
    """Return dollars to four places; smaller amounts keep two significant digits."""
    if value is None:
        return NOT_MEASURED
    return f"${value:.4f}" if value >= 0.0005 or value == 0 else f"${value:.2g}"


def spent(total: float | None, known: float | None, unpriced: int) -> str:
    """Return `$0.0088`; with calls whose price is not known `at least $0.0071, 3 calls
    unpriced`."""
    if total is not None or not unpriced:
        return usd(total)
    calls = f"{unpriced} {'call' if unpriced == 1 else 'calls'} unpriced"
    return f"{NOT_MEASURED}: {calls}" if known is None else f"at least {usd(known)}, {calls}"


def safety_block(rate: SafetySection) -> str:
    """Return `8/9 0.889`, or why there is no such rate."""
    if rate.value is not None:
        told = f"{rate.blocked}/{rate.n} {number(rate.value)}"
        return f"{told}, {rate.not_measured} {NOT_MEASURED}" if rate.not_measured else told
    return f"{NOT_MEASURED}: {rate.why}" if rate.episodes else str(rate.why)


def spent_in_all(cost: CostSection) -> str:
    """Return the cost of the attempts; a lower limit where only some costs are known."""
    if cost.total_usd is None and cost.known_usd:
        return f"at least {usd(cost.known_usd)}"
    return usd(cost.total_usd)


def cost_span(low: float | None, high: float | None) -> str:
    """Return the bounds of an unknown cost: `$0.0021 to $0.0034`, `at least $0.0021`; empty without
    a bound, because "at least 0" is none."""
    if low is None or (high is None and low == 0):
        return ""
    return f"at least {usd(low)}" if high is None else f"{usd(low)} to {usd(high)}"


def seconds(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value / 1000:.2f} s"


def failed_by(codes: Sequence[str], between: str = ", ") -> str:
    """Return the codes that failed a trace; without one, say that its source states the failure."""
    return between.join(codes) or "its source's verdict"


def limits(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def place(reference: EvidenceRef) -> str:
    """Return `<trace id> event 2 forbidden:issue_refund`, leaving out what is not known."""
    event = "" if reference.seq is None else f" event {reference.seq}"
    return f"{reference.trace_id}{event} {reference.code}".rstrip()


def verdict(report: Report) -> str:
    """Return the recommendation as a word; a probe has none."""
    return "PROBE" if report.suite.probe else report.recommendation.upper()


NANO = 1_000_000_000
"""Nano-dollars in a dollar."""
MOST_NAMES = 5


@overload
def stable_bits(value: float) -> float: ...
@overload
def stable_bits(value: None) -> None: ...
@overload
def stable_bits(value: float | None) -> float | None: ...
def stable_bits(value: float | None) -> float | None:
    """Return an estimate to twelve significant digits."""
    return None if value is None else float(f"{value:.12g}")


def exact(limit: float) -> Fraction:
    """Return a limit as its author wrote it: 0.95 is 95/100, not the nearest binary fraction."""
    return Fraction(repr(limit))


def named(names: Sequence[str]) -> str:
    """Return up to five names and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


GLYPHS = {
    "pass": "✓",
    "fail": "✗",
    "critical": "▲",
    "not_measured": "○",
    "infra": "†",
    "missing": "·",
    "quarantined": "!",
}
WORDS = {
    "pass": "pass",
    "fail": "FAIL",
    "critical": "critical FAIL",
    "not_measured": "not measured",
    "infra": "infra error",
    "missing": "missing",
    "quarantined": "quarantined",
}
OF_RECOMMENDATION = {
    "promote": "pass",
    "block": "critical",
    "repair": "fail",
    "hold": "not_measured",
}
"""The mark whose sign and color a recommendation uses."""
OF_RESULT = {"PASS": "pass", "FAIL": "fail", "NO EVIDENCE": "not_measured"}
"""The mark for the result of a gate of the decision set; a gate that is not required has none."""


class MarkedText(str):
    """A text about a verdict; a rendering with colors gives it that of its mark."""

    mark: str

    def __new__(cls, mark: str, text: str) -> MarkedText:
        made = super().__new__(cls, text)
        made.mark = mark
        return made


def marked(mark: str, more: str = "") -> MarkedText:
    """Return `✗ FAIL 1/3`: sign, word, and count."""
    return MarkedText(mark, f"{GLYPHS[mark]} {WORDS[mark]} {more}".rstrip())
