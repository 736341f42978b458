"""The scorecard's grid: by gates or by candidate, with heads of groups."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import UNSET

from reviewer.desk.outcome_views import OUTCOME, OutcomeCell
from reviewer.desk.scorecards.views import Group, SideCell, SidesRow
from reviewer.desk.views import ALWAYS, Cell, EpisodeRow, Rate, Scorecard
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED, STATES, cell_style
from reviewer.tui.views.jobs import Overlay
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import (
    Column,
    Line,
    Sheet,
    Span,
    cut,
    middle,
    pad,
)
from reviewer.tui.widgets.shorten import apart
from reviewer.tui.widgets.words import SHORT, strip


def group_name(group: Group) -> str:
    """Return the group's tag or category in safe text."""
    return visible_line(group.label) or "(no tag)"


def head_name(group: Group, width: int, *, folded: bool = False) -> str:
    """Return `- refund 412`, an open group with its number of episodes; a folded one has a plus."""
    count = f" {group.episodes:,}"
    name = cut(group_name(group), max(1, width - 2 - len(count)))
    return f"{'+' if folded else '-'} {name}{count}"


def _up_to(count: int, unknown: int) -> str:
    return f"{count:,} to {count + unknown:,}" if unknown else f"{count:,}"


def group_lines(group: Group, k: int, gates: Sequence[str]) -> list[Line]:
    """Return the drawer's lines about a group."""
    failing = [
        f"{gate} {count:,}" for gate, count in zip(gates, group.failed, strict=True) if count
    ]
    passes = _up_to(group.counted_passes, group.counted_unknown)
    critical = _up_to(group.critical, group.critical_unknown)
    none = "none of what is measured" if group.critical_unknown else "none"
    return [
        [
            Span(f" {words.plural(group.episodes, 'episode')}, hard pass "),
            Span(f"{passes}/{group.counted:,}", "strong"),
            Span(f", {group.infra:,} infra"),
        ],
        [
            Span(f" {critical} critical", "critical" if group.critical else "dim"),
            Span(f"   pass^{k} "),
            Span(
                words.decimal(group.pass_hat),
                "not_measured" if group.pass_hat is None else "strong",
            ),
            Span(f", mean cost {words.money(group.mean_cost_usd)}"),
        ],
        [Span(f" fail: {', '.join(failing) or none}")],
    ]


SORTS = {
    "pass_hat": "pass",
    "cost": "cost",
    "attempts": "attempts",
    "latency": "latency",
    "episode": "episode",
    "tags": "tags",
}
"""The desk's name of the order by a column that is not a gate."""


class EpisodesSheet(Sheet):
    """Rows of episodes under their heads: names that are cut remain distinguishable."""

    _short: Mapping[str, str] = MappingProxyType({})

    def beside(self, rows: Sequence[EpisodeRow | SidesRow | Group]) -> None:
        names = [visible_line(row.episode_id) for row in rows if not isinstance(row, Group)]
        self._short = {**self._short, **apart(names, self.columns[0].width)}

    def named(self, row: EpisodeRow | SidesRow) -> Line:
        """Return the name of an episode in its column."""
        name = visible_line(row.episode_id)
        return [Span(self._short.get(name) or middle(name, self.columns[0].width))]


NAME = 12
"""Columns that the name of an episode needs."""
LONGEST, LONGEST_FOREIGN = 48, 80
"""The most columns that the name of an episode takes: in a suite of ours, and in a probe."""
GLYPHS = 4
"""Columns of a cell without a word: two such cells have room for the name of any gate."""


OUTCOMES = (OUTCOME, "reward")
"""Columns of a probe: the verdicts of the sources on its attempts, before every gate."""
NUMBERS = {"pass_hat": 6, "cost": 5, "latency": 6}
"""Columns of figures with their widths from 100 columns of the screen; below 100, each has 5."""


