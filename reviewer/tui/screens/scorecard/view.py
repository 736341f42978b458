"""The scorecard in lines: verdict, reasons, figures, a cell's attempts, and the first steps."""

from collections.abc import Sequence

from reviewer.desk.outcome_views import OutcomeCell
from reviewer.desk.views import Cell, CellLine, EpisodeRow, Rate, Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED, STATES, VERDICTS, cell_style
from reviewer.tui.views.verdict import verdict_lines
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, spread, width_of
from reviewer.tui.widgets.words import plural, suite_word

LEGEND: Line = [
    Span(" ✓pass", "pass"),
    Span("  "),
    Span("✗FAIL", "fail-cell"),
    Span("  "),
    Span("▲CRIT", "critical"),
    Span(" critical FAIL  "),
    Span("○n/m", "not_measured"),
    Span(" not measured  "),
    Span("·wait", "missing"),
    Span(" missing  "),
    Span("†infra", "infra"),
]


_LEAST_WHY = 48
"""Columns that the reason for a missing rate keeps, however much is beside it."""


def context(
    suite: SuiteInfo, candidate_id: str, decided: str | None, names: Sequence[str], width: int
) -> list[Span]:
    """Return line 2: suite, candidate (and its place among `names`), and the decision, if there is
    one."""
    wide = width >= 120
    name = middle(visible_line(suite.suite_id), 60 if wide else 20)
    left = [Span("suite ", "dim"), Span(name), Span(" "), suite_word(suite.state)]
    if wide:
        left.append(Span(f"  sha256 {words.short(suite.digest)}", "dim"))
    left += [
        Span("   candidate ", "dim"),
        Span("< ", "key", "screen.candidate(-1)"),
        Span(middle(visible_line(candidate_id), 60 if wide else 18), "strong"),
        Span(" >", "key", "screen.candidate(1)"),
    ]
    if wide or suite.state == "frozen":
        position = names.index(candidate_id) + 1 if candidate_id in names else 1
        left.append(Span(f" {position} of {max(1, len(names))}", "dim"))
    if suite.state == "broken":
        right = Span("read only", "not_measured")
    elif decided:
        right = Span(f"signed {visible_line(decided)}", "strong")
        if width_of([*left, Span(" "), right]) > width:  # the candidate's name stays
            right = right._replace(text=right.text.partition(", ")[0])
    else:
        right = Span("undecided", "dim")
    return spread(left, [Span(" "), right], width)


def banner(card: Scorecard, *, roomy: bool, width: int, low: bool = False) -> list[Line]:
    """Return the verdict in the desk's two lines; with room, a line for each of up to four reasons
    instead; on a low screen one line with the count of reasons."""
    if roomy and card.reasons and not card.suite.probe:
        return verdict_lines(card.candidate_id, card.recommendation, card.reasons, 4, width)
    if roomy and card.suite.probe and card.suite.teaches:
        return _probe_lines(card, width)
    state = "not_measured" if card.suite.probe else VERDICTS[card.recommendation]
    first, second = (visible_line(line) for line in card.banner)
    verdict, _, reason = first.partition("  ")
    action = "screen.numbered(1)" if card.reasons else ""
    if low:
        many = f"{plural(len(card.reasons), 'reason')}, 1-9  " if len(card.reasons) > 1 else ""
        rest = [Span(many, "strong"), Span(reason, "text", action)]
        return [[Span(verdict, cell_style(state)), Span("  "), *rest]]
    return [
        [Span(verdict, cell_style(state)), Span("  "), Span(reason, "strong", action)],
        [Span(second, "text", "app.go('decision')")],
    ]


def no_verdict(suite: SuiteInfo, width: int) -> list[Line]:
    """Return lines that say why a suite that differs from its lock has no verdict."""
    problem = visible_line(suite.problem) or "the suite does not match its lock"
    return [
        [Span("✗ NO VERDICT", "fail-cell"), Span(f"  {cut(problem, width - 14)}")],
        [Span(" " * 14), Span("no report can be made, exported or signed on it", "dim")],
    ]


def _probe_lines(card: Scorecard, width: int) -> list[Line]:
    """Return a public benchmark's two lines of figures, and what they are worth here."""
    first, second = (visible_line(line) for line in card.banner)
    verdict, _, reason = first.partition("  ")
    pad = " " * (len(verdict) + 2)
    return [
        [Span(verdict, "not_measured"), Span("  "), Span(reason, "strong")],
        [Span(second, "text", "app.go('decision')")],
        *([Span(cut(f"{pad}{visible_line(h)}", width))] for h in card.source_headlines[:1]),
        [Span(cut(f"{pad}teaches {card.suite.teaches}", width), "dim")],
        [Span(cut(f"{pad}cannot certify {card.suite.cannot_certify}", width), "dim")],
    ]


