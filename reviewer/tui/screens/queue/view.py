"""The queue and the agreement of its reviewers, in lines."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from reviewer.desk.labels.api import (
    REASONS,
    DisagreementView,
    EstimateView,
    GivenLabel,
    Holder,
    QuestionView,
    QueueView,
    ReasonLine,
)
from reviewer.desk.presence import claims
from reviewer.desk.presence.api import Present
from reviewer.desk.presence.claims import ago
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.widgets.lines import (
    Block,
    Column,
    Line,
    Sheet,
    Span,
    cut,
    middle,
    pad,
    spread,
    width_of,
)
from reviewer.tui.widgets.plot import estimate_lines, figure, limits
from reviewer.tui.widgets.words import UNKNOWN, plural

OF_A_RELEASE, OF_A_SET = "before PROMOTE", "in the set"
"""Titles of the last column."""
PRIORITIES = {"high": ("! high", "quarantined"), "normal": ("· normal", "text"), "low": ("· low",
    "dim")}  # fmt: skip


def nothing_yet() -> str:
    """Return the words shown where there are no labels."""
    starts = f"{key_of('screen.label')} starts"
    return f"no labels yet: {starts}. Two reviewers and 20 repeats make this readable"


KINDS = {"pair": "pairs", "message": "final messages"}
SHOWN = {"pair": "showing", "message": "message"}
"""The unit that one person is shown: a pair is shown twice, once in each order."""


def reason_words(reason: str) -> str:
    """Return a reason of the queue in plain words."""
    return REASONS.get(reason, visible_line(reason).replace("_", " "))


def names(reviewers: Sequence[str]) -> str:
    """Return the names of all reviewers, in words."""
    return ", ".join(visible_line(name) for name in reviewers) or "nobody yet"


def top(found: QueueView, width: int) -> list[Line]:
    """Return lines 2 and 3: this person's progress, the reviewers, and the high flags that hold up
    a release."""
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite_id), 30), "strong"),
        Span("   "),
        Span(KINDS[found.kind], "strong"),
        Span(f"   you: {found.done:,} of {plural(found.items, SHOWN[found.kind])} done"),
    ]
    room = max(12, width - width_of(left) - 5)
    right = [Span(" by ", "dim"), Span(cut(names(found.reviewers), room))]
    return [spread(left, right, width), _flags(found, width)]


def labeled(found: QueueView) -> str:
    """Return how much all reviewers have labeled."""
    noun = "pair" if found.kind == "pair" else "message"
    words = f"everybody: {plural(found.labeled, noun)} labeled"
    return f"{words}, {found.begun:,} in one order" if found.begun else words


def left_out(found: QueueView, wide: bool) -> list[Span]:
    """Return which items cannot be labeled, and where reasons are shown."""
    counts = ((found.identical, "identical"), (found.unpaired, "without a partner"))
    words = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    left = f" not in the queue: {words}; " if words and found.kind == "pair" else " "
    shows = "shows the saved items of this line, or all" if wide else "shows saved items"
    return [Span(f"{left}{key_of('view')} {shows}", "dim")]


def _flags(found: QueueView, width: int) -> list[Span]:
    """Return the line about high flags, which any reviewer's label closes: those of the candidate,
    and those of the baseline, which do not stop it."""
    line = _own_flags(found)
    for other in found.flags:
        if not other.stops and other.open:
            told = f" ({other.open:,} of the other candidate stops only that one)"
            line.append(Span(cut(told, max(0, width - width_of(line))), "dim"))
    return line


def _own_flags(found: QueueView) -> list[Span]:
    """Return the candidate's flags without its name: the next reviewer must not learn whose
    messages will come. Where the authors labeled, say that their labels close no flag."""
    high, unclosed = found.high, found.open_high
    if not high:
        return [Span("✓ this candidate has no high flag", "pass")]
    if not unclosed:
        if high == 1:
            told = "✓ the 1 high flag of this candidate is closed: its message is labeled"
            return [Span(told, "pass")]
        words = f"all {high:,} high flags of this candidate are closed: their messages are labeled"
        return [Span(f"✓ {words}", "pass")]
    them = "it" if unclosed == 1 else "them"
    why = ""
    if found.unsigned:
        why = f"no PROMOTE until a signed label closes {them}"
    elif found.by_authors:
        why = f"no PROMOTE until somebody who did not make it labels {them}"
    if why:
        flags = plural(unclosed, "open high flag")
        return [Span(f"○ {flags}: ", "not_measured"), Span(why)]
    until = "a label closes it" if unclosed == 1 else "labels close them"
    return [
        Span(f"○ this candidate has {plural(unclosed, 'open high flag')}: ", "not_measured"),
        Span(f"no PROMOTE of it until {until}"),
    ]


class ReasonSheet(Sheet):
    """One reason per line: its name, its urgency, what is left, what is done, and, where others
    have items open (`held`), who."""

    def __init__(self, width: int, last: str = OF_A_RELEASE, *, held: bool = False) -> None:
        reason = 44 if width >= 120 else 26 if held and width < 90 else 28
        close = held and width < 90
        gap = 2 if close else 4
        sizes = [("reason", reason), ("priority", 8 if close else 9), ("you: left", 9), ("done", 5)]
        with_whom = [("with", 8 if close else 20)] if held else []
        taken = 1 + gap + sum(size + 1 for _, size in (*sizes, *with_whom))
        sizes += [(last, max(4, width - taken)), *with_whom]
        x = 2
        self.columns: list[Column] = []
        for key, size in sizes:
            self.columns.append(Column(key, x, size))
            x += size + (gap if key == "done" else 1)
        line = ""
        for column in self.columns:
            title = pad(column.key, column.width, right=column.key in ("you: left", "done"))
            line = pad(line, column.x) + title
        self.header = [[Span(line.rstrip(), "dim")]]

    def cells(self, row: ReasonLine) -> list[Line]:
        words, style = PRIORITIES[row.priority]
        empty = not (row.left or row.done or row.open)
        text = "dim" if empty else "text"
        note = "not_measured" if row.open else "dim"
        last = self.columns[4]
        cells: list[Line] = [
            [Span(reason_words(row.reason), text)],
            [Span(words, "dim" if empty else style)],
            [Span(pad(f"{row.left:,}", 9, right=True), "strong" if row.left else "dim")],
            [Span(pad(f"{row.done:,}", 5, right=True), text)],
            [Span(cut(visible_line(row.note), last.width), note)],
        ]
        if last is not self.columns[-1]:
            cells.append([Span(held_by(row.holders, self.columns[-1].width), "strong")])
        return cells


def held_by(held: Sequence[Holder], width: int) -> str:
    """Return who has items open and how many, and since when where there is room."""
    words = ", ".join(f"{visible_line(one.reviewer)} {one.items:,}" for one in held)
    if held:
        since = f"{words}, {ago(claims.clock() - held[0].since)}"
        words = since if width_of([Span(since)]) <= width else words
    return cut(words, width)


def reason_line(row: ReasonLine) -> str:
    """Return one reason as text."""
    note = f"; {visible_line(row.note)}" if row.note else ""
    note += f"; with {held_by(row.holders, 200)}" if row.holders else ""
    return f"{reason_words(row.reason)}: {row.left:,} left, {row.done:,} done{note}"


def left_words(found: QueueView, sort: str) -> str:
    """Return the words in the rule of the reasons: what is left, and who has some of it open."""
    held = ", ".join(
        f"{one.items:,} claimed by {visible_line(one.reviewer)}" for one in found.holders
    )
    left = f"{max(0, found.items - found.done):,} left for you"
    return ", ".join(each for each in (left, held, "" if held else sort) if each)


DAY = 86400.0
ACTS = {
    "label": "saved a label",
    "skip": "skipped an item",
    "withdrawal": "took back a label",
}


def people(
    present: Sequence[Present], given: Sequence[GivenLabel], width: int
) -> tuple[list[Block], list[Span]]:
    """Return the people who are here, their last acts, and the title above. Never which item."""
    now = claims.clock()
    lines: list[Line] = [_person(one, now, width) for one in present]
    done = [one for one in given if abs(now - _seconds(one.at)) < DAY]
    if done:
        lines += [[], [Span("lately", "strong"), Span("  newest first", "dim")]] if lines else []
        lines += [
            [
                Span(f" {pad(ago(now - _seconds(one.at)), 12)}", "dim"),
                Span(pad(middle(visible_line(one.reviewer), 16), 17), "strong"),
                Span(ACTS[one.act]),
            ]
            for one in done
        ]
    if not lines:
        lines = [[Span("nobody labeled anything within a day", "dim")]]
    here = sum(one.left is None for one in present)
    title = f"who is here {here:,}" if present else "lately"
    return [Block("", head=line) for line in lines], [Span(title, "strong")]


def _person(one: Present, now: float, width: int) -> Line:
    name = pad(middle(visible_line(one.name), 16), 17)
    if one.left is not None:
        left = ago(60 * one.left)
        return [Span(f"   {name}", "dim"), Span(f"left {left}, nothing claimed", "dim")]
    doing = "you" if one.me else ""
    if one.labeling is not None and not one.me:
        doing = f"item hidden, {ago(now - one.labeling)}"
    line = [
        Span(" ● ", "pass"),
        Span(name, "strong"),
        Span(pad(middle(visible_line(one.screen), 12), 13)),
        Span(pad(doing, 25), "dim"),
        Span(f"since {visible_line(one.since)}Z", "dim"),
    ]
    room = width - width_of(line) - 3
    return [*line, Span(f"   {middle(visible_line(one.host), room)}", "dim")] if room > 8 else line


def _seconds(at: str) -> float:
    """Return an instant in seconds since 1970; one that this clock cannot represent counts as
    1970."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def figures(found: QueueView, width: int) -> list[Block]:
    """Return agreement on the first question, self-consistency and what is still needed: the other
    questions are on the agreement screen."""
    if not found.reviewers:
        return [Block(nothing_yet())]
    first = [each for one in found.agreement[:1] for each in _question(one)]
    lines = estimate_lines([*first, *found.consistency], width)
    blocks = [Block("", head=line) for line in lines]
    if found.needed:
        blocks.append(Block(found.needed, "dim"))
    if len(found.agreement) > 1:
        blocks.append(Block("A shows every criterion", "dim"))
    return blocks