class ScorecardSheet(EpisodesSheet):
    """Columns of the grid at one width: none hidden at 80, words and counts with more room."""

    def __init__(
        self,
        width: int,
        card: Scorecard | None,
        overlay: Overlay | None = None,
        folded: frozenset[str] = frozenset(),
        gates: tuple[str, ...] = ALWAYS,
        filtered: Group | None = None,
    ) -> None:
        """Take the gates of the rows from `gates` until the card comes; `filtered` are the sums
        over the rows of a filter."""
        self._overlay, self._folded = overlay or Overlay(), folded
        self._gates = card.gates if card is not None else gates
        self._probe = card is not None and card.outcome is not UNSET
        shown = [
            at
            for at, gate in enumerate(self._gates)
            if card is None or not self._probe or _measured(card, gate)
        ]
        self._shown = shown
        self.gates: Sequence[str] = [self._gates[at] for at in shown] if width >= 80 else ("gates",)
        self._gap = 2 if width >= 100 else 1
        self._spaced = width >= 100
        self._counts = width >= 120
        gate = 12 if width >= 200 else 10 if width >= 120 else 6 if width >= 100 else 5
        self._strip = 12 if width >= 200 else 10 if width >= 140 else 5
        sized = [(name, size if self._spaced else 5) for name, size in NUMBERS.items()]
        taken = 2 + 1 + self._strip + sum(size + self._gap for _, size in sized)
        said = self._outcome_sizes(width) if self._probe else []
        taken += sum(size + 1 for _, size in said)
        # With so many gates, names of episodes would be cut: the cells are only glyphs.
        self._glyphs = len(self.gates) > 1 and width - taken - len(self.gates) * (gate + 1) < NAME
        self._cells = gate = GLYPHS if self._glyphs else gate
        room = max(8, width - taken - len(self.gates) * (gate + 1))
        flags = 22 if width >= 180 else 0
        room -= flags + 2 if flags else 0
        # Episodes of a probe have no tags, and the names that other tools give are long.
        tagged = width >= 140 and not self._probe
        tags = max(6, min(40, room - (28 if flags else 16) - 2)) if tagged else 0
        longest = LONGEST_FOREIGN if self._probe else LONGEST
        columns = [Column("episode", 2, min(longest, room - (tags + 2 if tags else 0)), True)]
        columns += [Column(name, 1, size, name == OUTCOME) for name, size in said]
        columns += [Column(name, 1, gate, True) for name in self.gates]
        columns += [Column("attempts", 1, self._strip, True)]
        columns += [Column(name, self._gap, size, True) for name, size in sized]
        columns += [Column("flags", 2, flags)] if flags else []
        columns += [Column("tags", 2, tags, True)] if tags else []
        x = 0
        self.columns: list[Column] = []
        for column in columns:  # `x` held the gap before the column until here
            x += column.x
            self.columns.append(column._replace(x=x))
            x += column.width
        self._k = card.pass_hat_k if card else 0
        self.header = _header(self.columns, self._k, self._gates, staggered=width < 140)
        self.totals = [self._totals(card, filtered)] if card else []

    def flag(self, row: EpisodeRow | Group) -> Span:
        flagged = isinstance(row, EpisodeRow) and row.flags
        return Span("!", "quarantined") if flagged else Span(" ")

    def cells(self, row: EpisodeRow | Group) -> list[Line]:
        if isinstance(row, Group):
            return self._head(row)
        found: list[Line] = [self.named(row)]
        cells = [row.cells[at] for at in self._shown]
        if self.gates == ("gates",):
            cells = [_worst(row.cells)]
        waits = self._overlay.cell(row)
        if self._probe:
            found += self._outcome(row.outcome or None)
        found += [[self._cell(cell, waits)] for cell in cells]
        found.append(strip(self._overlay.marks(row), self._strip))
        figures_ = {
            "pass_hat": words.decimal(row.pass_hat),
            "cost": words.cost(row.mean_cost_usd),
            "latency": _narrow(row.latency_p50_ms),
        }
        for column in self.columns[len(found) :]:
            if column.key in figures_:
                text = figures_[column.key]
                style = "not_measured" if text == words.UNKNOWN else "text"
                found.append([Span(pad(text, column.width, right=True), style)])
            elif column.key == "flags":
                flags = " ".join(row.flags).replace("_", "-")
                found.append([Span(cut(flags, column.width), "quarantined")])
            elif column.key == "tags":
                tags = visible_line(" ".join(row.tags))
                found.append([Span(cut(tags, column.width), "dim")])
        return found

    def _outcome_sizes(self, width: int) -> list[tuple[str, int]]:
        sizes = [(OUTCOME, 12 if width >= 100 else 7)]
        return [*sizes, ("reward", 12 if width >= 100 else 9)] if width >= 80 else sizes

    def _outcome(self, said: OutcomeCell | None) -> list[Line]:
        """Return the sources' verdict on the attempts: how many failed, and their rewards."""
        mark = said.mark if said else "not_measured"
        state = STATES[mark]
        word = f" {state.cell}" if self._spaced else ""
        text = f"{state.glyph}{word}"
        if said and said.failed:
            text += f" {said.failed}/{said.attempts}"
        found: list[Line] = [[Span(text, cell_style(mark))]]
        if self.columns[2].key == "reward":
            rewards = _rewards(said.rewards if said else (), self.columns[2].width)
            style = "text" if rewards != words.UNKNOWN else "not_measured"
            found.append([Span(rewards, style)])
        return found

    def _head(self, group: Group) -> list[Line]:
        """Return a group's head: failing attempts per gate, passes of attempts, pass^k, mean
        cost."""
        figures_ = {
            "episode": head_name(group, self.columns[0].width, folded=group.label in self._folded),
            "attempts": _share(group.counted_passes, group.counted, self._strip),
            "pass_hat": words.decimal(group.pass_hat),
            "cost": words.cost(group.mean_cost_usd),
        }
        by_gate = dict(zip(self._gates, group.failed, strict=True))
        by_gate["gates"] = sum(group.failed)
        found: list[Line] = []
        for column in self.columns:
            if column.key in by_gate:
                count = by_gate[column.key]
                text = pad(self._count(count, column.width), column.width)
                found.append([Span(text, "fail-cell" if count else "dim")])
                continue
            text = figures_.get(column.key, "")
            right = column.key in ("pass_hat", "cost")
            style = "not_measured" if text == words.UNKNOWN else "strong"
            found.append([Span(pad(cut(text, column.width), column.width, right=right), style)])
        return found

    def _count(self, count: int, width: int) -> str:
        indent = 2 if self._spaced else 1
        return " " * indent + words.tally(count, width - indent)

    def _cell(self, cell: Cell, waits: str | None) -> Span:
        mark = waits or cell.mark
        state = STATES[mark]
        if self._glyphs:
            return Span(pad(f" {state.glyph} ", self._cells), cell_style(mark))
        text = f"{state.glyph}{' ' if self._spaced else ''}{state.cell}"
        if self._counts and mark in RED:
            text += f" {cell.failed}/{cell.attempts}"
        return Span(pad(text, self._cells) if mark in RED else text, cell_style(mark))

    def _of(self, attempts: int) -> str:
        """Return the number of attempts behind the counts, in words that fit."""
        width = next(column.width for column in self.columns if column.key == "episode")
        told = (f"fail in {attempts:,}", f"of {attempts:,}", f"{attempts:,}")
        return next((text for text in told if len(text) <= width), told[-1])

    def _totals(self, card: Scorecard, filtered: Group | None) -> list[Span]:
        line: list[Span] = []
        failed = {total.gate: total.failed for total in card.totals}
        figures_ = {
            "episode": self._of(card.critical_n),
            OUTCOME: _said(card.outcome) if card.outcome else "",
            "attempts": known_passes(card.hard_pass, self._strip),
            "pass_hat": words.decimal(card.pass_hat.value),
            "cost": words.cost(card.mean_cost_usd),
            "latency": _narrow(card.latency_p50_ms),
        }
        if filtered is not None:
            failed = dict(zip(self._gates, filtered.failed, strict=True))
            figures_ = {
                "episode": self._of(filtered.attempts),
                "attempts": _share(filtered.counted_passes, filtered.counted, self._strip),
                "pass_hat": words.decimal(filtered.pass_hat),
                "cost": words.cost(filtered.mean_cost_usd),
            }
        x = 0
        for column in self.columns:
            line.append(Span(" " * (column.x - x)))
            total = failed.get(column.key)
            if total is not None:
                text = self._count(total, column.width)
                style = "fail-cell" if total else "dim"
            else:
                right = column.key in NUMBERS
                text = pad(
                    cut(figures_.get(column.key, ""), column.width), column.width, right=right
                )
                against = column.key == OUTCOME and card.outcome and card.outcome.failed
                style = "fail" if against else "dim"
            line.append(Span(pad(text, column.width), style))
            x = column.x + column.width
        return line


