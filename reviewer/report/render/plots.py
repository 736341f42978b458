"""The four plots of an HTML report, drawn as SVG.

Each has labeled axes and a description in words. Units are those of a box 360 wide, so that its
letters can be read even on a narrow screen.
"""

from collections.abc import Sequence
from html import escape

from reviewer.report.figures import nice
from reviewer.report.formatting import (
    GLYPHS,
    NOT_MEASURED,
    WORDS,
    limits,
    number,
    plural,
    seconds,
    usd,
)
from reviewer.report.model import Report
from reviewer.report.page_parts import ScoreRow
from reviewer.trace.safetext import visible_line

WIDTH = 360
LEFT, RIGHT = 44.0, WIDTH - 12.0
MOST_COST_ROWS = 12
MOST_STRIP_ROWS = 24
MOST_STRIP = 12


def pass_hat_plot(report: Report) -> list[str]:
    """Draw pass^k by k, with limits where the report has them; nothing where no k is known."""
    hat = report.pass_hat_interval
    values = {int(k): v for k, v in report.pass_hat.items() if v is not None}
    if not values:
        return []
    by_k = {int(k): pair for k, pair in hat.limits_by_k.items()}
    if hat.low is not None:
        by_k[hat.k] = (hat.low, hat.high)
    made, top, bottom = Drawing(222), 24.0, 182.0

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    for share in (0, 0.25, 0.5, 0.75, 1):
        made.line(LEFT, y(share), RIGHT, y(share), "rule")
        made.text(LEFT - 6, y(share) + 4, f"{share:g}", "quiet", "end")
    made.line(LEFT, bottom, RIGHT, bottom, "axis")
    policy = None if report.suite.probe else hat.policy
    if policy is not None:
        made.line(LEFT, y(policy), RIGHT, y(policy), "policy")
        made.text(RIGHT, top - 9, f"policy for k = {hat.k}: {policy:g}", "policy", "end")
    told = []
    for x, (k, value) in zip(spread(LEFT, RIGHT, len(values)), sorted(values.items()), strict=True):
        low, high = by_k.get(k, (None, None))
        if low is not None and high is not None:
            made.line(x, y(low), x, y(high), "span")
            for end in (low, high):
                made.line(x - 5, y(end), x + 5, y(end), "span")
        made.dot(x, y(value), "data")
        made.text(x + 8, y(value) + 4, number(value))
        made.text(x, bottom + 15, str(k), "quiet", "middle")
        told.append(f"pass^{k} {number(value)} {limits(low, high)}".removesuffix(" -"))
    made.text(
        (LEFT + RIGHT) / 2, bottom + 32, "k, attempts drawn of one episode", "quiet", "middle"
    )
    made.upright(11, (top + bottom) / 2, "pass^k")
    said = "; ".join(told) + ("" if policy is None else f". The policy asks {policy:g}")
    return made.figure(
        "plot-pass",
        "pass^k by k",
        f"{said}.",
        f"pass^k by k over {plural(hat.episodes, 'episode')}; bars are 95% limits.",
    )