def figures(card: Scorecard, width: int) -> list[Line]:
    """Return every rate with its denominator and interval, in two lines."""
    slots, hard, hat = card.slots, card.hard_pass, card.pass_hat
    extra = [f"{slots.valid} of {slots.planned} valid", f"{slots.infrastructure} infra"]
    if slots.quarantined:
        extra.append(f"{slots.quarantined} quarantined")
    extra.append(f"{slots.missing} missing")
    if slots.extra:
        extra.append(f"{slots.extra} extra")
    attempts = [Span(" attempts ", "dim"), Span(", ".join(extra))]
    whys = Span(_interval(hard, width)), Span(_interval(hat, width))
    rate = [
        Span(" hard pass ", "dim"),
        Span(_passed(hard, width), _judged(hard.value, hard.policy)),
        whys[0],
    ]
    repeat = [
        Span(f" pass^{card.pass_hat_k} ", "dim"),
        Span(words.possible(hat), _judged(hat.value, hat.policy)),
        whys[1],
        Span(f" policy {words.policy(hat.policy)}", "dim"),
    ]
    critical = _critical(card)
    budget = "" if card.cpst_budget_usd is None else f" of {words.policy(card.cpst_budget_usd)}"
    over = (
        card.cpst_usd is not None
        and card.cpst_budget_usd is not None
        and card.cpst_usd > card.cpst_budget_usd
    )
    right = [
        Span(" critical ", "dim"),
        Span(critical, "fail-cell" if card.critical else "text"),
        Span("  CPST ", "dim"),
        Span(words.money(card.cpst_usd), "fail-cell" if over else "text"),
        Span(budget, "dim"),
    ]
    if width >= 120:
        if card.critical_upper is not None:
            most = Span(f", at most {words.decimal(card.critical_upper)}")
            right = [*right[:2], most, *right[2:]]
        latency = f"p50 {words.seconds(card.latency_p50_ms)}"
        if width >= 140:
            latency += f", p95 {words.seconds(card.latency_p95_ms)}"
        if card.latency_unknown and card.latency_p50_ms is not None:
            latency += f" ({card.latency_unknown} without)"
        rate += [Span("   total ", "dim"), Span(words.money(card.total_cost_usd))]
        if width >= 160:
            for who, told in card.others_spent:
                rate += [Span(f"   {who} ", "dim"), Span(told.partition(" in ")[0])]
            rate += [Span(f"   {t.partition(';')[0]}") for t in (*card.users, *card.lost)]
        right += [Span("   latency ", "dim"), Span(latency)]
        gap = Span("    ")
        lines = [*attempts, gap, *rate], [*repeat, gap, *right]
        return [
            _fitted(line, line.index(why), width) for line, why in zip(lines, whys, strict=True)
        ]
    if width_of([*attempts, *rate]) >= width:  # every count stays; words and the rate are shortened
        attempts[0] = Span(" ")
        if width_of([*attempts, *rate]) >= width:
            rate[1] = rate[1]._replace(text=words.passed(hard))
    return [spread(attempts, rate, width), spread(repeat, right, width)]


def _critical(card: Scorecard) -> str:
    """Return the critical attempts, and how many more may be: their gates are not measured."""
    if not card.critical_unknown:
        return f"{card.critical} of {card.critical_n}"
    if card.critical_unknown == card.critical_n:
        return words.UNKNOWN
    return f"{card.critical} to {card.critical + card.critical_unknown} of {card.critical_n}"


def _passed(rate: Rate, width: int) -> str:
    """Return passes of attempts and the rate; with room, the limits of a rate not measured."""
    if rate.value is None and width < 120:
        return f"{words.passed(rate)} {words.UNKNOWN}"
    return f"{words.passed(rate)} {words.possible(rate)}"


def _interval(rate: Rate, width: int) -> str:
    """Return the interval; on a wide screen, the reason why there is no rate."""
    if rate.value is None:
        return f" {words.interval(rate)}" if width >= 160 else ""
    return f" {words.interval(rate)}"


def _fitted(line: list[Span], place: int, width: int) -> list[Span]:
    """Return a line whose long part is cut by as much as the line is too wide."""
    long = line[place]
    size = max(_LEAST_WHY, width_of([long]) - max(0, width_of(line) - width))
    return [*line[:place], long._replace(text=cut(long.text, size)), *line[place + 1 :]]