def _measured(card: Scorecard, gate: str) -> bool:
    """Return whether a gate has a verdict on any attempt."""
    return any(each.gate == gate and each.passed + each.failed for each in card.totals)


def _said(said: OutcomeCell) -> str:
    return f"{said.failed:,}" + (f" {words.UNKNOWN}" if said.unknown == said.attempts else "")


def _rewards(rewards: Sequence[float | None], room: int) -> str:
    """Return the reward of each attempt in order; of too many, the least and the greatest."""
    known = [each for each in rewards if each is not None]
    if not known:
        return words.UNKNOWN
    text = " ".join("-" if each is None else f"{each:g}" for each in rewards)
    if len(text) > room:
        text = f"{min(known):g} to {max(known):g}"
    return cut(text, room)


def known_passes(rate: Rate, room: int) -> str:
    """Return passes of attempts, with their possible number: `58 to 59/72`, in a narrow column
    `58-59/72`, `58+/72` or n/m."""
    if not rate.unknown:
        return _share(rate.passes, rate.n, room) if rate.n else words.passed(rate)
    most = rate.passes + rate.unknown
    shown = (words.passed(rate), f"{rate.passes}-{most}/{rate.n}", f"{rate.passes}+/{rate.n}")
    return next((text for text in shown if len(text) <= room), words.UNKNOWN)


def _share(passes: int, of: int, room: int) -> str:
    """Return passes of attempts, in percent where the counts do not fit; rounded down."""
    text = f"{passes:,}/{of:,}"
    return text if len(text) <= room else f"{passes * 100 // of}%"


