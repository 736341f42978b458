"""The writing of figures and marks. An unknown value is `n/m` or "not measured", never 0 or
blank."""

from collections.abc import Sequence

from reviewer.desk.views import Mark, Rate
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.widgets.lines import Span

UNKNOWN = "n/m"


def money(value: float | None, digits: int = 4) -> str:
    """Return US dollars with a sign, or n/m."""
    return UNKNOWN if value is None else f"${value:,.{digits}f}"


def cost(value: float | None) -> str:
    """Return a cost for a narrow column: five columns wide below 1,000 dollars."""
    if value is None:
        return UNKNOWN
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def seconds(milliseconds: float | None) -> str:
    """Return a duration in seconds, in minutes from 100 s on, or n/m."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 100_000:
        return f"{milliseconds / 1000:.2f}s"
    return f"{milliseconds / 60_000:,.0f}min"


def decimal(value: float | None, digits: int = 3) -> str:
    """Return a rate as a decimal, or n/m."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def passed(rate: Rate) -> str:
    """Return `472/600`; with verdicts not measured `472 to 480/600`."""
    most = f" to {rate.passes + rate.unknown}" if rate.unknown else ""
    return f"{rate.passes}{most}/{rate.n}"


def possible(rate: Rate) -> str:
    """Return the limits of a rate that is not known; else the rate, or n/m."""
    if rate.value is not None or rate.low_possible is None or rate.high_possible is None:
        return decimal(rate.value)
    if rate.low_possible == rate.high_possible:
        return decimal(rate.low_possible)
    return f"{rate.low_possible:.3f} to {rate.high_possible:.3f}"


def interval(rate: Rate) -> str:
    """Return `[low, high]`, or why there is none."""
    if rate.low is None and rate.high is None:
        return f"not measured ({rate.why})" if rate.why else "interval n/m"
    if rate.low is None:
        return f"at most {decimal(rate.high)}"
    if rate.high is None:
        return f"at least {decimal(rate.low)}"
    return f"[{rate.low:.3f}, {rate.high:.3f}]"


def policy(value: float | None) -> str:
    """Return a limit as the policy writes it."""
    return "none" if value is None else f"{value:g}"


def size(characters: int) -> str:
    """Return a number of characters in a short form."""
    if characters < 10_000:
        return f"{characters:,}"
    return f"{characters / 1000:,.1f} k" if characters < 1_000_000 else f"{characters / 1e6:,.1f} M"


def short(digest: str | None) -> str:
    """Return the first eight digits of a digest, without `sha256:`."""
    return "not measured" if not digest else digest.removeprefix("sha256:")[:8]


def mark(kind: Mark | str) -> Span:
    """Return the glyph of a mark in its color, in the style of a cell."""
    return Span(STATES[kind].glyph, cell_style(kind))


def mark_word(kind: Mark | str) -> Span:
    """Return glyph and word of a mark, in its color."""
    return Span(f"{STATES[kind].glyph} {STATES[kind].word}", cell_style(kind))


def plural(count: int, noun: str) -> str:
    """Return `1 event`, `5 events`, `12,000 events`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def tally(count: int, width: int) -> str:
    """Return a count in at most `width` columns (3 or more): `1,747`, without room for that `1747`,
    then whole thousands or millions, rounded down: `17k`."""
    told = (f"{count:,}", f"{count}", f"{count // 1000}k", f"{count // 1_000_000}M")
    return next((text for text in told if len(text) <= width), told[-1])


SHORT = {"completeness": "complete"}


WORST = (
    "critical",
    "fail",
    "infra",
    "quarantined",
    "running",
    "missing",
    "not_measured",
    "pass",
)


def strip(marks: Sequence[str], room: int) -> list[Span]:
    """Return one glyph per attempt in the order made; passes are counted when they do not all
    fit."""
    if len(marks) <= room:
        return [mark(each) for each in marks]
    worst, passed = min(marks, key=WORST.index), marks.count("pass")
    text = f"{passed}/{len(marks)}"
    if len(text) + 1 > room:
        text = f"{passed * 100 // len(marks)}%"
    return [mark(worst), Span(text, cell_style(worst))]


def suite_word(state: str) -> Span:
    """Return the state of the suite against its lock."""
    if state == "frozen":
        return Span("✓ frozen", "pass")
    if state == "broken":
        return Span("✗ lock broken", "fail-cell")
    return Span("○ draft", "not_measured")
