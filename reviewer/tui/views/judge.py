"""A judge's calibration in lines: its role, its bounds, its flips, its words, its price."""

from reviewer.desk.judge.api import JudgeDetail, JudgePlan, JudgeRunView, JudgeView
from reviewer.desk.labels.api import EstimateView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import STATES
from reviewer.tui.widgets import plot as bars
from reviewer.tui.widgets.lines import Block, Document, Line, Span, cut, middle, pad, rule, spread
from reviewer.tui.widgets.words import UNKNOWN, plural, short


def top(found: JudgeView, run: JudgeRunView | None, width: int) -> list[Line]:
    """Return lines 2 to 4: the judge, its role and why, what is still missing."""
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite_id), 24), "strong"),
        Span("   judge ", "dim"),
        Span(middle(visible_line(found.judge_id), 24)),
        Span("   prompt ", "dim"),
        Span(short(found.prompt_digest)[:6]),
    ]
    if width >= 120 and found.model:
        left += [Span("   model ", "dim"), Span(middle(visible_line(found.model), 30))]
    if run is not None and run.state in ("running", "stopping"):
        right = [Span(f" {run_words(run)} ", "running")]
    else:
        right = [Span(f" {plural(found.labeled_pairs, 'labeled pair')}", "dim")]
    return [spread(left, right, width), *_banner(found, width)]


def _banner(found: JudgeView, width: int) -> list[Line]:
    state = STATES["scoring" if found.role == "scoring" else "advisory"]
    style = "scoring" if found.role == "scoring" else "advisory"
    word = Span(f"{state.glyph} {state.word.upper()}  ", style)
    why = found.expired or found.banner
    room = max(20, width - len(word.text))
    lines = _wrapped(why, room)[:2]
    indent = Span("   ", "dim")
    banner: list[Line] = [[word, Span(lines[0] if lines else "")]]
    banner += [[Span(" " * len(word.text)), Span(line)] for line in lines[1:]]
    banner += [[indent, Span(line, "dim")] for line in _wrapped(found.needs, width - 3)[:2]]
    return banner


def _wrapped(text: str, width: int) -> list[str]:
    document = Document([Block(visible_line(text))], width)
    document.settle(0, 4)
    rows = (document.row(y) for y in range(min(4, document.height)))
    return [row[1].text for row in rows if row is not None and row[1].text]


# calibration -------------------------------------------------------------------------------------


def calibration(found: JudgeView, width: int) -> list[Line]:
    """Return point, one-sided bound, policy and bar of each figure; then slots, repeats, errors."""
    note = [Span("one-sided 95% bounds", "dim")]
    lines: list[Line] = [rule(width, [Span("calibration", "strong")], note)]
    name, room = _rooms(width)
    heads = f" {pad('', name)} {pad('point', 11)}{pad('bound', 9)}{pad('policy', 7)}"
    lines.append([Span(f"{heads}{bars.bar_axis(room)}", "dim")])
    limits = dict(found.policy)
    lines += [_estimate(each, limits.get(each.name), width) for each in found.estimates]
    for label, text in (("slot of the flips", found.slots), ("same answer again", found.repeats)):
        if text:
            lines.append([Span(f" {pad(label, name)} "), Span(visible_line(text), "dim")])
    if found.errors and lines:
        lines[-1] = spread(lines[-1], [Span(f"  {visible_line(found.errors)} ", "dim")], width)
    return lines


def _rooms(width: int) -> tuple[int, int]:
    name = 18 if width < 120 else 30
    return name, max(bars.LEAST, min(61, width - name - 31))


def _estimate(estimate: EstimateView, limit: float | None, width: int) -> list[Span]:
    name, room = _rooms(width)
    label = Span(f" {pad(cut(visible_line(estimate.name), name), name)} ")
    if estimate.value is None:
        why = f" ({visible_line(estimate.why)})" if estimate.why else ""
        return [label, Span(cut(f"○ not measured{why}", width - name - 3), "not_measured")]
    share = f"{estimate.hits}/{estimate.n} " if estimate.hits is not None else ""
    held = "-" if limit is None else f"{limit:.2f}"
    return [
        label,
        Span(pad(f"{share}{estimate.value:.2f}", 11), _style(estimate, limit)),
        Span(pad(bound(estimate), 9)),
        Span(pad(held, 7), "dim"),
        *bars.bar(estimate.value, estimate.low, estimate.high, room, limit),
    ]


def bound(estimate: EstimateView) -> str:
    """Return `≥ 0.249`, `≤ 0.902`, or n/m."""
    if estimate.low is not None:
        return f"≥ {estimate.low:.3f}"
    return UNKNOWN if estimate.high is None else f"≤ {estimate.high:.3f}"