def _judged(value: float | None, limit: float | None) -> str:
    if value is None:
        return "not_measured"
    return "fail-cell" if limit is not None and value < limit else "text"


def drawer_title(
    row: EpisodeRow, gate: str, cell: Cell | OutcomeCell | None
) -> tuple[list[Span], list[Span]]:
    """Return the rule above the drawer: episode and gate, and in how many attempts it fails."""
    left = [Span(middle(visible_line(row.episode_id), 40), "strong"), Span(f" · {gate}")]
    if row.flags:
        left.append(Span(f"  ! {', '.join(row.flags).replace('_', '-')}", "quarantined"))
    if cell is None:
        return left, []
    state = STATES[cell.mark]
    if cell.mark in RED:
        text = f"{state.glyph} {state.word} in {cell.failed} of {cell.attempts} attempts"
    else:
        text = f"{state.glyph} {state.word}, {words.plural(cell.attempts, 'attempt')}"
    return left, [Span(text, cell_style(cell.mark))]


def drawer_line(line: CellLine) -> list[Span]:
    """Return one attempt's result of the gate."""
    event = "         " if line.seq is None else pad(f"event {line.seq}", 9)
    detail = visible_line(line.detail)
    code = visible_line(line.code)
    spans = [words.mark(line.mark), Span(f" attempt {line.attempt}  "), Span(event)]
    if code:
        spans.append(Span(f"{code}  ", "strong"))
    return [*spans, Span(detail or STATES[line.mark].word, "text" if detail else "dim")]


RUN, IMPORT, SESSIONS = "r", "i", "I"
_DIALOGS = {
    RUN: "screen.run",
    IMPORT: "screen.import_traces",
    SESSIONS: "app.go('sessions')",
}


class StartMenu(Menu):
    """Ways to the first trace; choosing one copies its command, or opens the dialog of a run."""

    DEFAULT_CSS = "StartMenu { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="start", ruled=True)
        self.commands: list[str] = []

    def take(self, suites: Sequence[SuiteInfo], workspace: str, width: int) -> list[Line]:
        """Fill the menu for these suites; return the screen's top lines."""
        suite = suites[0] if suites else None
        steps = [
            ("import traces you already have", IMPORT),
            ("take sessions of coding agents", SESSIONS),
            ("see the worked example", "reviewer demo"),
        ]
        if suite:
            # A draft imports no traces: the first thing to do there is a run.
            steps.insert(0 if suite.state == "draft" else 1, ("run one of its candidates", RUN))
        else:
            steps.append(("make an example workspace", "reviewer init --example"))
        self.commands = [command for _, command in steps]
        self.caption([Span("start here", "strong")], [Span("Enter chooses", "dim")])
        self.offer(
            [
                [Span(f" {pad(words, 34)}"), Span(visible_line(command), "key")]
                for words, command in steps
            ]
        )
        return _top(suite, len(suites), workspace, width)

    async def on_menu_chosen(self, message: Menu.Chosen) -> None:
        message.stop()
        if action := _DIALOGS.get(self.commands[self.cursor]):
            await self.screen.run_action(action)
            return
        self.app.copy_to_clipboard(self.commands[self.cursor])
        self.notify(f"copied: {visible_line(self.commands[self.cursor])}", markup=False, timeout=4)


def _top(suite: SuiteInfo | None, suites: int, workspace: str, width: int) -> list[Line]:
    where = [Span("workspace ", "dim"), Span(middle(visible_line(workspace), width // 3))]
    if suite is None:
        return [
            spread([Span("no suite yet")], where, width),
            [Span("○ HOLD", "not_measured"), Span("  1 evidence missing: no suite here")],
            [Span(" " * 8 + "reviewer init makes a workspace, ? says what is asked of you", "dim")],
        ]
    missing = suite.episodes * suite.attempts
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(suite.suite_id), 24), "strong"),
        Span(" "),
        suite_word(suite.state),
        Span("   no candidate yet" + (f", 1 of {suites}" if suites > 1 else ""), "dim"),
    ]
    needs = f"needs {missing:,} attempts of one candidate ({plural(suite.episodes, 'episode')} "
    needs += f"× {suite.attempts:,}), or their traces"
    verdict = f"  1 evidence missing: {missing:,} of {missing:,} attempts not run"
    if suite.state != "frozen":
        verdict = f"  {visible_line(suite.problem)}"
    return [
        spread(left, where, width),
        [Span("○ HOLD", "not_measured"), Span(cut(verdict, width - 8))],
        [Span(" " * 8 + needs, "dim")],
    ]
