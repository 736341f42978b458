"""Every candidate of every suite in lines, in groups by suite or by candidate."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from reviewer.desk.views import Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES, VERDICTS
from reviewer.tui.shell.places import By
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad
from reviewer.tui.widgets.words import SHORT, suite_word


class Release(NamedTuple):
    """One candidate on one suite; `card` None with the reason where it cannot be shown."""

    suite: SuiteInfo
    candidate_id: str
    card: Scorecard | None
    problem: str = ""


class Head(NamedTuple):
    """The head of a group: what its rows share, how many they are, how many stand how."""

    name: str
    size: int
    word: Span
    stand: Sequence[tuple[str, int]]
    folded: bool


Row = Release | Head


def laid_out(found: Sequence[Release], by: By, folded: frozenset[str], wanted: str) -> list[Row]:
    """Heads and rows. `wanted` is a part of a name; groups stand in the order of their names."""
    groups: dict[str, list[Release]] = {}
    for one in found:
        if wanted.casefold() in f"{one.suite.suite_id} {one.candidate_id}".casefold():
            key = one.suite.suite_id if by == "suite" else one.candidate_id
            groups.setdefault(key, []).append(one)
    rows: list[Row] = []
    for name in sorted(groups):
        mine = groups[name]
        stand = Counter(one.card.recommendation if one.card else "unreadable" for one in mine)
        word = suite_word(mine[0].suite.state) if by == "suite" else Span("")
        if by == "suite" and mine[0].suite.probe:
            word = Span("○ probe", "not_measured")
        rows.append(Head(name, len(mine), word, tuple(stand.items()), name in folded))
        rows += [] if name in folded else mine
    return rows


class ReleaseSheet:
    """Columns at one width; which gates fail from 110 columns on."""

    def __init__(self, width: int, by: By) -> None:
        self._by = by
        sizes = [("says", 10), ("hard pass", 13), ("pass^k", 7), ("CPST", 8), ("p50", 7)]
        self._roomy = width >= 110
        sizes += [("signed", 9)] if width >= 90 else []
        self._failing = min(60, width - 93)
        sizes += [("failing attempts", self._failing)] if self._roomy else []
        name = max(16, min(60, width - 4 - sum(size + 1 for _, size in sizes)))
        self.columns = [Column("name", 2, name, True)]
        x = 3 + name
        for key, size in sizes:
            self.columns.append(Column(key, x, size))
            x += size + 1
        line = ""
        for column in self.columns:
            head = (
                ("candidate" if by == "suite" else "suite") if column.key == "name" else column.key
            )
            line = pad(line, column.x) + head
        self.header: Sequence[Line] = [[Span(line.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: Row) -> Span:
        if isinstance(row, Head):
            return Span(" ")
        return Span("▲", "critical") if row.card and row.card.critical else Span(" ")

    def cells(self, row: Row) -> list[Line]:
        width = self.columns[0].width
        if isinstance(row, Head):
            return self._head(row, width)
        name = row.candidate_id if self._by == "suite" else row.suite.suite_id
        first = [Span(f"  {middle(visible_line(name), width - 2)}")]
        if row.card is None:
            told = Span(cut(f"✗ {visible_line(row.problem)}", 38), "fail")
            return [first, [told], *([[Span("")]] * (len(self.columns) - 2))]
        card = row.card
        state, word = VERDICTS[card.recommendation], str(card.recommendation)
        if row.suite.probe:
            state, word = "not_measured", "probe"
        rate = card.hard_pass
        known = rate.value is not None
        passed = f"{rate.passes:,}/{rate.n:,} {words.decimal(rate.value)}"
        if not known:
            passed = words.passed(rate) if rate.n and rate.known is not None else words.UNKNOWN
        cells: list[Line] = [
            first,
            [Span(f"{STATES[state].glyph} {word}", state)],
            [Span(passed, "text" if known else "not_measured")],
            [_figure(words.decimal(card.pass_hat.value))],
            [_figure(words.money(card.cpst_usd))],
            [_figure(words.seconds(card.latency_p50_ms))],
        ]
        if len(self.columns) > 6:
            cells.append([Span(visible_line(card.decided or "").partition(",")[0], "strong")])
        if self._roomy:
            failing = [
                f"{SHORT.get(total.gate, total.gate)} {total.failed:,}"
                for total in card.totals
                if total.failed
            ]
            cells.append([Span(cut(", ".join(failing), self._failing), "fail")])
        return cells

    def _head(self, row: Head, width: int) -> list[Line]:
        mark = "+" if row.folded else "-"
        name = middle(visible_line(row.name), max(8, width - 8))
        told = [Span(f"{mark} {name} {row.size:,}", "strong")]
        stand = []
        for word, count in row.stand:
            state = VERDICTS.get(word, "fail")
            stand += [Span(f"{STATES[state].glyph}{count:,}", state), Span(" ")]
        rest: list[Line] = [[row.word], stand]
        return [told, *rest, *([[Span("")]] * (len(self.columns) - 3))]


def _figure(text: str) -> Span:
    return Span(text, "not_measured" if text == words.UNKNOWN else "text")


def release_lines(one: Release) -> str:
    """One release in a sentence, for the news line."""
    if one.card is None:
        return f"{one.candidate_id} on {one.suite.suite_id}: {one.problem}"
    card = one.card
    told = ", ".join(reason.text for reason in card.reasons) or " ".join(card.needs[:1])
    signed = f"; signed {card.decided}" if card.decided else ""
    return f"{one.candidate_id} on {one.suite.suite_id}: {card.recommendation} {told}{signed}"