def _style(estimate: EstimateView, limit: float | None) -> str:
    """Return the style of a point against its policy; a figure with an upper bound must stay below
    it, any other must reach it."""
    if limit is None or estimate.value is None:
        return "strong"
    upper = estimate.low is None and estimate.high is not None
    return "pass" if (estimate.value <= limit if upper else estimate.value >= limit) else "fail"


# confusion ---------------------------------------------------------------------------------------


def confusion(found: JudgeView, width: int) -> list[Block]:
    """Return people's answers against the judge's, with the heading as the first row; then the
    figures that follow from them."""
    if not found.confusion:
        return [Block("no pair has both a person's answer and the judge's"), *_beside(found, width)]
    columns = max(len(row) for row in found.confusion)
    sizes = [
        min(24, max(len(row[n]) for row in found.confusion if n < len(row))) for n in range(columns)
    ]
    blocks = []
    for number, row in enumerate(found.confusion):
        line = "  ".join(
            pad(visible_line(cell), size, right=n > 0)
            for n, (cell, size) in enumerate(zip(row, sizes, strict=False))
        )
        blocks.append(Block(line, "text" if number else "dim"))
    return [*blocks, *_beside(found, width)]


def _beside(found: JudgeView, width: int) -> list[Block]:
    """Return how often B wins, corrected for the judge's mistakes, and its scores of messages."""
    blocks: list[Block] = []
    if found.win_rate:
        blocks = [Block("", head=line) for line in bars.estimate_lines(found.win_rate, width)]
    if found.messages:
        blocks += [Block("")] if blocks else []
        blocks += [Block(text) for text in found.messages]
    return [Block(""), *blocks] if blocks else []


def said_lines(detail: JudgeDetail, width: int, rows: int) -> list[Line]:
    """Return the judge's words in either order, in at most `rows` lines each."""
    lines: list[Line] = []
    for name, text in (("forward", detail.forward), ("swapped", detail.swapped)):
        found = _wrapped(f"“{text}”" if text else "nothing kept", width - 12)
        if len(found) > rows:
            found[rows - 1] = cut(found[rows - 1], width - 13).removesuffix("…") + "…"
        for number, line in enumerate(found[:rows]):
            lines.append([Span(f" {pad('' if number else name, 9)} ", "dim"), Span(line)])
    return lines


# running -----------------------------------------------------------------------------------------


def cost(value: float | None) -> str:
    """Return a price with a dollar sign; in words when it is not known."""
    return "price not known" if value is None else f"${value:,.4f}"


def spent(run: JudgeRunView) -> str:
    """Return the cost of the calls; a sum without some of them says so."""
    if run.cost_usd is None and run.known_usd is not None:
        return f"at least {cost(run.known_usd)}"
    return cost(run.cost_usd)


def run_words(run: JudgeRunView) -> str:
    """Return `41 of 96 calls, $0.0120`, and the errors."""
    words = f"► {run.done:,} of {run.calls:,} calls, {spent(run)}"
    words += f", {plural(run.errors, 'error')}" if run.errors else ""
    return f"{words}, stopping" if run.state == "stopping" else words


def judge_ended(run: JudgeRunView) -> tuple[str, str]:
    """Return the words for the end of a judge run, and their style. Safe to show."""
    name = visible_line(run.judge_id)
    made = f"{run.done:,} of {plural(run.calls, 'call')} answered, {spent(run)}"
    made += f", {plural(run.errors, 'error')}" if run.errors else ""
    if run.state == "failed":
        return f"✗ {name} failed: {visible_line(run.problem)}", "fail"
    if run.state == "stopped":
        return (
            f"{name} stopped: {made}; what was answered is kept, {key_of('run')} continues",
            "text",
        )
    return f"{name} done: {made}", "text"


def plan_lines(plan: JudgePlan) -> list[Line]:
    """Return the calls and the price of an order, before anything is sent."""
    if plan.problem:
        return [[Span(f" ✗ {visible_line(plan.problem)}", "fail")]]
    tokens = UNKNOWN if plan.input_tokens is None else f"about {plan.input_tokens:,}"
    known = f", {plan.cached:,} answered already" if plan.cached else ""
    price = "price not known: the suite gives no price for this model"
    if plan.cost_usd is not None:
        price = f"at most {cost(plan.cost_usd)}" if plan.calls else "nothing to pay"
    return [
        [Span(f" {plural(plan.calls, 'call')}", "strong"), Span(f" to make{known}")],
        [Span(f" {tokens} tokens of text, masked; "), Span(price, "strong")],
    ]