def _worst(cells: Sequence[Cell]) -> Cell:
    order = ("critical", "fail", "not_measured", "quarantined", "infra", "missing", "pass")
    return min(cells, key=lambda cell: order.index(cell.mark))


def _narrow(milliseconds: float | None) -> str:
    if milliseconds is None:
        return words.UNKNOWN
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.2f}s"
    return f"{seconds:.1f}s" if seconds < 100 else f"{seconds:,.0f}s"


def _header(
    columns: Sequence[Column], k: int, gates: Sequence[str], *, staggered: bool
) -> list[Line]:
    lines = [[" "] * 400, [" "] * 400] if staggered else [[" "] * 400]
    titles = {"pass_hat": f"pass^{k}" if k else "pass", **SHORT}
    named = [column for column in columns if column.key in gates]
    # a name longer than its column is not drawn next to the column of attempts
    longer = bool(named) and len(SHORT.get(named[-1].key, named[-1].key)) > named[-1].width + 1
    placed = len(named) % 2 if longer else 0
    for column in columns:
        title = titles.get(column.key, column.key)
        at, line = column.x, 0
        if column.key in gates:
            line = placed % 2 if staggered else 0
            placed += 1
        elif column.key in NUMBERS:
            at = column.x + column.width - len(title)
            line = 0 if column.key == "latency" or not staggered else 1
        elif column.key == "attempts" and staggered:
            at += 1
        lines[line][at : at + len(title)] = title
        if column.key == "latency" and staggered:
            lines[1][at + 4 : at + 7] = "p50"
    return [[Span("".join(line).rstrip(), "dim")] for line in lines]


SIDE = "side:"
NARROW = 18
"""Columns of one candidate: glyph, passes of attempts, and the gate that fails most."""


def sides_shown(width: int, candidates: Sequence[str], chosen: str) -> tuple[str, ...]:
    """Return as many candidates as fit, in their order; the chosen one is always among them."""
    room = max(1, (max(width, 40) - 2 - 20) // (NARROW + 1))
    if len(candidates) <= room:
        return tuple(candidates)
    at = candidates.index(chosen) if chosen in candidates else 0
    first = max(0, min(at - room // 2, len(candidates) - room))
    return tuple(candidates[first : first + room])


class SidesSheet(EpisodesSheet):
    """Columns for some candidates; `totals` are theirs over all episodes."""

    def __init__(
        self, width: int, candidates: Sequence[str], totals: Sequence[SideCell], of: int
    ) -> None:
        count = max(1, len(candidates))
        name = max(12, min(40, width - 2 - count * (NARROW + 1)))
        side = max(NARROW, min(30, (width - 2 - name) // count - 1))
        self.columns = [Column("episode", 2, name)]
        x = 2 + name
        for candidate in candidates:
            self.columns.append(Column(f"{SIDE}{candidate}", x + 1, side, True))
            x += side + 1
        left = width - x - 2
        if left >= 16:
            self.columns.append(Column("tags", x + 2, min(40, left)))
        self._width = side
        self.header = [self._names(candidates)]
        self.totals = [self._total(totals, of)] if totals else []

    def _names(self, candidates: Sequence[str]) -> Line:
        line = [Span("  " + pad("episode", self.columns[0].width), "dim")]
        size = self._width
        line += [Span(f" {pad(middle(visible_line(each), size), size)}") for each in candidates]
        tags = [column for column in self.columns if column.key == "tags"]
        return [*line, Span("  tags", "dim")] if tags else line

    def _total(self, totals: Sequence[SideCell], of: int) -> Line:
        head = f"passes, {words.plural(of, 'episode')}"
        line = [Span("  " + pad(head, self.columns[0].width), "dim")]
        for cell in totals:
            line += [Span(" "), *self._cell(cell)]
        return line

    def cells(self, row: SidesRow | Group) -> list[Line]:
        size = self.columns[0].width
        if isinstance(row, Group):
            blank: list[Line] = [[] for _ in self.columns[1:]]
            return [[Span(head_name(row, size), "strong")], *blank]
        found: list[Line] = [self.named(row)]
        found += [self._cell(cell) for cell in row.sides]
        if self.columns[-1].key == "tags":
            tags = visible_line(" ".join(row.tags))
            found.append([Span(cut(tags, self.columns[-1].width), "dim")])
        return found

    def _cell(self, cell: SideCell) -> list[Span]:
        state = STATES[cell.mark]
        if cell.mark == "missing":
            return [Span(pad(f"{state.glyph} no attempt", self._width), cell.mark)]
        word = cell.gate if cell.mark in RED else "" if cell.mark == "pass" else state.cell
        text = f"{state.glyph} {cell.passes:,}/{cell.attempts:,} {word}"
        return [Span(pad(cut(text.rstrip(), self._width), self._width), cell_style(cell.mark))]