def _question(one: QuestionView) -> tuple[EstimateView, ...]:
    first = (one.alpha, one.ac1) if one.lead == "alpha" else (one.ac1, one.alpha)
    found = (one.raw, *first, one.kappa)
    if not one.about:
        return found
    about = visible_line(one.about)
    return tuple(msgspec.structs.replace(each, name=f"{about}: {each.name}") for each in found)


def saved(found: QueueView, width: int, under: str = "") -> list[Block]:
    """Return the saved items in columns: only here an item shows why it was asked. `under` limits
    them to one reason."""
    rows = [row for row in found.saved if not under or row[0].split(", ")[0] == under]
    if not rows:
        return [Block("nothing saved yet: an item shows its reason once it has its label")]
    reason, chance = (36 if width < 90 else 60), 8
    heading = f"{pad('reasons', reason)}  {pad('chance', chance)}  answer"
    blocks = [Block("", head=[Span(heading, "dim")])]
    for row in rows:
        reasons, pi, answer = (*row, "", "", "")[:3]
        words = ", ".join(reason_words(each) for each in reasons.split(", "))
        blocks.append(
            Block(
                visible_line(answer),
                head=[
                    Span(f"{pad(cut(words, reason), reason)}  "),
                    Span(f"{pad(cut(visible_line(pi), chance), chance)}  ", "dim"),
                ],
            )
        )
    return blocks