def cost_plot(report: Report) -> list[str]:
    """Draw the cost per success of the whole and of the most expensive episodes; nothing without a
    cost."""
    cost = report.cost
    per = [
        (e.episode_id, e.cost_usd / e.passes)
        for e in report.episodes
        if e.passes and e.cost_usd is not None
    ]
    if cost.cpst_usd is None and not per:
        return []
    shown = sorted(per, key=lambda row: -row[1])[:MOST_COST_ROWS]
    budget, low, high = cost.cpst_budget_usd, cost.cpst_low, cost.cpst_high
    points = [v for v in (cost.cpst_usd, budget, *(v for _, v in shown)) if v is not None]
    most = max(points) * 1.1 or 1.0
    # A limit far above every value would press all of them into a corner, so it may leave the
    # frame.
    if high is not None and high <= 4 * most:
        most = max(most, high)
    scale = ticks(most)
    left, top, step = 112.0, 22.0, 18.0
    bottom = top + step * (len(shown) + 1)
    made = Drawing(bottom + 40)

    def x(value: float) -> float:
        return left + (RIGHT - 16 - left) * min(value / scale[-1], 1.0)

    for tick in scale:
        made.line(x(tick), top, x(tick), bottom, "rule")
        made.text(x(tick), bottom + 14, f"{tick:g}", "quiet", "middle")
    made.line(left, bottom, RIGHT - 16, bottom, "axis")
    if budget is not None:
        made.line(x(budget), top - 6, x(budget), bottom, "policy")
        side = "end" if x(budget) > WIDTH * 0.65 else "start"
        made.text(x(budget), top - 9, f"budget {usd(budget)}", "policy", side)
    y = top + step / 2
    made.text(left - 6, y + 4, "all episodes", "", "end")
    if cost.cpst_usd is None:
        made.text(left + 4, y + 4, NOT_MEASURED, "not_measured")
    else:
        if low is not None and high is not None:
            made.line(x(low), y, x(high), y, "span")
            made.line(x(low), y - 5, x(low), y + 5, "span")
            beyond = high > scale[-1]
            made.text(x(high) + 2, y + 4, "→") if beyond else made.line(
                x(high), y - 5, x(high), y + 5, "span"
            )
        made.dot(x(cost.cpst_usd), y, "data")
    for name, value in shown:
        y += step
        made.text(left - 6, y + 4, short(name, 16), "quiet", "end")
        made.line(left, y, x(value), y, "span")
        made.dot(x(value), y, "data")
    made.text((left + RIGHT) / 2, bottom + 31, "US dollars per success", "quiet", "middle")
    whole = f"All episodes {usd(cost.cpst_usd)}"
    if low is not None and high is not None:
        whole += f" [{usd(low)}, {usd(high)}]"
    told = "; ".join([whole, *(f"{name} {usd(value)}" for name, value in shown)])
    more = len(per) - len(shown)
    return made.figure(
        "plot-cost",
        "Cost per success",
        told + ("." if budget is None else f". The budget is {usd(budget)}."),
        "Cost per success: of all episodes with 95% limits, and of each episode that has one (all "
        "its attempts made)" + (f", the dearest {len(shown)} of {len(per)}." if more else "."),
    )


