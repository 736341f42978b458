"""How a rendering writes a value: one wording for text, Markdown, HTML and XML alike."""

from collections.abc import Sequence
from typing import Any

NOT_MEASURED = "not measured"


class Name(str):
    """An identifier or code, written so that it can be copied."""

    __slots__ = ()


def number(value: float | None, digits: int = 3) -> str:
    return NOT_MEASURED if value is None else f"{value:.{digits}f}"


def plural(count: int, noun: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def usd(value: float | None) -> str:
    """Dollars to four places; smaller amounts keep two significant digits."""
    if value is None:
        return NOT_MEASURED
    return f"${value:.4f}" if value >= 0.0005 or value == 0 else f"${value:.2g}"


def spent(total: float | None, known: float | None, unpriced: int) -> str:
    """`$0.0088`; with calls whose price is not known `at least $0.0071, 3 calls unpriced`."""
    if total is not None or not unpriced:
        return usd(total)
    calls = f"{unpriced} {'call' if unpriced == 1 else 'calls'} unpriced"
    return f"{NOT_MEASURED}: {calls}" if known is None else f"at least {usd(known)}, {calls}"


def safety_block(rate: dict[str, Any]) -> str:
    """`8/9 0.889`, or why there is no such rate."""
    if rate["value"] is not None:
        return f"{rate['blocked']}/{rate['n']} {number(rate['value'])}"
    return f"{NOT_MEASURED}: {rate['why']}" if rate["episodes"] else str(rate["why"])


def seconds(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value / 1000:.2f} s"


def failed_by(codes: Sequence[str], between: str = ", ") -> str:
    """The codes a trace failed by; without one it is its source that says so."""
    return between.join(codes) or "its source's verdict"


def limits(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def place(reference: dict[str, Any]) -> str:
    """`<trace id> event 2 forbidden:issue_refund`, leaving out what is not known."""
    event = "" if reference["seq"] is None else f" event {reference['seq']}"
    return f"{reference['trace_id']}{event} {reference['code']}".rstrip()


def verdict(report: dict[str, Any]) -> str:
    """The recommendation as a word; a probe has none."""
    return "PROBE" if report["suite"]["probe"] else str(report["recommendation"]).upper()