def disagreement_line(row: DisagreementView, width: int) -> list[Span]:
    """Return one item for a third person."""
    names = " and ".join(visible_line(name) for name in row.reviewers)
    left = [
        Span(pad(middle(visible_line(row.episode_id), 20), 22), "dim" if row.mine else "strong"),
        Span(visible_line(row.text), "dim" if row.mine else "text"),
    ]
    return spread(left, [Span(f" {cut(names, width // 3)} ", "dim")], width)


ROOMY = 90
COEFFICIENTS = {"alpha": "alpha", "ac1": "AC1"}


def agreement_top(found: QueueView, width: int) -> list[Line]:
    """Return lines 2 and 3: the reviewers, the kind of item, and the most reliable figure."""
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
    return [Span(text), Span(f"{lead.value:z.3f}", "strong"), Span(interval)]


def leading(question: QuestionView) -> tuple[EstimateView, ...]:
    """Return the coefficients of a question, the most reliable one first."""
    first = (question.alpha, question.ac1)
    if question.lead == "ac1":
        first = first[::-1]
    return *first, question.kappa


def prevalence(question: QuestionView) -> str:
    """Return why this coefficient leads; "" where none is measured."""
    if question.prevalence is None or leading(question)[0].value is None:
        return ""
    share = f"the most common answer is {100 * question.prevalence:.0f}% of all"
    if question.lead == "ac1":
        return f"{share}, above 80%: AC1 leads, alpha misleads"
    return f"{share}, not above 80%: alpha leads"


def agreement_title(found: QueueView) -> str:
    """Return the title of the first figures."""
    return "which message is better" if found.kind == "pair" else "which level each gets"


def between(found: QueueView, width: int) -> list[Block]:
    """Return agreement between reviewers, question by question."""
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
    """Return the consistency of each reviewer, and the gain from more labels."""
    lines: list[Line] = []
    if found.consistency:
        lines += estimate_lines(found.consistency, width)
    if found.kind == "message":
        lines.append([Span("○ not measured: a message is shown once", "not_measured")])
    elif found.done < found.items:
        own = f"your own is shown when you have finished: {found.done:,} of {found.items:,} done"
        lines.append([Span(own, "dim")])
    elif not found.consistency:
        lines.append([Span("○ not measured (no pair in both orders)", "not_measured")])
    drawn = [Block("", head=line) for line in lines]
    return [*drawn, Block(found.needed, "dim")] if found.needed else drawn


def in_full(found: QueueView, width: int) -> list[Block]:
    """Return agreement between reviewers on every question, then of each with themselves."""
    if not found.reviewers:
        return [Block(nothing_yet())]
    return [*between(found, width), Block(""), *selves(found, width)]


def _full(questions: list[QuestionView], width: int) -> list[Line]:
    """Return every figure of every criterion with its interval."""
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
    """Return one line per criterion, where there is no room for bars."""
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
            text = UNKNOWN if each.value is None else f"{each.value:z.3f}"
            style = "not_measured" if each.value is None else "strong" if leads else "text"
            line.append(Span(pad(text, 8), style))
        reason = one.raw.why or (leading(one)[0].why if leading(one)[0].value is None else "")
        words = reason or ("AC1 leads" if one.lead == "ac1" else "")
        line.append(Span(cut(visible_line(words), why), "dim"))
        lines.append(line)
    return lines