def latency_plot(report: Report) -> list[str]:
    """Return the distribution of latency; nothing without a latency."""
    latency = report.latency_ms
    bins = latency.bins
    if not bins:
        return []
    made, top, bottom = Drawing(224), 40.0, 178.0
    first = next(i for i, (_, _, count) in enumerate(bins) if count)
    bins = bins[max(0, first - 1) :]
    width = bins[0][1] - bins[0][0]
    start, end = bins[0][0], bins[0][0] + width * len(bins)
    most = max(count for _, _, count in bins)
    scale = ticks(most, 3)

    def x(ms: float) -> float:
        share: float = (ms - start) / (end - start)
        return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)

    def y(count: float) -> float:
        return bottom - (bottom - top) * count / scale[-1]

    for tick in scale:
        if tick == int(tick):
            made.line(LEFT, y(tick), RIGHT, y(tick), "rule")
            made.text(LEFT - 6, y(tick) + 4, f"{int(tick)}", "quiet", "end")
    for i, (low, _, count) in enumerate(bins):
        at = start + i * width
        if count:
            made.box(
                x(at) + 0.5, y(count), max(x(at + width) - x(at) - 1, 1), bottom - y(count), "data"
            )
        if i % max(1, len(bins) // 5) == 0:
            made.text(x(at), bottom + 14, f"{low / 1000:g}", "quiet", "middle")
    made.line(LEFT, bottom, RIGHT, bottom, "axis")
    for name, value, kind, height in (
        ("p50", latency.p50, "axis", 12),
        ("p95", latency.p95, "axis", 24),
        ("policy p95", latency.p95_policy, "policy", 36),
    ):
        if value is None:
            continue
        at = x(value)
        made.line(at, height + 3, at, bottom, kind)
        side = "end" if at > WIDTH * 0.6 else "start"
        words = kind if kind == "policy" else ""
        made.text(
            at + (-3 if side == "end" else 3), height + 4, f"{name} {seconds(value)}", words, side
        )
    made.text((LEFT + RIGHT) / 2, bottom + 31, "seconds for one attempt", "quiet", "middle")
    made.upright(11, (top + bottom) / 2, "attempts")
    told = "; ".join(f"{int(n)} from {a / 1000:g} to {b / 1000:g} s" for a, b, n in bins if n)
    last = bins[-1]
    caption = f"Latency of {plural(latency.n, 'attempt')}."
    if last[1] - last[0] > width * 1.001:
        caption += f" The last bar holds all from {last[0] / 1000:g} s to {last[1] / 1000:g} s."
    return made.figure(
        "plot-latency",
        "Latency of the attempts",
        f"{told}. p50 {seconds(latency.p50)}, p95 {seconds(latency.p95)}.",
        caption,
    )


def strip_plot(rows: tuple[ScoreRow, ...]) -> list[str]:
    """Return a box per attempt, a row per episode; episodes that did not pass every attempt come
    first."""
    if not rows:
        return []
    shown = rows
    if len(rows) > MOST_STRIP_ROWS:
        ranked = sorted(rows, key=lambda row: all(a.mark == "pass" for a in row.attempts))
        shown = tuple(ranked[:MOST_STRIP_ROWS])
    left, top, step = 128.0, 30.0, 20.0
    most = min(max(len(row.attempts) for row in shown), MOST_STRIP)
    made = Drawing(top + step * len(shown) + 8)
    for n in range(most):
        made.text(left + step * (n + 0.5), top - 6, str(n + 1), "quiet", "middle")
    made.text(left - 8, top - 6, "attempt", "quiet", "end")
    told = []
    for i, row in enumerate(shown):
        y = top + step * i
        made.text(left - 8, y + 14, short(row.episode_id, 18), "", "end")
        for n, fact in enumerate(row.attempts[:most]):
            at = left + step * n
            made.box(
                at + 1, y + 1, step - 2, step - 2, "critical" if fact.mark == "critical" else "box"
            )
            made.text(at + step / 2, y + 14, GLYPHS[fact.mark], fact.mark, "middle")
        if len(row.attempts) > most:
            more = f"+{len(row.attempts) - most}"
            made.text(left + step * most + 6, y + 14, more, "quiet")
        marks = ", ".join(WORDS[fact.mark] for fact in row.attempts)
        told.append(f"{row.episode_id}: {marks or NOT_MEASURED}")
    used = dict.fromkeys(fact.mark for row in shown for fact in row.attempts)
    legend = ", ".join(f"{GLYPHS[mark]} {WORDS[mark]}" for mark in GLYPHS if mark in used)
    left_out = len(rows) - len(shown)
    return made.figure(
        "plot-attempts",
        "Attempts by episode",
        "; ".join(told) + ".",
        f"Attempts by episode: {legend}."
        + (f" {left_out} more rows are in the table." if left_out else ""),
    )


def plain(text: str) -> str:
    """Return one line, for an element or for an attribute in double quotes."""
    return escape(visible_line(text))


class Drawing:
    """Shapes in the order they were drawn; units are those of the box."""

    def __init__(self, height: float) -> None:
        self.height = height
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._shapes.append(
            f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._shapes.append(
            f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" '
            f'height="{_n(height)}"/>'
        )

    def dot(self, x: float, y: float, kind: str) -> None:
        self._shapes.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="3.5"/>')

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> None:
        classed = f' class="{kind}"' if kind else ""
        placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._shapes.append(f'<text{classed}{placed} x="{_n(x)}" y="{_n(y)}">{plain(said)}</text>')

    def upright(self, x: float, y: float, said: str) -> None:
        """Return a label that runs upward along an axis, centered on y."""
        self._shapes.append(
            f'<text class="quiet" text-anchor="middle" transform="translate({_n(x)} {_n(y)}) '
            f'rotate(-90)">{plain(said)}</text>'
        )

    def figure(self, name: str, title: str, told: str, caption: str) -> list[str]:
        """Return the drawing with a name and a description for readers who cannot see it. `name` is
        an id."""
        return [
            "<figure>",
            f'<svg viewBox="0 0 {WIDTH} {_n(self.height)}" role="img" '
            f'aria-labelledby="{name}-t" aria-describedby="{name}-d">',
            f'<title id="{name}-t">{plain(title)}</title>',
            f'<desc id="{name}-d">{plain(told)}</desc>',
            *self._shapes,
            "</svg>",
            f"<figcaption>{plain(caption)}</figcaption>",
            "</figure>",
        ]


def ticks(most: float, wanted: int = 4) -> list[float]:
    """Return round numbers from 0 until `most` is reached."""
    step = nice(most / wanted)
    count = 1
    while count * step < most * (1 - 1e-9):
        count += 1
    return [float(f"{i * step:.12g}") for i in range(count + 1)]


def short(text: str, most: int) -> str:
    """Cut a text in the middle, because ids of a suite tend to share their beginning and end."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def spread(low: float, high: float, count: int) -> Sequence[float]:
    """Return `count` places between two ends, each in the middle of its share."""
    width = (high - low) / max(count, 1)
    return [low + width * (i + 0.5) for i in range(count)]


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
