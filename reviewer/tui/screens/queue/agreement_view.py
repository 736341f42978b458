"""Agreement in lines: the winner first, then criterion by criterion, then each with himself."""

from reviewer.desk.labels.api import EstimateView, QuestionView, QueueView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.queue.view import KINDS, names, nothing_yet
from reviewer.tui.widgets.bars import estimate_lines, figure, limits
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, spread
from reviewer.tui.widgets.words import UNKNOWN
from reviewer.tui.widgets.wrap import Block

ROOMY = 90
COEFFICIENTS = {"alpha": "alpha", "ac1": "AC1"}


def top(found: QueueView, width: int) -> list[Line]:
    """Lines 2 and 3: whose agreement on what, and the figure to believe."""
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite_id), 30), "strong"),
        Span("   "),
        Span(KINDS[found.kind], "strong"),
    ]
    right = [Span(" by ", "dim"), Span(cut(names(found.reviewers), width // 2))]
    return [spread(left, right, width), _verdict(found)]


def _verdict(found: QueueView) -> list[Span]:
    first = found.agreement[0] if found.agreement else None
    if first is None or first.raw.value is None:
        why = f" ({visible_line(first.raw.why)})" if first and first.raw.why else ""
        return [Span(f"○ not measured{why}", "not_measured"), Span(f"  {found.needed}")]
    about = f"{visible_line(first.about) or 'which is better'}: "
    lead, name = leading(first)[0], COEFFICIENTS[first.lead]
    text = f"{about}raw {figure(first.raw)}, {name} "
    if lead.value is None:
        return [Span(text), Span(f"○ not measured ({visible_line(lead.why)})", "not_measured")]
    interval = "" if limits(lead) == "no interval" else f", 95% {limits(lead)}"
    return [Span(text), Span(f"{lead.value:.3f}", "strong"), Span(interval)]


def leading(question: QuestionView) -> tuple[EstimateView, ...]:
    """The coefficients of a question, the one to believe first."""
    first = (question.alpha, question.ac1)
    if question.lead == "ac1":
        first = first[::-1]
    return *first, question.kappa


def prevalence(question: QuestionView) -> str:
    """Why this coefficient leads; "" where none is measured."""
    if question.prevalence is None or leading(question)[0].value is None:
        return ""
    share = f"the commonest answer is {100 * question.prevalence:.0f}% of all"
    if question.lead == "ac1":
        return f"{share}, above 80%: AC1 leads, alpha misleads"
    return f"{share}, not above 80%: alpha leads"


def title(found: QueueView) -> str:
    """What the first figures are about."""
    return "which message is better" if found.kind == "pair" else "which level each gets"


def between(found: QueueView, width: int) -> list[Block]:
    """Agreement between reviewers, question by question."""
    if not found.reviewers:
        return [Block(nothing_yet())]
    lines: list[Line] = []
    for one in found.agreement:
        if not one.about:
            lines += estimate_lines([one.raw, *leading(one)], width)
            lines += [[Span(f"  {words}", "dim")] for words in (prevalence(one),) if words]
    by_criterion = [one for one in found.agreement if one.about]
    if by_criterion:
        lines += [[]] if lines else []
        lines += (_full if width >= ROOMY else _table)(by_criterion, width)
    return [Block("", head=line) for line in lines]


def selves(found: QueueView, width: int) -> list[Block]:
    """Each reviewer with himself, and what more labels would bring."""
    lines: list[Line] = []
    if found.consistency:
        lines += estimate_lines(found.consistency, width)
    if found.kind == "message":
        lines.append([Span("○ not measured: a message is shown once", "not_measured")])
    elif found.done < found.items:
        own = f"your own is told at your end: {found.done:,} of {found.items:,} done"
        lines.append([Span(own, "dim")])
    elif not found.consistency:
        lines.append([Span("○ not measured (no pair in both orders)", "not_measured")])
    drawn = [Block("", head=line) for line in lines]
    return [*drawn, Block(found.needed, "dim")] if found.needed else drawn


def _full(questions: list[QuestionView], width: int) -> list[Line]:
    """Every figure of every criterion with its interval."""
    lines: list[Line] = []
    for one in questions:
        words = f"  {prevalence(one)}"
        head = [Span(f"criterion: {visible_line(one.about)}", "strong"), Span(words, "dim")]
        lines.append(spread(head, (), width))
        if one.raw.value is None:
            lines.append([Span(f"○ not measured ({visible_line(one.raw.why)})", "not_measured")])
        else:
            lines += estimate_lines([one.raw, *leading(one)], width)[1:]
    return lines


def _table(questions: list[QuestionView], width: int) -> list[Line]:
    """A line each, where there is no room for bars."""
    name = 20
    why = width - name - 36
    head = f"{pad('criterion', name)}{pad('raw', 10)}{pad('alpha', 8)}{pad('AC1', 8)}"
    lines: list[Line] = [[Span(f"{head}{pad('kappa', 8)}", "dim")]]
    for one in questions:
        line = [Span(pad(cut(visible_line(one.about), name - 1), name), "text")]
        line.append(Span(pad(figure(one.raw), 10), "strong" if one.items else "not_measured"))
        for each, leads in (
            (one.alpha, one.lead == "alpha"),
            (one.ac1, one.lead == "ac1"),
            (one.kappa, False),
        ):
            text = UNKNOWN if each.value is None else f"{each.value:.3f}"
            style = "not_measured" if each.value is None else "strong" if leads else "text"
            line.append(Span(pad(text, 8), style))
        reason = one.raw.why or (leading(one)[0].why if leading(one)[0].value is None else "")
        words = reason or ("AC1 leads" if one.lead == "ac1" else "")
        line.append(Span(cut(visible_line(words), why), "dim"))
        lines.append(line)
    return lines
